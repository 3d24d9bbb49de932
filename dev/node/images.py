"""Puts images into containerd from archives, as there is no registry: the project's, and one for pods' sandboxes."""

import json
import tarfile
from io import BytesIO
from pathlib import Path

from dev.node.commands import ctr
from dev.node.errors import NodeError
from dev.node.names import PAUSE, STATE

# A sandbox needs one process that does nothing; Python is in the image already.
SLEEPER = ["python3", "-IS", "-c", "import signal; signal.pause()"]


def load(archive: Path) -> None:
    """Import the image archive under its own name, and as the image of pods' sandboxes."""
    pause = STATE / "pause.tar"
    derive(archive, pause, name=PAUSE, command=SLEEPER)
    for each in (archive, pause):
        ctr("images", "import", str(each))
    pause.unlink()


def derive(archive: Path, target: Path, *, name: str, command: list[str] | None = None) -> None:
    """Write the image of `archive` under another name, and with another command where one is given."""
    with tarfile.open(archive) as source, tarfile.open(target, "w") as made:

        def content(member: str) -> bytes:
            file = source.extractfile(member)
            if file is None:
                raise NodeError(f"{archive} is no image archive: {member} is no file in it")
            return file.read()

        manifest = json.loads(content("manifest.json"))[0]
        config = json.loads(content(manifest["Config"]))
        if command:
            config["config"] = {"Env": config["config"].get("Env", []), "Entrypoint": command}
        files = {
            "manifest.json": json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": manifest["Layers"]}]),
            "config.json": json.dumps(config),
        }
        for path, text in files.items():
            _add(made, path, text.encode())
        for layer in manifest["Layers"]:
            _add(made, layer, content(layer))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, BytesIO(data))
