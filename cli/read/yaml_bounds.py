"""Reads YAML that is nested as a manifest is, and stays as small as it looks when its aliases are written out.

A few lines of aliases of aliases stand for a billion values, and one that names what it is in for an endless one.
"""

import re
from typing import Any, Final

import yaml

_ALIAS: Final = re.compile(r"[\s\[{,:]\*[^\s,\[\]{}]")
"""Where an alias can stand; text in which this is not found has none."""
_LEAST: Final = 100_000
_MOST_TIMES: Final = 10
"""A text may stand for so many values for each that is written, and for `_LEAST` in any case."""
MAX_DEPTH: Final = 200


class TooDeep(yaml.YAMLError):
    """The text is nested deeper than `MAX_DEPTH` levels."""


def load_bounded(text: str, loader: type[yaml.SafeLoader | yaml.CSafeLoader] = yaml.SafeLoader) -> Any:
    """Return what the text says. Raises TooDeep, YAMLError for other faults, ValueError and RecursionError."""
    if _is_too_deep(text):
        raise TooDeep(f"it is nested deeper than {MAX_DEPTH} levels")
    _check_aliases(text)
    return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader


def _is_too_deep(text: str) -> bool:
    """Return whether the nesting is deeper than in any real object: the C composer has no limit and would crash."""
    if sum(text.count(mark) for mark in ("[", "{", "- ", "-\t", "? ")) <= MAX_DEPTH:
        return False
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            return True
    return False


def _check_aliases(text: str) -> None:
    """Raise YAMLError if the text stands for far more than it writes, or for something endless or too deep."""
    if not _ALIAS.search(text):
        return
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    sizes: dict[int, tuple[int, int] | None] = {}
    values, _ = _size(root, sizes) if root is not None else (0, 0)
    if values > max(_LEAST, _MOST_TIMES * len(sizes)):
        raise yaml.YAMLError(f"its aliases stand for {values} values where {len(sizes)} are written; use fewer")


def _size(node: yaml.Node, sizes: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return how many values the node stands for, and how deep they are; `sizes`: of the nodes known, None within one.

    What an alias names stands before it, so the recursion is as deep as the text is nested.
    """
    if id(node) in sizes:
        known = sizes[id(node)]
        if known is None:
            raise yaml.YAMLError("an alias names what it stands in")
        return known
    sizes[id(node)] = None
    found = [_size(each, sizes) for each in _below(node)]
    size = 1 + sum(values for values, _ in found), 1 + max((depth for _, depth in found), default=0)
    if size[1] > MAX_DEPTH:
        raise yaml.YAMLError(f"its aliases are nested deeper than {MAX_DEPTH} levels")
    sizes[id(node)] = size
    return size


def _below(node: Any) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
