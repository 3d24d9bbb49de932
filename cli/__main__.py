"""The commands. Each is imported only when it is called, so that `quotree` starts quickly."""

import importlib
import sys
from typing import Final, cast

import click

COMMANDS: Final = {
    "check": ("cli.commands.check", "Check manifests against every rule of the admission webhook, offline."),
    "completion": ("cli.commands.completion", "Print the completion script of bash, zsh or fish."),
    "explain": ("cli.commands.explain", "Explain why a workload waits, and what would let it start."),
    "simulate": ("cli.commands.simulate", "Decide in memory what would start and stop, for files or the live cluster."),
    "version": ("cli.commands.version", "Print the version of the command line and of the Quotree in the cluster."),
    "tree": ("cli.commands.tree", "Show the live tree: min, used, runtime, borrowed, pending."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return cast("click.Command", importlib.import_module(COMMANDS[cmd_name][0]).command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in sorted(COMMANDS.items())])


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from cli.commands.version import SOURCE_TREE
        from cli.read.version import client_version

        click.echo(f"quotree, version {client_version() or SOURCE_TREE}")
        context.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def quotree() -> None:
    """Hierarchical elastic quota for Kubernetes."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a known problem ends it with one sentence and exit code 2."""
    from shared.problems import Problem

    try:
        quotree.main(args=arguments, prog_name=_called_as())
    except Problem as problem:
        click.echo(f"quotree: {problem}", err=True)
        sys.exit(problem.exit_code)


def _called_as() -> str:
    """How the user called it: `quotree`, or `kubectl quotree` as a plugin."""
    name = sys.argv[0].rsplit("/", 1)[-1]
    return "kubectl quotree" if name == "kubectl-quotree" else "quotree"


if __name__ == "__main__":
    main()
