"""JobSets governed by the preset, with their real operator: held, started, reclaimed and started elsewhere."""

import pytest

from tests import operated_stories
from tests.jobset.jobsets import jobset, replicated
from tests.operated import GPU, LONG, template
from tests.operated_stories import Governed, entry
from tests.reconciler.reconciler_process import eviction_of, wait_for

pytestmark = pytest.mark.timeout(900)


def test_each_replicated_job_starts_on_its_own_flavor(governed_jobsets: Governed) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(governed_jobsets, "jobset-flavors", "Completed")


def test_jobset_is_reclaimed_whole_and_starts_on_another_flavor(governed_jobsets: Governed) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(governed_jobsets, "jobset-reclaimed")


def test_jobset_whose_owner_deletes_slow_pods_is_evicted_with_what_replaces_them(governed_jobsets: Governed) -> None:
    """The Job controller replaces them at once: its operator's Jobs have no policy of Quotree's."""
    it, cluster, namespace = governed_jobsets, governed_jobsets.operated.cluster, "jobset-hydra"
    it.group("hydra", quotas=[{**entry("t4", cpu=2), "max": {"cpu": 2, GPU: 0}}])
    cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("label", "namespace", namespace, "quotree.dev/managed=true")
    slow = replicated("workers", template(annotations={"demo.quotree.dev/stop-takes": "1h"}), pods=2)
    slow["template"]["spec"]["backoffLimit"] = 100
    it.operated.create(jobset(namespace, slow, labels={"quotree.dev/group": "hydra"}))
    wait_for(lambda: it.operated.nodes(namespace) == ["t4-0"] * 2, "it runs", LONG)
    wait_for(lambda: it.used("hydra") == {"t4": {"cpu": "2"}}, "it fills its group", LONG)
    cluster.kubectl("delete", "pods", "--all", "-n", namespace, "--wait=false", "--grace-period=60")
    evicted = wait_for(lambda: eviction_of(it.operated.get(namespace, "train")), "it is evicted", LONG)
    assert (evicted or {})["reason"] == "OverCeiling"
    assert len(it.operated.pods(namespace)) <= 4
    cluster.kubectl("delete", "jobset", "train", "-n", namespace, "--wait=false")
    cluster.kubectl("delete", "pods", "--all", "-n", namespace, "--force", "--grace-period=0")
    wait_for(lambda: it.used("hydra") == {}, "its quota is free", LONG)
