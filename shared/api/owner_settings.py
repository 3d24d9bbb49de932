"""What the owner of a workload sets by annotations on it.

See docs/specification.md §2.6.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

import msgspec

from shared.api.durations import SHORTEST_RUN_TIME, read_duration, write_duration
from shared.api.names import EXPECTED_RUN_TIME, MAX_RUN_TIME, STARTUP
from shared.json_data import Json

MAX_TEXT: Final = 1024
"""How many characters are read of such an annotation; longer ones are bad."""
_SHOWN: Final = 40


class BadOwnerSetting(ValueError):
    """An annotation of an owner's that cannot be read; `problem` says what is wrong and what to write."""

    def __init__(self, annotation: str, problem: str) -> None:
        super().__init__(f"annotation {annotation} {problem}; it counts as absent")
        self.annotation = annotation
        self.problem = problem


def read_max_run_time(annotations: Mapping[str, str]) -> timedelta | None:
    """Return how long the owner lets the workload run; None: nothing is said. Raises BadOwnerSetting."""
    return _read_run_time(annotations, MAX_RUN_TIME)


def read_expected_run_time(annotations: Mapping[str, str]) -> timedelta | None:
    """Return how long the owner expects the workload to run; None: nothing is said. Raises BadOwnerSetting."""
    return _read_run_time(annotations, EXPECTED_RUN_TIME)


def _read_run_time(annotations: Mapping[str, str], name: str) -> timedelta | None:
    text = annotations.get(name)
    if text is None:
        return None
    found = read_duration(text) if len(text) <= MAX_TEXT else None
    if found is None or found < SHORTEST_RUN_TIME:
        least = write_duration(SHORTEST_RUN_TIME)
        raise BadOwnerSetting(name, f"is {text[:_SHOWN]!r}; write a duration of at least {least}, such as 8h")
    return found


class OwnRunTime(NamedTuple):
    """What an object says of how long its workload will run; for forecasts alone."""

    expected: timedelta | None = None
    """What its owner expects; None: nothing is said."""
    deadline: timedelta | None = None
    """After so long Kubernetes ends it (`activeDeadlineSeconds`); None: it has no deadline."""


UNKNOWN_RUN_TIME: Final = OwnRunTime()


class OwnStartup(NamedTuple):
    """What an owner says of the start-up of one workload; None: as its group says."""

    timeout: timedelta | None = None
    recovery_timeout: timedelta | None = None
    min_ready: int | None = None
    """How many pods are enough for it to be ready; None: all."""
    gang: bool | None = None
    """Whether kube-scheduler places its pods all or none."""


AS_ITS_GROUP: Final = OwnStartup()
_MEMBERS: Final = frozenset({"timeout", "recoveryTimeout", "minReady", "gang"})
_EXAMPLE: Final = '{"timeout": "10m", "recoveryTimeout": "5m", "minReady": 6}'
MOST_READY: Final = 1_000_000


def read_startup(annotations: Mapping[str, str]) -> OwnStartup:
    """Return what the owner says of the start-up. Raises BadOwnerSetting."""
    text = annotations.get(STARTUP)
    if text is None:
        return AS_ITS_GROUP
    written = _object(text)
    unknown = sorted(str(each) for each in written.keys() - _MEMBERS)
    if unknown:
        problem = f"has {unknown[0][:_SHOWN]!r}; write some of timeout, recoveryTimeout, minReady and gang"
        raise BadOwnerSetting(STARTUP, problem)
    return OwnStartup(_time(written, "timeout"), _time(written, "recoveryTimeout"), _least(written), _gang(written))


def _object(text: str) -> Json:
    try:
        written = msgspec.json.decode(text) if len(text) <= MAX_TEXT else None
    except (ValueError, RecursionError):
        written = None
    if not isinstance(written, dict) or not written:
        raise BadOwnerSetting(STARTUP, f"is {text[:_SHOWN]!r}; write a JSON object such as {_EXAMPLE}")
    return written


def _least(written: Json) -> int | None:
    value = written.get("minReady")
    if "minReady" not in written or (type(value) is int and 1 <= value <= MOST_READY):
        return value
    raise BadOwnerSetting(STARTUP, f"has minReady {str(value)[:_SHOWN]}; write a number of pods, 1 or more")


def _gang(written: Json) -> bool | None:
    value = written.get("gang")
    if "gang" not in written or isinstance(value, bool):
        return value
    raise BadOwnerSetting(STARTUP, f"has gang {str(value)[:_SHOWN]}; write true or false")


def _time(written: Json, name: str) -> timedelta | None:
    if name not in written:
        return None
    value = written[name]
    found = read_duration(value) if isinstance(value, str) else None
    if not found:
        raise BadOwnerSetting(STARTUP, f"has {name} {str(value)[:_SHOWN]}; write a duration above 0, such as 10m")
    return found
