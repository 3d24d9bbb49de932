"""Which sort an object is of. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.cluster.state.sorts.job import JobSort
from shared.cluster.state.sorts.kind_object import KindSort
from shared.cluster.state.sorts.pod import PodSort
from shared.cluster.state.sorts.sort import Owner, OwnerSort, WorkloadObject, WorkloadSort
from shared.kinds.kind_object import KindObject

_OWNERS: Final[Mapping[type, OwnerSort[Any]]] = {Job: JobSort(), KindObject: KindSort()}
_SORTS: Final[Mapping[type, WorkloadSort[Any]]] = {**_OWNERS, Pod: PodSort()}


def sort_of(seen: WorkloadObject) -> WorkloadSort[Any]:
    """Return the sort of this object."""
    return _SORTS[type(seen)]


def owner_sort_of(seen: Owner) -> OwnerSort[Any]:
    """Return the sort of this owner of pods."""
    return _OWNERS[type(seen)]
