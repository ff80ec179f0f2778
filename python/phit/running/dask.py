"""Runs points on the workers of a Dask cluster."""

from collections.abc import Callable, Sequence
from typing import Any

from phit.base.errors import InputError, failure, one_line
from phit.running.executors import run_on
from phit.running.where import DASK
from phit.running.workers import Answers

RETRIES = 3
"""Workers that may be lost with a point before Dask counts the point as failed."""

PATIENCE = "10s"
"""Time in which a scheduler must answer."""


def run_on_dask(address: str, scenarios: Sequence[str], force: bool, say: Callable[[str], None]) -> Answers:
    """Runs scenarios on the cluster whose scheduler is at `dask://host:port`.

    Dask reassigns the points of a lost worker. If this generator ends early, points that have not begun are cancelled.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError(f"executor (--executor) = {address}: expected the extra phit[dask] to be installed") from None
    place = address.removeprefix(DASK)
    try:
        client: Any = Client(f"tcp://{place}", timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise failure(f"{address}: no Dask scheduler answers there ({one_line(error)})") from None
    with client:
        count = len(client.scheduler_info(n_workers=-1)["workers"])
        say(f"{address}: {count} workers" if count else f"{address}: no workers yet")
        yield from run_on(client.get_executor(retries=RETRIES, pure=False), scenarios, force)
