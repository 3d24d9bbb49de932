"""A pytest plugin that collects tests once and tries each mutant in a fork of that process.

The fork replaces the code of one function and runs the tests that call this function, the quickest first, until one
fails. So no file is changed and nothing is imported twice. Time is counted in CPU seconds of the fork: what else the
machine does cannot make a mutant look like one whose tests never end.
"""

import cProfile
import gc
import os
import resource
import signal
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, islice
from multiprocessing import connection, get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

import pytest
from hypothesis import Phase, settings

from dev.mutants.mutations import Mutant

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 8
"""CPU seconds of tests that are tried on every mutant before slower ones are tried on any."""
SPARE: Final = 10
"""CPU seconds that a test may run beyond three times what it took without a mutant."""
MOST_MEMORY: Final = 4 << 30
"""Bytes of address space: a mutant that makes a loop endless often fills a list in it."""
TEST_FAILED: Final = 3
"""Exit code of a fork in which a test noticed the mutant."""
LIVE_FIXTURE: Final = "control_plane_binaries"
"""Every test with a control plane has it; such a test is not pure."""
FORK: Final = get_context("fork")
Functions = Mapping[tuple[str, int], list[FunctionType]]
"""(file, first line) -> the functions made from it that exist."""


class Outcome(Enum):
    """What the tests say of a mutant; `ENDLESS` is killed too, and of what is `OPEN` the slow tests tell later."""

    KILLED = "killed"
    ENDLESS = "runs out of CPU time"
    SURVIVES = "survives"
    OPEN = "survives its quick tests"


@dataclass(frozen=True)
class Reach:
    """What one test does: CPU seconds under a profiler, and (file, first line) of the engine's functions it calls."""

    seconds: float
    calls: frozenset[tuple[str, int]]


class Trials:
    """Give it to `pytest.main` as a plugin; it reports each mutant's outcome as soon as it is known."""

    def __init__(self, mutants: Sequence[Mutant], workers: int, report: Callable[[Mutant, Outcome], None]) -> None:
        self._mutants = mutants
        self._workers = workers
        self._report = report
        self.failing: tuple[str, ...] = ()
        """Tests that fail without any mutant: nothing is tried then."""

    def pytest_collection(self) -> None:
        """Draw the same examples every time, and do not look for the smallest one that fails."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings(derandomize=True, database=None, phases=phases))
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the pure ones."""
        items[:] = [each for each in items if LIVE_FIXTURE not in getattr(each, "fixturenames", ())]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests, then try the mutants. True: there is nothing left to run."""
        reach = self._trace_all(session)
        self.failing = tuple(each.nodeid for each in session.items if each.nodeid not in reach)
        if not self.failing:
            gc.unfreeze()  # what the garbage collector does not look at is not found
            functions = _engine_functions()
            gc.freeze()  # a fork that collects garbage would copy everything
            self._try_all(session, reach, functions)
        return True

    def _trace_all(self, session: pytest.Session) -> dict[str, Reach]:
        """Return node id -> what the test reaches, of those that pass."""
        found: dict[str, Reach] = {}
        receivers = []
        for index in range(self._workers):
            receiver, sender = FORK.Pipe(duplex=False)
            FORK.Process(target=_trace, args=(session, session.items[index :: self._workers], sender)).start()
            sender.close()
            receivers.append(receiver)
        for receiver in receivers:
            found.update(receiver.recv())
        return found

    def _try_all(self, session: pytest.Session, reach: dict[str, Reach], functions: Functions) -> None:
        """Try every mutant on its quickest tests, then those that survive these on the others."""
        slow: dict[Mutant, list[pytest.Item]] = {}

        def start(mutant: Mutant, tests: Sequence[pytest.Item]) -> ForkProcess:
            seconds = [(test, reach[test.nodeid].seconds) for test in tests]
            process = FORK.Process(target=_try, args=(session, seconds, mutant, functions.get(mutant.place, [])))
            process.start()
            return process

        def first() -> Iterator[tuple[Mutant, ForkProcess]]:
            for mutant in self._mutants:
                reaching = [each for each in session.items if mutant.place in reach[each.nodeid].calls]
                quick, slow[mutant] = _split(sorted(reaching, key=lambda each: reach[each.nodeid].seconds), reach)
                yield mutant, start(mutant, quick)

        left: list[Mutant] = []
        for mutant, outcome in self._outcomes(first()):
            if outcome is Outcome.SURVIVES and slow[mutant]:
                left.append(mutant)
                self._report(mutant, Outcome.OPEN)
            else:
                self._report(mutant, outcome)
        for mutant, outcome in self._outcomes((mutant, start(mutant, slow[mutant])) for mutant in left):
            self._report(mutant, outcome)

    def _outcomes(self, started: Iterator[tuple[Mutant, ForkProcess]]) -> Iterator[tuple[Mutant, Outcome]]:
        """Let so many run at a time as there are workers."""
        running: dict[ForkProcess, Mutant] = {}
        while True:
            next_ones = islice(started, self._workers - len(running))
            running |= {process: mutant for mutant, process in next_ones}
            if not running:
                return
            connection.wait([each.sentinel for each in running])
            for process in [each for each in running if not each.is_alive()]:
                yield running.pop(process), outcome_of(process.exitcode)


def _split(tests: Sequence[pytest.Item], reach: dict[str, Reach]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return those that together take no longer than `PATIENCE`, and the others."""
    ends = list(accumulate(reach[each.nodeid].seconds for each in tests))
    number = bisect_right(ends, PATIENCE)
    return list(tests[:number]), list(tests[number:])


