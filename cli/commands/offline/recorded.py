"""`quotree recorded`: the files of the reconciler's recording as a tar archive, to fetch them out of its pod.

See docs/replay.md.
"""

import sys
import tarfile
from io import BytesIO
from pathlib import Path

import click

from cli.replay.object_logs import files_of
from shared.problems import Problem
from shared.recording.files import FOLDER


@click.command("recorded")
@click.argument("folder", default=FOLDER, type=click.Path())
def command(folder: str) -> None:
    """Write the recording in FOLDER to standard output, as a tar archive.

    It is called in a pod of the reconciler, whose image has no tar of its own:
    `kubectl exec -n quotree-system POD -- quotree recorded | tar x -C logs`.
    """
    if sys.stdout.isatty():
        raise Problem("an archive is nothing for a terminal; add `> recording.tar` or `| tar x`")
    if not Path(folder).is_dir():
        raise Problem(f"{folder} is no folder: nothing is recorded here (recording.enabled)")
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for path in files_of([folder]):
            _add(archive, path)


def _add(archive: tarfile.TarFile, path: Path) -> None:
    """Add a file as it is now; one that was given up for space meanwhile is left out."""
    try:
        content, changed = path.read_bytes(), path.stat().st_mtime
    except FileNotFoundError:
        return
    entry = tarfile.TarInfo(path.name)
    entry.size, entry.mtime = len(content), int(changed)
    archive.addfile(entry, BytesIO(content))
