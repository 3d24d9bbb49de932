"""A tree as text: one group a line, children indented under their parent.

    root 8
      research/ 4..8
        vision 2..8 w2
        nlp 2 b4 l1 | t4:cpu 3

A group with children, or whose name ends in /, has isParent. `6..8` is min 6 and max 8, `..8` max alone; wN weight,
bN borrowingLimit, lN lendingLimit; `|` begins another entry, `t4:cpu` says which flavor and resource it is about
(default:gpu where nothing is said, and again in the same entry to speak of a second resource). Amounts are base units;
`40%..8` is a percent and an amount;
root's one number is its max, and what `capacity_in` tells. `^name` gives a parent that the indentation does not. Words:
close, hold, drain (stopPolicy), keep (allowLending false), strict (StrictFIFO), by-namespace, by-user (order), runN
(maxRunTime of N seconds).
"""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.percents import read_percent
from shared.quota.model.tree import DEFAULT_FLAVOR, ROOT, Entry, Group, QueueingStrategy, QueueOrder, StopPolicy, Tree
from shared.resources import Amount, FlavorResource

GPU = "gpu"
KEY = FlavorResource(DEFAULT_FLAVOR, GPU)

_LIMIT = {"w": "weight", "b": "borrowing_limit", "l": "lending_limit"}
_NUMBER = r"(\d+(?:\.\d+)?%?)"
_RANGE = re.compile(rf"{_NUMBER}?(?:\.\.{_NUMBER})?")
_ORDERS = {"by-namespace": QueueOrder.NAMESPACE, "by-user": QueueOrder.USER}
_RUN_TIME = re.compile(r"run(\d+)")
_POLICIES = {"close": StopPolicy.CLOSE, "hold": StopPolicy.HOLD, "drain": StopPolicy.HOLD_AND_DRAIN}


def tree(text: str) -> Tree:
    """The tree that `text` draws; root is added, and may be drawn to give it a max."""
    above: list[tuple[int, str]] = []
    groups: dict[str, Group] = {}
    for line in filter(str.strip, text.splitlines()):
        indent = len(line) - len(line.lstrip())
        above = [each for each in above if each[0] < indent]
        parent = above[-1][1] if above else ROOT
        drawn = group(line.strip(), parent)
        if drawn.name == ROOT:
            drawn = replace(drawn, parent=None, is_parent=True, quotas=tuple(map(_as_capacity, drawn.quotas)))
        if parent in groups:
            groups[parent] = replace(groups[parent], is_parent=True)
        groups[drawn.name] = drawn
        above.append((indent, drawn.name))
    return Tree.of(groups.values())


def capacity_in(found: Tree) -> tuple[tuple[str, str, Amount], ...]:
    """Root's max, as `QuotaSettings.capacity` wants it."""
    return tuple((entry.flavor, name, amount) for entry in found[ROOT].quotas for name, amount in entry.max.items())


def group(line: str, parent: str = ROOT) -> Group:
    """One line as a group."""
    name, *words = line.split()
    at = next((word[1:] for word in words if word.startswith("^")), parent)
    flags = {word for word in words if word in ("keep", "strict") or word in _POLICIES or word in _ORDERS}
    run_time = next((found for found in map(_RUN_TIME.fullmatch, words) if found), None)
    flags |= set() if run_time is None else {run_time[0]}
    parts = " ".join(word for word in words if not word.startswith("^") and word not in flags).split("|")
    return Group(
        name.rstrip("/"),
        at,
        name.endswith("/"),
        quotas=tuple(_entry(part.split()) for part in parts if part.strip()),
        allow_lending="keep" not in flags,
        queueing=QueueingStrategy.STRICT_FIFO if "strict" in flags else QueueingStrategy.BEST_EFFORT_FIFO,
        order=next((_ORDERS[word] for word in flags & _ORDERS.keys()), QueueOrder.AGE),
        max_run_time=None if run_time is None else timedelta(seconds=int(run_time[1])),
        stop_policy=next((_POLICIES[word] for word in flags & _POLICIES.keys()), StopPolicy.NONE),
    )


def _as_capacity(entry: Entry) -> Entry:
    return replace(entry, min={}, max={**entry.min, **entry.max})


def _entry(words: list[str]) -> Entry:
    flavor, resource = KEY
    limits: dict[str, Any] = {}
    for word in words:
        if ":" in word:
            flavor, resource = word.split(":")
        elif word[0] in _LIMIT:
            _write(limits, _LIMIT[word[0]], resource, word[1:])
        else:
            found = _RANGE.fullmatch(word)
            assert found is not None, word
            for limit, amount in zip(("min", "max"), found.groups(), strict=True):
                if amount is not None:
                    _write(limits, limit, resource, amount)
    return Entry(flavor, **limits)


def _write(limits: dict[str, Any], limit: str, resource: str, text: str) -> None:
    if text.endswith("%"):
        limits.setdefault("percents", {}).setdefault(limit, {})[resource] = read_percent(text)
    else:
        limits.setdefault(limit, {})[resource] = int(text)
