"""`python -m dev.image`: the container image, as an archive in dist/ and in the engine that built it."""

import argparse
import sys
from pathlib import Path

from dev.image import build, facts
from dev.image.errors import ImageError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.image", description=__doc__)
    parser.add_argument("--tag", default=facts.tag(), help="name and tag of the image (default %(default)s)")
    parser.add_argument("--output", type=Path, help="the archive (default dist/quotree-VERSION-image.tar)")
    parser.add_argument("--refresh", action="store_true", help="fetch the base again, with today's packages")
    chosen = parser.parse_args(arguments)
    output = chosen.output or build.DIST / f"quotree-{facts.version()}-image.tar"
    try:
        built = build.image(_say, tag=chosen.tag, output=output, refresh=chosen.refresh)
    except ImageError as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    size = f", {built.unpacked / 1e6:.0f} MB unpacked" if built.unpacked else ""
    _say(f"image: {built.tag} is in {built.archive} ({built.archive.stat().st_size / 1e6:.0f} MB{size})")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
