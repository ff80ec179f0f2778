"""Runs points on any `concurrent.futures`-style executor, which Dask and Slurm use as well."""

import json
from collections.abc import Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING

import phit._phit as _phit
from phit.base import machine
from phit.base.errors import SimulationError
from phit.mechanisms import execution
from phit.running.workers import Answer, Answers

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future


def execute(index: int, scenario: str, force: bool = False) -> str:  # noqa: ARG001
    """Runs one point. Unless `force` is true, a point that needs more memory than this process may take is refused."""
    # The sender of the point has already checked consent for its Python functions.
    return execution.run(scenario, memory=None if force else machine.memory(), trusted=True)


def run_on(executor: "Executor", scenarios: Sequence[str], force: bool = False) -> Answers:
    """Runs scenarios on an executor that the caller owns."""
    futures = {executor.submit(execute, i, scenario, force): i for i, scenario in enumerate(scenarios)}
    # Each future reports when it is done. Waiting for the first of all would take time in proportion to their number.
    done: SimpleQueue[Future[str]] = SimpleQueue()
    try:
        for future in futures:
            future.add_done_callback(done.put)
        for _ in futures:
            future = done.get()
            error = future.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield futures[future], error if error is not None else ours(json.loads(future.result()))
    finally:
        for future in futures:
            future.cancel()


def ours(answer: Answer) -> Answer | Exception:
    """The answer, or an error if another version of the engine gave it: its numbers may differ."""
    there = answer["summary"].get("version", _phit.__version__)
    if there == _phit.__version__:
        return answer
    return SimulationError(
        f"a worker has Phit {there}, but this process has {_phit.__version__}: install one version everywhere"
    )
