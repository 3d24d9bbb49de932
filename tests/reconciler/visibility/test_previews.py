"""A workload that is not there yet is previewed as its watch would show it, and names nothing of other namespaces."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.front.answers.created import CreatedQuestions
from reconciler.visibility.front.requests import BadRequest, read_creation
from reconciler.visibility.objects.kinds import START_PREVIEW, WHAT_IF
from shared.api.json.reading import write_moment
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import project_group, project_job
from shared.kube.watch.cache import Changed
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings, UnlabelledNamespaces
from tests.reconciler.visibility.copied import copied
from tests.reconciler.visibility.test_what_ifs import group


def job(name: str, cpu: int, *, namespace: str = "team-a", group: str = "a", **metadata: Any) -> dict[str, Any]:
    container = {"name": "a", "image": "a", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name, "namespace": namespace, "labels": {"quotree.dev/group": group},
            "creationTimestamp": write_moment(datetime.now(UTC) - timedelta(minutes=1)), "uid": name, **metadata,
        },
        "spec": {"suspend": True, "template": {"spec": {"containers": [container]}}},
    }  # fmt: skip


async def preview(*objects: Any, namespace: str = "team-a") -> dict[str, Any]:
    """What is answered where `a` and `b` have 4 of 8 cpu and a job of team-b has 3 of those of `a`."""
    settings = QuotaSettings(
        capacity=(("default", "cpu", 8000),), open_groups=True, unlabelled_namespaces=UnlabelledNamespaces.ALLOW
    )
    state = ClusterState(settings)
    state.observe_flavors([Changed(None, Flavor("default"))])
    root = {**group("root", 0), "spec": {"isParent": True, "quotas": [{"max": {"cpu": 8}}]}}
    for each in (root, group("a", 4), group("b", 4)):
        state.observe_groups([Changed(None, project_group(msgspec.json.encode(each)))])
    for waiting in (job("hidden-1", 3, namespace="team-b"), job("hidden-2", 4, namespace="team-b")):
        state.observe_jobs([Changed(None, project_job(msgspec.json.encode(waiting)))])
    async with copied(LatestPlan(), state) as control:
        body = msgspec.json.encode({"spec": {"apply": objects}})
        answer = await CreatedQuestions(control).answer(START_PREVIEW, namespace, body)
    assert answer["metadata"] == {"namespace": namespace}
    status: dict[str, Any] = answer["status"]
    return status


async def test_small_job_would_start_and_a_large_one_waits_behind_sums() -> None:
    small, large = await preview(job("new", 1)), await preview(job("new", 2))
    assert small["lines"] == ["Job 'team-a/new' would start now on default, within the runtime of its group"]
    assert large["workloads"][0]["starts"] == "Never"
    assert [each["do"] for each in large["workloads"][0]["remedies"]] == ["ShrinkRequest", "RaisePriority"]
    assert "hidden" not in msgspec.json.encode([small, large]).decode()


async def test_object_is_new_whatever_it_says_of_itself() -> None:
    forged = {"quotree.dev/admission": '{"flavors": {"cpu": "default"}, "time": "2026-01-01T00:00:00Z"}'}
    new = job("new", 2, annotations=forged)
    new["spec"]["suspend"] = False
    new["status"] = {"active": 1}
    (found,) = (await preview(new))["workloads"]
    assert (found["state"], found["starts"], found["position"]) == ("Pending", "Never", 2)


async def test_objects_of_one_file_are_previewed_together() -> None:
    found = await preview(job("one", 1), job("two", 1))
    assert [each["starts"] for each in found["workloads"]] == ["Now", "Never"]


@pytest.mark.parametrize(
    "given",
    [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}, {**job("x", 1), "metadata": {"name": "x"}}],
    ids=["no workload", "no group"],
)
async def test_what_is_not_managed_is_named_so(given: dict[str, Any]) -> None:
    assert (await preview(given))["lines"] == [
        "this is no workload that Quotree would start: it names no group, or is not held"
    ]


async def test_unreadable_object_is_named() -> None:
    (line,) = (await preview({**job("x", 1), "spec": {"template": 3}}))["lines"]
    assert line.startswith("Job 'x' cannot be read: ")


@pytest.mark.parametrize(
    "objects",
    [
        [],
        ["text"],
        [{"kind": "Job"}],
        [job("x", 1, namespace="team-b")],
        [job(f"x{number}", 1) for number in range(33)],
    ],
    ids=["none", "no object", "no metadata", "another namespace", "too many"],
)
async def test_bad_request_is_refused(objects: list[Any]) -> None:
    with pytest.raises(BadRequest, match=r"spec"):
        await preview(*objects)


BASE = "/apis/visibility.quotree.dev/v1alpha1/"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{BASE}whatifs", (WHAT_IF, "")),
        (f"{BASE}namespaces/team-a/startpreviews", (START_PREVIEW, "team-a")),
        (f"{BASE}startpreviews", None),
        (f"{BASE}namespaces/startpreviews", None),
        (f"{BASE}namespaces/a/namespaces/b/startpreviews", None),
        (f"{BASE}namespaces/team-a/whatifs", None),
        (f"{BASE}namespaces/team-a/pendingworkloads", None),
    ],
)
def test_path_says_what_is_created_where(path: str, expected: object) -> None:
    assert read_creation(path) == expected
