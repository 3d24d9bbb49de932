"""All groups' numbers for all keys: which keys to settle again, and from what."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.groups.runtime import Column, Families, is_worth_keeping
from shared.quota.measure.inputs.workload_set import KeyUse
from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_totals import NO_TOTALS, LeafTotals
from shared.quota.measure.leaves.leaf_updates import LeafSnapshots
from shared.quota.measure.static.static_state import StaticState
from shared.quota.model.limits import NO_CAPS, UNCOVERED, limits_of
from shared.quota.model.tree import SYSTEM
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Every group's numbers, and what settling them again starts from."""

    work: LeafSnapshots
    numbers: Mapping[str, dict[FlavorResource, Numbers]]
    families: Mapping[FlavorResource, Families]
    others: tuple[str, ...]
    """Those of `numbers` that are not in the frame."""


def compute_measurement(work: LeafSnapshots, previous: Measurement | None) -> Measurement:
    """Settle every key that something happened to. `previous` counts only while the tree keeps its shape."""
    ground = work.ground
    if previous is not None and not _same_shape(ground, previous.work.ground):
        previous = None
    numbers = dict(previous.numbers) if previous is not None else {name: {} for name in ground.frame.order}
    families: dict[FlavorResource, Families] = dict(previous.families) if previous is not None else {}
    touched = _touched_groups(ground, previous)
    accounts = _changed_accounts(work, previous)
    system = _changed_system(ground, previous)
    written: set[str] = set()
    for key in touched.keys() | accounts.keys() | system.keys() | _changed_runtimes(ground, previous):
        column = Column(ground.frame, key, previous.numbers if previous else {}, families.get(key, {}))
        column.touch(touched.get(key, ()))
        for leaf, account in accounts.get(key, {}).items():
            column.put(leaf, account)
        column.put_system(*system.get(key, (NO_TOTALS, NO_TOTALS)))
        column.resolve(ground.runtimes.get(key, 0))
        families[key] = {**families.get(key, {}), **column.families()}
        _write(ground, key, column.results(ground.bounds.get(key, {})), numbers, written)
    others = _others(work)
    for name in previous.others if previous is not None else ():
        if name not in others:
            del numbers[name]
    numbers.update(others)
    return Measurement(work, numbers, families, tuple(others))


def _others(work: LeafSnapshots) -> dict[str, dict[FlavorResource, Numbers]]:
    """The numbers of `system` and of groups that do not reach root."""
    found = {name: _outside(work.world, name) for name in work.ground.frame.outside}
    if SYSTEM in work.world.tree or work.ground.system:
        found[SYSTEM] = {key: _unlimited(amount) for key, amount in work.ground.system.items()}
    return found


def _unlimited(used: Amount) -> Numbers:
    """What `system` uses is what it may use, and it gives nothing back."""
    return Numbers(request=used, used=used, non_preemptible=used, charge=used, demand=used, runtime=used)


def _outside(world: World, name: str) -> dict[FlavorResource, Numbers]:
    """The numbers of a group that does not reach root: what is written and what is used; nothing is due to it."""
    use = world.workloads_of(name).use
    limits = limits_of(world.tree[name], NO_CAPS, {})
    return {
        key: Numbers(
            min=limits.get(key, UNCOVERED).min, request=used, used=used, non_preemptible=kept, charge=used, demand=used
        )
        for key in limits.keys() | use.keys()
        for used, kept in (use.get(key, KeyUse()),)
    }


def _same_shape(ground: StaticState, previous: StaticState) -> bool:
    return ground.frame is previous.frame or ground.frame.has_same_shape(previous.frame)


def _write(
    ground: StaticState,
    key: FlavorResource,
    results: Mapping[str, Numbers],
    numbers: dict[str, dict[FlavorResource, Numbers]],
    written: set[str],
) -> None:
    """Put one column's results into `numbers`; a group's own mapping is copied before it is first written to."""
    for name, found in results.items():
        known = numbers[name]
        keeps = is_worth_keeping(ground.frame, name, key, found)
        if (known.get(key) == found) if keeps else (key not in known):
            continue
        if name not in written:
            known = numbers[name] = dict(known)
            written.add(name)
        if keeps:
            known[key] = found
        else:
            del known[key]


def _touched_groups(ground: StaticState, previous: Measurement | None) -> dict[FlavorResource, list[str]]:
    """key -> groups whose limits or bounds for it differ from the previous ones."""
    if previous is None:
        touched: dict[FlavorResource, list[str]] = {}
        for name, limits in ground.frame.limits.items():
            for key in limits:
                touched.setdefault(key, []).append(name)
        return touched
    touched = {}
    if ground.frame is not previous.work.ground.frame:
        touched = ground.frame.changed_limits(previous.work.ground.frame)
    for key, groups in ground.changed.items():
        touched.setdefault(key, []).extend(groups)
    return touched


def _changed_accounts(work: LeafSnapshots, previous: Measurement | None) -> dict[FlavorResource, dict[str, LeafTotals]]:
    """key -> leaf -> its account, where that differs from the previous one."""
    found: dict[FlavorResource, dict[str, LeafTotals]] = {}
    known = previous.work.leaves if previous is not None else {}
    for leaf in work.leaves if previous is None else work.changed & work.leaves.keys():
        now = work.leaves[leaf].accounts
        before = known[leaf].accounts if leaf in known else {}
        for key in now.keys() | before.keys():
            account = now.get(key, NO_TOTALS)
            if account != before.get(key, NO_TOTALS):
                found.setdefault(key, {})[leaf] = account
    return found


def _changed_system(
    ground: StaticState, previous: Measurement | None
) -> dict[FlavorResource, tuple[LeafTotals, LeafTotals]]:
    """key -> what `system` used and uses; all of it is non_preemptible, for it is never taken back."""
    known = previous.work.ground.system if previous is not None else {}
    found = {}
    for key in ground.system.keys() | known.keys():
        before, now = known.get(key, 0), ground.system.get(key, 0)
        if now != before:
            found[key] = LeafTotals(before, before, before), LeafTotals(now, now, now)
    return found


def _changed_runtimes(ground: StaticState, previous: Measurement | None) -> set[FlavorResource]:
    if previous is None:
        return set(ground.runtimes)
    known = previous.work.ground.runtimes
    keys = ground.runtimes.keys() | known.keys()
    return {key for key in keys if ground.runtimes.get(key, 0) != known.get(key, 0)}
