"""`quotree schema`: JSON Schemas of the quota objects, for kubeconform and editors."""

import json
from pathlib import Path

import click

from cli.render.data import print_data
from shared.api.crds.json_schema import json_schemas
from shared.problems import Problem


@click.command("schema")
@click.option("--output", type=click.Path(path_type=Path), help="A folder: write one file for each kind into it.")
def command(output: Path | None) -> None:
    """Print the JSON Schemas of QuotaGroup and ResourceFlavor, by file name.

    They say which fields there are and what their values look like. What rules say about several fields or objects,
    such as min ≤ max, is checked by `quotree check`.
    """
    schemas = json_schemas()
    if output is None:
        print_data(schemas, "json")
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, schema in schemas.items():
            (output / name).write_text(json.dumps(schema, indent=2) + "\n")
            click.echo(str(output / name))
    except OSError as error:
        raise Problem(f"{output} cannot be written: {error.strerror}") from None
