"""Whether an edit of a QuotaGroup is legal: in the stored tree, and in every tree that is possible next. Pure.

An edit that leaves parent, isParent, quotas, overrides and windows alone is judged by the rules alone; every other one
also against accepted edits that might not be stored yet, and at every later moment at which another tree is in force.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from shared.quota.model import rules
from shared.quota.model.in_force import group_in_force
from shared.quota.model.in_force.instants import MOST, instants
from shared.quota.model.rules import Context, Findings, Violation
from shared.quota.model.rules.groups.timed import check_moments
from shared.quota.model.rules.over_time import at_moment, at_worst, family_of
from shared.quota.model.tree import Group, Tree
from webhook.quota.edits import GROUP, GroupEdit
from webhook.quota.left_out import judge_without_faulty
from webhook.quota.possible_trees import PendingEdit, PendingEdits, possible_trees

UNDER_WAY: Final = "EditUnderWay"
"""The code of a refusal that depends on another edit."""


def judge_alone(edit: GroupEdit, tree: Tree, context: Context) -> Findings:
    """Return the violations of the edit in this one tree, which has the group's previous state."""
    before = tree.with_group(edit.old) if edit.old is not None else _without(tree, edit.name)

    def judge(stored: Tree, known: Context) -> Findings:
        after = stored.with_group(edit.new) if edit.new is not None else _without(stored, edit.name)
        return rules.check_change(stored, after, edit.name, known)

    return judge_without_faulty(judge, before, context, edit.name)


def _without(tree: Tree, name: str) -> Tree:
    return tree.without(name) if name in tree else tree


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """The outcome of an ordered edit. `unsettled`: it depends on edits that might not be stored yet."""

    findings: Findings
    unsettled: bool = False

    @property
    def is_legal(self) -> bool:
        """Whether the edit can be stored."""
        return not self.findings.violations and not self.unsettled


def judge_over_time(edit: GroupEdit, pending: PendingEdits, leaving: frozenset[str], context: Context) -> EditOutcome:
    """Judge the edit in every possible tree, as it will be in force at every moment from now on.

    Of several moments at which it is illegal, the first is reported; warnings are those of now.
    """
    if context.now is None or edit.new is None:
        return judge_among(edit, pending, leaving, context)
    groups = tuple(_compared(edit, edit.new, pending))
    names = {group.name for group in groups}
    first: EditOutcome | None = None
    moments = instants(groups, context.now)
    if too_many := tuple(check_moments(edit.old, edit.new, moments)):
        if not _is_always_legal(edit, pending, leaving, context, groups):
            return EditOutcome(Findings(too_many))
        moments = moments[:1]
    for moment in moments:
        outcome = judge_among(_edit_at(edit, moment), pending.at(moment, names), leaving, context)
        first = first or outcome
        if not outcome.is_legal:
            others = tuple(group for group in groups if group is not edit.old)
            broken = tuple(at_moment(each, moment, context.now, others) for each in outcome.findings.violations)
            return EditOutcome(Findings(broken, first.findings.warnings), outcome.unsettled)
    return first or judge_among(edit, pending, leaving, context)


def _is_always_legal(
    edit: GroupEdit, pending: PendingEdits, leaving: frozenset[str], context: Context, groups: Sequence[Group]
) -> bool:
    """Return whether the edit is legal however the others are amended; False where only their moments tell."""
    others = [each for each in groups if each is not edit.old and each is not edit.new]
    if context.now is None or edit.new is None or (worst := at_worst(edit.old, edit.new, others, context.now)) is None:
        return False
    pending = pending.each_as(worst, {each.name for each in others})
    moments = instants([each for each in (edit.old, edit.new) if each is not None], context.now)
    return len(moments) <= MOST and all(
        judge_among(_edit_at(edit, moment), pending, leaving, context).is_legal for moment in moments
    )


def _compared(edit: GroupEdit, new: Group, pending: PendingEdits) -> Iterator[Group]:
    """Yield every state of each group with which the edited one is compared, itself included, as it was as well."""
    yield new
    if edit.old is not None:
        yield edit.old
    trees = (pending.stored, pending.latest, pending.latest.with_group(new))
    names = family_of(edit.name, trees) - {edit.name}
    yield from (pending.stored[name] for name in sorted(names) if name in pending.stored)
    yield from (each.group for each in pending.open_edits if each.group is not None and each.name != edit.name)


def _edit_at(edit: GroupEdit, moment: datetime) -> GroupEdit:
    old, new = (each and group_in_force(each, moment) for each in (edit.old, edit.new))
    return edit if (old, new) == (edit.old, edit.new) else replace(edit, old=old, new=new)


def judge_among(edit: GroupEdit, pending: PendingEdits, leaving: frozenset[str], context: Context) -> EditOutcome:
    """Judge the edit in every possible tree. `leaving`: flavors whose deletion might not be stored yet.

    An edit that is illegal both in the stored tree and once everything is stored is illegal; one that is illegal only
    in some trees is unsettled.
    """
    pending = pending.without(edit.name)
    last = judge_alone(edit, pending.latest, context)
    if last.violations:
        now = judge_alone(edit, pending.stored, context) if pending.open_edits else last
        return EditOutcome(now if now.violations else last, unsettled=not now.violations)
    clash = tuple(_newly_used(edit, pending.open_edits, leaving))
    if clash:
        return EditOutcome(Findings(clash), unsettled=True)
    for tree in possible_trees(pending, edit.name, edit.new):
        found = judge_alone(edit, tree, context)
        if found.violations:
            return EditOutcome(found, unsettled=True)
    return EditOutcome(last)


def _newly_used(edit: GroupEdit, others: Sequence[PendingEdit], leaving: frozenset[str]) -> Iterator[Violation]:
    """Yield the flavors under deletion that the edit starts to use."""
    if edit.new is None:
        return
    gone = {each.name for each in others if each.group is None}
    if edit.new.parent in gone and (edit.old is None or edit.old.parent != edit.new.parent):
        message = f"parent {edit.new.parent} is being deleted"
        yield Violation(UNDER_WAY, f"{GROUP}/{edit.name}", "spec.parent", message)
    known = {entry.flavor for entry in edit.old.quotas} if edit.old is not None else set()
    for flavor in sorted({entry.flavor for entry in edit.new.quotas} & leaving - known):
        yield Violation(UNDER_WAY, f"{GROUP}/{edit.name}", "spec.quotas", f"flavor {flavor} is being deleted")
