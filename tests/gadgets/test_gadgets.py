"""A kind that only its descriptor describes is held, started, borrowed for, reclaimed, restarted and finished."""

from http import HTTPStatus
from typing import Any

import pytest

from tests.gadgets.gadget import API, JOBS, MERGE, PATH, PODS, gadget, job_part, part
from tests.gadgets.world import World

HOLD = "quotree.dev/hold"
UNIT = "quotree.dev/unit"


def test_pending_gadget_has_no_pod_and_each_pod_set_starts_on_its_own_flavor(at_rest: World) -> None:
    world = at_rest
    waiting = world.create(gadget("train", "both", labels={HOLD: "true"}, head=part(), workers=part(replicas=2)))
    assert waiting["spec"]["control"] == {"paused": True}
    world.looked_at("train")
    world.kill_reconciler()
    assert (world.is_paused("train"), world.pods("train")) == (True, [])
    world.change("train", {"metadata": {"labels": {HOLD: None}}})
    world.until("it runs on both flavors", lambda: world.nodes("train") == ["a100-0", "t4-0", "t4-0"])
    assert {each["metadata"]["labels"][UNIT] for each in world.pods("train")} == {waiting["metadata"]["uid"]}
    world.until("its use is counted", lambda: (world.used("both", "a100"), world.used("both", "t4")) == ("1", "2"))
    world.until("events say so", lambda: "Started" in world.events("train"))


def test_reclaimed_gadget_frees_quota_with_its_last_pod_and_restarts_on_another_flavor(at_rest: World) -> None:
    world = at_rest
    world.create(gadget("guest", "green", small=part(), large=part("3", stop_takes="1h")))
    world.until("it has borrowed", lambda: world.nodes("guest") == ["t4-0", "t4-0"])
    world.until("it is counted", lambda: world.used("green", "t4") == "4")
    world.create(gadget("owner", "blue", all=part("3")))
    world.until("it is stopped", lambda: world.is_paused("guest"))
    world.kill_reconciler()
    world.until("one pod is left", lambda: len(world.pods("guest")) == 1)
    world.until("what is left is counted", lambda: world.used("green", "t4") == "3")
    world.until("the owner of the room says that it waits", lambda: world.events("owner"))
    assert (world.is_paused("owner"), world.pods("owner")) == (True, [])
    (left,) = world.pods("guest")
    ended = {"status": {"phase": "Failed"}}
    world.rest.request("PATCH", f"{PODS}/{left['metadata']['name']}/status", ended, MERGE)
    world.until("the owner of the room runs", lambda: world.nodes("owner") == ["t4-0"])
    # The event may have died with the process.
    assert '"reason":"Reclaimed"' in world.get("guest")["metadata"]["annotations"]["quotree.dev/eviction"]
    path = "/apis/quotree.dev/v1alpha1/quotagroups/green"
    quotas = [{"flavor": "t4", "min": {"cpu": 0}}, {"flavor": "a100", "min": {"cpu": 1}}]
    assert world.rest.request("PATCH", path, {"spec": {"quotas": quotas}}, MERGE)[0] == 200
    world.until("its large part runs on another flavor", lambda: world.nodes("guest") == ["a100-0", "t4-0"])


def test_completed_gadget_frees_its_quota(at_rest: World) -> None:
    world = at_rest
    world.create(gadget("short", "blue", all=part("3", run_for="1s")))
    world.create(gadget("next", "blue", all=part("4", run_for="1s")))
    world.until("both are done, one after the other", lambda: world.is_done("short") and world.is_done("next"))
    world.until("nothing is used", lambda: world.used("blue", "t4") == "0")


