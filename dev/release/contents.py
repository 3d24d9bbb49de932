"""Which packages an image holds, read from its archive: so the list is true for every builder."""

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

GZIP = b"\x1f\x8b"
DEBIAN = PurePosixPath("var/lib/dpkg/status.d")


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """`kind` is pypi or deb, as in a package URL; `license` is empty when the package does not say it."""

    kind: str
    name: str
    version: str
    architecture: str = ""
    license: str = ""

    @property
    def url(self) -> str:
        """The package URL (purl)."""
        if self.kind == "deb":
            return f"pkg:deb/debian/{self.name}@{self.version.replace('+', '%2B')}?arch={self.architecture}"
        return f"pkg:{self.kind}/{self.name.lower().replace('_', '-')}@{self.version}"


def packages(archive: Path) -> list[Package]:
    """Return all packages of an image, sorted: Debian's by their status, Python's by their metadata."""
    with tarfile.open(archive) as image:
        manifest = json.loads(_content(image, "manifest.json"))[0]
        return sorted({found for layer in manifest["Layers"] for found in _of_layer(_content(image, layer))})


def _of_layer(data: bytes) -> Iterator[Package]:
    plain = gzip.decompress(data) if data.startswith(GZIP) else data
    with tarfile.open(fileobj=io.BytesIO(plain)) as layer:
        for entry in layer:
            path = PurePosixPath(entry.name)
            if path.name == "METADATA" and path.parent.suffix == ".dist-info":
                words = HeaderParser().parsestr(_content(layer, entry.name).decode())
                terms = words.get("License-Expression") or words.get("License") or ""
                yield Package("pypi", words["Name"], words["Version"], license=terms.partition("\n")[0])
            elif path.parent == DEBIAN:
                words = HeaderParser().parsestr(_content(layer, entry.name).decode())
                yield Package("deb", words["Package"], words["Version"], words["Architecture"])


def _content(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    return b"" if file is None else file.read()
