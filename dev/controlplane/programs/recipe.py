"""What is built for the control plane, at which versions, and the name of the cache folder that follows from it.

The versions stand in ../go/go.mod, and those of the oldest Kubernetes that Quotree supports in ../go-oldest/go.mod;
everything here is read from there.
"""

import hashlib
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MODULE = Path(__file__).parents[1] / "go"
OLDEST_MODULE = Path(__file__).parents[1] / "go-oldest"
LEAST_GO = (1, 26)


@dataclass(frozen=True, slots=True)
class Recipe:
    """One program: the Go package it is built from, and the module that gives its version."""

    name: str
    package: str
    module: str

    @property
    def linked_as(self) -> str:
        """The file name Go gives it: the package's last element that is not a major version."""
        elements = [element for element in self.package.split("/") if not re.fullmatch(r"v\d+", element)]
        return elements[-1]


KUBERNETES = "k8s.io/kubernetes"
HELM = "helm.sh/helm/v3"
KWOK = "sigs.k8s.io/kwok"
ETCD = "go.etcd.io/etcd/server/v3"

NEEDED = (
    Recipe("etcd", ETCD, ETCD),
    Recipe("kube-apiserver", f"{KUBERNETES}/cmd/kube-apiserver", KUBERNETES),
    Recipe("kube-controller-manager", f"{KUBERNETES}/cmd/kube-controller-manager", KUBERNETES),
    Recipe("kube-scheduler", f"{KUBERNETES}/cmd/kube-scheduler", KUBERNETES),
    Recipe("kubectl", f"{KUBERNETES}/cmd/kubectl", KUBERNETES),
    Recipe("kwok", f"{KWOK}/cmd/kwok", KWOK),
    Recipe("helm", f"{HELM}/cmd/helm", HELM),
)
OF_KUBERNETES = tuple(recipe for recipe in NEEDED if recipe.module == KUBERNETES)
FOR_A_NODE = (
    Recipe("kubelet", f"{KUBERNETES}/cmd/kubelet", KUBERNETES),
    Recipe("kube-proxy", f"{KUBERNETES}/cmd/kube-proxy", KUBERNETES),
)


def pinned_version(module: str, pins: Path = MODULE) -> str:
    """The version of a module in the go.mod of the folder `pins`, as `v1.37.2`."""
    version = _version(module, pins)
    if version is None:
        raise AssertionError(f"{pins / 'go.mod'} does not require {module}")
    return version


def _version(module: str, pins: Path) -> str | None:
    found = re.search(rf"^(?:\t|require ){re.escape(module)} (v\S+)", (pins / "go.mod").read_text(), re.MULTILINE)
    return None if found is None else found[1]


def linker_flags(pins: Path = MODULE) -> str:
    """Stripped programs that know their versions; without these kubectl and helm see a nonsense server version."""
    kubernetes, helm, kwok = (_version(module, pins) for module in (KUBERNETES, HELM, KWOK))
    major, minor, _ = pinned_version(KUBERNETES, pins).removeprefix("v").split(".", 2)
    values = {
        "k8s.io/component-base/version.gitVersion": kubernetes,
        "k8s.io/component-base/version.gitMajor": major,
        "k8s.io/component-base/version.gitMinor": minor,
        f"{HELM}/internal/version.version": helm,
        f"{HELM}/pkg/chartutil.k8sVersionMajor": major,
        f"{HELM}/pkg/chartutil.k8sVersionMinor": minor,
        f"{KWOK}/pkg/consts.Version": kwok,
    }
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in values.items())])


def build_arguments(recipes: Sequence[Recipe], output: Path, pins: Path = MODULE) -> list[str]:
    """The words after `go` that build `recipes` into the folder `output`."""
    fixed = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-v", f"-ldflags={linker_flags(pins)}"]
    return ["build", *fixed, "-o", f"{output}/", *(recipe.package for recipe in recipes)]


def cache_key(pins: Path = MODULE) -> str:
    """Changes with everything a program depends on: modules, their sums, flags, machine."""
    digest = hashlib.sha256()
    for part in (
        (pins / "go.mod").read_bytes(),
        (pins / "go.sum").read_bytes(),
        linker_flags(pins).encode(),
        platform.system().encode(),
        platform.machine().encode(),
    ):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]
