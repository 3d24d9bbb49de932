"""`quotree schema`: JSON Schemas of the quota objects, for kubeconform and editors."""

import json
from pathlib import Path

import click

from cli.render.data import print_data
from shared.api.crds.json_schema import json_schemas
from shared.problems import Problem


@click.command("schema")
@click.option("--folder", type=click.Path(path_type=Path), help="Write one file for each kind into this folder.")
def command(folder: Path | None) -> None:
    """Print the JSON Schemas of QuotaGroup and ResourceFlavor, by file name.

    They say which fields there are and what their values look like. What rules say about several fields or objects,
    such as min ≤ max, is checked by `quotree check`.
    """
    schemas = json_schemas()
    if folder is None:
        print_data(schemas, "json")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in schemas.items():
            (folder / name).write_text(json.dumps(schema, indent=2) + "\n")
            click.echo(str(folder / name))
    except OSError as error:
        raise Problem(f"{folder} cannot be written: {error.strerror}") from None
