"""The rules of claims K1 to K9: adaptive against oblivious routing (section 3)."""

from itertools import pairwise

import polars as pl

from phit.studies.clos.cases import COMPARED
from phit.studies.clos.drawing import bounds
from phit.studies.clos.evidence import Evidence
from phit.studies.clos.setting import BUFFER, HISTOGRAM_LOAD, SNAPSHOT_LOAD
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.evidence import Curves, span

FULL = 0.98
"""Offered load at which throughputs are compared."""

CLOSE = 0.95
"""Offered load close to saturation."""


def _rows(table: pl.DataFrame, mechanism: str, figure: str) -> pl.DataFrame:
    rows = table.filter(pl.col("mechanism") == mechanism)
    if rows.is_empty():
        raise NotRunError(f"figure {figure}: no run of {mechanism}")
    return rows


def stages_and_ratio(evidence: Evidence) -> Judgement:
    """K1: the ratio is 0.55 to 0.75 at each number of stages, falls with the stages, and is above the formula."""
    rows = evidence.table("2").sort("stages")
    ratios, formula = rows["ratio"].to_list(), rows["formula"].to_list()
    # Two networks may have as many stages; of these, the order is by radix.
    fall = all(
        later < earlier
        for (s, earlier), (t, later) in pairwise(zip(rows["stages"].to_list(), ratios, strict=True))
        if t > s
    )
    holds = (
        all(0.55 <= ratio <= 0.75 for ratio in ratios)
        and fall
        and all(ratio > of for ratio, of in zip(ratios, formula, strict=True))
    )
    stages = rows["stages"].to_list()
    found = ", ".join(f"{s}: {ratio:.3f} ({of:.3f})" for s, ratio, of in zip(stages, ratios, formula, strict=True))
    return Judgement(holds, f"stages: ratio (formula) {found}")


def infinite_buffers(evidence: Evidence) -> Judgement:
    """K2: both accept 0.97 or more of an offered 0.98; adaptive has the lower latency at every load from 0.8 on."""
    curves = evidence.curves("4", panel="a")
    accepted = {name: curves.accepted(mechanism=name, load=FULL) for name in COMPARED}
    loads = [load for load in curves.loads(mechanism=COMPARED[0]) if 0.8 <= load <= CLOSE]
    lower = _lower(curves, loads)
    found = ", ".join(f"{name} {value:.3f}" for name, value in accepted.items())
    text = f"accepted at {FULL:g}: {found}; adaptive's latency {span(lower, '{:.2f}')} of oblivious at {span(loads)}"
    return Judgement(min(accepted.values()) >= 0.97 and max(lower) < 1, text)


def _lower(curves: Curves, loads: list[float]) -> list[float]:
    if not loads:
        raise NotRunError("no high load was run")
    return [
        curves.latency(mechanism="sequential", load=load) / curves.latency(mechanism="oblivious", load=load)
        for load in loads
    ]


def distribution(evidence: Evidence) -> Judgement:
    """K3: oblivious latency 25 to 50 % above adaptive, adaptive's standard deviation 12 to 30 % less."""
    table = evidence.table("5")
    means, deviations = (
        [float(_rows(table, name, "5")[column][0]) for name in COMPARED] for column in ("latency_mean", "latency_std")
    )
    above, less = means[0] / means[1] - 1, 1 - deviations[1] / deviations[0]
    text = f"at {HISTOGRAM_LOAD:g}: oblivious {100 * above:+.0f} % ({means[0]:.1f} and {means[1]:.1f} cycles), "
    text += f"adaptive's deviation {100 * less:.0f} % less"
    return Judgement(0.25 <= above <= 0.5 and 0.12 <= less <= 0.3, text)


def finite_buffers(evidence: Evidence) -> Judgement:
    """K4: with 16 entries adaptive accepts 1.05 to 1.20 times as much at the highest load."""
    curves = evidence.curves("4", panel="b")
    accepted = [curves.peak(mechanism=name) for name in COMPARED]
    curves.saturation(mechanism="oblivious")
    gain = accepted[1] / accepted[0]
    text = f"most accepted: oblivious {accepted[0]:.3f}, adaptive {accepted[1]:.3f}, {gain:.3f} times"
    return Judgement(1.05 <= gain <= 1.2, text)


