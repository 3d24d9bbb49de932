"""How objects of each sort are written. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.write.sorts.job import JobWrites
from reconciler.write.sorts.kind_object import KindWrites
from reconciler.write.sorts.pod import PodWrites
from reconciler.write.sorts.sort import WriteSort
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.kinds.kind_object import KindObject

_SORTS: Final[Mapping[type, WriteSort[Any]]] = {Job: JobWrites(), KindObject: KindWrites(), Pod: PodWrites()}


def writes_of(seen: WorkloadObject) -> WriteSort[Any]:
    """Return how this object is written."""
    return _SORTS[type(seen)]
