"""The health scripts for Argo CD, run by a real Lua, and the conditions that kstatus reads."""

from typing import Any

import pytest
import yaml

from tests.project.repository import text_of

lupa = pytest.importorskip("lupa", reason="NO LUA HERE: install lupa, a development dependency")

SCRIPTS: dict[str, str] = yaml.safe_load(text_of("docs/gitops/argocd-cm.yaml"))["data"]
GROUP, FLAVOR, JOB = (
    f"resource.customizations.health.{kind}"
    for kind in ("quotree.dev_QuotaGroup", "quotree.dev_ResourceFlavor", "batch_Job")
)


def health(script: str, obj: dict[str, Any]) -> tuple[str, str]:
    """What Argo CD does: the object is the global `obj`, and the script returns a table."""
    lua = lupa.LuaRuntime(unpack_returned_tuples=True)
    lua.globals()["obj"] = _table(lua, obj)
    found = lua.execute(SCRIPTS[script])
    return found["status"], found["message"]


def _table(lua: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return lua.table_from({key: _table(lua, each) for key, each in value.items()})
    return lua.table_from([_table(lua, each) for each in value]) if isinstance(value, list) else value


def group(*conditions: tuple[str, str, str, str], generation: int = 3, observed: int | None = 3) -> dict[str, Any]:
    found = [dict(zip(("type", "status", "reason", "message"), each, strict=True)) for each in conditions]
    status = {} if observed is None else {"status": {"observedGeneration": observed, "conditions": found}}
    return {"metadata": {"name": "vision", "generation": generation}, **status}


READY = ("Ready", "True", "Measured", "the group counts as its spec says")
ACTIVE = ("Active", "True", "Active", "workloads are started within its quota")


@pytest.mark.parametrize(
    ("seen", "status", "message"),
    [
        (group(ACTIVE, READY), "Healthy", "the group counts as its spec says"),
        (group(ACTIVE, READY, generation=4), "Progressing", "the reconciler has not seen this version yet"),
        (group(observed=None), "Progressing", "the reconciler has not seen this version yet"),
        (group(("Ready", "False", "Draining", "2 workloads have not ended yet")), "Progressing", "2 workloads have"),
        (group(("Ready", "False", "ParentAbsent", "parent x does not exist")), "Degraded", "parent x does not exist"),
    ],
)
def test_health_of_a_group(seen: dict[str, Any], status: str, message: str) -> None:
    found = health(GROUP, seen)
    assert (found[0], found[1][: len(message)]) == (status, message)


@pytest.mark.parametrize(
    ("metadata", "status"), [({"name": "a"}, "Healthy"), ({"name": "a", "deletionTimestamp": "now"}, "Progressing")]
)
def test_health_of_a_flavor(metadata: dict[str, str], status: str) -> None:
    assert health(FLAVOR, {"metadata": metadata})[0] == status


def job(suspend: bool | None = None, requeue: str = "", **labels: str) -> dict[str, Any]:
    own = {f"quotree.dev/{name}": value for name, value in labels.items()}
    annotations = {"annotations": {"quotree.dev/requeue": requeue}} if requeue else {}
    spec = {} if suspend is None else {"suspend": suspend}
    return {"metadata": {"name": "train", "labels": own, **annotations}, "spec": spec}


def ended(kind: str) -> dict[str, Any]:
    return {
        **job(suspend=True, group="vision"),
        "status": {"conditions": [{"type": kind, "status": "True", "message": "m"}]},
    }


@pytest.mark.parametrize(
    ("seen", "status", "message"),
    [
        (job(), "Progressing", "runs"),
        (job(suspend=False, group="vision"), "Progressing", "runs"),
        (job(suspend=True), "Suspended", "is suspended"),
        (job(suspend=True, group="vision"), "Progressing", "waits for quota of group vision"),
        (job(suspend=True, group="vision", hold="true"), "Suspended", "its owner holds it"),
        (job(True, '{"failedStarts":5,"deactivated":true}', group="vision"), "Degraded", "its starts failed"),
        (job(True, '{"failedStarts":2}', group="vision"), "Progressing", "waits for quota"),
        (ended("Complete"), "Healthy", "m"),
        (ended("Failed"), "Degraded", "m"),
    ],
)
def test_health_of_a_job(seen: dict[str, Any], status: str, message: str) -> None:
    found = health(JOB, seen)
    assert (found[0], found[1][: len(message)]) == (status, message)
