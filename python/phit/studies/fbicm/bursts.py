"""I/O traffic: figure 5.4 and claim F7; a generated bursty trace stands in for the report's."""

from collections.abc import Sequence
from functools import cache
from math import isnan

import polars as pl

from phit.base.markdown import markdown_table
from phit.reading import traces
from phit.studies.fbicm.paper import SCHEMES, Evidence, listed, named, scenario, study
from phit.studies.fbicm.setting import US, Setting
from phit.studies.fbicm.transient import lines, over_time, recorded
from phit.studies.kit import tables
from phit.studies.kit.charts import Charts, finished, over
from phit.studies.kit.claim import Judgement, NotRunError, Revision
from phit.studies.kit.evidence import percent
from phit.studies.kit.margin import above, all_of, below, between
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Source, Value, Z, error, nominal, over_seeds

COMPRESSIONS = (20, 40)
"""Compressions of the I/O trace in figure 5.4."""

HIGHER = (80,)
"""Compressions beyond the report's: more messages in the same time."""


@cache
def bursts(seed: int, endpoints: int, seconds: float, compression: float) -> list[list[int]]:
    """The built-in stand-in for the cello traces, compressed: messages of the same time whatever the compression."""
    requests = traces.bursty(seed=seed, hosts=endpoints // 2, disks=endpoints // 2, seconds=seconds * compression / 20)
    messages = traces.block_io_messages(requests, endpoints)
    timed = [[round(time / compression), source, to, size] for time, source, to, size in messages]
    return sorted(timed, key=lambda message: message[0])


@study.figure(
    "5.4",
    title="I/O traffic",
    caption="Throughput over time under the built-in bursty trace, compressed 20 and 40 times.",
    table=over_time,
)
def input_output(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.4: the first network only."""
    return _runs(setting, seeds, COMPRESSIONS)


def _runs(setting: Setting, seeds: int | None, compressions: Sequence[int]) -> list[Case]:
    """Every scheme under traces with these compressions; each seed has a trace of its own."""
    net = setting.networks[0]
    found = []
    for compression in compressions:
        for scheme in SCHEMES:
            for seed in seeds_of(seeds, setting.io_seeds):
                trace = bursts(seed, net.endpoints, setting.io_seconds, compression)
                measure = recorded(setting, setting.io_cycles)
                run = scenario(net, scheme, {"load": 0.0, "trace": trace}, measure, seed)
                # Whole messages are stored, however large.
                run["router"]["admittance_room"] = "infinite"
                labels = {"network": net.name, "mechanism": scheme, "compression": compression, "seed": seed}
                found.append(Case(labels, run))
    return found


@input_output.draw
def _input_output_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    panels = [
        lines(
            rows.drop("accepted_load_half"),
            domain=(0.0, setting.io_cycles / US),
            title=f"compressed {compression} times",
            height=220,
            width=620,
        )
        for (compression,), rows in table.group_by("compression", maintain_order=True)
    ]
    count = max(table["seeds"])
    trace = "one built-in bursty trace" if count == 1 else f"means of {count} built-in bursty traces, the same for all"
    notes = (f"{named(setting, table['network'][0])}; {trace}",)
    return {"5.4": finished(over(*panels), "Figure 5.4: I/O traffic", notes)}


def each_run(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each run: the mean latency of its packets in microseconds, and the accepted load."""
    found = tables.runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    keys = [column for column in labels.columns if column != "point"]
    latency = (pl.col("latency_mean") / US).alias("latency_us")
    return found.select("point", *keys, latency, "accepted_load", "out_of_order").sort(keys, maintain_order=True)


MEASURES = ("latency_us", "accepted_load")
"""Measures by which runs are compared."""


@study.figure(
    "bursts",
    title="I/O traffic: latency and throughput",
    caption="Whole runs of the traces of figure 5.4, and of one compressed further. While links have time to spare, "
    "schemes differ in how long packets take, not in how many arrive.",
    table=each_run,
)
def whole_runs(setting: Setting, seeds: int | None) -> list[Case]:
    """The runs of figure 5.4 as wholes, and runs of higher compressions."""
    return _runs(setting, seeds, (*COMPRESSIONS, *HIGHER))


def _runs_of(table: pl.DataFrame, scheme: str, compression: int) -> pl.DataFrame:
    rows = table.filter(pl.col("mechanism") == scheme, pl.col("compression") == compression)
    if rows.is_empty():
        raise NotRunError(f"figure bursts: no run of {scheme} compressed {compression} times")
    return rows


def _ratio(table: pl.DataFrame, scheme: str, other: str, compression: int, column: str) -> Value:
    """The ratio of one scheme to another, seed by seed: both have the same traces."""
    both = _runs_of(table, scheme, compression).join(_runs_of(table, other, compression), on="seed", suffix="_other")
    runs = tuple(sorted([*both["point"], *both["point_other"]])) if "point" in both.columns else ()
    name = f"figure bursts, {scheme} over {other}, compressed {compression} times"
    return over_seeds((both[column] / both[f"{column}_other"]).to_list(), Source(runs, name, column))


@whole_runs.text
def _whole_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    """Means over seeds, and FBICM's ratios to the others with their intervals."""
    rows = []
    for compression in table["compression"].unique().sort():
        for scheme in SCHEMES:
            own = _runs_of(table, scheme, compression)
            means = [float(own[column].to_numpy().mean()) for column in MEASURES]
            ratios = [
                _ratio(table, scheme, "VOQnet", compression, column) for column in ("latency_us", "accepted_load")
            ]
            rows.append([str(compression), scheme, f"{means[0]:.1f}", f"{means[1]:.4f}", *(_plus(r) for r in ratios)])
    count = table["seed"].n_unique()
    head = ["compression", "scheme", "mean latency (µs)", "throughput", "latency to VOQnet's", "throughput to VOQnet's"]
    traces = f"{count} trace{'s' * (count > 1)}"
    words = f"Means over {traces}, with the same traces for all schemes; ± the half width of the 95 % interval."
    return f"{markdown_table(head, rows, head[2:])}\n\n{words}"


def _plus(ratio: Value) -> str:
    half = Z * error(ratio)
    return f"{nominal(ratio):.3f}" + ("" if isnan(half) else f" ± {half:.3f}")


SAME = 0.005
"""Differences of accepted load below that are noise of one seed."""


def _throughput_alone(evidence: Evidence) -> Judgement:
    """FBICM within 2 % of VOQnet and not below DBBM and VOQsw."""
    checks, notes = [], []
    end = evidence.setting.io_cycles // US
    for compression in evidence.curves("5.4").values("compression"):
        responses = evidence.responses("5.4", compression=compression)
        loads = {scheme: responses.mean(scheme, 0, end, "accepted_load") for scheme in SCHEMES}
        checks.append(between(loads["FBICM"] / loads["VOQnet"], 0.98, 1.02))
        checks += [above(loads["FBICM"], loads[scheme] - SAME) for scheme in ("DBBM", "VOQsw")]
        notes.append(f"CF {compression}: {listed(loads)}")
    return Judgement(all_of(checks), "; ".join(notes), "built-in bursty trace, not cello")


LEVEL = 0.05
"""How far FBICM may be from VOQnet in latency."""

THROUGHPUT = 0.02
"""How far it may be in throughput."""


@study.claim(
    "F7",
    figure="5.4",
    statement="I/O traces: FBICM like VOQnet, above DBBM and VOQsw",
    paper="compressed 20 times, where all schemes deliver the same: mean latency within 5 % of VOQnet's or less, and "
    "less than DBBM's and VOQsw's; compressed 40 times and more: throughput within 2 % of VOQnet's, above DBBM's and "
    "VOQsw's",
    first=Revision(_throughput_alone, "within 2 % of VOQnet; at or above DBBM and VOQsw (but for 0.005)"),
)
def isolation_under_bursts(evidence: Evidence) -> Judgement:
    """By latency where links have time to spare, by throughput where they have not."""
    table = evidence.table("bursts")
    checks, notes = [], []
    for compression in sorted({*COMPRESSIONS, *HIGHER}):
        spare = compression == min(COMPRESSIONS)
        column = "latency_us" if spare else "accepted_load"
        ratios = {other: _ratio(table, "FBICM", other, compression, column) for other in ("VOQnet", "DBBM", "VOQsw")}
        if spare:
            checks.append(below(ratios["VOQnet"], 1 + LEVEL))
            checks += [below(ratios[other], 1, strict=True) for other in ("DBBM", "VOQsw")]
        else:
            checks.append(between(ratios["VOQnet"], 1 - THROUGHPUT, 1 + THROUGHPUT))
            checks += [above(ratios[other], 1, strict=True) for other in ("DBBM", "VOQsw")]
        words = ", ".join(f"{other} {percent([ratio])}" for other, ratio in ratios.items())
        notes.append(f"CF {compression}, {'latency' if spare else 'throughput'} against {words}")
    return Judgement(all_of(checks), "; ".join(notes), "built-in bursty traces, not cello")
