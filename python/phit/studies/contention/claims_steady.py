"""The rules of claims C1 to C11, C17 and C18: steady states (sections V-A and VI)."""

import math
from itertools import pairwise

from phit.studies.claims import Judgement, NotRunError
from phit.studies.contention import cost
from phit.studies.contention.cases import UPDATES, far
from phit.studies.contention.evidence import NOISE, Evidence
from phit.studies.contention.probe import mean_counter
from phit.studies.contention.setting import MIXED_LOAD
from phit.studies.curves import Curves, percent, span

THRESHOLD_LOAD = 0.3
"""Load of ADV+1 at which C17 compares latencies."""


def _calm_loads(curves: Curves, share: float) -> list[float]:
    """Loads of UN up to a share of MIN's saturation."""
    limit = share * curves.saturation(mechanism="MIN")
    loads = [load for load in curves.loads(mechanism="MIN") if load <= limit]
    if not loads:
        raise NotRunError(f"figure 5a: no load up to {limit:.2f}")
    return loads


def _ratios(curves: Curves, upper: str, lower: str, loads: list[float]) -> list[float]:
    """Latency of one mechanism over that of another at each load."""
    return [curves.latency(mechanism=upper, load=x) / curves.latency(mechanism=lower, load=x) for x in loads]


def counters_match_minimal(evidence: Evidence) -> Judgement:
    """C1: Base and ECtN within 2 % of MIN at every load up to 80 % of MIN's saturation."""
    curves = evidence.curves("5a")
    loads = _calm_loads(curves, 0.8)
    ratios = {name: _ratios(curves, name, "MIN", loads) for name in ("Base", "ECtN")}
    holds = all(abs(ratio - 1) <= 0.02 for of_one in ratios.values() for ratio in of_one)
    found = ", ".join(f"{name} {percent(of_one)}" for name, of_one in ratios.items())
    return Judgement(holds, f"{found} of MIN's latency at loads {span(loads)}")


def credits_cost_latency(evidence: Evidence) -> Judgement:
    """C2: PB and OLM more than 2 % above MIN at some load up to 60 % of MIN's saturation, but for noise never below."""
    curves = evidence.curves("5a")
    loads = _calm_loads(curves, 0.6)
    ratios = {name: _ratios(curves, name, "MIN", loads) for name in ("PB", "OLM")}
    holds = all(max(of_one) > 1.02 and min(of_one) >= 1 - NOISE for of_one in ratios.values())
    found = ", ".join(f"{name} {percent(of_one)}" for name, of_one in ratios.items())
    return Judgement(holds, f"{found} of MIN's latency at loads {span(loads)}")


def hybrid_between(evidence: Evidence) -> Judgement:
    """C3: MIN <= Hybrid <= OLM x 1.02 in latency at the loads of C1; noise counts as equal."""
    curves = evidence.curves("5a")
    loads = _calm_loads(curves, 0.8)
    over, under = _ratios(curves, "Hybrid", "MIN", loads), _ratios(curves, "Hybrid", "OLM", loads)
    holds = min(over) >= 1 - NOISE and max(under) <= 1.02
    return Judgement(holds, f"{percent(over)} of MIN's, {percent(under)} of OLM's latency at loads {span(loads)}")


def more_throughput(evidence: Evidence) -> Judgement:
    """C4: at saturation OLM, Base, ECtN and Hybrid accept more than MIN, Hybrid the most; Base, ECtN near OLM."""
    curves = evidence.curves("5a")
    curves.saturation(mechanism="MIN")
    load = curves.loads(mechanism="MIN")[-1]
    names = ("MIN", "OLM", "Base", "ECtN", "Hybrid")
    accepted = {name: curves.accepted(mechanism=name, load=load) for name in names}
    holds = (
        all(accepted[name] > accepted["MIN"] for name in names[1:])
        and accepted["Hybrid"] == max(accepted.values())
        and all(abs(accepted[name] / accepted["OLM"] - 1) <= 0.05 for name in ("Base", "ECtN"))
    )
    found = ", ".join(f"{name} {value:.3f}" for name, value in accepted.items())
    return Judgement(holds, f"accepted at an offered load of {load:g}: {found}")


def valiant_limit(evidence: Evidence) -> Judgement:
    """C5: MIN accepts 1/(a·p) within 10 % under ADV+1; OLM, Base, Hybrid and ECtN 0.45 or more."""
    curves = evidence.curves("5b")
    setting = evidence.setting
    limit = 1 / (setting.a * setting.p)
    minimal = curves.saturation(mechanism="MIN")
    peaks = {}
    for name in ("OLM", "Base", "Hybrid", "ECtN"):
        load, _ = curves.top(mechanism=name)
        if load < 0.5 - 1e-9:
            raise NotRunError(f"figure 5b: {name} was offered {load:g} at most, less than 0.5")
        peaks[name] = curves.peak(mechanism=name)
    holds = abs(minimal / limit - 1) <= 0.1 and min(peaks.values()) >= 0.45
    found = ", ".join(f"{name} {value:.3f}" for name, value in peaks.items())
    return Judgement(holds, f"most accepted: MIN {minimal:.4f} (1/(a·p) = {limit:.4f}), {found}")


