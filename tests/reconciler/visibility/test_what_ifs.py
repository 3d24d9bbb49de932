"""What an edit would change is decided as its watches would show it, and only what can be read is decided."""

from typing import Any

import msgspec
import pytest

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.front.answers.created import CreatedQuestions
from reconciler.visibility.front.requests import BadRequest
from reconciler.visibility.objects.kinds import WHAT_IF
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import project_group
from shared.kube.watch.cache import Changed
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from tests.reconciler.visibility.copied import copied


def group(name: str, least: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "QuotaGroup",
        "metadata": {"name": name, "uid": name},
        "spec": {"quotas": [{"min": {"cpu": least}, "lendingLimit": {"cpu": 0}}], **spec},
    }


def what_if(*objects: dict[str, Any], gone: tuple[str, ...] = ()) -> bytes:
    spec = {"apply": objects, "delete": [{"kind": "QuotaGroup", "name": name} for name in gone]}
    return msgspec.json.encode({"spec": spec})


async def runtimes(body: bytes) -> dict[str, tuple[int, int]]:
    """By group: the runtime without and with the edit. Before it, a and b have 4 of 8 cpu, and lend nothing."""
    state = ClusterState(QuotaSettings(capacity=(("default", "cpu", 8000),)))
    state.observe_flavors([Changed(None, Flavor("default"))])
    root = group("root", 8, isParent=True)
    for each in (root, group("a", 4), group("b", 4)):
        state.observe_groups([Changed(None, project_group(msgspec.json.encode(each)))])
    async with copied(LatestPlan(), state) as control:
        status = (await CreatedQuestions(control).answer(WHAT_IF, "", body))["status"]
    assert sorted(state.tree.groups) == ["a", "b", "root"]
    return {each["group"]: (each["before"], each["after"]) for each in status["runtime"]}


async def test_changed_group_changes_runtimes_without_changing_the_state() -> None:
    assert (await runtimes(what_if(group("a", 2))))["a"] == (4000, 2000)


async def test_group_can_be_added_and_removed() -> None:
    found = await runtimes(what_if(group("c", 1), gone=("b",)))
    assert (found["b"], found["c"]) == ((4000, 0), (0, 1000))


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"no json",
        what_if(),
        what_if({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}),
        what_if({**group("a", 1), "spec": {"quotas": 3}}),
        what_if(*(group(f"g{number}", 1) for number in range(101))),
    ],
    ids=["empty", "no json", "no edit", "another kind", "unreadable", "too many"],
)
async def test_unreadable_group_is_refused(body: bytes) -> None:
    async with copied(LatestPlan()) as control:
        with pytest.raises(BadRequest, match="spec"):
            await CreatedQuestions(control).answer(WHAT_IF, "", body)
