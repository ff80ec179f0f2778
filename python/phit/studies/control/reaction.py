"""Over time: an incast comes and goes, and schemes react and recover."""

from collections.abc import Sequence
from statistics import fmean

import polars as pl

from phit.base.markdown import markdown_table
from phit.studies.control.networks import CONTROLS, COORDINATED, NONE, SCHEMES, TOGETHER, network
from phit.studies.control.question import (
    HOT,
    LOOK,
    NAMES,
    VICTIMS,
    Evidence,
    flows,
    in_order,
    incast,
    number,
    of_runs,
    scenario,
    study,
)
from phit.studies.control.setting import TREE, US, Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import Charts, beside, finished, panel, rule, seeds_note
from phit.studies.kit.claim import Judgement
from phit.studies.kit.evidence import Responses
from phit.studies.kit.margin import Check, all_of, below, exact
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Value, nominal

NEAR = 0.95
"""Victims have their rate back when it stays at this share of the rate before."""


def over_time(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each scheme, flow and bin: `t` in microseconds, `rate` in phits/cycle, `latency` in cycles.

    Flows are the victims, and everything that goes to the target together.
    """
    found = of_runs(labels, done, "flow_series")
    if found.is_empty():
        return pl.DataFrame()
    keys = ["mechanism", "flow", "t"]
    is_victim = pl.col("flow") == VICTIMS
    found = found.with_columns(
        flow=pl.when(is_victim).then(pl.lit(VICTIMS)).otherwise(pl.lit(HOT)),
        t=pl.col("cycle").cast(pl.Float64) / US,
    )
    each = found.group_by([*keys, "seed", "point"], maintain_order=True).agg(
        rate=pl.col("accepted_rate").sum(),
        latency=(pl.col("latency_mean") * pl.col("packets")).sum() / pl.col("packets").sum(),
    )
    measures = ("rate", "latency")
    table = each.group_by(keys, maintain_order=True).agg(
        pl.len().alias("seeds"), *tables.over_seeds(*measures), tables.of_runs
    )
    return in_order(table.with_columns(tables.half_widths(m) for m in measures), "mechanism", NAMES)


@study.figure(
    "reaction",
    title="An incast comes and goes",
    caption="Rates of the victims and of the target over time on the fat tree. The incast lasts from the first dashed "
    "line to the second.",
    table=over_time,
)
def comes_and_goes(setting: Setting, seeds: int | None) -> list[Case]:
    """Every scheme on the tree."""
    on = network(TREE, setting)
    sources = on.aggressors(setting.fan_ins[0])
    quiet, loud = (incast(on, sources, silent=silent) for silent in (True, False))
    traffic = {
        "load": setting.load,
        "pattern": quiet,
        "changes": [
            {"cycle": setting.before, "pattern": loud},
            {"cycle": setting.before + setting.during, "pattern": quiet},
        ],
    }
    measure = {
        "warmup": 0,
        "cycles": setting.before + setting.during + setting.after,
        "series": {"by": "window", "bin": setting.bin},
        "histogram": False,
        "flows": flows(on, sources),
    }
    return [
        Case({"mechanism": of.name, "seed": seed}, scenario(on, of, traffic, measure, seed))
        for of in SCHEMES
        for seed in seeds_of(seeds, setting.seeds)
    ]


def _times(setting: Setting) -> tuple[float, float]:
    """When the incast begins and ends, in microseconds."""
    return setting.before / US, (setting.before + setting.during) / US


SHOWN = (NONE, "VOQnet", "FBICM", *CONTROLS, COORDINATED)
"""Schemes of the chart; the table has all."""


@comes_and_goes.draw
def _charts(table: pl.DataFrame, setting: Setting) -> Charts:
    begin, end = _times(setting)
    shown = table.filter(pl.col("mechanism").is_in(SHOWN))
    titles = {VICTIMS: "Victims", HOT: "The target"}
    panels = [
        rule(
            rule(
                panel(
                    shown.filter(pl.col("flow") == flow),
                    "mechanism",
                    "t",
                    "rate",
                    LOOK,
                    "Time (µs)",
                    "Accepted rate (phits/cycle)",
                    title=title,
                    dots=False,
                    width=420,
                    height=280,
                ),
                begin,
            ),
            end,
        )
        for flow, title in titles.items()
    ]
    runs = f"{seeds_note(table, batches=False)}; bins of {setting.bin / US:g} µs"
    notes = (f"{network(TREE, setting).words}; {setting.fan_ins[0]} to 1 from {begin:g} to {end:g} µs", runs)
    return {"reaction": finished(beside(*panels), "An incast comes and goes", notes)}


def _responses(evidence: Evidence, flow: str = VICTIMS) -> Responses:
    return evidence.responses("reaction", flow=flow)


def settled(setting: Setting, responses: Responses, of: str) -> tuple[Value | None, Value | None]:
    """Microseconds from the begin, and from the end, of the incast until victims have their rate back for good.

    `None` if they do not have it back while the incast lasts, or before the recording ends.
    """
    begin, end = _times(setting)
    width = setting.bin / US

    def back(first: float, last: float) -> "Value | None":
        def until(times: Sequence[float], rates: Sequence[float]) -> float | None:
            both = list(zip(times, rates, strict=True))
            level = NEAR * fmean(rate for t, rate in both if begin / 2 <= t < begin)
            low = [t for t, rate in both if first <= t < last and rate < level]
            if not low:
                return 0.0
            return None if low[-1] + 2 * width > last else low[-1] + width - first

        return responses.of_mean(until, of, "rate", what=f"back after {first:g}", resolution=width)

    last = (setting.before + setting.during + setting.after) / US
    # The last bin may be cut off.
    return back(begin, end), back(end, last - width)


def _shown(value: Value | None) -> str:
    return "never" if value is None else f"{nominal(value):.0f}"


@comes_and_goes.text
def _text(table: pl.DataFrame, setting: Setting) -> str:
    begin, end = _times(setting)
    rows = []
    responses = Responses(table.filter(pl.col("flow") == VICTIMS), "figure reaction")
    hot = Responses(table.filter(pl.col("flow") == HOT), "figure reaction")
    for of in table["mechanism"].unique(maintain_order=True):
        react, recover = settled(setting, responses, of)
        before = responses.mean(of, begin / 2, begin, "rate")
        during = responses.mean(of, begin, end, "rate")
        worst = responses.of_mean(lambda _, rates: min(rates), of, "rate", what="smallest")
        rows.append(
            [
                of,
                _shown(react),
                _shown(recover),
                number(nominal(during / before)),
                number(None if worst is None else nominal(worst / before)),
                number(nominal(hot.mean(of, begin, end, "rate"))),
            ]
        )
    headings = [
        "scheme",
        "rate back after (µs)",
        "after the end (µs)",
        "rate while it lasts",
        "smallest rate",
        "use of the hot link",
    ]
    note = f"The rate of victims is back when it stays above {NEAR:g} of the rate before."
    return f"{note}\n\n{markdown_table(headings, rows)}"


@study.claim(
    "G10",
    figure="reaction",
    statement="Isolation reacts before controls do",
    paper="with FBICM victims have their rate back before they have it with each control alone, or these never give it "
    "back",
)
def isolation_is_faster(evidence: Evidence) -> Judgement:
    """The time until the rate of victims is back."""
    responses = _responses(evidence)
    found = {of: settled(evidence.setting, responses, of)[0] for of in ("FBICM", *CONTROLS)}
    words = ", ".join(f"{of} {_shown(time)}" for of, time in found.items())
    fbicm = found["FBICM"]
    if fbicm is None:
        return Judgement(exact(False), f"µs: {words}")
    checks = [below(fbicm, time, strict=True) for of in CONTROLS if (time := found[of]) is not None]
    return Judgement(all_of(checks), f"µs: {words}")


@study.claim(
    "G11",
    figure="reaction",
    statement="Isolation together with a control protects at once, and as fairly as the control",
    paper="with FBICM and each control together the smallest rate of victims in a bin is at least that with the "
    "control alone",
)
def together_at_once(evidence: Evidence) -> Judgement:
    """The smallest rate of victims in any bin."""
    responses = _responses(evidence)

    def smallest(of: str) -> Value:
        found = responses.of_mean(lambda _, rates: min(rates), of, "rate", what="smallest")
        return responses.mean(of, 0, 1, "rate") * 0 if found is None else found

    checks: list[Check] = []
    words = []
    for both, control in TOGETHER.items():
        if both.startswith("FBICM"):
            pair = smallest(both), smallest(control)
            checks.append(below(pair[1], pair[0]))
            words.append(f"{both} {nominal(pair[0]):.1f}, {control} {nominal(pair[1]):.1f}")
    return Judgement(all_of(checks), f"phits/cycle: {'; '.join(words)}")
