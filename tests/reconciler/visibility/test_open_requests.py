"""No caller of the visibility API can hold all that it serves at a time."""

from contextlib import ExitStack

import pytest

from reconciler.visibility.front.open_requests import AllTaken, OpenRequests


def test_one_caller_leaves_room_for_others_and_all_together_have_a_bound() -> None:
    shares = OpenRequests("watches", "close one", most=3, of_one=2)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(shares.one_more("mallory"))
        with pytest.raises(
            AllTaken, match="2 watches of this user, or of its namespace's accounts, are open; close one"
        ):
            held.enter_context(shares.one_more("mallory"))
        held.enter_context(shares.one_more("alice"))
        with pytest.raises(AllTaken, match="too many watches are open"):
            held.enter_context(shares.one_more("bob"))
        assert shares.count == 3
    assert shares.count == 0
    with shares.one_more("mallory"):
        assert shares.count == 1
