"""All groups' numbers for all keys: which keys to compute again, and from what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.groups.runtime import Column, is_worth_keeping
from shared.quota.measure.identity import changed_names
from shared.quota.measure.inputs.workload_set import NO_USE
from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_totals import NO_TOTALS, LeafTotals
from shared.quota.measure.leaves.leaf_updates import LeafSnapshots
from shared.quota.measure.static.static_state import StaticState
from shared.quota.model.limits import NO_CAPS, UNCOVERED, limits_of
from shared.quota.model.tree import SYSTEM
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Every group's numbers, and what the next measurement starts from."""

    leaf_snapshots: LeafSnapshots
    numbers: Mapping[str, dict[FlavorResource, Numbers]]
    others: tuple[str, ...]
    """Names in `numbers` that are not in the tree index."""


def compute_measurement(leaf_snapshots: LeafSnapshots, previous: Measurement | None) -> Measurement:
    """Compute every key that changed. `previous` is used only while the tree keeps its shape.

    One job of leaf nlp, using cpu and gpu of a100, has ended: nlp's totals of these two keys changed. Two columns
    are computed, each for nlp and its ancestors, and for siblings whose runtime follows; the numbers of all
    other keys and groups are the previous objects.
    """
    static = leaf_snapshots.static
    if previous is not None and not _same_shape(static, previous.leaf_snapshots.static):
        previous = None
    numbers = dict(previous.numbers) if previous is not None else {name: {} for name in static.tree_index.order}
    world = leaf_snapshots.world
    touched = _touched_groups(static, previous)
    totals = _changed_totals(leaf_snapshots, previous)
    system = _changed_system(static, previous)
    past_use = _changed_past_use(leaf_snapshots, previous)
    written: set[str] = set()
    known = previous.numbers if previous is not None else {}
    keys = touched.keys() | totals.keys() | system.keys() | past_use.keys() | _changed_runtimes(static, previous)
    for key in sorted(keys):  # what walks over a group's keys does so in the same order in every process
        column = Column(static.tree_index, key, world.past_use, known)
        column.mark(touched.get(key, ()))
        column.mark_past_use(past_use.get(key, ()))
        for leaf, total in totals.get(key, {}).items():
            column.set_totals(leaf, total)
        column.change_system(*system.get(key, (NO_TOTALS, NO_TOTALS)))
        column.resolve(static.runtimes.get(key, 0))
        _write(static, key, column.results(static.bounds.get(key, {})), numbers, written)
    others = _others(leaf_snapshots)
    for name in previous.others if previous is not None else ():
        if name not in others:
            del numbers[name]
    numbers.update(others)
    return Measurement(leaf_snapshots, numbers, tuple(others))


def _others(leaf_snapshots: LeafSnapshots) -> dict[str, dict[FlavorResource, Numbers]]:
    """Return the numbers of `system` and of groups that do not reach root."""
    found = {name: _outside(leaf_snapshots.world, name) for name in leaf_snapshots.static.tree_index.outside}
    if SYSTEM in leaf_snapshots.world.tree or leaf_snapshots.static.system:
        found[SYSTEM] = {key: _unlimited(amount) for key, amount in leaf_snapshots.static.system.items()}
    return found


def _unlimited(used: Amount) -> Numbers:
    """`system` may use what it uses, and nothing of it is ever reclaimed."""
    return Numbers(request=used, used=used, non_preemptible=used, charge=used, demand=used, runtime=used)


def _outside(world: World, name: str) -> dict[FlavorResource, Numbers]:
    """Return the numbers of a group that does not reach root: what is written and what is used; its runtime is 0."""
    use = world.workloads_of(name).use
    limits = limits_of(world.tree[name], NO_CAPS, {})
    return {
        key: Numbers(
            min=limits.get(key, UNCOVERED).min, request=used, used=used, non_preemptible=kept, charge=used, demand=used
        )
        for key in limits.keys() | use.keys()
        for used, kept in (use.get(key, NO_USE),)
    }


