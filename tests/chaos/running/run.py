"""One run: build the stage, submit work, commit faults, let everything come to rest, and judge the history."""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

from dev.controlplane.programs import binaries
from shared.quota.model.settings import QuotaSettings
from tests.chaos.judging.accounts import counted_runs, judge_accounts
from tests.chaos.judging.at_rest import Rest, judge, look, still_counted, unseen
from tests.chaos.judging.checker import Findings, Flaw, check
from tests.chaos.judging.history.history import Version, read_history
from tests.chaos.running import evidence, faults, network_faults
from tests.chaos.running.cluster_setup import SKEW, Stage, running
from tests.chaos.running.episode import commit, schedule
from tests.chaos.running.submitter import Submitter
from tests.chaos.running.workloads import COUNTED, Submission, counted_group, organisation, submissions

Say = Callable[[str], None]
ACCOUNTS_PATIENCE: Final = 150.0
"""Seconds; accounts are written once a minute."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How much of everything. Work that is still missing after the last episode is submitted in the noise alone."""

    seed: int
    jobs: int
    faults: int
    pace: float = 0.3
    """Seconds between two submissions."""
    patience: float = 240
    """Seconds that the work may take to finish after the last fault."""
    jobsets: bool = False
    """Whether there are JobSets among the work, and faults of their operator."""
    keep: Path | None = None
    """Where the evidence goes; None: to a temporary folder, if anything is found."""
    accounts: bool = False
    """Whether there is a leaf whose Jobs are counted beside its account, which takes some minutes more."""
    skew: timedelta = SKEW
    """How far the second reconciler's clock is ahead."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was done, and what was found."""

    submitted: int
    episodes: Counter[str]
    committed: Counter[str]
    restarts: int
    findings: Findings
    kept: Path
    """Where the evidence of what was found is."""

    @property
    def faults(self) -> int:
        """All of them."""
        return self.episodes.total() + self.committed.total()

    @property
    def flaws(self) -> list[Flaw]:
        """What must not be."""
        return self.findings.flaws


def run(programs: binaries.Binaries, options: RunOptions, say: Say) -> Report:
    """Do all of it."""
    random = Random(options.seed)
    with running(programs, options.seed, jobsets=options.jobsets, skew=options.skew) as stage:
        _organise(stage, [*organisation(), *([counted_group()] if options.accounts else [])])
        work = submissions(Random(random.random()), jobsets=options.jobsets, counted=options.accounts)
        submitter = Submitter(stage, work, options.pace)
        stage.proxy.rules.extend(network_faults.noise())
        submitting = threading.Thread(target=submitter.run, args=(Random(random.random()),), daemon=True)
        submitting.start()
        episodes = _strike(stage, submitter, options, Random(random.random()), say)
        submitter.stopping.set()
        submitting.join(90)
        stage.proxy.rules.clear()
        say(f"{stage.proxy.faults() + episodes.total()} faults, {len(submitter.taken)} submitted; coming to rest")
        rest = _settle(stage, options.patience, say)
        if options.accounts:
            rest = _wait_for_accounts(stage, say)
        kept = evidence.keep(stage, rest, options.keep)
        history = read_history(kept / stage.audit_log.name)
    say(f"judging {len(history)} versions")
    findings = _judge(rest, history, submitter, stage)
    if options.accounts:
        _judge_accounts(rest, history, findings, exact=not options.skew)
    if not findings.flaws and options.keep is None:
        shutil.rmtree(kept)
    return Report(
        submitted=len(submitter.taken),
        episodes=episodes,
        committed=_by_kind(stage),
        restarts=stage.restarts,
        findings=findings,
        kept=kept,
    )


def _by_kind(stage: Stage) -> Counter[str]:
    committed: Counter[str] = Counter()
    for (fault, _), times in stage.proxy.committed.items():
        committed[fault] += times
    return committed


def _judge(rest: Rest, history: Sequence[Version], submitter: Submitter, stage: Stage) -> Findings:
    findings = check(history, evidence.expectations(rest))
    names = [each.name for each in submitter.taken if each.name not in stage.withdrawn]
    findings.flaws.extend(judge(rest, names, history, datetime.now(UTC), QuotaSettings()))
    findings.flaws.extend(Flaw("NotRecorded", key, 0, "its last version is missing") for key in unseen(rest, history))
    findings.flaws.extend(Flaw("Refused", "a submission", 0, text) for text in submitter.refusals)
    return findings


def _judge_accounts(rest: Rest, history: Sequence[Version], findings: Findings, *, exact: bool) -> None:
    """With clocks that differ the account may: that is counted, and no flaw. Root must be the sum of all leaves."""
    runs = counted_runs(history, COUNTED)
    findings.counts["Jobs counted beside their account"] += len(runs)
    found = list(judge_accounts(rest, runs, COUNTED))
    findings.flaws.extend(each for each in found if exact or each.object != f"QuotaGroup/{COUNTED}")
    for each in found:
        findings.counts[f"accounts that differ: {each.message}"] += 1


def _organise(stage: Stage, objects: Sequence[Submission]) -> None:
    """The webhook might not have its certificate yet, or a parent might not be seen yet: ask again."""
    for each in objects:
        ends = time.monotonic() + 60
        while (answer := stage.cluster.rest.request("POST", each.path, each.body))[0] not in (201, 409):
            if time.monotonic() > ends:
                raise AssertionError(f"{each.name} was refused: {answer}")
            time.sleep(0.2)


def _strike(stage: Stage, submitter: Submitter, options: RunOptions, random: Random, say: Say) -> Counter[str]:
    kinds = {**faults.KINDS, **(faults.OF_JOBSETS if options.jobsets else {})}
    committed: Counter[str] = Counter()
    for episode in schedule(random, kinds):
        done = stage.proxy.faults() + committed.total()
        if done >= options.faults:
            break
        say(f"{done:5} faults, {len(submitter.taken):4} submitted: {episode}")
        if commit(episode, kinds, stage):
            committed[episode.kind] += 1
    ends = time.monotonic() + options.patience
    while len(submitter.taken) < options.jobs and time.monotonic() < ends:
        time.sleep(0.2)
    return committed


def _wait_for_accounts(stage: Stage, say: Say) -> Rest:
    """Wait until the accounts are what was counted, or for so long that all of them would be written."""
    runs = counted_runs(read_history(stage.audit_log), COUNTED)
    ends = time.monotonic() + ACCOUNTS_PATIENCE
    while (found := list(judge_accounts(rest := look(stage.cluster), runs, COUNTED))) and time.monotonic() < ends:
        time.sleep(1)
    say(f"{len(runs)} Jobs counted, {len(found)} accounts differ")
    return rest


def _settle(stage: Stage, patience: float, say: Say) -> Rest:
    """Wait until all work has finished and nothing is counted, or nothing has changed for half of the patience."""
    ends = time.monotonic() + patience
    still = time.monotonic()
    before: list[str] = []
    while True:
        rest = look(stage.cluster)
        left = rest.left() or [flaw.object for flaw in still_counted(rest)]
        if left != before:
            before, still = left, time.monotonic()
        if not left or time.monotonic() > ends or time.monotonic() - still > patience / 2:
            say(f"{len(left)} have not finished")
            return rest
        time.sleep(1)
