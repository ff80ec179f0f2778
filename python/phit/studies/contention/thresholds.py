"""The misrouting threshold and the counters: figure 10, section VI-A, claim C17."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.drawing.plots import SHAPES
from phit.studies.contention.cost import LOCAL_MINIMAL, Shape, table_one
from phit.studies.contention.paper import NOISE, UNIFORM, UNIT, Evidence, by_pattern, note, patterns, scenario, study
from phit.studies.contention.setting import Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import LOAD_MARKS, Charts, Look, beside, finished, latency_and_load, seeds_note
from phit.studies.kit.claim import Fact, Judgement, NotRunError, Revision
from phit.studies.kit.margin import Check, above, all_of, below, between, exact
from phit.studies.kit.plan import Case, Done, Labels, seeds_of
from phit.studies.kit.uncertain import Source, Value, nominal, over_seeds


@study.figure(
    "10",
    title="The misrouting threshold",
    caption="Base with thresholds from 3 to 12: latency and accepted load under UN and ADV+1.",
)
def thresholds(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 10: Base with other thresholds."""
    plans = {"UN": setting.threshold_uniform_loads, "ADV+1": setting.threshold_adversarial_loads}
    return [
        Case(
            {"mechanism": name, "pattern": pattern, "threshold": threshold, "load": load, "seed": seed},
            scenario(setting, name, patterns(setting)[pattern], load, seed, threshold=threshold),
        )
        for name in ("Base",)
        for pattern, loads in plans.items()
        for threshold in setting.swept_thresholds
        for load in loads
        for seed in seeds_of(seeds, setting.seeds)
    ]


VIRIDIS = (
    "#440154",
    "#482878",
    "#3e4989",
    "#31688e",
    "#26828e",
    "#1f9e89",
    "#35b779",
    "#6ece58",
    "#b5de2b",
    "#e8d419",
)
"""From low to high thresholds."""


def _look(values: Sequence[str]) -> Look:
    last = max(len(values) - 1, 1)
    colours = {name: VIRIDIS[round(i * (len(VIRIDIS) - 1) / last)] for i, name in enumerate(values)}
    return Look(colours, {name: SHAPES[i % len(SHAPES)] for i, name in enumerate(values)})


@thresholds.draw
def _threshold_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    look = _look([f"th = {value}" for value in table["threshold"].unique().sort()])
    named = table.with_columns(curve=pl.format("th = {}", pl.col("threshold")))
    columns = [latency_and_load(rows, "curve", look, UNIT, title=pattern) for pattern, rows in by_pattern(named)]
    notes = (f"{note(setting)}; {seeds_note(table)}", LOAD_MARKS)
    return {"10": finished(beside(*columns), "Figure 10: Base with other thresholds", notes)}


NEVER = 10_000
"""A threshold that no counter reaches: packets stay on their minimal routes."""

PROBE: Document = {"kind": "counters", "every": 100, "by_index": True}
"""`[measure] probes`: the contention counter of every output port, at regular intervals."""


