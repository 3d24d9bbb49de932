"""Gets the control plane's programs: the user's own where they fit, else from the cache, else built from Go modules."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.controlplane.programs import building, found
from dev.controlplane.programs.recipe import FOR_A_NODE, NEEDED, OF_KUBERNETES, OLDEST_MODULE, Recipe, cache_key


@dataclass(frozen=True, slots=True)
class Binaries:
    """The paths of the programs; kubelet and kube-proxy only if requested."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kubectl: Path
    kwok: Path
    helm: Path
    kubelet: Path | None = None
    kube_proxy: Path | None = None


@dataclass(frozen=True, slots=True)
class Clients:
    """What a cluster that runs already is installed into with."""

    kubectl: Path
    helm: Path


def ensure(progress: Callable[[str], None] = print, *, node: bool = False) -> Binaries:
    """Return all programs, built first if need be (about five minutes, once); `progress` gets a line per step.

    `node` adds kubelet and kube-proxy. Raises ControlPlaneError with one sentence when they cannot be had.
    """
    recipes = [*NEEDED, *(FOR_A_NODE if node else ())]
    folder = cache_folder()
    own = found.in_assets()
    _tell(progress, own, found.ASSETS)
    paths = {**_cached(folder, recipes), **own}
    absent = [recipe for recipe in recipes if recipe.name not in paths]
    if absent:
        on_path = found.on_path(absent)
        _tell(progress, on_path, "PATH")
        paths |= on_path
    paths = _completed(paths, recipes, progress)
    return Binaries(**{recipe.name.replace("-", "_"): paths[recipe.name] for recipe in recipes})


def clients(progress: Callable[[str], None] = print) -> Clients:
    """kubectl and helm: those on PATH where they are recent enough, else built (once, one or two minutes).

    Raises ControlPlaneError with one sentence when they cannot be had.
    """
    recipes = [recipe for recipe in NEEDED if recipe.name in found.CLIENTS]
    own = found.clients_on_path()
    _tell(progress, own, "PATH")
    return Clients(**_completed({**_cached(cache_folder(), recipes), **own}, recipes, progress))


def oldest(progress: Callable[[str], None]) -> Path:
    """The folder with the servers and kubectl of the oldest Kubernetes that Quotree supports, built first if need be.

    Raises ControlPlaneError with one sentence when they cannot be had.
    """
    folder = cache_root() / cache_key(OLDEST_MODULE)
    absent = [recipe for recipe in OF_KUBERNETES if not (folder / recipe.name).is_file()]
    if absent:
        building.build(absent, folder, progress, OLDEST_MODULE)
    return folder


def cache_root(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the user's cache folder for the control plane; XDG_CACHE_HOME counts only when it is absolute."""
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    base = named if named.is_absolute() else Path.home() / ".cache"
    return base / "quotree" / "controlplane"


def cache_folder() -> Path:
    return cache_root() / cache_key()


def _completed(
    paths: Mapping[str, Path], recipes: Sequence[Recipe], progress: Callable[[str], None]
) -> dict[str, Path]:
    """Return the paths, and those of the programs that had to be built."""
    absent = [recipe for recipe in recipes if recipe.name not in paths]
    if not absent:
        return dict(paths)
    building.build(absent, cache_folder(), progress)
    return {**paths, **_cached(cache_folder(), absent)}


def _cached(folder: Path, recipes: Sequence[Recipe]) -> dict[str, Path]:
    return {recipe.name: folder / recipe.name for recipe in recipes if (folder / recipe.name).is_file()}


def _tell(progress: Callable[[str], None], programs: Mapping[str, Path], where: str) -> None:
    for name, path in programs.items():
        progress(f"control plane: using {name} from {where}: {path}")
