"""Turns again, slow and obvious: who of those on whom one is written has it, and what all have with it.

Written from docs/specification.md §6.11, never from the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.shared.quota.reference.division import Sibling, divide
from tests.shared.quota.reference.inputs import ReferenceInputs
from tests.shared.quota.reference.reference import Reference, taken

HEADS_AMONG = 64


class Claim(NamedTuple):
    """At this parent and key, so much is the child's by a turn."""

    parent: str
    key: FlavorResource
    child: str
    amount: int


class ReferenceWithTurns(Reference):
    """The reference's numbers; `runtime` is with turns."""

    def __init__(self, inputs: ReferenceInputs) -> None:
        super().__init__(inputs)
        self.before = Reference(inputs)
        for name in ("claims_by_turns", "runtime_with"):
            setattr(self, name, cache(getattr(self, name)))

    def runtime_with(self, name: str, key: FlavorResource) -> int:
        """What the group may use with turns."""
        if name == ROOT:
            return self.before.runtime(ROOT, key)
        parent = self.tree[name].parent
        assert parent is not None
        pool, siblings = self.runtime_with(parent, key), self.before.siblings(parent, key)
        claim = self.claims_by_turns().get((parent, key))
        if claim is not None or pool != self.before.runtime(parent, key):
            siblings = [self._with_promised(each, key) for each in siblings]
        plain = divide(pool, siblings)
        if claim is None or plain[claim.child] >= claim.amount:
            return plain[name]
        others = [each for each in siblings if each.name != claim.child]
        if claim.amount + sum(each.floor for each in others) > pool:
            return plain[name]
        return claim.amount if name == claim.child else divide(pool - claim.amount, others)[name]

    def _with_promised(self, child: Sibling, key: FlavorResource) -> Sibling:
        """The child, kept what is promised further down, too."""
        kept = min(self.promised(child.name, key), child.demand)
        return replace(child, guarantee=max(child.guarantee, kept))

    def spared(self, name: str, key: FlavorResource) -> int:
        """How much beyond its runtime the group keeps: it had that without turns, or its own turn gives it that."""
        own = [each.amount for each in self.claims_by_turns().values() if (each.child, each.key) == (name, key)]
        now = self.runtime_with(name, key)
        return max([self.before.runtime(name, key), now, *own]) - now

    def claims_by_turns(self) -> Mapping[tuple[str, FlavorResource], Claim]:
        """The turns that count, running ones first, then the oldest."""
        found: dict[tuple[str, FlavorResource], Claim] = {}
        written = [work for work in self.inputs.workloads if work.turn is not None and self.may_have(work)]
        for work in sorted(written, key=lambda each: (each.is_pending, each.turn and each.turn.since, each.key)):
            claims = self.claims(work)
            if claims is not None and not any((each.parent, each.key) in found for each in claims):
                found |= {(each.parent, each.key): each for each in claims}
        return found

    def claims(self, work: Workload) -> Sequence[Claim] | None:
        """Where its turn would count; None: somewhere the mins of all, or a ceiling, leave too little."""
        assert work.turn is not None
        if work.admission is not None and work.admission.flavors != work.turn.flavors:
            return []
        found: list[Claim] = []
        for key, amount in taken(work, work.turn.flavors).items():
            if amount:
                levels = self.levels(work.group, key, self.before.non_preemptible(work.group, key) + amount)
                if levels is None:
                    return None
                found.extend(levels)
        return found

    def levels(self, child: str, key: FlavorResource, needs: int) -> list[Claim] | None:
        """The levels from this child up at which it has less than it needs."""
        if child == ROOT:
            return None
        if needs <= self.before.runtime(child, key):
            return []
        parent = self.tree[child].parent
        assert parent is not None
        if needs > self.before.ceiling(child, key):
            return None
        beside = sum(self.promised(each, key) for each in self.before.children(parent) if each != child)
        claim = Claim(parent, key, child, needs)
        if needs + beside <= self.before.runtime(parent, key):
            return [claim]
        above = self.levels(parent, key, needs + beside)
        return None if above is None else [claim, *above]

    def promised(self, name: str, key: FlavorResource) -> int:
        """What the subtree gets before anything is shared by weight."""
        own = next(each.floor for each in self.before.siblings(str(self.tree[name].parent), key) if each.name == name)
        return max(own, sum(self.promised(each, key) for each in self.before.children(name)))

    def may_have(self, work: Workload) -> bool:
        """Whether the turn that is written on it has not ended by what it is now."""
        if work.group not in self.groups or not self.is_leaf(work.group) or not work.preemptible:
            return False
        if work.admission is not None:
            return work.eviction is None
        assert work.turn is not None
        promised = self.before.claims_of(work.group).get(work.key)
        if not self.is_considered(work) or work.queued > work.turn.since:
            return False
        if promised is not None and promised != work.turn.flavors:
            return False
        wanted = dict(taken(work, work.turn.flavors))
        if not self.could_be_nodes((name, each) for name, own in work.turn.flavors.items() for each in own.values()):
            return False
        return self.is_head(work) and not self.rests(work) and any(dict(way) == wanted for way in self.possible(work))

    def rests(self, work: Workload) -> bool:
        """Whether its room has gathered for a day, or as long as it had waited, and no such time has passed since."""
        assert work.turn is not None
        spell = max(timedelta(days=1), work.turn.since - work.queued)
        return max(timedelta(0), self.inputs.now - work.turn.since) // spell % 2 == 1

    def is_head(self, work: Workload) -> bool:
        """Whether nothing before it in its queue could take one of its flavors."""
        mine = self.flavors_for(work)
        considered = [each for each in self.queue(work.group) if self.is_considered(each)]
        before = considered[: considered.index(work)] if work in considered else considered
        is_first = all(mine.isdisjoint(self.flavors_for(each)) for each in before)
        return bool(mine) and len(before) < HEADS_AMONG and is_first

    def flavors_for(self, work: Workload) -> frozenset[str]:
        """Every flavor that it could take."""
        return frozenset(key.flavor for way in self.possible(work) for key in way)
