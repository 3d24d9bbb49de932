"""The visibility API, switched on and off by one value: kubectl asks the API server, which asks a reconciler's pod."""

import json
from typing import Any

from tests.e2e_node.site import CHART, Site

APPLY = ("upgrade", "quotree", CHART, "--wait", "--timeout", "180s")
SERVICE = "v1alpha1.visibility.quotree.dev"


def _answer(site: Site, *words: str) -> str:
    """What kubectl prints; nothing while the API is not served."""
    return site.cluster.kubectl("get", *words, check=False).stdout


def _status(site: Site, kind: str) -> dict[str, Any]:
    text = _answer(site, kind, "waits", "-n", "default", "-o", "json")
    found: dict[str, Any] = json.loads(text)["status"] if text else {}
    return found


def test_one_value_enables_kubectl_get_pending_workloads_with_reasons(clean: Site) -> None:
    clean.helm(*APPLY, "--reset-then-reuse-values", "--set", "visibility.enabled=true")
    try:
        clean.settle()
        clean.submit("holds", "vision", cpu="1000m")
        clean.until("the first Job runs", lambda: clean.running("holds"))
        clean.submit("waits", "vision", cpu="600m")
        clean.until("kubectl lists what waits", lambda: "waits" in _answer(clean, "pendingworkloads", "-n", "default"))
        pending = _status(clean, "pendingworkloads")
        assert (pending["group"], pending["position"], pending["reason"]) == ("vision", 1, "WaitingForQuota")
        clean.until("it is explained whole", lambda: bool(_status(clean, "explanations").get("remediesTried")))
        explained = _status(clean, "explanations")
        holders = [each for flavor in explained["flavors"] for each in flavor["holders"]]
        assert (holders[0]["workload"], holders[0]["amount"]) == ("default/holds", 1000)
        assert "ShrinkRequest" in {each["do"] for each in explained["remedies"]}
        clean.until("groups are explained", lambda: "vision" in _answer(clean, "groupexplanations"))
    finally:
        clean.helm(*APPLY, "--reset-values")
    clean.settle()
    assert SERVICE not in clean.kubectl("get", "apiservices", "-o", "name")
    assert "waits" in _answer(clean, "jobs")
