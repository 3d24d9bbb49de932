"""A tree as text, for tests.

    root 8
      vision 6..8 w2
        train 4 l0
      nlp 2 a100/nvidia.com/gpu=2..4,w3

One group a line, children indented. `6..8` is min and max of GPUs of the flavor `default` (`6`: min alone, `..8`: max
alone), `w2` their weight, `l0` their lendingLimit, `b4` their borrowingLimit; `flavor/resource=6..8,w2,l0,b4` says the
same of any key, amounts in base units. Words: close, hold, drain (stopPolicy), keep (allowLending false), strict
(StrictFIFO), parent (isParent without children). What root has as max is also its capacity, for `capacity_in`.
"""

import re
from dataclasses import replace

from shared.quota.model.tree import DEFAULT_FLAVOR, ROOT, Entry, Group, QueueingStrategy, StopPolicy, Tree
from shared.resources import Amount, FlavorResource

GPU = "nvidia.com/gpu"
KEY = FlavorResource(DEFAULT_FLAVOR, GPU)

_BARE = re.compile(r"\d+|\d*\.\.\d*|[wlb]\d+")
_POLICIES = {"close": StopPolicy.CLOSE, "hold": StopPolicy.HOLD, "drain": StopPolicy.HOLD_AND_DRAIN}
_FIELDS = {"w": "weight", "l": "lending_limit", "b": "borrowing_limit"}


def tree(text: str) -> Tree:
    """Read a tree; the first line is root."""
    groups: dict[str, Group] = {}
    path: list[tuple[int, str]] = []
    for line in filter(str.strip, text.splitlines()):
        indent = len(line) - len(line.lstrip())
        while path and path[-1][0] >= indent:
            path.pop()
        parent = path[-1][1] if path else None
        group = _group(line.split(), parent)
        groups[group.name] = group
        if parent is not None:
            groups[parent] = replace(groups[parent], is_parent=True)
        path.append((indent, group.name))
    return Tree.of(groups.values())


def capacity_in(found: Tree) -> tuple[tuple[str, str, Amount], ...]:
    """Root's max, as `QuotaSettings.capacity` wants it."""
    return tuple((entry.flavor, name, amount) for entry in found[ROOT].quotas for name, amount in entry.max.items())


def _group(words: list[str], parent: str | None) -> Group:
    name, *rest = words
    limits: dict[FlavorResource, dict[str, Amount]] = {}
    for word in rest:
        if "=" in word:
            key, _, parts = word.partition("=")
            flavor, _, resource = key.partition("/")
            for part in parts.split(","):
                _limit(limits.setdefault(FlavorResource(flavor, resource), {}), part, at_root=parent is None)
        elif _BARE.fullmatch(word):
            _limit(limits.setdefault(KEY, {}), word, at_root=parent is None)
        elif word not in ("keep", "strict", "parent", *_POLICIES):
            raise ValueError(f"{word!r} means nothing in a tree")
    return Group(
        name,
        parent=parent,
        is_parent=parent is None or "parent" in rest,
        quotas=_entries(limits),
        allow_lending="keep" not in rest,
        queueing=QueueingStrategy.STRICT_FIFO if "strict" in rest else QueueingStrategy.BEST_EFFORT_FIFO,
        stop_policy=next((_POLICIES[word] for word in rest if word in _POLICIES), StopPolicy.NONE),
    )


def _limit(limits: dict[str, Amount], word: str, *, at_root: bool) -> None:
    if word[0] in _FIELDS:
        limits[_FIELDS[word[0]]] = int(word[1:])
        return
    least, dots, most = word.partition("..")
    if at_root and not dots:
        least, most = "", least
    limits.update({name: int(text) for name, text in (("min", least), ("max", most)) if text})


def _entries(limits: dict[FlavorResource, dict[str, Amount]]) -> tuple[Entry, ...]:
    by_flavor: dict[str, dict[str, dict[str, Amount]]] = {}
    for key, found in limits.items():
        for field, amount in found.items():
            by_flavor.setdefault(key.flavor, {}).setdefault(field, {})[key.resource] = amount
    return tuple(Entry(flavor, **fields) for flavor, fields in by_flavor.items())
