"""Which of the user's own programs fit, and which Go."""

from pathlib import Path

import pytest

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import found, recipe, toolchain
from tests.dev.controlplane.programs import program

NAMES = [item.name for item in recipe.NEEDED]
VERSIONS = {"etcd": "3.7.0", "kwok": "0.8.0", "helm": "3.22.0"}


def programs(folder: Path, kubernetes: str, **versions: str) -> None:
    for name in NAMES:
        version = versions.get(name, VERSIONS.get(name, kubernetes))
        program(folder / name, f"echo '{name} version v{version} (of some date)'")


@pytest.mark.parametrize(
    ("kubernetes", "versions", "missing", "used"),
    [
        ("1.37.1", {}, [], NAMES),
        ("1.29.9", {}, [], ["etcd", "kwok", "helm"]),
        ("1.31.0", {}, ["kube-scheduler"], ["etcd", "kwok", "helm"]),
        ("1.37.0", {}, ["kube-scheduler"], [name for name in NAMES if name != "kube-scheduler"]),
        ("1.33.0", {"kube-scheduler": "1.34.0"}, [], ["etcd", "kwok", "helm"]),
        ("1.37.0", {"kubectl": "1.32.4"}, [], [name for name in NAMES if name != "kubectl"]),
        ("1.37.0", {"etcd": "3.4.9", "kwok": "0.7.0", "helm": "4.0.0"}, [], [n for n in NAMES if n not in VERSIONS]),
    ],
    ids=[
        "all of the pinned version",
        "Kubernetes too old",
        "another Kubernetes, one server absent",
        "the pinned Kubernetes, one server absent",
        "servers of two versions",
        "kubectl too old",
        "etcd, kwok and helm unfit",
    ],
)
def test_only_kubebuilder_assets_of_the_pinned_version_are_used(
    tmp_path: Path, kubernetes: str, versions: dict[str, str], missing: list[str], used: list[str]
) -> None:
    programs(tmp_path, kubernetes, **versions)
    for name in missing:
        (tmp_path / name).unlink()
    assert sorted(found.in_assets({"KUBEBUILDER_ASSETS": str(tmp_path)})) == sorted(used)


def test_kubebuilder_assets_that_is_no_folder_is_an_error() -> None:
    with pytest.raises(ControlPlaneError, match="KUBEBUILDER_ASSETS names '/nowhere/at/all', which is not a folder"):
        found.in_assets({"KUBEBUILDER_ASSETS": "/nowhere/at/all"})


def test_a_program_on_the_path_is_used_only_at_the_pinned_minor_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path / "kubectl", "echo 'Client Version: v1.37.9'")
    program(tmp_path / "helm", "echo 'v3.20.0+g123'")
    program(tmp_path / "kwok", "exit 1")
    assert found.on_path(recipe.NEEDED) == {"kubectl": tmp_path / "kubectl"}


@pytest.mark.parametrize(
    ("helm", "fits"), [("v3.14.0+g1", True), ("v3.13.3+g1", False), ("v4.0.1+g1", False)], ids=["3.14", "3.13", "4"]
)
def test_any_kubectl_and_a_recent_helm_can_install_into_an_existing_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helm: str, fits: bool
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path / "kubectl", "echo 'Client Version: v1.31.2'")
    program(tmp_path / "helm", f"echo '{helm}'")
    assert found.clients_on_path() == {
        "kubectl": tmp_path / "kubectl",
        **({"helm": tmp_path / "helm"} if fits else {}),
    }


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("go version go1.26.8 linux/amd64", True),
        ("go version go1.26 linux/amd64", True),
        ("go version go1.27rc1 linux/arm64", True),
        ("go version go1.30.1 linux/arm64", True),
        ("go version go1.25.9 linux/amd64", False),
        ("go version go1.9 linux/amd64", False),
        ("gccgo (Debian) 12.2", False),
        ("", False),
    ],
)
def test_go_is_accepted_from_1_26(line: str, fits: bool) -> None:
    assert toolchain.fits(line) is fits
