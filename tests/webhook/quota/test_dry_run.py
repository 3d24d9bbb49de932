"""A dry run is answered even if the effects of the edit cannot be predicted."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from shared.api.review import Review, ReviewedKind, ReviewOperation
from shared.kube.client import Client
from shared.kube.errors import Forbidden, NotFound, TooManyRequests, Unavailable
from webhook.quota.dry_run import UNKNOWN, DryRunEffects, question

GROUP = ReviewedKind("quotree.dev", "v1alpha1", "QuotaGroup")
REVIEW = Review("u", GROUP, ReviewOperation.UPDATE, name="vision", dry_run=True)


class FailingClient:
    """A client whose every request ends so."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def within(self, _: object) -> "FailingClient":
        return self

    def reserved(self, _: int) -> "FailingClient":
        return self

    async def create(self, *_: object, **__: object) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotFound(404, "NotFound", "not installed"), ()),
        (Forbidden(403, "Forbidden", "not allowed"), ()),
        (Unavailable(503, "ServiceUnavailable", "no replica"), ()),
        (TooManyRequests(429, "TooManyRequests", "busy"), (UNKNOWN,)),
        (TimeoutError(), (UNKNOWN,)),
    ],
    ids=["not found", "forbidden", "unavailable", "busy", "slow"],
)
def test_dry_run_is_answered_without_effects(error: Exception, expected: tuple[str, ...]) -> None:
    effects = DryRunEffects(cast("Client", FailingClient(error)))
    assert asyncio.run(effects.of(REVIEW)) == expected


def test_deletion_is_reviewed_by_name() -> None:
    deletion = msgspec.structs.replace(REVIEW, operation=ReviewOperation.DELETE)
    assert question(deletion)["spec"] == {"delete": [{"kind": "QuotaGroup", "name": "vision"}]}
