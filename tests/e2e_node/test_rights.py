"""What both accounts may do, whole, against what the audit log shows that they did: here, and in the tests before."""

import json
from typing import Any

import pytest

from shared.api.names import API_VERSION, IN_USE
from tests.e2e_node.site import NAMESPACE, Object, Site, group, pod

# Writes that are granted for an occasion that these tests need not bring about.
SELDOM: dict[str, set[tuple[str, str]]] = {
    # The certificate in a Secret that exists is renewed after two thirds of its life.
    "webhook": {("patch", "secrets")},
    # The Lease comes with the chart and is created only after a deletion; a pod is deleted when it can be
    # removed no other way; an event that is told again is patched. Before Kubernetes 1.36 the start time of a suspended
    # Job is reset. The webhook asks for `divide` where quota.requireDivide is set.
    "reconciler": {
        ("create", "leases"),
        ("delete", "pods"),
        ("patch", "events"),
        ("patch", "jobs/status"),
        ("divide", "quotagroups"),
    },
}
READS = {"get", "list", "watch"}
UNUSED_FLAVOR: Object = {
    "apiVersion": API_VERSION,
    "kind": "ResourceFlavor",
    "metadata": {"name": "rights"},
    "spec": {"nodeLabels": {"rights": "none"}},
}
# What every authenticated account may do, and since Kubernetes 1.37 every service account, by its own default roles.
OF_ALL_USERS = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews", "clustertrustbundles"}


@pytest.fixture(scope="module")
def tree_in_use(tree: Site) -> Site:
    """What needs a right of its own: a Job and a pod are started, the pod is evicted, a group edited, metrics read."""
    tree.settle()
    tree.submit("promised", "vision", cpu="400m")
    tree.until("the promise is used up", lambda: tree.running("promised"))
    tree.apply(pod("borrowing", "vision", cpu="900m"))
    tree.until("the pod borrows", lambda: tree.phase("borrowing") == "Running")
    tree.submit("owner", "language", cpu="400m", seconds=1)
    tree.until("it is evicted for the owner", lambda: tree.is_complete("owner"))
    done = tree.apply(*(_waiting_for_its_users(each) for each in (group("rights", quotas=[]), UNUSED_FLAVOR)))
    assert done.returncode == 0, done.stderr
    tree.kubectl("delete", "quotagroup/rights", "resourceflavor/rights")
    for each in (*tree.pods("webhook"), *tree.pods("reconciler")):
        assert tree.scrape(each, tree.scraper())[0] == 200
    tree.clear()
    return tree


@pytest.mark.parametrize("component", ["webhook", "reconciler"])
def test_each_account_has_exactly_the_rights_it_uses(tree_in_use: Site, component: str) -> None:
    used = _used(tree_in_use, component)

    unused = _granted(tree_in_use, component) - used
    assert {(verb, resource) for verb, resource in unused if verb not in READS} <= SELDOM[component]
    # What is read is watched; get and list are for a server that cannot stream a list, and for reading one again.
    assert {resource for verb, resource in unused if verb in READS} <= {name for verb, name in used if verb in READS}


@pytest.mark.parametrize("component", ["webhook", "reconciler"])
def test_no_account_is_refused_a_request(tree_in_use: Site, component: str) -> None:
    user = _user(component)
    refused = [event for event in tree_in_use.cluster.audit_events() if event.user == user and event.code == 403]

    assert refused == []


def _waiting_for_its_users(body: Object) -> Object:
    """With the finalizer that the reconciler takes off when a deleted object is not used any more."""
    return {**body, "metadata": {**body["metadata"], "finalizers": [IN_USE]}}


def _user(component: str) -> str:
    return f"system:serviceaccount:{NAMESPACE}:quotree-{component}"


def _used(site: Site, component: str) -> set[tuple[str, str]]:
    user = _user(component)
    return {
        (event.verb, f"{event.resource}/{event.subresource}".removesuffix("/"))
        for event in site.cluster.audit_events()
        if event.user == user and event.resource and event.resource not in OF_ALL_USERS
    }


def _granted(site: Site, component: str) -> set[tuple[str, str]]:
    """As the API server itself lists them to the account in Quotree's namespace (`kubectl auth can-i --list`)."""
    kubeconfig = site.cluster.kubeconfig_for(_user(component), ("system:serviceaccounts", "system:authenticated"))
    review = '{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"%s"}}'
    listed = site.cluster.kubectl(
        "create", "--validate=false", "-f", "-", "-o", "json", input=review % NAMESPACE, as_kubeconfig=kubeconfig
    ).stdout
    rules: list[dict[str, Any]] = json.loads(listed)["status"]["resourceRules"]
    return {
        (verb, resource)
        for rule in rules
        for verb in rule["verbs"]
        for resource in rule["resources"]
        if resource not in OF_ALL_USERS
    }
