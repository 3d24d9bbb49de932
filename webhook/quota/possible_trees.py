"""Which trees are possible next: what is stored, with each accepted edit either stored or not stored yet.

An edit is legal only if it is legal in every such tree. Not every combination is built: a broken edge involves two
groups, a sum the children that could be under one parent, a path the parents that could follow each other. The trees
below contain the worst case of each. See docs/specification.md §4.11.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from shared.quota.model.in_force import group_in_force
from shared.quota.model.rules.over_time import each_as
from shared.quota.model.tree import ROOT, Entry, Group, Tree
from shared.resources import MAX_AMOUNT

MAX_STEPS: Final = 64
"""Longer paths are too deep under any settings."""

Version = Group | None
"""One possible state of a group; None: it does not exist."""


@dataclass(frozen=True, slots=True)
class PendingEdit:
    """An accepted edit of a group that might not be stored yet: the state it leads to, None for a deletion."""

    name: str
    group: Version
    creates: bool


class PendingEdits:
    """What is stored, and what was accepted and might not be. `latest`: the tree once all of it is stored."""

    def __init__(self, stored: Tree, open_edits: Iterable[PendingEdit] = ()) -> None:
        self.stored = stored
        self.open_edits = tuple(open_edits)
        self.latest = latest(stored, self.open_edits)

    def and_also(self, open_edits: PendingEdit) -> "PendingEdits":
        """Return these pending edits with one more accepted edit."""
        more = PendingEdits(self.stored)
        more.open_edits = (*self.open_edits, open_edits)
        more.latest = latest(self.latest, [open_edits])
        return more

    def at(self, moment: datetime, names: Collection[str]) -> "PendingEdits":
        """Return the same edits with these groups as they are in force at that moment."""
        return self.each_as(lambda group: group_in_force(group, moment), names)

    def each_as(self, change: Callable[[Group], Group], names: Collection[str]) -> "PendingEdits":
        """Return the same edits with these groups, and all that are edited, as `change` returns them."""
        stored = each_as(self.stored, names, change)
        edits = [replace(each, group=each.group and change(each.group)) for each in self.open_edits]
        if stored is self.stored and edits == [*self.open_edits]:
            return self
        return PendingEdits(stored, edits)

    def without(self, name: str) -> "PendingEdits":
        """Return these pending edits without those of one group."""
        if all(each.name != name for each in self.open_edits):
            return self
        return PendingEdits(self.stored, (each for each in self.open_edits if each.name != name))


def latest(stored: Tree, open_edits: Iterable[PendingEdit]) -> Tree:
    """The tree once everything accepted is stored."""
    for each in open_edits:
        stored = _with(stored, {each.name: each.group})
    return stored


def possible_trees(pending: PendingEdits, name: str, new: Version) -> Iterator[Tree]:
    """Trees among which is the worst case for an edit that makes the group `name` become `new`, beside
    `pending.latest`.

    Creations can only add to what is broken. So without other open edits and without two edits of one group there are
    no such trees. `pending` contains no edit of `name` itself.
    """
    stored, others = pending.stored, pending.open_edits
    if all(each.creates for each in others) and len({each.name for each in others}) == len(others):
        return
    yield stored
    states = States(stored, others)
    yield from states.each_once()
    for parent in {name, ROOT if new is None or new.parent is None else new.parent} - {ROOT}:
        # Amounts and percents are summed each by themselves: what percents come to, nodes decide at any time.
        yield states.gathered(parent, _with_amounts_first)
        if states.has_percents:
            yield states.gathered(parent, _with_percents_first)
    if new is not None and new.parent is not None:
        yield _with(stored, dict(states.way(new.parent, name)))
        yield _with(stored, dict((*states.longest_up(new.parent), *states.longest_down(name))))


class States:
    """The possible states of every group: what is stored, and the result of each open edit."""

    def __init__(self, stored: Tree, open_edits: Iterable[PendingEdit]) -> None:
        self.stored = stored
        self._open: dict[str, list[Version]] = {}
        for each in open_edits:
            self._open.setdefault(each.name, [stored.get(each.name)]).append(each.group)
        self._below: dict[str, list[tuple[str, Group]]] = {}
        for name, states in self._open.items():
            for state in states:
                if state is not None and state.parent is not None:
                    self._below.setdefault(state.parent, []).append((name, state))

    def of(self, name: str) -> list[Version]:
        """Return all possible states of the group."""
        return self._open.get(name) or [self.stored.get(name)]

    def may_be_below(self, name: str) -> list[tuple[str, Group]]:
        """Return every group that can be a child of `name`, in the state in which it is."""
        still = [(child, self.stored[child]) for child in self.stored.children(name) if child not in self._open]
        return [*still, *self._below.get(name, ())]

    def each_once(self) -> Iterator[Tree]:
        """Trees in which every state of every group occurs."""
        for at in range(1, max(len(states) for states in self._open.values())):
            chosen = {name: states[min(at, len(states) - 1)] for name, states in self._open.items()}
            yield _with(self.stored, chosen)

    @property
    def has_percents(self) -> bool:
        """Whether some state has a percent."""
        states = (state for each in self._open.values() for state in each if state is not None)
        return any(entry.percents for state in states for entry in state.quotas)

    def gathered(self, parent: str, most: Callable[[Sequence[Group]], tuple[Entry, ...]]) -> Tree:
        """Return the tree in which every possible child of `parent` is its child, with its largest promise (`most`).

        `parent` itself has its least promise.
        """
        chosen: dict[str, Version] = {}
        for name, states in self._open.items():
            there = [state for state in states if state is not None]
            below = [state for state in there if state.parent == parent]
            if name == parent and there:
                chosen[name] = replace(there[-1], quotas=_least(there))
            elif below:
                chosen[name] = replace(below[-1], quotas=most(below))
            else:
                chosen[name] = there[-1] if there else None
        return _with(self.stored, chosen)

    def way(self, start: str, end: str) -> list[tuple[str, Version]]:
        """Return the states in which the path of parents from `start` reaches `end`; empty if none does."""
        came: dict[str, tuple[str, Group]] = {}
        waiting = [start]
        while waiting and end not in came:
            at = waiting.pop()
            for state in self.of(at):
                above = None if state is None else state.parent
                if state is not None and above is not None and above not in came and above != start:
                    came[above] = (at, state)
                    waiting.append(above)
        found: list[tuple[str, Version]] = []
        at = end
        while at in came:
            at, state = came[at]
            found.append((at, state))
        return found

    def longest_up(self, start: str) -> list[tuple[str, Version]]:
        """Return the states in which the path from `start` to the top is longest."""

        def above(name: str) -> list[tuple[str, Version, str]]:
            there = [state for state in self.of(name) if state is not None]
            return [(name, state, state.parent) for state in there if state.parent not in (None, ROOT)]

        return _longest(start, above, frozenset())

    def longest_down(self, start: str) -> list[tuple[str, Version]]:
        """Return the states in which the subtree of `start` is deepest."""

        def below(name: str) -> list[tuple[str, Version, str]]:
            return [(child, state, child) for child, state in self.may_be_below(name)]

        return _longest(start, below, frozenset())


def _longest(
    start: str, steps: Callable[[str], list[tuple[str, Version, str]]], passed: frozenset[str]
) -> list[tuple[str, Version]]:
    """Return the most consecutive steps from `start`; a step is (group, its state, next group)."""
    if start in passed or len(passed) > MAX_STEPS:
        return []
    best: list[tuple[str, Version]] = []
    for name, state, onward in steps(start):
        found = [(name, state), *_longest(onward, steps, passed | {start})]
        if len(found) > len(best):
            best = found
    return best


def _with(tree: Tree, chosen: Mapping[str, Version]) -> Tree:
    for name, state in chosen.items():
        if state is not None:
            tree = tree.with_group(state)
        elif name in tree:
            tree = tree.without(name)
    return tree


def _with_amounts_first(states: Sequence[Group]) -> tuple[Entry, ...]:
    """Entries with the largest promise of any of the states; where some promise an amount, of these."""
    return tuple(
        replace(
            entry, percents=_as_percents({key: share for key, share in _shares(entry).items() if key not in entry.min})
        )
        for entry in _merged(states)
    )


def _with_percents_first(states: Sequence[Group]) -> tuple[Entry, ...]:
    """The same; where some promise a percent, of these."""
    return tuple(
        replace(each, min={name: amount for name, amount in each.min.items() if name not in _shares(each)})
        for each in _merged(states)
    )


def _shares(entry: Entry) -> Mapping[str, int]:
    return entry.percents.get("min", {})


def _merged(states: Sequence[Group]) -> Sequence[Entry]:
    """Return for each flavor the largest amounts and the largest percents that a state promises."""
    merged: dict[str, Entry] = {}
    for entry in (entry for state in states for entry in state.quotas):
        known = merged.get(entry.flavor, Entry(entry.flavor))
        amounts = {name: amount for name, amount in entry.min.items() if name not in _shares(entry)}
        low, shares = _larger(known.min, amounts), _larger(_shares(known), _shares(entry))
        most = dict.fromkeys((*known.max, *entry.named("max")), MAX_AMOUNT)
        merged[entry.flavor] = Entry(entry.flavor, min=low, max=most, percents=_as_percents(shares))
    return tuple(merged.values())


def _as_percents(shares: Mapping[str, int]) -> Mapping[str, Mapping[str, int]]:
    return {"min": shares} if shares else {}


def _larger(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {key: max(one.get(key, 0), other.get(key, 0)) for key in {*one, *other}}


def _least(states: Sequence[Group]) -> tuple[Entry, ...]:
    """Entries with what all of the states promise and cover; of a min that is a percent only that it is one."""
    merged: list[Entry] = []
    for entry in states[0].quotas:
        others = [state.entry(entry.flavor) for state in states[1:]]
        if any(other is None for other in others):
            continue
        same = [entry, *(other for other in others if other is not None)]
        covered = frozenset.intersection(*(each.covered for each in same))
        promised = frozenset.intersection(*(each.named("min") for each in same))
        both = frozenset.intersection(*(frozenset(_shares(each)) for each in same))
        shares = {key: min(_shares(each)[key] for each in same) for key in both}
        low = {key: min(each.min.get(key, 0) for each in same) for key in promised - both}
        most = dict.fromkeys(covered, MAX_AMOUNT)
        merged.append(Entry(entry.flavor, min=low, max=most, percents=_as_percents(shares)))
    return tuple(merged)
