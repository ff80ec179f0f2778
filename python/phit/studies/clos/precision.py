"""Precision and age of routing's knowledge of buffers: figures 14 to 16, claims K17 to K20 (section 5)."""

from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.lazily import lazily
from phit.document import Document
from phit.drawing.plots import COLOURS, Chart
from phit.studies.clos.paper import (
    ADAPTIVE,
    OBLIVIOUS,
    UNIT,
    Evidence,
    bounds,
    by_reading,
    faulty,
    faulty_note,
    note,
    notes,
    runs,
    steady,
    study,
)
from phit.studies.clos.setting import BUFFER, LONG, NEAR, Setting
from phit.studies.kit.charts import LATENCY, LOAD_MARKS, Charts, Look, beside, finished, latency_and_load
from phit.studies.kit.claim import Fact, Judgement, NotRunError, Revision, SaturatedError
from phit.studies.kit.evidence import Curves, span
from phit.studies.kit.margin import above, all_of, below, between
from phit.studies.kit.plan import Case, Done
from phit.studies.kit.tables import EACH, SEEDS
from phit.studies.kit.tables import runs as runs_of
from phit.studies.kit.uncertain import Value, nominal, over_seeds

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

CARRIED = 0.99
"""A load is carried if this share of it is accepted.

With a smaller share, latencies grow as long as a run lasts, even if it ends before they reach those of saturation.
"""


