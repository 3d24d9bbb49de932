"""What a ResourceFlavor must obey: its labels, taints and tolerations, and that no group uses it when it is deleted.

See docs/specification.md §4.6.
"""

from collections.abc import Iterator, Mapping

from shared.api.core.placement import Toleration
from shared.api.crds.parts import MAX_ENTRIES
from shared.quota.model.flavor import Flavor, nodes_taken_by
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import is_label_value, is_resource_name, shortened
from shared.quota.model.rules.listing import listed
from shared.quota.model.tree import DEFAULT_FLAVOR, Tree

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def of_flavor(name: str) -> str:
    """Return the flavor as a violation names it."""
    return f"ResourceFlavor/{name}"


def check_flavor_shape(flavor: Flavor) -> Iterator[Violation]:
    """Every field was understood."""
    for unread in flavor.unread:
        yield Violation(unread.rule, of_flavor(flavor.name), unread.field, unread.message)


def check_flavor_counts(flavor: Flavor) -> Iterator[Violation]:
    """At most 64 labels, taints and tolerations each."""
    counts = (
        ("nodeLabels", len(flavor.node_labels)),
        ("nodeTaints", len(flavor.node_taints)),
        ("tolerations", len(flavor.tolerations)),
    )
    for field, count in counts:
        if count > MAX_ENTRIES:
            message = f"has {count} entries, at most {MAX_ENTRIES} are allowed; take some out"
            yield Violation("TooManyEntries", of_flavor(flavor.name), f"spec.{field}", message)


def check_node_labels(flavor: Flavor) -> Iterator[Violation]:
    """nodeLabels are labels that a node may carry."""
    for key, value in flavor.node_labels.items():
        if not is_resource_name(key):
            message = f'"{shortened(key)}" is not a label key; write one such as accelerator or example.com/model'
            yield Violation("BadNodeLabel", of_flavor(flavor.name), "spec.nodeLabels", message)
        if not is_label_value(value):
            message = f'"{shortened(value)}" is not a label value: at most 63 letters, digits, -, _ and .'
            yield Violation("BadNodeLabel", of_flavor(flavor.name), f"spec.nodeLabels[{key}]", message)


def check_taints(flavor: Flavor) -> Iterator[Violation]:
    """nodeTaints are taints that a node may carry."""
    for at, taint in enumerate(flavor.node_taints):
        field = f"spec.nodeTaints[{at}]"
        if not is_resource_name(taint.key):
            message = f'"{shortened(taint.key)}" is not a taint key; write one such as gpu or example.com/gpu'
            yield Violation("BadTaint", of_flavor(flavor.name), f"{field}.key", message)
        if not is_label_value(taint.value):
            message = f'"{shortened(taint.value)}" is not a taint value: at most 63 letters, digits, -, _ and .'
            yield Violation("BadTaint", of_flavor(flavor.name), f"{field}.value", message)
        if taint.effect not in EFFECTS:
            message = f'effect is "{shortened(taint.effect)}"; write one of {", ".join(EFFECTS)}'
            yield Violation("BadTaint", of_flavor(flavor.name), f"{field}.effect", message)


def check_taints_differ(flavor: Flavor) -> Iterator[Violation]:
    """No two taints have the same key and effect."""
    first: dict[tuple[str, str], int] = {}
    for at, taint in enumerate(flavor.node_taints):
        known = first.setdefault((taint.key, taint.effect), at)
        if known != at:
            message = f"taint {taint.key}:{taint.effect} is nodeTaints[{known}] already; take one of them out"
            yield Violation("DuplicateTaint", of_flavor(flavor.name), f"spec.nodeTaints[{at}]", message)


def check_tolerations(flavor: Flavor) -> Iterator[Violation]:
    """tolerations are ones that a pod may have."""
    for at, toleration in enumerate(flavor.tolerations):
        for message in _toleration_problems(toleration):
            yield Violation("BadToleration", of_flavor(flavor.name), f"spec.tolerations[{at}]", message)


def _toleration_problems(toleration: Toleration) -> Iterator[str]:
    if toleration.operator not in ("Exists", "Equal"):
        yield f'operator is "{shortened(toleration.operator)}"; write Exists or Equal'
    if not toleration.key and toleration.operator != "Exists":
        yield "a toleration without key tolerates every taint; give it operator: Exists, or a key"
    if toleration.key and not is_resource_name(toleration.key):
        yield f'"{shortened(toleration.key)}" is not a taint key; write one such as gpu or example.com/gpu'
    if toleration.operator == "Exists" and toleration.value:
        yield "operator Exists takes no value; take value out"
    if not is_label_value(toleration.value):
        yield f'"{shortened(toleration.value)}" is not a taint value: at most 63 letters, digits, -, _ and .'
    if toleration.effect and toleration.effect not in EFFECTS:
        yield f'effect is "{shortened(toleration.effect)}"; write one of {", ".join(EFFECTS)}, or leave it out'
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        yield "tolerationSeconds needs effect: NoExecute"


def _users(flavor: str, tree: Tree) -> list[str]:
    return sorted(group.name for group in tree.groups.values() if group.entry(flavor) is not None)


def check_flavor_unused(name: str, tree: Tree) -> Iterator[Violation]:
    """A flavor that a group uses is not deleted."""
    users = _users(name, tree)
    if users:
        message = f"cannot be deleted while groups use it ({listed(users)}); take its entries out of them first"
        yield Violation("FlavorInUse", of_flavor(name), "", message)


def warn_flavors_of_the_same_nodes(flavors: Mapping[str, Flavor], tree: Tree, context: Context) -> Iterator[Violation]:
    """Warn of flavors with the same nodeLabels, or with none: a node counts for one of them, the others get none."""
    if not context.counts_nodes:
        return
    for name, taker in sorted(nodes_taken_by(flavors.values()).items()):
        if name == DEFAULT_FLAVOR and not _users(name, tree):
            continue  # the built-in flavor of clusters that do not need it
        same = "the same nodeLabels as" if flavors[name].node_labels else "no nodeLabels, like"
        message = (
            f"has {same} {taker}: a node counts for one flavor, so all count for {taker} and none for {name}; "
            f"give it nodeLabels of its own, or use {taker} in its place"
        )
        yield Violation("AmbiguousFlavor", of_flavor(name), "spec.nodeLabels", message)


def warn_unlabelled_beside_labelled(flavors: Mapping[str, Flavor]) -> Iterator[Violation]:
    """An unlabelled flavor beside labelled ones without taints: its workloads might run on their nodes."""
    unlabelled = sorted(name for name, flavor in flavors.items() if not flavor.node_labels)
    open_ones = sorted(name for name, flavor in flavors.items() if flavor.node_labels and not flavor.node_taints)
    for name in unlabelled if open_ones else ():
        message = (
            f"has no nodeLabels, and the nodes of {listed(open_ones)} have no taint: workloads of {name} "
            f"might run on them; taint those nodes, or give {name} a label"
        )
        yield Violation("UnlabelledFlavor", of_flavor(name), "spec.nodeLabels", message)
