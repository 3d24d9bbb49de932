"""Every rule about new workloads through a real API server: accepted at each limit, refused beyond, by every
request.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from tests.webhook.webhook_process import JSON, MERGE, AdmissionSetup, job_body

APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
PREFIX = "quotree.dev/"
PATHS = {"Job": "/apis/batch/v1/namespaces/{}/jobs", "Pod": "/api/v1/namespaces/{}/pods"}
LABEL = f"metadata.labels[{PREFIX}"
GROUP = f"{LABEL}group]"
Labels = Mapping[str, str]


class Case(NamedTuple):
    """Labels, without the prefix, in the namespace `where`; `elsewhere`: a namespace where the refused ones pass."""

    accepted: Labels
    refused: Labels
    status: int
    text: str
    elsewhere: str = ""
    where: str = "blue"


CASES = {
    "group": Case(
        {"group": "nlp"},
        {"group": "npl"},
        422,
        f"{GROUP}: there is no group npl; name one that exists, `quotree tree` lists them (GroupAbsent)",
    ),
    "leaf": Case(
        {"group": "nlp"},
        {"group": "research"},
        422,
        f"{GROUP}: group research holds groups, not workloads; name one of its leaves: nlp, vision (GroupNotLeaf)",
    ),
    "system": Case(
        {"group": "nlp"},
        {"group": "system"},
        403,
        f"{GROUP}: group system is the cluster's own and never limited; name another group (SystemGroup)",
    ),
    "closed": Case(
        {"group": "paused"},
        {"group": "old"},
        403,
        (
            f"{GROUP}: group old is below closed, which is closed (stopPolicy: Close): no new workloads "
            "until that is taken "
            "back; name another group (GroupClosed)"
        ),
    ),
    "namespace": Case(
        {"group": "nlp"},
        {"group": "choosy"},
        403,
        (
            f"{GROUP}: group choosy does not take workloads of namespace blue: its namespaceSelector "
            "requires team=red; "
            "label the namespace so, or name another group (NamespaceNotAdmitted)"
        ),
        elsewhere="red",
    ),
    "flavor": Case(
        {"group": "nlp", "flavor": "t4"},
        {"group": "nlp", "flavor": "h100"},
        422,
        f"{LABEL}flavor]: group nlp has no quota of flavor h100; it has a100, t4 (FlavorNotInGroup)",
    ),
    "preemptible": Case(
        {"group": "nlp", "preemptible": "false"},
        {"group": "nlp", "preemptible": "no"},
        422,
        f'{LABEL}preemptible]: is "no"; write "true" or "false" (BadLabel)',
    ),
    "hold": Case(
        {"group": "nlp", "hold": "true"},
        {"group": "nlp", "hold": "True"},
        422,
        f'{LABEL}hold]: is "True"; write "true" or "false" (BadLabel)',
    ),
    "pod group without a size": Case(
        {"group": "nlp", "pod-group": "ring", "pod-group-size": "1024"},
        {"group": "nlp", "pod-group": "ring"},
        422,
        (
            f"{LABEL}pod-group-size]: is absent; write how many pods start together, a whole number from 1 to 1024 "
            "(BadPodGroup)"
        ),
    ),
    "pod group of 1025": Case(
        {"group": "nlp", "pod-group": "ring", "pod-group-size": "1024"},
        {"group": "nlp", "pod-group": "ring", "pod-group-size": "1025"},
        422,
        (
            f'{LABEL}pod-group-size]: is "1025"; write how many pods start together, a whole number '
            "from 1 to 1024 (BadPodGroup)"
        ),
    ),
    "size without a pod group": Case(
        {"group": "nlp"},
        {"group": "nlp", "pod-group-size": "2"},
        422,
        (
            f"{LABEL}pod-group-size]: says a size without a name; add the label "
            "quotree.dev/pod-group or take this one out (BadPodGroup)"
        ),
    ),
}


@pytest.fixture(scope="package")
def rules(admission: AdmissionSetup) -> AdmissionSetup:
    """More groups, and two namespaces of which one is admitted to `choosy`."""
    quota = [{"flavor": "t4", "min": {"cpu": 4}, "max": {"cpu": 4}}]
    for name in ("red", "blue"):
        admission.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": {"team": name}}})
    admission.group("choosy", quotas=quota, namespaceSelector={"matchLabels": {"team": "red"}})
    admission.group("paused", quotas=quota, stopPolicy="Hold")
    admission.group("detached", "absent", quotas=quota)
    admission.group("system")
    return admission


def body_of(kind: str, name: str, labels: Labels, **spec: Any) -> dict[str, Any]:
    """The object with these labels and no others of Quotree's."""
    asks = spec.pop("asks", None)
    job = job_body(name, None, **spec)
    if asks:
        job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = asks
    job["metadata"]["labels"] = {f"{PREFIX}{key}": value for key, value in labels.items()}
    if kind == "Job":
        return job
    return {"apiVersion": "v1", "kind": "Pod", "metadata": job["metadata"], "spec": job["spec"]["template"]["spec"]}