def outcome_of(exitcode: int | None) -> Outcome:
    """Return what the end of a fork says. A signal other than that of the CPU time is a crash: it is noticed.

    Raises RuntimeError for a fork that could not try the mutant.
    """
    if exitcode is None or (exitcode not in (0, TEST_FAILED) and exitcode > 0):
        raise RuntimeError(f"a mutant could not be tried: its process ended with {exitcode}")
    if exitcode == 0:
        return Outcome.SURVIVES
    return Outcome.ENDLESS if exitcode == -signal.SIGPROF else Outcome.KILLED


def _engine_functions() -> Functions:
    found: dict[tuple[str, int], list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and (place := _place(each.__code__)) is not None:
            found.setdefault(place, []).append(each)
    return found


def _place(code: CodeType) -> tuple[str, int] | None:
    if not code.co_filename.startswith(f"{ROOT}/shared/quota/"):
        return None
    return Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_firstlineno


def _trace(session: pytest.Session, items: Sequence[pytest.Item], sender: "connection.Connection") -> None:
    """Run these tests in a fork, each under a profiler."""
    _be_silent()
    found: dict[str, Reach] = {}
    for item, following in _with_next(items):
        failed, began, profile = session.testsfailed, time.process_time(), cProfile.Profile(builtins=False)
        profile.runcall(_run, item, following)
        codes = (entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType))
        calls = frozenset(place for code in codes if (place := _place(code)) is not None)
        if session.testsfailed == failed:
            found[item.nodeid] = Reach(time.process_time() - began, calls)
    sender.send(found)


def _try(
    session: pytest.Session,
    tests: Sequence[tuple[pytest.Item, float]],
    mutant: Mutant,
    functions: Iterable[FunctionType],
) -> None:
    """Exit the fork with `TEST_FAILED` at the first test that fails, or be killed by the CPU time."""
    code = mutant.code(str(ROOT / mutant.path))
    for function in functions:
        function.__code__ = code
    _be_silent()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    seconds = [each for _, each in tests]
    for (item, following), usual in zip(_with_next([item for item, _ in tests]), seconds, strict=True):
        signal.setitimer(signal.ITIMER_PROF, SPARE + 3 * usual)
        _run(item, following)
        if session.testsfailed:
            sys.exit(TEST_FAILED)


def _run(item: pytest.Item, following: pytest.Item | None) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _with_next(items: Sequence[pytest.Item]) -> Iterable[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=bool(items))


def _be_silent() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
