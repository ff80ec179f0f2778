"""One run."""

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from phit.base import left_out, machine
from phit.base.errors import InputError, SimulationError
from phit.document import Source
from phit.document.inlining import to_json
from phit.document.loading import load
from phit.document.named_files import program_notes
from phit.document.origins import located
from phit.document.sections import leave_out
from phit.mechanisms import execution
from phit.store.result import Result

if TYPE_CHECKING:
    from phit.running.mpi import Job


def unmeasured(summary: Mapping[str, Any]) -> str:
    """That a trace lies outside of what was measured, in words; empty if it does not."""
    trace = summary["scenario"].get("traffic", {}).get("trace")
    if not trace or summary.get("packets") != 0:
        return ""
    first, last, start = trace[0][0], trace[-1][0], summary["warmup_cycles"]
    return (
        f"traffic.trace: no packet of it was measured: its messages are of the cycles {first:,} to {last:,}, and "
        f"measure.warmup and measure.cycles measure those from {start:,} to {start + summary['cycles']:,}"
    )


def run(
    scenario: Source,
    *,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    force: bool = False,
    among: "Job | None" = None,
) -> Result:
    """Simulates one scenario: the path of a TOML or JSON file, or the document itself.

    The result does not depend on `threads`. `progress(cycles_done, cycles_planned)` is called a few times a second. A
    network that is expected to take more memory than the machine has left is refused, unless `force` is true. With
    `among`, the processes of an MPI job simulate it together (`phit.mpi`), each with so many threads.

    What Ctrl-C leaves of the measurement is the attribute `partial` of the `KeyboardInterrupt`: a `Result` of the
    cycles up to there, whose ``["stopped"]`` is true; `None` if there is nothing yet.

    Raises:
        ScenarioError: the scenario cannot be simulated, or needs more memory than there is.
        InputError: the document cannot be read, or is no scenario, or names a Python function that cannot be compiled
            or may not be executed (`trust_python`).
        SimulationError: the run came to a deadlock, or its program can never end, or a Python function has raised.
    """
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; run it with `phit sweep`")
    leave_out(document)
    with located(document):
        text = to_json(document)
        try:
            limit = None if force else machine.memory()
            simulate = execution.run if among is None else among.run
            result = Result.of_answer(simulate(text, threads=threads, progress=progress, memory=limit))
        except KeyboardInterrupt as error:
            found = getattr(error, "partial", None)
            error.partial = None if found is None else Result.of_answer(found)  # type: ignore[attr-defined]
            raise
        except RuntimeError as error:
            # What a valid scenario runs into: a deadlock, or a program that can never end.
            raise SimulationError(str(error)) from None
    if words := unmeasured(result.summary):
        warnings.warn(words, stacklevel=2)
    left_out.warn([result.scenario["topology"]])
    for words in program_notes(document):
        warnings.warn(words, stacklevel=2)
    return result
