"""What `make bench` runs, in which order, and how long each may take: all together 45 minutes.

What matters most comes first. `words` are the options of the whole run, `small` those of a trial, which tells nothing
but that each works.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

WHOLE: Final = timedelta(minutes=45)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One module of `benchmarks`, as a whole run calls it. It is ended after `limit`."""

    name: str
    module: str
    minutes: float
    words: tuple[str, ...] = ()
    small: tuple[str, ...] = ()

    @property
    def limit(self) -> timedelta:
        """How long it may take."""
        return timedelta(minutes=self.minutes)


def _of(name: str, room: str, minutes: float, words: str = "", small: str = "") -> Benchmark:
    module = ".".join(part for part in ("benchmarks", room, name.removeprefix("webhook_")) if part)
    return Benchmark(name, module, minutes, tuple(words.split()), tuple(small.split()))


ALL: Final = (
    _of(
        "starts",
        "",
        14,
        "--rounds 3 quotree limit reviewed-limit kueue",
        "--jobs 20 quotree limit reviewed-limit",
    ),
    _of("reclaims", "", 13, "--settle 180 --patience 120 quotree kueue", "--jobs 10 --waiting 20 quotree"),
    _of("full_start", "", 7, "", "--groups 50 --jobs 500"),
    _of(
        "plan_cost",
        "engine",
        4,
        "--rounds 100 200-groups 200-groups-pod-sets 2000-groups 500-victims 2000-victims",
        "--rounds 3 200-groups 500-victims",
    ),
    _of("measuring", "engine", 1),
    _of("growth", "engine", 5, "", "--groups 10 40 --waiting 100 400 --rounds 3"),
    _of("webhook_reviews", "webhook", 1, "", "--seconds 1 --groups 20"),
    _of("overload", "webhook", 1, "", "--seconds 1 --groups 20"),
    _of("job_create", "webhook", 1, "", "--jobs 20"),
    _of("edits", "webhook", 2, "--replicas 2 --groups 20 2000", "--replicas 1 --groups 20"),
    _of("rolling_restart", "webhook", 2, "--rounds 1", "--rounds 1 --rate 20"),
    _of("floods", "objects", 3, "--seconds 30", "--seconds 3"),
    _of("kind_reading", "objects", 1, "", "--rounds 100"),
    _of("listing", "objects", 1, "", "--objects 500"),
    _of("visibility_queries", "", 3, "--blocks 3 --seconds 10", "--blocks 1 --seconds 2"),
    _of("footprint", "", 2, "--jobs 0 1000", "--groups 20 --jobs 0 50"),
    _of("cold_start", "engine", 3, "--trace 1 4", "--trace 1"),
    _of("accounts", "engine", 3, "", "--jobs 5000"),
    _of("forecasts", "engine", 3, "--error over", "--error over --samples 5"),
    _of("replay", "engine", 2, "--jobs 2000 --days 0.6", "--jobs 20 --groups 20"),
    _of("recorded_run", "", 9, "", "--jobs 12 --seconds 6"),
    _of("large_objects", "objects", 4, "", "--jobs 5 --kilobytes 100"),
)

BY_HAND: Final = (
    _of("day", "", 40, "--minutes 12 --patience 120", "--pods 60 --patience 30 quotree"),
    _of("one_start", "", 9, "--jobs 25", "--jobs 3 quotree limit"),
)
"""What takes too long for a whole run, or looks at one thing closely: measured when it is named, and kept in a file of
its own."""
