"""Both processes' metrics with the chart's own rights: a token that is allowed, one that is not, and none."""

import ssl
import urllib.error
import urllib.request

import pytest

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import Quotree
from tests.reconciler.reconciler_process import wait_for

pytestmark = pytest.mark.timeout(900)


def scrape(port: int, token: str = "") -> tuple[int, str]:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"https://127.0.0.1:{port}/metrics", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60, context=trusting) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_only_an_account_with_the_metrics_role_can_read_metrics(world: ControlPlane, quotree: Quotree) -> None:
    for name in ("prometheus", "curious"):
        world.kubectl("create", "serviceaccount", name)
    bound = ("--clusterrole=quotree-metrics-reader", "--serviceaccount=default:prometheus")
    world.kubectl("create", "clusterrolebinding", "prometheus", *bound)
    may = ("auth", "can-i", "get", "/metrics", "--as=system:serviceaccount:default:prometheus")
    wait_for(lambda: world.kubectl(*may, check=False).stdout.strip() == "yes", "the binding is in force")
    allowed, curious = (world.kubectl("create", "token", name).stdout.strip() for name in ("prometheus", "curious"))
    for add, expected in ((quotree.add_reconciler, "quotree_leader 0.0"), (quotree.add_webhook, "quotree_webhook_")):
        port = quotree.ports.take()
        process = add(metrics={"authorization": "Token", "host": "127.0.0.1", "port": port})
        try:
            assert scrape(port)[0] == 401
            assert scrape(port, curious)[0] == 403
            status, text = scrape(port, allowed)
            assert (status, expected in text) == (200, True)
            health = quotree.health[process.name]
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{health}/metrics", timeout=60)
        finally:
            process.stop()
