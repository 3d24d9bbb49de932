"""What Artifact Hub shows of the chart is YAML of its form, and says what the chart has."""

import yaml

from dev.controlplane.cluster import ControlPlane
from shared.api.crds.definitions import flavor_definition, quotagroup_definition
from tests.charts.rendering import CHART
from tests.project.repository import text_of
from tests.versions import wait_until_served

ABOUT = yaml.safe_load((CHART / "Chart.yaml").read_text())
ANNOTATIONS: dict[str, str] = {
    name.removeprefix("artifacthub.io/"): text for name, text in ABOUT["annotations"].items()
}
# docs.artifacthub.io lists these, and ignores others.
KNOWN = {
    *("category", "changes", "containsSecurityUpdates", "crds", "crdsExamples", "images", "license", "links"),
    *("maintainers", "operator", "operatorCapabilities", "prerelease", "recommendations", "screenshots", "signKey"),
}


def test_every_annotation_is_one_that_artifact_hub_reads() -> None:
    assert set(ANNOTATIONS) <= KNOWN
    assert all(isinstance(text, str) for text in ANNOTATIONS.values())


def test_listed_definitions_are_those_of_the_chart() -> None:
    listed = {(each["name"], each["kind"], each["version"]) for each in yaml.safe_load(ANNOTATIONS["crds"])}
    assert listed == {
        (each["metadata"]["name"], each["spec"]["names"]["kind"], version["name"])
        for each in (quotagroup_definition(), flavor_definition())
        for version in each["spec"]["versions"]
    }


def test_examples_of_the_definitions_are_accepted(control_plane: ControlPlane) -> None:
    control_plane.apply(yaml.dump_all([quotagroup_definition(), flavor_definition()], Dumper=yaml.CSafeDumper))
    wait_until_served(control_plane, "crd/quotagroups.quotree.dev", "crd/resourceflavors.quotree.dev")
    examples = yaml.safe_load(ANNOTATIONS["crdsExamples"])
    command = ("apply", "--dry-run=server", "--validate=strict", "-f", "-")
    done = control_plane.kubectl(*command, input=yaml.dump_all(examples, Dumper=yaml.CSafeDumper), check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {each["kind"] for each in examples} == {"QuotaGroup", "ResourceFlavor"}


def test_version_under_which_fixes_are_promised_is_the_charts() -> None:
    minor = ABOUT["version"].rpartition(".")[0]
    assert f"| {minor} | yes" in text_of("SECURITY.md")
