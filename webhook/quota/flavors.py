"""Whether an edit of a ResourceFlavor is legal. Only its deletion depends on groups, and is serialised. Pure."""

from shared.quota.model import rules
from shared.quota.model.rules import Context, Findings
from shared.quota.model.tree import Tree
from webhook.quota.edits import FlavorEdit
from webhook.quota.left_out import judge_without_faulty
from webhook.quota.possible_trees import PendingEdits, latest
from webhook.quota.quotagroups import EditOutcome


def judge_flavor_alone(edit: FlavorEdit, tree: Tree, context: Context) -> Findings:
    """Return the violations of the edit in this one tree."""

    def judge(stored: Tree, known: Context) -> Findings:
        return rules.check_flavor_change(edit.old, edit.new, known, stored)

    return judge_without_faulty(judge, tree, context, edit.name)


def judge_flavor_among(edit: FlavorEdit, pending: PendingEdits, context: Context) -> EditOutcome:
    """Return the violations of a deletion in every possible tree: a group that might use the flavor prevents it."""
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
