"""Watches a list like `kubectl get -w`: prints it, and then each row that has changed."""

import io
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from typing import Final, NoReturn

from cli.render.listing import ListOutput
from shared.json_data import Json

Read = Callable[[], Sequence[Json]]
Show = Callable[[Sequence[Json], ListOutput], None]
_PERIOD: Final = 2.0
"""Seconds between two reads."""


def watch(read_changes: Read, show: Show, shown: ListOutput) -> NoReturn:
    """Print what `read_changes` returns, indefinitely: first all rows, then those that are new or differ."""
    first = replace(shown, one_by_one=True)
    show(read_changes(), first)
    rest = replace(first, headers=False)
    while True:
        time.sleep(_PERIOD)
        with redirect_stderr(io.StringIO()):  # Problems were reported the first time.
            changed = read_changes()
        if changed:
            show(changed, rest)


class ChangedRows:
    """Returns every row on the first call, then those that are new, differ or are gone since the call before.

    `key`: the member with the row's name; `gone`: the members of a removed row.
    """

    def __init__(self, read: Read, key: str, gone: Json) -> None:
        self._read = read
        self._key = key
        self._gone = gone
        self._known: dict[str, Json] = {}

    def __call__(self) -> list[Json]:
        found = {each[self._key]: each for each in self._read()}
        changed = [each for name, each in found.items() if self._known.get(name) != each]
        changed += [each | self._gone for name, each in self._known.items() if name not in found]
        self._known = found
        return changed