@study.figure(
    "14",
    title="Precision",
    caption="Mean latency at the highest of some loads that is carried with every precision, 16 entries.",
    parts=("14a", "14b"),
    table=steady,
)
def precisions(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 14: near saturation with 0 to 4 bits, which tell all of 16 entries, and without any knowledge (-1)."""
    found = []
    for flits, loads in setting.near.items():
        for load in loads:
            common: dict[str, Any] = {"buffer": BUFFER, "flits": flits, "measure": _settled(setting, flits, load)}
            found += runs(setting, seeds, [OBLIVIOUS], [load], {"flits": flits, "bits": -1}, **common)
            for bits in setting.bits:
                labels = {"flits": flits, "bits": bits}
                found += runs(setting, seeds, [ADAPTIVE], [load], labels, precision=bits, **common)
    return found


def _settled(setting: Setting, flits: int, load: float) -> Document:
    """The `[measure]` section of runs with long packets near saturation."""
    if flits < LONG or load < NEAR:
        return {}
    return {"warmup": setting.near_warmup, "cycles": setting.near_cycles, "until": {"max_cycles": setting.near_cycles}}


def _near_saturation(table: pl.DataFrame, flits: int) -> pl.DataFrame:
    """The rows for packets of that size, at the highest load that is carried with every precision.

    Oblivious routing, `bits` -1, is left out if it does not carry it.
    """
    beyond = pl.col("saturated") | (pl.col("accepted_load") < CARRIED * pl.col("load"))
    rows = table.filter(pl.col("flits") == flits).with_columns(beyond=beyond)
    loads = rows.filter(pl.col("bits") >= 0).group_by("load").agg(pl.len(), pl.col("beyond").any())
    calm = loads.filter(~pl.col("beyond"), pl.col("len") == pl.col("len").max())
    if calm.is_empty():
        return rows.head(0)
    return rows.filter(pl.col("load") == calm["load"].max(), ~pl.col("beyond"))


@precisions.draw
@by_reading
def _precision_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    columns = [
        _bars(rows, f"({letter}) {flits} flit{'s' * (flits > 1)}, offered load {float(rows['load'][0]):g}")
        for letter, flits in zip("ab", setting.near, strict=True)
        if (rows := _near_saturation(table, flits)).height
    ]
    network = f"{note(setting)}, wc-UR, buffers of {BUFFER} entries"
    lines = notes(table, network, "sequential allocation, and oblivious")
    return {"14": finished(beside(*columns), "Figure 14: precision, near saturation", lines)} if columns else {}


def _bars(rows: pl.DataFrame, title: str) -> Chart:
    plural = pl.when(pl.col("bits") == 1).then(pl.lit("")).otherwise(pl.lit("s"))
    words = pl.when(pl.col("bits") < 0).then(pl.lit(OBLIVIOUS)).otherwise(pl.format("{} bit{}", "bits", plural))
    half = pl.col("latency_mean_half").fill_null(0.0)
    named = rows.sort("bits").select(
        "latency_mean", name=words, low=pl.col("latency_mean") - half, high=pl.col("latency_mean") + half
    )
    base = alt.Chart(named)
    axis_x = alt.X("name:N", title="Precision", sort=None, axis=alt.Axis(labelAngle=0))
    axis_y = alt.Y("latency_mean:Q", title=LATENCY)
    bars = base.mark_bar(color=COLOURS[0]).encode(axis_x, axis_y, tooltip=["name", "latency_mean"])
    spans = base.mark_rule(color="#333").encode(axis_x, alt.Y("low:Q", title=LATENCY), alt.Y2("high:Q"))
    head = alt.TitleParams(title, anchor="middle", fontSize=14)
    return alt.layer(bars, spans).properties(width=330, height=240, title=head)


def _savings(evidence: Evidence, flits: int) -> tuple[float, dict[int, Value]]:
    """The load near saturation, and how much less latency is with more bits than none, by bits."""
    table = evidence.table("14").filter(pl.col("bits") >= 0)
    if not (table["flits"] == flits).any():
        raise NotRunError(f"figure 14: no run with packets of {flits} flits")
    rows = _near_saturation(table, flits)
    curves = Curves(rows, "figure 14")
    latency = {bits: curves.value("latency_mean", bits=bits) for bits in rows["bits"].to_list()}
    if not latency:
        raise SaturatedError(f"figure 14: packets of {flits} flits are saturated at every load")
    for bits in (0, 2, 4):
        if bits not in latency:
            raise NotRunError(f"figure 14: no run of {bits} bits with packets of {flits} flits")
    return float(rows["load"][0]), {bits: 1 - value / latency[0] for bits, value in latency.items()}


def _words(load: float, savings: dict[int, Value]) -> str:
    found = ", ".join(f"{bits} bits {-100 * nominal(value):+.1f} %" for bits, value in sorted(savings.items()) if bits)
    return f"latency at {load:g} against 0 bits: {found}"


@study.claim(
    "K17",
    figure="14a",
    statement="Near saturation, packets of 1 flit: 0 to 4 bits differ by under 10 %",
    paper="≤ 12 %",
)
def precision_short(evidence: Evidence) -> Judgement:
    """Packets of 1 flit: 0 and 4 bits differ by 12 % at most."""
    load, savings = _savings(evidence, 1)
    return Judgement(between(savings[4], -0.12, 0.12), _words(load, savings))


@study.claim(
    "K18",
    figure="14b",
    statement="Packets of 10 flits: 4 bits save over 60 % of the latency with 0 bits, 2 or 3 bits over 40 %",
    paper="≥ 50 %; ≥ 35 %",
    remark=(
        "Near saturation queues take thousands of cycles to settle: after a warm-up of 1,000 cycles 4 bits seem to "
        "save 40 % at 0.49. With 8,000 they save 50 % there under `input`, which is the bound, 44 % at 0.48 and 35 % "
        "at 0.5, which no precision carries; 2 and 3 bits save as much: exact knowledge makes inputs prefer outputs "
        "for differences of a flit or two, which say little of the next cycles with packets of 10. With credits from "
        "the output, which tell more of the next router, 4 bits save more than half (`output`)."
    ),
)
def precision_long(evidence: Evidence) -> Judgement:
    """Packets of 10 flits: 4 bits save 50 % or more, 2 and 3 bits 35 % or more."""
    load, savings = _savings(evidence, LONG)
    some = [savings[bits] for bits in (2, 3) if bits in savings]
    check = all_of([above(savings[4], 0.5), *(above(saved, 0.35) for saved in some)])
    return Judgement(check, _words(load, savings))


def _curves(stem: str, table: pl.DataFrame, column: str, words: str, title: str, lines: list[str]) -> Charts:
    """Latency and accepted load, a curve for each value of a column."""
    look = Look.of([words.format(value) for value in table[column].unique().sort()])
    named = table.with_columns(curve=pl.format(words, pl.col(column)))
    return {stem: finished(latency_and_load(named, "curve", look, UNIT), title, lines)}


LATE = 0.6
"""From this load on the precisions are compared with faults: below, they are alike."""


@study.figure(
    "15",
    title="Precision with faulty links",
    caption="Figure 7b with sequential allocation that knows 0 to 4 bits of the fill of a buffer.",
    table=steady,
)
def precisions_with_faults(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 15. Its table is by load, then by bits."""
    found = []
    loads = [load for load in setting.fault_loads if load >= LATE]
    for bits in setting.bits:
        cases = runs(setting, seeds, [ADAPTIVE], loads, {}, buffer=BUFFER, precision=bits, **faulty(setting))
        found += [Case({**case.labels, "bits": bits}, case.scenario) for case in cases]
    return found


@precisions_with_faults.draw
@by_reading
def _precision_fault_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    lines = notes(table, faulty_note(setting), LOAD_MARKS)
    return _curves("15", table, "bits", "{} bits", "Figure 15: precision with faulty links", lines)


GAIN = 1.10
"""Gain in throughput of adaptive routing with 16 entries and no faults, in the paper (K4)."""

LOST = 0.10
"""Smallest loss with 0 bits, by the rule of K19."""


def ignorance_is_cheap(evidence: Evidence) -> Fact | None:
    """The loss of routing without any knowledge of buffers, which exceeds that with 0 bits: they tell full buffers."""
    most = bounds(evidence.setting)
    links = most["uniform"] / most["adaptive"]
    lost = 1 - links / GAIN
    if lost >= LOST:
        return None
    text = (
        f"without any knowledge of buffers routing loses at most {lost:.1%}. Oblivious routing among the links that "
        f"lead to the destination fills the first link at a load of {most['uniform']:.3f}, and the best division (a "
        f"linear program) at {most['adaptive']:.3f}. With 16 entries oblivious routing carries {GAIN - 1:.0%} less, "
        "by the paper's own figure 4b. 0 bits know more than nothing, and the paper has 15 %"
    )
    return Fact(text, "bounds of figure 7b, K4")


@study.claim(
    "K19",
    figure="15",
    statement="With the faults 0 bits lose about 15 % of the throughput with 4 bits, 2 bits half that, 3 bits nothing",
    paper="10 to 20 %; 4 to 11 %; ≤ 3 %",
    fact=ignorance_is_cheap,
    remark=(
        "Precision hardly matters to throughput. With 0 bits a full buffer still counts as unavailable, and the "
        "buffers of the overloaded links are full whenever the others are not. This alone divides the load as well "
        "as knowledge of the fill does. None of the following makes a difference of more than 1 %: packets of 10 "
        "flits; packets that keep their outputs; credits that take 6 cycles or come from the output; twice the "
        "speedup at the inputs. Nor do inputs that know nothing of one another, or equally good outputs taken in "
        "turn from a random one on. The latter doubles the load of a faulty link's neighbour, like the oblivious "
        "draw that K9 needs."
    ),
)
def precision_faults(evidence: Evidence) -> Judgement:
    """With the faults 0 bits accept 10 to 20 % less than 4, 2 bits 4 to 11 %, 3 bits 3 % at most."""
    curves = evidence.curves("15")
    most = {bits: curves.peak(bits=bits) for bits in curves.values("bits")}
    for bits in (0, 2, 3, 4):
        if bits not in most:
            raise NotRunError(f"figure 15: no run of {bits} bits")
    lost = {bits: 1 - value / most[4] for bits, value in most.items()}
    check = all_of([between(lost[0], 0.1, 0.2), between(lost[2], 0.04, 0.11), below(lost[3], 0.03)])
    words = (f"{bits} bits {nominal(value):.3f} ({-100 * nominal(lost[bits]):+.1f} %)" for bits, value in most.items())
    found = ", ".join(words)
    calm = [evidence.saturation_load("15", bits=bits) for bits in most]
    return Judgement(check, f"most accepted: {found}", f"highest loads that are not saturated: {span(calm)}")


KNOWN_BITS = 2
"""Precision of figure 16."""

AHEAD = (0, 1, 2)
"""Cycles by which the decisions of figure 16 are computed ahead."""


@study.figure(
    "16",
    title="Precomputation",
    caption="Decisions from the state of 0, 1 and 2 cycles before: greedy_r(2), 2 bits, 10-flit packets, faulty links.",
)
def precomputed(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 16."""
    common = {"buffer": BUFFER, "flits": LONG, "precision": KNOWN_BITS, "own": setting.close_seeds, **faulty(setting)}
    found = []
    for ahead in AHEAD:
        labels = {"precompute": ahead, "flits": LONG}
        for load in setting.long_fault_loads:
            measure = _settled(setting, LONG, load)
            options = {**common, "measure": measure, "precompute": ahead}
            found += runs(setting, seeds, ["greedy_r(2)"], [load], labels, **options)
    return found


OF_EACH = f"latency_mean{EACH}"
"""Column with the mean latency of every seed of a row, in the order of the column `SEEDS`."""


@precomputed.table
def _precomputed_table(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The steady states, with the latency of each seed besides."""
    means = steady(labels, done)
    if means.is_empty():
        return means
    keys = [column for column in labels.columns if column not in ("seed", "point")]
    each = runs_of(labels, done).group_by(keys).agg(pl.col("seed").alias(SEEDS), pl.col("latency_mean").alias(OF_EACH))
    return means.join(each, on=keys, how="left", maintain_order="left")


@precomputed.draw
@by_reading
def _precomputation_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    allocation = f"greedy_r(2), {KNOWN_BITS} bits, packets of {LONG} flits"
    lines = notes(table, faulty_note(setting), allocation, LOAD_MARKS)
    return _curves("16", table, "precompute", "{} cycles ahead", "Figure 16: precomputation", lines)


def _slower(evidence: Evidence, ahead: int, load: float) -> Value:
    """The latency with decisions computed ahead over that without: the mean of the ratios of the same seed, if several.

    Runs of one seed have the same packets, and what makes these wait in one makes them wait in the other.
    """
    curves = evidence.curves("16")
    ratio = curves.latency(precompute=ahead, load=load) / curves.latency(precompute=0, load=load)
    rows = [evidence.rows("16", precompute=n, load=load) for n in (ahead, 0)]
    if OF_EACH not in rows[0].columns:
        return ratio
    late, now = (dict(zip(*row.select(SEEDS, OF_EACH).row(0), strict=True)) for row in rows)
    common = sorted(late.keys() & now.keys())
    if len(common) < 2:
        return ratio
    source = curves.source("latency_mean", precompute=ahead, load=load)
    return over_seeds([late[seed] / now[seed] for seed in common], source)


def _ahead(evidence: Evidence) -> tuple[dict[int, Value], str]:
    """How much latency rises near saturation with decisions computed ahead, by cycles, and in words."""
    curves = evidence.curves("16")

    def carried(load: float, ahead: int) -> bool:
        where = {"precompute": ahead, "load": load}
        return not curves.saturated(**where) and nominal(curves.accepted(**where)) >= CARRIED * load

    loads = [load for load in curves.loads(precompute=0) if all(carried(load, ahead) for ahead in AHEAD)]
    if not loads:
        raise SaturatedError("figure 16: saturated at every load")
    load = loads[-1]
    more = {ahead: _slower(evidence, ahead, load) - 1 for ahead in AHEAD if ahead}
    found = ", ".join(f"{ahead} ahead {100 * nominal(value):+.1f} %" for ahead, value in more.items())
    return more, f"latency at {load:g}: {found}"


def _no_dearer(evidence: Evidence) -> Judgement:
    more, found = _ahead(evidence)
    return Judgement(all_of([below(more[1], 0.05), below(more[2], 0.2)]), found)


@study.claim(
    "K20",
    figure="16",
    statement="Allocations computed 1 or 2 cycles ahead are about as good; 2 ahead about 10 % more latency near "
    "saturation",
    paper="within ±5 %; +2 to +20 %",
    first=Revision(_no_dearer, "≤ 5 %; ≤ 20 %"),
    remark=(
        "If heads that could not be sent choose again in the next cycle, decisions from an older state cost "
        "nothing, because their errors are corrected at once. If packets keep their outputs, such decisions cost "
        "latency (`fitted`), and the more above the paper's figure the nearer saturation is. At 0.44 one cycle "
        "costs 7 % and two 25 %, in two long runs of each. With credits from the output and repeated choices one "
        "cycle and two cost 1 % at 0.46."
    ),
)
def precomputation(evidence: Evidence) -> Judgement:
    """Near saturation one cycle ahead changes latency by 5 % at most, two cycles raise it by 2 to 20 %."""
    more, found = _ahead(evidence)
    return Judgement(all_of([between(more[1], -0.05, 0.05), between(more[2], 0.02, 0.2)]), found)
