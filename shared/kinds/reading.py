"""Read an object of a governed kind by its descriptor.

Unreadable is raised only for JSON that is no object. Every other mistake of an owner becomes one of the object's
`problems`, a sentence that names the field.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from shared.api.core.metadata import Metadata
from shared.api.json.reading import Unreadable, reader
from shared.kinds.expressions import ExpressionProblem
from shared.kinds.kind import Gate, Kind
from shared.kinds.kind_object import KindObject, ObjectField, member_at
from shared.kinds.paths import PathProblem, kind_of, show
from shared.kinds.pod_sets import read_pod_sets
from shared.kinds.predicates import any_holds
from shared.kinds.values import read_counts

_read_metadata = reader(Metadata)
_decode: Final = msgspec.json.Decoder().decode
MAX_GROUPS: Final = 1024


def read_kind_object(kind: Kind, raw: bytes | msgspec.Raw | dict[str, Any]) -> KindObject:
    """Read an object of this kind. Raises Unreadable, and no other exception, whatever `raw` is."""
    root = _object(raw)
    metadata = _metadata(root)
    problems: list[str] = []
    skipped = any_holds(kind.skip, root)
    suspend = _suspend(kind, root, problems)
    refusals = tuple(_refusals(kind, root, problems))
    pod_sets = () if skipped else read_pod_sets(kind, root, problems)
    groups = 1 if kind.gate is None else _groups(kind.gate, root, problems)
    return KindObject(
        kind=kind,
        metadata=metadata,
        suspend=suspend,
        noted=any_holds(kind.noted, root),
        stopped=not kind.stopped or any_holds(kind.stopped, root),
        finished=any_holds(kind.finished, root),
        skipped=skipped,
        refusals=() if skipped else refusals,
        problems=() if skipped else tuple(problems),
        pod_sets=() if problems else pod_sets,
        groups=groups,
    )


def _metadata(root: Mapping[str, Any]) -> Metadata:
    written = root.get("metadata") or {}
    if not isinstance(written, dict):
        raise Unreadable(f"metadata is {kind_of(written)} and not a mapping")
    try:
        return msgspec.convert(written, Metadata)
    except msgspec.ValidationError:
        return _read_metadata(written)  # with nulls, or with what is no metadata


def _object(raw: bytes | msgspec.Raw | dict[str, Any]) -> Mapping[str, Any]:
    if isinstance(raw, dict):
        return raw
    try:
        root = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error
    if not isinstance(root, dict):
        raise Unreadable(f"it is {kind_of(root)} and not an object")
    return root


def _suspend(kind: Kind, root: Mapping[str, Any], problems: list[str]) -> ObjectField:
    if not kind.suspend:
        return ObjectField((), 0)
    try:
        found = member_at(root, kind.suspend)
    except PathProblem as error:
        problems.append(str(error))
        return ObjectField(kind.suspend, 0)
    if found.value is not None and not isinstance(found.value, bool):
        problems.append(f"{show(kind.suspend)} is {kind_of(found.value)}, neither true nor false")
        return ObjectField(kind.suspend, found.present)
    return found


def _groups(gate: Gate, root: Mapping[str, Any], problems: list[str]) -> int:
    try:
        found = read_counts({"groups": gate.groups}, root)["groups"]
    except PathProblem as error:
        problems.append(str(error))
        return 0
    if isinstance(found, int) and found <= MAX_GROUPS:
        return found
    problems.append(f"{gate.groups.path.text} is {kind_of(found)}; at most {MAX_GROUPS} groups of pods are read")
    return 0


def _refusals(kind: Kind, root: Mapping[str, Any], problems: list[str]) -> Iterator[str]:
    for refusal in kind.refuse:
        try:
            if any(refusal.applies.holds(each, at) for at, each in refusal.each.matches(root)):
                yield f"{refusal.because}; {refusal.remedy}"
        except (PathProblem, ExpressionProblem) as error:
            problems.append(str(error))
