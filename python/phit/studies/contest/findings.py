"""Comparisons of mechanisms from different papers: claims X1 to X10, with rules of our own."""

from collections.abc import Mapping, Sequence

from phit.studies.contest.networks import Network, network
from phit.studies.contest.question import SLUGS, Evidence, hot_sources, study
from phit.studies.contest.setting import ADV, ADVC, CLOS, DRAGONFLY, HALF, HOT, NETWORKS, PATTERNS, TORUS, UN
from phit.studies.kit.claim import Judgement, Revision
from phit.studies.kit.evidence import Curves
from phit.studies.kit.margin import Check, above, all_of, below, between, exact
from phit.studies.kit.response import adaptation_time
from phit.studies.kit.uncertain import Value, greatest, least, nominal

COUNTERS = ("Base", "Hybrid", "ECtN")
"""Mechanisms with contention counters on a Dragonfly; ECtN waits for the next update of its group's counters."""

SOURCE_ROUTED = ("UGAL-L", "UGAL-G", "TPR", "PB")
"""Mechanisms that decide at the source only."""

IN_TRANSIT = ("OLM", *COUNTERS)
"""Mechanisms that decide again on the way."""

QUEUES = ("DBBM", "VOQsw", "FBICM")
"""Queue organisations that use routing tables."""


def _on(evidence: Evidence, name: str) -> Network:
    return network(name, evidence.setting)


def _curves(evidence: Evidence, name: str) -> Curves:
    return evidence.curves(f"{SLUGS[name]}-load")


def _peak(evidence: Evidence, name: str, mechanism: str, pattern: str) -> Value:
    """The largest accepted load of a mechanism."""
    return _curves(evidence, name).peak(mechanism=mechanism, pattern=pattern)


def _peaks(evidence: Evidence, name: str, mechanisms: Sequence[str], pattern: str) -> dict[str, Value]:
    return {mechanism: _peak(evidence, name, mechanism, pattern) for mechanism in mechanisms}


def _listed(values: Mapping[str, Value], digits: int = 3) -> str:
    return ", ".join(f"{name} {nominal(value):.{digits}f}" for name, value in values.items())


@study.claim(
    "X1",
    figure="dragonfly-change",
    statement="On a Dragonfly contention counters adapt faster than every mechanism by credits",
    paper="Base and Hybrid settle before each of UGAL-L, UGAL-G, PB and OLM, or these do not settle",
)
def counters_adapt_faster(evidence: Evidence) -> Judgement:
    """The slower of Base and Hybrid is faster than the fastest by credits."""
    responses = evidence.responses("dragonfly-change")
    by_credits = ("UGAL-L", "UGAL-G", "PB", "OLM")
    times = {name: adaptation_time(responses, name) for name in (*COUNTERS, *by_credits)}
    words = ", ".join(
        f"{name} {'does not settle' if time is None else f'{nominal(time):.0f}'}" for name, time in times.items()
    )
    checks: list[Check] = []
    for counting in ("Base", "Hybrid"):
        time = times[counting]
        if time is None:
            checks.append(exact(False))
            continue
        checks += [below(time, other, strict=True) for name in by_credits if (other := times[name]) is not None]
    return Judgement(all_of(checks), f"cycles: {words}", "ECtN waits for the next update of its group's counters")


@study.claim(
    "X2",
    figure="dragonfly-load",
    statement="On a Dragonfly it is better to decide on the way than to know the whole network at the source",
    paper="under the adversary OLM, Base, Hybrid and ECtN each accept more than UGAL-L, UGAL-G, TPR and PB",
)
def on_the_way(evidence: Evidence) -> Judgement:
    """The smallest accepted load of in-transit mechanisms against the largest of source routing."""
    transit = _peaks(evidence, DRAGONFLY, IN_TRANSIT, ADV)
    source = _peaks(evidence, DRAGONFLY, SOURCE_ROUTED, ADV)
    check = above(least(transit.values()), greatest(source.values()), strict=True)
    return Judgement(check, f"{_listed(transit)}; {_listed(source)}")


