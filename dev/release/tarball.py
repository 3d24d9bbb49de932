"""Archives of which the same content is the same bytes: no owner, no order of the file system, one time."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def write(path: Path, files: Mapping[str, tuple[bytes, int]], time: int) -> None:
    """Write name → (content, mode) as a compressed archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, time
            tar.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))


def normalize(path: Path, time: int) -> None:
    """Write an archive again without what differs from build to build."""
    with tarfile.open(path) as tar:
        files = {
            member.name: (content.read(), 0o644)
            for member in tar.getmembers()
            if member.isfile() and (content := tar.extractfile(member)) is not None
        }
    write(path, files, time)
