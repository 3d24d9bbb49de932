"""The command line and the dashboard ask the visibility API, with the rights of their user."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dashboard.live.watched_cluster import WatchedCluster
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.quotree import Quotree
from shared.kinds.kind import Kinds
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.quota.measure.inputs.world import PastUse
from shared.quota.model.settings import QuotaSettings
from shared.resources import FlavorResource
from tests.dashboard.site import commanded, read_page
from tests.e2e.visibility.manifests import READER, TREE
from tests.e2e.visibility.steps import (
    HIDDEN,
    first_answer,
    listed,
    printed,
    rows,
    run_command,
    submit,
    tenant,
    wait_for,
)

pytestmark = pytest.mark.timeout(900)


def test_cli_reads_the_api_with_the_rights_of_the_user(quotree: Quotree) -> None:
    own = ("--as", "team-a", "-n", "team-a")
    assert rows(printed(quotree, "pending", *own))[0][:4] == ["GROUP", "PLACE", "WORKLOAD", "REASON"]
    assert printed(quotree, "pending", *own, "-o", "name") == "team-a/own\n"
    assert printed(quotree, "pending", "vision", "-o", "jsonpath={.items[*].workload}").split() == [
        "team-b/hidden-head", "team-a/own"
    ]  # fmt: skip
    holds = "a workload of nlp holds 4"
    explained = first_answer(lambda: run_command(quotree, "explain", "own", *own), holds).stdout
    assert [each for each in HIDDEN if each in explained] == []
    assert "team-b/hidden-1 of nlp holds 4" in quotree.command("explain", "own", "-n", "team-a")
    assert quotree.command("explain", "vision").splitlines()[0].startswith("default/cpu: root has 8")
    for name in ("nope", "qg/nope"):
        with pytest.raises(ControlPlaneError, match=r"there is no (workload|QuotaGroup) '(default/)?nope'"):
            quotree.command("explain", name)
    assert quotree.command("top", "--resource", "cpu", "-o", "name").split()[0] == "nlp"
    line = ["quotree", "pending", *own, "-w", "-o", "name", f"--kubeconfig={quotree.cluster.kubeconfig}"]
    path = f"{quotree.commands}:{quotree.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": path}) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "team-a/own\n"
        submit(quotree.cluster, "team-a", "vision", "second", 2)
        while (line_read := watching.stdout.readline()) != "team-a/second\n":
            assert line_read == "team-a/own\n"
        quotree.cluster.kubectl("delete", "job", "second", "-n", "team-a")
        while (line_read := watching.stdout.readline()) != "team-a/second\n":
            assert line_read == "team-a/own\n"
        watching.terminate()
    # Lists are made from a copy of the reconciler, which is some seconds old.
    wait_for(lambda: listed(quotree) == ["hidden-head", "own"], "it is forgotten")


def test_cli_uses_the_namespace_of_the_context(quotree: Quotree, tmp_path: Path) -> None:
    mine = tmp_path / "kubeconfig"
    mine.write_bytes(tenant(quotree, "team-a").read_bytes())
    quotree.cluster.kubectl("config", "set-context", "--current", "--namespace=team-a", as_kubeconfig=mine)
    kubeconfig = ("--kubeconfig", str(mine))

    def says(text: str, *words: str) -> Callable[[], bool]:
        """Whether a command says it; a busy API is not served for a moment."""
        return lambda: text in (answer := run_command(quotree, *words, *kubeconfig)).stdout + answer.stderr

    wait_for(says("a workload of nlp holds 4", "explain", "own"), "own is explained")
    refused = run_command(quotree, "pending", *kubeconfig)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("-n NAMESPACE lists what waits in one namespace\n")
    for arguments, names in ((["explain"], ["team-a/own"]), (["hold", "-n", "team-a"], ["own"])):
        complete = partial(run_command, quotree, *arguments, *kubeconfig, "", program="kubectl_complete-quotree")
        wait_for(partial(completes, complete, names), f"{names} are completed")
    missing = "quotree: there is no workload 'team-a/nope' that names a group"
    nothing = "quotree: there is no Job, object of a governed kind, pod or pod group 'nope' in namespace 'team-a'\n"
    wait_for(says(nothing, "hold", "nope"), "no such workload to hold")
    wait_for(says(f"{missing}, and no QuotaGroup 'nope'\n", "explain", "nope"), "no such name")
    wait_for(says(f"{missing}\n", "explain", "team-a/nope"), "no such workload")


def completes(complete: Callable[[], subprocess.CompletedProcess[str]], names: list[str]) -> bool:
    return complete().stdout.splitlines() == [*names, ":4"]


@pytest.mark.parametrize("words", [("what-if",), ("pending",), ("explain", "team-a/own")], ids=" ".join)
def test_cli_uses_the_history_of_the_leader_or_reports_that_it_is_missing(
    quotree: Quotree, tmp_path: Path, words: tuple[str, ...]
) -> None:
    control_plane, edit = quotree.cluster, tmp_path / "edit.yaml"
    edit.write_text(TREE)
    control_plane.apply(READER)
    served = ("get", "groupexplanations", "nlp", "-o", "jsonpath={.status.pastUse[*].resource}")
    wait_for(lambda: "cpu" in control_plane.kubectl(*served, check=False).stdout, "past use is served")

    computes = ("-f", str(edit)) if words == ("what-if",) else ("--at", datetime.now(UTC).isoformat())

    def reports_that_it_is_old(*user: str) -> bool:
        return "past use is read from the statuses" in run_command(quotree, *words, *computes, *user).stderr

    wait_for(lambda: not reports_that_it_is_old(), "it asks the leader")
    assert reports_that_it_is_old("--as", "reader")


def test_dashboard_shows_a_tenant_what_the_api_explains(quotree: Quotree) -> None:
    binding = ("clusterrolebinding", "team-a-views", "--clusterrole=quotree-view", "--user=team-a")
    quotree.cluster.kubectl("create", *binding)
    with commanded(tenant(quotree, "team-a"), "--namespace=team-a") as address:

        def page() -> Any:
            """What the API says of it; nothing while the dashboard has computed it."""
            read = read_page(address, "workload", kind="Job", key="team-a/own", remedies="1")
            return read if read["source"].endswith("this is what the visibility API says.") else {}

        found = wait_for(page, "own is explained")
        (flavor,) = found["flavors"]
        assert "a workload of nlp" in [each["named"] for each in flavor["holders"]]
        assert found["remedies"]
        assert [each for each in HIDDEN if each in json.dumps(found)] == []

        def listed() -> list[tuple[int, str]]:
            items = read_page(address, "queue", group="vision")["items"]
            return [(each["place"], each["reason"]) for each in items]

        wait_for(lambda: listed() == [(2, "BehindHead")], "the queue has place and reason")
        (division,) = wait_for(lambda: read_page(address, "group", name="vision")["divisions"], "it is divided")
        assert division["text"].startswith("root has 8 of cpu in default to divide")
        assert {"vision", "nlp"} <= {each["group"] for each in division["rows"]}
    quotree.cluster.kubectl("delete", *binding[:2])


def test_dashboard_starts_from_the_past_use_of_the_leader(quotree: Quotree) -> None:
    served = ("get", "groupexplanations", "nlp", "-o", 'jsonpath={.status.pastUse[?(@.resource=="cpu")].amount}')

    def known() -> int:
        return int(quotree.cluster.kubectl(*served, check=False).stdout or 0)

    wait_for(lambda: known() > 0, "past use is served")

    def starts_from_it() -> bool:
        least = known() * 9 // 10
        past = asyncio.run(_past_of_dashboard(quotree.cluster.kubeconfig))
        return past.get("nlp", {}).get(FlavorResource("default", "cpu"), 0) >= least > 0

    wait_for(starts_from_it, "the dashboard knows what the leader knows")


async def _past_of_dashboard(kubeconfig: Path) -> PastUse:
    """The past use in the first sighting of the whole cluster."""
    async with connected(ConnectionSettings(kubeconfig=str(kubeconfig))) as connection, asyncio.timeout(150):
        seen = WatchedCluster(Client(connection), QuotaSettings(fairness_half_life=timedelta(hours=1)), Kinds(), None)
        watching = asyncio.create_task(seen.run())
        while not (sighting := seen.look(datetime.now(UTC))).is_complete:
            await seen.changed.wait()
            seen.changed.clear()
        watching.cancel()
        await asyncio.wait([watching])
        return sighting.world.past_use
