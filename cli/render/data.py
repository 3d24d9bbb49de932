"""Print plain data for programs."""

from typing import Any, Literal

import click
import msgspec


def print_data(data: Any, output: Literal["json", "yaml"]) -> None:
    """Print it as indented JSON, or as YAML."""
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(data)).decode())
        return
    import yaml

    click.echo(yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True), nl=False)
