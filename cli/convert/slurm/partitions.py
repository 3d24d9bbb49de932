"""Slurm's partitions as flavors: one for each, or for each set of features that nodes of it have.

`scontrol show partition` says which accounts may use a partition, `scontrol show node` which features its nodes have.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from cli.convert.conversion import Conversion
from cli.convert.draft import QuotaGroupDraft
from cli.convert.slurm.records import SlurmRecord
from shared.api.names import API_VERSION, COUNTS
from shared.quota.model.tree import DEFAULT_FLAVOR

PARTITION_LABEL: Final = "slurm/partition"
FEATURE_LABEL: Final = "slurm/feature-"
_ALL: Final = ("", "ALL", "(null)")
_UNBOUND: Final = frozenset({"", "0", "1", "ALL", "NONE", "NO", "N/A", "(null)", "UNLIMITED", "INFINITE", "UP", "OFF"})
_LIMITS: Final = (
    "AllowGroups", "AllowQos", "DenyQos", "QoS", "MaxTime", "MaxNodes", "MinNodes", "MaxCPUsPerNode", "MaxMemPerNode",
    "MaxMemPerCPU", "PriorityTier", "PriorityJobFactor", "PreemptMode", "State",
)  # fmt: skip
_TOGETHER: Final = "bounds all partitions together; here each of the flavors {} has that max by itself"


def convert_partitions(records: Sequence[SlurmRecord], made: Conversion) -> Mapping[str, tuple[str, ...]]:
    """Add the flavors of every partition; return partition → its flavors, the default partition's first."""
    partitions = sorted(_of_kind(records, "Partition"), key=lambda each: each.options.get("Default") != "YES")
    nodes = _of_kind(records, "Node")
    found: dict[str, tuple[str, ...]] = {}
    for record in partitions:
        features = dict.fromkeys(_features(each) for each in nodes if record.name in _listed(each, "Partitions"))
        sets = [*features] if len(features) > 1 else [()]
        found[record.name] = tuple(_flavor(record.name, each, made) for each in sets)
        where = record.options.get("Nodes", "")
        label = f"{PARTITION_LABEL}={record.name}"
        text = f"label the nodes of the partition ({where}) {label}, and jobs of --partition quotree.dev/flavor"
        made.note(record.manifest, "Nodes", text if len(sets) == 1 else f"{text}; features are labels {FEATURE_LABEL}…")
        for key in _LIMITS:
            if record.options.get(key, "") not in _UNBOUND:
                made.note(record.manifest, key, f"{record.options[key]} has no counterpart and is left out")
    _note_shared(partitions, nodes, made)
    return found


def spread(
    groups: Mapping[str, QuotaGroupDraft],
    accounts: Mapping[str, SlurmRecord],
    records: Sequence[SlurmRecord],
    flavors: Mapping[str, tuple[str, ...]],
    made: Conversion,
) -> None:
    """Give each group what it has in the flavors of the partitions that its account, or one above, may use."""
    partitions = {each.name: each for each in _of_kind(records, "Partition")}
    names = {group: record.name for group, record in accounts.items()}
    for group, draft in groups.items():
        path = [names[each] for each in _path(groups, group)]
        below = [names[each] for each in groups if group in _path(groups, each)]
        own = [each for name, some in flavors.items() if _is_open(partitions[name], path, below) for each in some]
        limits = draft.entries.pop(DEFAULT_FLAVOR, {})
        others = {COUNTS: draft.entries.pop(COUNTS)} if COUNTS in draft.entries else {}
        draft.entries = {flavor: deepcopy(limits) for flavor in own} | others
        if limits.get("max") and len(own) > 1:
            made.note(accounts[group].manifest, "GrpTRES", _TOGETHER.format(", ".join(own)))
        if not own:
            made.note(accounts[group].manifest, "", "may use no partition: its group has no quota")


def _is_open(partition: SlurmRecord, path: Sequence[str], below: Sequence[str]) -> bool:
    """Return whether the account, one above it or one below it may use the partition."""
    allowed, denied = partition.options.get("AllowAccounts", ""), _listed(partition, "DenyAccounts")
    if allowed in _ALL:
        return not denied & {*path}
    return bool(_listed(partition, "AllowAccounts") & {*path, *below})


def _path(groups: Mapping[str, QuotaGroupDraft], name: str) -> list[str]:
    found: list[str] = []
    while name in groups and name not in found:
        found.append(name)
        name = groups[name].parent or ""
    return found


def _flavor(partition: str, features: Iterable[str], made: Conversion) -> str:
    """Add one flavor, and return its name."""
    name = "-".join((partition, *features)).lower().replace("_", "-")
    labels = {PARTITION_LABEL: partition} | {f"{FEATURE_LABEL}{each}": "true" for each in features}
    body: dict[str, Any] = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}}
    made.flavors.append({**body, "spec": {"nodeLabels": labels}})
    return name


def _note_shared(partitions: Sequence[SlurmRecord], nodes: Sequence[SlurmRecord], made: Conversion) -> None:
    """Name partitions that have nodes in common."""
    names = {each.name for each in partitions}
    shared = {tuple(sorted(_listed(each, "Partitions") & names)) for each in nodes}
    by_nodes: dict[str, list[str]] = {}
    for each in partitions:
        by_nodes.setdefault(each.options.get("Nodes", each.name), []).append(each.name)
    shared |= {tuple(sorted(each)) for each in by_nodes.values()}
    for group in sorted(each for each in shared if len(each) > 1):
        first = next(record for record in partitions if record.name == group[0])
        text = f"partitions {', '.join(group)} have nodes in common: a node counts for one flavor, label it for one"
        made.note(first.manifest, "Nodes", text)


def _features(node: SlurmRecord) -> tuple[str, ...]:
    return tuple(sorted(_listed(node, "AvailableFeatures")))


def _listed(record: SlurmRecord, key: str) -> set[str]:
    text = record.options.get(key, "")
    return set() if text in _ALL else set(text.split(","))


def _of_kind(records: Sequence[SlurmRecord], kind: str) -> list[SlurmRecord]:
    return [each for each in records if each.kind == kind]
