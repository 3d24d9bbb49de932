"""What is kept of requests and of what was available for them."""

from shared.quota.decide.state.smallest_requests import is_within
from shared.resources import FlavorResource

CPU, GPU = FlavorResource("default", "cpu"), FlavorResource("default", "gpu")


def test_room_is_within_what_was_available_if_no_key_has_more() -> None:
    most = {CPU: 8, GPU: 2}
    assert is_within(most, most.__getitem__, most)
    assert is_within([CPU], most.__getitem__, most)
    assert not is_within([CPU, GPU], {CPU: 8, GPU: 3}.__getitem__, most)
    assert not is_within([CPU], {CPU: 0}.__getitem__, {})
