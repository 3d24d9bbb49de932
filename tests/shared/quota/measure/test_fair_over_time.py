"""Units that no whole share covers rotate: over time every hungry leaf gets its share, and nothing is evicted."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest

from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.group_history import past_use_to_write, with_past_use
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import World
from shared.quota.measure.inputs.written_status import NO_PAST_USE, read_history
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.step import carry_out, end_evictions
from tests.builders import NOW, after, pending, world

HOUR = timedelta(hours=1)
STEP = timedelta(seconds=10)
TWELVE = "root 6\n" + "\n".join(f"  l{index:02} ..6" for index in range(12))


class Queues:
    """Endless queues of jobs of one size that run for a while; counts what each leaf used, and the evictions."""

    def __init__(self, groups: str, size: int, seconds: tuple[int, int], dice: Random) -> None:
        self.world: World = world(groups)
        self.used: dict[str, int] = {}
        self.evictions = 0
        self._size = size
        self._seconds = seconds
        self._dice = dice
        self._ends: dict[str, datetime] = {}
        self._made = 0
        leaves = [name for name, group in self.world.tree.groups.items() if not group.is_parent]
        self.world = self.world.with_changes((None, self._job(leaf, NOW)) for leaf in leaves for _ in range(3))

    def run(self, cycles: int, half_life: timedelta = timedelta(hours=1)) -> Mapping[str, int]:
        """Live through so many cycles; return how much each leaf used."""
        history, snapshot, cache, now = UseHistory(half_life), None, CycleCache(), NOW
        for _ in range(cycles):
            history = history.after(self._without_ended(now), now)
            self.world = replace(self.world, past_use=history.amounts)
            snapshot = self._decide(now, snapshot, cache)
            now += STEP
        return self.used

    def _decide(self, now: datetime, snapshot: Snapshot | None, cache: CycleCache) -> Snapshot:
        snapshot = measure(self.world, now, snapshot)
        decided = plan(snapshot, cache)
        self.world = end_evictions(carry_out(self.world, decided))
        self.evictions += len(decided.evictions)
        for start in decided.starts:
            self._ends[start.workload.key] = now + timedelta(seconds=self._dice.randint(*self._seconds))
            self.world = self.world.with_changes([(None, self._job(start.workload.group, now))])
        for name in self.world.workload_sets:
            self.used[name] = self.used.get(name, 0) + self._size * len(self.world.workloads_of(name).admitted)
        return snapshot

    def _without_ended(self, now: datetime) -> World:
        running = [job for each in self.world.workload_sets.values() for job in each.admitted]
        self.world = self.world.with_changes([(job, None) for job in running if self._ends[job.key] <= now])
        return self.world

    def _job(self, leaf: str, now: datetime) -> Workload:
        self._made += 1
        return pending(leaf, self._size, f"{leaf}-{self._made}", created=now)


@pytest.mark.parametrize("seconds", [(60, 60), (20, 600)], ids=["jobs of a minute", "jobs of all lengths"])
def test_twelve_equal_leaves_share_six_gpus(seconds: tuple[int, int]) -> None:
    queues = Queues(TWELVE, 1, seconds, Random(1))
    used = queues.run(1500)
    job = seconds[1] // 10
    assert max(used.values()) - min(used.values()) <= 2 * job
    assert queues.evictions == 0


def test_waiting_time_prevents_starvation_by_name_order() -> None:
    queues = Queues(TWELVE, 1, (60, 60), Random(1))
    used = queues.run(600, half_life=timedelta())
    assert min(used.values()) > 0


def test_three_leaves_share_ten_with_jobs_of_four() -> None:
    queues = Queues("root 10\n  a ..10\n  b ..10\n  c ..10", 4, (60, 60), Random(2))
    used = queues.run(1500)
    assert max(used.values()) - min(used.values()) <= 2 * 4 * 6
    assert queues.evictions == 0


def test_weights_of_two_to_one_give_use_of_two_to_one() -> None:
    groups = "root 4\n" + "\n".join(
        f"  {name} ..4 w{weight}" for name, weight in (("a", 2), ("b", 1), ("c", 2), ("d", 1))
    )
    queues = Queues(groups, 1, (60, 60), Random(3))
    used = queues.run(1500)
    assert queues.evictions == 0
    for heavy in ("a", "c"):
        for light in ("b", "d"):
            assert abs(used[heavy] - 2 * used[light]) <= 60


def test_parents_share_over_time() -> None:
    groups = "root 3\n  p ..3\n    p0 ..3\n    p1 ..3\n  q ..3\n    q0 ..3\n    q1 ..3"
    queues = Queues(groups, 1, (60, 60), Random(4))
    used = queues.run(1500)
    assert max(used.values()) - min(used.values()) <= 12
    assert queues.evictions == 0


class Namespaces(Queues):
    """One leaf in which namespaces, or users of one namespace, have endless queues; the first has 500 jobs in it."""

    def __init__(self, order: str, seconds: tuple[int, int], dice: Random) -> None:
        self._by_user = order == "by-user"
        super().__init__(f"root 10\n  a ..10 {order}", 1, seconds, dice)
        first = [(None, self._job_of("x", after(-100))) for _ in range(500)]
        self.world = self.world.with_changes(
            [*first, *((None, self._job_of(each, NOW)) for each in "yz" for _ in range(20))]
        )
        self.shares = dict.fromkeys("xyz", 0)

    def run_with_new_leaders(self, cycles: int, every: int) -> Mapping[str, int]:
        """Live through so many cycles; every so many, another leader goes on from what the status says."""
        history, snapshot, cache, now = UseHistory(HOUR), None, CycleCache(), NOW
        for cycle in range(cycles):
            if cycle and cycle % every == 0:
                written = past_use_to_write("a", history, NO_PAST_USE)
                assert set(written.requesters) == {"x", "y", "z"}
                status = with_past_use(QuotaGroupStatus(), written)
                history, snapshot, cache = read_history([("a", status)], HOUR, now), None, CycleCache()
            history = history.after(self._without_ended(now), now)
            self.world = history.put_into(self.world)
            snapshot = self._decide(now, snapshot, cache)
            for each in self.world.workloads_of("a").admitted:
                self.shares[self._requester(each)] += 1
            now += STEP
        return self.shares

    def _requester(self, job: Workload) -> str:
        return job.user or job.key.partition("/")[0]

    def _job_of(self, requester: str, now: datetime) -> Workload:
        self._made += 1
        fields = {"user": requester} if self._by_user else {"namespace": requester}
        return pending("a", 1, f"{requester}-{self._made}", created=now, **fields)

    def _job(self, leaf: str, now: datetime) -> Workload:
        return self._job_of(self._dice.choice("yz"), now)


@pytest.mark.parametrize("every", [10_000, 500], ids=["one leader", "another leader after 83 minutes"])
@pytest.mark.parametrize("order", ["by-namespace", "by-user"])
@pytest.mark.parametrize("seconds", [(60, 60), (20, 600)], ids=["jobs of a minute", "jobs of all lengths"])
def test_each_gets_a_third_also_if_one_queued_500_first(seconds: tuple[int, int], order: str, every: int) -> None:
    queues = Namespaces(order, seconds, Random(7))
    shares = queues.run_with_new_leaders(850, every)
    job = seconds[1] // 10
    assert sum(shares.values()) == 10 * 850
    assert max(shares.values()) - min(shares.values()) <= 2 * job
    assert queues.evictions == 0
