"""Workloads that name an ElasticQuota of Koordinator, or its scheduler."""

from collections.abc import Mapping, Sequence
from typing import Final

from cli.convert.conversion import Conversion
from cli.convert.queued_workloads import Dialect, convert_workloads, workloads_of
from cli.read.manifests import Manifest
from shared.api.names import POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL, PREEMPTIBLE_LABEL

QUOTA: Final = "quota.scheduling.koordinator.sh/"
GANG: Final = "gang.scheduling.koordinator.sh/"
DIALECT: Final = Dialect(
    queue_keys=(f"{QUOTA}name",),
    prefixes=(QUOTA, GANG, "pod-group.scheduling.sigs.k8s.io"),
    schedulers=frozenset({"koord-scheduler"}),
    renamed={f"{QUOTA}preemptible": PREEMPTIBLE_LABEL},
    renamed_on_pods={f"{GANG}name": POD_GROUP_LABEL, f"{GANG}min-available": POD_GROUP_SIZE_LABEL},
)


def convert_users(manifests: Sequence[Manifest], groups: Mapping[str, str], made: Conversion) -> None:
    """Add these workloads with the labels of their groups; one that names no quota has that of its namespace."""
    convert_workloads(DIALECT, workloads_of(DIALECT, manifests), groups, None, made)
