"""The dashboard shows objects of a governed kind like Jobs."""

import json
import ssl
import urllib.request
from typing import Any

from tests.dashboard.in_cluster import in_cluster
from tests.gadgets.gadget import DESCRIPTOR, gadget, part
from tests.gadgets.world import World


def test_running_gadget_is_listed_with_its_flavors(at_rest: World) -> None:
    world, cluster = at_rest, at_rest.quotree.cluster
    world.create(gadget("shown", "blue", all=part("3")))
    world.until("it runs", lambda: world.nodes("shown") == ["t4-0"])
    with in_cluster(cluster, kubeconfig=cluster.kubeconfig, kinds=[DESCRIPTOR]) as address:

        def listed() -> list[str]:
            found = _read(f"{address}/api/queue?group=blue&part=running", cluster.token)
            return [f"{each['kind']} {each['workload']}" for each in found["items"]]

        world.until("it is shown", lambda: listed() == ["Gadget default/shown"])


def _read(url: str, token: str) -> Any:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=30, context=trusting) as answer:
        return json.load(answer)