def test_deleted_gadget_counts_while_its_pods_end(at_rest: World) -> None:
    world = at_rest
    world.create(gadget("going", "blue", all=part("3", stop_takes="1h")))
    world.until("it runs", lambda: world.nodes("going") == ["t4-0"])
    world.until("it is counted", lambda: world.used("blue", "t4") == "3")
    world.rest.request("DELETE", f"{PATH}/going?propagationPolicy=Background")
    world.until("it is gone", lambda: world.rest.request("GET", f"{PATH}/going")[0] == 404)
    world.until("its pod ends", lambda: all("deletionTimestamp" in each["metadata"] for each in world.pods("going")))
    world.create(gadget("after", "blue", all=part("3")))
    world.until("the next one says that it waits", lambda: world.events("after"))
    assert (world.used("blue", "t4"), world.is_paused("after")) == ("3", True)
    (left,) = world.pods("going")
    world.rest.request("PATCH", f"{PODS}/{left['metadata']['name']}/status", {"status": {"phase": "Failed"}}, MERGE)
    world.until("the next one runs", lambda: world.nodes("after") == ["t4-0"])


@pytest.mark.parametrize("namespace", [{}, {"quotree.dev/managed": "true"}], ids=["by itself", "with its namespace"])
def test_jobs_of_the_gadget_operator_start_at_once_and_are_counted_with_the_gadget(
    at_rest: World, namespace: dict[str, str]
) -> None:
    world = at_rest
    with world.labelled(namespace):
        stored = world.create(gadget("train", "blue", pod=part(), job=job_part("1", 2)))
        world.until("all run", lambda: world.nodes("train") == ["t4-0"] * 3)
        assert {each["metadata"]["labels"][UNIT] for each in world.pods("train")} == {stored["metadata"]["uid"]}
        world.until("each is counted once", lambda: world.used("blue", "t4") == "3")
        one = {"pending": 0, "admitted": 1, "ready": 1}
        world.until("they are one workload", lambda: one.items() <= world.group("blue")["status"]["workloads"].items())
        world.change("train", {"spec": {"control": {"paused": True}}})
        world.until("all have ended", lambda: not world.pods("train"))
        world.until("nothing is used", lambda: world.used("blue", "t4") == "0")


def test_other_users_can_neither_start_a_gadget_nor_attach_pods_and_jobs_to_it(at_rest: World) -> None:
    world = at_rest
    stored = world.create(gadget("train", "blue", labels={HOLD: "true"}, all=part()))
    alice = world.alice
    status, answer = alice.request("PATCH", f"{PATH}/train", {"spec": {"control": {"paused": False}}}, MERGE)
    # In the admission policy's words, which answers before the webhook.
    assert (status, "starts a workload that has the label" in answer["message"]) == (403, True), answer
    uid = stored["metadata"]["uid"]
    owner = {"apiVersion": API, "kind": "Gadget", "name": "train", "uid": uid, "controller": True}
    about = {"ownerReferences": [owner], "labels": {"quotree.dev/group": "blue"}}
    pod = {"metadata": {"name": "forged", **about}, "spec": part()["template"]["spec"]}
    status, held = alice.request("POST", PODS, pod)
    assert (status, held["spec"]["schedulingGates"]) == (201, [{"name": "quotree.dev/admission"}])
    job = {"metadata": {"name": "forged", **about}, "spec": {"template": {"spec": _job_spec()}}}
    status, held = alice.request("POST", JOBS, job)
    assert (status, held["spec"]["suspend"]) == (201, True)
    for labels in ({UNIT: uid}, {UNIT: uid, "quotree.dev/group": "blue"}):
        forged = {**pod, "metadata": {"name": "labelled", "ownerReferences": [owner], "labels": labels}}
        status, answer = alice.request("POST", PODS, forged)
        # In the words of the other one.
        assert (status, "the label quotree.dev/unit is written by Quotree alone" in answer["message"]) == (403, True)


