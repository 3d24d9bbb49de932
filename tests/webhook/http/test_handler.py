"""Every request gets an answer: a verdict, or an HTTP status with one sentence; the metrics count which."""

import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from shared.api.json.reading import Unreadable
from shared.api.review import Review
from shared.kube.errors import Unavailable
from shared.quota.model.rules import Violation
from tests.webhook.workloads.review_builders import job
from webhook.http.handler import Answer, Endpoints, Route
from webhook.metrics import WebhookMetrics
from webhook.verdicts import YES, Allow, Deny, Verdict

PATH = "/validate/jobs"


async def accept(_review: Review) -> Verdict:
    return YES


def endpoints(judge: Any = accept, unready: str | None = None) -> tuple[Endpoints, CollectorRegistry]:
    registry = CollectorRegistry()
    return Endpoints({PATH: Route("batch", "Job", judge)}, WebhookMetrics(registry), lambda: unready), registry


def body(**request: Any) -> bytes:
    asked = {
        "uid": "u-1",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "operation": "CREATE",
        "name": "train",
        "object": job(),
        **request,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}).encode()


async def answer(judge: Any = accept, unready: str | None = None, raw: bytes | None = None) -> tuple[int, Any]:
    found = await endpoints(judge, unready)[0].answer(PATH, raw or body())
    text = found.body.decode()
    return found.status, json.loads(text)["response"] if found.status == 200 else text


async def test_verdict_is_written_as_a_review() -> None:
    async def judge(_review: Review) -> Verdict:
        return Allow(warnings=("mind the gap",))

    assert await answer(judge) == (200, {"uid": "u-1", "allowed": True, "warnings": ["mind the gap"]})


async def test_denial_names_all_rules_and_is_counted_for_each() -> None:
    async def judge(_review: Review) -> Verdict:
        return Deny(
            (Violation("A", "Job/x", "spec", "is bad"), Violation("B", "Job/x", "", "is worse")), 403, "Forbidden"
        )

    shell, registry = endpoints(judge)
    found = json.loads((await shell.answer(PATH, body())).body)
    assert found["response"]["status"] == {
        "code": 403,
        "reason": "Forbidden",
        "message": "Job 'x' spec: is bad (A)\nJob 'x': is worse (B)",
    }
    counted = [
        registry.get_sample_value("quotree_webhook_refusals_total", {"route": PATH, "rule": rule}) for rule in "AB"
    ]
    denied = registry.get_sample_value("quotree_webhook_reviews_total", {"route": PATH, "verdict": "denied"})
    took = registry.get_sample_value("quotree_webhook_review_seconds_count", {"route": PATH})
    assert (counted, denied, took) == ([1.0, 1.0], 1.0, 1.0)


async def test_kind_not_yet_governed_by_this_replica_is_answered_with_retry() -> None:
    shell, registry = endpoints()
    path = "/mutate/jobsets.jobset.x-k8s.io"
    kind = {"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"}
    assert shell.check("POST", path, "application/json") == path
    found = json.loads((await shell.answer(path, body(kind=kind))).body)["response"]
    assert (found["uid"], found["allowed"], found["status"]) == (
        "u-1",
        False,
        {
            "code": 429,
            "reason": "TooManyRequests",
            "message": "JobSet 'train': cannot be held yet: this replica of the webhook does not govern the kind; try "
            "again in a few seconds (NotGovernedYet)",
            "details": {"retryAfterSeconds": 3},
        },
    )
    counted = {"route": "unknown", "rule": "NotGovernedYet"}
    assert registry.get_sample_value("quotree_webhook_refusals_total", counted) == 1.0


async def test_unsynced_replica_refuses_reviews() -> None:
    status, response = await answer(unready="the webhook has not read all jobs yet")
    assert (status, response["allowed"], response["status"]) == (
        200,
        False,
        {
            "code": 503,
            "reason": "ServiceUnavailable",
            "message": (
                "Job 'train': cannot be judged now: the webhook has not read all jobs yet; try again in a few seconds "
                "(NotReady)"
            ),
        },
    )


