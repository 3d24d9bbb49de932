"""A hundred JobSets of several Jobs each, submitted at once into a quota for ten of them."""

from collections.abc import Iterator

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import JOBSET
from tests.jobset.jobsets import API, driver_and_workers
from tests.operated import Operated, ends_after, operated, template
from tests.operated_stories import Governed, entry, governed
from tests.reconciler.reconciler_process import wait_for

pytestmark = pytest.mark.timeout(900)
OPERATORS = (JOBSET,)
NUMBER, AT_ONCE, PODS = 100, 10, 3
NAMESPACE = "many"


@pytest.fixture(scope="module")
def many(control_plane_binaries: Binaries) -> Iterator[Governed]:
    with (
        operated(control_plane_binaries, JOBSET, API, "jobsets") as jobsets,
        governed(jobsets, "jobset", driver_and_workers, template) as it,
    ):
        yield it


def test_jobsets_complete_and_their_pods_stay_within_quota(many: Governed) -> None:
    cluster = many.operated.cluster
    room = entry("t4", cpu=AT_ONCE * PODS)
    many.group("train", quotas=[{**room, "max": room["min"]}])
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.kubectl("label", "namespace", NAMESPACE, "quotree.dev/managed=true")
    pod = template(annotations=ends_after(1))
    for number in range(NUMBER):
        manifest = driver_and_workers(NAMESPACE, pod, pod, {"quotree.dev/group": "train"})
        manifest["metadata"]["name"] = f"train-{number}"
        many.operated.create(manifest)
    most = 0

    def done() -> bool:
        nonlocal most
        most = max(most, len(many.operated.pods(NAMESPACE)))
        return _completed(many.operated) == NUMBER

    wait_for(done, "all have completed", 600, every=0.5)
    assert 0 < most <= AT_ONCE * PODS
    wait_for(lambda: many.used("train") == {}, "nothing is in use", 120)


def _completed(operated_kind: Operated) -> int:
    path = f"/apis/{API}/namespaces/{NAMESPACE}/jobsets"
    found = operated_kind.cluster.rest.request("GET", path)[1]["items"]
    return sum(
        any(
            each["type"] == "Completed" and each["status"] == "True"
            for each in item.get("status", {}).get("conditions", [])
        )
        for item in found
    )
