"""What counts in place of an object on which a step fails, and until when."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from shared.api.names import HOLD_LABEL
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import MOST_ASIDE, ClusterState
from shared.cluster.state.decider import Decider
from shared.cluster.state.faults.bisection import finish
from shared.cluster.state.faults.register import FLAVOR, GROUP, NODE, WORKLOAD, Subject
from shared.cluster.state.faults.stand_ins import stand_in
from shared.cluster.state.faults.worlds import find_parts, most_suspicious
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.cluster.state.workloads.objects import WorkloadObjects
from shared.cluster.state.workloads.reader import WorkloadReader
from shared.kube.watch.cache import Changed
from shared.quota.decide.state import equivalence
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.measure.static import static_state
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import Entry, Group
from shared.quota.model.workload import Claim
from shared.resources import FlavorResource
from tests.builders import NOW, after, evicting, pending, running, world
from tests.shared.cluster.state.objects import a_job, answered, running_job, work


class Fault(Exception):
    """A bug."""


def started(state: ClusterState) -> set[str]:
    _, decided = Decider(state).decide(NOW)
    return {each.workload.key for each in decided.starts}


def failing_on(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, bad: str) -> None:
    """Let the function fail where an argument is called so."""
    original = getattr(module, name)

    def step(*arguments: Any) -> Any:
        if any(bad in (getattr(each, "key", ""), getattr(each, "name", ""), each) for each in arguments):
            raise Fault(bad)
        return original(*arguments)

    monkeypatch.setattr(module, name, step)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_on(monkeypatch, equivalence, "assignments_of", "ns/bad")


@pytest.fixture(autouse=True)
def _with_quotas(state: ClusterState) -> None:
    for name in ("vision", "nlp"):
        group = Group(name, quotas=(Entry("default", min={"cpu": 4000}),))
        state.observe_groups([Changed(state.tree.groups[name], GroupStatusRecord(name, 1, group, QuotaGroupStatus()))])


def test_pending_workload_on_which_planning_fails_waits_until_it_changes(state: ClusterState, failing: None) -> None:
    bad = a_job("u2", name="bad")
    state.observe_jobs([Changed(None, a_job("u1", name="good")), Changed(None, bad)])
    assert started(state) == {"ns/good"}
    (fault,) = state.faults.aside
    assert (fault.subject.kind, fault.subject.name, fault.subject.group) == ("Job", "ns/bad", "vision")
    assert fault.place.startswith("shared/quota/decide/")
    found = state.work.index.workload("u2")
    assert found is not None
    assert (found.hold, found.hold_reason, found.request) == (True, fault.message, {})
    edited = a_job("u2", name="bad", labels={**bad.metadata.labels, HOLD_LABEL: "true"})
    state.observe_jobs([Changed(bad, edited)])
    assert state.faults.aside == []
    assert started(state) == {"ns/good"}


def test_group_on_which_measuring_fails_is_out_of_the_tree_until_it_changes(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_on(monkeypatch, static_state, "read_leaf_settings", "nlp")
    state.observe_jobs([Changed(None, a_job("u1", name="good"))])
    assert started(state) == {"ns/good"}
    assert list(state.faults.of_kind(GROUP)) == ["nlp"]
    inactive = state.world().inactive["nlp"]
    assert (inactive.reason, inactive.detached) == ("SetAside", True)
    monkeypatch.undo()
    assert "nlp" in state.world().inactive
    record = GroupStatusRecord("nlp", 2, Group("nlp", allow_lending=False), QuotaGroupStatus())
    state.observe_groups([Changed(state.tree.groups["nlp"], record)])
    assert state.world().inactive == {}


def test_group_that_is_deleted_is_set_aside_no_more(state: ClusterState) -> None:
    state.set_aside(state.tree.groups["nlp"].group, Fault())
    assert state.world().inactive.keys() == {"nlp"}
    state.observe_groups([Changed(state.tree.groups["nlp"], None)])
    assert (state.world().inactive, state.faults.aside) == ({}, [])


def test_root_that_is_set_aside_stops_every_start(state: ClusterState) -> None:
    state.set_aside(state.tree.groups["root"].group, Fault())
    state.observe_jobs([Changed(None, a_job())])
    assert started(state) == set()
    assert {name: why.detached for name, why in state.world().inactive.items()} == dict.fromkeys(
        ("root", "vision", "nlp"), False
    )


def test_flavor_and_node_that_are_set_aside_are_absent_until_they_change(state: ClusterState) -> None:
    flavor = Flavor("a100")
    state.observe_flavors([Changed(None, flavor)])
    node = state.world().nodes[0]
    state.set_aside(flavor, Fault())
    state.set_aside(node, Fault())
    assert (dict(state.world().flavors), state.world().nodes) == ({}, ())
    assert (list(state.faults.of_kind(FLAVOR)), list(state.faults.of_kind(NODE))) == (["a100"], ["node-0"])
    changed = replace(node, allocatable={"cpu": 1})
    state.observe_nodes([Changed(node, changed)])
    state.observe_flavors([Changed(flavor, Flavor("a100", node_labels={"a": "b"}))])
    assert (list(state.world().flavors), state.world().nodes) == (["a100"], (changed,))
    assert state.faults.aside == []


def test_running_workload_that_cannot_be_read_counts_as_before_and_is_not_stopped(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = answered(running_job())
    state.observe_jobs([Changed(None, job)])
    (before,) = work(state)
    monkeypatch.setattr(WorkloadReader, "read", lambda *_: (_ for _ in ()).throw(Fault()))
    state.observe_jobs([Changed(job, answered(running_job(annotations={}, generation=2)))])
    (found,) = work(state)
    assert found.request == before.request
    assert (found.preemptible, found.is_answered) == (False, False)
    assert list(state.faults.of_kind(WORKLOAD)) == ["u1"]
    monkeypatch.undo()
    state.observe_jobs([Changed(job, job)])
    assert work(state) == [before]
    assert state.faults.aside == []


def test_workload_that_was_never_read_does_not_count(state: ClusterState, monkeypatch: pytest.MonkeyPatch) -> None:
    original = WorkloadObjects.started_apart
    monkeypatch.setattr(
        WorkloadObjects,
        "started_apart",
        lambda self, key: original(self, key) if key != "u2" else [].pop(),
    )
    state.observe_jobs([Changed(None, a_job("u2", name="bad")), Changed(None, a_job("u1", name="good"))])
    assert started(state) == {"ns/good"}
    assert [each.subject.name for each in state.faults.aside] == ["ns/bad"]


def test_leaf_with_many_such_workloads_is_set_aside_itself(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job(f"u{number}", name=f"j{number}")) for number in range(MOST_ASIDE)])
    for workload in work(state):
        assert "vision" not in state.faults.of_kind(GROUP)
        assert state.set_aside(workload, Fault())
    assert "vision" in state.faults.of_kind(GROUP)


def test_where_even_the_stand_in_fails_nothing_counts(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    (workload,) = work(state)
    state.set_aside(workload, Fault())
    (instead,) = work(state)
    state.set_aside(instead, Fault())
    assert work(state) == []


def test_what_runs_keeps_its_use_and_what_ends_ends() -> None:
    runs = running("vision", {"cpu": 2}, ready=False)
    found = stand_in(runs, "why")
    assert found.admission is not None
    assert (found.request, found.preemptible, found.is_answered) == ({"cpu": 2}, False, False)
    assert found.admission.ready
    assert stand_in(evicting(runs), "why").is_evicting
    assert world("root 8\n  vision 4", [found]).workloads_of("vision").use.keys() == {FlavorResource("default", "cpu")}


def test_of_two_that_fail_together_the_one_that_changed_is_to_blame() -> None:
    preemptor = pending("nlp", 1, "waits", created=after(60))
    victim = running("vision", 1, "names")
    claim = Claim(preemptor.key, preemptor.uid, {}, NOW)
    last = world("root 8\n  vision 4\n  nlp 4", [victim, preemptor])
    changed = replace(victim, claim=claim)
    assert most_suspicious([preemptor, changed], last) is changed
    assert most_suspicious([preemptor, changed], None) is preemptor


def test_bug_that_concerns_no_object_is_raised(state: ClusterState, monkeypatch: pytest.MonkeyPatch) -> None:
    def always(*_: object) -> None:
        raise Fault

    monkeypatch.setattr("shared.cluster.state.decider.measure", always)
    state.observe_jobs([Changed(None, a_job())])
    with pytest.raises(Fault):
        Decider(state).decide(NOW)


def test_each_new_fault_causes_a_cycle_that_tells_it(state: ClusterState) -> None:
    """Between cycles reports fail, and in a quiet cluster nothing else would cause the next."""
    asked: list[str] = []
    state.faults.when_new = lambda: asked.append("cycle")
    subject = Subject(GROUP, "vision")
    for _ in range(2):
        with state.faults.about(subject):
            raise Fault
    assert asked == ["cycle"]
    assert [each.subject for each in state.faults.new] == [subject]


def test_a_tree_is_measured_once_to_find_the_workload_at_fault() -> None:
    """Measuring 2,000 groups takes half a second, and a search takes a dozen steps."""
    known = world("root 8\n  a 4\n  b 4", [pending("a", 1, f"old-{number}") for number in range(8)])
    bad = pending("b", 1, "bad")
    new = known.with_changes((None, each) for each in (*(pending("a", 1, f"new-{n}") for n in range(20)), bad))
    from_scratch = []

    def decide(part: World, last: Snapshot | None) -> Snapshot:
        from_scratch.append(last is None)
        if bad.id in part.workloads_of("b").by_id:
            raise Fault
        return measure(part, NOW, last)

    assert finish(find_parts(new, decide, measure(known, NOW))) == [bad]
    assert from_scratch.count(True) == 1


@dataclass
class Deciding:
    """Fails where these workloads wait; notes the leaves that are measured again and how many workloads these have."""

    bad: set[str]
    measured: list[int] = field(default_factory=list)

    def __call__(self, part: World, last: Snapshot | None) -> Snapshot:
        changed = part.workload_sets if last is None else part.changed_since(last.world)
        self.measured.append(sum(len(part.workloads_of(name).by_id) for name in changed))
        if self.bad <= {each.key for found in part.workload_sets.values() for each in found.by_id.values()}:
            raise Fault
        return measure(part, NOW, last)


def test_workload_that_an_arrival_beside_it_shows_to_be_at_fault_is_sought_in_its_leaf_only() -> None:
    """Deciding on 20,000 workloads from scratch takes seconds."""
    bad = pending("b", 1, "bad")
    known = world("root 8\n  a 4\n  b 4", [bad, *(pending("a", 1, f"old-{number}") for number in range(50))])
    new = known.with_changes([(None, pending("b", 1, "new"))])
    deciding = Deciding({bad.key})
    assert finish(find_parts(new, deciding, measure(known, NOW))) == [bad]
    assert max(deciding.measured) == 2


def test_workload_that_time_makes_fail_is_sought_on_top_of_what_is_known_of_other_leaves() -> None:
    """Nothing has changed, so nothing says where to look first."""
    leaves = "\n".join(f"  l{number} 1" for number in range(16))
    waiting = [pending(f"l{n % 16}", 1, f"old-{n}") for n in range(320)]
    known = world(f"root 16\n{leaves}", waiting)
    deciding = Deciding({waiting[77].key})
    assert finish(find_parts(known, deciding, measure(known, NOW))) == [waiting[77]]
    assert max(deciding.measured) <= 10


def test_of_workloads_that_fail_together_in_two_leaves_both_are_found() -> None:
    waiting = [pending(name, 1, f"{name}-{n}") for name in "ab" for n in range(8)]
    known, bad = world("root 8\n  a 4\n  b 4", waiting), [waiting[3], waiting[13]]
    assert finish(find_parts(known, Deciding({each.key for each in bad}), measure(known, NOW))) == bad


def test_where_only_what_is_kept_of_the_last_decision_fails_no_object_is_at_fault() -> None:
    """The next decision is made from scratch then."""
    known = world("root 8\n  a 4", [pending("a", 1, f"old-{number}") for number in range(8)])
    last = measure(known, NOW)

    def decide(part: World, base: Snapshot | None) -> Snapshot:
        if base is last and part.workloads_of("a").by_id:
            raise Fault
        return measure(part, NOW, base)

    assert finish(find_parts(known, decide, last)) == []
