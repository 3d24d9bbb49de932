"""Reads a settings file, and reports every error in it with line, key, and accepted values.

YAML into msgspec Structs. Unknown and repeated keys are errors; durations are written 30s, 5m, 1h30m. A Struct's own
checks go into __post_init__ as ValueError.
"""

import difflib
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
import yaml

from shared.api.durations import read_duration
from shared.problems import KeyProblem, Problem

T = TypeVar("T", bound=msgspec.Struct)
_LARGEST_FILE = 1 << 20
_DURATION = "a duration such as 30s, 5m or 1h30m, at most 876000h"


class SettingsProblem(Problem):
    """The settings file cannot be used; every error is listed, one per line if there are several."""


def load_settings(path: Path | str | None, into: type[T], part: str | None = None, beside: str = "") -> T:
    """Return the settings in the file; the defaults when there is no path. Raises SettingsProblem.

    `part`: where the file has this key at its top, only what stands below it is read; where it has only the key
    `beside` of the two, nothing is.
    """
    if path is None:
        return _Reading("defaults").whole(into, _Node({}, 0))
    name = str(path)
    reading = _Reading(name)
    root = _parse(name, _read(name), reading)
    if part is not None and isinstance(root.value, dict):
        root = root.value.get(part, _Node({}, root.line) if beside in root.value else root)
    return reading.whole(into, root)


def load_part(path: Path | str, into: type[T], key: str) -> T:
    """The same of a file of which only what stands below `key` at its top is read; its default where it is absent."""
    reading = _Reading(str(path))
    root = _parse(str(path), _read(str(path)), reading)
    given = root.value if isinstance(root.value, dict) else {}
    return reading.whole(into, _Node({key: given[key]} if key in given else {}, root.line))


def has_key(path: Path | str, key: str) -> bool:
    """Return whether the file has this key at its top. Raises SettingsProblem."""
    root = _parse(str(path), _read(str(path)), _Reading(str(path)))
    return isinstance(root.value, dict) and key in root.value


@dataclass(frozen=True, slots=True)
class _Node:
    """A YAML value and its line; mappings and lists hold nodes."""

    value: Any
    line: int


