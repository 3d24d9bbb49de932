"""The lower layer: Python's interpreter, the part of its library that is used, and the C libraries these need.

No shell, no package manager: what is not there cannot be used by an intruder and needs no update.
"""

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from dev.image.steps import packages

USER = 65532
LIBRARY_LEFT_OUT = (
    "__pycache__", "config-*", "dist-packages", "site-packages", "ensurepip", "test", "tests", "_test*.so", "_xx*.so",
    "xx*.so", "idlelib", "lib2to3", "pydoc_data", "tkinter", "_tkinter*.so", "turtledemo", "turtle.py",
    "curses", "_curses*.so", "readline*.so", "dbm", "_dbm*.so", "_gdbm*.so", "sqlite3", "_sqlite3*.so",
)  # fmt: skip
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
TEXTS = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nquotree:x:{USER}:{USER}:quotree:/:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nquotree:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_ROOT = Path("/")


def write(target: Path, extensions: Sequence[Path]) -> None:
    """Write the layer to the folder `target`; it can load the compiled modules below the folders `extensions`."""
    interpreter = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    _links(target)
    _copy(interpreter, target)
    shutil.copytree(library, _place(library, target), ignore=shutil.ignore_patterns(*LIBRARY_LEFT_OUT), symlinks=True)
    needed = set(_libraries([interpreter, *_place(library, target).rglob("*.so"), *_compiled(extensions)]))
    for file in sorted(needed):
        _copy(file, target)
    for name, text in TEXTS.items():
        _file(target / name).write_text(text)
    shutil.copyfile("/etc/os-release", _file(target / "etc/os-release"))
    if AUTHORITIES.is_file():
        shutil.copyfile(AUTHORITIES, _file(_place(AUTHORITIES, target)))
    (target / "tmp").mkdir(mode=0o1777)
    (target / "tmp").chmod(0o1777)
    for command in ("python3", "python"):
        link = _place(interpreter.parent / command, target)
        link.unlink(missing_ok=True)
        link.symlink_to(interpreter.name)
    packages.record([interpreter, library / "os.py", *needed], target / "var/lib/dpkg/status.d")
    _index_libraries(target)


def _links(target: Path) -> None:
    """The root's own links, /lib to usr/lib and the like, so that every path means the same file in the image."""
    target.mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        link = _ROOT / name
        if link.is_symlink():
            (target / link.readlink()).mkdir(parents=True, exist_ok=True)
            (target / name).symlink_to(link.readlink())


def _compiled(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from folder.rglob("*.so")


def _libraries(files: Sequence[Path]) -> Iterator[Path]:
    """Yield every shared library, and the loader, that `ldd` names for the files; not those that wheels bring."""
    output = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    for line in output.splitlines():
        words = line.split()
        path = next((word for word in words if word.startswith("/") and not word.endswith(":")), None)
        if path is not None and not path.startswith("/venv/"):
            yield Path(path)


def _copy(file: Path, target: Path) -> None:
    """The file under the name it is asked for by, its content in place of a link."""
    place = _file(_place(file, target))
    if not place.exists():
        shutil.copy2(file.resolve(), place)


def _place(path: Path, target: Path) -> Path:
    return target / path.relative_to("/")


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _index_libraries(target: Path) -> None:
    """The loader's index, for libraries in folders that it does not search by itself (/usr/local/lib)."""
    shutil.copyfile("/etc/ld.so.conf", target / "etc/ld.so.conf")
    shutil.copytree("/etc/ld.so.conf.d", target / "etc/ld.so.conf.d", dirs_exist_ok=True)
    subprocess.run(["/sbin/ldconfig", "-r", str(target)], check=True)
    shutil.rmtree(target / "var/cache", ignore_errors=True)
