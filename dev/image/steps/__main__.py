"""`python3 -m dev.image.steps SOURCE OUTPUT`: install, slim, and write the image's two layers as folders."""

import sys
from pathlib import Path

from dev.image.steps import base, compiled, install, slim

VENV = Path("/venv")


def main(source: Path, output: Path) -> None:
    """Write OUTPUT/base (Python and the libraries it needs) and OUTPUT/app (the virtual environment)."""
    install.into(VENV, source)
    packages = install.site_packages(VENV)
    slim.packages(packages)
    base.write(output / "base", [packages])
    app = output / "app"
    install.copy(VENV, app / "venv")
    compiled.tree(output / "base")
    compiled.tree(app)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
