"""Options are spelled as kubectl takes them, in every command that has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import pytest
from click.testing import CliRunner

from cli.__main__ import COMMANDS, quotree
from cli.short_options import without_equals

OUTPUTS: Final = (["-o", "json"], ["-ojson"], ["-o=json"], ["--output", "json"], ["--output=json"])
NAMESPACES: Final = (["-n", "ml"], ["-nml"], ["-n=ml"], ["--namespace", "ml"], ["--namespace=ml"])


def _resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the innermost command that these words call, and the words that are left for it."""
    with click.Context(quotree) as context:
        _, command, rest = quotree.resolve_command(context, words)
    assert command is not None
    if isinstance(command, click.Group) and rest and rest[0] in command.commands:
        return command.commands[rest[0]], rest[1:]
    return command, rest


def _paths() -> Iterator[list[str]]:
    for name in COMMANDS:
        command, _ = _resolve([name])
        yield [name]
        if isinstance(command, click.Group):
            yield from ([name, inner] for inner in command.commands)


def _read(words: list[str]) -> dict[str, Any]:
    command, rest = _resolve(words)
    return command.make_context(command.name, rest, resilient_parsing=True).params


@pytest.mark.parametrize(
    ("option", "value", "spellings"), [("output", "json", OUTPUTS), ("namespace", "ml", NAMESPACES)]
)
def test_every_command_takes_every_spelling_of_kubectl(
    option: str, value: str, spellings: tuple[list[str], ...]
) -> None:
    commands = [path for path in _paths() if any(each.name == option for each in _resolve(path)[0].params)]
    refused = [[*path, *words] for path in commands for words in spellings if _read([*path, *words])[option] != value]
    assert (len(commands) > 3, refused) == (True, [])


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (["-Ao=json"], ["-Aojson"]),
        (["-ojsonpath={.a}=b"], ["-ojsonpath={.a}=b"]),
        (["-o=jsonpath={.a}"], ["-ojsonpath={.a}"]),
        (["-l=a=b", "-f=-"], ["-la=b", "-f-"]),
        (["--at=1", "a=b", "-x=1", "-A=1", "-o=", "-o"], ["--at=1", "a=b", "-x=1", "-A=1", "-o=", "-o"]),
        (["--", "-o=json"], ["--", "-o=json"]),
    ],
)
def test_only_the_equals_sign_after_an_option_with_a_value_is_dropped(words: list[str], read: list[str]) -> None:
    command, _ = _resolve(["pending"])
    assert without_equals(command, words) == read


@pytest.mark.parametrize("name", ["check", "convert"])
def test_files_can_be_named_with_the_option_of_kubectl(name: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    words = [str(tmp_path / "a"), "-f", str(tmp_path / "b")]
    found = str(CliRunner().invoke(quotree, [name, *words]).exception)
    assert found == f"{tmp_path / 'b'}: no such file or folder"
    missing = CliRunner().invoke(quotree, [name])
    assert (missing.exit_code, missing.output.splitlines()[-1]) == (2, "Error: Missing argument 'FILES...'.")
