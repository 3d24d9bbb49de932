"""A pod that several watches report, each with labels of its own, is one pod."""

from shared.api.names import UNIT_LABEL
from tests.shared.cluster.state.simulated_watches import Body, SimulatedWatches
from tests.shared.cluster.state.stored_bodies import GANG, VISION, pod


def test_pod_that_leaves_its_pod_group_waits_by_itself_whichever_watch_reports_it_first() -> None:
    for first, second in (("pods", "pods of groups"), ("pods of groups", "pods")):
        watched = with_vision(pod(GANG, gated=True), p=pod(VISION, gated=True))
        watched.report(watched.number_of(first), 1)
        watched.report(watched.number_of(second), 1)
        assert waiting(watched) == ["ns/p"]


def test_pod_created_again_with_other_labels_counts_once_its_predecessor_is_reported_as_gone() -> None:
    watched = with_vision(pod(VISION, gated=True))
    watched.store("pods", "p", pod(VISION | {UNIT_LABEL: "u"}, gated=True), replaces=True)
    watched.report(watched.number_of("pods of other kinds"), 1)
    assert waiting(watched) == ["ns/p"]
    watched.report(watched.number_of("pods"), 1)
    (found,) = watched.state.world().workloads_of("vision").queue
    assert found.uid == watched.stored["pods", "p"]["metadata"]["uid"]
    assert watched.state.work.index.key_of(found) is not None


def with_vision(before: Body, **after: Body) -> SimulatedWatches:
    """A pod `p` that was reported, and how it is stored since."""
    watched = SimulatedWatches()
    watched.store("quotagroups", "root", {"spec": {"isParent": True}})
    watched.store("quotagroups", "vision", {"spec": {}})
    watched.store("pods", "p", before)
    watched.report_all()
    for name, body in after.items():
        watched.store("pods", name, body)
    return watched


def waiting(watched: SimulatedWatches) -> list[str]:
    return [each.key for each in watched.state.world().workloads_of("vision").queue]
