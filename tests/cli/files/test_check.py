"""`quotree check` applies the settings that it is given, and says which groups are open to every namespace."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.commands.ahead import simulate
from cli.commands.offline import check
from shared.problems import Problem

GROUP = "apiVersion: quotree.dev/v1alpha1\nkind: QuotaGroup\nmetadata: {name: %s}\nspec: %s\n---\n"
QUOTAS = "quotas: [{min: {cpu: 4}, max: {cpu: 8}}]"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {quotree.dev/group: vision}}
spec:
  template:
    spec:
      restartPolicy: Never
      priorityClassName: top
      terminationGracePeriodSeconds: 3600
      containers: [{name: main, image: none}]
"""
CLASSES = "".join(
    f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\nvalue: 10\n---\n"
    for name in ("low", "top")
)
SETTINGS = """
quota:
  openGroups: false
  priorities: {vision: [low]}
  reclaim: {maxTerminationGracePeriod: 5m}
  maxima: {reclaim: {notice: 1m}}
"""


def check_output(folder: Path, manifests: str, settings: str = "") -> tuple[int, list[str]]:
    """The exit code, and every finding without its place and its object."""
    (folder / "manifests.yaml").write_text(manifests)
    (folder / "settings").write_text(settings or "{}")
    answer = CliRunner().invoke(check.command, [str(folder / "manifests.yaml"), "--settings", str(folder / "settings")])
    return answer.exit_code, [line.split(": ", 1)[1] for line in answer.stdout.splitlines()]


def test_groups_that_admit_every_namespace_are_listed(tmp_path: Path) -> None:
    manifests = GROUP % ("vision", "{}") + GROUP % ("nlp", "{namespaceSelector: {matchLabels: {team: nlp}}}")
    code, lines = check_output(tmp_path, manifests)
    assert (code, lines) == (
        0,
        [
            (
                "warning: QuotaGroup 'root' spec.namespaceSelector: no namespaceSelector is set here or on the path of "
                "vision, so workloads of every namespace may use them; give one to root or to groups, or set "
                "quota.openGroups: false (OpenGroups)"
            )
        ],
    )
    assert check_output(tmp_path, manifests, "quota: {openGroups: false}") == (0, [])
    assert check_output(tmp_path, manifests + GROUP % ("root", "{isParent: true, namespaceSelector: {}}")) == (0, [])


def test_restrictions_in_the_settings_are_checked(tmp_path: Path) -> None:
    spec = f"{{{QUOTAS}, requireRequests: true, reclaim: {{notice: 1h}}, namespaceSelector: {{}}}}"
    code, lines = check_output(tmp_path, GROUP % ("vision", spec) + CLASSES + JOB, SETTINGS)
    assert code == 1
    codes = [line.rpartition("(")[2].rstrip(")") for line in lines]
    assert codes == ["AboveMaximum", "PriorityNotAllowed", "RequestAbsent"]
    without = JOB.replace("priorityClassName: top", "priorityClassName: low").replace(
        "image: none", ("image: none, resources: {requests: {cpu: 1}}")
    )
    code, lines = check_output(tmp_path, GROUP % ("vision", spec.replace("1h", "1m")) + CLASSES + without, SETTINGS)
    assert (code, [line.rpartition("(")[2] for line in lines]) == (0, ["LongTermination)"])


def test_built_in_groups_exist_without_a_file(tmp_path: Path) -> None:
    """Every cluster has them: a Job of `default` is told what it lacks, not that there is no such group."""
    job = JOB.replace("image: none", "image: none, resources: {requests: {cpu: 1}}").replace("vision", "%s")
    file, codes = tmp_path / "manifests.yaml", {}
    for group in ("default", "system", "nobody"):
        code, lines = check_output(tmp_path, CLASSES + job % group, "quota: {openGroups: false}")
        codes[group] = code, [line.rpartition("(")[2].rstrip(")") for line in lines]
    assert codes == {
        "default": (0, ["ResourceNotCovered"]),
        "system": (1, ["SystemGroup"]),
        "nobody": (1, ["GroupAbsent"]),
    }
    file.write_text(CLASSES + job % "default")
    answer = json.loads(CliRunner().invoke(simulate.command, ["-f", str(file), "-o", "json"]).stdout)
    assert [(each["group"], each["message"]) for each in answer["pending"]] == [
        ("default", "Job 'default/train' waits: no quota entry covers cpu")
    ]