def _port_probe(cycles: int) -> Document:
    """A probe that shows which input ports hold packets, all at once, so two or three observations suffice."""
    return {"kind": "ports", "every": max(1, cycles // 2)}


COLUMN = "probes.contention"
"""Column of the figure's table: mean contention counter over all output ports and observations."""


def _with_heads(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The runs with their mean counter, the mean counters by class of output, and the share of occupied input ports.

    Columns: `COLUMN`, and `output_CLASS` and `input_CLASS` for each class of links.
    """
    found = tables.runs(labels, done)
    if found.is_empty() or done.probes.is_empty() or "index" not in done.probes.columns:
        return found
    about = found.select("point", "warmup_cycles", "p", "local", "global", "routers")
    looks = done.probes.select("point", "cycle", "index", "port", "mean").join(about, on="point", how="inner")
    looks = looks.filter(pl.col("cycle") >= pl.col("warmup_cycles"))
    outputs, inputs = looks.drop_nulls("index"), looks.drop_nulls("port")
    every = outputs.group_by("point").agg(pl.col("mean").mean().alias(COLUMN))
    by_output = outputs.group_by("point", _class_of("index")).agg(value=pl.col("mean").mean())
    # An observation of an empty network leaves no row, but a saturated network is never empty.
    inputs = inputs.with_columns(looks=pl.col("cycle").n_unique().over("point"))
    counted = inputs.group_by("point", _class_of("port")).agg(
        pl.col("p", "local", "global", "routers", "looks").first(), rows=pl.len()
    )
    ports = pl.col("routers") * (
        pl.when(pl.col("class") == "endpoint")
        .then(pl.col("p"))
        .when(pl.col("class") == "local")
        .then(pl.col("local"))
        .otherwise(pl.col("global"))
    )
    by_input = counted.select("point", "class", value=pl.col("rows") / pl.col("looks") / ports)
    for side, table in (("output", by_output), ("input", by_input)):
        wide = table.pivot("class", index="point", values="value")
        every = every.join(
            wide.rename({c: f"{side}_{c}" for c in wide.columns if c != "point"}), on="point", how="left"
        )
    return found.join(every, on="point", how="left", maintain_order="left")


def _class_of(column: str) -> pl.Expr:
    """The class of the links at a port: links of endpoints come first, then local, then global links."""
    place = pl.col(column) - pl.col("p")
    local = pl.when(place < pl.col("local")).then(pl.lit("local")).otherwise(pl.lit("global"))
    return pl.when(place < 0).then(pl.lit("endpoint")).otherwise(local).alias("class")


@study.figure(
    "counters",
    title="The contention counters",
    caption="Base under saturated UN, with the contention counters of all output ports (section VI-A); and with a "
    "threshold that no counter reaches, so that all routes are minimal. The stay of a head is in units of the time in "
    "which its packet comes in.",
    table=_with_heads,
)
def counters(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-A: the counters of Base under saturated UN."""
    found = []
    own = setting.thresholds["Base"]["threshold"]
    for threshold in (own, NEVER):
        for seed in seeds_of(seeds, setting.seeds):
            load = max(setting.uniform_loads)
            document = scenario(setting, "Base", UNIFORM, load, seed, threshold=threshold)
            document["measure"]["probes"] = [PROBE, _port_probe(setting.cycles)]
            labels: Labels = {
                "mechanism": "Base" if threshold == own else "minimal",
                "pattern": "UN",
                "load": load,
                "probe": "counters",
                "p": setting.p,
                "local": setting.a - 1,
                "global": setting.h,
                "routers": setting.a * (setting.a * setting.h + 1),
                "seed": seed,
            }
            found.append(Case(labels, document))
    return found


def mean_counter(table: pl.DataFrame | None, mechanism: str = "Base", column: str = COLUMN) -> Value | None:
    """The mean contention counter over all output ports, averaged over runs; `None` if it was not recorded."""
    if table is None or column not in table.columns or "mechanism" not in table.columns:
        return None
    rows = table.filter(pl.col("mechanism") == mechanism).drop_nulls(column)
    if rows.is_empty():
        return None
    runs = tuple(sorted(rows["point"])) if "point" in rows.columns else ()
    return over_seeds(rows[column].cast(pl.Float64).to_list(), Source(runs, f"counters, {mechanism}", column))


@dataclass(frozen=True)
class Heads:
    """The mean numbers of heads in a router."""

    counted: float
    """All heads, which is the sum of the counters of its outputs."""
    injecting: float
    """Heads in injection queues."""
    brought: float
    """Phits per cycle that its links bring.

    This is the number of heads if none ever waited, because a head stays at least until the phits of its packet have
    arrived, one per cycle.
    """

    @property
    def crossing(self) -> float:
        """Heads in the channels of links."""
        return self.counted - self.injecting

    @property
    def stay(self) -> float:
        """Stay of a head, in units of the arrival time of its packet."""
        return self.crossing / self.brought


def _heads(table: pl.DataFrame, mechanism: str, setting: Setting) -> Heads | None:
    shape, counter = _shape(setting), mean_counter(table, mechanism)
    seen = mean_counter(table, mechanism, "input_endpoint")
    around, across = (mean_counter(table, mechanism, f"link_utilisation.{each}.mean") for each in ("local", "global"))
    if counter is None or seen is None or around is None or across is None:
        return None
    # At this load, an endpoint with any packets has packets for all its queues.
    injecting = nominal(seen) * shape.p * shape.injection_vcs
    brought = nominal(around) * (shape.a - 1) + nominal(across) * shape.h
    return Heads(nominal(counter) * shape.ports, injecting, brought)


@counters.text
def _counted(table: pl.DataFrame, setting: Setting) -> str:
    """The places of the heads, and the outputs that they want."""
    ports = ("endpoint", "local", "global")
    rows = []
    for name, words in (("Base", "Base"), ("minimal", "minimal routes alone")):
        outputs = [mean_counter(table, name, f"output_{each}") for each in ports]
        counter, heads = mean_counter(table, name), _heads(table, name, setting)
        if counter is None or None in outputs or heads is None:
            continue
        shown = [nominal(value) for value in (counter, *outputs) if value is not None]
        rows.append((words, *(f"{value:.2f}" for value in (*shown, heads.crossing, heads.brought, heads.stay))))
    columns = (
        "routes",
        "mean counter",
        *(f"{each} outputs" for each in ports),
        "heads in channels of links",
        "phits per cycle that links bring",
        "stay of a head",
    )
    return f"{markdown_table(columns, rows)}\n\n{_count_words(table, setting)}" if rows else ""


def _count_words(table: pl.DataFrame, setting: Setting) -> str:
    """The mean counter explained by the heads that are counted."""
    shape, minimal, base = _shape(setting), _heads(table, "minimal", setting), _heads(table, "Base", setting)
    if minimal is None or base is None:
        return ""
    channels = shape.h + LOCAL_MINIMAL * (shape.a - 1)
    most = shape.minimal_vcs / shape.ports
    return (
        "A head counts once, from its arrival at the front of its queue until its tail has left. So the counters of "
        f"a router add up to its heads, and the mean counter is the number of heads over its {shape.ports} outputs. "
        f"Minimal packets stand in {shape.minimal_vcs} of the {shape.input_vcs} channels. The mean is {most:.2f} if "
        f"each of these has a head, and {shape.input_vcs / shape.ports:.2f}, the paper's estimate, if every channel "
        f"has one. The runs have {minimal.counted:.1f} and {base.counted:.1f} heads: {minimal.injecting:.1f} in the "
        f"{shape.p * shape.injection_vcs} injection queues, the others in channels of links. A head stays there at "
        f"least as long as its packet arrives, phit by phit. So links that bring {minimal.brought:.1f} and "
        f"{base.brought:.1f} phits per cycle make as many heads if none ever waits. In fact a head stays "
        f"{minimal.stay:.2f} and {base.stay:.2f} times as long, which makes the mean counters of the table. For a "
        f"head in each of the {channels} channels of minimal packets it would have to stay "
        f"{channels / minimal.brought:.1f} times as long. The crossbar is twice as fast as a link, and removes "
        "packets sooner than a link brings them."
    )


def _shape(setting: Setting) -> Shape:
    return table_one() if setting.h == table_one().h else Shape(setting.p, setting.a, setting.h)


THRESHOLD_LOAD = 0.3
"""Load of ADV+1 at which C17 compares latencies."""

PART = 0.15
"""Relative tolerance between the mean counter and the number of channels."""


@dataclass(frozen=True)
class Sweep:
    """The effect of thresholds from low to high."""

    values: list[int]
    lowest: int
    """The lowest threshold that should not hurt: twice the mean number of channels."""
    highest: int
    """The highest threshold that should not hurt: the endpoints of a router."""
    load: float
    """The load of UN, in saturation."""
    accepted: list[Value]
    """Accepted loads under UN."""
    latency: list[Value | None]
    """Latencies under ADV+1; `None` if the network is saturated, which is worse than any latency."""
    gone: list[int]
    """Thresholds with which the network is saturated."""

    @property
    def low(self) -> int:
        """Position of the lowest threshold that should not hurt."""
        return self.values.index(_nearest(self.values, self.lowest))

    @property
    def high(self) -> int:
        """Position of the highest threshold that should not hurt."""
        return self.values.index(_nearest(self.values, self.highest))


def _sweep(evidence: Evidence) -> Sweep:
    curves, setting = evidence.curves("10"), evidence.setting
    lowest, highest = round(2 * _shape(setting).mean_vcs + 0.5), setting.p
    values = curves.values("threshold")
    if not values or min(values) >= lowest or max(values) <= highest:
        raise NotRunError(f"figure 10: no thresholds on both sides of {lowest} and {highest}")
    load = max(curves.loads(mechanism="Base", pattern="UN"))
    if not curves.saturated(mechanism="Base", pattern="UN", threshold=min(values), load=load):
        raise NotRunError(f"figure 10: UN at {load:g} does not saturate the lowest threshold")
    accepted = [curves.accepted(mechanism="Base", pattern="UN", threshold=th, load=load) for th in values]
    where = {"mechanism": "Base", "pattern": "ADV+1", "load": THRESHOLD_LOAD}
    gone = [th for th in values if th > highest and curves.saturated(**where, threshold=th)]
    latency = [None if th in gone else curves.latency(**where, threshold=th) for th in values]
    return Sweep(values, lowest, highest, load, accepted, latency, gone)


def _counter(evidence: Evidence) -> tuple[Value, float]:
    """The mean counter, and the mean number of channels of an input port."""
    counter = mean_counter(evidence.tables.get("counters"))
    if counter is None:
        raise NotRunError("the contention counters were not recorded")
    return counter, _shape(evidence.setting).mean_vcs


def _low_hurt(of: Sweep) -> Check:
    """Every threshold below the lowest that should not hurt accepts less under UN."""
    best = of.accepted[of.low]
    return all_of(below(value, (1 - NOISE) * best, strict=True) for value in of.accepted[: of.low])


def _high_hurt(of: Sweep) -> Check:
    """Every threshold above the highest that should not hurt has more latency under ADV+1."""
    least = of.latency[of.high]
    return all_of(_grows([least, value], by=NOISE) for value in of.latency[of.high + 1 :])


def _as_estimated(counter: Value, expected: float) -> Check:
    return between(counter / expected, 1 - PART, 1 + PART)


def _first_low_and_high(evidence: Evidence) -> Judgement:
    of, (counter, expected) = _sweep(evidence), _counter(evidence)
    checks = [
        _grows(of.accepted),
        _grows(of.latency),
        below(of.accepted[0], (1 - NOISE) * of.accepted[of.low], strict=True),
        _grows([of.latency[of.high], of.latency[-1]], by=NOISE),
        _as_estimated(counter, expected),
    ]
    return Judgement(all_of(checks), _in_words(of, counter, expected))


def _in_words(of: Sweep, counter: Value, expected: float) -> str:
    shown = [math.inf if v is None else nominal(v) for v in (of.latency[0], of.latency[of.high], of.latency[-1])]
    carried = [nominal(value) for value in (of.accepted[0], of.accepted[of.low], of.accepted[-1])]
    values = of.values
    return (
        f"accepted under UN at {of.load:g}: {carried[0]:.3f} (th = {values[0]}), {carried[1]:.3f} ({values[of.low]}), "
        f"{carried[2]:.3f} ({values[-1]}); latency under ADV+1 at {THRESHOLD_LOAD:g}: {shown[0]:.1f}, {shown[1]:.1f} "
        f"({values[of.high]}), {shown[2]:.1f}; mean counter {nominal(counter):.2f}, mean VCs {expected:.2f}"
    )


def _too_many_channels(evidence: Evidence) -> Fact | None:
    """The fact that the counters of minimal packets cannot reach the paper's estimate, if nothing else fails."""
    of, expected = _sweep(evidence), _counter(evidence)[1]
    shape = _shape(evidence.setting)
    most = shape.minimal_vcs / shape.ports
    if not (_low_hurt(of).holds and _high_hurt(of).holds) or most >= (1 - PART) * expected:
        return None
    minimal = mean_counter(evidence.tables.get("counters"), "minimal")
    here = f" (here {nominal(minimal):.2f})" if minimal is not None else ""
    return Fact(
        f"A head counts once, and packets on minimal routes stand in {shape.minimal_vcs} of a router's "
        f"{shape.input_vcs} channels: three of every injection port, two of every local and one of every global port. "
        f"So the mean counter of its {shape.ports} outputs is at most {most:.2f} without misrouting{here}, below "
        f"{(1 - PART) * expected:.2f}; {expected:.2f} takes misrouted packets in every channel that they alone use",
        "the counters below",
    )


@study.claim(
    "C17",
    figure="10",
    statement="Low thresholds hurt throughput under UN, high ones latency under ADV; the mean counter under saturated "
    "UN is about the mean number of VCs per input",
    paper="(a) every threshold below 2 × VCs (6) accepts less under UN; (b) every threshold above p (8) has more "
    "latency under ADV+1; (c) mean counter 2.74 ± 15 %",
    first=Revision(
        _first_low_and_high,
        "monotone over th = 3 to 12 but for 0.5 %, worse below 2 × VCs (6) and above p (8); mean counter 2.74 ± 15 %",
        weaker=True,
    ),
    fact=_too_many_channels,
    remark=(
        "Thresholds of 3 and 4 lose throughput under UN, 4 more than 3: its network congests in the course of a run, "
        "from 0.58 to 0.35. The throughput is highest with 6 to 8, and falls from there towards MIN's, because "
        "counters that hardly ever trigger leave packets on their minimal routes. The paper's estimate of the mean "
        "counter takes every channel of every input port to have a head, but under UN local channel 2 and global "
        "channel 1 hold misrouted packets alone."
    ),
)
def low_and_high_hurt(evidence: Evidence) -> Judgement:
    """Low thresholds lose throughput under UN, high ones raise the latency under ADV+1; mean counter 2.74."""
    of, (counter, expected) = _sweep(evidence), _counter(evidence)
    parts = {"a": _low_hurt(of), "b": _high_hurt(of), "c": _as_estimated(counter, expected)}
    verdicts = ", ".join(f"({name}) {Judgement(check, '').verdict}" for name, check in parts.items())
    saturated = f"ADV+1 at {THRESHOLD_LOAD:g} saturates with th = {', '.join(map(str, of.gone))}" if of.gone else ""
    return Judgement(all_of(parts.values()), f"{verdicts}: {_in_words(of, counter, expected)}", saturated)


def _nearest(values: list[int], wanted: int) -> int:
    return min(values, key=lambda value: abs(value - wanted))


def _grows(values: Sequence[Value | None], by: float = -NOISE) -> Check:
    """Whether every value exceeds the one before by a share, or stays above it but for noise. `None` exceeds all."""

    def grows(x: Value | None, y: Value | None) -> Check:
        return exact(y is None) if x is None or y is None else above(y, (1 + by) * x, strict=by > 0)

    return all_of(grows(x, y) for x, y in pairwise(values))
