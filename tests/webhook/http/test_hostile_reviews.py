"""Hostile reviews over TLS, judged as in a pod: each is answered or closed, and the next one is served."""

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from shared.api.review import Review
from tests.webhook.http.test_handler import body
from tests.webhook.http.test_server import JSON, Running, running
from tests.webhook.workloads.review_builders import context, job, judge_job
from webhook.http.server import MAX_BODY
from webhook.verdicts import Verdict

HELD: Any = {"suspend": True}


async def judged(review: Review) -> Verdict:
    """As the endpoint for Jobs does."""
    return judge_job(review, context())


@pytest.fixture
async def it() -> AsyncIterator[Running]:
    async with running(judged) as server:
        yield server


def with_requests(requests: dict[str, Any]) -> bytes:
    """A held Job that asks for these."""
    asking = job("nlp", **HELD)
    asking["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = requests
    return body(object=asking)


async def serves(it: Running) -> None:
    """Whether a good review gets its verdict."""
    good = with_requests({"cpu": 1})
    async with it.client() as client, client.post(it.url, data=good, headers=JSON) as answer:
        assert (answer.status, (await answer.json())["response"]) == (200, {"uid": "u-1", "allowed": True})


def filled(start: bytes, each: bytes, end: bytes) -> bytes:
    """As many of `each` as go into 8 MiB."""
    return start + each * ((MAX_BODY - len(start) - len(end)) // len(each)) + end


LONG = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}})[
    :-2
].encode()
REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the body is no AdmissionReview: Input data was truncated"),
    "no JSON": (b"\x00\x01\x02", "the body is no AdmissionReview: JSON is malformed"),
    "invalid UTF-8": (
        body().replace(b"train", b"\xff\xfe"),
        "the body is no AdmissionReview: 'utf-8' codec can't decode",
    ),
    "half a surrogate": (body().replace(b"train", b"\\ud800"), "the body is no AdmissionReview: "),
    "10,000 deep": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "the body is no AdmissionReview: nested too deeply"),
    "10,000 deep in the object": (
        LONG + b', "object": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
        "the body is no AdmissionReview: nested too deeply",
    ),
    "8 MiB of lists": (filled(b"[", b"[],", b"[]]"), "the body has 55924"),
    "8 MiB of depth": (b"[" * MAX_BODY, "the body has 8388608 objects, lists and commas; at most 500000 are read"),
    "8 MiB of digits": (filled(b"[", b"9", b"]"), "the body is no AdmissionReview: "),
    "key twice": (
        body().replace(b'"suspend": false', b'"suspend": true, "suspend": false'),
        "the body writes request.object.spec.suspend twice; leave one of the two out",
    ),
    "another version": (
        body().replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
        "the body is 'admission.k8s.io/v1beta1 AdmissionReview'; only admission.k8s.io/v1 AdmissionReview is answered",
    ),
    "another group": (
        body(kind={"group": "apps", "version": "v1", "kind": "Job"}),
        "/validate/jobs answers for batch Job, not for apps/v1 Job",
    ),
    "another kind": (
        body(kind={"group": "batch", "version": "v1", "kind": "\x1b[31m" * 100}),
        "/validate/jobs answers for batch Job, not for batch/v1 ",
    ),
    "no uid": (
        body().replace(b'"uid"', b'"uix"'),
        "the body is no AdmissionReview: Object missing required field `uid`",
    ),
    "no request": (LONG.split(b', "request"')[0] + b"}", "the AdmissionReview holds no request"),
}


@pytest.mark.parametrize(("hostile", "message"), REFUSED.values(), ids=REFUSED)
async def test_invalid_body_is_a_400_with_a_message(it: Running, hostile: bytes, message: str) -> None:
    async with it.client() as client, client.post(it.url, data=io.BytesIO(hostile), headers=JSON) as answer:
        text = await answer.text()
    assert (answer.status, text.startswith(message), len(text) < 700) == (400, True, True), text[:700]
    await serves(it)


DENIED: dict[str, tuple[bytes, int, str]] = {
    "500 resources in one list": (
        with_requests({f"example.com/device-{number:03}": 1 for number in range(500)}),
        422,
        "Job 'train' spec.containers: has 500 different resources, a managed workload has at most 64; request fewer",
    ),
    "quantity out of range": (
        with_requests({"cpu": "1e999"}),
        422,
        (
            "Job 'train' spec: containers[0].resources.requests[cpu]: 1e999 is out of range; a quantity is at least 0 "
            "and below 2^63 base units (BadQuantity)"
        ),
    ),
    "an exponent of nine digits": (
        with_requests({"memory": "1e999999999"}),
        422,
        (
            "Job 'train' spec: containers[0].resources.requests[memory]: 1e999999999 is out of range; a quantity is at "
            "least 0 and below 2^63 base units (BadQuantity)"
        ),
    ),
    "quantity of 8 MiB": (with_requests({"cpu": "9" * (MAX_BODY - 2000)}), 422, "Job 'train' spec: containers[0]."),
    "negative quantity": (with_requests({"cpu": "-1"}), 422, "Job 'train' spec: containers[0].resources.requests[cpu]"),
    "number instead of an object": (body(object=7), 422, "Job 'train': Expected `object`, got `int` (Unreadable)"),
    "no object": (body(object=None), 422, "Job 'train': "),
    "labels of 8 MiB": (
        body(object=job("x" * (MAX_BODY - 2000), **HELD)),
        422,
        "Job 'train' metadata.labels[quotree.dev/group]: there is no group ",
    ),
}


@pytest.mark.parametrize(("hostile", "code", "message"), DENIED.values(), ids=DENIED)
async def test_hostile_object_gets_a_verdict_with_a_message(
    it: Running, hostile: bytes, code: int, message: str
) -> None:
    async with it.client() as client, client.post(it.url, data=io.BytesIO(hostile), headers=JSON) as answer:
        response = (await answer.json())["response"]
    status = response.get("status", {"code": 200, "message": ""})
    assert (status["code"], status["message"].startswith(message)) == (code, True), status["message"][:700]
    assert len(status["message"]) <= 4096
    assert sum(len(each) for each in response.get("warnings", ())) <= 4096
    await serves(it)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/json-patch+json"]
)
async def test_wrong_content_type_is_a_415(it: Running, content_type: str) -> None:
    headers = {"Content-Type": content_type}
    async with it.client() as client, client.post(it.url, data=body(), headers=headers) as answer:
        assert (answer.status, await answer.text()) == (415, "the body must be application/json\n")
    await serves(it)
