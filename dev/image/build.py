"""Makes the image's archive, by an engine where one answers, else by ourselves, and checks that its programs start."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dev.image import archive, check, chroot, dockerfile, engines, facts
from dev.image.errors import ImageError

DIST = facts.ROOT / "dist"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quotree" / "image"


@dataclass(frozen=True, slots=True)
class Built:
    """An image on disk; `unpacked` in bytes, None when an engine made it."""

    tag: str
    archive: Path
    builder: str
    unpacked: int | None
    digest: str | None


def image(progress: Callable[[str], None], *, tag: str, output: Path, refresh: bool = False) -> Built:
    """Build the image `tag` into the archive `output`. Raises ImageError when it cannot be built or does not work."""
    output.parent.mkdir(parents=True, exist_ok=True)
    engine = engines.answering()
    if engine is not None:
        engines.build(engine, tag, output, progress)
        progress(f"image: {engines.run_python(engine, tag, check.script())}")
        return Built(tag, output, engine.name, None, None)
    progress("image: building it here, without docker, podman or buildah")
    with chroot.layers(progress, cache=CACHE, refresh=refresh) as folders:
        time = facts.source_time()
        layers = [archive.layer(folder, time) for folder in folders]
        progress(f"image: {_checked(folders)}")
        made = archive.Image(
            name=facts.full_name(tag),
            architecture=facts.architecture(),
            layers=layers,
            settings=dockerfile.settings(dockerfile.DOCKERFILE.read_text()),
            created=facts.timestamp(time),
        )
        digest = archive.write(made, output)
    return Built(tag, output, "mmdebstrap", sum(layer.size for layer in layers), digest)


def _checked(folders: list[Path]) -> str:
    """Run the check in a chroot of the layers put together, as the image's own user."""
    root = folders[-1].parent / "whole"
    root.mkdir()
    for folder in folders:
        subprocess.run(["cp", "-a", "-l", f"{folder}/.", str(root)], check=True)
    (root / "dev").mkdir()
    (root / "dev/null").touch(mode=0o666)
    (root / "dev/null").chmod(0o666)
    settings = dockerfile.settings(dockerfile.DOCKERFILE.read_text())
    environment = dict(pair.split("=", 1) for pair in settings["Env"])
    done = subprocess.run(
        [
            shutil.which("chroot", path=chroot.LEAST_PATH) or "chroot",
            f"--userspec={settings['User']}",
            str(root),
            "/venv/bin/python",
            "-",
        ],
        input=check.script(),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ImageError(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()