def piggyback_behind_valiant(evidence: Evidence) -> Judgement:
    """C6: PB's latency at or above VAL's at loads of 0.3 to 0.4; throughput at most 2 % above VAL's."""
    curves = evidence.curves("5b")
    loads = _common(curves, ("PB", "VAL"), 0.3, 0.4)
    ratios = _ratios(curves, "PB", "VAL", loads)
    throughput = curves.peak(mechanism="PB") / curves.peak(mechanism="VAL")
    holds = min(ratios) >= 1 and throughput <= 1.02
    return Judgement(
        holds, f"latency {percent(ratios)} at loads {span(loads)}, most accepted {percent([throughput])} of VAL's"
    )


def _common(curves: Curves, names: tuple[str, ...], low: float, high: float) -> list[float]:
    """Loads in an interval that all these curves have; the interval's ends must be among them."""
    sets = [set(curves.loads(mechanism=name)) for name in names]
    loads = sorted(x for x in set.intersection(*sets) if low - 1e-9 <= x <= high + 1e-9)
    for end in (low, high):
        if not any(abs(x - end) < 1e-9 for x in loads):
            raise NotRunError(f"no runs of {' and '.join(names)} at load {end:g}")
    return loads


def opportunistic_beats_valiant(evidence: Evidence) -> Judgement:
    """C7: OLM's latency below VAL's at every load from 0.1 to 0.4."""
    curves = evidence.curves("5b")
    loads = _common(curves, ("OLM", "VAL"), 0.1, 0.4)
    ratios = _ratios(curves, "OLM", "VAL", loads)
    return Judgement(max(ratios) < 1, f"{percent(ratios)} of VAL's latency at loads {span(loads)}")


def three_zones(evidence: Evidence) -> Judgement:
    """C8: Base at 0.01 below OLM at 0.05; above OLM at 0.05 and 0.10; within 15 % of it from 0.35 to 0.45."""
    curves = evidence.curves("5b")
    low, reference = curves.latency(mechanism="Base", load=0.01), curves.latency(mechanism="OLM", load=0.05)
    middle = _ratios(curves, "Base", "OLM", [0.05, 0.1])
    high = _ratios(curves, "Base", "OLM", _common(curves, ("Base", "OLM"), 0.35, 0.45))
    holds = low < reference and min(middle) > 1 and all(abs(ratio - 1) <= 0.15 for ratio in high)
    return Judgement(
        holds,
        f"Base {low:.1f} at 0.01, OLM {reference:.1f} at 0.05; Base {percent(middle)} of OLM's at 0.05 and 0.1, "
        f"{percent(high)} at 0.35 to 0.45",
    )


def notification_is_best(evidence: Evidence) -> Judgement:
    """C9: ECtN's latency at most OLM's at every load from 0.15 to 0.45."""
    curves = evidence.curves("5b")
    loads = _common(curves, ("ECtN", "OLM"), 0.15, 0.45)
    ratios = _ratios(curves, "ECtN", "OLM", loads)
    return Judgement(max(ratios) <= 1, f"{percent(ratios)} of OLM's latency at loads {span(loads)}")


def far_groups(evidence: Evidence) -> Judgement:
    """C10: under ADV+h ECtN/OLM in 1.00 (but for noise) to 1.15 at 0.1 to 0.3, VAL/OLM below that under ADV+1."""
    near, away = evidence.curves("5b"), evidence.curves("5c")
    loads = _common(away, ("ECtN", "OLM", "VAL"), 0.1, 0.3)
    ratios = _ratios(away, "ECtN", "OLM", loads)
    closer = _ratios(away, "VAL", "OLM", loads)
    before = _ratios(near, "VAL", "OLM", loads)
    holds = all(1 - NOISE <= r <= 1.15 for r in ratios) and all(x < y for x, y in zip(closer, before, strict=True))
    return Judgement(
        holds,
        f"ECtN/OLM {span(ratios, '{:.4f}')}; VAL/OLM {span(closer)} under {far(evidence.setting)}, {span(before)} "
        "under ADV+1",
    )


