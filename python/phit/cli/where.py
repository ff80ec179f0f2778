"""Options that say which processes run points."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from phit.cli import completing
from phit.sharding import Shard
from phit.where import Cluster, Where

ExecutorName = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="WHERE",
        help="local (the default), slurm, or dask://HOST:PORT: where points run.",
        autocompletion=completing.executors,
    ),
]
Partition = Annotated[str | None, typer.Option(help="Of Slurm jobs, before [cluster] of the experiment.")]
Time = Annotated[str | None, typer.Option("--time", metavar="TIME", help="Longest time of a Slurm job, as 2h.")]
Account = Annotated[str | None, typer.Option(help="That Slurm charges.")]
ShardText = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="K/N",
        help="Run the K-th of N parts of equal work, with others that share the folder or do not.",
    ),
]


def options(partition: str | None, time: str | None, account: str | None) -> dict[str, Any]:
    """Keys of `[cluster]` that the command line gives."""
    given = {"partition": partition, "time": time, "account": account}
    return {key: value for key, value in given.items() if value is not None}


def where(workers: int | None, executor: str | None, cluster: Mapping[str, Any], shard: str | None = None) -> Where:
    """What the options say."""
    return Where(workers, executor, Cluster.of(cluster), None if shard is None else Shard.parse(shard))
