"""kubeconform, which checks manifests against JSON Schemas: built once from its Go module and kept in the cache."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from dev.controlplane.programs.binaries import Binaries
from dev.operators.building import ensure
from dev.operators.recipe import Operator

KUBECONFORM: Final = Operator(
    "kubeconform",
    "github.com/yannh/kubeconform",
    "v0.7.0",
    "h1:ZFfniR8VChrWQxaxTUGnNrxw8RIDkjVBrjdhXSamwjw=",
    "./cmd/kubeconform",
    manifests="",
    account=("", ""),
)


def program(binaries: Binaries, progress: Callable[[str], None]) -> Path:
    """Return its program, built first if need be. Raises ControlPlaneError with one sentence."""
    return ensure(KUBECONFORM, binaries, progress).program
