"""`python -m dev.release`: everything that is handed out, made from these sources into dist/."""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from dev.controlplane import binaries
from dev.controlplane.errors import ControlPlaneError
from dev.image import build, facts
from dev.image.errors import ImageError
from dev.release import contents, plugin, sbom

CHECKSUMS = "SHA256SUMS"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.release", description=__doc__)
    parser.add_argument("--output", type=Path, default=build.DIST, help="the folder (default %(default)s)")
    parser.add_argument("--tag", default=facts.tag(), help="name and tag of the image (default %(default)s)")
    parser.add_argument("--no-refresh", action="store_true", help="build on the base of an earlier build")
    parser.add_argument(
        "--url", default=plugin.UNPUBLISHED, help="where the files will be fetched from, for krew (default %(default)s)"
    )
    chosen = parser.parse_args(arguments)
    try:
        made = release(chosen.output, chosen.tag, chosen.url, refresh=not chosen.no_refresh)
    except (ImageError, ControlPlaneError, subprocess.CalledProcessError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    for path in made:
        _say(f"release: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def release(folder: Path, tag: str, url: str, *, refresh: bool) -> list[Path]:
    """Write image, package list, chart, wheel, kubectl plugin and checksums; their paths. Other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    version = facts.version()
    image = folder / f"quotree-{version}-image.tar"
    build.image(_say, tag=tag, output=image, refresh=refresh)
    listed = folder / f"quotree-{version}-image.cdx.json"
    created = facts.timestamp(facts.source_time())
    document = sbom.document(tag, version, _sha256(image), created, contents.packages(image))
    listed.write_text(json.dumps(document, indent=1) + "\n")
    made = [image, listed, *_command_line(folder, url)]
    chart = folder / f"quotree-{version}.tgz"
    helm = binaries.ensure(_say).helm
    _run([str(helm), "package", "charts/quotree", "--destination", str(folder)])
    made.append(chart)
    sums = folder / CHECKSUMS
    sums.write_text("".join(f"{_sha256(path)}  {path.name}\n" for path in made))
    return [*made, sums]


def _command_line(folder: Path, url: str) -> list[Path]:
    """Write the wheel, and what krew needs to install it as a kubectl plugin."""
    version = facts.version()
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)])
    wheel = folder / f"quotree-{version}-py3-none-any.whl"
    archive = folder / f"{plugin.NAME}-{version}.tar.gz"
    plugin.write_archive(archive, wheel, facts.source_time())
    manifest = folder / "krew.yaml"
    manifest.write_text(plugin.manifest(version, archive.name, _sha256(archive), url))
    return [wheel, archive, manifest]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, cwd=facts.ROOT, stdout=subprocess.DEVNULL)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
