"""From the bytes of an AdmissionReview to those of its response: the same steps for every route.

This module knows HTTP codes, not sockets. An exception in a judge is a 500 with a logged traceback; the API server then
follows the failure policy, which is Fail.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.api.json.reading import Unreadable
from shared.api.review import BadReview, Review, read_review
from shared.kube.errors import ApiError
from shared.quota.model.rules import Violation
from shared.telemetry import get_logger
from webhook.metrics import WebhookMetrics
from webhook.verdicts import YES, Allow, Deny, Verdict, codes_of, write_verdict

Judge = Callable[[Review], Awaitable[Verdict]]

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Route:
    """A judge, and the kind of object it reviews."""

    group: str
    kind: str
    judge: Judge


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response: JSON with 200, else one line of text."""

    status: int
    body: bytes

    @property
    def content_type(self) -> str:
        """The content type of the body."""
        return "application/json" if self.status == 200 else "text/plain"


JUDGED: Final = ("", "resize", "scale")
"""The object itself, and the ways to enlarge it that show only a part of it."""
UNKNOWN: Final = "unknown"
"""The metric label for routes of kinds that this process does not govern."""
NOT_GOVERNED_YET: Final = "NotGovernedYet"
TOO_MANY_REVIEWS: Final = "TooManyReviews"
SOON: Final = 1
"""Seconds after which a refused review may come again; it waits in the client, not here."""
RETRY_AFTER: Final = 3
"""Seconds. Go's client library asks ten times: longer than a replica takes to start."""
_ONLY_REVIEWS: Final = "only POST of an AdmissionReview is answered here"


class Endpoints:
    """All routes. `unready` returns why no verdict can be given yet; `route_of` returns the route of a path."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        metrics: WebhookMetrics,
        unready: Callable[[], str | None],
        route_of: Callable[[str], str | None] = lambda path: path,
    ) -> None:
        self._routes = routes
        self._route_of = route_of
        self._metrics = metrics
        self._unready = unready
        self._children = {
            path: (metrics.seconds.labels(path), metrics.reviews.labels(path, "allowed")) for path in routes
        }

    def refuse(self, status: int, sentence: str) -> Answer:
        """Return the response to a request that is no review."""
        self._metrics.bad_requests.labels(str(status)).inc()
        return Answer(status, f"{sentence}\n".encode("utf-8", "replace"))

    def check(self, method: str, path: str, content_type: str) -> Answer | str:
        """Return the route of a request, checked before its body is read, or the error response.

        A caller that does not know the path learns nothing else.
        """
        route = self._route_of(path)
        if route is None or not (route in self._routes or is_of_a_kind(route)):
            return self.refuse(404, "there is nothing here")
        if method != "POST":
            return self.refuse(405, _ONLY_REVIEWS)
        if content_type.partition(";")[0].strip().lower() != "application/json":
            return self.refuse(415, "the body must be application/json")
        return route

    def refuse_waiting(self, path: str, body: bytes) -> Answer:
        """Return the response to a review for which too many others wait: the client retries."""
        try:
            review = read_review(body)
        except BadReview as error:
            return self.refuse(400, str(error))
        label = path if path in self._routes else UNKNOWN
        self._metrics.reviews.labels(label, "denied").inc()
        self._metrics.refusals.labels(label, TOO_MANY_REVIEWS).inc()
        return Answer(200, write_verdict(review.uid, _too_many_reviews(review)))

    async def answer(self, path: str, body: bytes) -> Answer:
        """Return the response to a body on a route that `check` returned."""
        began = time.perf_counter()
        try:
            review = read_review(body)
        except BadReview as error:
            return self.refuse(400, str(error))
        route = self._routes.get(path)
        if route is None:
            self._metrics.reviews.labels(UNKNOWN, "denied").inc()
            self._metrics.refusals.labels(UNKNOWN, NOT_GOVERNED_YET).inc()
            return Answer(200, write_verdict(review.uid, _not_governed_yet(review)))
        if (review.kind.group, review.kind.kind) != (route.group, route.kind):
            return self.refuse(400, f"{path} answers for {route.group} {route.kind}, not for {str(review.kind)[:200]}")
        try:
            verdict = await self._verdict(route, review)
        except Exception:
            self._metrics.reviews.labels(path, "error").inc()
            log.exception("Review failed: our own bug", route=path, review=review.uid, name=review.name)
            return Answer(500, b"the webhook failed on this review; its log says why\n")
        self._count(path, verdict)
        reply = Answer(200, write_verdict(review.uid, verdict))
        self._children[path][0].observe(time.perf_counter() - began)
        return reply

    async def _verdict(self, route: Route, review: Review) -> Verdict:
        if review.sub_resource not in JUDGED:
            return YES
        reason = self._unready()
        if reason is not None:
            return _try_again(route, review, reason)
        try:
            return await route.judge(review)
        except Unreadable as error:
            return Deny((Violation("Unreadable", f"{route.kind}/{review.name}", "", str(error)),))
        except ApiError as error:
            log.warning("Review not answered: the API server cannot be read", review=review.uid, error=str(error))
            return _try_again(route, review, str(error))

    def _count(self, path: str, verdict: Verdict) -> None:
        if isinstance(verdict, Allow):
            self._children[path][1].inc()
            return
        self._metrics.reviews.labels(path, "denied").inc()
        for code in codes_of(verdict):
            self._metrics.refusals.labels(path, code).inc()


def is_of_a_kind(route: str) -> bool:
    """Return whether the route is of a governed kind, in this process or in one with other settings."""
    _, phase, resource = route.split("/") if route.count("/") == 2 else ("", "", "")
    return phase in ("mutate", "validate") and "." in resource


def _not_governed_yet(review: Review) -> Deny:
    """Ask the client to retry while helm enables a kind and some replicas have the previous settings.

    No such replica would hold the kind's objects, so they would start outside their quota. Kubernetes clients wait and
    retry.
    """
    message = "cannot be held yet: this replica of the webhook does not govern the kind; try again in a few seconds"
    violation = Violation(NOT_GOVERNED_YET, f"{review.kind.kind}/{review.name}", "", message)
    return Deny((violation,), 429, "TooManyRequests", retry_after=RETRY_AFTER)


def _too_many_reviews(review: Review) -> Deny:
    message = "cannot be judged now: too many reviews wait in this replica of the webhook; try again in a second"
    violation = Violation(TOO_MANY_REVIEWS, f"{review.kind.kind}/{review.name}", "", message)
    return Deny((violation,), 429, "TooManyRequests", retry_after=SOON)


def _try_again(route: Route, review: Review, reason: str) -> Deny:
    message = f"cannot be judged now: {reason}; try again in a few seconds"
    violation = Violation("NotReady", f"{route.kind}/{review.name}", "", message)
    return Deny((violation,), 503, "ServiceUnavailable")
