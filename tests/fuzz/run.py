"""One run: tenants act side by side, the judge looks every second; then they stop and everything must come to rest."""

import json
import shutil
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

import yaml

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import CHART, RECONCILER_USER, Quotree, installed
from dev.operators import recipe
from dev.operators import running as operators
from shared.quota.model.settings import QuotaSettings, ReclaimSettings
from tests.chaos.judging.at_rest import look
from tests.chaos.judging.causes import Surrounding
from tests.chaos.judging.checker import Expectations, check
from tests.chaos.judging.history.history import read_history, write_policy
from tests.chaos.judging.history.records import JOBSET
from tests.fuzz.actions import act
from tests.fuzz.actor import Actor
from tests.fuzz.judge import Groups, Patience, entitled_waiting, live_pods, over_limits
from tests.fuzz.organisation import (
    ADMINISTRATOR,
    CONTROLLERS,
    CPUS,
    NODES,
    TENANTS,
    bring_in,
    build,
    latest_revision,
)
from tests.fuzz.stops import Legality, Stops
from tests.fuzz.times import administrate
from tests.metric_sums import sum_of

Say = Callable[[str], None]
GOVERNED: Final = {"preset": "jobset", "operators": [recipe.JOBSET.user]}
EVICTION_TIMEOUT: Final = timedelta(seconds=10)
OVER_FOR_AT_MOST: Final = timedelta(seconds=45)
"""A decision, an eviction that a budget delays, and the slowest end, on a loaded machine."""
WAITS_AT_MOST: Final = timedelta(seconds=75)
"""The same, a write that was refused before (15 s), and the victims of a first plan that vanished by themselves."""
SEEN_WITHIN: Final = timedelta(seconds=5)
"""How long the API server and the processes take to know a namespace's new label, on a loaded machine."""
ADMINISTRATES_EVERY: Final = 4.0
"""Seconds between two edits of the administrator, on average."""
ADMINISTRATES_AFTER: Final = 20.0
"""Seconds in which nobody else stops what tenants run."""
IDLE_CYCLES: Final = 2.0
"""A second, on average over the whole run."""
FAILED_WRITES: Final = 5.0
IGNORED_RULES: Final = frozenset(
    {"StartedTwice", "CountedTwice", "OverAdmitted", "StoppedByOther", "BadEviction", "EvictedWithoutCause"}
)
"""Rules by which the checker of tests/chaos takes a Job for what its template says; others hold whatever owners do."""


@dataclass(slots=True)
class Report:
    """What was tried, and what was found."""

    tried: Counter[tuple[str, int]] = field(default_factory=Counter)
    flaws: list[str] = field(default_factory=list)
    starts: int = 0
    evictions: int = 0
    figures: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Stage:
    """What a run is played on."""

    control_plane: cluster.ControlPlane
    quotree: Quotree
    actors: list[Actor]
    groups: Groups
    report: Report
    settings: QuotaSettings
    managed_since: int = 0
    """The revision since which every namespace is known to be managed."""
    over: Patience = field(default_factory=lambda: Patience(OVER_FOR_AT_MOST))
    waits: Patience = field(default_factory=lambda: Patience(WAITS_AT_MOST))
    stops: Stops = field(default_factory=Stops)
    legality: Legality = field(default_factory=Legality)

    def sample(self) -> bool:
        """Look once; whether nothing is wrong now."""
        with suppress(OSError):
            rest, now = look(self.control_plane), datetime.now(UTC)
            self.groups.see(rest.lists[JOBSET.resource] + rest.lists["jobs"])
            over = list(over_limits(rest, self.groups, {"cpu": CPUS * 1000}, now))
            waiting = list(entitled_waiting(rest, self.settings, now))
            late = self.over.see(over, now) + self.waits.see(waiting, now)
            late += [*self.stops.started(rest, now), *self.legality.broken(rest, now)]
            self.report.flaws += [f"{now:%H:%M:%S} {each}" for each in late]
            return not over and not waiting
        return False


def run(
    programs: binaries.Binaries, seed: int, seconds: float, say: Say, *, pace: float = 0.15, keep: Path | None = None
) -> Report:
    """Do all of it. `pace`: seconds between two actions of a tenant, on average. `keep`: where the logs go."""
    with tempfile.TemporaryDirectory(prefix="quotree-fuzz-") as folder:
        log = Path(folder) / "audit.log"
        policy = write_policy(Path(folder) / "policy.json")
        arguments = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-maxsize=8000"]
        quota = {"reclaim": {"evictionTimeout": f"{EVICTION_TIMEOUT.total_seconds():g}s"}}
        with (
            cluster.start(
                programs, nodes=NODES, controllers=CONTROLLERS, extra_apiserver_args=arguments
            ) as control_plane,
            operators.running(recipe.JOBSET, control_plane, say),
            installed(control_plane, quota=quota, kinds=[GOVERNED], visibility=True) as quotree,
        ):
            stage, began = _stage(control_plane, quotree, seed), time.monotonic()
            _play(stage, seconds, pace, seed)
            say(f"{stage.report.tried.total()} requests; coming to rest")
            _rest(stage, say)
            surrounding = look(control_plane).surrounding()
            if keep is not None:
                _keep(stage, log, keep)
            # Also what it took to come to rest, which on a loaded machine is longer than the play.
            _judge_processes(stage, time.monotonic() - began)
        _judge_history(stage, log, surrounding)
    return stage.report


