"""The rules of claims C12 to C16: what happens after UN becomes ADV+1 at a load of 0.2 (sections V-B and V-C)."""

from collections.abc import Sequence

from phit.studies.claims import Judgement, NotRunError
from phit.studies.contention.evidence import Evidence, Responses
from phit.studies.contention.mechanisms import COUNTERS
from phit.studies.contention.response import deviation, dominant_period, settling_time
from phit.studies.contention.setting import PERIOD

UPDATE_SPAN = (PERIOD + 20, 5 * PERIOD)
"""C13: cycles from the change, when the counters sent at 100 have arrived; local links take 10."""

UNIFORM_SPAN = (-300, -150)
"""C14: cycles from the change; packets generated then arrive before it."""

SETTLED_FROM = 500
"""C14, C16: cycles from the change until everything but PB has settled."""


CLOSE = 0.02
"""A narrower band than that of the rules, for the notes."""


def _settling(responses: Responses, mechanism: str) -> int | None:
    return settling_time(*responses.series(mechanism))


def _misrouting(responses: Responses, names: Sequence[str]) -> str:
    """How long the misrouted share takes to settle, which tells more where latencies hardly differ; decides nothing."""
    times = {name: settling_time(*responses.series(name, "misrouted_percent")) for name in names}
    closely = {name: settling_time(*responses.series(name), CLOSE) for name in names}
    return f"misrouted share: {_words(times)}; latency to within {CLOSE:.0%}: {_words(closely)}"


def _words(times: dict[str, int | None]) -> str:
    return ", ".join(f"{name} {'not settled' if t is None else f'{t} cycles'}" for name, t in times.items())


def reaction(evidence: Evidence) -> Judgement:
    """C12: Base and Hybrid settle in at most a third of OLM's time."""
    responses = evidence.responses("7")
    times = {name: _settling(responses, name) for name in ("Base", "Hybrid", "OLM", "PB")}
    base, hybrid, reference = times["Base"], times["Hybrid"], times["OLM"]
    if reference is None:
        return Judgement(False, _words(times), "OLM does not settle, so there is no time to compare with")
    holds = base is not None and hybrid is not None and max(base, hybrid) <= reference / 3
    return Judgement(holds, _words(times), _misrouting(responses, list(times)))


def after_the_update(evidence: Evidence) -> Judgement:
    """C13: after the next update ECtN's latency is below Base's."""
    responses = evidence.responses("7")
    before = {name: responses.mean(name, 20, PERIOD) for name in ("ECtN", "Base")}
    after = {name: responses.mean(name, *UPDATE_SPAN) for name in ("ECtN", "Base")}
    return Judgement(
        after["ECtN"] < after["Base"],
        f"ECtN {before['ECtN']:.1f}, Base {before['Base']:.1f} at 20 to {PERIOD} cycles; "
        f"ECtN {after['ECtN']:.1f}, Base {after['Base']:.1f} at {UPDATE_SPAN[0]} to {UPDATE_SPAN[1]}",
    )


def all_or_nothing(evidence: Evidence) -> Judgement:
    """C14: with counters at most 2 % of the packets are globally misrouted under UN, at least 95 % under ADV+1."""
    responses = evidence.responses("7")
    end = responses.series(COUNTERS[0])[0][-1] + 1
    if end <= SETTLED_FROM:
        raise NotRunError(f"figure 7: recorded for {end} cycles only")
    column = "misrouted_percent"
    found = {
        name: (responses.mean(name, *UNIFORM_SPAN, column), responses.mean(name, SETTLED_FROM, end, column))
        for name in COUNTERS
    }
    holds = all(uniform <= 2 and adversarial >= 95 for uniform, adversarial in found.values())
    return Judgement(holds, ", ".join(f"{name} {u:.1f} % and {a:.1f} %" for name, (u, a) in found.items()))


def large_buffers(evidence: Evidence) -> Judgement:
    """C15: with large buffers OLM and PB take at least 4 times as long to settle, Base and ECtN at most 1.5 times."""
    small, large = evidence.responses("7"), evidence.responses("8")
    names = ("OLM", "PB", "Base", "ECtN")
    before = {name: _settling(small, name) for name in names}
    after = {name: _settling(large, name) for name in names}

    def at_least(name: str) -> bool:
        first, second = before[name], after[name]
        # What has not settled in the recorded time takes longer than that.
        second = large.series(name)[0][-1] if second is None else second
        return first is not None and second >= 4 * first

    def at_most(name: str) -> bool:
        first, second = before[name], after[name]
        return first is not None and second is not None and second <= 1.5 * first

    holds = at_least("OLM") and at_least("PB") and at_most("Base") and at_most("ECtN")
    note = f"small, {_misrouting(small, names)}; large, {_misrouting(large, names)}"
    return Judgement(holds, f"small buffers: {_words(before)}; large: {_words(after)}", note)


def oscillation(evidence: Evidence) -> Judgement:
    """C16: PB's latency oscillates with a period of 300 to 700 cycles; ECtN's deviation is below a third of PB's."""
    responses = evidence.responses("9")
    windows = {}
    for name in ("PB", "ECtN"):
        times, values = responses.series(name)
        chosen = [(t, value) for t, value in zip(times, values, strict=True) if t >= SETTLED_FROM]
        if not chosen or chosen[-1][0] - chosen[0][0] < 2100:
            raise NotRunError("figure 9: recorded for too short a time: less than three periods of 700 cycles")
        windows[name] = chosen
    period = dominant_period(*zip(*windows["PB"], strict=True))
    swing = {name: deviation([value for _, value in chosen]) for name, chosen in windows.items()}
    holds = 300 <= period <= 700 and swing["ECtN"] < swing["PB"] / 3
    return Judgement(
        holds,
        f"PB's period {period:.0f} cycles; standard deviation from {SETTLED_FROM} cycles on: PB {swing['PB']:.1f}, "
        f"ECtN {swing['ECtN']:.1f} cycles",
    )