def test_pod_sets_of_a_group_are_judged_each_with_flavors_of_its_own(tmp_path: Path) -> None:
    """Sets of 3 and 2 cpu fit in flavors of 4: `simulate` starts them, so `check` does not say that they never do."""
    head = "apiVersion: quotree.dev/v1alpha1\nkind: ResourceFlavor\n"
    flavors = "".join(
        f"{head}metadata: {{name: {name}}}\nspec: {{nodeLabels: {{model: {name}}}, nodeTaints: []}}\n---\n"
        for name in "xy"
    )
    entry = "{flavor: %s, min: {cpu: 4}, max: {cpu: 4}}"
    group = GROUP % ("vision", f"{{quotas: [{entry % 'x'}, {entry % 'y'}]}}")
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {quotree.dev/group: vision, "
        "quotree.dev/pod-group: mpi, quotree.dev/pod-group-size: '2', quotree.dev/pod-set: %s}}\n"
        "spec: {schedulingGates: [{name: quotree.dev/admission}], containers: [{name: main, image: none, "
        "resources: {requests: {cpu: %d}}}]}\n---\n"
    )
    manifests = flavors + group + pod % ("one", "one", 3)
    closed = "quota: {openGroups: false}"
    assert check_output(tmp_path, manifests + pod % ("two", "two", 2), closed) == (0, [])
    code, lines = check_output(tmp_path, manifests + pod % ("two", "two", 6), closed)
    assert (code, [line.rpartition("(")[2] for line in lines]) == (0, ["NeverFits)"])


SEVERAL = """
apiVersion: v1
kind: Node
metadata: {name: node}
status: {allocatable: {cpu: much}}
---
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {parent: absent, quota: [], quotas: [{min: {cpu: 4}}]}
---
"""


def test_every_finding_names_its_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "several.yaml"
    file.write_text(SEVERAL + CLASSES + JOB)
    (tmp_path / "group.yaml").write_text(GROUP % ("open", "{}"))
    expected = {
        "Node/node": (f"{file}", 2),
        "QuotaGroup/vision": (f"{file}", 11),
        "QuotaGroup/root": (str(tmp_path / "group.yaml"), 1),
    }

    def found(output: str) -> str:
        return CliRunner().invoke(check.command, [str(tmp_path), "-o", output]).stdout

    answer = json.loads(found("json"))
    findings = [*answer["violations"], *answer["warnings"]]
    for each in findings:
        file_name, line = expected.get(each["object"], (each["file"], each["line"]))
        assert each["file"] == file_name
        assert each["line"] >= line
    assert {"BadField", "OpenGroups"} <= {each["rule"] for each in findings}
    places = [f"{each['file']}:{each['line']}: " for each in findings]
    assert [
        line for line, place in zip(found("text").splitlines(), places, strict=True) if not line.startswith(place)
    ] == []
    placed = [f"file={each['file']},line={each['line']},title={each['rule']}" for each in findings]
    assert [line for line, place in zip(found("github").splitlines(), placed, strict=True) if place not in line] == []


def test_workload_that_names_too_many_resources_is_refused_as_by_the_webhook(tmp_path: Path) -> None:
    many = ", ".join(f"example.com/r{number}: 0" for number in range(65))
    job = JOB.replace("image: none", f"image: none, resources: {{requests: {{{many}}}}}")
    code, found = check_output(tmp_path, GROUP % ("vision", f"{{{QUOTAS}}}") + job)
    assert code == 1
    assert any("has 65 different resources, a managed workload has at most 64" in each for each in found)


OVER = """{parent: research, quotas: [{min: {cpu: 4}}],
  overrides: [{from: "2099-01-04T00:00:00Z", until: "2099-01-05T00:00:00Z", quotas: [{min: {cpu: 12}}]}]}"""


@pytest.mark.parametrize(
    ("until", "code"),
    [
        pytest.param((), 1, id="all moments"),
        pytest.param(("--until", "2099-01-03T00:00:00Z"), 0, id="before it"),
        pytest.param(("--until", "2099-01-04T00:00:00Z"), 1, id="when it begins"),
    ],
)
def test_tree_is_judged_until_the_moment_that_is_given(tmp_path: Path, until: tuple[str, ...], code: int) -> None:
    file = tmp_path / "tree.yaml"
    file.write_text(GROUP % ("research", "{isParent: true, quotas: [{min: {cpu: 8}}]}") + GROUP % ("vision", OVER))
    answer = CliRunner().invoke(check.command, [str(file), *until])
    assert (answer.exit_code, "2099-01-04T00:00:00Z" in answer.stdout) == (code, bool(code))


def test_moment_that_has_passed_is_no_end_of_what_is_judged(tmp_path: Path) -> None:
    file = tmp_path / "tree.yaml"
    file.write_text(GROUP % ("vision", f"{{{QUOTAS}}}"))
    answer = CliRunner().invoke(check.command, [str(file), "--until", "2020-01-01T00:00:00Z"])
    assert isinstance(answer.exception, Problem)
    assert str(answer.exception).startswith(
        "--until '2020-01-01T00:00:00Z' has passed: only moments to come are judged"
    )
