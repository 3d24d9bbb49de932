"""The dashboard starts from the past use that the leader knows, where it may ask."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec
import pytest

from dashboard.live.leader_past_use import GROUP_EXPLANATIONS, leader_past_use
from reconciler.visibility.objects.groups import group_object
from reconciler.visibility.objects.observed import ObservedPlan
from shared.kube.client import Client
from shared.kube.errors import ApiError, Forbidden, NotFound
from shared.kube.resources import Resource
from shared.quota.measure.inputs.world import PastUse
from shared.quota.outlook.outlook import Outlook
from shared.resources import FlavorResource
from tests.builders import NOW, world

PAST = {name: {FlavorResource("default", "cpu"): 3_600_000_000_000} for name in ("root", "vision")}


@dataclass(frozen=True, slots=True)
class Answering:
    """A client whose API server answers the list with this, or with an error."""

    answer: list[msgspec.Raw] | ApiError

    async def list_all(self, resource: Resource, *, into: type[Any]) -> list[msgspec.Raw]:
        assert (resource, into) == (GROUP_EXPLANATIONS, msgspec.Raw)
        if isinstance(self.answer, ApiError):
            raise self.answer
        return self.answer


def past_use(answer: list[msgspec.Raw] | ApiError) -> PastUse | None:
    return asyncio.run(leader_past_use(cast("Client", Answering(answer))))


def explained(*, leads: bool) -> list[msgspec.Raw]:
    observed = ObservedPlan(Outlook.of(replace(world("root 8\n  vision 4\n  nlp 4"), past_use=PAST), NOW), leads)
    return [msgspec.Raw(msgspec.json.encode(group_object(observed, name))) for name in ("root", "vision", "nlp")]


def test_past_use_is_what_the_leader_serves() -> None:
    assert past_use(explained(leads=True)) == {**PAST, "nlp": {}}


def test_a_follower_is_not_believed() -> None:
    assert past_use(explained(leads=False)) is None


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), NotFound(404, "NotFound", "no such API")])
def test_past_use_is_unknown_where_it_cannot_be_asked(error: ApiError) -> None:
    assert past_use(error) is None
