"""Whether an edit of a ResourceFlavor is legal. Only its deletion depends on the groups, and is judged among edits."""

from dataclasses import dataclass
from typing import Final

from shared.api.review import Operation, Review
from shared.quota.model import rules
from shared.quota.model.flavor import Flavor
from shared.quota.model.group_reading import read_flavor
from shared.quota.model.rules import Context, Findings
from shared.quota.model.tree import Tree
from webhook.quota.possible_trees import PendingEdits, latest
from webhook.quota.quotagroups import EditOutcome, read_version

KIND: Final = "ResourceFlavor"


@dataclass(frozen=True, slots=True)
class FlavorEdit:
    """One edit of a flavor. `old` None: creation; `new` None: deletion."""

    id: str
    name: str
    uid: str
    base: str
    old: Flavor | None
    new: Flavor | None
    dry_run: bool = False

    @property
    def kind(self) -> str:
        """What it is an edit of."""
        return KIND

    @property
    def is_ordered(self) -> bool:
        """Whether it must be judged one after another with edits of groups: they may come to use it."""
        return self.new is None


def read_flavor_edit(review: Review) -> FlavorEdit:
    """The edit a review asks about. Raises Unreadable when its object is none."""
    new = read_flavor(review.object) if review.operation is not Operation.DELETE and review.has_object else None
    old = read_flavor(review.old_object) if review.operation is not Operation.CREATE and review.has_old_object else None
    of = read_version(review)
    base = of.resource_version if old else ""
    return FlavorEdit(review.uid, of.name or review.name, of.uid, base, old, new, review.dry_run)


def judge_flavor_alone(edit: FlavorEdit, tree: Tree, context: Context) -> Findings:
    """What is wrong with the edit beside this tree."""
    return rules.check_flavor_change(edit.old, edit.new, context, tree)


def judge_flavor_among(edit: FlavorEdit, pending: PendingEdits, context: Context) -> EditOutcome:
    """A deletion, in every tree that may come to be: a group that may come to use the flavor holds it."""
    now = judge_flavor_alone(edit, pending.stored, context)
    last = judge_flavor_alone(edit, pending.latest, context)
    if bool(now.violations) != bool(last.violations):
        return EditOutcome(now if now.violations else last, unsettled=True)
    if now.violations:
        return EditOutcome(now)
    users = (each for each in pending.open_edits if each.group is not None and each.group.entry(edit.name) is not None)
    for each in users:
        found = judge_flavor_alone(edit, latest(pending.stored, [each]), context)
        return EditOutcome(found, unsettled=True)
    return EditOutcome(now)
