"""A group of different pods from files: simulate and explain speak of each of its pod sets."""

import json
from pathlib import Path

from click.testing import CliRunner

from cli.commands import explain
from cli.commands.ahead import simulate

GROUP = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec:
  quotas:
  - {flavor: std, min: {cpu: 4, gpu: 0}}
  - {flavor: a100, min: {cpu: 8, gpu: 8}}
"""
FLAVOR = """
---
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {{name: {0}}}
spec: {{nodeLabels: {{model: {0}}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: {0}-0, labels: {{model: {0}}}}}
status: {{allocatable: {{cpu: "8", gpu: "{1}"}}}}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: ns
  uid: {name}
  labels:
    quotree.dev/group: vision
    quotree.dev/pod-group: ray
    quotree.dev/pod-group-size: "3"
    quotree.dev/pod-set: {pod_set}
spec:
  schedulingGates: [{{name: quotree.dev/admission}}]
  containers: [{{name: main, resources: {{requests: {requests}, limits: {requests}}}}}]
"""


def written(folder: Path, gpus: int) -> list[str]:
    pods = [POD.format(name="driver", pod_set="driver", requests="{cpu: 1}")]
    workers = f"{{cpu: 1, gpu: {gpus}}}"
    pods += [POD.format(name=f"worker-{number}", pod_set="workers", requests=workers) for number in range(2)]
    (folder / "all.yaml").write_text("".join([GROUP, FLAVOR.format("std", 0), FLAVOR.format("a100", 8), *pods]))
    return ["-f", str(folder)]


def test_simulate_lists_the_flavors_of_each_pod_set(tmp_path: Path) -> None:
    files = written(tmp_path, 2)
    answer = json.loads(CliRunner().invoke(simulate.command, [*files, "-o", "json"]).stdout)
    assert answer["cycles"][0]["admitted"] == [
        {
            "workload": "ns/ray",
            "kind": "PodGroup",
            "group": "vision",
            "podSets": {"driver": {"cpu": "std"}, "workers": {"cpu": "a100", "gpu": "a100"}},
            "tier": "entitled",
        }
    ]
    text = CliRunner().invoke(simulate.command, files).stdout
    assert "start ns/ray of vision on driver: std; workers: a100 (entitled)" in text


def test_explain_names_the_waiting_pod_set_and_a_smaller_request(tmp_path: Path) -> None:
    files = written(tmp_path, 6)
    answer = json.loads(CliRunner().invoke(explain.command, ["ns/ray", *files, "-o", "json"]).stdout)
    assert answer["reason"] == "NeverFits"
    found = [(each["podSet"], each["flavor"], each["eligible"]) for each in answer["flavors"]]
    assert found == [
        ("driver", "std", True),
        ("driver", "a100", True),
        ("workers", "std", False),
        ("workers", "a100", False),
    ]
    shrunk = [each for each in answer["remedies"] if each["do"] == "ShrinkRequest"]
    assert [(each["podSet"], each["resource"], each["by"]) for each in shrunk] == [("workers", "gpu", 4)]
    text = CliRunner().invoke(explain.command, ["ns/ray", *files]).stdout
    assert "pod set workers, flavor a100: requests 12 of a100/gpu, the most it could get is 8" in text
    assert "request 4 less of gpu for pod set workers" in text
