"""`quotree completion`: print the script that completes commands, options and names in a shell."""

from typing import Literal

import click
from click.shell_completion import get_completion_class

VARIABLE = "_QUOTREE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  source <(quotree completion bash)          in ~/.bashrc; bash 4.4 or later
    zsh:   source <(quotree completion zsh)           in ~/.zshrc, after compinit
    fish:  quotree completion fish | source           in ~/.config/fish/config.fish

    `kubectl quotree` needs no script of its own: kubectl's completion calls `kubectl_complete-quotree`, which is
    installed beside `quotree`.
    """
    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"there is no completion for {shell}")
    root = click.get_current_context().find_root().command
    click.echo(completer(root, {}, "quotree", VARIABLE).source())
