"""What-if predicts what a live tree does: a few random edits. `python -m tests.e2e.edits` makes as many as wanted."""

import pytest

from dev.controlplane.binaries import Binaries
from tests.e2e.edits import live_tree

STOPPED = ("a", {"quotas": [{"min": {"cpu": 6}}], "stopPolicy": "HoldAndDrain"})
"""Its min lets at least one of its Jobs run before."""


@pytest.mark.timeout(400)
def test_what_was_predicted_of_an_edit_is_what_happens(control_plane_binaries: Binaries) -> None:
    with live_tree(control_plane_binaries, seed=7) as tree:
        done = [tree.edit(each) for each in (STOPPED, None, None, None, None)]
    assert [(words, differs) for words, differs in done if differs] == []
    assert "stops []" not in done[0][0]
