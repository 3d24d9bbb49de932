"""`quotree kinds`: what is governed, and what a descriptor reads from samples and would write on them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.__main__ import quotree
from tests.shared.kinds.objects import jobset, replicated, template

DESCRIPTOR = """\
apiVersion: example.com/v1
kind: Crunch
resource: crunches
suspend: .spec.paused
podSets:
- template: .spec.template
  values: {size: .spec.size | 1}
  count: size
"""
GOOD = DESCRIPTOR.replace("size:", "n:").replace("count: size", "count: n")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(quotree, ["kinds", *arguments])


def crunch(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "c", "namespace": "ns"}
    return {"apiVersion": "example.com/v1", "kind": "Crunch", "metadata": metadata, "spec": spec}


def saved(folder: Path, *objects: Any, name: str = "samples.yaml") -> str:
    file = folder / name
    file.write_text(objects[0] if isinstance(objects[0], str) else yaml.safe_dump_all(objects))
    return str(file)


def checked(folder: Path, descriptor: str, *objects: Any) -> tuple[int, list[dict[str, Any]]]:
    done = run("check", descriptor, "-f", saved(folder, *objects), "-o", "json")
    return done.exit_code, json.loads(done.stdout)["items"]


def test_shipped_presets_are_listed() -> None:
    found = {each["kind"]: each for each in json.loads(run("--presets", "-o", "json").stdout)["items"]}
    assert list(found)[:3] == ["Job", "Pod", "JobSet"]
    assert len(found) == 12
    assert found["PyTorchJob"]["heldBy"] == ".spec.runPolicy.suspend"
    assert (found["TrainJob"]["heldBy"], found["LeaderWorkerSet"]["heldBy"]) == ("its JobSet", "scheduling gate")
    assert "MPIJob" in run("--presets").stdout
    assert run("--presets", "-o", "name").stdout.split()[:2] == ["Job", "Pod"]


def test_kinds_of_a_settings_file_are_listed(tmp_path: Path) -> None:
    settings = saved(tmp_path, "kinds:\n- preset: jobset\n  operators: [me]\n", name="settings.yaml")
    found = yaml.safe_load(run("--settings", settings, "-o", "yaml").stdout)["items"]
    assert [(each["kind"], each["operators"]) for each in found] == [("Job", []), ("Pod", []), ("JobSet", ["me"])]


def test_preset_shows_what_it_reads_and_writes(tmp_path: Path) -> None:
    code, (sample,) = checked(tmp_path, "jobset", jobset(replicated("a", "2"), replicated("b", "1", replicas=3)))
    assert (code, sample["object"], sample["governed"]) == (0, "JobSet/ns/train", True)
    assert [(each["name"], each["pods"], each["requestOfOne"], each["request"]) for each in sample["podSets"]] == [
        ("a", 1, {"cpu": 2000}, {"cpu": 2000}),
        ("b", 3, {"cpu": 1000}, {"cpu": 3000}),
    ]
    assert (sample["held"]["spec"]["suspend"], sample["started"]["spec"]["suspend"]) == (True, False)
    assert sample["before"] == jobset(replicated("a", "2"), replicated("b", "1", replicas=3))
    pods = sample["started"]["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]
    assert pods["metadata"]["labels"] == {"quotree.dev/unit": "uid-train", "quotree.dev/pod-set": "b"}
    assert pods["spec"]["nodeSelector"] == {"example.com/flavor": "b"}


@pytest.mark.parametrize("text", [GOOD, f"kinds:\n- {GOOD.rstrip().replace(chr(10), chr(10) + '  ')}\n"])
def test_descriptor_can_stand_alone_or_in_a_settings_file(tmp_path: Path, text: str) -> None:
    descriptor = saved(tmp_path, text, name="descriptor.yaml")
    code, (sample,) = checked(tmp_path, descriptor, crunch(size=4, template=template("2")))
    assert (code, sample["podSets"][0]["pods"], sample["started"]["spec"]["paused"]) == (0, 4, False)


def test_table_output_shows_each_change(tmp_path: Path) -> None:
    done = run("check", "jobset", "-f", saved(tmp_path, jobset(replicated("a", "500m", replicas=2), suspend=True)))
    assert done.exit_code == 0
    for line in ("pod set a: 2 x cpu 500m = cpu 1", "held: nothing changes", "-  suspend: true", "+  suspend: false"):
        assert line in done.stdout


def test_object_that_cannot_be_governed_is_explained(tmp_path: Path) -> None:
    descriptor = saved(tmp_path, GOOD, name="descriptor.yaml")
    code, samples = checked(tmp_path, descriptor, crunch(size=-1, template=template()), crunch(template=template()))
    assert (code, [each["governed"] for each in samples]) == (1, [False, True])
    assert "spec.size is -1" in samples[0]["problems"][0]
    assert samples[0]["held"] is None
    text = run("check", descriptor, "-f", saved(tmp_path, crunch(template=template("much")))).stdout
    assert "cannot be read:" in text


def test_refused_and_ungoverned_objects_are_explained(tmp_path: Path) -> None:
    ray = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "r"}}
    spec = {"rayClusterSpec": {"headGroupSpec": {"template": template()}}}
    refused = run("check", "rayjob", "-f", saved(tmp_path, {**ray, "spec": spec}))
    assert (refused.exit_code, "refused: its cluster would outlive it" in refused.stdout) == (1, True)
    other = run("check", "rayjob", "-f", saved(tmp_path, {**ray, "spec": {"clusterSelector": {"a": "b"}}}))
    assert (other.exit_code, "is not ours" in other.stdout) == (0, True)


def test_gated_kind_is_read_without_changes(tmp_path: Path) -> None:
    lws = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "s"}}
    spec = {"replicas": 3, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template()}}
    done = run("check", "leaderworkerset", "-f", saved(tmp_path, {**lws, "spec": spec}))
    assert (done.exit_code, "groups of pods: 3, each:" in done.stdout) == (0, True)
    assert "started" not in done.stdout


@pytest.mark.parametrize(
    ("descriptor", "objects", "words"),
    [
        (DESCRIPTOR, crunch(), "descriptor.yaml:7: podSets[0].values: 'size' is no name for a value"),
        (GOOD, jobset(), "there is no object of example.com/v1 Crunch in"),
    ],
    ids=["descriptor", "samples"],
)
def test_invalid_input_is_an_error(tmp_path: Path, descriptor: str, objects: Any, words: str) -> None:
    file = saved(tmp_path, descriptor, name="descriptor.yaml")
    done = run("check", file, "-f", saved(tmp_path, objects))
    assert done.exit_code != 0
    assert words in str(done.exception)


def test_missing_file_is_an_error() -> None:
    assert "does not exist" in str(run("check", "nowhere.yaml", "-f", "neither.yaml").exception)


def definition(**spec: Any) -> dict[str, Any]:
    """The definition of the kind Crunch, with these properties of its spec."""
    text = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": text}}
    names = {"kind": "Crunch", "plural": "crunches"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crunches.example.com"},
        "spec": {"group": "example.com", "names": names, "versions": [version]},
    }


TEMPLATE_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
STAGES = DESCRIPTOR.partition("podSets")[0] + (
    "podSets:\n- each: .spec.stages[*]\n  name: .name\n  template: .pods\n"
    "  values: {n: .replicas | 1}\n  count: n\nfinished:\n- {path: .status.phase, in: [Done]}\n"
)


def test_paths_are_looked_up_in_the_schema_of_the_definition(tmp_path: Path) -> None:
    stage = {"type": "object", "properties": {"title": {"type": "string"}, "pods": TEMPLATE_SCHEMA}}
    crd = saved(
        tmp_path, definition(pause={"type": "boolean"}, stages={"type": "array", "items": stage}), name="c.yaml"
    )
    answer = run("check", saved(tmp_path, STAGES, name="d.yaml"), "--crd", crd)
    assert (answer.exit_code, answer.stdout.splitlines()) == (
        1,
        [
            "Crunch suspend: .spec.paused: the schema has no paused in spec; it has pause, stages",
            "Crunch podSets[0].name: .name: the schema has no name in it; it has pods, title",
            "Crunch podSets[0].values.n: .replicas: the schema has no replicas in it; it has pods, title",
            "Crunch finished[0].path: .status.phase: the schema has no status in it; it has metadata, spec",
        ],
    )


def test_descriptor_whose_paths_are_all_in_the_schema_is_sound(tmp_path: Path) -> None:
    crd = saved(tmp_path, definition(paused={"type": "boolean"}, template=TEMPLATE_SCHEMA, size={}), name="c.yaml")
    answer = run("check", saved(tmp_path, GOOD, name="d.yaml"), "--crd", crd)
    assert (answer.exit_code, answer.output) == (0, "every path is in the schema of the definition\n")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("name: v1", "name: v2"), "Crunch has no version v1; there are v2"),
        (("served: true", "served: false"), "Crunch does not serve version v1; there is none"),
        (("kind: Crunch", "kind: Other"), "there is no CustomResourceDefinition of example.com/v1 Crunch in "),
    ],
)
def test_definition_of_another_kind_or_version_is_an_error(tmp_path: Path, edit: tuple[str, str], message: str) -> None:
    crd = saved(tmp_path, yaml.safe_dump(definition()).replace(*edit), name="c.yaml")
    assert message in str(run("check", saved(tmp_path, GOOD, name="d.yaml"), "--crd", crd).exception)


RECURSIVE: dict[str, Any] = {"type": "object"}
RECURSIVE["properties"] = {"spec": RECURSIVE}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"names": "x"}, "Expected `object`, got `str` - at `$.spec.names`"),
        ({"versions": "v1"}, "Expected `array`, got `str` - at `$.spec.versions`"),
        ({"versions": [{"name": "v1", "schema": "x"}]}, "got `str` - at `$.spec.versions[0].schema`"),
        ({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": RECURSIVE}}]}, "an alias names what it stands in"),
    ],
)
def test_definition_that_is_none_is_an_error(tmp_path: Path, spec: dict[str, Any], message: str) -> None:
    whole = definition()
    crd = saved(tmp_path, {**whole, "spec": whole["spec"] | spec}, name="c.yaml")
    found = str(run("check", saved(tmp_path, GOOD, name="d.yaml"), "--crd", crd).exception)
    why = "broken YAML" if "alias" in message else "CustomResourceDefinition/crunches.example.com cannot be read"
    assert found.startswith(f"{crd}:1: {why}: ")
    assert found.endswith(message)


def test_member_that_a_schema_allows_without_naming_it_is_not_called_checked(tmp_path: Path) -> None:
    crd = definition(paused={"type": "boolean"}, template=TEMPLATE_SCHEMA)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] |= TEMPLATE_SCHEMA
    answer = run("check", saved(tmp_path, GOOD, name="d.yaml"), "--crd", saved(tmp_path, crd, name="c.yaml"))
    assert (answer.exit_code, answer.output.splitlines()) == (
        0,
        [
            "Crunch podSets[0].values.n: .spec.size: not checked, the schema does not name what may be there",
            "every other path is in the schema of the definition",
        ],
    )


def test_flag_that_is_no_boolean_is_named(tmp_path: Path) -> None:
    crd = saved(tmp_path, definition(paused={"type": "string"}, template=TEMPLATE_SCHEMA, size={}), name="c.yaml")
    answer = run("check", saved(tmp_path, GOOD, name="d.yaml"), "--crd", crd)
    assert (answer.exit_code, answer.output) == (
        1,
        "Crunch suspend: .spec.paused: the schema has the type string there, not boolean\n",
    )


def test_entry_that_matches_nothing_and_an_empty_set_are_warned_of(tmp_path: Path) -> None:
    pods = {"spec": {"containers": [{"name": "main", "image": "none"}]}}
    stages = [{"name": "a", "replicas": 0, "pods": pods}]
    samples = saved(tmp_path, crunch(stages=stages), crunch(steps=stages))
    answer = run("check", saved(tmp_path, STAGES, name="d.yaml"), "-f", samples)
    assert [line.strip() for line in answer.stdout.splitlines() if "warning: " in line] == [
        "warning: pod set a is empty: its count is 0",
        "warning: podSets[0].each .spec.stages[*] matches nothing in this object: these pods are not counted",
    ]


def test_check_needs_objects_or_a_definition(tmp_path: Path) -> None:
    assert "name objects with -f" in str(run("check", saved(tmp_path, GOOD, name="d.yaml")).exception)
