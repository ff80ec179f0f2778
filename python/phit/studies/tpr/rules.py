"""The rules of claims T1 to T13."""

from collections.abc import Callable
from statistics import fmean

from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.evidence import percent, span
from phit.studies.tpr import bounds
from phit.studies.tpr.evidence import Curves, Evidence
from phit.studies.tpr.setting import ADV, UR

PERCENT = "{:.1f}"


def shares(values: list[float]) -> str:
    """Shares as percent: `1.2 to 3.4 %`."""
    return f"{span([100 * value for value in values], PERCENT)} %"


def ratios(curves: Curves, upper: str, lower: str, loads: list[float]) -> list[float]:
    """Latency of one mechanism over that of another at each load."""
    return [curves.latency(mechanism=upper, load=x) / curves.latency(mechanism=lower, load=x) for x in loads]


def minimal_is_best(evidence: Evidence) -> Judgement:
    """T1: VLB/MIN throughput in 0.42 to 0.58, latency higher at every load."""
    curves = evidence.curves("2")
    ratio = curves.throughput("VLB") / curves.throughput("MIN")
    above = ratios(curves, "VLB", "MIN", curves.calm("VLB", "MIN"))
    holds = 0.42 <= ratio <= 0.58 and min(above) > 1
    return Judgement(holds, f"VLB/MIN throughput {ratio:.3f}; VLB's latency {percent(above)} of MIN's")


def local_wavers(evidence: Evidence) -> Judgement:
    """T2: UGAL-L/MIN throughput in 0.87 to 0.97, 30 to 46 % nonminimal at the lowest load."""
    curves = evidence.curves("2")
    ratio = curves.throughput("UGAL-L") / curves.throughput("MIN")
    every = [curves.nonminimal(mechanism="UGAL-L", load=x) for x in curves.loads(mechanism="UGAL-L")]
    curves.low("UGAL-L")
    holds = 0.87 <= ratio <= 0.97 and 0.30 <= every[0] <= 0.46
    return Judgement(
        holds,
        f"UGAL-L/MIN throughput {ratio:.3f}; {every[0]:.1%} nonminimal at the lowest load, {shares(every)} overall",
    )


def global_pays(evidence: Evidence) -> Judgement:
    """T3: UGAL-G/MIN throughput in 0.95 to 1.0; latency more than 2 % above MIN's at low load."""
    curves = evidence.curves("2")
    ratio = curves.throughput("UGAL-G") / curves.throughput("MIN")
    above = ratios(curves, "UGAL-G", "MIN", curves.low("UGAL-G"))
    return Judgement(
        0.95 <= ratio <= 1.0 and max(above) > 1.02,
        f"UGAL-G/MIN throughput {ratio:.3f}; latency {percent(above)} of MIN's at low load",
    )


def pattern_is_minimal(evidence: Evidence) -> Judgement:
    """T4: TPR sends at most 1 % nonminimally at every load; latency and throughput within 2 % of MIN's."""
    curves = evidence.curves("2")
    share = [curves.nonminimal(mechanism="TPR", load=x) for x in curves.loads(mechanism="TPR")]
    latency = ratios(curves, "TPR", "MIN", curves.calm("TPR", "MIN"))
    ratio = curves.throughput("TPR") / curves.throughput("MIN")
    holds = max(share) <= 0.01 and all(abs(r - 1) <= 0.02 for r in latency) and abs(ratio - 1) <= 0.02
    return Judgement(
        holds, f"{shares(share)} nonminimal; latency {percent(latency)} of MIN's, TPR/MIN throughput {ratio:.3f}"
    )


def adversarial_bounds(evidence: Evidence) -> Judgement:
    """T5: MIN at its bound (within 5 %), VLB at 0.85 of its bound or more."""
    curves, setting = evidence.curves("3"), evidence.setting
    least, most = bounds.minimal_adversarial(setting), bounds.valiant(setting)
    minimal = curves.saturation(mechanism="MIN")
    valiant = curves.throughput("VLB")
    return Judgement(
        abs(minimal / least - 1) <= 0.05 and valiant >= 0.85 * most,
        f"MIN {minimal:.4f} (bound {least:.4f}), VLB {valiant:.3f} (bound {most:.3f}: {valiant / most:.2f} of it)",
    )


