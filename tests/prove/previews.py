"""`python -m tests.prove.previews`: does what `quotree try` says of random workloads happen when they are submitted?

A workload of a random world is taken out of it, previewed as if it came now, and then submitted: the cycles that follow
are decided from the objects alone, without what the preview knew. Whether, when and for whose eviction it starts must
be what was said, each change of its owner that is named must let it start, and no smaller one. Exit code 1 when one
does not. The same is tested for a few worlds in `tests/shared/quota/outlook/test_preview.py`.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from shared.json_data import Json
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.preview import previews, submitted
from shared.quota.outlook.simulate import run as simulate
from shared.quota.outlook.simulate.run import SimulationRun
from tests.prove.remedies import drawn, shrunk, starts
from tests.prove.seeded import checked
from tests.shared.quota.reference.inputs import EPOCH


def everyone(world: World) -> list[Workload]:
    return [each for found in world.workload_sets.values() for each in found.by_id.values()]


def with_pods(workload: Workload, pods: int) -> Workload:
    """The workload with so many pods of its size."""
    amounts = {name: amount // workload.pods * pods for name, amount in workload.request.items()}
    return replace(workload, request=amounts, pods=pods)


def cases(seed: int) -> Iterator[tuple[World, Workload]]:
    """Worlds, and workloads that come to them: as they are, with several pods, or bound to a flavor."""
    world, dice = drawn(seed), Random(seed)
    for each in everyone(world):
        if each.pod_sets or not each.is_pending or each.hold or each.deactivated:
            continue
        left = World.of(
            world.tree, world.flavors.values(), [other for other in everyone(world) if other is not each],
            world.nodes, world.settings,
        )  # fmt: skip
        new = replace(each, created=EPOCH, queued=EPOCH, uid="new")
        pods = dice.choice((1, 2, 3))
        amounts = {name: amount * pods for name, amount in new.request.items()}
        yield left, replace(new, request=amounts, pods=pods)


def check(seed: int) -> tuple[int, list[str]]:
    """Return how many workloads were previewed, and what was wrong."""
    found = [(case, [*_wrong(*case)]) for case in cases(seed)]
    return len(found), [f"world {seed}: {each.key}: {wrong}" for (_, each), all_wrong in found for wrong in all_wrong]


def previewed(world: World, workload: Workload) -> Json:
    """What is said before: on top of what the last plan has remembered, as in a copy of the reconciler."""
    after = world.with_changes([(None, workload)])
    (found,) = previews(Outlook.of(world, EPOCH).in_world(after, EPOCH), submitted(world, after))
    return found


def _happens(world: World, workload: Workload) -> SimulationRun:
    """What follows when it is there."""
    return simulate.run(_with(world, workload), EPOCH, limit=100)


def _with(world: World, workload: Workload) -> World:
    every = [*everyone(world), workload]
    return World.of(world.tree, world.flavors.values(), every, world.nodes, world.settings)


def _wrong(world: World, workload: Workload) -> Iterator[str]:
    found, done = previewed(world, workload), _happens(world, workload)
    cycles = [
        number for number, each in enumerate(done.plans) if any(s.workload.key == workload.key for s in each.starts)
    ]
    expected = "Never" if not cycles else "Soon" if cycles[0] else "Now"
    if found["starts"] != expected:
        yield f"said {found['starts']}, and it starts {expected}"
    first = done.plans[0].evictions if done.plans else ()
    evicted = sum(each.claim is not None and each.claim.preemptor == workload.key for each in first)
    if sum(each["workloads"] for each in found["evicts"]) != evicted:
        yield f"said that it stops {found['evicts']}, and it stops {evicted}"
    for remedy in found["remedies"]:
        yield from _wrong_remedy(world, workload, remedy)


def _wrong_remedy(world: World, workload: Workload, remedy: Json) -> Iterator[str]:
    """Whether the owner's change lets it start, and no smaller one does."""

    def does(changed: Workload) -> bool:
        return starts(_with(world, changed), changed, EPOCH)

    do, by = remedy["do"], remedy.get("by", 0)
    changed = {
        "FewerPods": with_pods(workload, workload.pods - by),
        "ShrinkRequest": shrunk(workload, remedy.get("resource", ""), by),
        "OtherFlavor": replace(workload, only_flavor=remedy.get("flavor")),
        "RaisePriority": replace(workload, priority=remedy.get("priority", 0)),
        "AllowPreemption": replace(workload, preemptible=True),
    }
    if not does(changed[do]):
        yield f"not true: {remedy}"
    if do == "FewerPods" and by > 1 and does(with_pods(workload, workload.pods - by + 1)):
        yield f"not minimal: {remedy}"


if __name__ == "__main__":
    sys.exit(checked("tests.prove.previews", __doc__, check, "previews"))
