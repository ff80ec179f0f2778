"""Options that say where points run."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from phit.cli import completing
from phit.running.where import Asked


def _options(
    workers: Annotated[
        int | None, typer.Option("--workers", "--jobs", min=1, help="Processes; by default one per core.")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="K/N",
            help="Run the K-th of N parts of equal work. Shards may share a results folder.",
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            "--executor",
            metavar="WHERE",
            help="Where points run: local (the default), slurm, or dask://HOST:PORT.",
            autocompletion=completing.executors,
        ),
    ] = None,
    partition: Annotated[str | None, typer.Option(help="Partition of Slurm jobs; overrides [cluster].")] = None,
    time: Annotated[
        str | None, typer.Option("--time", metavar="TIME", help="Longest time of a Slurm job, for example 2h.")
    ] = None,
    account: Annotated[str | None, typer.Option(help="That Slurm charges.")] = None,
) -> Asked:
    """The value of the parameter `asked`, from the options."""
    cluster = {"partition": partition, "time": time, "account": account}
    return Asked(workers, executor, {key: value for key, value in cluster.items() if value is not None}, shard)


def shared_out(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command these options in place of its parameter `asked`."""
    ours = inspect.signature(_options).parameters
    theirs = [one for name, one in inspect.signature(command).parameters.items() if name != "asked"]

    @wraps(command)
    def wrapped(*first: Any, **given: Any) -> None:
        asked = _options(**{name: given.pop(name) for name in ours if name in given})
        command(*first, **given, asked=asked)

    parameters = [*theirs, *ours.values()]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped
