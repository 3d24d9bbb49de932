"""The state is what is stored, in whatever order and batches the watches report it, and wherever they list again."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.api.names import GROUP_LABEL, UNIT_LABEL
from shared.quota.model.workload import Workload
from tests.shared.cluster.state.simulated_watches import TIME, Body, SimulatedWatches
from tests.shared.cluster.state.stored_bodies import (
    EVICTED,
    FINISHED,
    GANG,
    NLP,
    OF_SET,
    STARTED,
    STARTED_ALONE,
    STARTED_SETS,
    VISION,
    job,
    node,
    pod,
    train,
)

BODIES: dict[str, tuple[list[str], list[Body]]] = {
    "jobs": (
        ["a", "b"],
        [
            *(job(labels) for labels in (VISION, NLP, {})),
            job(VISION, STARTED, startTime=TIME, active=1),
            job(VISION, STARTED, startTime=TIME, active=1, ending=True),
            job(VISION, STARTED, startTime=TIME, conditions=FINISHED),
            job(VISION, EVICTED),
        ],
    ),
    "pods": (
        ["p", "q", "r"],
        [
            *(pod(labels, gated=True) for labels in (VISION, GANG, GANG | NLP)),
            *(pod(VISION, STARTED, node="node-0", ending=ending) for ending in (False, True)),
            *(pod(GANG, started, node="node-1") for started in (STARTED, STARTED_ALONE)),
            *(pod(labels, node="node-1", phase="Succeeded") for labels in (VISION, GANG, OF_SET)),
            *(pod({}, node=name) for name in ("node-0", "node-1")),
            *(pod(VISION, node="node-0", job=name) for name in ("a", "b")),
            pod(VISION, node="node-1", job="a", ending=True),
            *(pod(OF_SET, node=name) for name in ("", "node-0")),
        ],
    ),
    "jobsets": (["train"], [train({}), train(STARTED_SETS), train(STARTED_SETS, terminalState="Completed")]),
    "quotagroups": (
        ["vision", "nlp"],
        [
            {"spec": spec}
            for spec in ({}, {"parent": "nlp"}, {"namespaceSelector": {"matchLabels": {"team": "vision"}}})
        ],
    ),
    "nodes": (["node-0", "node-1"], [node("8"), node("16"), node("8", closed=True), node("8", gpu="a100")]),
    "namespaces": (
        ["ns"],
        [{"metadata": {"labels": each}} for each in ({}, NLP, {"team": "vision"}, {GROUP_LABEL: "system"})],
    ),
    "limitranges": (
        ["l", "m"],
        [{"spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": size}}]}} for size in ("1", "2")],
    ),
    "resourceflavors": (["a100", "default"], [{"spec": {}}, {"spec": {"nodeLabels": {"gpu": "a100"}}}]),
}
EDITS = st.sampled_from(["pods", "pods", "jobs", *BODIES]).flatmap(
    lambda plural: st.tuples(
        st.just(plural),
        st.sampled_from(BODIES[plural][0]),
        st.sampled_from([*BODIES[plural][1], *BODIES[plural][1], None]),
        st.booleans(),
    )
)
"""(plural, name, body, replaces) as `SimulatedWatches.store` takes them; body None: deleted."""
REPORTS = st.lists(st.tuples(st.integers(0, len(SimulatedWatches().watches) - 1), st.integers(0, 3)), max_size=3)
"""(watch, how many events it reports in one batch; 0: it lists again)."""


@settings(max_examples=200, derandomize=True)
@given(st.lists(st.tuples(EDITS, REPORTS), max_size=25))
def test_state_is_what_is_stored_however_it_was_reported(steps: list[Any]) -> None:
    watched = SimulatedWatches()
    watched.store("quotagroups", "root", {"spec": {"isParent": True}})
    for (plural, name, body, replaces), reports in steps:
        edit(watched, plural, name, body, replaces)
        for number, events in reports:
            if events:
                watched.report(number, events)
            else:
                watched.list_again(number)
            if number % 2:
                watched.state.world()
    end_waits(watched)
    for name in [*pods_that_end(watched)]:
        watched.delete("pods", name)
    end_waits(watched)
    assert known(watched) == known(watched.restarted())


def edit(watched: SimulatedWatches, plural: str, name: str, body: Body | None, replaces: bool) -> None:
    if body is None:
        watched.delete(plural, name)
        return
    uids = {key: each["metadata"]["uid"] for key, each in watched.stored.items()}
    about = dict(body.get("metadata", {}))
    owner = uids.get(("jobs", body.get("job", "")))
    if owner is not None:
        about["ownerReferences"] = [{"kind": "Job", "apiVersion": "batch/v1", "uid": owner, "controller": True}]
    if UNIT_LABEL in about.get("labels", {}):
        about["labels"] = about["labels"] | {UNIT_LABEL: uids.get(("jobsets", "train"), "gone")}
    watched.store(plural, name, {**body, "metadata": about}, replaces=replaces)


def end_waits(watched: SimulatedWatches) -> None:
    """All is reported, and what was waited for after that did not come: a new process would not wait for it."""
    watched.report_all()
    work = watched.state.work
    for key in work.owners.unseen_pods:
        watched.state.objects.stop_waiting_for_pods(key)
    for delay in [*work.overlay.revoked_starts.delays.new]:
        work.decided.stop_waiting_for_answer(delay)
    for delay in [*work.overlay.early_stops.delays.new]:
        work.decided.stop_waiting_for_more_pods(delay)


def pods_that_end(watched: SimulatedWatches) -> Iterator[str]:
    """The pods of owners that are gone, suspended or finished: while they run, a new process knows less of them."""
    running = {
        each["metadata"]["uid"]
        for (plural, _), each in watched.stored.items()
        if plural in ("jobs", "jobsets")
        and not each["spec"]["suspend"]
        and each["status"].keys() <= {"startTime", "active"}
    }
    for (plural, name), each in watched.stored.items():
        about = each["metadata"]
        owners = {owner["uid"] for owner in about.get("ownerReferences", ())} | {
            about.get("labels", {}).get(UNIT_LABEL)
        }
        if plural == "pods" and owners - {None} and not owners & running:
            yield name


def known(watched: SimulatedWatches) -> dict[str, object]:
    world, work = watched.state.world(), watched.state.work
    every = [each for of_group in world.workload_sets.values() for each in of_group.by_id.values()]
    return {
        "workloads": {each.id: without_history(each) for each in every},
        "keys": {each.id: work.index.key_of(each) for each in every},
        "can be written": {
            each.id: {found.metadata.uid: found for found in work.objects.of(work.index.key_of(each) or "")}
            for each in every
        },
        "problems": work.follow_ups.problems,
        "run without an admission": work.follow_ups.unadmitted_running,
        "incomplete": work.follow_ups.incomplete,
        "tree": (world.tree.groups, world.inactive),
        "flavors": world.flavors,
        "nodes": (world.nodes, world.largest_nodes),
        "pods of others": (world.unmanaged, world.system),
    }


def without_history(workload: Workload) -> Workload:
    """The workload, without whether it was once ready."""
    if workload.admission is None:
        return workload
    return replace(workload, admission=replace(workload.admission, was_ready=workload.admission.ready))
