"""helm uninstall with Jobs that run and Jobs that are held, releasing these by hand, and installing again."""

import os
import subprocess
import sys
import time

from dev.image import facts
from tests.e2e_node.reader import PUSHED
from tests.e2e_node.site import CHART, NAMESPACE, OPEN, Site, job

OF_EVERY_NAMESPACE = {"ServiceAccount/default", "ConfigMap/kube-root-ca.crt"}


def test_uninstalling_neither_stops_nor_starts_a_job_and_returns_each_to_its_owner(tree: Site) -> None:
    tree.submit("running", "vision")
    tree.until("it runs", lambda: tree.running("running"))
    tree.submit("held", "vision", cpu="5", seconds=1)
    pod = tree.pods_of("running")[0]["metadata"]["uid"]

    tree.helm("uninstall", "quotree", "--wait", "--timeout", "120s")
    tree.until("Quotree's pods are gone", lambda: not tree.pods("webhook") and not tree.pods("reconciler"))

    assert tree.pods_of("running")[0]["metadata"]["uid"] == pod
    assert tree.running("running")
    assert tree.is_held("held")
    tree.kubectl("patch", "job", "held", "-p", '{"spec":{"suspend":false}}')
    assert not tree.is_held("held")
    free = tree.apply(job("free", "vision", seconds=1))
    assert free.returncode == 0, free.stderr
    tree.until("what is created now runs at once", lambda: tree.is_complete("free"))


def test_uninstalling_keeps_the_tree_and_removes_every_active_part(site: Site) -> None:
    names = {each["metadata"]["name"] for each in site.get("quotagroups")["items"]}
    assert {"research", "vision", "language"} <= names
    kinds = (
        "mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,"
        "validatingadmissionpolicybindings,clusterroles,clusterrolebindings,flowschemas,prioritylevelconfigurations"
    )
    left = site.get(kinds, "-l", "app.kubernetes.io/name=quotree")["items"]
    assert [f"{each['kind']}/{each['metadata']['name']}" for each in left] == []
    in_namespace = site.get(
        "all,secrets,configmaps,leases,networkpolicies,serviceaccounts,roles,rolebindings", "-n", NAMESPACE
    )
    names = {f"{each['kind']}/{each['metadata']['name']}" for each in in_namespace["items"]}
    # Documented in docs/operations.md; the others are of every namespace.
    kept = {"Secret/quotree-webhook-tls", "Secret/quotree-webhook-path", "ConfigMap/quotree-edits"}
    # Stays where the visibility API was ever on, and where `helm test` ran.
    of_others = {"Secret/quotree-visibility-tls", "Pod/quotree-test-webhook", "Pod/quotree-test-reconciler"}
    assert names - OF_EVERY_NAMESPACE - of_others == kept


def test_reinstalling_continues_with_the_same_tree(site: Site) -> None:
    site.kubectl("delete", "jobs,pods", "--all", "--cascade=foreground", "--grace-period=1")
    started = time.monotonic()
    _install_as_into_a_cluster_of_others(site)
    site.open_groups()
    site.until("a Job is accepted", lambda: site.apply(job("again", "vision", seconds=1)).returncode == 0)
    site.until("it starts", lambda: not site.is_held("again"))

    site.figures["installed again: helm install to the first start"] = f"{time.monotonic() - started:.1f} s"
    site.until("it completes", lambda: site.is_complete("again"))
    site.helm("uninstall", "quotree", "--wait", "--timeout", "120s")


def test_another_release_name_can_adopt_the_kept_objects(site: Site) -> None:
    site.kubectl("delete", "jobs,pods", "--all", "--cascade=foreground", "--grace-period=1")
    started = time.monotonic()
    site.helm("install", "another", CHART, "--take-ownership", "--wait", "--timeout", "180s", *OPEN)
    site.until("a Job is accepted", lambda: site.apply(job("another", "vision", seconds=1)).returncode == 0)
    site.until("it starts", lambda: not site.is_held("another"))

    site.figures["installed under another name: helm install to the first start"] = (
        f"{time.monotonic() - started:.1f} s"
    )
    site.until("it completes", lambda: site.is_complete("another"))
    assert {pod["metadata"]["namespace"] for pod in site.pods("webhook")} == {NAMESPACE}


def _install_as_into_a_cluster_of_others(site: Site) -> None:
    """What `make cluster` runs there, with an image that is pulled."""
    environment = {"USE_KUBECONFIG": "1", "KUBECONFIG": str(site.cluster.kubeconfig), "IMAGE": PUSHED}
    command = [sys.executable, "-m", "dev.node", "up"]
    done = subprocess.run(
        command, env={**os.environ, **environment}, cwd=facts.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"Quotree is installed into the cluster of {site.cluster.kubeconfig}" in done.stdout
