"""All groups' numbers for all keys: which keys to settle again, and from what."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.quota.measure.accounts import NO_ACCOUNT, Account
from shared.quota.measure.buckets import Use
from shared.quota.measure.ground import Ground
from shared.quota.measure.numbers import Numbers
from shared.quota.measure.runtime import Column, Families, is_worth_keeping
from shared.quota.measure.work import Work
from shared.quota.measure.world import World
from shared.quota.model.limits import NO_CAPS, UNCOVERED, limits_of
from shared.quota.model.tree import SYSTEM
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """Every group's numbers, and what settling them again starts from."""

    work: Work
    numbers: Mapping[str, dict[FlavorResource, Numbers]]
    families: Mapping[FlavorResource, Families]
    others: tuple[str, ...]
    """Those of `numbers` that are not in the frame."""


def settle(work: Work, former: Ledger | None) -> Ledger:
    """Settle every key that something happened to. `former` counts only while the tree keeps its shape."""
    ground = work.ground
    if former is not None and not _same_shape(ground, former.work.ground):
        former = None
    numbers = dict(former.numbers) if former is not None else {name: {} for name in ground.frame.order}
    families: dict[FlavorResource, Families] = dict(former.families) if former is not None else {}
    touched = _touched_groups(ground, former)
    accounts = _changed_accounts(work, former)
    system = _changed_system(ground, former)
    written: set[str] = set()
    for key in touched.keys() | accounts.keys() | system.keys() | _changed_runtimes(ground, former):
        column = Column(ground.frame, key, former.numbers if former else {}, families.get(key, {}))
        column.touch(touched.get(key, ()))
        for leaf, account in accounts.get(key, {}).items():
            column.put(leaf, account)
        column.put_system(*system.get(key, (NO_ACCOUNT, NO_ACCOUNT)))
        column.settle(ground.runtimes.get(key, 0))
        families[key] = {**families.get(key, {}), **column.families()}
        _write(ground, key, column.results(ground.bounds.get(key, {})), numbers, written)
    others = _others(work)
    for name in former.others if former is not None else ():
        if name not in others:
            del numbers[name]
    numbers.update(others)
    return Ledger(work, numbers, families, tuple(others))


def _others(work: Work) -> dict[str, dict[FlavorResource, Numbers]]:
    """The numbers of `system` and of groups that do not reach root."""
    found = {name: _outside(work.world, name) for name in work.ground.frame.outside}
    if SYSTEM in work.world.tree or work.ground.system:
        found[SYSTEM] = {key: _unlimited(amount) for key, amount in work.ground.system.items()}
    return found


def _unlimited(used: Amount) -> Numbers:
    """What `system` uses is what it may use, and it gives nothing back."""
    return Numbers(request=used, used=used, held=used, charge=used, demand=used, runtime=used)


def _outside(world: World, name: str) -> dict[FlavorResource, Numbers]:
    """The numbers of a group that does not reach root: what is written and what is used; nothing is due to it."""
    use = world.workloads_of(name).use
    limits = limits_of(world.tree[name], NO_CAPS, {})
    return {
        key: Numbers(min=limits.get(key, UNCOVERED).min, request=used, used=used, held=held, charge=used, demand=used)
        for key in limits.keys() | use.keys()
        for used, held in (use.get(key, Use()),)
    }


def _same_shape(ground: Ground, former: Ground) -> bool:
    return ground.frame is former.frame or ground.frame.has_same_shape(former.frame)


def _write(
    ground: Ground,
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


def _touched_groups(ground: Ground, former: Ledger | None) -> dict[FlavorResource, list[str]]:
    """key -> groups whose limits or bounds for it differ from the former ones."""
    if former is None:
        touched: dict[FlavorResource, list[str]] = {}
        for name, limits in ground.frame.limits.items():
            for key in limits:
                touched.setdefault(key, []).append(name)
        return touched
    touched = {}
    if ground.frame is not former.work.ground.frame:
        touched = ground.frame.changed_limits(former.work.ground.frame)
    for key, groups in ground.changed.items():
        touched.setdefault(key, []).extend(groups)
    return touched


def _changed_accounts(work: Work, former: Ledger | None) -> dict[FlavorResource, dict[str, Account]]:
    """key -> leaf -> its account, where that differs from the former one."""
    found: dict[FlavorResource, dict[str, Account]] = {}
    known = former.work.leaves if former is not None else {}
    for leaf in work.leaves if former is None else work.changed & work.leaves.keys():
        now = work.leaves[leaf].accounts
        before = known[leaf].accounts if leaf in known else {}
        for key in now.keys() | before.keys():
            account = now.get(key, NO_ACCOUNT)
            if account != before.get(key, NO_ACCOUNT):
                found.setdefault(key, {})[leaf] = account
    return found


def _changed_system(ground: Ground, former: Ledger | None) -> dict[FlavorResource, tuple[Account, Account]]:
    """key -> what `system` used and uses; all of it is held, for it is never taken back."""
    known = former.work.ground.system if former is not None else {}
    found = {}
    for key in ground.system.keys() | known.keys():
        before, now = known.get(key, 0), ground.system.get(key, 0)
        if now != before:
            found[key] = Account(before, before, before), Account(now, now, now)
    return found


def _changed_runtimes(ground: Ground, former: Ledger | None) -> set[FlavorResource]:
    if former is None:
        return set(ground.runtimes)
    known = former.work.ground.runtimes
    keys = ground.runtimes.keys() | known.keys()
    return {key for key in keys if ground.runtimes.get(key, 0) != known.get(key, 0)}
