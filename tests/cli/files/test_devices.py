"""Devices that pods request by ResourceClaims, in files: the templates beside the Jobs say how many they are."""

import json
import os
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from cli.commands import explain
from cli.commands.ahead import simulate
from cli.commands.offline import check
from dev.controlplane.cluster import ControlPlane
from tests.cli.live.live_kinds import install_kinds

GPU = "gpu.example.com.deviceclass.resource.k8s.io/devices"
SETTINGS = "quota: {resources: {devices: {counted: true}}}"
GROUP = f"""
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {{name: vision}}
spec: {{quotas: [{{min: {{cpu: 8, {GPU}: 4}}, max: {{cpu: 8, {GPU}: 4}}}}], namespaceSelector: {{}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: one}}
status:
  allocatable: {{cpu: "8"}}
  conditions: [{{type: Ready, status: "True"}}]
"""
TEMPLATE = """
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, %s}}]}}}
"""
JOB = """
---
apiVersion: batch/v1
kind: Job
metadata: {name: %s, labels: {quotree.dev/group: vision}}
spec:
  parallelism: %d
  completions: %d
  template:
    spec:
      containers: [{name: c, image: none, resources: {requests: {cpu: 1}}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: two}]
"""
JOBS = JOB % ("first", 1, 1) + JOB % ("second", 1, 1) + JOB % ("third", 1, 1)


def files(folder: Path, text: str) -> list[str]:
    (folder / "all.yaml").write_text(text)
    (folder / "settings").write_text(SETTINGS)
    return [str(folder / "all.yaml"), "--settings", str(folder / "settings")]


def simulated(folder: Path, text: str) -> dict[str, Any]:
    answer = CliRunner().invoke(simulate.command, ["-f", *files(folder, text), "-o", "json"])
    assert answer.exit_code == 0, answer.output
    return dict(json.loads(answer.stdout))


def test_simulated_starts_follow_the_claim_templates(tmp_path: Path) -> None:
    found = simulated(tmp_path, GROUP + TEMPLATE % "count: 2" + JOBS)
    assert [each["workload"] for each in found["cycles"][0]["admitted"]] == ["default/first", "default/second"]
    assert found["groups"]["vision"]["default"][GPU]["used"] == 4
    (waits,) = found["pending"]
    assert (waits["workload"], waits["resource"], waits["missing"]) == ("default/third", GPU, 2)


def test_job_without_its_claim_template_waits_and_names_it(tmp_path: Path) -> None:
    why = "ResourceClaimTemplate two does not exist in namespace default; it waits until it is created"
    found = simulated(tmp_path, GROUP + JOB % ("first", 1, 1))
    assert ([each["admitted"] for each in found["cycles"]], [each["reason"] for each in found["pending"]]) == (
        [[]],
        ["Held"],
    )
    assert [each["message"] for each in found["warnings"]] == [why]
    asked = ["default/first", "-f", *files(tmp_path, GROUP + JOB % ("first", 1, 1)), "-o", "json"]
    answer = json.loads(CliRunner().invoke(explain.command, asked).stdout)
    assert why in answer["message"]
    assert answer["remedies"] == []
    answer = CliRunner().invoke(check.command, files(tmp_path, GROUP + JOB % ("first", 1, 1)))
    assert (answer.exit_code, why in answer.stdout) == (0, True)


def test_uncountable_claim_template_is_reported_by_check(tmp_path: Path) -> None:
    text = GROUP + TEMPLATE % "allocationMode: All" + JOB % ("first", 1, 1)
    answer = CliRunner().invoke(check.command, files(tmp_path, text))
    assert (answer.exit_code, "(DevicesUncountable)" in answer.stdout) == (1, True)


def test_request_above_the_group_device_limit_is_warned_of(tmp_path: Path) -> None:
    answer = CliRunner().invoke(check.command, files(tmp_path, GROUP + TEMPLATE % "count: 2" + JOB % ("wide", 3, 3)))
    assert (answer.exit_code, "(NeverFits)" in answer.stdout, GPU in answer.stdout) == (0, True, True)


LIVE = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: quotree-reconciler, namespace: devices, labels: {{quotree.dev/process: reconciler}}}}
data: {{reconciler.yaml: "{SETTINGS}"}}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {{name: devices}}
spec: {{quotas: [{{max: {{cpu: 8, {GPU}: 1}}}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: two, namespace: devices}}
spec: {{spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu.example.com, count: 2}}}}]}}}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: takes-two, namespace: devices, labels: {{quotree.dev/group: devices}}}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: a, image: a, resources: {{requests: {{cpu: 1}}}}}}]
      resourceClaims: [{{name: gpu, resourceClaimTemplateName: two}}]
"""


def test_claim_templates_of_a_live_cluster_are_read_where_devices_are_counted(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    control_plane.kubectl("create", "namespace", "devices")
    control_plane.apply(LIVE)
    environment = {"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"}
    words = ["devices/takes-two", "--kubeconfig", str(control_plane.kubeconfig), "-o", "json"]
    try:
        answer = CliRunner(env=environment).invoke(explain.command, words)
    finally:
        control_plane.kubectl("delete", "configmap", "-n", "devices", "quotree-reconciler")
    found = json.loads(answer.stdout)
    (refused,) = found["flavors"]
    assert (found["reason"], refused["binding"]["resource"]) == ("NeverFits", GPU)
