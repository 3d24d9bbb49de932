"""The state that these tests start from: root, two leaves, one node and one namespace."""

import pytest

from shared.api.core.namespace import read_namespace
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.watch.cache import Changed
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group


@pytest.fixture
def state() -> ClusterState:
    made = ClusterState(QuotaSettings())
    groups = [Group("root", parent=None, is_parent=True), Group("vision"), Group("nlp")]
    made.observe_groups([Changed(None, GroupStatusRecord(each.name, 1, each, QuotaGroupStatus())) for each in groups])
    made.observe_nodes([Changed(None, ClusterNode("node-0", allocatable={"cpu": 8000}))])
    made.observe_namespaces([Changed(None, read_namespace({"metadata": {"name": "ns", "uid": "n1"}}))])
    return made
