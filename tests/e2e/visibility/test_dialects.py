"""A chart that is written for Kueue runs unchanged: its Job is held, started by its group's quota, and goes on."""

import pytest
import yaml

from dev.controlplane.quotree import Quotree
from tests.e2e.visibility.steps import job_of, suspended, wait_for

pytestmark = pytest.mark.timeout(900)


def test_job_with_a_queue_of_kueue_runs_in_the_group_of_the_queue(quotree: Quotree) -> None:
    control_plane = quotree.cluster
    written = job_of("team-a", "", "from-kueue", "10Gi")
    written["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "main"}
    written["spec"]["suspend"] = True
    apply = ("apply", "-f", "-")
    control_plane.kubectl(*apply, input=yaml.safe_dump(written))
    wait_for(lambda: not suspended(control_plane, "from-kueue", "team-a"), "it starts")
    control_plane.kubectl(*apply, input=yaml.safe_dump(written))
    found = control_plane.get("job", "from-kueue", "-n", "team-a")
    assert found["spec"]["suspend"] is False
    assert found["metadata"]["labels"]["quotree.dev/group"] == "lent"
    control_plane.kubectl("delete", "job", "from-kueue", "-n", "team-a")
