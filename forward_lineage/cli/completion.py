"""`forward-lineage completion`: what makes a shell complete our commands, options, tables and results."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_PROGRAM, _VARIABLE = "forward-lineage", "_FORWARD_LINEAGE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, tables and results.

    \b
    forward-lineage completion bash > ~/.local/share/bash-completion/completions/forward-lineage
    forward-lineage completion zsh > ~/.zfunc/_forward-lineage
    forward-lineage completion fish > ~/.config/fish/completions/forward-lineage.fish
    """  # noqa: D301 - \b keeps click from joining lines
    found = get_completion_class(shell)
    assert found is not None, shell
    click.echo(found(context.find_root().command, {}, _PROGRAM, _VARIABLE).source())
