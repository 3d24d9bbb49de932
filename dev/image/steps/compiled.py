"""Bytecode beside every module of a layer, because the image's file system cannot be written when it runs."""

import compileall
import py_compile
from pathlib import Path


def tree(layer: Path) -> None:
    """Compile all below `layer` as if it were the root; bytecode is checked against nothing, for nothing can change."""
    compiled = compileall.compile_dir(
        layer,
        stripdir=str(layer),
        prependdir="/",
        quiet=1,
        maxlevels=40,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not compiled:
        raise SystemExit(f"modules below {layer} do not compile: see above")