@study.claim(
    "X3",
    figure="clos-load",
    statement="On a folded Clos network isolation does not replace path diversity",
    paper="under the adversary no queue organisation over tables accepts 5 % more than tables alone; every adaptive "
    "allocation accepts twice as much",
)
def diversity(evidence: Evidence) -> Judgement:
    """Queues over tables against tables, adaptive allocations against both."""
    alone = _peak(evidence, CLOS, "tables", ADV)
    isolated = _peaks(evidence, CLOS, QUEUES, ADV)
    allocated = _peaks(evidence, CLOS, ("greedy", "greedy_r(2)", "sequential_r(2)", "sequential"), ADV)
    checks = [below(value, 1.05 * alone) for value in isolated.values()]
    checks += [above(value, 2 * alone) for value in allocated.values()]
    return Judgement(all_of(checks), f"tables {nominal(alone):.3f}, {_listed(isolated)}; {_listed(allocated)}")


@study.claim(
    "X4",
    figure="dragonfly-load, clos-load, torus-load",
    statement="Path diversity does not replace isolation",
    paper="beside a hot spot FBICM delivers more of the other traffic than every routing mechanism, on all networks",
)
def isolation(evidence: Evidence) -> Judgement:
    """FBICM against the best of the mechanisms without queues of their own, on each network."""
    checks, notes = [], []
    for name in NETWORKS:
        on, curves = _on(evidence, name), _curves(evidence, name)
        accepted = {of.name: curves.accepted(mechanism=of.name, pattern=HOT, load=HALF) for of in on.contestants}
        routed = {of: value for of, value in accepted.items() if of not in QUEUES}
        best = max(routed, key=lambda of: nominal(routed[of]))
        checks += [above(accepted["FBICM"], value, strict=True) for value in routed.values()]
        shares = {of: _kept(accepted[of], on.endpoints) for of in ("FBICM", best)}
        notes.append(f"{name}: {', '.join(f'{of} {100 * nominal(share):.0f} %' for of, share in shares.items())}")
    return Judgement(all_of(checks), "; ".join(notes), "with the best of the routing mechanisms")


def _kept(accepted: Value, endpoints: int) -> Value:
    return (accepted - 1 / endpoints) / (HALF * (1 - len(hot_sources(endpoints)) / endpoints))


@study.claim(
    "X5",
    figure="torus-load",
    statement="On a torus OutFlank routing combines what minimal adaptive and Valiant routing are good at",
    paper="more accepted under tornado than by ABR, and more under uniform traffic than by VAL",
)
def outflanking(evidence: Evidence) -> Judgement:
    """OFR against ABR under the adversary, against VAL under uniform traffic."""
    adverse = _peaks(evidence, TORUS, ("OFR", "ABR"), ADV)
    uniform = _peaks(evidence, TORUS, ("OFR", "VAL"), UN)
    checks = [above(adverse["OFR"], adverse["ABR"], strict=True), above(uniform["OFR"], uniform["VAL"], strict=True)]
    return Judgement(all_of(checks), f"tornado: {_listed(adverse)}; {UN}: {_listed(uniform)}")


def _counted_to_filled(evidence: Evidence) -> dict[str, Value]:
    """Accepted load of sequential allocation by contention counters, relative to that by fill, for each pattern."""
    return {
        pattern: _peak(evidence, CLOS, "counters", pattern) / _peak(evidence, CLOS, "sequential", pattern)
        for pattern in PATTERNS
    }


def _counted_words(ratios: Mapping[str, Value]) -> str:
    return ", ".join(f"{pattern} {100 * (nominal(ratio) - 1):+.1f} %" for pattern, ratio in ratios.items())


def _first_counting(evidence: Evidence) -> Judgement:
    ratios = _counted_to_filled(evidence)
    return Judgement(all_of(between(ratio, 0.97, 1.03) for ratio in ratios.values()), _counted_words(ratios))


@study.claim(
    "X6",
    figure="clos-load",
    statement="On a folded Clos network heads counted are as good a measure as buffers filled",
    paper="under every pattern sequential allocation by contention counters accepts 0.97 or more of what it accepts by "
    "fill",
    first=Revision(
        _first_counting,
        "under every pattern sequential allocation by contention counters accepts within 3 % of that by fill",
        weaker=True,
    ),
)
def counting(evidence: Evidence) -> Judgement:
    """Contention counters against fills in one allocation: a better measure satisfies the claim, too."""
    ratios = _counted_to_filled(evidence)
    return Judgement(all_of(above(ratio, 0.97) for ratio in ratios.values()), _counted_words(ratios))


