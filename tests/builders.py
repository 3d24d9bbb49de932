"""Workloads and worlds in a few words, for tests."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.api.names import MAIN_POD_SET
from shared.quota.measure.inputs.world import World
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Admission, Claim, Eviction, EvictionReason, Workload
from shared.resources import Amount
from tests.trees import GPU, capacity_in, tree

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def after(seconds: float) -> datetime:
    """So many seconds after NOW; negative: before."""
    return NOW + timedelta(seconds=seconds)


def pending(group: str, request: Amount | Mapping[str, Amount], name: str = "job", **fields: Any) -> Workload:
    """A waiting Job `ns/name`, or of another `namespace`; a plain number asks for that many GPUs.

    Its uid is its name, its age that of NOW.
    """
    amounts = {GPU: request} if isinstance(request, int) else dict(request)
    created = fields.pop("created", NOW)
    return Workload(
        key=f"{fields.pop('namespace', 'ns')}/{name}",
        group=group,
        request=amounts,
        created=created,
        queued=fields.pop("queued", created),
        uid=fields.pop("uid", name),
        **fields,
    )


def in_main(flavors: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """resource -> flavor, as the flavors of a workload with one pod set."""
    return {MAIN_POD_SET: flavors}


def running(
    group: str,
    request: Amount | Mapping[str, Amount],
    name: str = "job",
    flavors: str | Mapping[str, str] = "default",
    **fields: Any,
) -> Workload:
    """A started Job, all of it in one flavor unless `flavors` says which resource is in which; ready unless said."""
    since, ready = fields.pop("since", NOW), fields.pop("ready", True)
    waiting = pending(group, request, name, **fields)
    chosen = dict.fromkeys(waiting.request, flavors) if isinstance(flavors, str) else dict(flavors)
    return replace(waiting, admission=Admission(in_main(chosen), since, ready=ready, was_ready=ready))


def unanswered(workload: Workload) -> Workload:
    """`workload`, running, whose start the Job controller has not noted yet."""
    assert workload.admission is not None
    return replace(workload, admission=replace(workload.admission, answered=False))


def evicting(
    workload: Workload, preemptor: Workload | None = None, at: datetime = NOW, flavor: str = "default"
) -> Workload:
    """`workload`, running, on its way out; for `preemptor`, which claims its room in one flavor, if one is given."""
    return claimed(replace(workload, eviction=Eviction(EvictionReason.RECLAIMED, at)), preemptor, at, flavor)


def claimed(victim: Workload, preemptor: Workload | None, at: datetime = NOW, flavor: str = "default") -> Workload:
    """`victim` with a claim of `preemptor` written on it."""
    if preemptor is None:
        return victim
    flavors = in_main(dict.fromkeys(preemptor.request, flavor))
    return replace(victim, claim=Claim(preemptor.key, preemptor.uid, flavors, at))


def world(
    groups: str | Tree,
    workloads: Iterable[Workload] = (),
    flavors: Iterable[Flavor] = (Flavor("default"),),
    settings: QuotaSettings | None = None,
) -> World:
    """A world of that tree, root's max being its capacity unless the settings say how to get it."""
    found = tree(groups) if isinstance(groups, str) else groups
    return World.of(found, flavors, workloads, settings=settings or QuotaSettings(capacity=capacity_in(found)))
