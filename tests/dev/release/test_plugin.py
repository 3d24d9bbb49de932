"""The kubectl plugin as krew unpacks it: kubectl finds it, and its first call makes its environment."""

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from dev.controlplane.programs.binaries import Binaries
from dev.image import facts
from dev.release import plugin


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=facts.ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    path = folder / f"{plugin.NAME}-{facts.version()}.tar.gz"
    plugin.write_archive(path, wheel, 0)
    first = path.read_bytes()
    plugin.write_archive(path, wheel, 0)
    assert path.read_bytes() == first
    return path


@pytest.mark.timeout(900)
def test_kubectl_runs_the_unpacked_plugin(archive: Path, tmp_path: Path, control_plane_binaries: Binaries) -> None:
    unpacked, links = tmp_path / "store", tmp_path / "bin"
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    links.mkdir()
    (links / plugin.NAME).symlink_to(unpacked / plugin.NAME)
    path = f"{links}:{control_plane_binaries.kubectl.parent}:/usr/bin:/bin"
    environment = {
        **os.environ,
        "PATH": path,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "QUOTREE_PYTHON": sys.executable,
    }
    errors = []
    for _ in range(2):
        command = ["kubectl", "quotree", "version", "--client"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"client: {facts.version()}\n"
        errors.append(done.stderr)
    assert ["once" in words for words in errors] == [True, False]


def test_plugin_reports_a_too_old_python(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    environment = {**os.environ, "QUOTREE_PYTHON": str(old)}
    done = subprocess.run([tmp_path / plugin.NAME], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, f"{old} is not Python 3.11 or later" in done.stderr) == (2, True)


def test_the_manifest_names_the_archive_and_its_digest(archive: Path) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    spec = yaml.safe_load(plugin.manifest(facts.version(), archive.name, digest, "https://dl.example.com/q/"))["spec"]
    (platform,) = spec["platforms"]
    assert (platform["uri"], platform["sha256"]) == (f"https://dl.example.com/q/{archive.name}", digest)
    assert len(spec["shortDescription"]) <= 50
    with tarfile.open(archive) as tar:
        assert platform["bin"] in tar.getnames()