def _read(name: str) -> str:
    try:
        content = Path(name).read_bytes()
    except FileNotFoundError:
        raise SettingsProblem(f"settings file {name} does not exist") from None
    except OSError as error:
        raise SettingsProblem(f"settings file {name} cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST_FILE:
        raise SettingsProblem(f"settings file {name} has {len(content)} bytes, more than {_LARGEST_FILE}")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise SettingsProblem(f"settings file {name} is not UTF-8 (byte {error.start})") from None


def _parse(name: str, text: str, reading: "_Reading") -> _Node:
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        return _Node({}, 1) if root is None else reading.node(loader, root, "")
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SettingsProblem(f"{name}{line}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsProblem(f"{name}: not valid YAML ({type(error).__name__})") from None
    finally:
        loader.dispose()


class _Reading:
    """One pass over a file that collects errors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[str] = []

    def whole(self, into: type[T], root: _Node) -> T:
        result = self.read(into, root, "")
        if self.problems:
            lines = self.problems
            raise SettingsProblem(lines[0] if len(lines) == 1 else f"{len(lines)} errors:\n  " + "\n  ".join(lines))
        return cast("T", result)

    def node(self, loader: yaml.SafeLoader, node: yaml.Node, path: str) -> _Node:
        """Return the YAML node as values with lines. Records repeated keys."""
        line = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            loader.flatten_mapping(node)
            found: dict[str, _Node] = {}
            for key_node, value_node in node.value:
                key = str(loader.construct_object(key_node, deep=True))
                if key in found:
                    where = _join(path, key)
                    self.note(key_node.start_mark.line + 1, where, f"given again (first on line {found[key].line})")
                found[key] = self.node(loader, value_node, _join(path, key))
            return _Node(found, line)
        if isinstance(node, yaml.SequenceNode):
            return _Node([self.node(loader, item, f"{path}[{n}]") for n, item in enumerate(node.value)], line)
        return _Node(loader.construct_object(node), line)

    def note(self, line: int, path: str, problem: str) -> None:
        self.problems.append(f"{self.name}{f':{line}' if line else ''}: {path + ': ' if path else ''}{problem}")

    def read(self, wanted: Any, node: _Node, path: str) -> Any:
        """Return the value as `wanted`; None after a recorded error."""
        if get_origin(wanted) in (Union, UnionType):
            options = [option for option in get_args(wanted) if option is not NoneType]
            if node.value is None and NoneType in get_args(wanted):
                return None
            if len(options) == 1:
                return self.read(options[0], node, path)
        origin = get_origin(wanted)
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            return self._struct(wanted, node, path)
        if origin in (list, tuple, frozenset, set) and isinstance(node.value, list):
            item = get_args(wanted)[0]
            return origin(self.read(item, each, f"{path}[{n}]") for n, each in enumerate(node.value))
        if origin in (dict, Mapping) or (origin is not None and origin is getattr(Mapping, "__origin__", None)):
            if isinstance(node.value, dict):
                item = get_args(wanted)[1]
                return {key: self.read(item, each, _join(path, key)) for key, each in node.value.items()}
        elif wanted is timedelta:
            return self._duration(node, path)
        return self._leaf(wanted, node, path)

    def _struct(self, wanted: type[msgspec.Struct], node: _Node, path: str) -> Any:
        given = {} if node.value is None else node.value
        if not isinstance(given, dict):
            return self.note(node.line, path, f"{_show(node)} is not a mapping of keys")
        fields = {field.encode_name: field for field in msgspec.structs.fields(wanted)}
        before = len(self.problems)
        for key in given.keys() - fields.keys():
            close = difflib.get_close_matches(key, fields, 1)
            hint = f"did you mean {close[0]}?" if close else f"accepted: {', '.join(sorted(fields)) or 'nothing'}"
            self.note(given[key].line, _join(path, key), f"unknown key; {hint}")
        values = {}
        for key, field in fields.items():
            if key in given:
                values[field.name] = self.read(field.type, given[key], _join(path, key))
            elif field.required:
                self.note(node.line, _join(path, key), f"missing: {_accepted(field.type)} is needed")
        if len(self.problems) > before:
            return None
        try:
            return wanted(**values)
        except KeyProblem as error:
            line = given[error.key].line if error.key in given else node.line
            return self.note(line, _join(path, error.key) if error.key else path, error.reason)
        except ValueError as error:
            return self.note(node.line, path, str(error))

    def _duration(self, node: _Node, path: str) -> timedelta | None:
        text = "0" if node.value == 0 and not isinstance(node.value, bool) else node.value
        duration = read_duration(text) if isinstance(text, str) else None
        if duration is None:
            self.note(node.line, path, f"{_show(node)} is not {_DURATION}")
        return duration

    def _leaf(self, wanted: Any, node: _Node, path: str) -> Any:
        try:
            return msgspec.convert(_plain(node), wanted)
        except msgspec.ValidationError:
            return self.note(node.line, path, f"{_show(node)} is not {_accepted(wanted)}")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _plain(node: _Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(each) for key, each in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(each) for each in node.value]
    return node.value


def _show(node: _Node) -> str:
    """Return the value in the file, shortened."""
    if node.value is None:
        return "nothing"
    if isinstance(node.value, dict | list):
        return "a mapping" if isinstance(node.value, dict) else "a list"
    text = repr(node.value)
    return text if len(text) <= 60 else text[:57] + "…"


def _accepted(wanted: Any) -> str:
    """Return what a type accepts, as text."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _accepted(arguments[0]) + "".join(_bounds(each) for each in arguments[1:])
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin in (Union, UnionType):
        return " or ".join("nothing" if each is NoneType else _accepted(each) for each in arguments)
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return "one of " + ", ".join(str(member.value) for member in wanted)
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text", timedelta: _DURATION}
    if wanted in words:
        return words[wanted]
    return "a list" if origin in (list, tuple, set, frozenset) else "a mapping of keys"


def _bounds(meta: Any) -> str:
    if not isinstance(meta, msgspec.Meta):
        return ""
    words = (
        (meta.ge, " of at least"),
        (meta.gt, " above"),
        (meta.le, " of at most"),
        (meta.lt, " below"),
        (meta.min_length, " of length at least"),
        (meta.max_length, " of length at most"),
        (meta.pattern, " matching"),
    )
    return ",".join(f"{word} {bound}" for bound, word in words if bound is not None)
