"""The history is whole: in etcd's order, completed where an answer was short, and clear about what is gone."""

import json
from pathlib import Path
from typing import Any

from shared.api.core.job import Job
from tests.chaos.judging.history.history import Version, read_history
from tests.chaos.judging.history.records import Lease

TIME = "2026-01-01T00:00:00.000000Z"
JOB = {"suspend": True, "parallelism": 2, "template": {"spec": {}}}


def line(verb: str, resource: str, body: dict[str, Any], revision: int, **more: Any) -> dict[str, Any]:
    metadata = {"name": "it", "uid": "it", **body.pop("metadata", {}), "resourceVersion": str(revision)}
    return {
        "verb": verb,
        "requestReceivedTimestamp": TIME,
        "user": {"username": "someone"},
        "objectRef": {"resource": resource},
        "responseStatus": {"code": 200},
        "responseObject": {"kind": "Whole", **body, "metadata": metadata},
        **more,
    }


def history(tmp_path: Path, *lines: dict[str, Any]) -> list[Version]:
    log = tmp_path / "audit.log"
    log.write_text("".join(json.dumps(each) + "\n" for each in lines) + '{"half a li')
    return read_history(log)


def test_versions_are_ordered_by_revision_without_duplicates(tmp_path: Path) -> None:
    late = line("patch", "leases", {"spec": {"holderIdentity": "b"}}, 5)
    early = line("update", "leases", {"spec": {"holderIdentity": "a"}}, 3)
    nothing_changed = line("patch", "leases", {"spec": {"holderIdentity": "b"}}, 5)
    refused = {**line("patch", "leases", {}, 9), "responseStatus": {"code": 409}}
    found = history(tmp_path, late, early, nothing_changed, refused)
    assert [(each.revision, each.record) for each in found] == [(3, Lease("a")), (5, Lease("b"))]


def test_metadata_only_response_is_completed_from_the_patch(tmp_path: Path) -> None:
    created = line("create", "jobs", {"spec": JOB}, 1)
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": "it"},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]
    started = line("patch", "jobs", {"kind": "PartialObjectMetadata"}, 2, requestObject=patch)
    found = [each.record for each in history(tmp_path, created, started)]
    assert [each.spec.suspend for each in found if isinstance(each, Job)] == [True, False]
    assert [each.spec.parallelism for each in found if isinstance(each, Job)] == [2, 2]


def test_write_that_changed_nothing_is_not_taken_for_the_guarded_patch_whose_revision_it_shows(tmp_path: Path) -> None:
    created = line("create", "jobs", {"spec": JOB}, 1)
    running = {"spec": {**JOB, "suspend": False}}
    nothing_changed = line("patch", "jobs", running, 2, requestObject={"metadata": {"annotations": None}})
    patch = [
        {"op": "test", "path": "/metadata/generation", "value": 1},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]
    user = {"username": "reconciler"}
    started = line("patch", "jobs", {"kind": "PartialObjectMetadata"}, 2, requestObject=patch, user=user)
    found = history(tmp_path, created, nothing_changed, started)
    assert [(each.revision, each.user) for each in found] == [(1, "someone"), (2, "reconciler")]


def test_the_credential_tells_replicas_of_one_account_apart(tmp_path: Path) -> None:
    user = {"username": "account", "extra": {"authentication.kubernetes.io/credential-id": ["JTI=1"]}}
    found = history(tmp_path, line("update", "leases", {}, 1, user=user), line("update", "leases", {}, 2))
    assert [(each.user, each.writer) for each in found] == [("account", "JTI=1"), ("someone", "someone")]


