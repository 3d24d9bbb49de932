"""All rules: code, function, the fields it reads, and the groups it is run for after an edit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import flavors
from shared.quota.model.rules.context import Context, TreeEdit
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups import budgets, hierarchy, lifecycle, maxima, names, queueing, selectors, timed
from shared.quota.model.rules.groups.numbers import percents, quantities, sums
from shared.quota.model.tree import ROOT, Group, Tree

Reads = frozenset[str]
"""Fields of a group. All of them change when it is created or deleted, and its name only then."""
NAME: Final[Reads] = frozenset({"name"})
QUOTAS: Final[Reads] = frozenset({"quotas"})
PARENT: Final[Reads] = frozenset({"parent"})
KIND: Final[Reads] = frozenset({"is_parent"})
OVERRIDES: Final[Reads] = frozenset({"reclaim", "startup", "patience", "max_run_time"})
BUDGETS: Final[Reads] = frozenset({"budgets"})
UNREAD: Final[Reads] = frozenset({"unread"})
TIMED: Final[Reads] = frozenset({"overrides", "windows"})


@dataclass(frozen=True, slots=True)
class OwnRule:
    """A rule about one group alone. The CRD schema has a CEL twin of it."""

    codes: tuple[str, ...]
    check: Callable[[Group], Iterable[Violation]]
    reads: Reads


@dataclass(frozen=True, slots=True)
class TreeRule:
    """A rule about a group among others: which groups it concerns after an edit, and which in a whole tree."""

    codes: tuple[str, ...]
    check: Callable[[Tree, str, Context], Iterable[Violation]]
    reads: Reads
    concerns: Callable[[TreeEdit], Iterable[str]]
    everywhere: Callable[[Tree, Context], Iterable[str]]
    only_warns: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """A rule about an edit itself, which the tree after the edit does not show."""

    codes: tuple[str, ...]
    check: Callable[[TreeEdit, Context], Iterable[Violation]]
    reads: Reads
    only_warns: bool = False


@dataclass(frozen=True, slots=True)
class FlavorRule:
    """A rule about one flavor alone."""

    codes: tuple[str, ...]
    check: Callable[[Flavor], Iterable[Violation]]


def itself(change: TreeEdit) -> Iterator[str]:
    """Yield the edited group if it exists after the edit."""
    if change.new is not None:
        yield change.name


def itself_and_children(change: TreeEdit) -> Iterator[str]:
    """Yield the edited group and those that name it their parent."""
    if change.new is not None:
        yield change.name
        yield from (child for child in change.after.children(change.name) if child != change.name)


def itself_and_percents_below(change: TreeEdit) -> Iterator[str]:
    """Yield the edited group and, if some group has percents, its children, of which it may take the base."""
    return itself_and_children(change) if change.after.has_percents else itself(change)


def itself_and_poorer_children(change: TreeEdit) -> Iterator[str]:
    """Yield the edited group, and its children if it is new or covers less than before."""
    old, new = change.old, change.new
    if new is None:
        return
    yield change.name
    if old is None or any(not entry.covered <= _covered(new, entry.flavor) for entry in old.quotas):
        yield from (child for child in change.after.children(change.name) if child != change.name)


def _covered(group: Group, flavor: str) -> frozenset[str]:
    entry = group.entry(flavor)
    return frozenset() if entry is None else entry.covered


def its_parent(change: TreeEdit) -> Iterator[str]:
    """Yield the parent of the edited group."""
    if change.new is not None and change.new.parent is not None:
        yield change.new.parent


def parents(change: TreeEdit) -> Iterator[str]:
    """Yield the parents whose children's sum the edit may have changed: the old one, the new one, the group itself."""
    found = {change.name} if change.new is not None else set()
    found.update(group.parent for group in (change.old, change.new) if group is not None and group.parent is not None)
    yield from sorted(found)


def all_groups(tree: Tree, _context: Context) -> Iterable[str]:
    """Return the names of all groups, sorted."""
    return sorted(tree.groups)


def all_parents(tree: Tree, _context: Context) -> Iterable[str]:
    """Return the names of all groups that others name as parent, sorted."""
    return sorted(name for name in tree.groups if tree.children(name))


