"""Watches a list like `kubectl get -w`: prints it, and then each row that has changed."""

import io
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from typing import Any, Final, NoReturn

from cli.render.listing import ListOutput

Json = dict[str, Any]
Show = Callable[[Sequence[Json], ListOutput], None]
_PERIOD: Final = 2.0
"""Seconds between two reads."""


def watch(read: Callable[[], Sequence[Json]], show: Show, shown: ListOutput, key: str, gone: Json) -> NoReturn:
    """Read and print indefinitely. `key`: the member with the row's name; `gone`: the members of a removed row."""
    first = replace(shown, one_by_one=True)
    rest = replace(first, headers=False)
    known = {each[key]: each for each in read()}
    show([*known.values()], first)
    while True:
        time.sleep(_PERIOD)
        with redirect_stderr(io.StringIO()):  # Problems were reported the first time.
            found = {each[key]: each for each in read()}
        changed = [each for name, each in found.items() if known.get(name) != each]
        changed += [each | gone for name, each in known.items() if name not in found]
        if changed:
            show(changed, rest)
        known = found
