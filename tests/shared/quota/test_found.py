"""What the search and the comparison once found wrong in the engine, each in its smallest form."""

from shared.quota.decide.decisions import WaitReason
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.measure.world import World
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, Tree
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.shared.quota.scene import EPOCH


def test_work_that_takes_only_a_flavor_its_group_lacks_counts_nowhere_and_never_starts_elsewhere() -> None:
    tree = Tree.of([Group("team", quotas=(Entry("a", min={"cpu": 4}),))])
    job = Workload("ns/job", "team", {"cpu": 1}, created=EPOCH, queued=EPOCH, only_flavor="b")
    settings = QuotaSettings(capacity=(("a", "cpu", 4), ("b", "cpu", 4)))
    snapshot = measure(World.of(tree, [Flavor("a"), Flavor("b")], [job], settings=settings), EPOCH)
    decided = plan(snapshot)
    waiting = decided.waiting.why(job)

    assert snapshot.numbers["team"][FlavorResource("a", "cpu")].request == 0
    assert decided.starts == ()
    assert waiting is not None
    assert waiting.reason is WaitReason.NO_ELIGIBLE_FLAVOR
    assert waiting.message == (
        "Job 'ns/job' waits: no flavor may serve cpu: "
        "flavor a: the work takes flavor b only, which its group does not have"
    )