def send(admission: AdmissionSetup, method: str, path: str, body: Any, form: str = JSON) -> tuple[int, str]:
    """HTTP status, and what the webhook said."""
    status, answer = admission.control_plane.rest.request(method, path, body, form)
    return status, str(answer.get("message", "")).partition("denied the request: ")[2]


def creations(admission: AdmissionSetup, path: str, body: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """The answers to every way of creating it."""
    own = f"{path}/{body['metadata']['name']}?fieldManager=person"
    return {
        "dry run": send(admission, "POST", f"{path}?dryRun=All", body),
        "server-side apply, dry run": send(admission, "PATCH", f"{own}&dryRun=All", body, APPLY),
        "server-side apply": send(admission, "PATCH", own, body, APPLY),
        "create": send(admission, "POST", path, body),
    }


def changes(admission: AdmissionSetup, path: str, before: dict[str, Any], after: Labels) -> dict[str, tuple[int, str]]:
    """The answers to every way of changing the stored object's labels into these."""
    gone = dict.fromkeys(before["metadata"]["labels"])
    labels = {**gone, **{f"{PREFIX}{key}": value for key, value in after.items()}}
    own = f"{path}/{before['metadata']['name']}"
    merged = {"metadata": {"labels": labels}}
    kept = {key: value for key, value in labels.items() if value is not None}
    replaced = {**before, "metadata": {**before["metadata"], "labels": kept, "resourceVersion": ""}}
    operations = [{"op": "replace", "path": "/metadata/labels", "value": kept}]
    return {
        "merge patch": send(admission, "PATCH", own, merged, MERGE),
        "client-side apply": send(admission, "PATCH", own, merged, STRATEGIC),
        "JSON patch": send(admission, "PATCH", own, operations, "application/json-patch+json"),
        "dry run": send(admission, "PATCH", f"{own}?dryRun=All", merged, MERGE),
        "replace": send(admission, "PUT", own, replaced),
    }


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_new_workload_is_accepted_at_each_limit_and_refused_beyond(
    rules: AdmissionSetup, case: Case, kind: str
) -> None:
    name, path = f"w{list(CASES.values()).index(case)}", PATHS[kind].format(case.where)
    refusal = (case.status, f"{kind} '{name}' {case.text}")
    refused = creations(rules, path, body_of(kind, name, case.refused))
    assert refused == dict.fromkeys(refused, refusal)
    stored = rules.create(path, body_of(kind, name, case.accepted))
    refused = changes(rules, path, stored, case.refused)
    assert refused == dict.fromkeys(refused, refusal)
    if case.elsewhere:
        rules.create(PATHS[kind].format(case.elsewhere), body_of(kind, name, case.refused))


def test_held_workload_cannot_leave_its_quota(rules: AdmissionSetup) -> None:
    for kind, path in PATHS.items():
        stored = rules.create(path.format("blue"), body_of(kind, "stays", {"group": "nlp"}))
        refused = changes(rules, path.format("blue"), stored, {})
        message = (
            f"{kind} 'stays' {GROUP}: a workload of group nlp must not leave its quota; name another group instead"
        )
        assert refused == dict.fromkeys(refused, (403, f"{message} (GroupRemoved)"))


WARNED: dict[str, tuple[dict[str, Any], str]] = {
    "stopped": (
        body_of("Pod", "warned-stopped", {"group": "paused"}),
        f"{GROUP}: group paused has stopPolicy Hold: nothing starts until that is taken back (GroupStopped)",
    ),
    "detached": (
        body_of("Pod", "warned-detached", {"group": "detached"}),
        (
            f"{GROUP}: group detached is inactive: its path does not lead to root; nothing starts until it does "
            "(GroupInactive)"
        ),
    ),
    "uncovered": (
        body_of("Job", "warned-uncovered", {"group": "choosy"}, asks={"cpu": "1", "memory": "1Gi"}),
        (
            "spec: requests memory, of which group choosy has no quota (it has cpu); it will never start: leave that "
            "out, or add it to the group's quotas (ResourceNotCovered)"
        ),
    ),
    "above its ceiling": (
        body_of("Job", "warned-large", {"group": "choosy"}, cpu="5"),
        (
            "spec: will never start: flavor t4: it requests 5 cpu, group choosy may use at most 4; request less or "
            "raise that (NeverFits)"
        ),
    ),
}


@pytest.mark.parametrize(("body", "text"), WARNED.values(), ids=WARNED)
def test_workload_that_cannot_start_now_is_accepted_with_a_warning(
    rules: AdmissionSetup, body: dict[str, Any], text: str
) -> None:
    message = rules.control_plane.kubectl("create", "-n", "red", "-f", "-", input=json.dumps(body)).stderr.strip()
    assert message == f"Warning: {body['kind']} '{body['metadata']['name']}' {text}"


def test_workload_exactly_at_a_limit_is_accepted_without_a_warning(rules: AdmissionSetup) -> None:
    body = body_of("Job", "exact", {"group": "choosy"}, cpu="4")
    assert rules.control_plane.kubectl("create", "-n", "red", "-f", "-", input=json.dumps(body)).stderr == ""