def bit_reverse(evidence: Evidence) -> Judgement:
    """K5: under bit reverse adaptive's latency is lower at high loads, its throughput at least the same."""
    curves = evidence.curves("4", panel="c")
    loads = [load for load in curves.loads(mechanism="oblivious") if 0.8 <= load <= CLOSE]
    lower = _lower(curves, loads)
    accepted = [curves.accepted(mechanism=name, load=FULL) for name in COMPARED]
    holds = max(lower) < 1 and accepted[1] >= 0.995 * accepted[0]
    text = f"adaptive's latency {span(lower, '{:.2f}')} of oblivious at {span(loads)}; "
    return Judgement(holds, f"{text}accepted at {FULL:g}: oblivious {accepted[0]:.3f}, adaptive {accepted[1]:.3f}")


def bit_complement(evidence: Evidence) -> Judgement:
    """K6: adaptive's latency at 0.95 is within 2 % of that at the lowest load, oblivious latency is not."""
    curves = evidence.curves("4", panel="d")
    rise = {}
    for name in COMPARED:
        low = curves.latency(mechanism=name, load=curves.loads(mechanism=name)[0])
        rise[name] = curves.latency(mechanism=name, load=CLOSE) / low - 1
    holds = abs(rise["sequential"]) <= 0.02 < rise["oblivious"]
    found = ", ".join(f"{name} {100 * value:+.1f} %" for name, value in rise.items())
    return Judgement(holds, f"latency at {CLOSE:g} over that at the lowest load: {found}")


def fullest_buffers(evidence: Evidence) -> Judgement:
    """K7: the mean of the fullest buffers is 4 to 6 entries (some at 16) against 2 to 4 (none above 9)."""
    table = evidence.table("6")
    found = {}
    for name in COMPARED:
        rows = _rows(table, name, "6")
        found[name] = (float(rows["time_mean"].to_numpy().mean()), int(rows["greatest"].to_numpy().max()))
    (wide, wide_most), (narrow, narrow_most) = found["oblivious"], found["sequential"]
    holds = 4 <= wide <= 6 and wide_most == BUFFER and 2 <= narrow <= 4 and narrow_most <= 9
    means = {name: float(_rows(table, name, "6")["all_mean"][0]) for name in COMPARED}
    text = ", ".join(f"{name} {mean:.1f}, at most {most}" for name, (mean, most) in found.items())
    note = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
    return Judgement(holds, f"at {SNAPSHOT_LOAD:g}: {text}", f"mean over all buffers: {note}; paper: 0.78 and 0.33")


def deterministic_half(evidence: Evidence) -> Judgement:
    """K8: oblivious accepts 0.72 at most where adaptive accepts 0.97 or more."""
    curves = evidence.curves("7a")
    accepted = {name: curves.accepted(mechanism=name, load=FULL) for name in COMPARED}
    at = {name: evidence.saturation("7a", mechanism=name) for name in COMPARED}
    holds = accepted["oblivious"] <= 0.72 and accepted["sequential"] >= 0.97
    text = ", ".join(f"{name} {value:.3f}" for name, value in accepted.items())
    note = ", ".join(f"{name} {load:g}" for name, load in at.items())
    return Judgement(holds, f"accepted at {FULL:g}: {text}", f"highest load that is not saturated: {note}")


def faulty_links(evidence: Evidence) -> Judgement:
    """K9: adaptive saturates at 1.7 to 2.3 times the load at which oblivious does."""
    curves = evidence.curves("7b")
    if curves.loads(mechanism=COMPARED[0]) != curves.loads(mechanism=COMPARED[1]):
        raise NotRunError("figure 7b: the curves are not of the same loads")
    at = {name: evidence.saturation("7b", mechanism=name) for name in COMPARED}
    gain = at["sequential"] / at["oblivious"]
    most = bounds(evidence.setting)
    found = ", ".join(f"{name} {load:g}" for name, load in at.items())
    text = f"highest load that is not saturated: {found}, {gain:.2f} times"
    note = f"bounds: adaptive {most['adaptive']:.3f} (linear program), oblivious {most['next']:.3f}"
    return Judgement(1.7 <= gain <= 2.3, text, note)
