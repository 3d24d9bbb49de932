"""The chart as plain manifests: one file for `kubectl apply`, and a base for kustomize."""

import subprocess
from pathlib import Path
from typing import Final

import yaml

from dev.image import facts
from dev.node.chart import CHART, NAMESPACE
from dev.release import tarball

_HEAD: Final = "# Quotree {version}: the chart with its default values, in the namespace {namespace}. docs/gitops.md\n"


def render(helm: Path) -> str:
    """Return the chart with its default values, the namespace first."""
    command = [str(helm), "template", "quotree", str(CHART), "--namespace", NAMESPACE, "--skip-tests"]
    rendered = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    namespace = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    head = _HEAD.format(version=facts.version(), namespace=NAMESPACE)
    return f"{head}---\n{namespace}{rendered}"


def write_kustomize_base(path: Path, manifests: str, time: int) -> None:
    """Write an archive with the folder `kustomize`, to be named among the resources of a kustomization."""
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["quotree.yaml"],
    }
    files = {
        "kustomize/kustomization.yaml": (yaml.safe_dump(kustomization, sort_keys=False).encode(), 0o644),
        "kustomize/quotree.yaml": (manifests.encode(), 0o644),
    }
    tarball.write(path, files, time)
