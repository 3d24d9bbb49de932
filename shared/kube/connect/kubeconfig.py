"""Choose kubeconfig, context, cluster and user, and say in one sentence what is wrong with them.

Merges as kubectl does: of several files the first that names a thing wins. kubernetes_asyncio reads the credentials
themselves; its messages can quote them and are therefore never shown.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from shared.kube.errors import ConnectionProblem

_FILES = (("certificate-authority", "certificate-authority-data"), ("client-certificate", "client-certificate-data"))
_USER_FILES = (*_FILES[1:], ("client-key", "client-key-data"), ("tokenFile", "token"))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The part of a kubeconfig that will be used. `runs_plugin`: the user's credentials come from a command."""

    paths: tuple[Path, ...]
    context: str
    server: str
    runs_plugin: bool

    @property
    def origin(self) -> str:
        """Where the connection was configured, for messages."""
        return f"kubeconfig {os.pathsep.join(map(str, self.paths))}, context {self.context!r}"


@dataclass(frozen=True, slots=True)
class _Named:
    value: Mapping[str, Any]
    folder: Path


def choose(paths: list[Path], context: str | None) -> Chosen:
    """Resolve `context` (None: the current one) in these files. Raises ConnectionProblem."""
    present = [path for path in paths if path.is_file()]
    where = os.pathsep.join(map(str, paths))
    if not present:
        raise ConnectionProblem(f"kubeconfig {where} does not exist: give --kubeconfig, or set KUBECONFIG to a file")
    documents = [(path, _read(path)) for path in present]
    name = context or next((str(doc["current-context"]) for _, doc in documents if doc.get("current-context")), None)
    if name is None:
        raise ConnectionProblem(f"kubeconfig {where} has no current-context: give --context, or run kubectl config use")
    chosen = _find(documents, where, "context", name).value
    cluster = _find(documents, where, "cluster", _text(chosen, "cluster"))
    user = _find(documents, where, "user", _text(chosen, "user")) if chosen.get("user") else None
    _check_files(where, cluster, _FILES[:1])
    if user:
        _check_files(where, user, _USER_FILES)
    server = _text(cluster.value, "server")
    if not server.startswith(("https://", "http://")):
        raise ConnectionProblem(
            f"kubeconfig {where}, context {name!r}: the cluster's server is {server!r}, not an https:// address"
        )
    return Chosen(tuple(present), name, server.rstrip("/"), bool(user and user.value.get("exec")))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise ConnectionProblem(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        # Only the place: YAML's own text quotes the line, which may hold a token.
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise ConnectionProblem(f"kubeconfig {path} is not valid YAML{line}") from None
    if not isinstance(document, dict):
        raise ConnectionProblem(f"kubeconfig {path} is empty or not a mapping")
    return document


def _find(documents: list[tuple[Path, Mapping[str, Any]]], where: str, kind: str, name: str) -> _Named:
    names: list[str] = []
    for path, document in documents:
        for item in document.get(f"{kind}s") or []:
            if not isinstance(item, dict):
                continue
            if item.get("name") == name and isinstance(item.get(kind), dict):
                return _Named(item[kind], path.parent)
            names.append(str(item.get("name")))
    known = ", ".join(sorted(names)) or "none"
    raise ConnectionProblem(f"kubeconfig {where} has no {kind} {name!r}; it has: {known}")


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""


def _check_files(where: str, named: _Named, keys: tuple[tuple[str, str], ...]) -> None:
    for key, inline in keys:
        name = _text(named.value, key)
        if name and not named.value.get(inline) and not (named.folder / name).is_file():
            raise ConnectionProblem(f"kubeconfig {where}: {key} names {named.folder / name}, which does not exist")
