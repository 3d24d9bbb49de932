"""Parses a request: its path, query and accepted form. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.visibility.objects.kinds import API_VERSION, CREATED, KINDS, VisibleKind
from reconciler.visibility.objects.selection import Selection
from shared.api.group_selector import GroupSelector, read_group_selector
from shared.json_data import Json

_ROOT: Final = f"/apis/{API_VERSION}/"
_BY_PLURAL: Final = {kind.plural: kind for kind in KINDS}
_EQUAL: Final = re.compile(r"^\s*([^\s!=,()]+)\s*(!=|==|=)\s*([^\s!=,()]*)\s*$")
_SPLIT: Final = re.compile(r",(?![^(]*\))")
MOST_IN_PAGE: Final = 500


class BadRequest(ValueError):
    """An invalid request; the message says why. `code`: the HTTP status."""

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A get, a list or a watch."""

    selection: Selection
    is_get: bool
    watches: bool
    as_table: bool
    include: str
    """Which part of each object a Table contains: None, Metadata or Object."""
    limit: int
    start: int
    """The number of objects on the previous pages."""
    version: str
    """The resourceVersion from which a watch resumes; empty: from now, with all objects first."""
    wants_initial: bool
    """Whether a watch marks the end of the initial objects."""
    seconds: int
    """How long a watch lasts; 0: the server's maximum."""


def read_request(path: str, query: Mapping[str, str], accept: str) -> ReadRequest | None:
    """Return the request of a path and query; None for a path of no kind. Raises BadRequest."""
    place = _place(path)
    if place is None:
        return None
    kind, namespace, name = place
    in_whole_cluster = not namespace
    wanted = _fields(query.get("fieldSelector", ""))
    namespace = namespace or wanted.get("metadata.namespace", "")
    is_get = bool(name)
    name = name or wanted.get("metadata.name", "")
    as_table = _form(accept)
    return ReadRequest(
        selection=Selection(kind, namespace, name, _selector(query.get("labelSelector", "")), in_whole_cluster),
        is_get=is_get,
        watches=_is_true(query.get("watch", "")) and not is_get,
        as_table=as_table,
        include=query.get("includeObject", "Metadata"),
        limit=min(_number(query, "limit") or MOST_IN_PAGE, MOST_IN_PAGE) if query.get("limit") else 0,
        start=_number(query, "continue"),
        version="" if _is_true(query.get("sendInitialEvents", "")) else query.get("resourceVersion", ""),
        wants_initial=_is_true(query.get("sendInitialEvents", "")),
        seconds=_number(query, "timeoutSeconds"),
    )


def read_creation(path: str) -> tuple[VisibleKind, str] | None:
    """Return the kind that is created at a path, and in which namespace; None for a path where nothing is created."""
    base, _, plural = path.removeprefix(_ROOT).rpartition("/")
    kind = next((each for each in CREATED if each.plural == plural), None)
    words, _, namespace = base.rpartition("/")
    if kind is None or not path.startswith(_ROOT):
        return None
    if kind.namespaced:
        return (kind, namespace) if words == "namespaces" and namespace else None
    return None if base else (kind, "")


def _place(path: str) -> tuple[VisibleKind, str, str] | None:
    """Kind, namespace and name of a path such as /apis/…/v1alpha1/namespaces/team/pendingworkloads/train-7.

    The path is decoded once, as the API server decoded it when it asked for the right to it.
    """
    if not path.startswith(_ROOT):
        return None
    parts = path.removeprefix(_ROOT).strip("/").split("/")
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    kind = _BY_PLURAL.get(parts[0])
    if kind is None or len(parts) > 2 or (namespace and not kind.namespaced):
        return None
    name = parts[1] if len(parts) == 2 else ""
    return None if name and kind.namespaced and not namespace else (kind, namespace, name)


def _form(accept: str) -> bool:
    """Return whether a Table is requested. Raises BadRequest when no offered form is accepted."""
    accepted = [each.strip() for each in accept.split(",") if each.strip()]
    for form in accepted or ["*/*"]:
        if "as=Table" in form and form.startswith("application/json"):
            return True
        if "as=" not in form and form.split(";")[0] in ("application/json", "application/*", "*/*"):
            return False
    raise BadRequest(f"only application/json and Tables of it are served, not {accept[:200]!r}", 406)


def _fields(selector: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for term in filter(None, _SPLIT.split(selector)):
        match = _EQUAL.match(term)
        if match is None or match[2] == "!=" or match[1] not in ("metadata.name", "metadata.namespace"):
            raise BadRequest("fieldSelector takes metadata.name=… and metadata.namespace=… only")
        if found.setdefault(match[1], match[3]) != match[3]:
            # The API server authorises only one of them: the first in alphabetical order.
            raise BadRequest(f"fieldSelector wants two values of {match[1]}")
    return found


def _selector(text: str) -> GroupSelector:
    try:
        return read_group_selector(text)
    except ValueError as error:
        raise BadRequest(str(error)) from error


def _is_true(text: str) -> bool:
    return text.lower() in ("1", "true")


def _number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise BadRequest(f"{name} is no whole number: {text[:40]!r}")
    return int(text)


def failure(code: int, reason: str, message: str) -> Json:
    """Return a Status with the reason of a failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