def _same_shape(static: StaticState, previous: StaticState) -> bool:
    return static.tree_index is previous.tree_index or static.tree_index.has_same_shape(previous.tree_index)


def _write(
    static: StaticState,
    key: FlavorResource,
    results: Mapping[str, Numbers],
    numbers: dict[str, dict[FlavorResource, Numbers]],
    written: set[str],
) -> None:
    """Put one column's results into `numbers`; a group's own mapping is copied before it is first written to."""
    for name, found in results.items():
        known = numbers[name]
        keeps = is_worth_keeping(static.tree_index, name, key, found)
        if (known.get(key) == found) if keeps else (key not in known):
            continue
        if name not in written:
            known = numbers[name] = dict(known)
            written.add(name)
        if keeps:
            known[key] = found
        else:
            del known[key]


def _touched_groups(static: StaticState, previous: Measurement | None) -> Mapping[FlavorResource, Sequence[str]]:
    """key -> groups whose limits or bounds for it differ from the previous ones."""
    if previous is None:
        return static.tree_index.having
    touched: dict[FlavorResource, list[str]] = {}
    if static.tree_index is not previous.leaf_snapshots.static.tree_index:
        touched = static.tree_index.changed_limits(previous.leaf_snapshots.static.tree_index)
    for key, groups in static.changed.items():
        touched.setdefault(key, []).extend(groups)
    return touched


def _changed_totals(
    leaf_snapshots: LeafSnapshots, previous: Measurement | None
) -> dict[FlavorResource, dict[str, LeafTotals]]:
    """key -> leaf -> its totals, where they differ from the previous ones."""
    found: dict[FlavorResource, dict[str, LeafTotals]] = {}
    known = previous.leaf_snapshots.leaves if previous is not None else {}
    for leaf in leaf_snapshots.leaves if previous is None else leaf_snapshots.changed & leaf_snapshots.leaves.keys():
        now = leaf_snapshots.leaves[leaf].totals
        before = known[leaf].totals if leaf in known else {}
        for key in now.keys() | before.keys():
            total = now.get(key, NO_TOTALS)
            if total != before.get(key, NO_TOTALS):
                found.setdefault(key, {})[leaf] = total
    return found


def _changed_system(
    static: StaticState, previous: Measurement | None
) -> dict[FlavorResource, tuple[LeafTotals, LeafTotals]]:
    """key -> what `system` used and uses; all of it counts as non-preemptible, because it is never reclaimed."""
    known = previous.leaf_snapshots.static.system if previous is not None else {}
    found = {}
    for key in static.system.keys() | known.keys():
        before, now = known.get(key, 0), static.system.get(key, 0)
        if now != before:
            found[key] = LeafTotals(before, before, before), LeafTotals(now, now, now)
    return found


def _changed_past_use(leaf_snapshots: LeafSnapshots, previous: Measurement | None) -> dict[FlavorResource, list[str]]:
    """key -> groups whose past use differs from the previous one."""
    if previous is None:
        return {}  # every group is computed anyway
    now, before = leaf_snapshots.world.past_use, previous.leaf_snapshots.world.past_use
    found: dict[FlavorResource, list[str]] = {}
    for name in changed_names(now, before):
        if name in previous.numbers:
            own, known = now.get(name, {}), before.get(name, {})
            for key in own.keys() | known.keys():
                if own.get(key, 0) != known.get(key, 0):
                    found.setdefault(key, []).append(name)
    return found


def _changed_runtimes(static: StaticState, previous: Measurement | None) -> set[FlavorResource]:
    if previous is None:
        return set(static.runtimes)
    known = previous.leaf_snapshots.static.runtimes
    keys = static.runtimes.keys() | known.keys()
    return {key for key in keys if static.runtimes.get(key, 0) != known.get(key, 0)}
