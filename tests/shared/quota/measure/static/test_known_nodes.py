"""KnownNodes tells which nodes there are, and until when what runs on one that is not ready counts."""

import pytest

from shared.quota.measure.static.known_nodes import KnownNodes
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from tests.builders import NOW, after

GRACE = QuotaSettings().node_grace_period


@pytest.mark.parametrize(("seconds", "ends"), [(-1, True), (0, False)])
def test_only_a_grace_period_that_is_not_over_brings_a_change(seconds: int, ends: bool) -> None:
    """One that ends now has ended."""
    known, until = KnownNodes(QuotaSettings()), NOW + GRACE
    now = after(GRACE.total_seconds() + seconds)
    known.advance(now)
    known.observe([(None, ClusterNode("n", {}, {"gpu": 8}, takes_pods=False, not_ready_since=NOW))])
    assert known.next_change == (until if ends else None)
    assert known.advance(until) == ({"n"} if ends else set())
