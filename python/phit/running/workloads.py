"""The cost of contention for a workload: alone on its network, and beside other jobs."""

import copy
import math
from typing import TYPE_CHECKING, Any

from phit.base.errors import InputError
from phit.document import Document, Source
from phit.document.completing import complete
from phit.document.loading import load
from phit.document.sections import APART

if TYPE_CHECKING:
    import polars as pl

    from phit.store.result import Result


def without_contention(scenario: Source) -> Document:
    """The workload's scenario on the ideal network, with the same links and routers of the same latency.

    On the ideal network, messages wait for each other only at the links of the endpoints, into and out of the network.
    Tables of routers are left out.
    """
    document = load(scenario)
    # The completed scenario has the link classes that the document leaves out, and the chosen units.
    full = complete({key: value for key, value in document.items() if key not in APART})
    router = full["router"]
    if router.get("kind") != "ideal":
        ideal = {"kind": "ideal", "model": "endpoint_links"}
        full["router"] = {**ideal, "latency": router["latency"], "links": router["links"]}
    full["routing"], full["queueing"] = {"kind": "minimal"}, {"kind": "virtual_channels"}
    for key in ("probes", "links", "endpoints", "order", "series"):
        full["measure"].pop(key, None)
    return full


def contention(result: "Result", ideal: "Result") -> "pl.DataFrame":
    """The additional time of each rank compared with the ideal network, the slowest rank first; times in cycles.

    Columns: rank; finish; ideal (finish on the ideal network); longer (the difference); blocked (time blocked on the
    network); blocked_ideal (the same on the ideal network).
    """
    import polars as pl

    there = ideal.tables["ranks"].select("rank", ideal="finish", blocked_ideal="blocked")
    both = result.tables["ranks"].join(there, on="rank", validate="1:1")
    longer = both.with_columns(longer=pl.col("finish") - pl.col("ideal"))
    found = longer.select("rank", "finish", "ideal", "longer", "blocked", "blocked_ideal")
    return found.sort("longer", "rank", descending=[True, False])


def _at(endpoints: list[int]) -> Document:
    return {"kind": "list", "endpoints": endpoints}


def _clock(cycles: int, time_unit: int, endpoints: list[int]) -> Document:
    """A job that sends nothing and ends after `cycles` cycles: a run of traffic alone would never end."""
    goal = f"num_ranks 1\nrank 0 {{\ncalc {math.ceil(cycles / time_unit)}\n}}\n"
    return {"name": "clock of the run", "program": {"kind": "program", "goal": goal}, "placement": _at(endpoints)}


def _time(job: dict[str, Any]) -> float | None:
    """The time of a job in cycles: from start to finish for a program, the mean latency of packets for traffic."""
    if job["kind"] == "traffic":
        latency: float | None = job["latency_mean"]
        return latency
    return float(job["finish"] - job["start"])


def contention_by_phase(result: "Result", ideal: "Result") -> "pl.DataFrame":
    """The additional time of each phase of each rank compared with the ideal network; times in cycles.

    A phase is a part of a program that a rank begins when it has ended the part before: a step of a sequence, one
    repetition, or the computation in between. This needs `measure.phases`; a program that is read from a file has no
    phases.

    Columns: rank; phase; kind; time (from the beginning to the end of the phase); ideal (time on the ideal network);
    longer (the difference).
    """
    import polars as pl

    both = [
        run.tables["phases"].select("rank", "phase", "kind", time=pl.col("end") - pl.col("start"))
        for run in (result, ideal)
    ]
    found = both[0].join(both[1].rename({"time": "ideal"}), on=["rank", "phase", "kind"], validate="1:1")
    return found.with_columns(longer=pl.col("time") - pl.col("ideal")).sort("rank", "phase")


def interference(scenario: Source, *, threads: int = 1) -> "pl.DataFrame":
    """Interference between the jobs of a workload: each job alone at its endpoints, and all of them together.

    The workload is of `kind = "jobs"`.

    Columns: job; kind (program or traffic); start (in cycles); together and alone (with and without the other jobs, in
    cycles: the time from a program's start to the finish of its last rank, or the mean latency of traffic); slowdown
    (together over alone); accepted and accepted_alone (phits/(endpoint·cycle) that arrived at its endpoints). Traffic
    alone runs for as long as the run of all jobs.

    Raises:
        InputError: the scenario has no jobs.
        ScenarioError: the scenario cannot be simulated.
        SimulationError: a run came to a deadlock, or a program can never end.
    """
    import polars as pl

    from phit.running.run import run

    document = complete({key: value for key, value in load(scenario).items() if key not in APART})
    workload = document.get("workload", {})
    if workload.get("kind") != "jobs":
        raise InputError('workload.kind: expected "jobs", whose interference is measured', "workload.kind")
    for number, job in enumerate(workload["job"]):
        job.setdefault("name", str(number))
    both = run(document, threads=threads)
    jobs = both.tables["jobs"]
    taken = dict(zip(jobs["job"], jobs["endpoints"].to_list(), strict=True))
    # The endpoints of one rank of a program.
    rails = (workload["host"].get("rails") or {}).get("count", 1)
    rank = next(taken[row["job"]] for row in jobs.iter_rows(named=True) if row["kind"] == "program")[:rails]
    rows = []
    for job, row in zip(workload["job"], jobs.iter_rows(named=True), strict=True):
        name = job["name"]
        own = {**job, "placement": _at(taken[name])}
        alone = copy.deepcopy(document)
        alone["workload"]["job"] = [own]
        if "traffic" in job:
            own["endpoints"] = len(taken[name])
            alone["workload"]["job"].append(_clock(both["cycles"], workload["time_unit"], rank))
        there = run(alone, threads=threads).tables["jobs"].row(0, named=True)
        together, without = (_time(of) for of in (row, there))
        slowdown = together / without if together is not None and without else None
        loads = (row["accepted_load"], there["accepted_load"])
        rows.append((name, row["kind"], job["start"], together, without, slowdown, *loads))
    numbers = ("together", "alone", "slowdown", "accepted", "accepted_alone")
    names = {"job": pl.String, "kind": pl.String, "start": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(rows, schema=names, orient="row")
