"""In a leaf whose order is by user, the webhook writes who created a workload. docs/specification.md §6.7."""

import json
from typing import Any

import pytest

from shared.api.names import USER
from tests.webhook.webhook_process import AdmissionSetup, job_body, words

pytestmark = pytest.mark.timeout(900)
ROBOT = "system:serviceaccount:default:robot"


@pytest.fixture(scope="module")
def setup(bare_admission: AdmissionSetup) -> AdmissionSetup:
    """A leaf by user and one by age, and the chart's policies."""
    quotas = [{"min": {"cpu": 8}, "max": {"cpu": 8}}]
    bare_admission.flavor("default")
    bare_admission.group("shared", quotas=quotas, queueing={"order": "User", "weights": {"ann": 2, "bob": "500m"}})
    bare_admission.group("vision", quotas=quotas)
    bare_admission.open()
    return bare_admission


def create(setup: AdmissionSetup, body: dict[str, Any], user: str) -> str:
    who = ("--as", user, "--as-group", "system:masters")
    return words(setup.control_plane.kubectl("create", "-f", "-", *who, input=json.dumps(body), check=False))


@pytest.mark.parametrize(
    ("name", "group", "user", "written"),
    [
        ("anns", "shared", "ann", "ann"),
        ("robots", "shared", ROBOT, None),
        ("by-age", "vision", "ann", None),
    ],
)
def test_the_user_is_written_at_creation(
    setup: AdmissionSetup, name: str, group: str, user: str, written: str | None
) -> None:
    assert create(setup, job_body(name, group), user) == f"job.batch/{name} created"
    assert (setup.job(name)["metadata"].get("annotations") or {}).get(USER) == written
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"quotree.dev/group": group}},
        "spec": {"containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": 1}}}]},
    }
    assert create(setup, pod, user) == f"pod/{name} created"
    found = setup.get(f"/api/v1/namespaces/default/pods/{name}")[1]
    assert (found["metadata"].get("annotations") or {}).get(USER) == written


def test_nobody_changes_it(setup: AdmissionSetup) -> None:
    assert create(setup, job_body("kept", "shared"), "ann").endswith("created")
    who = ("--as", "bob", "--as-group", "system:masters")
    for change in (f"{USER}=bob", f"{USER}-"):
        answer = setup.control_plane.kubectl("annotate", "--overwrite", "job/kept", change, *who, check=False)
        assert "written by Quotree alone" in words(answer)
    assert setup.job("kept")["metadata"]["annotations"][USER] == "ann"
