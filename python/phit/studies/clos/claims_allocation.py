"""The rules of claims K10 to K20: allocations (section 4), precision and precomputation (section 5)."""

from itertools import pairwise

import polars as pl

from phit.studies.clos import tabling
from phit.studies.clos.closed import two_or_more
from phit.studies.clos.evidence import Evidence
from phit.studies.clos.setting import BOUNDED_LOAD, HISTOGRAM_LOAD, LONG, UNBOUNDED_LOAD
from phit.studies.kit.claim import Judgement, NotRunError, SaturatedError
from phit.studies.kit.evidence import Curves, span


def _over(curves: Curves, upper: str, load: float) -> float:
    """Latency of an allocation over that of sequential, as a difference from 1."""
    return curves.latency(mechanism=upper, load=load) / curves.latency(mechanism="sequential", load=load) - 1


def two_samples_unbounded(evidence: Evidence) -> Judgement:
    """K10: at 0.95 sequential_r(2) is 3 to 20 % above sequential, greedy_r(2) 40 to 80 %."""
    curves = evidence.curves("9", panel="a")
    above = {name: _over(curves, name, UNBOUNDED_LOAD) for name in ("sequential_r(2)", "greedy_r(2)")}
    holds = 0.03 <= above["sequential_r(2)"] <= 0.2 and 0.4 <= above["greedy_r(2)"] <= 0.8
    found = ", ".join(f"{name} {100 * value:+.1f} %" for name, value in above.items())
    return Judgement(holds, f"latency at {UNBOUNDED_LOAD:g} over sequential: {found}")


def two_samples_bounded(evidence: Evidence) -> Judgement:
    """K11: with 16 entries, at 0.85, greedy_r(2) is at most 20 % above sequential."""
    above = _over(evidence.curves("9", panel="b"), "greedy_r(2)", BOUNDED_LOAD)
    return Judgement(above <= 0.2, f"latency at {BOUNDED_LOAD:g} over sequential: {100 * above:+.1f} %")


def greedy_saturates(evidence: Evidence) -> Judgement:
    """K12: greedy accepts 0.62 at most, whatever the buffers."""
    accepted = {panel: evidence.curves("9", panel=panel).saturation(mechanism="greedy") for panel in ("a", "b")}
    text = f"most accepted: infinite buffers {accepted['a']:.3f}, 16 entries {accepted['b']:.3f}"
    return Judgement(max(accepted.values()) <= 0.62, text)


def greedy_and_radix(evidence: Evidence) -> Judgement:
    """K13: greedy accepts nearly all (0.95) at radix 4, under 0.80 at 16, under 0.60 from 32 on."""
    curves = evidence.curves("10a")
    accepted = {radix: curves.peak(radix=radix) for radix in curves.values("radix")}
    for radix in (4, 16, 32):
        if radix not in accepted:
            raise NotRunError(f"figure 10a: no run of radix {radix}")
    large = [value for radix, value in accepted.items() if radix >= 32]
    holds = accepted[4] >= 0.95 and accepted[16] < 0.8 and max(large) < 0.6
    return Judgement(holds, "most accepted: " + ", ".join(f"radix {k} {value:.3f}" for k, value in accepted.items()))


def greedy_and_size(evidence: Evidence) -> Judgement:
    """K14: greedy accepts the more, the larger packets are."""
    curves = evidence.curves("10b")
    accepted = {flits: curves.peak(flits=flits) for flits in curves.values("flits")}
    if len(accepted) < 2:
        raise NotRunError("figure 10b: one packet size only")
    holds = all(later > earlier for earlier, later in pairwise(accepted.values()))
    return Judgement(holds, "most accepted: " + ", ".join(f"{n} flits {value:.3f}" for n, value in accepted.items()))


