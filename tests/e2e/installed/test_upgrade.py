"""An upgrade by helm, or the same manifests applied again by a GitOps tool, interrupts no client that creates Jobs."""

from typing import Any

import yaml

from dev.controlplane.quotree import CHART, NAMESPACE, Quotree
from tests.webhook.rolling.job_stream import Traffic

KINDS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")


def entries(quotree: Quotree) -> list[dict[str, Any]]:
    """Every entry of both webhook configurations."""
    return [hook for kind in KINDS for hook in quotree.cluster.get(kind, "quotree")["webhooks"]]


def trusted(quotree: Quotree) -> set[str]:
    """The authorities that the API server trusts."""
    return {hook["clientConfig"]["caBundle"] for hook in entries(quotree)}


def test_upgrade_and_reapply_keep_the_cas_and_refuse_no_request(quotree: Quotree) -> None:
    cluster, before = quotree.cluster, trusted(quotree)
    held = {"quotree.dev/hold": "true"}
    traffic = Traffic(cluster, "upgrade", rate=20, group="language", labels=held)
    with traffic.flowing():
        release = ("quotree", str(CHART), "--namespace", NAMESPACE, "--reuse-values")
        cluster.helm("upgrade", *release, "--set", "webhook.timeoutSeconds=6")
        assert {hook["timeoutSeconds"] for hook in entries(quotree)} == {6, 10}
        traffic.wait_for_more(20)
        manifests = yaml.load_all(
            cluster.helm("get", "manifest", "quotree", "--namespace", NAMESPACE).stdout, Loader=yaml.CSafeLoader
        )
        ours = yaml.dump_all(
            (each for each in manifests if each and each["kind"].lower() in KINDS), Dumper=yaml.CSafeDumper
        )
        for how in ((), ("--server-side", "--force-conflicts", "--field-manager=gitops")):
            cluster.kubectl("apply", *how, "-f", "-", input=ours)
            traffic.wait_for_more(20)
    cluster.kubectl("delete", "jobs", "-l", "traffic=upgrade", "--wait=false")
    assert traffic.refused == []
    assert (len(before), trusted(quotree)) == (1, before)
