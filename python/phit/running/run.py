"""Runs one scenario."""

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
    """A warning if a trace lies outside the measured cycles; empty otherwise."""
    trace = summary["scenario"].get("traffic", {}).get("trace")
    if not trace or summary.get("packets") != 0:
        return ""
    first, last, start = trace[0][0], trace[-1][0], summary["warmup_cycles"]
    return (
        f"traffic.trace: no packet was measured: the messages are from cycles {first:,} to {last:,}, but "
        f"measure.warmup and measure.cycles measure cycles {start:,} to {start + summary['cycles']:,}"
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
    network that is expected to exceed the free memory of the machine is refused, unless `force` is true. With `among`,
    the processes of an MPI job simulate the scenario together (`phit.mpi`), with `threads` threads each.

    After Ctrl-C, the `KeyboardInterrupt` has an attribute `partial`: a `Result` of the cycles measured so far, whose
    ``["stopped"]`` is true, or `None` if nothing was measured.

    Raises:
        ScenarioError: the scenario cannot be simulated, or needs more memory than there is.
        InputError: the document cannot be read or is no scenario, or it names a Python function that cannot be compiled
            or may not be executed (`trust_python`).
        SimulationError: the run came to a deadlock, its program can never end, or a Python function raised an error.
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
            # A valid scenario failed during the run: by a deadlock, or because its program can never end.
            raise SimulationError(str(error)) from None
    if words := unmeasured(result.summary):
        warnings.warn(words, stacklevel=2)
    left_out.warn([result.scenario["topology"]])
    for words in program_notes(document):
        warnings.warn(words, stacklevel=2)
    return result