OWN_RULES: Final = (
    OwnRule(("BadField",), quantities.check_shape, UNREAD),
    OwnRule(("BadName",), names.check_names, NAME | PARENT | QUOTAS),
    OwnRule(("TooManyEntries",), names.check_counts, QUOTAS | BUDGETS | frozenset({"order_weights"})),
    OwnRule(("BadQuantity",), quantities.check_quantities, QUOTAS | UNREAD),
    OwnRule(("BadWeight",), queueing.check_order_weights, frozenset({"order_weights"})),
    OwnRule(("MinAboveMax",), quantities.check_min_within_max, QUOTAS),
    OwnRule(("LendingLimitAboveMin",), quantities.check_lending_within_min, QUOTAS),
    OwnRule(("UncoveredResource",), quantities.check_covered, QUOTAS),
    OwnRule(("CountOfFlavor",), quantities.check_counts_without_flavor, QUOTAS),
    OwnRule(("DuplicateFlavor",), quantities.check_flavors_differ, QUOTAS),
    OwnRule(("OverlappingEntries",), quantities.check_codependent, QUOTAS),
    OwnRule(("OwnParent",), hierarchy.check_not_own_parent, NAME | PARENT),
    OwnRule(("BadNamespaceSelector",), selectors.check_selector, frozenset({"namespace_selector"})),
    OwnRule(("BadBudget",), budgets.check_budgets, NAME | BUDGETS),
    OwnRule(("DuplicateBudget",), budgets.check_budgets_differ, BUDGETS),
    OwnRule(("BuiltInLocked",), lifecycle.check_built_in_locked, NAME | PARENT | KIND | QUOTAS),
    OwnRule(("TooManyEntries",), timed.check_number_of_times, TIMED),
    OwnRule(("OverrideEndsTooEarly",), timed.check_overrides, TIMED),
    OwnRule(("OverridesOverlap",), timed.check_overrides_apart, TIMED),
    OwnRule(("BadOverride",), timed.check_says_something, TIMED),
)
TIME_RULES: Final = (
    OwnRule(("BadSchedule", "UnknownTimeZone"), timed.check_times_read, UNREAD),
    OwnRule(("BadWindow",), timed.check_windows, TIMED),
    OwnRule(("UncoveredResource", "DuplicateFlavor"), timed.check_amended, TIMED | QUOTAS),
    OwnRule(("BadBudget",), budgets.check_amended_budgets, TIMED | BUDGETS),
)
"""Rules about one object alone without a twin: CEL has no calendar, and would cost too much here."""
TREE_RULES: Final = (
    TreeRule(("Cycle",), hierarchy.check_no_cycle, PARENT, itself, lambda tree, _: hierarchy.cycle_heads(tree)),
    TreeRule(("ParentIsLeaf",), hierarchy.check_parent_holds_groups, PARENT | KIND, itself_and_children, all_groups),
    TreeRule(("TooDeep",), hierarchy.check_depth, PARENT, itself, hierarchy.first_too_deep),
    TreeRule(
        ("FlavorNotInParent", "ResourceNotInParent"),
        hierarchy.check_covered_by_parent,
        PARENT | QUOTAS,
        itself_and_poorer_children,
        all_groups,
    ),
    TreeRule(("SumOfMinExceedsParent",), sums.check_sum_of_min, PARENT | QUOTAS, parents, all_parents),
    TreeRule(("PercentsExceedParent",), percents.check_sum_of_percents, PARENT | QUOTAS, parents, all_parents),
    TreeRule(
        ("PercentOfNothing",),
        percents.check_percent_of_something,
        PARENT | QUOTAS,
        itself_and_percents_below,
        all_groups,
    ),
    TreeRule(("AboveMaximum",), maxima.check_maxima, OVERRIDES, itself, all_groups),
    TreeRule(("ParentAbsent",), hierarchy.warn_parent_absent, PARENT, itself, all_groups, only_warns=True),
    TreeRule(("FlavorAbsent",), hierarchy.warn_flavor_absent, QUOTAS, itself, all_groups, only_warns=True),
    TreeRule(
        ("PercentOfNoNode",),
        percents.warn_percent_of_no_node,
        PARENT | QUOTAS,
        itself,
        all_groups,
        only_warns=True,
    ),
    TreeRule(
        ("FirstLevelAboveCapacity",),
        sums.warn_first_level_above_capacity,
        PARENT | QUOTAS,
        parents,
        lambda _tree, _context: (ROOT,),
        only_warns=True,
    ),
    TreeRule(
        ("UnusedWeight",),
        queueing.warn_unused_weights,
        KIND | frozenset({"order", "order_weights"}),
        itself,
        all_groups,
        only_warns=True,
    ),
    TreeRule(("UnusedBudget",), budgets.warn_unused_budget, QUOTAS | BUDGETS, itself, all_groups, only_warns=True),
    TreeRule(("WeightOnSome",), sums.warn_weight_on_some, PARENT | QUOTAS, its_parent, all_parents, only_warns=True),
)
CHANGE_RULES: Final = (
    ChangeRule(("BuiltInDeleted",), lifecycle.check_built_in_kept, NAME),
    ChangeRule(("DeletedWithChildren",), lifecycle.check_no_children_on_delete, NAME),
    ChangeRule(("DeletedWithWork",), lifecycle.check_no_work_on_delete, NAME),
    ChangeRule(("TurnedWithChildren",), lifecycle.check_no_children_on_turning, KIND),
    ChangeRule(("TurnedWithWork",), lifecycle.check_no_work_on_turning, KIND),
    ChangeRule(("SystemLocked",), lifecycle.check_system_untouched, frozenset(lifecycle.SETTINGS)),
    ChangeRule(("OverrideInPast",), timed.check_not_past, TIMED),
    ChangeRule(("MinBelowNonPreemptible",), lifecycle.warn_min_below_non_preemptible, QUOTAS, only_warns=True),
)
FLAVOR_RULES: Final = (
    FlavorRule(("BadField",), flavors.check_flavor_shape),
    FlavorRule(("BadName",), names.check_flavor_name),
    FlavorRule(("TooManyEntries",), flavors.check_flavor_counts),
    FlavorRule(("BadNodeLabel",), flavors.check_node_labels),
    FlavorRule(("BadTaint",), flavors.check_taints),
    FlavorRule(("DuplicateTaint",), flavors.check_taints_differ),
    FlavorRule(("BadToleration",), flavors.check_tolerations),
)
