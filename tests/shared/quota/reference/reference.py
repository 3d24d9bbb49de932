"""The arithmetic again, slow and obvious: every word of the quota table as one function of the text.

Written from the rules and their sources (KEP-79's balance T, Koordinator's request and runtime), never from the
engine: it imports only the types of the model. Everything is recursive, nothing is incremental.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache
from itertools import product

from shared.quota.model.tree import ROOT, SYSTEM, Entry, QueueOrder, StopPolicy
from shared.quota.model.workload import Flavors, PodSet, Workload
from shared.resources import FlavorResource
from tests.shared.quota.reference.choice import choices, codependent_sets, fits_a_node, is_uncovered, parts
from tests.shared.quota.reference.division import Sibling, divide, divide_exactly
from tests.shared.quota.reference.inputs import ReferenceInputs
from tests.shared.quota.reference.limits import COUNTS, NO_BOUND, Limits

Spent = Mapping[tuple[str, FlavorResource], int]


class Reference(Limits):
    """The numbers of such inputs. Groups without a path to root do not count; `system` has no numbers but its use."""

    def __init__(self, inputs: ReferenceInputs) -> None:
        super().__init__(inputs)
        numbers = ("runtime", "request", "effective_min", "certain_min", "charge_alone", "waiting_since")
        for name in (*numbers, "counted", "claims_of"):
            setattr(self, name, cache(getattr(self, name)))

    # --- what is used and wanted ------------------------------------------------------------------------------------

    def work(self, leaf: str) -> list[Workload]:
        return [work for work in self.inputs.workloads if work.group == leaf]

    def used(self, name: str, key: FlavorResource) -> int:
        if self.is_leaf(name):
            return sum(_admitted(work, key) for work in self.work(name))
        return sum(self.used(child, key) for child in self.tree.children(name))

    def non_preemptible(self, name: str, key: FlavorResource) -> int:
        if self.is_leaf(name):
            return sum(_admitted(work, key) for work in self.work(name) if not work.preemptible)
        return sum(self.non_preemptible(child, key) for child in self.children(name))

    def claims_of(self, leaf: str) -> dict[str, Flavors]:
        """Pending work of the leaf for which others were evicted: its key, and the flavors it was promised."""
        claims = [victim.claim for victim in self.inputs.workloads if victim.claim is not None]
        promised = {(claim.preemptor, claim.preemptor_uid): claim.flavors for claim in claims}
        asking = [work for work in self.work(leaf) if work.is_pending and (work.key, work.uid) in promised]
        return {work.key: promised[work.key, work.uid] for work in asking}

    def claimed(self, leaf: str, key: FlavorResource, *, preemptible: bool = True) -> int:
        """What the leaf's claims come to; with `preemptible` false only those of work that is not preemptible."""
        claims = self.claims_of(leaf)
        return sum(
            taken(work, claims[work.key]).get(key, 0)
            for work in self.work(leaf)
            if work.key in claims and (preemptible or not work.preemptible)
        )

    def request(self, name: str, key: FlavorResource) -> int:
        if self.is_leaf(name):
            pending = sum(amounts.get(key, 0) for amounts in self.counted(name).values())
            return self.used(name, key) + pending
        return sum(self.demand(child, key) for child in self.children(name))

    def demand(self, name: str, key: FlavorResource) -> int:
        return max(self.guarantee(name, key), min(self.ceiling(name, key), self.request(name, key)))

    def counted(self, leaf: str) -> dict[str, Mapping[FlavorResource, int]]:
        """Which pending work counts in request, and what in which keys."""
        result: dict[str, Mapping[FlavorResource, int]] = {}
        if self.is_stopped(leaf):
            return result
        claims = self.claims_of(leaf)
        for work in self.work(leaf):
            if work.key in claims:
                promised = taken(work, claims[work.key])
                result[work.key] = {key: amount for key, amount in promised.items() if self.covers(leaf, key)}
        left = {
            key: self.effective_min(leaf, key)
            - self.non_preemptible(leaf, key)
            - self.claimed(leaf, key, preemptible=False)
            for key in self.keys
        }
        for work in self.queue(leaf):
            if work.key in claims or not self.is_considered(work):
                continue
            ways = [way for way in self.possible(work) if work.preemptible or _fits(way, left)]
            if not ways:
                continue
            keys = {key for way in ways for key in way}
            result[work.key] = {key: max(way.get(key, 0) for way in ways) for key in keys}
            if not work.preemptible:
                for key, amount in result[work.key].items():
                    left[key] -= amount
        return result

    def possible(self, work: Workload) -> list[Mapping[FlavorResource, int]]:
        """What the work takes in each way in which it may some day run: a flavor per pod set and codependent set."""
        entries = self.entries(work.group)
        if is_uncovered(work, entries, self.inputs.settings):
            return []
        sets = [(part, wanted) for part in parts(work) for wanted in codependent_sets(part, entries)]
        offers = [
            [
                flavor
                for flavor in choices(work, part, wanted, entries, self.flavors)
                if self.fits_a_node(part, flavor, wanted, entries)
            ]
            for part, wanted in sets
        ]
        ways: list[Mapping[FlavorResource, int]] = []
        for chosen in product(*offers):
            total: Counter[FlavorResource] = Counter()
            for (part, wanted), flavor in zip(sets, chosen, strict=True):
                total.update({FlavorResource(flavor, resource): part.request[resource] for resource in wanted})
            within_min = all(amount <= self.effective_min(work.group, key) for key, amount in total.items())
            could_fit = (work.preemptible or within_min) and self.fits_alone(work.group, total)
            named = [(part.name, flavor) for (part, _), flavor in zip(sets, chosen, strict=True)]
            if could_fit and (not work.pod_sets or self.could_be_nodes(named)):
                ways.append(total)
        return ways

    def could_be_nodes(self, chosen: Iterable[tuple[str, str]]) -> bool:
        """Whether each pod set's flavors agree on every label. `chosen`: pod sets and flavors."""
        labels: dict[tuple[str, str], str] = {}
        for pod_set, flavor in chosen:
            for label, value in self.flavors[flavor].node_labels.items():
                if labels.setdefault((pod_set, label), value) != value:
                    return False
        return True

    def fits_a_node(self, part: PodSet, flavor: str, wanted: frozenset[str], entries: Sequence[Entry]) -> bool:
        """Whether one pod, by these resources and what no entry covers, fits a node that takes pods; if known."""
        if self.inputs.from_groups or flavor == COUNTS or any(key.flavor == flavor for key in self.inputs.capacity):
            return True
        covered = frozenset[str]().union(*(entry.covered for entry in entries))
        nodes = [node for node in self.inputs.nodes if node.takes_pods and self.flavor_of(node) == flavor]
        return fits_a_node(part, wanted | (part.request.keys() - covered), [node.allocatable for node in nodes])

    def is_considered(self, work: Workload) -> bool:
        """Whether pending work may ask at all: no wish to wait, no back-off, not stopped."""
        backing_off = work.not_before is not None and work.not_before > self.inputs.now
        return work.is_pending and not (work.hold or work.deactivated or backing_off or self.is_stopped(work.group))

    def is_stopped(self, leaf: str) -> bool:
        stopping = (StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN_PREEMPTIBLE, StopPolicy.HOLD_AND_DRAIN)
        return any(self.tree[name].stop_policy in stopping for name in self.tree.path(leaf))

    def queue(self, leaf: str) -> list[Workload]:
        pending = [work for work in self.work(leaf) if work.is_pending]
        by_age = sorted(pending, key=lambda work: (-work.priority, work.queued, work.created, work.key))
        if self.tree[leaf].order is QueueOrder.AGE:
            return by_age
        return Turns(self, leaf).in_order([work for work in by_age if self.is_considered(work)])

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
        """The charge of `name` if only `amount` ran, in `leaf`; guarantees are kept as far as min is certain."""
        if self.is_leaf(name):
            return amount if name == leaf else 0
        return sum(
            max(
                min(self.guarantee(child, key), self.certain_min(child, key)),
                self.charge_alone(child, key, leaf, amount),
            )
            for child in self.children(name)
        )

    def fits_alone(self, leaf: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether the leaf could have those amounts in a tree in which nothing else runs."""
        return all(
            self.charge_alone(name, key, leaf, amount)
            <= (self.runtime(ROOT, key) if name == ROOT else self.ceiling(name, key))
            for key, amount in amounts.items()
            for name in self.tree.path(leaf)
        )

    # --- runtime ----------------------------------------------------------------------------------------------------

    def runtime(self, name: str, key: FlavorResource) -> int:
        if name == ROOT:
            taken = 0
            if not self.inputs.from_groups:
                system = self.used(SYSTEM, key) if SYSTEM in self.tree else 0
                taken = system + self.inputs.unmanaged.get(key, 0)
            return NO_BOUND if self.capacity(key) == NO_BOUND else max(0, self.capacity(key) - taken)
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
                self.inputs.past_use.get(child, {}).get(key, 0),
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

    def certain_min(self, name: str, key: FlavorResource) -> int:
        """The same rounded down at every level: what is left of effectiveMin if all units that remain go elsewhere."""
        if name == ROOT:
            return self.runtime(ROOT, key)
        parent = self.tree[name].parent
        assert parent is not None
        whole, own = self.certain_min(parent, key), self.min(name, key)
        total = sum(self.min(child, key) for child in self.children(parent))
        return own if total <= whole else whole * own // total


class Turns:
    """The order of a leaf by namespace or user, by definition: one place after the other."""

    def __init__(self, reference: Reference, leaf: str) -> None:
        self.by_user = reference.tree[leaf].order is QueueOrder.USER
        self.weights = reference.tree[leaf].order_weights
        self.past = reference.inputs.requester_use.get(leaf, {})
        self.capacity: dict[str, int] = {}
        for key in reference.keys_of_root():
            self.capacity[key.resource] = self.capacity.get(key.resource, 0) + reference.capacity(key)
        self.now = [work for work in reference.work(leaf) if work.admission is not None]

    def who(self, work: Workload) -> str:
        namespace = work.key.split("/")[0]
        return work.user or f"system:serviceaccounts:{namespace}" if self.by_user else namespace

    def share(self, who: str, before: Sequence[Workload]) -> tuple[bool, Fraction]:
        """What `who` has used and uses, with what is before in the queue; six minutes of it, in milliseconds."""
        weight, shares = Fraction(self.weights.get(who, 1000), 1000), [Fraction(0)]
        for resource, whole in self.capacity.items():
            amount = self.past.get(who, {}).get(resource, 0)
            for work in before:
                amount += 360_000 * work.request.get(resource, 0) * (self.who(work) == who)
            for work in self.now:
                amount += 360_000 * _used_of(work, resource) * (self.who(work) == who)
            if whole > 0 and weight:
                shares.append(Fraction(amount, whole) / weight)
        return not weight, max(shares)

    def in_order(self, by_age: list[Workload]) -> list[Workload]:
        found: list[Workload] = []
        while len(found) < len(by_age):
            left = [work for work in by_age if work not in found]
            top = [work for work in left if work.priority == left[0].priority]
            found.append(min(top, key=lambda work: (*self.share(self.who(work), found), by_age.index(work))))
        return found


def _used_of(work: Workload, resource: str) -> int:
    admission = work.admission
    used = {} if admission is None else taken(work, admission.flavors)
    return sum(amount for key, amount in used.items() if key.resource == resource)


def scaled(whole: int, mins: Mapping[str, int]) -> dict[str, int]:
    """`whole` in proportion to `mins`, by largest remainder, ties by name."""
    total = sum(mins.values())
    parts = {name: whole * part // total for name, part in mins.items()}
    order = sorted(mins, key=lambda name: (-(whole * mins[name] % total), name))
    for name in order[: whole - sum(parts.values())]:
        parts[name] += 1
    return parts


def taken(work: Workload, flavors: Flavors) -> Mapping[FlavorResource, int]:
    """What all pod sets together take in these flavors."""
    total: Counter[FlavorResource] = Counter()
    for part in parts(work):
        for resource, flavor in flavors.get(part.name, {}).items():
            total[FlavorResource(flavor, resource)] += part.request.get(resource, 0)
    return total


def _admitted(work: Workload, key: FlavorResource) -> int:
    return 0 if work.admission is None else taken(work, work.admission.flavors).get(key, 0)


def _fits(way: Mapping[FlavorResource, int], left: Mapping[FlavorResource, int]) -> bool:
    return all(amount <= left[key] for key, amount in way.items())
