"""Reads Kubernetes objects with their locations from YAML and JSON: files, folders, standard input.

A broken file raises UnreadableFile with file and line; the meaning of objects is not checked here.
"""

import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from cli.read.yaml_bounds import MAX_DEPTH, TooDeep, load_bounded
from shared.api.json.duplicate_keys import find_duplicate_key
from shared.kinds.kind import Kind
from shared.problems import Problem

ENDINGS: Final = (".yaml", ".yml", ".json")
CASES_ENDING: Final = ".test.yaml"
"""Ends the names of files of cases (`quotree test`), which are no manifests."""
STANDARD_INPUT: Final = "-"
CLUSTER: Final = "cluster"
"""The file name of objects from the live cluster."""
_MAX_PREFIX: Final = 58
"""The API server cuts `generateName` to this length, and appends five characters."""
_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


class UnreadableFile(Problem):
    """A file that cannot be read as manifests."""

    def __init__(self, file: str, line: int | None, reason: str) -> None:
        super().__init__(f"{file if line is None else f'{file}:{line}'}: {reason}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object. `line` is where its document starts, 1-based; `document` the text from there, for finding fields.

    One with `generateName` alone has a name made of that and a number, in `body` too.
    """

    kind: str
    api_version: str
    name: str
    namespace: str | None
    body: dict[str, Any]
    file: str
    line: int
    document: str
    at: tuple[str | int, ...] = ()
    governed: Kind | None = None
    """The governed kind in a cluster's settings."""
    is_name_generated: bool = False

    @property
    def label(self) -> str:
        """Kind/name, with the namespace where it has one."""
        return f"{self.kind}/{self.namespace}/{self.name}" if self.namespace else f"{self.kind}/{self.name}"

    def line_of(self, field: str) -> int:
        """Return the line of `field` (like spec.quotas[0].min), or of the deepest part of it that exists."""
        node = _composed(self.document)
        return self.line if node is None else self.line + _deepest_line(node, (*self.at, *_steps(field)))


@lru_cache(maxsize=64)
def _composed(document: str) -> yaml.Node | None:
    """Return the nodes of a document, or None; kept, for each of thousands of violations asks for a line in it."""
    try:
        return yaml.compose(document, Loader=_Loader)
    except yaml.YAMLError:
        return None


def read_manifests(paths: Iterable[str]) -> list[Manifest]:
    """Read every object in `paths`, in order; a folder means all manifests below it, by name. Raises UnreadableFile."""
    numbers = Counter[str]()
    return [_named(manifest, numbers) for path in paths for file in _files(path) for manifest in _read_file(file)]


def manifests_in(bodies: Iterable[Mapping[str, Any]], file: str) -> list[Manifest]:
    """Return objects that are in no file as manifests of a file of this name."""
    numbers = Counter[str]()
    return [_named(_manifest(file, 1, "", dict(body), ()), numbers) for body in bodies]


def _named(manifest: Manifest, numbers: Counter[str]) -> Manifest:
    """Give an object whose name the API server would generate one of that form: `train-` becomes `train-00001`."""
    if not manifest.is_name_generated:
        return manifest
    prefix = manifest.name[:_MAX_PREFIX]
    numbers[prefix] += 1
    name = f"{prefix}{numbers[prefix]:05}"
    return replace(manifest, name=name, body={**manifest.body, "metadata": {**manifest.body["metadata"], "name": name}})


def _files(path: str) -> Iterator[str]:
    if path == STANDARD_INPUT:
        yield path
        return
    place = Path(path)
    if not place.exists():
        raise UnreadableFile(path, None, "no such file or folder")
    if place.is_dir():
        found = (file for file in sorted(place.rglob("*")) if file.suffix in ENDINGS and file.is_file())
        yield from (str(file) for file in found if not file.name.endswith(CASES_ENDING))
    else:
        yield path


def _read_file(file: str) -> Iterator[Manifest]:
    text = _text_of(file)
    if text.lstrip()[:1] in ("{", "["):
        yield from _from_json(file, text)
        return
    for start, document in _documents(text):
        yield from _objects(file, start, document, _parse_yaml(file, start, document))


def _text_of(file: str) -> str:
    name = "standard input" if file == STANDARD_INPUT else file
    try:
        raw = sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise UnreadableFile(name, None, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UnreadableFile(
            name, line, f"is not UTF-8 text: byte {raw[error.start]:#04x}; save it as UTF-8"
        ) from error


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """(1-based first line, text) of every document that is not empty."""
    start, lines = 1, list[str]()
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.startswith("---") and (len(line) == 3 or line[3] in " \t\r\n"):
            if any(_has_content(each) for each in lines):
                yield start, "".join(lines)
            start, lines = number, [line[3:]]
        else:
            lines.append(line)
    if any(_has_content(each) for each in lines):
        yield start, "".join(lines)


def _has_content(line: str) -> bool:
    bare = line.strip()
    return bool(bare) and not bare.startswith("#")


class _Loader(yaml.CSafeLoader):
    """YAML as kubectl reads it: times stay text, a key must not repeat."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str | None] = set()
        for key, _ in node.value:
            name = self._name(key)
            if name is not None and name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {name!r}", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)

    def _name(self, key: Any) -> str | None:
        """Return the key as JSON would write it: yes is true. None for a merge key, which can be repeated."""
        if key.tag == "tag:yaml.org,2002:merge" or not isinstance(key, yaml.ScalarNode):
            return None
        is_word = key.tag == "tag:yaml.org,2002:bool"
        return str(self.construct_object(key)).lower() if is_word else str(key.value)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _parse_yaml(file: str, start: int, document: str) -> Any:
    try:
        return load_bounded(document, _Loader)
    except TooDeep as error:
        raise UnreadableFile(file, start, f"is nested deeper than {MAX_DEPTH} levels; no manifest is") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = start + mark.line if mark else start
        raise UnreadableFile(file, line, f"broken YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableFile(file, start, f"broken YAML: {str(error).splitlines()[0]}") from error


def _from_json(file: str, text: str) -> Iterator[Manifest]:
    try:
        body, duplicate = msgspec.json.decode(text), find_duplicate_key(text.encode())
    except (ValueError, RecursionError):
        for start, document in _documents(text):
            yield from _objects(file, start, document, _parse_yaml(file, start, document))
        return
    if duplicate is not None:
        _parse_yaml(file, 1, text)  # JSON is YAML, and that reader reports the line
        raise UnreadableFile(file, 1, f"broken JSON: writes {duplicate} twice")
    yield from _objects(file, 1, text, body)


def _objects(file: str, line: int, document: str, body: Any, at: tuple[str | int, ...] = ()) -> Iterator[Manifest]:
    if body is None:
        return
    if not isinstance(body, dict):
        raise UnreadableFile(
            file, line, f"holds a {type(body).__name__}, not a Kubernetes object (apiVersion, kind, …)"
        )
    kind, items = body.get("kind"), body.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from _objects(file, line, document, item, (*at, "items", index))
        return
    yield _manifest(file, line, document, body, at)


def _manifest(file: str, line: int, document: str, body: dict[str, Any], at: tuple[str | int, ...]) -> Manifest:
    metadata = body.get("metadata")
    kind, api_version = body.get("kind"), body.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        raise UnreadableFile(file, line, "has no kind or no apiVersion; every Kubernetes object says both")
    metadata = metadata if isinstance(metadata, dict) else {}
    given, prefix = metadata.get("name"), metadata.get("generateName")
    name = given or prefix
    if not isinstance(name, str) or not name:
        raise UnreadableFile(file, line, f"{kind} has no metadata.name and no metadata.generateName")
    namespace = metadata.get("namespace")
    namespace = namespace if isinstance(namespace, str) else None
    return Manifest(kind, api_version, name, namespace, body, file, line, document, at, is_name_generated=not given)


def _steps(field: str) -> Iterator[str | int]:
    """Yield the keys and indices of a field path; a key with dots is in brackets: min[nvidia.com/gpu]."""
    for bracketed, plain in _STEP.findall(field):
        yield int(bracketed) if bracketed.isdecimal() else bracketed or plain


def _deepest_line(node: Any, steps: Iterable[str | int]) -> int:
    """Return the 0-based line of the deepest existing node of the path."""
    line: int = node.start_mark.line if node is not None else 0
    for step in steps:
        found = _below(node, step)
        if found is None:
            break
        line, node = found
    return line


def _below(node: Any, step: str | int) -> tuple[int, Any] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark.line, value) for key, value in node.value if key.value == str(step)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark.line, node.value[step]
    return None
