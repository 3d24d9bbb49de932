"""What one group's own numbers must obey, each entry for itself and all entries together.

See docs/specification.md §4.2.
"""

from collections.abc import Iterator

from shared.api.json.unread import BAD_FIELD, BAD_QUANTITY
from shared.api.names import COUNTED, COUNTS
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import limits, of_group, placed, shortened
from shared.quota.model.rules.groups.numbers.percents import is_above, written
from shared.quota.model.tree import LIMITS, WRITTEN, Entry, Group
from shared.resources import MAX_AMOUNT, OUT_OF_RANGE, FlavorResource, write_quantity


def check_shape(group: Group) -> Iterator[Violation]:
    """Every field was understood: no unknown field, no wrong type, no value outside its list."""
    for unread in group.unread:
        if unread.rule == BAD_FIELD:
            yield Violation(BAD_FIELD, of_group(group.name), unread.field, unread.message)


def check_quantities(group: Group) -> Iterator[Violation]:
    """Every quantity is valid, and 0 ≤ q < 2^63 base units."""
    for unread in group.unread:
        if unread.rule == BAD_QUANTITY:
            yield Violation(BAD_QUANTITY, of_group(group.name), unread.field, unread.message)
    for field, entry in placed(group.quotas):
        for limit in LIMITS:
            for resource, amount in getattr(entry, limit).items():
                if not 0 <= amount <= MAX_AMOUNT:
                    message = f"{WRITTEN[limit]} of {resource}: {write_quantity(resource, amount)} {OUT_OF_RANGE}"
                    yield Violation(BAD_QUANTITY, of_group(group.name), f"{field}.{WRITTEN[limit]}", message)


def check_min_within_max(group: Group) -> Iterator[Violation]:
    """min ≤ max, where both are given."""
    for field, entry in placed(group.quotas):
        for resource in entry.named("min"):
            if resource in entry.named("max") and is_above(entry, "min", "max", resource):
                message = _above(entry, "min", "max", resource)
                yield Violation("MinAboveMax", of_group(group.name), f"{field}.min", message)


def check_lending_within_min(group: Group) -> Iterator[Violation]:
    """lendingLimit ≤ min; an absent min counts 0."""
    for field, entry in placed(group.quotas):
        for resource in entry.named("lending_limit"):
            if is_above(entry, "lending_limit", "min", resource):
                message = _above(entry, "lending_limit", "min", resource)
                yield Violation("LendingLimitAboveMin", of_group(group.name), f"{field}.lendingLimit", message)


def _above(entry: Entry, small: str, large: str, resource: str) -> str:
    now, most = written(entry, small, resource), written(entry, large, resource)
    key, low, high = FlavorResource(entry.flavor, resource), WRITTEN[small], WRITTEN[large]
    return f"{low} of {key} is {now}, {high} is {most}; lower {low} to {most} or raise {high} to {now}"


def check_covered(group: Group) -> Iterator[Violation]:
    """Each resource in a limit or weight is one that the entry's min or max names."""
    for field, entry in placed(group.quotas):
        covered = entry.covered
        for limit, resource in limits(entry):
            if resource not in covered:
                message = (
                    f"{limit} names {resource}, which the entry of {entry.flavor} does not cover; "
                    f"name it in min or max, or take it out of {limit}"
                )
                yield Violation("UncoveredResource", of_group(group.name), f"{field}.{limit}", message)


def check_counts_without_flavor(group: Group) -> Iterator[Violation]:
    """Pods and workloads have no flavor: they are named in the entry without one."""
    for field, entry in placed(group.quotas):
        named = sorted(entry.covered.intersection(COUNTED))
        if named and entry.flavor != COUNTS:
            message = (
                f"names {' and '.join(named)} of flavor {shortened(entry.flavor)}, and counts have none: "
                "name them in an entry without flavor"
            )
            yield Violation("CountOfFlavor", of_group(group.name), field, message)


def check_flavors_differ(group: Group) -> Iterator[Violation]:
    """No flavor has two entries."""
    first: dict[str, int] = {}
    for at, entry in enumerate(group.quotas):
        if entry.flavor in first and entry.flavor != COUNTS:
            message = f"flavor {entry.flavor} has entry {first[entry.flavor]} already; join both into one"
            yield Violation("DuplicateFlavor", of_group(group.name), f"spec.quotas[{at}].flavor", message)
        first.setdefault(entry.flavor, at)


def check_codependent(group: Group) -> Iterator[Violation]:
    """Two entries cover the same resources, or none in common: resources that share a flavor come from one machine."""
    for at, entry in enumerate(group.quotas):
        for earlier in group.quotas[:at]:
            both = entry.covered & earlier.covered
            if both and entry.covered != earlier.covered:
                message = (
                    f"{entry.flavor} covers {_listed(entry.covered)}, {earlier.flavor} covers "
                    f"{_listed(earlier.covered)}; two entries cover the same resources or none in common: "
                    f"give both the same, or take {_listed(both)} out of one"
                )
                yield Violation("OverlappingEntries", of_group(group.name), f"spec.quotas[{at}]", message)
                break


def _listed(resources: frozenset[str]) -> str:
    names = sorted(resources)
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:8])} and {len(names) - 8} more"
