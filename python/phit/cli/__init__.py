"""The command line. Bad input gets one line on standard error and exit status 2; Ctrl-C gives 130."""

import warnings
from collections.abc import Sequence

import typer

import phit
from phit.cli import inspecting, running, showing, studying
from phit.cli.app import BAD_INPUT, FAILED, INTERRUPTED, app, note
from phit.errors import PhitError, ScenarioError, each_line

__all__ = ["main"]

for group in (running, showing, inspecting, studying):
    app.add_typer(group.commands)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(f"phit: warning: {message}")
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        return app(args=None if arguments is None else list(arguments), standalone_mode=False) or 0
    except (ScenarioError, PhitError) as error:
        for line in each_line(error):
            note(f"phit: error: {line}")
        return FAILED if isinstance(error, phit.SimulationError) else BAD_INPUT
    except OSError as error:
        if error.filename is None:
            raise
        note(f"phit: error: {error.filename}: {error.strerror}")
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        # Wrong options and arguments: the exceptions of click, which typer may carry inside itself.
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", BAD_INPUT))
