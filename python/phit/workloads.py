"""What contention costs a workload, on a network of its own and beside other jobs."""

import copy
from typing import TYPE_CHECKING

from phit.errors import InputError
from phit.scenario import Document, Source, complete, load

if TYPE_CHECKING:
    import polars as pl

    from phit.result import Result


def without_contention(scenario: Source) -> Document:
    """The scenario of a workload on the ideal network with the same links and routers that take as long.

    Its messages wait for one another at the link into the network alone. The tables that look at routers are left out.
    """
    document = load(scenario)
    # The link classes that are not listed, and units that were left out, are part of what is kept.
    full = complete({key: value for key, value in document.items() if key != "plot"})
    router = full["router"]
    if router.get("kind") != "ideal":
        full["router"] = {"kind": "ideal", "latency": router["latency"], "links": router["links"]}
    full["routing"], full["queueing"] = {"kind": "minimal"}, {"kind": "virtual_channels"}
    for key in ("probes", "links", "endpoints", "order", "series"):
        full["measure"].pop(key, None)
    return full


def contention(result: "Result", ideal: "Result") -> "pl.DataFrame":
    """What each rank takes longer than on the ideal network, the slowest first; times in cycles.

    Columns: rank, finish, ideal (its finish there), longer (the difference), blocked (time blocked on the network),
    blocked_ideal (the same there).
    """
    import polars as pl

    there = ideal.tables["ranks"].select("rank", ideal="finish", blocked_ideal="blocked")
    both = result.tables["ranks"].join(there, on="rank", validate="1:1")
    longer = both.with_columns(longer=pl.col("finish") - pl.col("ideal"))
    found = longer.select("rank", "finish", "ideal", "longer", "blocked", "blocked_ideal")
    return found.sort("longer", "rank", descending=[True, False])


def contention_by_phase(result: "Result", ideal: "Result") -> "pl.DataFrame":
    """What each phase of a program takes each rank longer than on the ideal network; times in cycles.

    A phase is a part that a rank begins when it has ended the one before: a step of a sequence, one of several times,
    the calculation between. It needs `measure.phases`; of a program that is read from a file there are none.

    Columns: rank, phase, kind, time (from its begin until its end), ideal (the same there), longer (the difference).
    """
    import polars as pl

    both = [
        run.tables["phases"].select("rank", "phase", "kind", time=pl.col("end") - pl.col("start"))
        for run in (result, ideal)
    ]
    found = both[0].join(both[1].rename({"time": "ideal"}), on=["rank", "phase", "kind"], validate="1:1")
    return found.with_columns(longer=pl.col("time") - pl.col("ideal")).sort("rank", "phase")


def interference(scenario: Source, *, threads: int = 1) -> "pl.DataFrame":
    """What the jobs of a workload of `kind = "jobs"` do to one another: each alone, at its endpoints, and all together.

    Columns: job, start (in cycles), together and alone (cycles from its start until its last rank has finished, beside
    the others and without them), slowdown (their ratio).

    Raises:
        InputError: the scenario has no jobs.
        ScenarioError: the scenario cannot be simulated.
        SimulationError: a run came to a deadlock, or a program can never end.
    """
    import polars as pl

    from phit.result import run

    document = complete({key: value for key, value in load(scenario).items() if key != "plot"})
    workload = document.get("workload", {})
    if workload.get("kind") != "jobs":
        raise InputError('workload.kind: expected "jobs", of which some may disturb others', "workload.kind")
    ranks = run(document, threads=threads).tables["ranks"]
    rows = []
    for number, job in enumerate(workload["job"]):
        name = job.setdefault("name", str(number))
        own = ranks.filter(pl.col("job") == name)
        alone = copy.deepcopy(document)
        placement = {"kind": "list", "endpoints": own["endpoint"].to_list()}
        alone["workload"]["job"] = [{**job, "placement": placement}]
        finishes = (own["finish"], run(alone, threads=threads).tables["ranks"]["finish"])
        together, without = (max(column.to_list()) - job["start"] for column in finishes)
        rows.append((name, job["start"], together, without, together / without if without > 0 else None))
    names = {"job": pl.String, "start": pl.Int64, "together": pl.Float64, "alone": pl.Float64, "slowdown": pl.Float64}
    return pl.DataFrame(rows, schema=names, orient="row")
