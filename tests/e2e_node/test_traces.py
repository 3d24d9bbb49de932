"""The node goes, and the machine is as it was before it came."""

from dev.node.machine import state
from tests.e2e_node.site import Site


def test_nothing_is_left_on_the_machine_after_the_test(site: Site) -> None:
    assert state.difference(site.node.before, state.read()) != {}, "the reading sees a node that runs"

    site.node.close()

    assert state.difference(site.node.before, state.read()) == {}
