"""Kueue's flavors: the one that names no nodes becomes the flavor of the nodes that no other has."""

from pathlib import Path

from tests.cli.convert.converting import Converted
from tests.cli.convert.kueue.manifests import kueue, local_queue, queue, quotas

SPOT = {"nodeLabels": {"node-type": "spot"}}


def test_flavor_without_labels_becomes_default(tmp_path: Path) -> None:
    flavors = kueue("ResourceFlavor", "std", {}) + kueue("ResourceFlavor", "spot", SPOT)
    groups = quotas("std", cpu=9)[0]["flavors"] + quotas("spot", cpu=5)[0]["flavors"]
    text = queue("a", "", resourceGroups=[{"coveredResources": ["cpu"], "flavors": groups}])
    made = Converted(tmp_path, flavors + text + local_queue("one", "a"))
    assert [each.flavor for group in made.groups() for each in group.quotas] == ["default", "spot"]
    assert [each["metadata"]["name"] for each in made.of_kind("ResourceFlavor")] == ["spot"]
    assert made.notes[0] == (
        "manifests.yaml:5: ResourceFlavor/std metadata.name: is called default here: "
        "the flavor of the nodes that no other flavor has"
    )


def test_taints_of_the_default_flavor_are_kept(tmp_path: Path) -> None:
    tolerations = [{"key": "batch", "operator": "Exists"}]
    made = Converted(tmp_path, kueue("ResourceFlavor", "std", {"tolerations": tolerations}))
    (flavor,) = made.of_kind("ResourceFlavor")
    assert (flavor["metadata"], flavor["spec"]) == ({"name": "default"}, {"tolerations": tolerations})


def test_empty_flavor_alone_is_named_and_needs_no_object(tmp_path: Path) -> None:
    made = Converted(tmp_path, kueue("ResourceFlavor", "std", {}))
    assert (made.exit_code, made.text, len(made.notes)) == (0, "", 1)


def test_two_flavors_without_labels_are_ambiguous(tmp_path: Path) -> None:
    made = Converted(tmp_path, kueue("ResourceFlavor", "std", {}) + kueue("ResourceFlavor", "spot", {}))
    assert [each.partition(": ")[2] for each in made.notes[:2]] == [
        (
            f"ResourceFlavor/{name} spec.nodeLabels: is absent, as in {other}: a node counts for one flavor, so that "
            "one of them at most gets nodes; label the nodes of each, and write nodeLabels"
        )
        for name, other in (("std", "spot"), ("spot", "std"))
    ]


def test_resource_that_no_pod_can_request_is_left_out(tmp_path: Path) -> None:
    virtual = quotas("credits", cpu_credits=14)[0]
    made = Converted(tmp_path, queue("a", "", resourceGroups=[*quotas("x", cpu=9), virtual]) + local_queue("one", "a"))
    assert [entry["flavor"] for entry in made.spec("a")["quotas"]] == ["x"]
    assert made.notes[0].startswith(
        "manifests.yaml:22: ClusterQueue/a spec.resourceGroups[1].flavors[0]: cpu_credits is left out: "
    )


def test_entries_of_a_cohort_are_joined_where_its_queues_combine_resources_differently(tmp_path: Path) -> None:
    apart = queue("a", resourceGroups=quotas("x", cpu=4, memory="4Gi"))
    split = queue("b", resourceGroups=[*quotas("x", cpu=2), *quotas("y", memory="2Gi")])
    made = Converted(tmp_path, apart + split)
    assert made.spec("labs")["quotas"] == [
        {"flavor": flavor, "min": amounts, "borrowingLimit": {"cpu": "0", "memory": "0"}}
        for flavor, amounts in (("x", {"cpu": "6", "memory": "4Gi"}), ("y", {"memory": "2Gi", "cpu": "0"}))
    ]
    assert made.check(tmp_path)[0] == 0
