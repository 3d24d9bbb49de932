"""A plan in a few words, so that tests compare whole plans; and worlds with settings in a few words."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings, ReclaimSettings, StartupSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload, flavor_names
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from tests.builders import NOW, world
from tests.trees import capacity_in, tree

PLAIN = (Flavor("default"),)


def settings_for(groups: Tree, **fields: Any) -> QuotaSettings:
    """Settings whose capacity is root's max; `fields` of reclaim, startup and the whole in one breath."""
    names = {
        kind: {name: fields.pop(name) for name in list(fields) if name in kind.__dataclass_fields__}
        for kind in (ReclaimSettings, StartupSettings)
    }
    return QuotaSettings(
        capacity=fields.pop("capacity", capacity_in(groups)),
        reclaim=ReclaimSettings(**names[ReclaimSettings]),
        startup=StartupSettings(**names[StartupSettings]),
        **fields,
    )


def given(
    groups: str | Tree, workloads: Iterable[Workload] = (), flavors: Iterable[Flavor] = PLAIN, **fields: Any
) -> World:
    """A world of that tree and work."""
    found = tree(groups) if isinstance(groups, str) else groups
    return world(found, workloads, flavors, settings_for(found, **fields))


def decide(
    groups: str | Tree,
    workloads: Iterable[Workload] = (),
    flavors: Iterable[Flavor] = PLAIN,
    now: datetime = NOW,
    **fields: Any,
) -> Plan:
    """One cycle of that world."""
    over_since = fields.pop("over_since", {})
    return plan(measure(replace(given(groups, workloads, flavors, **fields), over_since=over_since), now))


def name(workload: Workload) -> str:
    return workload.key.removeprefix("ns/")


def starts(decided: Plan) -> list[str]:
    """`a entitled`, with the flavors where they are not all the default one, in order."""
    started_and_evicted = []
    for start in decided.starts:
        flavors = sorted(flavor_names(start.flavors) - {"default"})
        started_and_evicted.append(
            " ".join([name(start.workload), start.tier.value, *flavors, *(["claim"] if start.on_claim else [])])
        )
    return started_and_evicted


def evictions(decided: Plan) -> list[str]:
    """`a Reclaim for b`, in order."""
    return [
        " ".join(
            [name(each.workload), each.rule.value]
            + ([f"for {each.claim.preemptor.removeprefix('ns/')}"] if each.claim is not None else [])
        )
        for each in decided.evictions
    ]


def waits(decided: Plan) -> dict[str, str]:
    """name -> reason of all that waits."""
    return {name(each.workload): each.reason.value for each in PendingReasons(decided)}


def started_and_evicted(decided: Plan) -> tuple[list[str], list[str]]:
    """Starts and evictions."""
    return starts(decided), evictions(decided)