@pytest.mark.parametrize("kill", [False, True], ids=["same process", "restarted"])
def test_pods_of_an_orphaned_gadget_are_adopted_and_recycled(at_rest: World, kill: bool) -> None:
    world = at_rest
    body = gadget("wide", "red", all=part("1", 4))
    body["spec"]["parts"]["all"]["template"]["metadata"]["labels"] = {"quotree.dev/preemptible": "false"}
    world.create(body)
    world.until("it borrows", lambda: world.nodes("wide") == ["t4-0"] * 4)
    world.operator.stop()
    try:
        status, _ = world.alice.request("DELETE", f"{PATH}/wide", {"propagationPolicy": "Orphan"})
        assert status == 200
        world.until("it is gone", lambda: world.rest.request("GET", f"{PATH}/wide")[0] == 404)
        if kill:
            world.kill_reconciler()
        world.until("its pods are counted", lambda: world.used("red", "t4") == "4")
        world.create(gadget("lender", "blue", all=part("1", 3)))
        world.until("the lender has its own", lambda: not world.is_paused("lender"))
    finally:
        world.operator.start()


def test_owner_cannot_detach_the_pods_of_a_gadget(at_rest: World) -> None:
    world = at_rest
    world.create(gadget("train", "red", all=part("1", 1)))
    world.until("it runs", lambda: all(world.nodes("train")) and world.pods("train"))
    for change in ({"ownerReferences": None}, {"labels": {UNIT: None}}):
        status, answer = world.alice.request("PATCH", f"{PODS}/train-all-0", {"metadata": change}, MERGE)
        assert status == 403, answer
    status, answer = world.alice.request(
        "PATCH", f"{PODS}/train-all-0", {"metadata": {"labels": {"seen": "yes"}}}, MERGE
    )
    assert status == 200, answer


def _job_spec() -> dict[str, Any]:
    return {**part()["template"]["spec"], "restartPolicy": "Never"}


AUTOSCALER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"


def scaled(world: World, name: str, replicas: int) -> tuple[int, Any]:
    """What Kubernetes' own autoscaler is told; as it does, it tries again where the gadget has changed meanwhile."""
    with world.rest.acting_as(AUTOSCALER) as autoscaler:
        while True:
            _, scale = autoscaler.request("GET", f"{PATH}/{name}/scale")
            answer = autoscaler.request("PUT", f"{PATH}/{name}/scale", {**scale, "spec": {"replicas": replicas}})
            if answer[0] != HTTPStatus.CONFLICT:
                return answer


@pytest.mark.parametrize("labels", [{}, {"quotree.dev/managed": "true"}], ids=["any namespace", "managed namespace"])
def test_no_autoscaler_raises_a_managed_gadget(at_rest: World, labels: dict[str, str]) -> None:
    world = at_rest
    with world.labelled(labels):
        world.create(gadget("fixed", "red", main=part("1", 2)))
        world.until("it runs", lambda: len(world.pods("fixed")) == 2)
        status, answer = scaled(world, "fixed", 9)
        assert (status, answer["message"].partition("denied the request: ")[2]) == (
            403,
            (
                "Gadget 'fixed' spec.replicas: scaled from 2 to 9, which nobody can judge: take it out of its "
                "HorizontalPodAutoscaler, and change the Gadget itself while it waits (GrowthWhileRunning)"
            ),
        )
        assert scaled(world, "fixed", 1)[0] == 200


def test_gadget_that_nobody_manages_is_scaled(at_rest: World) -> None:
    body = gadget("free", "red", main=part("1", 1))
    body["metadata"]["labels"] = {}
    at_rest.create(body)
    status, answer = scaled(at_rest, "free", 2)
    assert status == 200, answer


@pytest.mark.parametrize("replicas", [-1, "many"])
def test_unreadable_gadget_is_refused_with_the_field_path(at_rest: World, replicas: Any) -> None:
    body = gadget("odd", "blue", all={**part(), "replicas": replicas})
    status, answer = at_rest.alice.request("POST", PATH, body)
    assert (status, "(KindUnreadable)" in answer["message"], "spec.parts" in answer["message"]) == (422, True, True)
