"""The objects of the chart, rendered by the real helm."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dev.controlplane.binaries import Binaries

CHART = Path(__file__).parent.parent.parent / "charts" / "quotree"
SYSTEM = ["kube-system", "kube-node-lease", "kube-public", "quotree-system"]
Object = dict[str, Any]


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
