"""`kubectl_complete-quotree`: answer kubectl's completion of `kubectl quotree …` as a cobra command would.

kubectl runs the program with the words after `quotree`, the last one incomplete, and reads one candidate per line with
its description after a tab; the last line is a colon and a number of directives.
"""

import sys
from collections.abc import Sequence
from typing import Final

import click
from click.shell_completion import CompletionItem, ShellComplete

from cli.__main__ import quotree

COMPLETE_FILES: Final = 0
NO_FILES: Final = 4


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the candidates for the last of the arguments."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    click.echo(answer(words[:-1], words[-1] if words else ""))


def answer(words: list[str], incomplete: str) -> str:
    """Return the candidates and directives for these words in kubectl's format."""
    items = ShellComplete(quotree, {}, "kubectl quotree", "").get_completions(words, incomplete)
    wants_files = any(item.type in ("file", "dir") for item in items)
    lines = [_line(item) for item in items if item.type == "plain"]
    return "\n".join([*lines, f":{COMPLETE_FILES if wants_files else NO_FILES}"])


def _line(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help.splitlines()[0]}" if item.help else str(item.value)