async def test_silent_api_server_is_not_an_internal_error() -> None:
    async def judge(_review: Review) -> Verdict:
        raise Unavailable(0, "Timeout", "no answer")

    status, response = await answer(judge)
    assert (status, response["status"]["code"]) == (200, 503)


async def test_unreadable_object_is_refused_with_the_field_path() -> None:
    async def judge(_review: Review) -> Verdict:
        raise Unreadable("Expected `int`, got `str` - at `$.spec.parallelism`")

    _, response = await answer(judge)
    assert response["status"] == {
        "code": 422,
        "reason": "Invalid",
        "message": "Job 'train': Expected `int`, got `str` - at `$.spec.parallelism` (Unreadable)",
    }


async def test_internal_error_is_a_500_without_details() -> None:
    async def judge(_review: Review) -> Verdict:
        raise KeyError("secret detail")

    assert await answer(judge) == (500, "the webhook failed on this review; its log says why\n")


async def test_subresources_are_allowed_unchanged() -> None:
    async def judge(_review: Review) -> Verdict:
        raise AssertionError

    assert (await answer(judge, raw=body(subResource="status")))[1] == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"{", "the body is no AdmissionReview: Input data was truncated\n"),
        (b"[" * 10_000, "the body is no AdmissionReview: Expected `object`, got `array`\n"),
        (b'{"a":' * 10_000, "the body is no AdmissionReview: nested too deeply\n"),
        (
            body(kind={"group": "apps", "version": "v1", "kind": "Deployment"}),
            "/validate/jobs answers for batch Job, not for apps/v1 Deployment\n",
        ),
    ],
    ids=["cut", "deep list", "deep object", "wrong kind"],
)
async def test_invalid_review_is_a_400(raw: bytes, sentence: str) -> None:
    assert await answer(raw=raw) == (400, sentence)


@pytest.mark.parametrize(
    ("once", "twice", "path"),
    [
        ('"kind": "AdmissionReview"', '"kind": "Other", "kind": "AdmissionReview"', "kind"),
        ('"uid": "u-1"', '"uid": "u-0", "uid": "u-1"', "request.uid"),
        ('"suspend": false', '"suspend": true, "suspend": false', "request.object.spec.suspend"),
        (
            '"quotree.dev/group": "vision"',
            '"quotree.dev/group": "nlp", "quotree.dev/group": "vision"',
            "request.object.metadata.labels[quotree.dev/group]",
        ),
        (
            '"cpu": 2',
            '"cpu": 1, "cpu": 2',
            "request.object.spec.template.spec.containers[0].resources.requests.cpu",
        ),
    ],
    ids=["top level", "request", "object", "labels", "deep in a list"],
)
async def test_body_with_a_key_twice_is_a_400_that_names_it(once: str, twice: str, path: str) -> None:
    raw = body().decode()
    assert raw.count(once) == 1
    message = f"the body writes {path} twice; leave one of the two out\n"
    assert await answer(raw=raw.replace(once, twice).encode()) == (400, message)


@pytest.mark.parametrize(
    ("method", "path", "content_type", "status"),
    [
        ("POST", PATH, "application/json", None),
        ("POST", PATH, "application/json; charset=utf-8", None),
        ("POST", "/", "application/json", 404),
        ("POST", PATH + "/", "application/json", 404),
        ("GET", PATH, "application/json", 405),
        ("POST", PATH, "text/json", 415),
        ("POST", PATH, "", 415),
    ],
)
def test_request_is_checked_before_its_body_is_read(
    method: str, path: str, content_type: str, status: int | None
) -> None:
    found = endpoints()[0].check(method, path, content_type)
    assert (None if found == PATH else found.status if isinstance(found, Answer) else found) == status
