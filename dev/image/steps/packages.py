"""Which Debian packages the files of the image come from, in the form that scanners of images read."""

import subprocess
from collections.abc import Sequence
from pathlib import Path


def record(files: Sequence[Path], folder: Path) -> None:
    """Write the status of each package that owns one of `files` to a file of its name in `folder`."""
    folder.mkdir(parents=True)
    for name in sorted(set(_owners(files))):
        status = subprocess.run(["dpkg-query", "--status", name], capture_output=True, text=True, check=True).stdout
        (folder / name.partition(":")[0]).write_text(status)


def _owners(files: Sequence[Path]) -> list[str]:
    """Return the owning packages; a file that came otherwise, as Python of the official image did, has none."""
    # A path may be registered below / or below /usr: both are the same place.
    names = {form for file in files for form in (str(file), str(file).removeprefix("/usr"), str(file.resolve()))}
    done = subprocess.run(["dpkg-query", "--search", *sorted(names)], capture_output=True, text=True, check=False)
    return [line.partition(": ")[0] for line in done.stdout.splitlines() if not line.startswith("diversion")]
