"""`python -m tests.prove`: many random comparisons and closed worlds, on all cores; what is found is written down.

Exit code 0 when nothing was found, 1 otherwise.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from tests.prove.numbers.changing import all_stale_numbers
from tests.prove.numbers.comparing import all_differences
from tests.prove.random_draw import Seeded
from tests.prove.rest.searching import flaws
from tests.prove.rest.shrinking import kind_of, shrunk
from tests.prove.worlds.counts_and_percents import with_counts_and_percents
from tests.prove.worlds.large_worlds import random_large_world
from tests.prove.worlds.late_arrivals import with_late_arrivals
from tests.prove.worlds.manifests import write_world
from tests.prove.worlds.node_sizes import with_node_sizes
from tests.prove.worlds.over_time import with_overrides
from tests.prove.worlds.pod_sets import with_several_pod_sets
from tests.prove.worlds.run_times import limited_in_time
from tests.prove.worlds.world import ClosedWorld, random_world, reordered, with_cordons

FOUND = Path(__file__).parents[1] / "scenarios" / "found"
SHRUNK_PER_KIND = 1
"""How many worlds of one kind are shrunk and written; the rest are only counted."""

Outcome = tuple[int, list[str]]


def compare_one(seed: int, number: int) -> Outcome:
    """What the two engines do not agree on for these inputs, and what is stale after changes to it."""
    return number, [*all_differences(f"scene {seed} {number}"), *all_stale_numbers(f"scene {seed} {number}")]


def search_one(seed: int, number: int) -> Outcome:
    """What is wrong in that world."""
    return number, list(flaws(world_of(seed, number)))


def world_of(seed: int, number: int) -> ClosedWorld:
    """The world of that number in that seed's search; some are large, have pod sets, small nodes or late arrivals."""
    draw = random_large_world if number % 10 == 9 else random_world
    dice = Seeded(f"world {seed} {number}")
    world = draw(dice)
    world = with_several_pod_sets(dice, world) if number % 5 in (2, 4) else world
    world = with_node_sizes(dice, world) if number % 5 in (1, 4) and dice.chance(50) else world
    world = with_late_arrivals(dice, world) if number % 5 in (0, 3) else world
    world = with_cordons(dice, with_overrides(dice, reordered(dice, limited_in_time(dice, world))))
    return with_counts_and_percents(dice, world)


def many(task: Callable[[int], Outcome], count: int, workers: int, name: str) -> Iterator[Outcome]:
    """Run the task for 0 … count-1 on all cores; progress goes to stderr; those that found something are returned."""
    began, bad = time.monotonic(), 0
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        for done, (number, found) in enumerate(pool.imap_unordered(task, range(count), chunksize=20), start=1):
            if found:
                bad += 1
                yield number, found
            if done % 500 == 0 or done == count:
                seconds = time.monotonic() - began
                print(f"{name}: {done}/{count} in {seconds:.0f} s, {bad} with findings", file=sys.stderr, flush=True)


def write_down(seed: int, number: int, flaw: str) -> Path:
    """Shrink the world that shows the flaw and write it as a scenario."""
    kind = kind_of(flaw)

    def shows(world: ClosedWorld) -> bool:
        return any(kind_of(each) == kind for each in flaws(world))

    small = shrunk(world_of(seed, number), shows)
    example = next(each for each in flaws(small) if kind_of(each) == kind)
    path = FOUND / f"world-{seed}-{number}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        write_world(small, f"Found by a search over random closed worlds ({seed}, {number}).\nShows: {example}")
    )
    return path


def report(outcomes: Iterable[Outcome], explain: Callable[[int, str], Path | None]) -> int:
    """Print each kind of finding with its first example; return how many inputs or worlds had findings."""
    kinds: Counter[str] = Counter()
    bad = 0
    for number, found in outcomes:
        bad += 1
        for line in found:
            kind = kind_of(line)
            kinds[kind] += 1
            if kinds[kind] <= SHRUNK_PER_KIND:
                print(f"number {number}: {line}")
                if (path := explain(number, line)) is not None:
                    print(f"  written to {path}", flush=True)
    for kind, times in kinds.most_common():
        print(f"{times:6} times: {kind}")
    return bad


def main() -> int:
    """Compare, search, report."""
    parser = argparse.ArgumentParser(prog="python -m tests.prove", description=__doc__)
    parser.add_argument("--trees", type=int, default=10_000, help="random inputs to compare")
    parser.add_argument("--worlds", type=int, default=20_000, help="random closed worlds to search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--no-shrink", action="store_true", help="count findings, write no scenario")
    options = parser.parse_args()

    def explain(number: int, flaw: str) -> Path | None:
        return None if options.no_shrink else write_down(options.seed, number, flaw)

    compared = many(partial(compare_one, options.seed), options.trees, options.workers, "comparisons")
    differing = report(compared, lambda _number, _line: None)
    worlds = many(partial(search_one, options.seed), options.worlds, options.workers, "worlds")
    flawed = report(worlds, explain)
    print(f"{options.trees} comparisons, {differing} with differences; {options.worlds} worlds, {flawed} with flaws")
    return 1 if differing or flawed else 0


if __name__ == "__main__":
    sys.exit(main())