def mixes(evidence: Evidence) -> Judgement:
    """C11: at a load of 0.35 ECtN below OLM at every mix, Base and Hybrid within 15 % of OLM."""
    curves = evidence.curves("6")
    shares = [share for share in curves.values("uniform_percent") if 0 < share < 100]
    if not shares:
        raise NotRunError("figure 6: no mix was run")

    def ratios(name: str) -> list[float]:
        where = [{"load": MIXED_LOAD, "uniform_percent": share} for share in shares]
        return [curves.latency(mechanism=name, **w) / curves.latency(mechanism="OLM", **w) for w in where]

    found = {name: ratios(name) for name in ("ECtN", "Base", "Hybrid")}
    holds = max(found["ECtN"]) < 1 and all(abs(r - 1) <= 0.15 for name in ("Base", "Hybrid") for r in found[name])
    words = ", ".join(f"{name} {percent(of_one)}" for name, of_one in found.items())
    return Judgement(holds, f"{words} of OLM's latency at {', '.join(map(str, shares))} % UN")


def thresholds(evidence: Evidence) -> Judgement:
    """C17: throughput under UN grows with the threshold up to 6, latency under ADV beyond 8; mean counter 2.74."""
    curves, setting = evidence.curves("10"), evidence.setting
    shape = cost.table_one() if setting.h == 8 else cost.Shape(setting.p, setting.a, setting.h)
    expected = shape.mean_vcs
    lowest, highest = round(2 * expected + 0.5), setting.p
    values = curves.values("threshold")
    if not values or min(values) >= lowest or max(values) <= highest:
        raise NotRunError(f"figure 10: no thresholds on both sides of {lowest} and {highest}")
    load = max(curves.loads(mechanism="Base", pattern="UN"))
    if not curves.saturated(mechanism="Base", pattern="UN", threshold=min(values), load=load):
        raise NotRunError(f"figure 10: UN at {load:g} does not saturate the lowest threshold")
    accepted = [curves.accepted(mechanism="Base", pattern="UN", threshold=th, load=load) for th in values]
    where = {"mechanism": "Base", "pattern": "ADV+1", "load": THRESHOLD_LOAD}
    # A threshold so high that the network saturates has no latency; it hurts more than any that has one.
    gone = [th for th in values if th > highest and curves.saturated(**where, threshold=th)]
    latency = [math.inf if th in gone else curves.latency(**where, threshold=th) for th in values]
    counter = mean_counter(evidence.tables.get("counters"))
    if counter is None:
        raise NotRunError("the contention counters were not recorded")
    low, high = _nearest(values, lowest), _nearest(values, highest)
    holds = (
        _grows(accepted)
        and _grows(latency)
        and accepted[0] < (1 - NOISE) * accepted[values.index(low)]
        and latency[-1] > (1 + NOISE) * latency[values.index(high)]
        and abs(counter / expected - 1) <= 0.15
    )
    note = f"ADV+1 at {THRESHOLD_LOAD:g} saturates with th = {', '.join(map(str, gone))}" if gone else ""
    return Judgement(
        holds,
        f"accepted under UN at {load:g}: {accepted[0]:.3f} (th = {values[0]}), {accepted[values.index(low)]:.3f} "
        f"({low}), {accepted[-1]:.3f} ({values[-1]}); latency under ADV+1 at {THRESHOLD_LOAD:g}: {latency[0]:.1f}, "
        f"{latency[values.index(high)]:.1f} ({high}), {latency[-1]:.1f}; "
        f"mean counter {counter:.2f}, mean VCs {expected:.2f}",
        note,
    )


def _nearest(values: list[int], wanted: int) -> int:
    return min(values, key=lambda value: abs(value - wanted))


def _grows(values: list[float]) -> bool:
    """True if no value is below the one before by more than noise."""
    return all(y >= (1 - NOISE) * x for x, y in pairwise(values))


def update_traffic(evidence: Evidence) -> Judgement:
    """C18: the full array of Table I is 128 counters of 4 bits, about 6 phits, 6 % of a link; ECtN with it sent."""
    full = cost.Notification(cost.table_one(), combined_threshold=10).full()
    curves = evidence.curves("overhead")
    changes = []
    gone = []
    for pattern in ("UN", "ADV+1"):
        for load in curves.loads(mechanism="ECtN", pattern=pattern):
            where = {"mechanism": "ECtN", "pattern": pattern, "load": load}
            free, sent = ({**where, "updates": updates} for updates in UPDATES)
            if curves.saturated(**free):
                continue
            if curves.saturated(**sent):
                gone.append(f"{pattern} {load:g}")
            else:
                changes.append(curves.latency(**sent) / curves.latency(**free))
    if not changes:
        raise NotRunError("overhead: no run of ECtN without saturation")
    holds = (
        (full.counters, full.bits) == (128, 512) and int(full.phits) == 6 and int(100 * full.share) == 6 and not gone
    )
    return Judgement(
        holds,
        f"{full.counters} counters, {full.bits} bits, {full.phits:.1f} phits, {full.share:.1%} of a local link; "
        f"with it sent, latency {percent(changes)}" + (f", saturated at {', '.join(gone)}" if gone else ""),
    )
