"""One start as stages without a gap: each ends where the next one begins, so that they sum to the whole."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from benchmarks.profile.moments import (
    CYCLE_BEGINS,
    CYCLE_DECIDED,
    EVENT_COMES,
    EVENT_TAKEN,
    PATCH_SENT,
    REVIEW_ANSWERED,
    REVIEW_COMES,
    STARTS_BEGUN,
    Moment,
)
from benchmarks.profile.spans import Span

POST: Final = "POST /apis/batch/v1/namespaces/{:namespace}/jobs"
PATCH: Final = "PATCH /apis/batch/v1/namespaces/{:namespace}/jobs/{:name}"
CREATE_IN_ETCD, UPDATE_IN_ETCD = "Create etcd3", "GuaranteedUpdate etcd3"
REVIEWS: Final = {"mutating": "Call mutating webhook", "validating": "Call validating webhook"}

REQUESTS, API_SERVER, ON_THE_WAY, WEBHOOK = "requests", "api-server", "on-the-way", "webhook"
ETCD, AGAIN, WATCHES, RECONCILER = "etcd", "again", "watches", "reconciler"
PARTS: Final = (REQUESTS, API_SERVER, ON_THE_WAY, WEBHOOK, ETCD, AGAIN, WATCHES, RECONCILER)


class Stage(NamedTuple):
    """`part`: who works, or what is passed on between two."""

    name: str
    part: str
    what: str


STAGES: Final = (
    Stage("sent", REQUESTS, "the POST: encode, HTTP, TLS, until its head is read"),
    Stage("begun", API_SERVER, "authentication, authorization, decode, admission until the first webhook is called"),
    Stage("mutating.there", ON_THE_WAY, "the first review: encode, HTTP, TLS"),
    Stage("mutating", WEBHOOK, "HTTP, decode, judge and shape, answer"),
    Stage("mutating.back", ON_THE_WAY, "the answer: TLS, HTTP, decode, apply its patch"),
    Stage("between", API_SERVER, "between the two webhooks: admission, defaults, validation"),
    Stage("validating.there", ON_THE_WAY, "the second review: encode, HTTP, TLS"),
    Stage("validating", WEBHOOK, "HTTP, decode, judge, answer"),
    Stage("validating.back", ON_THE_WAY, "the answer: TLS, HTTP, decode"),
    Stage("stored", API_SERVER, "until it is stored: encode for etcd; without webhooks all since the request was read"),
    Stage("create", ETCD, "the transaction, with gRPC"),
    Stage("watched", WATCHES, "the watch event: etcd's watch, watch cache, encode, TLS, until its bytes are read"),
    Stage("taken", RECONCILER, "decode the event, read it as a workload"),
    Stage("turn", RECONCILER, "until the cycle begins"),
    Stage("decided", RECONCILER, "measure and plan"),
    Stage("assumed", RECONCILER, "assume the start, begin its write"),
    Stage("written", RECONCILER, "build the patch, and what else the loop does until it is sent"),
    Stage("patch.sent", REQUESTS, "the PATCH: HTTP, TLS, until its head is read"),
    Stage("patched", API_SERVER, "authentication, authorization, apply, admission policies, encode"),
    Stage("again", AGAIN, "once more, if the transaction failed: the Job controller had just written the status"),
    Stage("update", ETCD, "the transaction, with gRPC"),
    Stage("seen", WATCHES, "the watch event, until the client has decoded it"),
)
"""In their order. A start without webhooks has no stages between `begun` and `stored`, one without cycles none
between `taken` and `written`; the next one takes their time."""


class Incomplete(Exception):
    """A moment of the start was not found."""


def stages(began: int, ended: int, job: str, spans: Sequence[Span], moments: Sequence[Moment]) -> dict[str, float]:
    """Return stage → milliseconds of one start, from the client's request to the moment its watch shows it resumed.

    `spans`, `moments`: all that began meanwhile. Raises Incomplete if one is not there.
    """
    ends = dict(_ends(job, spans, moments)) | {"seen": ended}
    found, last = {}, began
    for stage in STAGES:
        if stage.name in ends:
            found[stage.name] = (ends[stage.name] - last) / 1e6
            last = ends[stage.name]
    return found


def _ends(job: str, spans: Sequence[Span], moments: Sequence[Moment]) -> Iterator[tuple[str, int]]:
    post = _first([each for each in spans if each.name == POST])
    patch = _first([each for each in spans if each.name == PATCH and f"/{job}?" in each.attributes["http.target"]])
    yield "sent", post.began
    yield from _review_ends([each for each in spans if each.trace == post.trace], moments)
    created = _first([each for each in spans if each.trace == post.trace and each.name == CREATE_IN_ETCD])
    yield "stored", created.events["TransformToStorage succeeded"][-1]
    yield "create", created.events["Txn call succeeded"][-1]
    patched = _moment([each for each in moments if each.job == job], PATCH_SENT)
    before = [each for each in moments if each.who == patched.who and each.at < patched.at]
    yield "watched", _moment([each for each in before if each.job == job], EVENT_COMES).at
    yield "taken", _moment([each for each in before if each.job == job], EVENT_TAKEN).at
    if any(each.what == CYCLE_DECIDED for each in before):
        yield "turn", _moment(before[::-1], CYCLE_BEGINS).at
        yield "decided", _moment(before[::-1], CYCLE_DECIDED).at
        yield "assumed", _moment(before[::-1], STARTS_BEGUN).at
    yield "written", patched.at
    yield "patch.sent", patch.began
    updated = _first([each for each in spans if each.trace == patch.trace and each.name == UPDATE_IN_ETCD])
    yield "patched", updated.events["Transaction prepared"][0]
    yield "again", updated.events["Transaction prepared"][-1]
    yield "update", updated.events["Txn call completed"][-1]


def _review_ends(post: Sequence[Span], moments: Sequence[Moment]) -> Iterator[tuple[str, int]]:
    before = {"mutating": "begun", "validating": "between"}
    for sort, name in REVIEWS.items():
        calls = [each for each in post if each.name == name]
        if calls:
            began, ended = min(each.began for each in calls), max(each.ended for each in calls)
            within = [each for each in moments if began <= each.at <= ended]
            yield before[sort], began
            yield f"{sort}.there", _moment(within, REVIEW_COMES).at
            yield sort, _moment(within[::-1], REVIEW_ANSWERED).at
            yield f"{sort}.back", ended


def _first(spans: Sequence[Span]) -> Span:
    if not spans:
        raise Incomplete("no span of its creation or its start")
    return min(spans, key=lambda each: each.began)


def _moment(moments: Sequence[Moment], what: str) -> Moment:
    """Return the first one. Raises Incomplete."""
    for each in moments:
        if each.what == what:
            return each
    raise Incomplete(f"no moment: {what}")
