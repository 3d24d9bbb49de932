"""The command line as a kubectl plugin: an archive for every platform with Python, and krew's manifest of it."""

from pathlib import Path
from typing import Any

import yaml

from dev.image import facts
from dev.release import tarball

NAME = "kubectl-quotree"
LAUNCHER = Path(__file__).with_name(f"{NAME}.sh")
UNPUBLISHED = "https://example.com/quotree"
"""Where nothing can be fetched: `kubectl krew install --archive` takes the file itself."""


def write_archive(path: Path, wheel: Path, time: int) -> None:
    """Write the launcher, the wheel and the lock of its packages; the same content gives the same bytes."""
    files = {
        NAME: (LAUNCHER.read_bytes(), 0o755),
        wheel.name: (wheel.read_bytes(), 0o644),
        "runtime.lock": ((facts.ROOT / "runtime.lock").read_bytes(), 0o644),
        "LICENSE": ((facts.ROOT / "LICENSE").read_bytes(), 0o644),
    }
    tarball.write(path, files, time)


def manifest(version: str, archive: str, digest: str, url: str) -> str:
    """Return krew's manifest; `url` is the folder that the archive is published in."""
    document: dict[str, Any] = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "quotree"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "Explain and try out hierarchical quota",
            "description": (
                "Shows Quotree's tree of quota with what is used and borrowed, says why a workload waits and what "
                "would let it start, and tries edits of the tree before they are made.\n"
            ),
            "caveats": "Needs Python 3.11 or later; the first call installs its packages into ~/.cache/quotree.\n",
            "platforms": [
                {
                    "selector": {"matchExpressions": [{"key": "os", "operator": "In", "values": ["linux", "darwin"]}]},
                    "uri": f"{url.rstrip('/')}/{archive}",
                    "sha256": digest,
                    "bin": NAME,
                    "files": [{"from": "*", "to": "."}],
                }
            ],
        },
    }
    return yaml.safe_dump(document, sort_keys=False)
