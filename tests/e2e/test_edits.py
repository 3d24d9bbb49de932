"""What-if predicts what a live tree does, edit after edit. `python -m tests.e2e.edits` makes random ones."""

from typing import Any

import pytest

from dev.controlplane.programs.binaries import Binaries
from tests.e2e.edits import live_tree

JOBS = [("a", 3), ("a", 3), ("b", 3), ("b", 3), ("c", 6), ("d", 8)]
"""The last one waits: 2 of 20 are free. After each edit there is one Job that could start, and one that could stop."""


def quota(name: str, policy: str | None) -> tuple[str, dict[str, Any]]:
    return name, {"quotas": [{"min": {"cpu": 6}}], "stopPolicy": policy}


EDITS = [quota("c", "HoldAndDrain"), quota("c", None), quota("d", "HoldAndDrain"), quota("d", None)]


@pytest.mark.timeout(900)
def test_predicted_effects_of_an_edit_happen(control_plane_binaries: Binaries) -> None:
    with live_tree(control_plane_binaries, 1, JOBS) as tree:
        done = [tree.edit(each) for each in EDITS]
    assert [str(each) for each in done if each.differs or each.depends] == []
    assert (done[0].started, done[0].stopped) == ({"default/job-5"}, {"default/job-4"})
