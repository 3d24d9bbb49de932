"""Takes out of the installed packages what no process of the image imports.

Half of it is the generated part of kubernetes_asyncio, one module per kind of object: only its reading of kubeconfigs
is used (`shared.kube.connect.credentials_library`), which imports none of it.
"""

import shutil
from pathlib import Path

GENERATED = (
    "kubernetes_asyncio/client/models",
    "kubernetes_asyncio/client/api",
    "kubernetes_asyncio/dynamic",
    "kubernetes_asyncio/leaderelection",
    "kubernetes_asyncio/stream",
    "kubernetes_asyncio/utils",
    "kubernetes_asyncio/watch",
)
# Sources of compiled modules, type stubs, tests, what zstandard is for PyPy: nothing imports them at run time.
FILES = ("*.pyx", "*.pxd", "*.pxi", "*.pyi", "*.c", "*.h", "*_test.py", "py.typed", "zstandard/*cffi*")
FOLDERS = ("tests", "testing", "test")
# What the command line of the package `cel` needs, which is not
# called: of that package only its compiled module is loaded (`shared.kinds.expressions`), once its `__init__` is empty.
UNUSED = (
    "annotated_doc", "annotated_types", "prompt_toolkit", "pydantic", "pydantic_core", "shellingham",
    "typer", "typing_inspection", "wcwidth",
)  # fmt: skip
# Pygments comes with rich, which colours tracebacks: of its five hundred languages that is Python.
LEXERS = "pygments/lexers"
LEXERS_KEPT = ("__init__.py", "_mapping.py", "python.py", "special.py", "text.py")


def packages(folder: Path) -> None:
    """Slim the site-packages `folder` in place."""
    for name in (*GENERATED, *UNUSED):
        if not (folder / name).is_dir():
            raise FileNotFoundError(
                f"{name} is not in {folder}: bring dev/image/steps/slim.py up to the locked packages"
            )
        shutil.rmtree(folder / name)
    (folder / "cel/__init__.py").write_text("")
    for lexer in (folder / LEXERS).glob("*.py"):
        if lexer.name not in LEXERS_KEPT:
            lexer.unlink()
    for stray in folder.glob("*.md"):
        stray.unlink()
    for pattern in FILES:
        for file in folder.rglob(pattern):
            file.unlink()
    for name in FOLDERS:
        for found in sorted(folder.rglob(name), reverse=True):
            if found.is_dir():
                shutil.rmtree(found)