@study.claim(
    "X7",
    figure="dragonfly-load",
    statement="TPR, made for one group of a Cascade, finds adversarial traffic between the groups of a Dragonfly, too",
    paper="under the adversary it accepts at least what UGAL-L accepts; at half load its latency is MIN's within 5 %",
)
def patterns_found(evidence: Evidence) -> Judgement:
    """TPR against UGAL-L under the adversary, against MIN under uniform traffic."""
    adverse = _peaks(evidence, DRAGONFLY, ("TPR", "UGAL-L"), ADV)
    curves = _curves(evidence, DRAGONFLY)
    latencies = {name: curves.latency(mechanism=name, pattern=UN, load=HALF) for name in ("TPR", "MIN")}
    checks = [above(adverse["TPR"], adverse["UGAL-L"]), below(latencies["TPR"], 1.05 * latencies["MIN"])]
    return Judgement(all_of(checks), f"accepted: {_listed(adverse)}; cycles: {_listed(latencies, 1)}")


@study.claim(
    "X8",
    figure="dragonfly-load",
    statement="Detours that grow with contention carry what the longest ones carry, at the latency of the shortest",
    paper="under the adversary ACOR accepts 0.95 or more of what RRG accepts; at the lowest load under UN its latency "
    "is lower than that of RRG",
)
def growing_detours(evidence: Evidence) -> Judgement:
    """ACOR, with states per router, against RRG."""
    adverse = _peaks(evidence, DRAGONFLY, ("ACOR", "RRG"), ADV)
    curves = _curves(evidence, DRAGONFLY)
    # Oblivious detours carry little more than half of the uniform traffic.
    load = min(curves.loads(mechanism="ACOR", pattern=UN))
    latencies = {name: curves.latency(mechanism=name, pattern=UN, load=load) for name in ("ACOR", "RRG")}
    checks = [above(adverse["ACOR"], 0.95 * adverse["RRG"]), below(latencies["ACOR"], latencies["RRG"], strict=True)]
    return Judgement(all_of(checks), f"accepted: {_listed(adverse)}; cycles at {load:g}: {_listed(latencies, 1)}")


HEIRS = ("ACOR", "SRC-ADP", "PB-ACOR", "PAR")
"""Mechanisms that were published with contention counters, or after them."""


@study.claim(
    "X9",
    figure="dragonfly-load",
    statement="Contention counters keep their lead over later mechanisms that decide at the source",
    paper="under ADV+1 and under ADVc, Base accepts at least what each of ACOR, SRC-ADP, PB-ACOR and PAR accepts",
)
def counters_keep_their_lead(evidence: Evidence) -> Judgement:
    """Base against the heirs under both adversaries."""
    checks: list[Check] = []
    words = []
    for pattern in (ADV, ADVC):
        accepted = _peaks(evidence, DRAGONFLY, ("Base", *HEIRS), pattern)
        checks += [above(accepted["Base"], accepted[name]) for name in HEIRS]
        words.append(f"{pattern}: {_listed(accepted)}")
    return Judgement(all_of(checks), "; ".join(words))


@study.claim(
    "X10",
    figure="dragonfly-load",
    statement="Traffic to the h next groups is unfair to the router that has the links to them",
    paper="at the highest load under ADVc the unfairness of OLM, Base, Hybrid and ECtN is at least twice that under "
    "ADV+1",
)
def unfair_to_one_router(evidence: Evidence) -> Judgement:
    """The spread of the loads that routers inject, under ADVc and under ADV+1."""
    curves = _curves(evidence, DRAGONFLY)
    checks: list[Check] = []
    words = []
    for name in IN_TRANSIT:
        found = {
            pattern: curves.value(
                "unfairness", mechanism=name, pattern=pattern, load=curves.loads(mechanism=name, pattern=pattern)[-1]
            )
            for pattern in (ADVC, ADV)
        }
        checks.append(above(found[ADVC], 2 * found[ADV]))
        words.append(f"{name} {_listed(found, 2)}")
    return Judgement(all_of(checks), "; ".join(words))
