"""The arithmetic again, slow and obvious: every word of the quota table as one function of the text.

Written from the rules and their sources (KEP-79's balance T, Koordinator's request and runtime), never from the
engine: it imports only the types of the model. Everything is recursive, nothing is incremental.
"""

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from functools import cache

from shared.quota.model.tree import ROOT, SYSTEM, StopPolicy
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.shared.quota.reference_choice import choices, codependent_sets, fits_a_node, is_uncovered
from tests.shared.quota.reference_division import Sibling, divide, divide_exactly
from tests.shared.quota.reference_inputs import Scene
from tests.shared.quota.reference_limits import Limits

Spent = Mapping[tuple[str, FlavorResource], int]


class Reference(Limits):
    """The numbers of one scene. Groups without a path to root do not count; `system` has no numbers but its use."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        for name in ("runtime", "request", "effective_min", "charge_alone", "counted", "claims_of", "waiting_since"):
            setattr(self, name, cache(getattr(self, name)))

    # --- what is used and wanted ------------------------------------------------------------------------------------

    def work(self, leaf: str) -> list[Workload]:
        return [work for work in self.scene.workloads if work.group == leaf]

    def used(self, name: str, key: FlavorResource) -> int:
        if self.is_leaf(name):
            return sum(_admitted(work, key) for work in self.work(name))
        return sum(self.used(child, key) for child in self.tree.children(name))

    def non_preemptible(self, name: str, key: FlavorResource) -> int:
        if self.is_leaf(name):
            return sum(_admitted(work, key) for work in self.work(name) if not work.preemptible)
        return sum(self.non_preemptible(child, key) for child in self.children(name))

    def claims_of(self, leaf: str) -> dict[str, Mapping[str, str]]:
        """Pending work of the leaf for which others were evicted: its key, and the flavors it was promised."""
        claims = [victim.claim for victim in self.scene.workloads if victim.claim is not None]
        promised = {(claim.preemptor, claim.preemptor_uid): claim.flavors for claim in claims}
        asking = [work for work in self.work(leaf) if work.is_pending and (work.key, work.uid) in promised]
        return {work.key: promised[work.key, work.uid] for work in asking}

    def claimed(self, leaf: str, key: FlavorResource, *, preemptible: bool = True) -> int:
        """What the leaf's claims come to; with `preemptible` false only those of work that is not preemptible."""
        claims = self.claims_of(leaf)
        return sum(
            work.request.get(key.resource, 0)
            for work in self.work(leaf)
            if work.key in claims
            and claims[work.key].get(key.resource) == key.flavor
            and (preemptible or not work.preemptible)
        )

    def request(self, name: str, key: FlavorResource) -> int:
        if self.is_leaf(name):
            counted = self.counted(name)
            pending = sum(
                work.request.get(key.resource, 0) for work in self.work(name) if key in counted.get(work.key, ())
            )
            return self.used(name, key) + pending
        return sum(self.demand(child, key) for child in self.children(name))

    def demand(self, name: str, key: FlavorResource) -> int:
        return max(self.guarantee(name, key), min(self.ceiling(name, key), self.request(name, key)))

    def counted(self, leaf: str) -> dict[str, frozenset[FlavorResource]]:
        """Which pending work counts in request, and in which keys."""
        result: dict[str, frozenset[FlavorResource]] = {}
        if self.is_stopped(leaf):
            return result
        claims = self.claims_of(leaf)
        for work in self.work(leaf):
            if work.key in claims:
                result[work.key] = _keys_of(work, claims[work.key])
        left = {
            key: self.effective_min(leaf, key)
            - self.non_preemptible(leaf, key)
            - self.claimed(leaf, key, preemptible=False)
            for key in self.keys
        }
        for work in self.queue(leaf):
            if work.key in claims or not self.is_considered(work):
                continue
            options = self.possible(work)
            if not work.preemptible:
                options = [[keys for keys in flavors if _fits(work, keys, left)] for flavors in options]
            if not all(options):
                continue
            result[work.key] = frozenset(key for flavors in options for keys in flavors for key in keys)
            if not work.preemptible:
                for key in result[work.key]:
                    left[key] -= work.request[key.resource]
        return result

    def possible(self, work: Workload) -> list[list[frozenset[FlavorResource]]]:
        """Per codependent set, in order, the keys of each flavor on which the work may some day run."""
        entries = self.tree[work.group].quotas
        if is_uncovered(work, entries, self.scene.settings):
            return [[]]
        options = [
            [
                frozenset(FlavorResource(flavor, resource) for resource in wanted)
                for flavor in choices(work, wanted, entries, self.scene.flavors)
            ]
            for wanted in codependent_sets(work, entries)
        ]
        covered = frozenset[str]().union(*(entry.covered for entry in entries))
        return [
            [keys for keys in flavors if self.fits_alone(work, keys) and self.fits_a_node(work, keys, covered)]
            for flavors in options
        ]

    def fits_a_node(self, work: Workload, keys: frozenset[FlavorResource], covered: frozenset[str]) -> bool:
        """Whether one pod, by these keys and what no entry covers, fits a node that takes pods; if nodes are known."""
        flavor = next(iter(keys)).flavor
        if self.scene.from_groups or any(key.flavor == flavor for key in self.scene.capacity):
            return True
        compared = {key.resource for key in keys} | (work.request.keys() - covered)
        nodes = [node for node in self.scene.nodes if node.takes_pods and self.flavor_of(node) == flavor]
        return fits_a_node(work, compared, [node.allocatable for node in nodes])

    def is_considered(self, work: Workload) -> bool:
        """Whether pending work may ask at all: no wish to wait, no back-off, not stopped."""
        backing_off = work.not_before is not None and work.not_before > self.scene.now
        return work.is_pending and not (work.hold or work.deactivated or backing_off or self.is_stopped(work.group))

    def is_stopped(self, leaf: str) -> bool:
        stopping = (StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN)
        return any(self.tree[name].stop_policy in stopping for name in self.tree.path(leaf))

    def queue(self, leaf: str) -> list[Workload]:
        pending = [work for work in self.work(leaf) if work.is_pending]
        return sorted(pending, key=lambda work: (-work.priority, work.queued, work.created, work.key))

    # --- charge, as defined and in KEP-79's form --------------------------------------------------------------------

    def charge(self, name: str, key: FlavorResource, spent: Spent | None = None) -> int:
        """The charge by definition; `spent` gives the leaves another use than the present one."""
        if self.is_leaf(name):
            return self.used(name, key) if spent is None else spent.get((name, key), 0)
        return sum(
            max(min(self.guarantee(child, key), self.runtime(child, key)), self.charge(child, key, spent))
            for child in self.children(name)
        )

    def balance(self, name: str, key: FlavorResource) -> int:
        """KEP-79's T: a queue's quota less its usage; a cohort's own quota plus what its children can pass up."""
        if self.is_leaf(name):
            return self.min(name, key) - self.used(name, key)
        whole = self.capacity(key) if name == ROOT else self.min(name, key)
        own = whole - sum(self.min(child, key) for child in self.children(name))
        return own + sum(min(self.lending_limit(child, key), self.balance(child, key)) for child in self.children(name))

    def charge_alone(self, name: str, key: FlavorResource, leaf: str, amount: int) -> int:
        """The charge of `name` if only `amount` ran, in `leaf`; guarantees are kept as far as min is in effect."""
        if self.is_leaf(name):
            return amount if name == leaf else 0
        return sum(
            max(
                min(self.guarantee(child, key), self.effective_min(child, key)),
                self.charge_alone(child, key, leaf, amount),
            )
            for child in self.children(name)
        )

    def fits_alone(self, work: Workload, keys: frozenset[FlavorResource]) -> bool:
        """Whether the work could have its request on those keys in a tree in which nothing else runs."""
        return all(
            self.charge_alone(name, key, work.group, work.request[key.resource])
            <= (self.runtime(ROOT, key) if name == ROOT else self.ceiling(name, key))
            for key in keys
            for name in self.tree.path(work.group)
        )

    # --- runtime ----------------------------------------------------------------------------------------------------

    def runtime(self, name: str, key: FlavorResource) -> int:
        if name == ROOT:
            taken = 0
            if not self.scene.from_groups:
                system = self.used(SYSTEM, key) if SYSTEM in self.tree else 0
                taken = system + self.scene.unmanaged.get(key, 0)
            return max(0, self.capacity(key) - taken)
        parent = self.tree[name].parent
        assert parent is not None
        return divide(self.runtime(parent, key), self.siblings(parent, key))[name]

    def siblings(self, parent: str, key: FlavorResource) -> list[Sibling]:
        return [
            Sibling(
                child,
                self.min(child, key),
                self.guarantee(child, key),
                self.demand(child, key),
                self.non_preemptible(child, key),
                self.weight(child, key),
                self.used(child, key),
                self.scene.past_use.get(child, {}).get(key, 0),
                self.waiting_since(child, key),
            )
            for child in self.children(parent)
        ]

    def waiting_since(self, name: str, key: FlavorResource) -> datetime | None:
        """When the oldest pending workload of the subtree that counts in that key was queued; None: there is none."""
        if not self.is_leaf(name):
            below = [self.waiting_since(child, key) for child in self.children(name)]
            return min((each for each in below if each is not None), default=None)
        counted = self.counted(name)
        return min((work.queued for work in self.work(name) if key in counted.get(work.key, ())), default=None)

    def exact_runtimes(self, parent: str, key: FlavorResource) -> Mapping[str, Fraction]:
        return divide_exactly(self.runtime(parent, key), self.siblings(parent, key))

    def effective_min(self, name: str, key: FlavorResource) -> int:
        if name == ROOT:
            return self.runtime(ROOT, key)
        parent = self.tree[name].parent
        assert parent is not None
        whole = self.effective_min(parent, key)
        mins = {child: self.min(child, key) for child in self.children(parent)}
        return mins[name] if sum(mins.values()) <= whole else scaled(whole, mins)[name]


def scaled(whole: int, mins: Mapping[str, int]) -> dict[str, int]:
    """`whole` in proportion to `mins`, by largest remainder, ties by name."""
    total = sum(mins.values())
    parts = {name: whole * part // total for name, part in mins.items()}
    order = sorted(mins, key=lambda name: (-(whole * mins[name] % total), name))
    for name in order[: whole - sum(parts.values())]:
        parts[name] += 1
    return parts


def _admitted(work: Workload, key: FlavorResource) -> int:
    if work.admission is None or work.admission.flavors.get(key.resource) != key.flavor:
        return 0
    return work.request.get(key.resource, 0)


def _fits(work: Workload, keys: frozenset[FlavorResource], left: Mapping[FlavorResource, int]) -> bool:
    return all(work.request[key.resource] <= left[key] for key in keys)


def _keys_of(work: Workload, flavors: Mapping[str, str]) -> frozenset[FlavorResource]:
    return frozenset(FlavorResource(flavors[resource], resource) for resource in work.request if resource in flavors)
