"""Remedies let their Jobs start on a live cluster. `python -m tests.e2e.remedies` carries out many random ones."""

from itertools import islice

import pytest

from dev.controlplane.programs.binaries import Binaries
from tests.e2e.remedies import troubled_tree

FEW = 2


@pytest.mark.timeout(900)
def test_remedies_let_their_jobs_start_while_the_cluster_changes(control_plane_binaries: Binaries) -> None:
    with troubled_tree(control_plane_binaries, 3) as troubled:
        done = list(islice(troubled.remedies(), FEW))
    assert [str(each) for each in done if not each.started] == []