def local_under_attack(evidence: Evidence) -> Judgement:
    """T6: UGAL-L sends 22 to 34 % minimally at the lowest load, at most 3 % at saturation."""
    curves = evidence.curves("3")
    curves.throughput("UGAL-L")
    loads = curves.loads(mechanism="UGAL-L")
    minimal = [1 - curves.nonminimal(mechanism="UGAL-L", load=load) for load in loads]
    # Where it begins to accept less than is offered.
    edge = next(i for i, load in enumerate(loads) if curves.saturated(mechanism="UGAL-L", load=load))
    holds = 0.22 <= minimal[0] <= 0.34 and minimal[edge] <= 0.03
    return Judgement(
        holds,
        f"{minimal[0]:.1%} minimal at {loads[0]:g}, {minimal[edge]:.1%} at saturation ({loads[edge]:g}); "
        f"{shares(minimal)} overall",
    )


def global_under_attack(evidence: Evidence) -> Judgement:
    """T7: UGAL-G/UGAL-L throughput in 1.05 to 1.15, 8 to 16 % minimal at the highest load."""
    curves = evidence.curves("3")
    ratio = curves.throughput("UGAL-G") / curves.throughput("UGAL-L")
    peaks = curves.peak(mechanism="UGAL-G") / curves.peak(mechanism="UGAL-L")
    load, _ = curves.top(mechanism="UGAL-G")
    minimal = 1 - curves.nonminimal(mechanism="UGAL-G", load=load)
    return Judgement(
        1.05 <= ratio <= 1.15 and 0.08 <= minimal <= 0.16,
        f"UGAL-G/UGAL-L throughput {ratio:.3f} (of the most that each accepts: {peaks:.3f}); {minimal:.1%} minimal at "
        f"{load:g}",
    )


def pattern_under_attack(evidence: Evidence) -> Judgement:
    """T8: TPR accepts more than UGAL-L and VLB; lower latency at high load than both UGALs; minimal at 0.05."""
    curves = evidence.curves("3")
    accepted = {name: curves.throughput(name) for name in ("TPR", "UGAL-L", "VLB")}
    high = curves.calm("TPR", "UGAL-L", "UGAL-G")[-1]
    latency = {name: curves.latency(mechanism=name, load=high) for name in ("TPR", "UGAL-L", "UGAL-G")}
    minimal = 1 - curves.nonminimal(mechanism="TPR", load=0.05)
    holds = (
        accepted["TPR"] > max(accepted["UGAL-L"], accepted["VLB"])
        and latency["TPR"] < min(latency["UGAL-L"], latency["UGAL-G"])
        and minimal >= 0.99
    )
    return Judgement(
        holds,
        f"throughput {words(accepted, '{:.3f}')}; latency at {high:g}: {words(latency, '{:.1f}')}; "
        f"{minimal:.1%} minimal at 0.05",
    )


def words(values: dict[str, float], pattern: str) -> str:
    """`MIN 1, VLB 2`."""
    return ", ".join(f"{name} {pattern.format(value)}" for name, value in values.items())


SENT = {(UR, 0.1): 1, (UR, 0.44): 4, (UR, 0.9): 8, (ADV, 0.1): 90, (ADV, 0.44): 396}
"""Table I."""

THROUGH = {(UR, 0.1): 2.24, (UR, 0.44): 9.86, (UR, 0.9): 20.5, (ADV, 0.1): 5.45, (ADV, 0.44): 33.7}
"""Table II."""

SMALL = 10
"""Counts below this are compared by their difference."""


