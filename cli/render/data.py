"""Prints plain data for programs."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
import msgspec
from click.shell_completion import CompletionItem

from cli.render.paths import evaluate

T = TypeVar("T", bound=Callable[..., Any])
_TEMPLATE: Final = "jsonpath="


def output_option(*own: str) -> Callable[[T], T]:
    """Give a command that answers with one document its `-o`: outputs of its own, json, yaml, or jsonpath=TEMPLATE."""
    known = (*own, "json", "yaml")
    every = f"{'|'.join(known)}|{_TEMPLATE}TEMPLATE"

    def check(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
        if value not in known and not value.startswith(_TEMPLATE):
            raise click.BadParameter(f"{value!r} is not one of {every}")
        return value

    def candidates(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(each) for each in (*known, _TEMPLATE) if each.startswith(incomplete)]

    return click.option(
        "-o", "--output", default=own[0], show_default=True, metavar=every, callback=check, shell_complete=candidates
    )


def print_data(data: Any, output: str) -> None:
    """Print it as indented JSON, as YAML, or what a template selects of it."""
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(data)).decode())
    elif output.startswith(_TEMPLATE):
        click.echo(evaluate(output.removeprefix(_TEMPLATE), data))
    else:
        import yaml

        click.echo(yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True), nl=False)
