"""Short options with an equals sign, which kubectl takes and click does not: `-o=json`, `-n=ns`, `-Ao=json`."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import click

_SHORT: Final = re.compile(r"-([A-Za-z]+)=(.+)", re.DOTALL)


def without_equals(command: click.Command, arguments: Sequence[str]) -> list[str]:
    """Return the arguments in click's spelling: an option's value follows its letter without an equals sign."""
    options = [each for each in _options(command) if not each.is_flag]
    letters = {name[1] for each in options for name in each.opts if not name.startswith("--")}
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*(_joined(each, letters) for each in arguments[:end]), *arguments[end:]]


def _options(command: click.Command) -> Iterable[click.Option]:
    yield from (each for each in command.params if isinstance(each, click.Option))
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _options(each)


def _joined(argument: str, letters: set[str]) -> str:
    """Return `-o=json` as `-ojson`; leave an equals sign within a value, as in `-ojsonpath={.x}`."""
    match = _SHORT.fullmatch(argument)
    if match is None or not letters.isdisjoint(match[1][:-1]) or match[1][-1] not in letters:
        return argument
    return f"-{match[1]}{match[2]}"
