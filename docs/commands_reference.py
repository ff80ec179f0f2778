"""The page of all commands and options, made from the command line itself."""

from collections.abc import Iterator
from typing import Any

import typer
from phit import cli
from phit.base.markdown import markdown_table
from phit.cli.app import app

INTRODUCTION = """# Commands and options

*For everyone who works on the command line: every command of `phit` with all its arguments and options.*

`make schema` writes this page from the commands themselves. [Command line](cli.md) explains the most common ones, with
examples. `phit COMMAND --help` shows the options of one command."""


def page() -> str:
    """The Markdown of the page."""
    parts = [INTRODUCTION]
    for path, command in commands():
        text = " ".join((command.help or "").split("\f")[0].split())
        parts += [f"## `phit {path}`", text, options(command)]
    return "\n\n".join(part for part in parts if part) + "\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its words, in the order in which help lists them."""
    for module in cli.MODULES:
        cli._add(module)
    group: Any = typer.main.get_command(app)
    for names in cli.MODULES.values():
        for name in names:
            yield from _below(group.commands[name], name)


def _below(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
    else:
        for name, part in command.commands.items():
            yield from _below(part, f"{path} {name}")


def options(command: Any) -> str:
    """The table of a command's arguments and options."""
    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        given = parameter.metavar or ("" if parameter.type.name == "boolean" else parameter.type.name.upper())
        if parameter.param_type_name == "argument":
            name = f"`{parameter.human_readable_name.upper()}`"
        else:
            name = f"`{' '.join(filter(None, [', '.join([*parameter.opts, *parameter.secondary_opts]), given]))}`"
        rows.append((name, " ".join((getattr(parameter, "help", "") or "").split()), default(parameter)))
    return markdown_table(("option", "meaning", "default"), rows)


def default(parameter: Any) -> str:
    """The default of an option as a user would write it."""
    value = parameter.default
    if parameter.required:
        return "**required**"
    if value in (None, False, True, "", [], ()) or callable(value) or "UNSET" in repr(value):
        return ""
    if isinstance(value, list | tuple):
        value = " ".join(str(getattr(part, "value", part)) for part in value)
    return f"`{getattr(value, 'value', value)}`"
