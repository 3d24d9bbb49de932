"""What Quotree writes on objects of the shipped kinds stands where the operators' own definitions know it.

A field that a CustomResourceDefinition does not know is dropped by the API server without a word.
"""

import copy
from collections.abc import Iterator
from typing import Any

import jsonpatch
import pytest
import yaml

from dev.controlplane.programs.binaries import Binaries
from dev.operators import building
from dev.operators.recipe import APPWRAPPER, JOBSET, KUBERAY, LWS, MPI, SPARK, TRAINER, TRAINING
from shared.api.annotations import InjectedAnnotation, InjectedPlacement
from shared.api.injection import NOTHING
from shared.kinds.operations import suspend_operations, template_operations
from shared.kinds.presets import all_presets
from tests.shared.kinds.objects import preset, read
from tests.shared.kinds.test_presets import STARTED

# The training-operator defines another MPIJob.
OPERATORS = (JOBSET, KUBERAY, LWS, TRAINER, TRAINING, MPI, APPWRAPPER, SPARK)


@pytest.fixture(scope="module")
def definitions(control_plane_binaries: Binaries) -> dict[tuple[str, str], dict[str, Any]]:
    """By group and kind, the definition in each operator's manifests."""
    found = {}
    for operator in OPERATORS:
        built = building.ensure(operator, control_plane_binaries, print)
        for each in yaml.load_all(built.manifests.read_text(), Loader=yaml.CSafeLoader):
            if each and each["kind"] == "CustomResourceDefinition":
                found[each["spec"]["group"], each["spec"]["names"]["kind"]] = each["spec"]
    return found


def test_each_kind_is_served_with_the_group_and_version_of_its_preset(
    definitions: dict[tuple[str, str], dict[str, Any]],
) -> None:
    for kind in all_presets().all:
        definition = definitions[kind.group, kind.kind]
        served = {each["name"] for each in definition["versions"] if each["served"]}
        assert (kind.version in served, definition["names"]["plural"], definition["scope"]) == (
            True,
            kind.resource,
            "Namespaced",
        )


@pytest.mark.parametrize("item", STARTED)
def test_api_server_keeps_every_written_field(
    definitions: dict[tuple[str, str], dict[str, Any]], item: dict[str, Any]
) -> None:
    kind = preset(item["kind"])
    seen = read(item)
    placed = InjectedPlacement({"pool": "p"}, [{"key": "k", "operator": "Exists"}])
    injected = InjectedAnnotation(pod_sets={each.name: placed for each in seen.pod_sets})
    operations = [*suspend_operations(seen, value=True), *template_operations(seen, NOTHING, injected, "u")]
    after = jsonpatch.apply_patch(copy.deepcopy(item), operations)
    versions = definitions[kind.group, kind.kind]["versions"]
    (schema,) = [each["schema"]["openAPIV3Schema"] for each in versions if each["name"] == kind.version]
    assert list(unknown(after["spec"], schema["properties"]["spec"], "spec")) == []
    assert read(after).suspended


def unknown(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    """The fields that the schema does not know."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from unknown(item, schema.get("items", {}), f"{at}[{number}]")
    if isinstance(value, dict):
        for key, item in value.items():
            below = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(below, dict):
                yield from unknown(item, below, f"{at}.{key}")
            elif below is not True:
                yield f"{at}.{key}"
