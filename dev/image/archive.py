"""Packs layers into one image archive: an OCI layout that `docker load`, `podman load` and `ctr images import` read.

The same layers give the same bytes: names are sorted, times and owners are fixed.
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
_LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class Layer:
    """A compressed layer and the digest of its content before compression."""

    data: bytes
    content: str
    size: int


@dataclass(frozen=True, slots=True)
class Image:
    """What an archive holds: its full name with tag, layers from the bottom up, how a container of it starts."""

    name: str
    architecture: str
    layers: Sequence[Layer]
    settings: Mapping[str, Any]
    created: str


def layer(folder: Path, time: int) -> Layer:
    """Return the layer that `folder` holds as a root; everything in it belongs to root and is of `time`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            entry = tar.gettarinfo(path, str(path.relative_to(folder)))
            if not (entry.isfile() or entry.isdir() or entry.issym()):
                # A hard link is another name of a file: its content again.
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = time
            with path.open("rb") if entry.isfile() else io.BytesIO() as content:
                tar.addfile(entry, content if entry.isfile() else None)
    plain = buffer.getvalue()
    return Layer(gzip.compress(plain, _LEVEL, mtime=0), digest(plain), len(plain))


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def write(image: Image, path: Path) -> str:
    """Write the archive; the digest by which the image is known. Replaced as a whole, so never seen half written."""
    config = _json(
        {
            "created": image.created,
            "architecture": image.architecture,
            "os": "linux",
            "config": dict(image.settings),
            "rootfs": {"type": "layers", "diff_ids": [each.content for each in image.layers]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _descriptor(CONFIG, config),
            "layers": [_descriptor(LAYER, each.data) for each in image.layers],
        }
    )
    named = {"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": image.name.rpartition(":")[2]}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [_descriptor(MANIFEST, manifest, named)]}
    blobs = [config, manifest, *(each.data for each in image.layers)]
    # What `docker load` of before OCI layouts reads; it finds the same blobs.
    docker = [
        {"Config": _blob(config), "RepoTags": [image.name], "Layers": [_blob(each.data) for each in image.layers]}
    ]
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        "manifest.json": _json(docker),
        **{_blob(data): data for data in blobs},
    }
    partial = path.with_suffix(".partial")
    with tarfile.open(partial, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    partial.rename(path)
    return digest(manifest)


def _blob(data: bytes) -> str:
    return f"blobs/sha256/{digest(data).removeprefix('sha256:')}"


def _descriptor(kind: str, data: bytes, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    extra = {"annotations": dict(annotations)} if annotations else {}
    return {"mediaType": kind, "digest": digest(data), "size": len(data), **extra}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
