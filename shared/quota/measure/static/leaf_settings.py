"""What is in force in a leaf, independent of its workloads: its path, stop policy, reclaim and startup settings."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.lifecycle import Inactive, reclaim_in_force, startup_in_force, stop_in_force
from shared.quota.model.settings import QuotaSettings, ReclaimSettings, StartupSettings
from shared.quota.model.tree import Group, StopPolicy


@dataclass(frozen=True, slots=True)
class LeafSettings:
    """What is in force in a leaf, independent of its workloads."""

    group: Group
    path: tuple[str, ...]
    stop: StopPolicy
    stopped_by: str
    inactive: Inactive | None
    reclaim: ReclaimSettings
    startup: StartupSettings


def read_leaf_settings(
    tree_index: TreeIndex, leaf: str, inactive: Mapping[str, Inactive], settings: QuotaSettings
) -> LeafSettings:
    """Read the settings of the path of `leaf`, over the cluster's."""
    groups = tree_index.path_groups(leaf)
    stop, by = stop_in_force(groups)
    return LeafSettings(
        group=groups[0],
        path=tree_index.path(leaf),
        stop=stop,
        stopped_by=by,
        inactive=inactive.get(leaf),
        reclaim=reclaim_in_force(groups, settings.reclaim),
        startup=startup_in_force(groups, settings.startup),
    )
