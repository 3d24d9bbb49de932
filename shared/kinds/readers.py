"""Pods of kinds that write no pod templates: each named reader makes one from the kind's own fields.

There is one, for the driver and executors of a SparkApplication. Their memory is written in units of the JVM ("512m"
is 512 MiB), and Spark adds an overhead to it.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from shared.kinds.paths import PathProblem, Pointer, kind_of, show

Reader = Callable[[Mapping[str, Any], Mapping[str, Any], Pointer], Mapping[str, Any]]
"""(the set's own fields, the whole object, the pointer of the fields) -> a pod spec. Raises PathProblem."""

_MIB: Final = 1 << 20
_JVM_UNITS: Final = {"": _MIB, "b": 1, "k": 1 << 10, "m": _MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_JVM_MEMORY: Final = re.compile(r"([0-9]{1,15})([bkmgtp]?)b?", re.IGNORECASE)
_FACTOR: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?")
_LEAST_OVERHEAD: Final = 384
"""MiB."""
_COPIED: Final = ("initContainers", "nodeSelector", "affinity", "tolerations", "priorityClassName")


def read_spark(fields: Mapping[str, Any], root: Mapping[str, Any], at: Pointer) -> Mapping[str, Any]:
    """Return the pod of a Spark driver or executor: cores, and memory with its overhead, as Spark requests them."""
    requests = {
        "cpu": fields.get("coreRequest") or fields.get("cores") or 1,
        "memory": f"{_memory(fields, root, at)}Mi",
    }
    gpu = fields.get("gpu")
    if gpu is not None:
        if not (isinstance(gpu, dict) and isinstance(gpu.get("name"), str)):
            raise PathProblem(f"{show((*at, 'gpu'))} is {kind_of(gpu)}, not a mapping with name and quantity")
        requests[gpu["name"]] = gpu.get("quantity", 1)
    sidecars = fields.get("sidecars") or []
    if not isinstance(sidecars, list):
        raise PathProblem(f"{show((*at, 'sidecars'))} is {kind_of(sidecars)}, not a list")
    spec = {"containers": [{"name": "spark", "resources": {"requests": requests}}, *sidecars]}
    return spec | {key: fields[key] for key in _COPIED if fields.get(key) is not None}


def _memory(fields: Mapping[str, Any], root: Mapping[str, Any], at: Pointer) -> int:
    """Return MiB: the heap plus the overhead, which is given, or else a part of the heap and at least 384 MiB."""
    heap = _jvm_mebibytes(fields.get("memory") or "1g", (*at, "memory"))
    if fields.get("memoryOverhead") is not None:
        return heap + _jvm_mebibytes(fields["memoryOverhead"], (*at, "memoryOverhead"))
    return heap + max(int(heap * _overhead_factor(root)), _LEAST_OVERHEAD)


def _overhead_factor(root: Mapping[str, Any]) -> Fraction:
    """Return the given factor; else 0.1 for JVM programs, and 0.4 for Python and R, whose memory is not in the heap."""
    spec = root.get("spec") or {}
    given = spec.get("memoryOverheadFactor")
    if given is None:
        return Fraction(4, 10) if spec.get("type") in ("Python", "R") else Fraction(1, 10)
    if not isinstance(given, str) or not _FACTOR.fullmatch(given):
        raise PathProblem(f"spec.memoryOverheadFactor is {kind_of(given)}, not the text of a number such as 0.1")
    return Fraction(given)


def _jvm_mebibytes(text: Any, at: Pointer) -> int:
    match = _JVM_MEMORY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise PathProblem(f"{show(at)} is {kind_of(text)}, not a size of memory such as 512m or 4g")
    return int(match[1]) * _JVM_UNITS[match[2].lower()] // _MIB


READERS: Final[Mapping[str, Reader]] = {"spark": read_spark}
