"""The command on a real control plane: what it shows follows the cluster, and shows no more than the user may see."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dashboard.app import USER_AGENT
from dev.controlplane.quotree import Quotree
from tests.dashboard.site import commanded, read_page, start
from tests.e2e.kubectl_steps import Asking
from tests.polling import first_true

pytestmark = pytest.mark.apiserver
PATIENCE = 240.0


def _until(found: Callable[[], Any]) -> Any:
    """What is found as soon as it is something; a page that is not there yet counts as nothing."""
    return first_true(found, lambda: "it is not shown", PATIENCE, every=0.1)


def _listed(address: str, group: str, part: str) -> list[str]:
    return [each["workload"] for each in read_page(address, "queue", group=group, part=part)["items"]]


def _remedies(address: str, job: str) -> list[str]:
    return [
        f"  {each['text']}" for each in read_page(address, "workload", kind="Job", key=job, remedies="1")["remedies"]
    ]


def _printed_remedies(text: str) -> list[str]:
    return text.partition("What would let it start, each alone:\n")[2].splitlines()


def _numbers(address: str, group: str) -> dict[str, str]:
    """The numbers of a group's first line."""
    rows = [each for each in _first_event(address)["rows"] if each["name"] == group]
    return dict(rows[0]["keys"][0]["text"]) if rows and rows[0]["keys"] else {}


def _summary(address: str, *beginnings: str) -> Any:
    """The first event that is no longer loading and has notices that begin like these."""

    def seen() -> Any:
        event = _first_event(address)
        has_notices = all(any(each.startswith(begin) for each in event["notices"]) for begin in beginnings)
        return event if has_notices and not event["loading"] else None

    return _until(seen)


def _first_event(address: str) -> Any:
    origin, _, token = address.partition("/#token=")
    asked = urllib.request.Request(f"{origin}/api/stream", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.loads(answer.readline()[6:])


def test_nothing_is_shown_as_started_while_no_reconciler_leads(quotree: Quotree, ask: Asking) -> None:
    quotree.reconcilers[-1].stop()
    try:
        ask.submit("later", "vision", 1)
        with commanded(quotree.cluster.kubeconfig) as address:
            _until(lambda: _first_event(address)["leaderless"])
            _until(lambda: _listed(address, "vision", "pending") == ["default/later"])
            shown = read_page(address, "workload", kind="Job", key="default/later")["sentence"]
        assert shown.startswith("Waits: it starts as soon as a reconciler leads; none has led since ")
        assert shown.partition(": ")[2] in quotree.command("explain", "default/later")
        assert "NoLeader" in quotree.command("pending", "-o", "json")
    finally:
        quotree.add_reconciler()
    ask.until("it starts", lambda: not ask.is_held("later"))


def test_page_has_the_same_remedies_as_explain(quotree: Quotree, ask: Asking) -> None:
    with commanded(quotree.cluster.kubeconfig) as address:
        start(ask, "fills", "vision", 6)
        ask.submit("waits", "language", 5)
        _until(lambda: _listed(address, "research", "pending") == ["default/waits"])
        _until(lambda: _listed(address, "vision", "running") == ["default/fills"])
        shown = ("explain", "default/waits", "--all", "--kubeconfig", str(quotree.cluster.kubeconfig))
        _until(lambda: _printed_remedies(quotree.command(*shown)) == _remedies(address, "default/waits") != [])
        expected = {"min": "2", "used": "6", "runtime": "", "borrowed": "4", "request": "6"}
        _until(lambda: _numbers(address, "vision") | {"runtime": ""} == expected)


def test_dashboard_writes_nothing_to_the_cluster(quotree: Quotree, ask: Asking) -> None:
    with commanded(quotree.cluster.kubeconfig) as address:
        _until(lambda: _first_event(address)["complete"])
        ask.submit("one", "vision", 1)
        _until(
            lambda: read_page(address, "workload", kind="Job", key="default/one", remedies="1")["state"] == "Running"
        )
        assert read_page(address, "group", name="vision")["path"] == ["root", "research", "vision"]
    own = [each for each in quotree.cluster.audit_events() if each.user_agent == USER_AGENT]
    assert {each.verb for each in own} == {"get", "list", "watch"}


def test_tenant_sees_what_it_may_read_and_a_list_of_the_rest(quotree: Quotree, ask: Asking, tenant: Path) -> None:
    start(ask, "fills", "vision", 6)
    ask.submit("waits", "language", 5)
    with commanded(tenant, "--namespace=default") as address:
        beginnings = (
            "nodes and the capacity are not shown: ",
            "only workloads of namespace default are shown",
            "the tree is not shown: ",
        )
        assert not _summary(address, *beginnings)["complete"]

        def counted() -> dict[str, tuple[int, int]]:
            return {each["name"]: (each["pending"], each["admitted"]) for each in _first_event(address)["rows"]}

        _until(lambda: counted() == {"language": (1, 0), "vision": (0, 1)})
        _until(lambda: _listed(address, "language", "pending") == ["default/waits"])
        recorded = _until(lambda: _waits(read_page(address, "workload", kind="Job", key="default/waits")))
        assert "lacks" in recorded


def test_tenant_who_can_read_groups_sees_the_tree_with_its_numbers(quotree: Quotree, ask: Asking, tenant: Path) -> None:
    binding = ("clusterrolebinding", "tenant-views", "--clusterrole=quotree-view", "--user=tenant")
    quotree.cluster.kubectl("create", *binding)
    start(ask, "fills", "vision", 6)
    _until(lambda: ask.group("vision").get("status", {}).get("workloads", {}).get("admitted"))
    with commanded(tenant, "--namespace=default") as address:
        groups = {"root", "research", "vision", "language"}
        _until(lambda: groups <= {each["name"] for each in _first_event(address)["rows"]})
        _until(lambda: '"used":"6"' in json.dumps(_first_event(address), separators=(",", ":")))
    quotree.cluster.kubectl("delete", *binding[:2])


def _waits(page: Any) -> str:
    text: str = page["sentence"]
    return text if "lacks" in text else ""


def test_user_without_list_rights_gets_a_page_with_the_reason(quotree: Quotree) -> None:
    with commanded(quotree.cluster.kubeconfig_for("nobody")) as address:
        notice = _summary(address, "queues and running Jobs are not shown: ")
        assert notice["rows"] == [] or not notice["complete"]
