"""A node that is cordoned or falls silent for a moment: the Jobs on it go on, and count as before."""

import time

import pytest

from dev.image import facts
from dev.node.names import NODE
from tests.e2e_node.site import Site, is_ready

JOBS = tuple(f"borrower-{number}" for number in range(6))
# A node is NotReady after 40 to 50 s without a word; this is how long it then stays so.
SILENCE = 15.0

pytestmark = pytest.mark.skipif(
    "nodeGracePeriod" not in (facts.ROOT / "charts/quotree/values.yaml").read_text(),
    reason="capacity.nodeGracePeriod does not exist yet: a cordon still takes the node's quota away at once",
)


def test_a_cordon_stops_no_job(busy: Site) -> None:
    busy.kubectl("cordon", NODE)
    try:
        time.sleep(10)
        assert _stopped(busy) == []
    finally:
        busy.kubectl("uncordon", NODE)


def test_a_silent_kubelet_stops_no_job(busy: Site) -> None:
    busy.node.kubelet.freeze()
    try:
        busy.until("the node is not ready", lambda: not is_ready(busy.get("node", NODE)))
        time.sleep(SILENCE)
        assert _stopped(busy) == []
    finally:
        busy.node.kubelet.thaw()
    busy.until("the node is ready", lambda: is_ready(busy.get("node", NODE)))
    busy.until("the webhook is ready", lambda: busy.ready("webhook"))
    assert _stopped(busy) == []
    assert busy.running(*JOBS)


@pytest.fixture
def busy(clean: Site) -> Site:
    """Vision borrows: six Jobs of 200m with a promise of 400m."""
    for name in JOBS:
        clean.submit(name, "vision")
    clean.until("all run", lambda: clean.running(*JOBS))
    return clean


def _stopped(site: Site) -> list[str]:
    return [name for name in JOBS if site.is_held(name)]
