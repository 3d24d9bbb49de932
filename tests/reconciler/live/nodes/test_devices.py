"""Devices that pods request by ResourceClaims, on a real API server, claim controller and scheduler.

No driver runs: the test publishes the devices of the node, which is what a driver does, and the scheduler allocates.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from shared.api.names import GATE, GROUP_LABEL
from tests.reconciler.reconciler_process import Quotree, wait_for
from tests.versions import skip_before

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
CLASS = "gpu.example.com"
DEVICES = f"{CLASS}.deviceclass.resource.k8s.io/devices"
API = "/apis/resource.k8s.io/v1"
TEMPLATES = f"{API}/namespaces/default/resourceclaimtemplates"
CLAIMS = f"{API}/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
COUNTED = {"devices": {"counted": True}}


def claim(count: int) -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": CLASS, "count": count}}]}}


def put_template(q: Quotree, name: str, count: int) -> None:
    q.create(TEMPLATES, {"metadata": {"name": name}, "spec": {"spec": claim(count)}})


def swap_template(q: Quotree, name: str, count: int) -> None:
    """The spec of a template cannot be changed: delete it, and create another one of its name."""
    q.delete(f"{TEMPLATES}/{name}")
    put_template(q, name, count)


def from_template(name: str) -> dict[str, Any]:
    return {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": name}]}


def by_name(name: str) -> dict[str, Any]:
    return {"resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}


def quota(devices: int) -> dict[str, Any]:
    amounts = {"cpu": "100", DEVICES: str(devices)}
    return {"quotas": [{"min": amounts, "max": amounts}]}


def number(q: Quotree, word: str) -> str | None:
    """A number of the group's devices in its status."""
    entries = q.group_status("vision").get("quotas", [])
    return next((each.get(word, {}).get(DEVICES) for each in entries), None)


def used(q: Quotree) -> str | None:
    return number(q, "used")


def put_pod(q: Quotree, name: str, wants: dict[str, Any]) -> None:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulingGates": [{"name": GATE}], "containers": [container], **wants}
    q.create(PODS, {"metadata": {"name": name, "labels": {GROUP_LABEL: "vision"}}, "spec": spec})


def events_of(q: Quotree, name: str, words: str) -> bool:
    return any(words in note for _, note in q.events(name))


@pytest.fixture
def devices(q: Quotree) -> Iterator[Quotree]:
    """A node with eight devices of one class, and a group with quota for four."""
    skip_before(34, q.control_plane, "ResourceClaims")
    selector = {"cel": {"expression": f'device.driver == "{CLASS}"'}}
    q.create(f"{API}/deviceclasses", {"metadata": {"name": CLASS}, "spec": {"selectors": [selector]}})
    pool = {"name": "node-0", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": CLASS, "nodeName": "node-0", "pool": pool, "devices": [{"name": f"gpu-{n}"} for n in range(8)]}
    q.create(f"{API}/resourceslices", {"metadata": {"name": "node-0"}, "spec": spec})
    try:
        q.lead(resources=COUNTED)
        q.group("vision", **quota(4))
        yield q
    finally:
        for path in ("/apis/batch/v1/namespaces/default/jobs", PODS, CLAIMS, TEMPLATES):
            q.delete(path)
        wait_for(lambda: not q.get(CLAIMS)["items"], "its claims are gone", LONG)
        q.delete(f"{API}/resourceslices/node-0")
        q.delete(f"{API}/deviceclasses/{CLASS}")


def job_path(name: str) -> str:
    return f"/apis/batch/v1/namespaces/default/jobs/{name}"


def test_job_waits_for_its_claim_template_and_for_devices_in_use(devices: Quotree) -> None:
    q = devices
    q.job("early", "vision", pod=from_template("three"))
    why = "ResourceClaimTemplate three does not exist in namespace default"
    wait_for(lambda: events_of(q, "early", why), "its owner is told", LONG)
    assert q.running() == set()
    put_template(q, "three", 3)
    wait_for(lambda: q.pods_on_nodes("early"), "it runs once the template is there", LONG)
    wait_for(lambda: used(q) == "3", "with what the template says", LONG)
    put_template(q, "two", 2)
    q.job("second", "vision", pod=from_template("two"))
    wait_for(lambda: events_of(q, "second", DEVICES), "its owner is told what it waits for", LONG)
    assert q.running() == {"early"}
    q.delete(job_path("early"))
    wait_for(lambda: q.pods_on_nodes("second"), "it gets what the first one had", LONG)
    wait_for(lambda: used(q) == "2", "which is counted once", LONG)
    # Without a claim, by the name that containers have for the class.
    wants = {f"deviceclass.resource.kubernetes.io/{CLASS}": "3"}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1", **wants}, "limits": wants}}
    q.job("named", "vision", pod={"containers": [container]})
    wait_for(lambda: events_of(q, "named", DEVICES), "it waits for the same quota", LONG)
    assert q.running() == {"second"}
    q.delete(job_path("second"))
    wait_for(lambda: q.pods_on_nodes("named"), "then it has them", LONG)
    wait_for(lambda: used(q) == "3", "and they are counted", LONG)


def test_replaced_claim_template_does_not_change_counted_devices(devices: Quotree) -> None:
    q = devices
    put_template(q, "four", 4)
    q.job("first", "vision", pod=from_template("four"))
    wait_for(lambda: used(q) == "4", "it has all devices", LONG)
    put_template(q, "swapped", 3)
    put_pod(q, "alone", from_template("swapped"))
    made = q.get(f"{PODS}/alone")["metadata"]["uid"]

    def has_claim() -> bool:
        owners = [each["metadata"].get("ownerReferences", []) for each in q.get(CLAIMS)["items"]]
        return any(owner["uid"] == made for each in owners for owner in each)

    wait_for(has_claim, "its claim is made while it waits", LONG)
    swap_template(q, "swapped", 1)
    q.job("second", "vision", pod=from_template("swapped"))
    wait_for(
        lambda: number(q, "request") == "8", "the pod counts what its claim says, the Job what the template says", LONG
    )
    q.delete(job_path("first"))
    wait_for(lambda: q.get(f"{PODS}/alone")["spec"].get("nodeName"), "the pod runs", LONG)
    wait_for(lambda: q.pods_on_nodes("second"), "and the Job", LONG)
    wait_for(lambda: used(q) == "4", "with four together", LONG)
    q.job("third", "vision", pod=from_template("swapped"))
    wait_for(lambda: events_of(q, "third", DEVICES), "nothing is left", LONG)
    assert q.running() == {"second"}


def test_claim_counts_for_every_pod_that_names_it(devices: Quotree) -> None:
    q = devices
    q.create(CLAIMS, {"metadata": {"name": "shared"}, "spec": claim(2)})
    q.job("one", "vision", pod=by_name("shared"))
    put_pod(q, "alone", by_name("shared"))
    wait_for(lambda: q.pods_on_nodes("one"), "the Job has the devices", LONG)
    wait_for(lambda: q.get(f"{PODS}/alone")["spec"].get("nodeName"), "so has the pod", LONG)
    wait_for(lambda: used(q) == "4", "each counts the whole claim", LONG)
    q.job("third", "vision", pod=by_name("shared"))
    wait_for(lambda: events_of(q, "third", DEVICES), "a third one waits", LONG)
    assert q.running() == {"one"}
    q.delete(f"{PODS}/alone")
    wait_for(lambda: q.pods_on_nodes("third"), "it takes the place of the pod", LONG)
