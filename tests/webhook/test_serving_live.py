"""Certificates and replicas come and go under a stream of Jobs, and not one that should pass is refused or lost."""

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from controlplane.cluster import ControlPlane
from controlplane.rest import Rest
from tests.webhook.balancing import Balancer
from tests.webhook.running import JOBS, NAMESPACE, PATCH, REGISTRATION, Door, job_body, wait_for

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/quotree-webhook-tls"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def balanced(bare_door: Door) -> Iterator[tuple[Door, Balancer]]:
    """Two replicas behind one address, and one group that takes everything."""
    bare_door.flavor("default")
    bare_door.group("any", quotas=[{"min": {"cpu": 1000}}])
    balancer = Balancer(bare_door.ports.take())
    balancer.start()
    bare_door.configure(f"https://127.0.0.1:{balancer.port}")
    balancer.replicas = [bare_door.start(), bare_door.start()]
    for replica in balancer.replicas:
        wait_for(replica.is_ready, "both replicas are ready")
    bare_door.wait_trusted()
    yield bare_door, balancer
    balancer.stop()


@dataclass(slots=True)
class Stream:
    """Jobs created one after the other by several threads, and what became of them."""

    cp: ControlPlane
    prefix: str
    created: int = 0
    refused: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def run(self, thread: int) -> None:
        """Create until stopped."""
        number, address = 0, urlsplit(self.cp.url)
        rest = Rest(str(address.hostname), int(address.port or 443), self.cp.ca_file, self.cp.token)
        while not self._stop.is_set():
            number += 1
            body = job_body(f"{self.prefix}-{thread}-{number}", "any")
            status, answer = rest.request("POST", JOBS.format("default"), body=body)
            with self._turn:
                if status == 201 and answer["spec"]["suspend"]:
                    self.created += 1
                else:
                    self.refused.append(str(answer.get("message", answer)))
        rest.close()

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """While the block runs."""
        threads = [threading.Thread(target=self.run, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._stop.set()
            for each in threads:
                each.join(30)


def test_rolling_restart_of_two_replicas_refuses_nothing(balanced: tuple[Door, Balancer]) -> None:
    door, balancer = balanced
    stream = Stream(door.cp, "rolling")
    with stream.flowing():
        for old in list(balancer.replicas):
            new = door.start()
            wait_for(new.is_ready, "the new replica is ready")
            balancer.replicas = [*balancer.replicas, new]
            time.sleep(0.5)
            assert old.stop() == 0
            balancer.replicas = [each for each in balancer.replicas if each is not old]
    assert stream.refused == []
    assert stream.created > 50
    print(f"{stream.created} Jobs created while both replicas were replaced")


def test_authorities_taken_out_of_the_configurations_are_put_back(balanced: tuple[Door, Balancer]) -> None:
    door, _ = balanced
    before = door.bundles()
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        emptied = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        replaced = [{"op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": before[0]}]
        door.cp.rest.request("PATCH", f"{REGISTRATION}/{plural}/quotree", [*emptied, *replaced], PATCH)
    wait_for(lambda: door.bundles() == before, "the authorities are back")


@pytest.mark.parametrize("way", ["half-written", "mismatched", "deleted"])
def test_spoilt_secret_is_mended_while_reviews_go_on(balanced: tuple[Door, Balancer], way: str) -> None:
    door, _ = balanced
    before = door.get(SECRET)[1]["data"]
    stream = Stream(door.cp, way)
    with stream.flowing():
        if way == "deleted":
            door.cp.rest.request("DELETE", SECRET)
        else:
            spoilt = before["tls.crt"][:400] if way == "half-written" else base64.b64encode(b"another key").decode()
            name = "tls.crt" if way == "half-written" else "tls.key"
            door.cp.rest.request("PATCH", SECRET, [{"op": "replace", "path": f"/data/{name}", "value": spoilt}], PATCH)

        def is_mended() -> bool:
            status, secret = door.get(SECRET)
            return (
                status == 200 and secret["data"]["ca.crt"] == before["ca.crt"] and len(secret["data"]["tls.crt"]) > 500
            )

        time.sleep(0.5)
        wait_for(is_mended, "the Secret is whole again")
        time.sleep(1)
    assert stream.refused == []
    assert stream.created > 0


def test_authority_is_replaced_with_an_overlap_and_without_a_refusal(balanced: tuple[Door, Balancer]) -> None:
    door, _ = balanced
    before = door.get(SECRET)[1]["data"]
    stream = Stream(door.cp, "authority")
    with stream.flowing():
        lost = [{"op": "replace", "path": "/data/ca.key", "value": ""}]
        door.cp.rest.request("PATCH", SECRET, lost, PATCH)
        wait_for(lambda: door.get(SECRET)[1]["data"].get("ca-old.crt") == before["ca.crt"], "the overlap")
        wait_for(lambda: door.get(SECRET)[1]["data"]["tls.crt"] != before["tls.crt"], "a certificate of the new one")
        time.sleep(2)
    after = door.get(SECRET)[1]["data"]
    both = base64.b64encode(base64.b64decode(after["ca.crt"]) + base64.b64decode(before["ca.crt"])).decode()
    assert set(door.bundles()) == {both}
    assert stream.refused == []
    assert stream.created > 0
