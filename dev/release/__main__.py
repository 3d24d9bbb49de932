"""`python -m dev.release`: everything that is handed out, made from these sources into dist/."""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import binaries
from dev.image import build, facts
from dev.image.errors import ImageError
from dev.release import contents, manifests, plugin, provenance, sbom, signing, spdx, tarball

CHECKSUMS = "SHA256SUMS"
PROVENANCE = "provenance.intoto.jsonl"


UNNAMED = "https://quotree.dev/release/local"
"""The builder, if nobody else vouches for the build."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.release", description=__doc__)
    parser.add_argument("--output", type=Path, default=build.DIST, help="the folder (default %(default)s)")
    parser.add_argument("--tag", default=facts.tag(), help="name and tag of the image (default %(default)s)")
    parser.add_argument("--no-refresh", action="store_true", help="build on the base of an earlier build")
    parser.add_argument(
        "--url", default=plugin.UNPUBLISHED, help="where the files will be fetched from, for krew (default %(default)s)"
    )
    parser.add_argument("--key", type=Path, help="sign with this ECDSA key in PEM; its password in KEY_PASSWORD")
    parser.add_argument("--builder", default=UNNAMED, help="who vouches for the build, a URL (default %(default)s)")
    chosen = parser.parse_args(arguments)
    try:
        key = None if chosen.key is None else signing.load_key(chosen.key, os.environ.get("KEY_PASSWORD"))
        commit = facts.commit()
        made = release(chosen.output, chosen.tag, chosen.url, refresh=not chosen.no_refresh)
        if commit != facts.commit():
            commit = ""
        if not commit:
            _say("release: the sources are not those of a commit, or changed meanwhile: the provenance names none")
        origin = provenance.Origin(commit, chosen.builder)
        made += vouch(chosen.output, made, {"tag": chosen.tag, "url": chosen.url}, origin, key)
    except (ImageError, ControlPlaneError, signing.KeyProblem, subprocess.CalledProcessError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    for path in made:
        _say(f"release: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def release(folder: Path, tag: str, url: str, *, refresh: bool) -> list[Path]:
    """Write image, lists of its packages, chart, manifests, wheel and kubectl plugin; their paths. Other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    version = facts.version()
    image = folder / f"quotree-{version}-image.tar"
    build.image(_say, tag=tag, output=image, refresh=refresh)
    return [image, *_package_lists(folder, image, tag), *without_image(folder, url)]


def _package_lists(folder: Path, image: Path, tag: str) -> list[Path]:
    version, created = facts.version(), facts.timestamp(facts.source_time())
    made = []
    for ending, write in (("cdx", sbom.document), ("spdx", spdx.document)):
        path = folder / f"quotree-{version}-image.{ending}.json"
        document = write(tag, version, _sha256(image), created, contents.packages(image))
        path.write_text(json.dumps(document, indent=1) + "\n")
        made.append(path)
    return made


def without_image(folder: Path, url: str) -> list[Path]:
    """Write all but the image and the lists of its packages."""
    version, time = facts.version(), facts.source_time()
    helm = binaries.ensure(_say).helm
    _run([str(helm), "package", "charts/quotree", "--destination", str(folder)])
    chart = folder / f"quotree-{version}.tgz"
    tarball.normalize(chart, time)
    static, base = folder / "quotree.yaml", folder / f"quotree-{version}-kustomize.tar.gz"
    static.write_text(manifests.render(helm))
    manifests.write_kustomize_base(base, static.read_text(), time)
    return [*_command_line(folder, url), chart, static, base]


def vouch(
    folder: Path,
    made: list[Path],
    parameters: dict[str, str],
    origin: provenance.Origin,
    key: EllipticCurvePrivateKey | None,
) -> list[Path]:
    """Write the checksums and the provenance of the files; with a key, sign both."""
    digests = {path.name: _sha256(path) for path in made}
    locks = {name: _sha256(facts.ROOT / name) for name in ("requirements.lock", "runtime.lock")}
    stated = provenance.statement(digests, origin, locks, parameters)
    sums, statement = folder / CHECKSUMS, folder / PROVENANCE
    sums.write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    statement.write_text(json.dumps(stated if key is None else signing.envelope(key, stated), sort_keys=True) + "\n")
    if key is None:
        return [sums, statement]
    signature, public = folder / f"{CHECKSUMS}.sig", folder / "quotree.pub"
    signature.write_text(signing.sign(key, sums.read_bytes()))
    public.write_text(signing.public_key(key))
    return [sums, statement, signature, public]


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
