"""The command on a real control plane: what it shows follows the cluster, and shows no more than the user may see."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dashboard.app import USER_AGENT
from dev.controlplane.quotree import Quotree
from tests.dashboard.site import commanded, start
from tests.e2e.kubectl_steps import Asking

pytestmark = pytest.mark.apiserver
PATIENCE = 60.0


def _get(address: str, path: str, **query: str) -> Any:
    origin, _, token = address.partition("/#token=")
    asked = urllib.request.Request(
        f"{origin}/api/{path}?{urllib.parse.urlencode(query)}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def _until(found: Callable[[], Any]) -> Any:
    """What is found as soon as it is something; a page that is not there yet counts as nothing."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            value = found()
        except urllib.error.HTTPError:
            value = None
        if value or time.monotonic() > deadline:
            assert value
            return value
        time.sleep(0.1)


def _first_event(address: str) -> Any:
    origin, _, token = address.partition("/#token=")
    asked = urllib.request.Request(f"{origin}/api/stream", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.loads(answer.readline()[6:])


def test_it_shows_a_queue_with_the_sentences_of_explain(quotree: Quotree, ask: Asking) -> None:
    with commanded(quotree.cluster.kubeconfig) as address:
        start(ask, "fills", "vision", 6)
        ask.submit("waits", "language", 5)
        items = _until(lambda: _get(address, "queue", group="research", part="pending")["items"])
        assert [each["workload"] for each in items] == ["default/waits"]
        page = _until(lambda: _get(address, "workload", kind="Job", key="default/waits", remedies="1"))
        printed = quotree.command("explain", "default/waits", "--kubeconfig", str(quotree.cluster.kubeconfig))
        assert page["lines"][0] == printed.splitlines()[0]
        assert page["lines"] == printed.splitlines()
        _until(lambda: _get(address, "queue", group="vision", part="running")["items"])
        row = next(each for each in _first_event(address)["rows"] if each["name"] == "vision")
        assert row["keys"][0]["text"] | {"runtime": ""} == {
            "min": "2", "used": "6", "runtime": "", "borrowed": "4", "request": "6",
        }  # fmt: skip


def test_it_writes_nothing(quotree: Quotree, ask: Asking) -> None:
    with commanded(quotree.cluster.kubeconfig) as address:
        _until(lambda: _first_event(address)["complete"])
        ask.submit("one", "vision", 1)
        _until(lambda: _get(address, "workload", kind="Job", key="default/one", remedies="1")["state"] == "Running")
        assert _get(address, "group", name="vision")["path"] == ["root", "research", "vision"]
    own = [each for each in quotree.cluster.audit_events() if each.user_agent == USER_AGENT]
    assert {each.verb for each in own} == {"get", "list", "watch"}


def test_a_tenant_sees_what_its_rights_show_and_is_told_the_rest(quotree: Quotree, ask: Asking, tenant: Path) -> None:
    start(ask, "fills", "vision", 6)
    ask.submit("waits", "language", 5)
    with commanded(tenant, "--namespace=default") as address:
        told = _until(lambda: (event := _first_event(address)) and not event["loading"] and event)
        assert not told["complete"]
        assert [each for each in told["notices"] if each.startswith("nodes and the capacity are not shown: ")]
        assert [each for each in told["notices"] if each.startswith("only workloads of namespace default are shown")]
        assert [each for each in told["notices"] if each.startswith("the tree is not shown: ")]
        told = _until(lambda: (event := _first_event(address)) and len(event["rows"]) == 2 and event)
        rows = {each["name"]: each for each in told["rows"]}
        assert (rows["language"]["pending"], rows["vision"]["admitted"]) == (1, 1)
        items = _until(lambda: _get(address, "queue", group="language", part="pending")["items"])
        assert [each["workload"] for each in items] == ["default/waits"]
        recorded = _until(lambda: _waits(_get(address, "workload", kind="Job", key="default/waits")))
        assert "lacks" in recorded


def test_a_tenant_who_may_read_groups_sees_the_tree_with_its_numbers(
    quotree: Quotree, ask: Asking, tenant: Path
) -> None:
    binding = ("clusterrolebinding", "tenant-views", "--clusterrole=quotree-view", "--user=tenant")
    quotree.cluster.kubectl("create", *binding)
    start(ask, "fills", "vision", 6)
    _until(lambda: ask.group("vision")["status"]["workloads"]["admitted"])
    with commanded(tenant, "--namespace=default") as address:
        rows = _until(lambda: {each["name"]: each for each in _first_event(address)["rows"]})
        assert {"root", "research", "vision", "language"} <= rows.keys()
        _until(lambda: '"used":"6"' in json.dumps(_first_event(address), separators=(",", ":")))
    quotree.cluster.kubectl("delete", *binding[:2])


def _waits(page: Any) -> str:
    text: str = page["recorded"]
    return text if "lacks" in text else ""


def test_who_may_list_nothing_gets_a_page_that_says_so(quotree: Quotree) -> None:
    with commanded(quotree.cluster.kubeconfig_for("nobody")) as address:
        told = _until(lambda: (event := _first_event(address)) and not event["loading"] and event)
        assert told["rows"] == [] or not told["complete"]
        assert [each for each in told["notices"] if each.startswith("queues and running Jobs are not shown: ")]
