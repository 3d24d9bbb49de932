"""A parent's account is the sum of its children's, though the leader ended between their writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.kinds import Asked, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.reconciler.live.accounts.test_accounts import LONG, SETTLED, amount, end_of, used_by, wait_counted
from tests.reconciler.reconciler_process import Quotree, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def proxy(q: Quotree, tmp_path: Path) -> Iterator[FaultProxy]:
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as running:
        q.kubeconfig = running.side("only").kubeconfig(q.control_plane.kubeconfig, tmp_path / "through.yaml")
        yield running


def statuses_of(*groups: str) -> Rule:
    """Refuse the writes of these groups' statuses."""

    def is_one(asked: Asked) -> bool:
        return asked.is_write and any(asked.path.endswith(f"/quotagroups/{name}/status") for name in groups)

    return Rule(Refuse(503), is_one)


def test_children_add_up_to_their_parents_though_the_leader_was_killed_between_their_writes(
    q: Quotree, proxy: FaultProxy
) -> None:
    """vision is written and its parent is not, nlp is not and its parent is; what ran is deleted meanwhile."""
    q.lead()
    q.group("root", quotas=[quota(max="8")])
    for parent, leaf in (("research", "vision"), ("language", "nlp")):
        q.group(parent, isParent=True, quotas=[quota(min="4")])
        q.group(leaf, parent=parent, quotas=[quota(min="4")])
    parents = ("root", "research", "language")
    wait_for(lambda: all(q.group_status(name).get("besideChildren") for name in parents), "all have children", LONG)
    proxy.rules.append(statuses_of("research", "nlp"))
    q.job("first", "vision", "1", run_for="3s")
    q.job("second", "nlp", "2", run_for="3s")
    wait_for(lambda: all(finished(q.get_job(name)) for name in ("first", "second")), "both end", LONG)
    used = used_by(q.get_job("first"), 1)
    wait_for(lambda: amount(q, "vision") == used and amount(q, "language") > 0, "some are written", SETTLED)
    assert (amount(q, "research"), amount(q, "nlp")) == (0, 0)
    q.kill()
    for name in ("first", "second"):
        q.delete(f"/apis/batch/v1/namespaces/default/jobs/{name}")
    proxy.rules.clear()
    q.release()
    q.lead()
    q.job("third", "vision", "1", run_for="3s")
    q.job("fourth", "nlp", "2", run_for="3s")
    wait_for(lambda: all(finished(q.get_job(name)) for name in ("third", "fourth")), "both end", LONG)
    jobs = [q.get_job(name) for name in ("third", "fourth")]
    third, fourth = map(end_of, jobs)
    first_half, second_half = dict.fromkeys(("vision", "research"), third), dict.fromkeys(("nlp", "language"), fourth)
    wait_counted(q, {**first_half, **second_half, "root": max(third, fourth)})
    assert amount(q, "vision") == used + used_by(jobs[0], 1)
    assert amount(q, "research") == amount(q, "vision")
    assert amount(q, "language") == amount(q, "nlp") == used_by(jobs[1], 2)
    assert amount(q, "root") == amount(q, "vision") + amount(q, "nlp")
