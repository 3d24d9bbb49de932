"""Faults of the network: noise, storms of one kind, watches that say nothing, processes that are cut off."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tests.chaos.running.cluster_setup import Stage
from tests.chaos.running.episode import Act, Episode
from tests.chaos.running.process_faults import one_reconciler
from tests.faults.kinds import Asked, CutAnswer, Delay, FallSilent, Fault, LoseAnswer, Refuse, Rule, always, writes
from tests.faults.kinds import watches as is_watch

NOISE: Final = (
    (Delay(0.0, 0.3), always, 0.05),
    (Refuse(429, retry_after=1), always, 0.01),
    (Refuse(500), always, 0.02),
    (Refuse(503), always, 0.02),
    (Refuse(409), writes, 0.02),
    (LoseAnswer(), writes, 0.05),
    (CutAnswer(), always, 0.03),
)


def noise() -> list[Rule]:
    """What always goes wrong here and there."""
    return [Rule(fault, when, chance) for fault, when, chance in NOISE]


@contextmanager
def _rules(stage: Stage, *rules: Rule) -> Iterator[None]:
    stage.proxy.rules[:0] = rules
    try:
        yield
    finally:
        for rule in rules:
            stage.proxy.rules.remove(rule)


def storm(*faults: tuple[Fault, Callable[[Asked], bool], float]) -> Act:
    """Faults on the requests of all processes."""

    def act(episode: Episode, stage: Stage) -> None:
        with _rules(stage, *(Rule(fault, when, chance) for fault, when, chance in faults)):
            time.sleep(episode.seconds)

    return act


def silent_watches(episode: Episode, stage: Stage) -> None:
    """One process' watches are opened again, say nothing for the whole time, and are cut."""
    name = one_reconciler(stage, episode).name
    with _rules(stage, Rule(FallSilent(), lambda asked: is_watch(asked) and asked.client == name)):
        stage.proxy.side(name).cut()
        time.sleep(episode.seconds)
    stage.proxy.side(name).cut()


def partition(episode: Episode, stage: Stage) -> None:
    side = stage.proxy.side(one_reconciler(stage, episode).name)
    side.partition()
    try:
        time.sleep(episode.seconds)
    finally:
        side.heal()
