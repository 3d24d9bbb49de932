"""What the visibility API's absence must not break, and how it is served again."""

import os
import signal
from pathlib import Path

import pytest

from dev.controlplane.quotree import Quotree
from tests.e2e.visibility.steps import available, dry_run, listed, serving_process, wait_for

pytestmark = pytest.mark.timeout(900)


def test_serving_process_is_replaced_when_it_ends(quotree: Quotree) -> None:
    first = serving_process(quotree)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: serving_process(quotree) not in (None, first), "another one is started")
    wait_for(lambda: listed(quotree) == ["hidden-head", "own"], "it answers")


def test_namespace_deletion_completes_while_no_reconciler_serves(quotree: Quotree) -> None:
    control_plane = quotree.cluster
    control_plane.kubectl("create", "namespace", "short-lived")
    serving = serving_process(quotree)
    quotree.reconcilers[0].kill()
    wait_for(lambda: not Path(f"/proc/{serving}").exists(), "the process that serves ends with it")
    wait_for(lambda: available(control_plane) != "True", "the API server notices")
    assert "own" in control_plane.kubectl("get", "jobs", "-n", "team-a").stdout
    alone = dry_run(quotree)
    assert alone.returncode == 0, alone.stderr
    assert "would stop" not in alone.stderr
    control_plane.kubectl("delete", "namespace", "short-lived", "--timeout=200s", timeout=210)
    quotree.add_reconciler()
    wait_for(lambda: available(control_plane) == "True", "the API is registered again")
    wait_for(lambda: listed(quotree) == ["hidden-head", "own"], "it answers again")
