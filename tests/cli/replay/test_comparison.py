"""How a replay is compared with its log: by what happened to each workload, and by pairs of events."""

from itertools import combinations
from random import Random

from cli.replay.comparison import Compared, compare
from cli.replay.lives import Replayed, ReplayedWorkload
from cli.replay.past import PastLog, PastWorkload
from tests.builders import NOW, after, pending


def _lived(name: str, past: list[int], again: list[int]) -> ReplayedWorkload:
    workload = PastWorkload(pending("a", 1, name), None, tuple(map(after, past)))
    return ReplayedWorkload(workload, starts=[*map(after, again)])


def _replayed(*lived: ReplayedWorkload) -> Replayed:
    return Replayed(PastLog(NOW, after(1000), ()), lived)


def test_the_first_start_of_a_workload_is_its_first_in_the_replay() -> None:
    found = compare(_replayed(_lived("more", [1, 9], [1]), _lived("less", [2], [2, 7]), _lived("before", [-5], [-5])))
    assert found.starts == Compared(recorded=3, replayed=3, both=2)
    assert (found.pairs, found.exchanged, found.percent_in_order) == (1, 0, 100)


def test_pairs_are_counted_as_one_by_one() -> None:
    dice = Random(7)
    times = [(dice.randint(1, 30), dice.randint(1, 30)) for _ in range(60)]
    found = compare(_replayed(*(_lived(str(at), [past], [again]) for at, (past, again) in enumerate(times))))
    apart = [(one, two) for one, two in combinations(sorted(times), 2) if one[0] != two[0]]
    assert found.pairs == len(apart)
    assert found.exchanged == sum(one[1] > two[1] for one, two in apart)
