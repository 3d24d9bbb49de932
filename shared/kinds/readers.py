"""Pods of kinds that write no pod templates: each named reader makes one from the kind's own fields.

There is one, for the driver and the executors of a SparkApplication, whose memory is in units of the JVM.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from shared.kinds.paths import Pointer

Reader = Callable[[Mapping[str, Any], Mapping[str, Any], Pointer], Mapping[str, Any]]
"""(the set's own fields, the whole object, where the fields stand) -> a pod spec. Raises PathProblem."""
READERS: Final[Mapping[str, Reader]] = {}
