"""The image archive: the same layers give the same bytes, and every blob is what it is called."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from dev.image import archive


@pytest.fixture
def layer(tmp_path: Path) -> archive.Layer:
    return archive.layer(_folder(tmp_path / "one"), time=1_000)


def test_layer_is_reproducible_at_any_time_by_any_user(tmp_path: Path, layer: archive.Layer) -> None:
    other = _folder(tmp_path / "two")
    os.utime(other / "bin/run", (5, 5))

    assert archive.layer(other, time=1_000) == layer


def test_a_layer_keeps_modes_links_and_content(layer: archive.Layer) -> None:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer.data))) as tar:
        found = {entry.name: (entry.mode, entry.linkname, entry.uid, entry.mtime) for entry in tar}
        again = tar.extractfile("again")
        assert again is not None
        assert again.read() == b"#!/bin/sh\n"
    assert found == {
        "again": (0o755, "", 0, 1_000),
        "bin": (0o755, "", 0, 1_000),
        "bin/run": (0o755, "", 0, 1_000),
        "sbin": (0o777, "bin", 0, 1_000),
    }


def test_every_blob_of_an_archive_has_the_name_of_its_digest(tmp_path: Path, layer: archive.Layer) -> None:
    image = archive.Image("docker.io/library/q:1", "amd64", [layer], {"User": "65532"}, "2026-01-01T00:00:00Z")
    digest = archive.write(image, tmp_path / "image.tar")

    with tarfile.open(tmp_path / "image.tar") as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    blobs = {name: data for name, data in files.items() if name.startswith("blobs/")}
    assert all(hashlib.sha256(data).hexdigest() == Path(name).name for name, data in blobs.items())
    index = json.loads(files["index.json"])["manifests"][0]
    assert index["digest"] == digest
    manifest = json.loads(files[f"blobs/sha256/{digest.removeprefix('sha256:')}"])
    named = [f"blobs/sha256/{each['digest'].removeprefix('sha256:')}" for each in manifest["layers"]]
    docker = json.loads(files["manifest.json"])[0]
    assert docker["Layers"] == named
    assert docker["RepoTags"] == ["docker.io/library/q:1"]
    assert json.loads(files[docker["Config"]])["rootfs"]["diff_ids"] == [layer.content]


def _folder(root: Path) -> Path:
    (root / "bin").mkdir(parents=True)
    (root / "bin").chmod(0o755)
    (root / "bin/run").write_text("#!/bin/sh\n")
    (root / "bin/run").chmod(0o755)
    (root / "again").hardlink_to(root / "bin/run")
    (root / "sbin").symlink_to("bin")
    return root
