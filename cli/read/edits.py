"""An edit as `kubectl apply` makes it: object by object, in the order of the files, each judged where it comes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cli.read.findings import context_of
from cli.read.manifests import Manifest
from cli.read.questions import Question
from cli.read.workloads import read_tree
from shared.api.json.reading import Unreadable
from shared.quota.model import rules
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_flavor_manifest, read_group_manifest
from shared.quota.model.rules import Context, Violation
from shared.quota.model.tree import Group, Tree
from shared.resources import Amount, FlavorResource

ORDER = "the objects are applied in the order of the files, as kubectl does"


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """The objects that are accepted, in their order, and why the others are refused."""

    accepted: tuple[Manifest, ...]
    refused: tuple[Violation, ...]


def apply_in_order(
    before: Question, capacity: Mapping[FlavorResource, Amount] | None, edits: Sequence[Manifest], now: datetime
) -> AppliedEdit:
    """Judge each QuotaGroup on the tree that the objects before it leave; a refused one changes nothing.

    A refused one that would be accepted after all others says so: its place in the files is wrong, not its content.
    """
    tree = read_tree(before.objects, before.workloads)
    context = replace(context_of(before.objects, before.workloads, before.settings, capacity), now=now)
    accepted: list[Manifest] = []
    refused: list[tuple[Group, tuple[Violation, ...]]] = []
    for manifest in edits:
        read = _read(manifest)
        if isinstance(read, Flavor):
            context = replace(context, flavors={**context.flavors, read.name: read})
        elif isinstance(read, Group):
            violations = _violations(tree, read, context)
            if violations:
                refused.append((read, violations))
                continue
            tree = tree.with_group(read)
        accepted.append(manifest)
    return AppliedEdit(
        tuple(accepted),
        tuple(
            violation
            for group, violations in refused
            for violation in (
                violations if _violations(tree, group, context) else (_misplaced(each, group) for each in violations)
            )
        ),
    )


def _read(manifest: Manifest) -> Group | Flavor | None:
    """Return the quota object; None for others, and for one that cannot be read, which is said elsewhere."""
    try:
        if manifest.kind == "QuotaGroup":
            return read_group_manifest(manifest.body)
        if manifest.kind == "ResourceFlavor":
            return read_flavor_manifest(manifest.body)
    except Unreadable:
        pass
    return None


def _violations(tree: Tree, group: Group, context: Context) -> tuple[Violation, ...]:
    return rules.check_change_over_time(tree, tree.with_group(group), group.name, context).violations


def _misplaced(violation: Violation, group: Group) -> Violation:
    what = f"QuotaGroup {group.name!r} comes too early: {ORDER}; after the others it is accepted: move it down"
    return replace(violation, message=f"{violation.message}; {what}, or apply twice")
