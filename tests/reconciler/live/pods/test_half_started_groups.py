"""Groups of pods of which only one was started: they count whole, and the others have their turn as well."""

from pathlib import Path
from typing import Any

import pytest

from shared.api.names import POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL
from tests.faults.kinds import Asked, FallSilent, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.reconciler.live.pods.test_pods import PODS, pod, pods
from tests.reconciler.reconciler_process import Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0


def member(name: str, runs: str = "500ms") -> dict[str, Any]:
    made = pod(name, "vision", labels={POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"})
    made["metadata"]["annotations"] = {"demo.quotree.dev/run-for": runs}
    made["spec"]["restartPolicy"] = "Never"
    return made


def phases(q: Quotree) -> dict[str, str]:
    return {name: each["status"]["phase"] for name, each in pods(q).items()}


def starts_late(asked: Asked) -> bool:
    return asked.method == "PATCH" and asked.path.endswith("/pods/late")


def test_rest_of_a_half_started_pod_group_starts_after_its_first_pod_has_ended(q: Quotree, tmp_path: Path) -> None:
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as proxy:
        q.kubeconfig = proxy.side("only").kubeconfig(q.control_plane.kubeconfig, tmp_path / "through.yaml")
        q.lead()
        q.group("vision", quotas=[quota(min="2")])
        refusing = Rule(Refuse(503), starts_late)
        proxy.rules.append(refusing)
        for name in ("early", "late"):
            q.create(PODS, member(name))
        wait_for(lambda: phases(q) == {"early": "Succeeded", "late": "Pending"}, "one has ended", LONG)
        q.kill()
        q.release()
        proxy.rules.clear()
        q.start()
        wait_for(lambda: phases(q) == {"early": "Succeeded", "late": "Succeeded"}, "the other has as well", LONG)


def watches_pods(asked: Asked) -> bool:
    return asked.is_watch and asked.path.endswith("/pods")


def test_a_half_started_pod_group_counts_whole_before_it_is_seen(q: Quotree, tmp_path: Path) -> None:
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as proxy:
        side = proxy.side("only")
        q.kubeconfig = side.kubeconfig(q.control_plane.kubeconfig, tmp_path / "through.yaml")
        q.lead()
        q.group("vision", quotas=[quota(min="2", max="2")], stopPolicy="Hold")
        for name in ("early", "late"):
            q.create(PODS, member(name, runs="1h"))
        q.job("other", "vision", cpu="2")
        wait_for(lambda: q.group_status("vision").get("workloads", {}).get("pending") == 2, "all are read", LONG)
        silent = Rule(FallSilent(), watches_pods)
        proxy.rules += [Rule(Refuse(409), starts_late, times=1), silent]
        side.cut()
        wait_for(lambda: silent.committed, "the watch of pods is silent", LONG)
        q.group("vision", stopPolicy="None")
        wait_for(lambda: phases(q)["early"] == "Running", "one of them runs", LONG)
        proxy.rules.clear()
        side.cut()
        running = {"early": "Running", "late": "Running"}
        wait_for(lambda: running.items() <= phases(q).items(), "the group runs whole", LONG)
        assert [text for reason, text in q.events("other") if reason == "Started"] == []
        assert q.running() == set()