def test_pod_evicted_before_it_has_a_node_is_gone_at_once(tmp_path: Path) -> None:
    def pod(name: str, revision: int, **spec: str) -> dict[str, Any]:
        made = line("create", "pods", {"metadata": {"name": name, "uid": name}, "spec": spec}, revision)
        return made | {"objectRef": {"resource": "pods", "namespace": "ns", "name": name}}

    def evicted(name: str, code: int = 201) -> dict[str, Any]:
        target = {"resource": "pods", "subresource": "eviction", "namespace": "ns", "name": name}
        return {**line("create", "pods", {}, 0), "objectRef": target, "responseStatus": {"code": code}}

    lines = [pod("waits", 1), pod("placed", 2, nodeName="n"), pod("guarded", 3)]
    ended = {**pod("placed", 4, nodeName="n"), "verb": "patch"}
    ended["responseObject"]["status"] = {"phase": "Succeeded"}
    found = history(tmp_path, *lines, evicted("waits"), evicted("placed"), evicted("guarded", 429), ended)
    assert [(each.uid, each.revision, each.gone) for each in found] == [
        ("waits", 1, False),
        ("placed", 2, False),
        ("guarded", 3, False),
        ("waits", 3, True),
        ("placed", 4, False),
        ("placed", 4, True),
    ]


def test_job_removed_at_once_is_gone(tmp_path: Path) -> None:
    target = {"resource": "jobs", "namespace": "ns", "name": "it"}
    made = line("create", "jobs", {"spec": JOB}, 1) | {"objectRef": target}
    removed = line("delete", "jobs", {}, 0) | {"objectRef": target, "responseObject": {"kind": "Status"}}
    found = history(tmp_path, made, removed)
    assert [(each.uid, each.revision, each.gone) for each in found] == [("it", 1, False), ("it", 1, True)]


def test_witness_completes_the_log_of_a_killed_api_server(tmp_path: Path) -> None:
    def pod(name: str, revision: int, **more: Any) -> dict[str, Any]:
        target = {"resource": "pods", "namespace": "ns", "name": name}
        made = line("patch", "pods", {"metadata": {"name": name, "uid": name}}, revision)
        return made | {"objectRef": target, "user": {"username": "kwok"}, **more}

    there = {"kind": "Present", "uids": ["stays", "late", "unlogged"]}
    late = "2026-01-01T00:00:09.000000Z"
    found = history(
        tmp_path,
        pod("stays", 1),
        pod("goes", 2),
        {**line("observe", "pods", {}, 0), "responseObject": there},
        *(pod(name, at, verb="observe") for name, at in (("stays", 1), ("unlogged", 3), ("late", 5))),
        pod("late", 5, requestReceivedTimestamp=late),
    )
    assert [(each.uid, each.revision, each.gone, each.user) for each in found] == [
        ("stays", 1, False, "kwok"),
        ("goes", 2, False, "kwok"),
        ("goes", 2, True, "someone"),
        ("unlogged", 3, False, "kwok"),
        ("late", 5, False, "kwok"),
    ]


def test_truncated_line_of_a_killed_api_server_does_not_hide_the_next(tmp_path: Path) -> None:
    whole = json.dumps({"kind": "Event", **line("create", "leases", {}, 1)}, separators=(",", ":"))
    log = tmp_path / "audit.log"
    log.write_text(f'{{"kind":"Event","verb":"upd{whole}\n{{"kind":"Event","ver')
    assert [each.revision for each in read_history(log)] == [1]


def test_object_is_gone_when_deleted_at_once_or_with_its_last_finalizer(tmp_path: Path) -> None:
    deleting = {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 30}
    held = {**deleting, "deletionGracePeriodSeconds": 0, "finalizers": ["job-tracking"]}
    found = history(
        tmp_path,
        line("create", "pods", {}, 1),
        line("delete", "pods", {"metadata": deleting}, 2),
        line("delete", "pods", {"metadata": held}, 3),
        line("patch", "pods", {"metadata": {**held, "finalizers": []}}, 4),
    )
    assert [each.gone for each in found] == [False, False, False, True]


def test_object_is_gone_with_its_last_finalizer_even_if_the_response_has_an_older_revision(tmp_path: Path) -> None:
    held = {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 0, "finalizers": ["orphan"]}
    status = line("update", "pods", {"metadata": held}, 3)
    found = history(
        tmp_path,
        line("create", "pods", {}, 1),
        line("delete", "pods", {"metadata": held}, 2),
        line("patch", "pods", {"metadata": {**held, "finalizers": []}}, 2),
        {**status, "objectRef": {"resource": "pods", "subresource": "status"}},
    )
    assert [(each.revision, each.gone) for each in found] == [(1, False), (2, False), (2, True)]
