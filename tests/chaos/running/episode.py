"""One fault: its kind, how long it lasts, what it strikes; and the order in which a seed draws them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from dev.controlplane.errors import ControlPlaneError
from tests.chaos.running.cluster_setup import Stage


@dataclass(frozen=True, slots=True)
class Episode:
    """One fault: its kind, how long it lasts in seconds, and which of several it strikes."""

    kind: str
    seconds: float
    target: int

    def __str__(self) -> str:
        return f"{self.kind} for {self.seconds:.1f} s"


Act = Callable[[Episode, Stage], None]
Faults = Mapping[str, tuple[float, float, Act]]
"""The least and the most seconds of each kind, and what is done."""


def schedule(random: Random, kinds: Faults) -> Iterator[Episode]:
    """Episodes without end: every kind once in each round, in an order of its own."""
    while True:
        round_of_kinds = list(kinds)
        random.shuffle(round_of_kinds)
        for kind in round_of_kinds:
            least, most, _ = kinds[kind]
            yield Episode(kind, random.uniform(least, most), random.randrange(1 << 16))


def commit(episode: Episode, kinds: Faults, stage: Stage) -> bool:
    """Do it, and end it: afterwards nothing of this episode goes on, only its consequences.

    False: what it was to strike had ended by itself or was being started again.
    """
    try:
        kinds[episode.kind][2](episode, stage)
    except ControlPlaneError:
        return False
    return True