def probability(evidence: Evidence) -> Judgement:
    """K15: radix 64 with packets of 8 flits is as radix 8 with packets of one, within 0.1; both are the closed form."""
    table = evidence.table("11")
    curves = {}
    for radix, flits in tabling.PROBABILITIES:
        rows = table.filter(pl.col("radix") == radix, pl.col("flits") == flits).sort("load")
        if rows.is_empty():
            raise NotRunError(f"figure 11: no curve of radix {radix} and {flits} flits")
        curves[radix, flits] = rows["probability"].to_list()
        expected = [two_or_more(radix, flits, load) for load in rows["load"]]
        if any(abs(a - b) > 1e-9 for a, b in zip(curves[radix, flits], expected, strict=True)):
            return Judgement(False, f"radix {radix}, {flits} flits: not the closed form")
    apart = max(abs(a - b) for a, b in zip(curves[64, 8], curves[8, 1], strict=True))
    most = curves[64, 1][len(curves[64, 1]) // 4]
    return Judgement(apart <= 0.1, f"at most {apart:.3f} apart", f"radix 64, 1 flit: {most:.3f} at a load of 0.24")


def samples(evidence: Evidence) -> Judgement:
    """K16: what a second sample and all further ones gain.

    n from 1 to 2 lowers greedy_r by 5 to 20 % and sequential_r by over 20 %; n from 2 to the most gains sequential_r
    under 10 %; greedy_r with the most samples is worse than with 2, or saturated.
    """
    curves = evidence.curves("12")

    def latency(name: str, n: int) -> float:
        return curves.latency(mechanism=name, samples=n)

    numbers = curves.values("samples", mechanism="greedy_r(n)")
    if not numbers:
        raise NotRunError("figure 12: no run of greedy_r(n)")
    most = max(numbers)
    greedy = 1 - latency("greedy_r(n)", 2) / latency("greedy_r(n)", 1)
    sequential = 1 - latency("sequential_r(n)", 2) / latency("sequential_r(n)", 1)
    further = 1 - latency("sequential_r(n)", most) / latency("sequential_r(n)", 2)
    try:
        worse = latency("greedy_r(n)", most) / latency("greedy_r(n)", 2) - 1
        last = f"{100 * worse:+.0f} %"
    except SaturatedError:
        worse, last = float("inf"), "saturated"
    holds = 0.05 <= greedy <= 0.2 and sequential > 0.2 and further < 0.1 and worse > 0
    text = (
        f"at {HISTOGRAM_LOAD:g}, n 1 to 2: greedy_r {-100 * greedy:+.0f} %, sequential_r {-100 * sequential:+.0f} %; "
    )
    return Judgement(holds, f"{text}n 2 to {most}: sequential_r {-100 * further:+.1f} %, greedy_r {last}")


def _savings(evidence: Evidence, flits: int) -> tuple[float, dict[int, float]]:
    """The load near saturation, and how much less latency is with more bits than none, by bits."""
    table = evidence.table("14").filter(pl.col("bits") >= 0)
    if not (table["flits"] == flits).any():
        raise NotRunError(f"figure 14: no run with packets of {flits} flits")
    rows = tabling.of_precision(table, flits)
    latency = dict(rows.select("bits", "latency_mean").iter_rows())
    if not latency:
        raise SaturatedError(f"figure 14: packets of {flits} flits are saturated at every load")
    for bits in (0, 2, 4):
        if bits not in latency:
            raise NotRunError(f"figure 14: no run of {bits} bits with packets of {flits} flits")
    return float(rows["load"][0]), {bits: 1 - value / latency[0] for bits, value in latency.items()}


def _list(savings: dict[int, float]) -> str:
    return ", ".join(f"{bits} bits {-100 * value:+.1f} %" for bits, value in sorted(savings.items()) if bits)


def precision_short(evidence: Evidence) -> Judgement:
    """K17: packets of 1 flit: 0 and 4 bits differ by 12 % at most."""
    load, savings = _savings(evidence, 1)
    return Judgement(abs(savings[4]) <= 0.12, f"latency at {load:g} against 0 bits: {_list(savings)}")


def precision_long(evidence: Evidence) -> Judgement:
    """K18: packets of 10 flits: 4 bits save 50 % or more, 2 and 3 bits 35 % or more."""
    load, savings = _savings(evidence, LONG)
    some = [savings[bits] for bits in (2, 3) if bits in savings]
    holds = savings[4] >= 0.5 and min(some) >= 0.35
    return Judgement(holds, f"latency at {load:g} against 0 bits: {_list(savings)}")


def precision_faults(evidence: Evidence) -> Judgement:
    """K19: with the faults 0 bits accept 10 to 20 % less than 4, 2 bits 4 to 11 %, 3 bits 3 % at most."""
    curves = evidence.curves("15")
    most = {bits: curves.peak(bits=bits) for bits in curves.values("bits")}
    for bits in (0, 2, 3, 4):
        if bits not in most:
            raise NotRunError(f"figure 15: no run of {bits} bits")
    lost = {bits: 1 - value / most[4] for bits, value in most.items()}
    holds = 0.1 <= lost[0] <= 0.2 and 0.04 <= lost[2] <= 0.11 and lost[3] <= 0.03
    found = ", ".join(f"{bits} bits {value:.3f} ({-100 * lost[bits]:+.1f} %)" for bits, value in most.items())
    calm = [evidence.saturation("15", bits=bits) for bits in most]
    return Judgement(holds, f"most accepted: {found}", f"highest loads that are not saturated: {span(calm)}")


def precomputation(evidence: Evidence) -> Judgement:
    """K20: near saturation one cycle ahead costs 5 % of latency at most, two cycles 20 % at most."""
    curves = evidence.curves("16")
    loads = [
        load
        for load in curves.loads(precompute=0)
        if not any(curves.saturated(precompute=n, load=load) for n in (0, 1, 2))
    ]
    if not loads:
        raise SaturatedError("figure 16: saturated at every load")
    load = loads[-1]
    latency = {n: curves.latency(precompute=n, load=load) for n in (0, 1, 2)}
    above = {n: latency[n] / latency[0] - 1 for n in (1, 2)}
    found = ", ".join(f"{n} ahead {100 * value:+.1f} %" for n, value in above.items())
    return Judgement(above[1] <= 0.05 and above[2] <= 0.2, f"latency at {load:g}: {found}")
