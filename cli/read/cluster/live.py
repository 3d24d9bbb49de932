"""Reads the live cluster through kubectl: every context, proxy and login that works there works here."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click
import msgspec

from shared.json_data import Json
from shared.problems import Problem

_TIMEOUT: Final = 30
"""Seconds for one request, kubectl's start included."""


class ClusterProblem(Problem):
    """The cluster cannot be read; the text repeats the error of kubectl."""


class NotInCluster(ClusterProblem):
    """There is no object of that name."""


class NotServed(ClusterProblem):
    """The API server does not serve this path, or nothing answers behind it."""


class UnknownToCluster(NotServed):
    """The API server does not know this path."""


class NotAllowed(ClusterProblem):
    """The user has no right to this."""


class Refused(ClusterProblem):
    """A rule, a policy or a limit refuses objects. `refusals`: what is said of each, with the key "message"."""

    exit_code = 1

    def __init__(self, refusals: Sequence[Json]) -> None:
        super().__init__("refused: " + "\n".join(each["message"] for each in refusals))
        self.refusals = refusals


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """Which cluster to read: the same flags as those of kubectl; None keeps its default."""

    context: str | None = None
    kubeconfig: str | None = None
    user: str | None = None
    """Whom to impersonate."""

    def get(self, path: str) -> bytes:
        """Return the body of GET `path`. Raises ClusterProblem."""
        return self._kubectl(f"GET {path}", "get", "--raw", path)

    def change(self, *words: str) -> str:
        """Run a kubectl command that changes an object, and return its output. Raises ClusterProblem."""
        return self._kubectl(" ".join(("kubectl", *words)), *words).decode(errors="replace").strip()

    def create(self, path: str, body: Json) -> bytes:
        """Return what POST `path` answers to this object. Raises ClusterProblem."""
        return self._run(f"POST {path}", "create", "--raw", path, "-f", "-", given=msgspec.json.encode(body))[0]

    def dry_run(self, objects: Sequence[Json], namespace: str) -> tuple[list[Json], str]:
        """Return objects as the API server would store them if they were created, and what kubectl prints beside them.

        Raises Refused where it would refuse one.
        """
        whole = {"apiVersion": "v1", "kind": "List", "items": objects}
        words = ("create", "--dry-run=server", "--output=json", f"--namespace={namespace}", "-f", "-")
        answer, beside = self._run(_DRY_RUN, *words, given=msgspec.json.encode(whole))
        return [*_printed_objects(answer.decode())], beside

    @property
    def namespace(self) -> str:
        """The namespace of the context; "default" where the kubeconfig names none."""
        words = ("config", "view", "--minify", "--output=jsonpath={..namespace}")
        try:
            return self._kubectl("the namespace of the context", *words).decode() or "default"
        except ClusterProblem:
            return "default"

    def _kubectl(self, what: str, *words: str) -> bytes:
        return self._run(what, *words)[0]

    def _run(self, what: str, *words: str, given: bytes | None = None) -> tuple[bytes, str]:
        """Return the output of kubectl, and what it says beside that. Raises ClusterProblem."""
        import shutil
        import subprocess

        program = shutil.which("kubectl")
        if program is None:
            raise ClusterProblem("kubectl is not on PATH; install it; the live cluster is read through it")
        flags = [f"--context={self.context}"] if self.context else []
        flags += [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        flags += [f"--as={self.user}"] if self.user else []
        command = [program, *words, f"--request-timeout={_TIMEOUT}s", *flags]
        try:
            answer = subprocess.run(  # noqa: S603 - no shell
                command, capture_output=True, timeout=_TIMEOUT + 5, check=False, input=given
            )
        except subprocess.TimeoutExpired as error:
            raise ClusterProblem(f"the API server did not answer {what} within {_TIMEOUT} s") from error
        beside = answer.stderr.decode(errors="replace")
        if answer.returncode:
            raise _problem_of(what, beside)
        return answer.stdout, beside

    def items(self, path: str) -> Sequence[msgspec.Raw]:
        """Return the items of a list, each as raw JSON. Raises ClusterProblem."""
        try:
            return msgspec.json.decode(self.get(path), type=_List).items
        except msgspec.MsgspecError as error:
            raise ClusterProblem(f"GET {path} did not answer with a list: {error}") from error


_DRY_RUN: Final = "the dry run"
_REFUSAL: Final = re.compile(r"^(?!Warning)(?:.*denied (?:the )?request: |(?=.* is invalid: |.*exceeded quota: ))(.*)")
"""What kubectl says of an object that a webhook or a policy refuses, the API server itself, or a ResourceQuota."""


def _printed_objects(text: str) -> Iterator[Json]:
    """Yield the objects that kubectl prints one after another, or as a List."""
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        found, end = decoder.raw_decode(text)
        yield from found["items"] if found["kind"] == "List" else (found,)
        text = text[end:].lstrip()


class _List(msgspec.Struct):
    items: list[msgspec.Raw] = []


def _problem_of(what: str, words: str) -> ClusterProblem:
    lines = [line for line in words.splitlines() if line.strip()] or ["kubectl failed without a message"]
    refusals = [each[1] for each in map(_REFUSAL.search, lines) if each is not None] if what == _DRY_RUN else []
    if refusals:
        return Refused([{"message": each} for each in refusals])
    if "could not find the requested resource" in words or "doesn't have a resource type" in words:
        return UnknownToCluster(f"the cluster does not know the answer to {what}; is Quotree's chart installed there?")
    text = f"{what}: {lines[-1].removeprefix('Error from server ').removeprefix('error: ')}"
    if "(Forbidden)" in words:
        text += f"; the ClusterRole {_role_for(words)} has that right"
    kinds = {
        "(NotFound)": NotInCluster,
        "(Forbidden)": NotAllowed,
        "(ServiceUnavailable)": NotServed,
        "(TooManyRequests)": NotServed,
    }
    return next((kind for word, kind in kinds.items() if word in words), ClusterProblem)(text)


def _role_for(words: str) -> str:
    """Return the ClusterRole with the right that a refusal names."""
    if "quotree.dev" in words and ("quotagroups" in words or "resourceflavors" in words):
        return "quotree-view" if " list " in words or " get " in words else "quotree-admin"
    if "cannot patch" in words or "cannot create" in words or "cannot update" in words:
        return "edit"
    return "view (in a namespace) or quotree-cluster-view (in all)" if "namespace" in words else "quotree-cluster-view"


def cluster_options(command: click.Command) -> click.Command:
    """Give a command kubectl's --context and --kubeconfig; it receives them as parameters of those names."""
    command.params.append(click.Option(["--context"], help="The kubeconfig context to use."))
    command.params.append(click.Option(["--kubeconfig"], help="Path to the kubeconfig file."))
    return command


def live_options(command: click.Command) -> click.Command:
    """Give a command kubectl's --context, --kubeconfig and --as; it gets what they mean as `cluster`, a LiveCluster."""
    act = command.callback

    def callback(context: str | None, kubeconfig: str | None, user: str | None, **others: Any) -> Any:
        return act(cluster=LiveCluster(context, kubeconfig, user), **others) if act is not None else None

    command.callback = callback
    cluster_options(command)
    command.params.append(click.Option(["--as", "user"], metavar="USER", help="The user to impersonate."))
    return command
