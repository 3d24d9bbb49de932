"""How groups, flavors and resources may be named, and how many a group may list.

See docs/specification.md §4.2.
"""

import re
from collections.abc import Iterator, Sequence

from shared.api.crds.budgets import MAX_BUDGETS
from shared.api.crds.parts import (
    LABEL_VALUE,
    MAX_ENTRIES,
    MAX_KEY,
    MAX_NAME,
    MAX_RESOURCES,
    MAX_WEIGHTS,
    NAME,
    RESOURCE_NAME,
)
from shared.api.names import COUNTS
from shared.quota.model.amounts.resolution import is_unknown
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules.findings import Violation
from shared.quota.model.tree import DEFAULT_FLAVOR, LIMITS, WRITTEN, Entry, Group, Override, Tree, Window

_NAME = re.compile(NAME, re.ASCII)
_RESOURCE = re.compile(RESOURCE_NAME, re.ASCII)
_VALUE = re.compile(LABEL_VALUE, re.ASCII)
_A_NAME = "a name is at most 63 lower-case letters, digits, - and ., and begins and ends with a letter or digit"


def of_group(name: str) -> str:
    """Return the group as a violation names it."""
    return f"QuotaGroup/{name}"


def amendments_of(group: Group) -> Iterator[tuple[str, Override | Window]]:
    """Yield each override and window, with where it stands in the object."""
    yield from ((f"spec.overrides[{at}]", each) for at, each in enumerate(group.overrides))
    yield from ((f"spec.windows[{at}]", each) for at, each in enumerate(group.windows))


def limits(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield every (written field, resource) of an entry."""
    for limit in LIMITS:
        unknown = (resource for resource in entry.percents.get(limit, ()) if is_unknown(entry, limit, resource))
        for resource in (*getattr(entry, limit), *unknown):
            yield WRITTEN[limit], resource


def placed(quotas: Sequence[Entry], field: str = "spec.quotas") -> Iterator[tuple[str, Entry]]:
    """Yield each entry of a list with where it is written: counts can stand among the resources of `default`."""
    flavors = [entry.flavor for entry in quotas]
    for at, entry in enumerate(quotas):
        is_among_others = entry.flavor == COUNTS and DEFAULT_FLAVOR in flavors
        yield f"{field}[{flavors.index(DEFAULT_FLAVOR) if is_among_others else at}]", entry


def has_too_many_entries(group: Group) -> bool:
    """Return whether it is illegal for the number of its entries: no other rule looks at each of them then."""
    return bool(group.quotas[MAX_ENTRIES:])


def children_to_sum(tree: Tree, parent: str) -> list[Group]:
    """Return the children of a parent, without those that have too many entries."""
    children = [tree[child] for child in tree.children(parent) if child != parent]
    return [child for child in children if not child.quotas[MAX_ENTRIES:]]


def is_name(text: str) -> bool:
    """Return whether `text` may name a group or flavor: a DNS subdomain that is also a label value."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


def is_resource_name(text: str) -> bool:
    """Return whether `text` may name a resource, or be a label's key: a qualified name."""
    return len(text) <= MAX_KEY and _RESOURCE.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Return whether `text` may be a label's value; it may be empty."""
    return _VALUE.fullmatch(text) is not None


def check_names(group: Group) -> Iterator[Violation]:
    """The group's own name, its parent's, its flavors' and its resources' are well-formed."""

    def bad(field: str, what: str, fix: str) -> Violation:
        return Violation("BadName", of_group(group.name), field, f"{what}; {fix}")

    if len(group.name) > MAX_NAME:
        what = f"name has {len(group.name)} characters"
        yield bad("metadata.name", what, f"a group's name is a label value: at most {MAX_NAME}")
    elif not is_name(group.name):
        yield bad("metadata.name", f'"{group.name}" is not a name', _A_NAME)
    if group.parent is not None and not is_name(group.parent):
        yield bad("spec.parent", f'parent "{shortened(group.parent)}" is not a name', _A_NAME)
    for field, entry in placed(group.quotas):
        if not is_name(entry.flavor):
            yield bad(f"{field}.flavor", f'flavor "{shortened(entry.flavor)}" is not a name', _A_NAME)
        for limit, resource in limits(entry):
            if not is_resource_name(resource):
                what = f'{limit} names a resource "{shortened(resource)}"'
                yield bad(f"{field}.{limit}", what, "write one such as cpu, memory or nvidia.com/gpu")


def check_flavor_name(flavor: Flavor) -> Iterator[Violation]:
    """A flavor's name is a label value, because workloads may request the flavor by label."""
    if len(flavor.name) > MAX_NAME:
        what = f"name has {len(flavor.name)} characters; a flavor's name is a label value: at most {MAX_NAME}"
        yield Violation("BadName", f"ResourceFlavor/{flavor.name}", "metadata.name", what)
    elif not is_name(flavor.name):
        message = f'"{flavor.name}" is not a name; {_A_NAME}'
        yield Violation("BadName", f"ResourceFlavor/{flavor.name}", "metadata.name", message)
    elif flavor.name == COUNTS:
        message = f"{COUNTS} stands for the flavor of pods and workloads, which have none; choose another name"
        yield Violation("BadName", f"ResourceFlavor/{flavor.name}", "metadata.name", message)


def check_counts(group: Group) -> Iterator[Violation]:
    """At most 64 entries of at most 64 resources, 16 budgets, and 200 weights in the order of a leaf."""
    if has_too_many_entries(group):
        message = f"has {len(group.quotas)} entries, at most {MAX_ENTRIES} are allowed; take some out"
        yield Violation("TooManyEntries", of_group(group.name), "spec.quotas", message)
    for field, entry in placed(group.quotas):
        if len(entry.covered) > MAX_RESOURCES:
            message = f"covers {len(entry.covered)} resources, at most {MAX_RESOURCES} are allowed; take some out"
            yield Violation("TooManyEntries", of_group(group.name), field, message)
    if len(group.budgets) > MAX_BUDGETS:
        message = f"has {len(group.budgets)} budgets, at most {MAX_BUDGETS} are allowed; take some out"
        yield Violation("TooManyEntries", of_group(group.name), "spec.budgets", message)
    if len(group.order_weights) > MAX_WEIGHTS:
        message = f"has {len(group.order_weights)} weights, at most {MAX_WEIGHTS} are allowed; take some out"
        yield Violation("TooManyEntries", of_group(group.name), "spec.queueing.weights", message)


def shortened(text: str) -> str:
    """`text`, shortened for a message."""
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 1]}…"
