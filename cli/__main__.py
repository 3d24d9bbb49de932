"""The commands. Each is imported only when it is called, so that `quotree` starts quickly."""

import difflib
import importlib
import sys
from typing import Final, cast

import click

COMMANDS: Final = {
    "check": (
        "cli.commands.offline.check:command",
        "Check manifests against every rule of the admission webhook, offline.",
    ),
    "close": ("cli.commands.changing.switches:close", "Refuse new workloads in a group."),
    "completion": ("cli.commands.completion:command", "Print the completion script of bash, zsh or fish."),
    "convert": (
        "cli.commands.offline.convert:command",
        "Print quota objects of Kueue, Koordinator and others as Quotree's.",
    ),
    "dashboard": ("cli.commands.dashboard:command", "Serve the tree, the queues and the explanations to your browser."),
    "drain": ("cli.commands.changing.switches:drain", "Stop every workload in a group."),
    "evict": ("cli.commands.changing.evict:command", "Stop a running workload for what waits, and let it wait again."),
    "explain": ("cli.commands.explain:command", "Explain why a workload waits, and what would let it start."),
    "history": ("cli.commands.history:command", "List evictions: of what, why, and for whom."),
    "hold": ("cli.commands.changing.switches:hold", "Make a workload wait, and stop it if it runs."),
    "kinds": (
        "cli.commands.offline.kinds:command",
        "List the kinds that are governed; `kinds check` tries a descriptor.",
    ),
    "open": ("cli.commands.changing.switches:open_", "Remove the stopPolicy of a group."),
    "pending": ("cli.commands.pending:command", "List what waits, in the order of the queues, and why."),
    "record": ("cli.commands.record:command", "Record what enters the live cluster, as a log to replay."),
    "recorded": ("cli.commands.offline.recorded:command", "Write the reconciler's recording as a tar archive."),
    "replay": ("cli.commands.offline.replay:command", "Live through a log under its tree or another one."),
    "report": ("cli.commands.report:command", "Report what the groups used in a month."),
    "resume": ("cli.commands.changing.switches:resume", "Let a held or deactivated workload start again."),
    "schema": (
        "cli.commands.offline.schema:command",
        "Print JSON Schemas of the quota objects, for kubeconform and editors.",
    ),
    "simulate": (
        "cli.commands.ahead.simulate:command",
        "Simulate what starts and stops, for files or the live cluster.",
    ),
    "test": (
        "cli.commands.offline.test:command",
        "Try cases of a tree: who starts, waits, is evicted, what is refused.",
    ),
    "top": ("cli.commands.top:command", "List the groups by what they use now."),
    "tree": ("cli.commands.tree:command", "Show the live tree: min, used, runtime, borrowed, pending."),
    "try": ("cli.commands.ahead.preview:command", "Say whether a workload would start if it were submitted now."),
    "version": ("cli.commands.version:command", "Print the versions of the command line and of the cluster's Quotree."),
    "what-if": ("cli.commands.ahead.what_if:command", "Show what an edit of the tree would start and stop."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return cast("click.Command", getattr(importlib.import_module(module), name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        close = difflib.get_close_matches(args[0], COMMANDS, 1)
        if args[0] not in COMMANDS and not args[0].startswith("-") and close:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {close[0]!r}?")
        name, command, rest = super().resolve_command(ctx, args)
        if command is None:
            return name, command, rest
        from cli.short_options import without_equals

        return name, command, without_equals(command, rest)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in sorted(COMMANDS.items())])


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from cli.commands.version import SOURCE_TREE
        from cli.read.cluster.version import client_version

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
    """Run the command line; a known problem ends it with one line and exit code 2."""
    from cli.render.terminal import end_when_nobody_reads, use_what_it_can_show
    from shared.problems import Problem

    use_what_it_can_show()
    end_when_nobody_reads()
    try:
        quotree.main(args=arguments, prog_name=_called_as())
    except Problem as problem:
        click.echo(f"quotree: {problem}", err=True)
        sys.exit(problem.exit_code)


def _called_as() -> str:
    """Return how the user called it: `quotree`, or `kubectl quotree` as a plugin."""
    name = sys.argv[0].rsplit("/", 1)[-1]
    return "kubectl quotree" if name == "kubectl-quotree" else "quotree"


if __name__ == "__main__":
    main()