def sent_counters(evidence: Evidence) -> Judgement:
    """T9: DestC within 10 % of table I, small counts within 1."""
    found = {key: evidence.counter("I", "sent_to_next", *key) for key in SENT}
    close = [abs(found[key] - value) <= (1 if value < SMALL else 0.1 * value) for key, value in SENT.items()]
    return Judgement(all(close), "; ".join(counter(key, found[key], value) for key, value in SENT.items()))


def through_counters(evidence: Evidence) -> Judgement:
    """T10: mean through counts within 15 % of table II."""
    found = {key: evidence.counter("II", "through", *key) for key in THROUGH}
    close = [abs(found[key] / value - 1) <= 0.15 for key, value in THROUGH.items()]
    return Judgement(all(close), "; ".join(counter(key, found[key], value) for key, value in THROUGH.items()))


def counter(key: tuple[str, float], found: float, paper: float) -> str:
    """One entry of a table."""
    return f"{key[0]} {key[1]:g}: {found:.3g} (paper {paper:g})"


def beats_local(curves: Curves) -> tuple[bool, str]:
    """TPR's latency below UGAL-L's where both carry the load, throughput above its and at least 0.95 of UGAL-G's."""
    latency = ratios(curves, "TPR", "UGAL-L", curves.calm("TPR", "UGAL-L"))
    accepted = {name: curves.throughput(name) for name in ("TPR", "UGAL-L", "UGAL-G")}
    of_local, of_global = accepted["TPR"] / accepted["UGAL-L"], accepted["TPR"] / accepted["UGAL-G"]
    holds = max(latency) < 1 and of_local > 1 and of_global >= 0.95
    return holds, f"latency {percent(latency)}, throughput {of_local:.3f} of UGAL-L's and {of_global:.3f} of UGAL-G's"


def mixes(figures: tuple[str, ...], *, below_global: bool) -> Callable[[Evidence], Judgement]:
    """T11 and T13: TPR in three mixes."""

    def rule(evidence: Evidence) -> Judgement:
        verdicts, texts, gains = [], [], []
        for figure in figures:
            curves = evidence.curves(figure)
            holds, text = beats_local(curves)
            low = [x for x in curves.low("TPR") if x in curves.calm("TPR", "UGAL-G")]
            if not low:
                raise NotRunError(f"figure {figure}: no low load that TPR and UGAL-G carry")
            gains += ratios(curves, "TPR", "UGAL-G", low)
            verdicts.append(holds)
            texts.append(f"{figure}: {text}")
        if below_global:
            verdicts.append(min(gains) < 1)
        return Judgement(all(verdicts), f"{'; '.join(texts)}; latency {percent(gains)} of UGAL-G's at low load")

    return rule


def mostly_uniform(evidence: Evidence) -> Judgement:
    """T12: below 0.2 TPR at least 98 %, UGAL-L at most 76 % minimal; gains within a factor of 2."""
    curves = evidence.curves("6")
    loads = [load for load in curves.loads(mechanism="TPR") if load < 0.2 - 1e-9]
    if not loads:
        raise NotRunError("figure 6: no load below 0.2")
    minimal = {name: [1 - curves.nonminimal(mechanism=name, load=x) for x in loads] for name in ("TPR", "UGAL-L")}
    throughput = curves.throughput("TPR") / curves.throughput("UGAL-L") - 1
    latency = 1 - fmean(ratios(curves, "TPR", "UGAL-L", curves.calm("TPR", "UGAL-L")))
    holds = (
        min(minimal["TPR"]) >= 0.98
        and max(minimal["UGAL-L"]) <= 0.76
        and 0.02 <= throughput <= 0.08
        and 0.045 <= latency <= 0.18
    )
    return Judgement(
        holds,
        f"minimal at {span(loads)}: TPR {shares(minimal['TPR'])}, UGAL-L {shares(minimal['UGAL-L'])}; throughput "
        f"{throughput:+.1%}, mean latency {-latency:+.1%} against UGAL-L",
    )
