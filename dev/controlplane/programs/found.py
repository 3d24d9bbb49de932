"""Which programs the user already has and which of them fit: in KUBEBUILDER_ASSETS, and on PATH."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs.recipe import NEEDED, Recipe, pinned_version

ASSETS = "KUBEBUILDER_ASSETS"
PROBE_TIMEOUT = 20.0
SERVERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
CLIENTS = ("kubectl", "helm")
VERSION_COMMANDS = {"kubectl": ("version", "--client"), "helm": ("version", "--short")}

# Quotree supports Kubernetes 1.30 and later; kwok stages with `jq` selectors came with 0.8.
LEAST = {"etcd": (3, 5), "kwok": (0, 8), "helm": (3, 14)}
LEAST_KUBERNETES = (1, 30)
LAST_HELM_MAJOR = 3


@dataclass(frozen=True, slots=True)
class Program:
    """A program on this machine and the (major, minor) it says it is; None when it says nothing we understand."""

    path: Path
    version: tuple[int, int] | None


def in_assets(environment: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Return what fits in the folder KUBEBUILDER_ASSETS names.

    Raises ControlPlaneError when there is no such folder.
    """
    named = environment.get(ASSETS)
    if not named:
        return {}
    folder = Path(named)
    if not folder.is_dir():
        raise ControlPlaneError(f"{ASSETS} names {named!r}, which is not a folder: unset it or let it name one")
    return fitting({recipe.name: probed(folder / recipe.name) for recipe in NEEDED if (folder / recipe.name).is_file()})


def on_path(recipes: Sequence[Recipe]) -> dict[str, Path]:
    """Return what fits of `recipes` on PATH: the minor version that would be built, as tests are written against it."""
    located = {recipe.name: shutil.which(recipe.name) for recipe in recipes}
    programs = {name: probed(Path(path)) for name, path in located.items() if path is not None}
    pinned = {recipe.name: parsed_version(pinned_version(recipe.module)) for recipe in recipes}
    return {name: program.path for name, program in programs.items() if program.version == pinned[name]}


def clients_on_path() -> dict[str, Path]:
    """kubectl and helm on PATH, where they are recent enough for an existing cluster."""
    located = {name: shutil.which(name) for name in CLIENTS}
    programs = {name: probed(Path(path)) for name, path in located.items() if path is not None}
    return {name: each.path for name, each in programs.items() if _fits(name, each.version, each.version)}


def fitting(programs: Mapping[str, Program]) -> dict[str, Path]:
    """Return the programs that are recent enough; API server, controller manager and scheduler only together.

    The three must be of one version. Where they are built, only programs of that version are taken beside them.
    """
    kubernetes = parsed_version(pinned_version("k8s.io/kubernetes"))
    versions = {programs[name].version if name in programs else None for name in SERVERS}
    of_all_three = versions.pop() if len(versions) == 1 else None
    if of_all_three is not None and of_all_three >= LEAST_KUBERNETES:
        kubernetes = of_all_three
    return {name: program.path for name, program in programs.items() if _fits(name, program.version, kubernetes)}


def _fits(name: str, version: tuple[int, int] | None, kubernetes: tuple[int, int] | None) -> bool:
    if version is None or kubernetes is None:
        return False
    if name == "helm" and version[0] > LAST_HELM_MAJOR:
        return False
    if name in LEAST:
        return version >= LEAST[name]
    if name == "kubectl":
        return abs(version[1] - kubernetes[1]) <= 1
    return version == kubernetes


def probed(path: Path) -> Program:
    """Ask a program for its version; a program that cannot be run has none."""
    arguments = VERSION_COMMANDS.get(path.name, ("--version",))
    try:
        done = subprocess.run(
            [path, *arguments], capture_output=True, text=True, check=False, timeout=PROBE_TIMEOUT, env={**os.environ}
        )
    except (OSError, subprocess.TimeoutExpired):
        return Program(path, None)
    return Program(path, parsed_version(done.stdout) if done.returncode == 0 else None)


def parsed_version(text: str) -> tuple[int, int] | None:
    """Major and minor of the first `1.37.2` in a text."""
    found = re.search(r"\bv?(\d+)\.(\d+)\.\d+", text)
    return (int(found[1]), int(found[2])) if found else None
