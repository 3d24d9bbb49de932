"""Whether an edit of a QuotaGroup is legal: in the tree that is stored, and in every tree that may come to be.

Pure. An edit that leaves parent, isParent and quotas alone is judged by the rules alone; every other one also against
what was accepted and might not be stored yet.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from shared.api.review import Operation, Review
from shared.quota.model import rules
from shared.quota.model.group_reading import read_group
from shared.quota.model.rules import Context, Findings, Violation
from shared.quota.model.tree import Group, Tree
from webhook.quota.possible_trees import PendingEdit, PendingEdits, possible_trees

KIND: Final = "QuotaGroup"
UNDER_WAY: Final = "EditUnderWay"
"""The code of a refusal that depends on another edit."""


class _GroupMetadata(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class _GroupEnvelope(msgspec.Struct):
    metadata: _GroupMetadata


@dataclass(frozen=True, slots=True)
class GroupEdit:
    """One edit of a group. `old` None: creation; `new` None: deletion. `base`: the resourceVersion it starts from."""

    id: str
    name: str
    uid: str
    base: str
    old: Group | None
    new: Group | None
    dry_run: bool = False

    @property
    def kind(self) -> str:
        """What it is an edit of."""
        return KIND

    @property
    def is_ordered(self) -> bool:
        """Whether it must be judged one after another with others: it changes where groups hang or what they have."""
        old, new = self.old, self.new
        if old is None or new is None:
            return True
        return (old.parent, old.is_parent, old.quotas) != (new.parent, new.is_parent, new.quotas)


def read_edit(review: Review) -> GroupEdit:
    """The edit a review asks about. Raises Unreadable when its object is none."""
    new = read_group(review.object) if review.operation is not Operation.DELETE and review.has_object else None
    old = read_group(review.old_object) if review.operation is not Operation.CREATE and review.has_old_object else None
    of = read_version(review)
    return GroupEdit(
        review.uid, of.name or review.name, of.uid, of.resource_version if old else "", old, new, review.dry_run
    )


def read_version(review: Review) -> _GroupMetadata:
    """Name, uid and resourceVersion: of the stored object where there is one."""
    raw = review.old_object if review.has_old_object else review.object
    return msgspec.json.decode(raw, type=_GroupEnvelope).metadata


def judge_alone(edit: GroupEdit, tree: Tree, context: Context) -> Findings:
    """What is wrong with the edit in this one tree; of the group itself the edit's own old state counts."""
    before = tree.with_group(edit.old) if edit.old is not None else _without(tree, edit.name)
    after = before.with_group(edit.new) if edit.new is not None else _without(before, edit.name)
    return rules.check_change(before, after, edit.name, context)


def _without(tree: Tree, name: str) -> Tree:
    return tree.without(name) if name in tree else tree


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What is known of an ordered edit. `unsettled`: it depends on edits that might or might not be stored yet."""

    findings: Findings
    unsettled: bool = False

    @property
    def is_legal(self) -> bool:
        """Whether it may be stored."""
        return not self.findings.violations and not self.unsettled


def judge_among(edit: GroupEdit, pending: PendingEdits, leaving: frozenset[str], context: Context) -> EditOutcome:
    """The edit in every tree that may come to be; `leaving`: flavors whose deletion might not be stored yet.

    What is illegal in the stored tree and will be once all is stored is illegal; what is illegal in some is unsettled.
    """
    pending = pending.without(edit.name)
    last = judge_alone(edit, pending.latest, context)
    if last.violations:
        now = judge_alone(edit, pending.stored, context) if pending.open_edits else last
        return EditOutcome(now if now.violations else last, unsettled=not now.violations)
    clash = tuple(_newly_used(edit, pending.open_edits, leaving))
    if clash:
        return EditOutcome(Findings(clash), unsettled=True)
    for world in possible_trees(pending, edit.name, edit.new):
        found = judge_alone(edit, world, context)
        if found.violations:
            return EditOutcome(found, unsettled=True)
    return EditOutcome(last)


def _newly_used(edit: GroupEdit, others: Sequence[PendingEdit], leaving: frozenset[str]) -> Iterator[Violation]:
    """What the edit newly rests on and somebody is deleting: it would be deleted while in use."""
    if edit.new is None:
        return
    gone = {each.name for each in others if each.group is None}
    if edit.new.parent in gone and (edit.old is None or edit.old.parent != edit.new.parent):
        message = f"parent {edit.new.parent} is being deleted"
        yield Violation(UNDER_WAY, f"{KIND}/{edit.name}", "spec.parent", message)
    known = {entry.flavor for entry in edit.old.quotas} if edit.old is not None else set()
    for flavor in sorted({entry.flavor for entry in edit.new.quotas} & leaving - known):
        yield Violation(UNDER_WAY, f"{KIND}/{edit.name}", "spec.quotas", f"flavor {flavor} is being deleted")