def _stage(control_plane: cluster.ControlPlane, quotree: Quotree, seed: int) -> Stage:
    build(control_plane)
    actors = [Actor(each, each.rest(control_plane), Random(f"{seed} {each.name}")) for each in TENANTS]
    groups = Groups({each.namespace: each.group for each in TENANTS if not each.comes_later})
    settings = QuotaSettings(reclaim=ReclaimSettings(eviction_timeout=EVICTION_TIMEOUT))
    actors.append(Actor(ADMINISTRATOR, control_plane.rest.another(), Random(f"{seed} admin")))
    return Stage(control_plane, quotree, actors, groups, Report(), settings)


def _play(stage: Stage, seconds: float, pace: float, seed: int) -> None:
    ended = threading.Event()

    def work(actor: Actor) -> None:
        dice = Random(f"{seed} {actor.tenant.name} pace")
        if actor.tenant is ADMINISTRATOR:
            ended.wait(ADMINISTRATES_AFTER)
            while not ended.wait(dice.expovariate(1 / ADMINISTRATES_EVERY)):
                with suppress(OSError):
                    administrate(actor)
        while not ended.wait(dice.expovariate(1 / pace)):
            with suppress(OSError):
                act(actor)

    threads = [threading.Thread(target=work, args=(each,), daemon=True) for each in stage.actors]
    for each in threads:
        each.start()
    ends, comes = time.monotonic() + seconds, time.monotonic() + seconds / 3
    while time.monotonic() < ends:
        if time.monotonic() > comes:
            stage.groups.namespaces |= bring_in(stage.control_plane.rest)
            comes = ends
            time.sleep(SEEN_WITHIN.total_seconds())
            stage.managed_since = latest_revision(stage.control_plane.rest)
        stage.sample()
        time.sleep(1)
    ended.set()
    for each in threads:
        each.join(60)
    for actor in stage.actors:
        stage.report.tried += actor.tried


def _rest(stage: Stage, say: Say) -> None:
    """Until three looks in a row find nothing wrong, or something has been wrong for too long."""
    good, ends = 0, time.monotonic() + 2 * WAITS_AT_MOST.total_seconds()
    while good < 3 and time.monotonic() < ends:
        good = good + 1 if stage.sample() else 0
        time.sleep(1)
    if good < 3:
        stage.report.flaws.append("it did not come to rest")
        stage.report.figures += live_pods(look(stage.control_plane).lists["pods"], stage.groups)
    say("at rest" if good >= 3 else "it did not come to rest")


def _judge_processes(stage: Stage, seconds: float) -> None:
    report, quotree = stage.report, stage.quotree
    limits = yaml.safe_load((CHART / "values.yaml").read_text())
    for process, kind in ((quotree.reconcilers[0], "reconciler"), (quotree.webhooks[0], "webhook")):
        if not process.running:
            report.flaws.append(f"the {kind} has ended")
            continue
        peak, limit = _peak_mib(process.pid), _mib(limits[kind]["resources"]["limits"]["memory"])
        report.figures.append(f"{kind}: {peak:.0f} MiB at most")
        if peak > limit:
            report.flaws.append(f"the {kind} took {peak:.0f} MiB, its limit is {limit:.0f}")
        if "Traceback" in process.log.read_text():
            report.flaws.append(f"the {kind} logged a traceback")
    if not (quotree.reconcilers[0].running and quotree.webhooks[0].running):
        return
    decided = _metrics(quotree.health["reconciler-0"])
    idle = sum_of(decided, "quotree_cycles_idle_total")
    cycles = sum_of(decided, "quotree_cycle_seconds_count")
    done = (sum_of(decided, "quotree_writes_total", fate=fate) for fate in ("written", "reduced"))
    failed = sum_of(decided, "quotree_writes_total") - sum(done)
    report.starts, report.evictions = (
        int(sum_of(decided, "quotree_starts_total")),
        int(sum_of(decided, "quotree_evictions_total")),
    )
    report.figures.append(f"{cycles:.0f} cycles, {idle:.0f} of them idle; {failed:.0f} writes failed")
    if idle > IDLE_CYCLES * seconds:
        report.flaws.append(f"{idle:.0f} cycles changed nothing")
    for each in (stage.over, stage.waits):
        how_long, what = each.longest
        report.figures.append(f"{what} for {how_long.total_seconds():.0f} s of at most {each.limit.total_seconds():g}")
    if failed > FAILED_WRITES * seconds:
        report.flaws.append(f"{failed:.0f} writes failed")
    if errors := sum_of(_metrics(quotree.health["webhook-0"]), "quotree_webhook_reviews_total", verdict="error"):
        report.flaws.append(f"the webhook failed at {errors:.0f} reviews")


def _judge_history(stage: Stage, log: Path, surrounding: Surrounding) -> None:
    report = stage.report
    expected = Expectations(RECONCILER_USER, surrounding, {"cpu": CPUS * 1000}, ignored=IGNORED_RULES)
    findings = check(read_history(log), expected)
    report.figures.append(f"history: {dict(findings.counts)}")
    # There an owner starts what it likes, until it is managed.
    free = tuple(f"{each.namespace}/" for each in TENANTS if each.comes_later)
    report.flaws += [
        str(flaw)
        for flaw in findings.flaws
        if not (flaw.object.startswith(free) and flaw.revision <= stage.managed_since)
    ]


def _keep(stage: Stage, log: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for each in (log, *(process.log for process in (*stage.quotree.reconcilers, *stage.quotree.webhooks))):
        shutil.copy(each, folder / each.name)
    for actor in stage.actors:
        (folder / f"{actor.tenant.name}.txt").write_text("\n".join(actor.log))
    for what, objects in look(stage.control_plane).lists.items():
        (folder / f"{what}.json").write_text(json.dumps(objects))


def _metrics(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        return str(answer.read().decode())


def _peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def _mib(text: str) -> float:
    return float(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]]
