"""The objects in a StartPreview: as a review would have left them, created now. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from shared.api.json.reading import write_moment
from shared.api.names import GATE, INJECTED, USER, is_own
from shared.json_data import Json
from shared.kinds.kind import Kinds

MOST_OBJECTS: Final = 32
_BY_THE_REVIEW: Final = (INJECTED, USER)
"""Annotations that the review of a new workload has written."""


class BadSubmission(ValueError):
    """Objects that cannot be read; the message says why."""


class _Spec(msgspec.Struct):
    apply: list[dict[str, Any]] = []


class _Body(msgspec.Struct):
    spec: _Spec


def read_submitted(body: bytes, namespace: str) -> list[Json]:
    """Read the objects of a StartPreview in that namespace. Raises BadSubmission."""
    try:
        found = msgspec.json.decode(body, type=_Body).spec.apply
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadSubmission(f"spec cannot be read: {error}") from error
    if not 0 < len(found) <= MOST_OBJECTS:
        raise BadSubmission(f"spec.apply must have 1 to {MOST_OBJECTS} objects")
    for place, each in enumerate(found):
        metadata = each.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(each.get("kind"), str):
            raise BadSubmission(f"spec.apply[{place}] is no object of Kubernetes: it needs a kind and metadata")
        if metadata.get("namespace", namespace) != namespace:
            raise BadSubmission(f"spec.apply[{place}].metadata.namespace must be {namespace!r}, that of the request")
    return found


def as_created(found: list[Json], namespace: str, kinds: Kinds, now: datetime) -> Iterator[Json]:
    """Yield the objects as they would be once they are created: held, with a uid and a time, without a status."""
    for place, given in enumerate(found):
        metadata = given["metadata"]
        name = metadata.get("name") or f"{metadata.get('generateName', '')}preview-{place}"
        written = {**metadata, "name": name, "namespace": namespace, "uid": f"preview-{place}"}
        written["creationTimestamp"] = write_moment(now.replace(microsecond=0))
        written["annotations"] = _kept(metadata.get("annotations"))
        left = {member: value for member, value in given.items() if member != "status"}
        yield _held({**left, "metadata": written}, kinds)


def _kept(annotations: object) -> Json:
    """Return the annotations without what says that it has been started or stopped."""
    given: Json = annotations if isinstance(annotations, dict) else {}
    return {name: text for name, text in given.items() if name in _BY_THE_REVIEW or not is_own(name)}


def _held(created: Json, kinds: Kinds) -> Json:
    kind = kinds.find(str(created.get("apiVersion", "")), created["kind"])
    if created["kind"] == "Pod":
        spec = _member(created, "spec")
        gates = spec.get("schedulingGates")
        others = [each for each in gates if each != {"name": GATE}] if isinstance(gates, list) else []
        return {**created, "spec": {**spec, "schedulingGates": [*others, {"name": GATE}]}}
    path: Sequence[str | int] = ("spec", "suspend") if kind is None else kind.suspend
    return _with_flag(created, path) if path else created


def _with_flag(parent: Json, path: Sequence[str | int]) -> Json:
    first, *rest = map(str, path)
    return {**parent, first: _with_flag(_member(parent, first), rest) if rest else True}


def _member(parent: Json, name: str) -> Json:
    found = parent.get(name)
    return found if isinstance(found, dict) else {}
