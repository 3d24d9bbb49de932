"""What decisions change on an object: each patch applied to the object, which is read again."""

import copy
from typing import Any

import jsonpatch
import pytest

from shared.api.annotations import InjectedAnnotation, InjectedPlacement
from shared.api.injection import NOTHING
from shared.kinds.kind import compile_kind
from shared.kinds.operations import suspend_operations, template_operations
from shared.kinds.reading import read_kind_object
from tests.shared.kinds.objects import entry, jobset, pytorchjob, read, replicated, template
from tests.shared.kinds.test_reading import KIND, crunch


def patched(written: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    after: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(written), operations)
    return after


@pytest.mark.parametrize("written", [jobset(replicated("a")), pytorchjob(Worker={"template": template()})])
def test_hold_and_start_patches_set_the_flag(written: dict[str, Any]) -> None:
    held = patched(written, suspend_operations(read(written), value=True))
    assert read(held).suspended
    assert suspend_operations(read(held), value=True) == []
    started = patched(held, suspend_operations(read(held), value=False))
    assert not read(started).suspended


def test_fields_next_to_the_flag_are_kept() -> None:
    written = pytorchjob(Worker={"template": template()})
    written["spec"]["runPolicy"] = {"backoffLimit": 3}
    held = patched(written, suspend_operations(read(written), value=True))
    assert held["spec"]["runPolicy"] == {"backoffLimit": 3, "suspend": True}


A100 = InjectedPlacement({"gpu": "a100"}, [{"key": "gpu", "effect": "NoSchedule", "operator": "Exists"}])
STD = InjectedPlacement({"pool": "std"})
BOTH = InjectedAnnotation(pod_sets={"driver": STD, "workers": A100})


def two() -> dict[str, Any]:
    written = jobset(replicated("driver"), replicated("workers", replicas=2))
    spec = written["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    spec.update(nodeSelector={"zone": "z1"}, tolerations=[{"key": "mine"}])
    return written


def test_each_pod_set_gets_its_own_placement_and_labels() -> None:
    written = two()
    started = patched(written, template_operations(read(written), NOTHING, BOTH, "uid-1"))
    driver, workers = (each["template"]["spec"]["template"] for each in started["spec"]["replicatedJobs"])
    assert driver["metadata"] == {"labels": {"quotree.dev/unit": "uid-1", "quotree.dev/pod-set": "driver"}}
    assert driver["spec"]["nodeSelector"] == {"pool": "std"}
    assert "tolerations" not in driver["spec"]
    assert workers["metadata"] == {"labels": {"quotree.dev/unit": "uid-1", "quotree.dev/pod-set": "workers"}}
    assert workers["spec"]["nodeSelector"] == {"zone": "z1", "gpu": "a100"}
    assert workers["spec"]["tolerations"] == [{"key": "mine"}, *A100.tolerations]


def test_injected_placement_is_removed_exactly() -> None:
    written = two()
    started = patched(written, template_operations(read(written), NOTHING, BOTH))
    assert started != written
    assert patched(started, template_operations(read(started), BOTH, NOTHING)) == written


def test_placement_of_another_flavor_replaces_the_first() -> None:
    written = two()
    started = patched(written, template_operations(read(written), NOTHING, BOTH))
    swapped = InjectedAnnotation(pod_sets={"driver": A100, "workers": STD})
    moved = patched(started, template_operations(read(started), BOTH, swapped))
    assert moved == patched(written, template_operations(read(written), NOTHING, swapped))


def test_unchanged_object_gets_no_operation() -> None:
    written = two()
    started = patched(written, template_operations(read(written), NOTHING, BOTH, "uid-1"))
    assert template_operations(read(started), BOTH, BOTH, "uid-1") == []


def test_single_pod_set_is_named_main() -> None:
    written = jobset(replicated("workers"))
    injected = InjectedAnnotation({"gpu": "a100"})
    started = patched(written, template_operations(read(written), NOTHING, injected, "u"))
    after = started["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert after["spec"]["nodeSelector"] == {"gpu": "a100"}
    assert after["metadata"]["labels"] == {"quotree.dev/unit": "u", "quotree.dev/pod-set": "workers"}


def test_default_template_of_the_operator_is_written_in_full() -> None:
    written = crunch(image="i:1", leader=template())
    seen = read_kind_object(KIND, written)
    assert template_operations(seen, NOTHING, NOTHING) == []
    started = patched(written, template_operations(seen, NOTHING, NOTHING, "u"))
    assert started["spec"]["helper"]["spec"]["containers"][0]["image"] == "i:1"
    assert started["spec"]["helper"]["metadata"]["labels"] == {"quotree.dev/unit": "u", "quotree.dev/pod-set": "helper"}
    assert read_kind_object(KIND, started).pod_sets[1].added is None


ELSEWHERE = compile_kind(
    entry("""
apiVersion: example.com/v1
kind: Crunch
resource: crunches
suspend: .spec.paused
podSets:
- template: .spec.pod
  inject: {labels: .extra.labels, nodeSelector: .extra.where.nodeSelector, tolerations: .extra.where.tolerations}
""")
)


def test_injection_creates_missing_parents_once() -> None:
    written = {"metadata": {"name": "c"}, "spec": {"pod": template()}}
    seen = read_kind_object(ELSEWHERE, written)
    injected = InjectedAnnotation(A100.node_selector, A100.tolerations)
    started = patched(written, template_operations(seen, NOTHING, injected, "u"))
    assert started["spec"]["pod"]["extra"] == {
        "labels": {"quotree.dev/unit": "u", "quotree.dev/pod-set": "main"},
        "where": {"nodeSelector": {"gpu": "a100"}, "tolerations": A100.tolerations},
    }
