"""The part of an object of a governed kind that is kept: what decisions need, without oversized placement. Pure."""

from collections.abc import Callable
from dataclasses import replace

from shared.cluster.state.observed.projections import FinishedOwner
from shared.cluster.state.observed.trimming import trim_metadata, trim_placement
from shared.kinds.kind import Kind
from shared.kinds.kind_object import KindObject
from shared.kinds.reading import read_kind_object
from shared.quota.model.read.pods import unit_key

KindRecord = KindObject | FinishedOwner


def project_kind(kind: Kind) -> Callable[[bytes], KindRecord | None]:
    """Return the projection of this kind's objects to records; None for a finished one that was made for another."""

    def project(raw: bytes) -> KindRecord | None:
        seen = read_kind_object(kind, raw)
        if seen.finished:
            return None if seen.metadata.unit else FinishedOwner(unit_key(seen.metadata.uid, seen.metadata.namespace))
        pod_sets = tuple(replace(each, spec=trim_placement(each.spec), annotations={}) for each in seen.pod_sets)
        return replace(seen, metadata=trim_metadata(seen.metadata), pod_sets=pod_sets)

    return project
