"""Writes docs/rules.md from the registries of the rules: `python -m dev.generate.rules`."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from dev.generate.unjudged import unjudged_section
from shared.api.crds.definitions import flavor_definition, quotagroup_definition
from shared.quota.model.rules import flavors, registry
from shared.quota.model.rules.groups import selectors, timed
from shared.quota.model.rules.groups.rights import division, shares
from shared.quota.model.rules.workloads import changed_workload, children, fit, governed_kind, new_workload, object_size

SPECIFICATION: Final = Path(__file__).parents[2] / "docs/specification.md"
PAGE: Final = Path(__file__).parents[2] / "docs/rules.md"
_HEAD: Final = """\
# Rules

What Quotree refuses, and what it warns of; [section 4 of the specification](specification.md#4-rules) says what the
rules mean. One rule is one function with one code; the webhook, `quotree check`, the reconciler's re-check and the
tests call the same function. A refusal ends with its code in brackets, as does a warning.

Rules marked *schema* are also in the CRDs as CEL, with the same code: the API server itself refuses what breaks them,
before it calls the webhook. *schema, own words* means that the API server refuses it by the types and bounds of the
schema (a wrong type, a list that is too long), with a sentence of its own. The schema compares entries only in lists of
up to 16, and it compares quantities exactly, where the rule compares them rounded up to whole base units. Before
Kubernetes 1.34 the schema reads no amount, because the API server would reject it for its estimated cost: there, only
the webhook holds `BadQuantity`, `MinAboveMax` and `LendingLimitAboveMin`.

An edit is refused only for what it breaks or makes worse, never for what was broken before, so that an illegal tree
that was stored without the webhook can be fixed step by step. The answer warns of what such an edit leaves broken.

This page is written by `python -m dev.generate.rules`; a test compares it with the code.
"""
_KOORDINATOR: Final = "Koordinator, elastic quota: configuration limits"
_VOLCANO: Final = "Volcano, hierarchical queues: webhook"
_KEP_79: Final = "Kueue, KEP-79"
_CLUSTER_QUEUE: Final = "Kueue, ClusterQueue"
_KUBERNETES: Final = "Kubernetes' own grammar"
SOURCES: Final = {
    "BadField": "the CRD schema",
    "BadName": f"{_KUBERNETES}: a group's name is a label value",
    "TooManyEntries": "bounds of the CRD schema",
    "BadQuantity": f"{_KUBERNETES} of quantities",
    "MinAboveMax": _KOORDINATOR,
    "LendingLimitAboveMin": _KEP_79,
    "DuplicateFlavor": _CLUSTER_QUEUE,
    "OverlappingEntries": f"{_CLUSTER_QUEUE}: codependent resources",
    "BadNamespaceSelector": f"{_CLUSTER_QUEUE}: namespace selector",
    "BuiltInLocked": "Koordinator, elastic quota: system and default group",
    "SystemLocked": "Koordinator, elastic quota: system and default group",
    "BuiltInDeleted": "Koordinator, elastic quota: system and default group",
    "OwnParent": _KEP_79,
    "Cycle": f"{_KEP_79}: cycles stop a tree",
    "ParentIsLeaf": _KOORDINATOR,
    "FlavorNotInParent": _KOORDINATOR,
    "ResourceNotInParent": _KOORDINATOR,
    "SumOfMinExceedsParent": f"{_KOORDINATOR}; {_VOLCANO}",
    "FirstLevelAboveCapacity": f"{_KOORDINATOR} (the first level is exempt)",
    "DeletedWithChildren": _VOLCANO,
    "DeletedWithWork": _VOLCANO,
    "TurnedWithChildren": _KOORDINATOR,
    "TurnedWithWork": f"{_VOLCANO}; {_KOORDINATOR}",
    "MinBelowNonPreemptible": f"{_KOORDINATOR}: work that is not preemptible stays within min",
    "BadSchedule": "Debian's cron; Kubernetes' CronJob",
    "BadNodeLabel": _KUBERNETES,
    "BadTaint": _KUBERNETES,
    "DuplicateTaint": _KUBERNETES,
    "BadToleration": _KUBERNETES,
    "GroupNotLeaf": f"{_KOORDINATOR}; {_VOLCANO}",
    "GroupClosed": "Volcano, hierarchical queues: open and closed",
    "NamespaceNotAdmitted": f"{_CLUSTER_QUEUE}: namespace selector",
    "FlavorNotInGroup": _CLUSTER_QUEUE,
}
OWN_WORDS: Final = frozenset({"BadField", "TooManyEntries", "DuplicateFlavor", "BadTaint", "DuplicateTaint"})
RULES_TESTS: Final = "tests/shared/quota/model/rules"
WORK_TESTS: Final = "tests/shared/quota/model/workloads/test_work_rules.py"
WORK_WARNING_TESTS: Final = "tests/shared/quota/model/workloads/test_work_warnings.py"
EDIT_TESTS: Final = "tests/webhook/workloads/sorts/test_job_edits.py"
CHILD_TESTS: Final = "tests/webhook/workloads/governed/test_children.py"
SIZE_TESTS: Final = "tests/webhook/workloads/test_object_size.py"
KIND_TESTS: Final = "tests/shared/quota/model/test_kind_rules.py"
CHANGE_TESTS: Final = "tests/shared/quota/model/workloads/test_changed_work.py"
POD_TESTS: Final = "tests/webhook/workloads/sorts/test_pods.py"


class Row(NamedTuple):
    """One rule as the page shows it."""

    code: str
    check: Callable[..., Any]
    test: str
    says: str = ""

    @property
    def holds(self) -> str:
        """What the rule says: the first sentence of its function."""
        return self.says or " ".join((self.check.__doc__ or "").strip().split("\n\n")[0].split())

    @property
    def function(self) -> str:
        """Where it stands."""
        return f"{self.check.__module__.removeprefix('shared.quota.model.')}.{self.check.__name__}"


def group_rows() -> Iterator[Row]:
    """Rules about QuotaGroups."""
    for own in registry.OWN_RULES:
        yield from (Row(code, own.check, f"{RULES_TESTS}/own_cases.py") for code in own.codes)
    for of_time in registry.TIME_RULES:
        yield from (Row(code, of_time.check, f"{RULES_TESTS}/test_timed.py") for code in of_time.codes)
    for among in registry.TREE_RULES:
        if not among.only_warns:
            yield from (Row(code, among.check, f"{RULES_TESTS}/test_tree_rules.py") for code in among.codes)
    for change in registry.CHANGE_RULES:
        if not change.only_warns:
            yield from (Row(code, change.check, f"{RULES_TESTS}/{_test_of(code)}") for code in change.codes)
    yield Row("TooManyMoments", timed.check_moments, f"{RULES_TESTS}/test_many_moments.py")
    yield Row("TakesFromSiblings", shares.check_shares, f"{RULES_TESTS}/test_shares.py")
    yield Row("OutsideDivision", division.check_division, f"{RULES_TESTS}/test_division.py")


def _test_of(code: str) -> str:
    return "test_timed.py" if code == "OverrideInPast" else "test_life_rules.py"


def group_warnings() -> Iterator[Row]:
    """Warnings about QuotaGroups and ResourceFlavors."""
    for among in registry.TREE_RULES:
        if among.only_warns:
            yield from (Row(code, among.check, f"{RULES_TESTS}/test_tree_rules.py") for code in among.codes)
    for change in registry.CHANGE_RULES:
        if change.only_warns:
            yield from (Row(code, change.check, f"{RULES_TESTS}/test_life_rules.py") for code in change.codes)
    yield Row("UnlabelledFlavor", flavors.warn_unlabelled_beside_labelled, f"{RULES_TESTS}/test_life_rules.py")
    yield Row("AmbiguousFlavor", flavors.warn_flavors_of_the_same_nodes, f"{RULES_TESTS}/test_life_rules.py")
    yield Row("OpenGroups", selectors.warn_open_groups, "tests/cli/files/test_check.py")


def flavor_rows() -> Iterator[Row]:
    """Rules about ResourceFlavors."""
    for own in registry.FLAVOR_RULES:
        yield from (Row(code, own.check, f"{RULES_TESTS}/own_cases.py") for code in own.codes)
    yield Row("FlavorInUse", flavors.check_flavor_unused, f"{RULES_TESTS}/test_life_rules.py")


def work_rows() -> Iterator[Row]:
    """Rules about Jobs and pods."""
    for rule in new_workload.WORKLOAD_RULES:
        yield from (Row(code, rule.check, WORK_TESTS) for code in rule.codes)
    for code, check in changed_workload.EDIT_RULES.items():
        assert callable(check)  # noqa: S101
        yield Row(code, check, {"JobChanged": POD_TESTS, "GateRemoved": CHANGE_TESTS}.get(code, EDIT_TESTS))
    yield Row("ReservedLabel", children.check_unit, CHILD_TESTS)
    yield Row("ChildChanged", children.check_child_kept, CHILD_TESTS)
    yield Row("KindUnreadable", governed_kind.check_readable, KIND_TESTS)
    yield Row("KindRefused", governed_kind.check_governed_whole, KIND_TESTS)
    yield Row("ObjectTooLarge", object_size.check_size, SIZE_TESTS)


def work_warnings() -> Iterator[Row]:
    """Warnings about Jobs and pods."""
    for rule in new_workload.WARNINGS:
        yield from (Row(code, rule.check, WORK_WARNING_TESTS) for code in rule.codes)
    covered = "A requested resource is one that the group's entries cover; refused where the settings say so."
    fits = "The request could fit an empty tree; refused where the settings say so."
    yield Row("ResourceNotCovered", fit.find_misfits, WORK_WARNING_TESTS, covered)
    yield Row("NeverFits", fit.find_misfits, WORK_WARNING_TESTS, fits)
    node = "One pod fits a ready node of a flavor that has the quota for all; refused where the settings say so."
    yield Row("NoNodeFits", fit.find_misfits, WORK_WARNING_TESTS, node)


def page() -> str:
    """Return docs/rules.md as it should be."""
    parts = (
        ("QuotaGroup: refused", group_rows(), clauses()),
        ("QuotaGroup and ResourceFlavor: accepted with a warning", group_warnings(), clauses()),
        ("ResourceFlavor: refused", flavor_rows(), clauses("4.6 ")),
        ("Jobs and pods: refused", work_rows(), clauses()),
        ("Jobs and pods: accepted with a warning", work_warnings(), clauses()),
    )
    tables = (f"\n## {title}\n\n{_table(rows, clause_of)}" for title, rows, clause_of in parts)
    return _HEAD + "".join(tables) + unjudged_section()


def clauses(only: str = "") -> dict[str, str]:
    """code -> the clause of section 4 of the specification that says it, as a link; `only`: of this clause alone."""
    section = SPECIFICATION.read_text(encoding="utf-8").partition("\n## 4 ")[2].partition("\n## 5 ")[0]
    found: dict[str, str] = {}
    for clause in section.split("\n### ")[1:]:
        heading = clause.partition("\n")[0]
        if heading.startswith(only):
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            link = f"[§{heading.split()[0]}](specification.md#{anchor})"
            found = {**dict.fromkeys(re.findall(r"`([A-Z]\w+)`", clause), link), **found}
    return found


def _table(rows: Iterator[Row], clause_of: Mapping[str, str]) -> str:
    schema = f"{quotagroup_definition()} {flavor_definition()}"
    lines = ["| code | what holds | clause | function | also in | test | source |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        if row.code not in clause_of:
            raise LookupError(f"{row.code} is in no clause of section 4 of {SPECIFICATION.name}; write it there")
        twin = "schema" if f"({row.code})" in schema else ""
        twin = "schema, own words" if row.code in OWN_WORDS else twin
        source = SOURCES.get(row.code, "Quotree")
        place = f"{clause_of[row.code]} | `{row.function}`"
        lines.append(f"| `{row.code}` | {row.holds} | {place} | {twin} | `{row.test}` | {source} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
