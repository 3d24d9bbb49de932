"""The groups' numbers, queues, claims and flows, read from the last plan at each scrape. docs/specification.md §9.4."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reconciler.report.measures.entitled_waiting import EntitledWaiting
from reconciler.report.measures.queue_waits import queue_waits
from reconciler.report.measures.resource_seconds import ResourceSeconds
from shared.cluster.state.faults.register import Faults
from shared.quota.decide.decisions import Plan
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import Tree

_NUMBERS: Final = {
    "min": "Reserved for the group, as written.",
    "effective_min": "min, scaled down where the siblings' mins exceed what their parent can provide.",
    "guarantee": "Kept for the group even while idle.",
    "ceiling": "Never more than this.",
    "weight": "Share of what is left over.",
    "request": "Used, plus pending workloads that count.",
    "used": "Requests of admitted workloads, until their pods have ended.",
    "non_preemptible": "The part of used that cannot be preempted.",
    "charge": "What the group costs its parent.",
    "demand": "request, at least the guarantee, at most the ceiling.",
    "runtime": "What the group may use now.",
    "borrowed": "Used above min.",
    "lendable": "The part of min that others may use now.",
}
_KEYS: Final = ("group", "path", "flavor", "resource")
_SAMPLE: Final = timedelta(seconds=1)
_MILLISECONDS: Final = 1000


class GroupCollector(Collector):
    """Shows the last snapshot and plan of this process; nothing before its first.

    A scrape collects in a thread of its own: everything it reads is frozen or copied at once.
    """

    def __init__(self, faults: Faults) -> None:
        self.entitled = EntitledWaiting()
        self.flows = ResourceSeconds(faults)
        self._faults = faults
        self._snapshot: Snapshot | None = None
        self._plan: Plan | None = None

    def show(self, snapshot: Snapshot, plan: Plan) -> None:
        """Set the latest snapshot and plan."""
        self._snapshot, self._plan = snapshot, plan

    async def sample(self) -> NoReturn:
        """Once a second, add up what is borrowed and lent, and record entitled pending workloads. No cycle waits for
        this.
        """
        while True:
            if self._snapshot is not None and self._plan is not None:
                self.flows.sample(self._snapshot, datetime.now(UTC))
                for _ in self.entitled.look(self._plan, self._faults):
                    await asyncio.sleep(0)
            await asyncio.sleep(_SAMPLE.total_seconds())

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families."""
        snapshot, plan = self._snapshot, self._plan
        if snapshot is None or plan is None:
            return
        now = datetime.now(UTC)
        yield from _numbers(snapshot)
        yield from _counts(snapshot)
        yield from self._flows(snapshot.world.tree)
        yield from self._waits(plan, now)
        inactive = GaugeMetricFamily("quotree_group_inactive", "Nothing new starts here.", labels=["group", "reason"])
        for name, why in snapshot.inactive.items():
            inactive.add_metric([name, why.reason], 1)
        yield inactive

    def _flows(self, tree: Tree) -> Iterator[Metric]:
        borrowed = CounterMetricFamily(
            "quotree_group_borrowed_seconds", "Borrowed, in base units times seconds.", labels=_KEYS
        )
        lent = CounterMetricFamily("quotree_group_lent_seconds", "Lent, in base units times seconds.", labels=_KEYS)
        for (group, key), flow in list(self.flows.totals.items()):
            labels = [group, path_of(tree, group), key.flavor, key.resource]
            borrowed.add_metric(labels, flow.borrowed / _MILLISECONDS)
            lent.add_metric(labels, flow.lent / _MILLISECONDS)
        yield borrowed
        yield lent

    def _waits(self, plan: Plan, now: datetime) -> Iterator[Metric]:
        tree = plan.end.snapshot.world.tree
        waiting = GaugeMetricFamily(
            "quotree_group_waiting_seconds",
            "How long the first of the queue has waited, and those set aside, by reason.",
            labels=["group", "path", "reason"],
        )
        for each in queue_waits(plan, now, self._faults):
            waiting.add_metric([each.leaf, path_of(tree, each.leaf), each.reason.value], each.waited.total_seconds())
        entitled = GaugeMetricFamily(
            "quotree_group_entitled_waiting_seconds",
            "For how long the longest waiting entitled workload has been entitled.",
            labels=["group", "path"],
        )
        for name, waited in self.entitled.longest(now).items():
            entitled.add_metric([name, path_of(tree, name)], waited.total_seconds())
        yield waiting
        yield entitled


def _numbers(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    for name, words in _NUMBERS.items():
        family = GaugeMetricFamily(f"quotree_group_{name}", f"{words} In base units.", labels=_KEYS)
        for group, numbers in snapshot.numbers.items():
            path = path_of(snapshot.world.tree, group)
            for key, number in numbers.items():
                family.add_metric([group, path, key.flavor, key.resource], getattr(number, name))
        yield family


def _counts(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    family = GaugeMetricFamily("quotree_group_workloads", "Workloads by state.", labels=["group", "path", "state"])
    claims = GaugeMetricFamily(
        "quotree_group_claims", "Workloads for which room is being freed.", labels=["group", "path"]
    )
    for group, leaf in snapshot.leaves.items():
        path = path_of(snapshot.world.tree, group)
        family.add_metric([group, path, "pending"], len(leaf.pending) + len(leaf.aside))
        family.add_metric([group, path, "admitted"], len(leaf.admitted))
        family.add_metric([group, path, "evicting"], len(leaf.evicting))
        claims.add_metric([group, path], len(leaf.claims))
    yield family
    yield claims


def path_of(tree: Tree, group: str) -> str:
    """The group's names from root down, such as root/research/vision."""
    return "/".join(reversed(tree.path(group))) or group
