"""The objects of the chart, rendered by the real helm."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dev.controlplane.programs.binaries import Binaries

CHART = Path(__file__).parent.parent.parent / "charts" / "quotree"
SYSTEM = ["kube-system", "kube-node-lease", "kube-public", "quotree-system"]
Object = dict[str, Any]
# The values by which an organisation names, labels and places what is installed: each alone, and all together.
VALUES: dict[str, dict[str, Any]] = {
    "nameOverride": {"nameOverride": "shares"},
    "fullnameOverride": {"fullnameOverride": "acme-quota"},
    "commonLabels": {"commonLabels": {"team": "platform", "app.kubernetes.io/part-of": "sharing"}},
    "podLabels": {"podLabels": {"mesh.example.com/inject": "false"}},
    "serviceAccount": {"serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/quota"}}},
    "topologySpreadConstraints": {
        "topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
        ]
    },
    "hostNetwork": {"webhook": {"hostNetwork": True}, "visibility": {"hostNetwork": True}},
}
VALUES["all"] = {key: value for each in VALUES.values() for key, value in each.items()}


def helm_template(binaries: Binaries, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [str(binaries.helm), "template", "quotree", str(CHART), "-n", "quotree-system", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def render(binaries: Binaries, *flags: str) -> list[Object]:
    answer = helm_template(binaries, *flags)
    assert answer.returncode == 0, answer.stderr
    return [each for each in yaml.load_all(answer.stdout, Loader=yaml.CSafeLoader) if each]


def find_object(objects: list[Object], kind: str, name: str) -> Object:
    (found,) = [each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def webhooks(objects: list[Object]) -> Iterator[Object]:
    for each in objects:
        if each["kind"].endswith("WebhookConfiguration"):
            yield from each["webhooks"]
