"""The files of the page, read once at the start from the package."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from aiohttp import web

_TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
START: Final = "index.html"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file as it is served."""

    content: bytes
    content_type: str


def read_files() -> dict[str, StaticFile]:
    """Return every file of `dashboard/static`, by its path below that folder."""
    return dict(_files_in(files("dashboard").joinpath("static")))


def _files_in(folder: Traversable, above: str = "") -> Iterator[tuple[str, StaticFile]]:
    for file in folder.iterdir():
        ending = f".{file.name.rpartition('.')[2]}"
        if file.is_dir():
            yield from _files_in(file, f"{above}{file.name}/")
        elif ending in _TYPES:
            yield f"{above}{file.name}", StaticFile(file.read_bytes(), _TYPES[ending])


def behind_proxy(start: StaticFile) -> StaticFile:
    """Return the start page with the setting that its scripts need no token."""
    return StaticFile(start.content.replace(b"<html ", b"<html data-proxied "), start.content_type)


def answer(file: StaticFile) -> web.Response:
    """Return the file as a response."""
    return web.Response(body=file.content, content_type=file.content_type, charset="utf-8")
