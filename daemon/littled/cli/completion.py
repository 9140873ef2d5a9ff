"""`littled completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
# How click is asked for completions by the scripts, made of the name of the program.
_VARIABLE = "_LITTLED_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script with which a shell completes commands and options.

    bash: eval "$(littled completion bash)" in ~/.bashrc. zsh: the same with zsh in ~/.zshrc. fish:
    littled completion fish > ~/.config/fish/completions/littled.fish
    """
    made = get_completion_class(shell)
    assert made is not None, "click completes in these shells"
    click.echo(made(ctx.find_root().command, {}, "littled", _VARIABLE).source())
