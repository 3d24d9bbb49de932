"""What is in force in a leaf, independent of its workloads: its path, stop policy, reclaim and startup settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.eligibility import codependent_sets
from shared.quota.model.lifecycle import (
    Inactive,
    RunTimeLimit,
    reclaim_in_force,
    run_time_in_force,
    startup_in_force,
    stop_in_force,
)
from shared.quota.model.settings import QuotaSettings, ReclaimSettings, StartupSettings
from shared.quota.model.tree import Group, QueueingStrategy, StopPolicy


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
    run_time: RunTimeLimit | None
    """None: workloads run as long as they want."""
    patience: timedelta | None
    """How long others may pass a workload that waits; None: without end. None in a StrictFIFO leaf too."""
    turn_after: timedelta | None
    """How long a head waits before it may have a turn: the patience, also in a StrictFIFO leaf; None: it gets none."""
    has_choice: bool
    """Whether it has several flavors for the same resources."""


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
        reclaim=reclaim_in_force(groups, settings),
        startup=startup_in_force(groups, settings),
        run_time=run_time_in_force(groups, settings),
        patience=None if groups[0].queueing is QueueingStrategy.STRICT_FIFO else _patience(groups[0], settings),
        turn_after=_patience(groups[0], settings),
        has_choice=any(len(each.flavors) > 1 for each in codependent_sets(groups[0].quotas)),
    )


def _patience(leaf: Group, settings: QuotaSettings) -> timedelta | None:
    found = settings.queueing_patience if leaf.patience is None else leaf.patience
    most = settings.maxima.queueing.patience
    if found is not None and most is not None:
        found = min(found, most)
    return found
