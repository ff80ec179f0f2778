"""FOGSim, version 2: oblivious and adaptive routing on Dragonflies, in steady state."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from phit.document import Document
from phit.importing.moves import to_router
from phit.peers import fogsim
from phit.peers.comparison import FOGSIM, FOGSIM_ADAPTIVE, FOGSIM_CALM, Case
from phit.store.quantities import SATURATED_BELOW
from phit.studies.validation.reference import Row, rows

MEASURES = {
    "accepted_load": "accepted_load",
    "latency_mean": "avg_packet_latency",
    "latency_p99": "p99",
    "hops_mean": "avg_hops",
}

SHARES = {
    "misrouted_globally": "frac_global_misrouted",
    "misrouted_locally": "frac_local_misrouted",
    "misrouted_at_injection": "frac_global_misrouted_at_injection",
}
"""Compared for adaptive mechanisms; FOGSim does not count all of them for all."""

NEAR_SATURATION = "above 90 % of saturation"

FULL_QUEUES = (
    "above 90 % of saturation; an endpoint's backlog exceeds its injection queues. While a queue is full FOGSim makes "
    "no packets, but Phit's sources do (no option for this was tried)"
)

NOT_STATIONARY = (
    "under adversarial traffic from 0.3 on, PB starves the endpoints of the routers that own the minimal global "
    "links. Latency is not stationary, and FOGSim's seeds spread from 443 to 470 cycles (p99: about 3,000) under "
    "ADV+1 at 0.3"
)

COLLAPSED = (
    "less is accepted than at lower loads. The time of this collapse differs from seed to seed. So runs scatter by 4 "
    "%, and FOGSim has a single run"
)

BETWEEN_TWO_STATES = {
    ("Hybrid", "UN", 0.9): (
        "four of six seeds accept 0.736 to 0.738. The other two collapse within the run and accept 0.65 to 0.67. "
        "FOGSim has a single run"
    )
}
"""Reasons why nothing is judged, by mechanism, pattern and load."""

SEEDS = 5

SEEDS_FEWER = 3
"""For large networks, and for mechanisms whose numbers scatter little."""

SCATTER_LITTLE = {"OLM", "Hybrid", "ECtN"}

SEEDS_MORE = 10
"""For Base: its p99 latencies near saturation scatter by 3 to 7 % from seed to seed."""

QUICK = {
    ("MIN", "UN"): 0.3,
    ("VAL", "UN"): 0.3,
    ("VAL", "ADV+1"): 0.3,
    ("VAL", "ADV+4"): 0.3,
    ("PB", "ADV+1"): 0.1,
    ("OLM", "UN"): 0.1,
    ("Base", "ADV+1"): 0.1,
    ("Hybrid", "ADV+4"): 0.1,
    ("ECtN", "ADV+4"): 0.1,
}
"""Load of each mechanism and pattern that the fast tests run."""

LABELS = {
    "ArbiterIterations": "rounds of allocation",
    "VAL_group": "VAL by groups",
    "PB_local0": "PB with local threshold 0",
    "PB_group": "PB by groups",
    "ContentionThreshold": "threshold",
    "ContentionGlobalThreshold": "combined threshold",
    "ugal_global_threshold": "global threshold",
    "VcMisroutingCongestedRestrictionCoefPercent": "restriction (%)",
    "VcMisroutingCongestedRestrictionThreshold": "restriction (packets)",
}
"""Names of mechanisms and keys on the page, if they differ from their own."""


def extra(row: Row) -> fogsim.Keys:
    """The settings of a run besides the keys of its mechanism."""
    return dict(pair.split("=", 1) for pair in row["extra_config"].split())


def configuration(row: Row) -> fogsim.Keys:
    """The keys of a run that concern routing."""
    return fogsim.configuration(row["mechanism"], int(row["H"]), extra(row))


def label(mechanism: str, others: fogsim.Keys) -> str:
    """Mechanism and settings in words."""
    settings = [f"{LABELS[key]} {value}" for key, value in others.items()]
    return ", ".join([LABELS.get(mechanism, mechanism), *settings])


def scenario(row: Row) -> Document:
    """One of FOGSim's runs in Phit's words."""
    return {
        **fogsim.network(int(row["P"]), int(row["A"]), int(row["H"]), configuration(row)),
        "traffic": fogsim.traffic(_pattern(row), float(row["offered_load"])),
        "measure": {"warmup": int(row["warmup_cycles"]), "cycles": int(row["measured_cycles"])},
    }


SAME_INDEX = "ADV+1s"
"""Adversarial traffic to the router of the same index in the next group."""


def _pattern(row: Row) -> str | Document:
    if row["pattern"] != SAME_INDEX:
        return row["pattern"]
    p, a, h = (int(row[key]) for key in ("P", "A", "H"))
    routers = (a * h + 1) * a
    return to_router(routers, p, lambda router: (router + a) % routers)


def cases(folder: Path) -> list[Case]:
    """Every row; runs that differ in their seed alone are one case."""
    tables = ("fogsim_h4_steady.csv", "fogsim_h4_sensitivity.csv", "fogsim_h8_steady.csv")
    curves: dict[str, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    varied: list[Row] = []
    for row in chain.from_iterable(rows(folder, table) for table in tables):
        if row["extra_config"] or row["mechanism"] not in (*fogsim.ADAPTIVE, "MIN", "VAL"):
            varied.append(row)
        else:
            curves[f"{_network(row)}, {row['mechanism']}, {row['pattern']}"][float(row["offered_load"])].append(row)
    return [*_points(curves), *_settings(varied)]


def _network(row: Row) -> str:
    return f"Dragonfly p={row['P']} a={row['A']} h={row['H']}"


def _points(curves: dict[str, dict[float, list[Row]]]) -> Iterator[Case]:
    for series, loads in curves.items():
        limit = saturation([run for runs in loads.values() for run in runs])
        for load in sorted(loads):
            yield _case(series, loads[load], limit=limit)


def _settings(varied: list[Row]) -> Iterator[Case]:
    """Single points with other settings. Each is close to saturation if it accepts less than is offered."""
    for row in varied:
        setting = f"{label(row['mechanism'], extra(row))}; {row['pattern']} {row['offered_load']}"
        yield _case(f"{_network(row)}, other settings", [row], limit=saturation([row]), setting=setting)


def saturation(runs: list[Row]) -> float:
    """The most that a curve accepts; without limit if it shows no saturation."""
    accepted = [float(run["accepted_load"]) for run in runs]
    saturates = any(a < SATURATED_BELOW * float(run["offered_load"]) for a, run in zip(accepted, runs, strict=True))
    return max(accepted) if saturates else float("inf")


def _case(series: str, runs: list[Row], *, limit: float, setting: str = "") -> Case:
    """One case; `limit` is the most that its curve accepts."""
    first = runs[0]
    mechanism, pattern, load = first["mechanism"], first["pattern"], float(first["offered_load"])
    small = first["H"] == "4"
    adaptive = mechanism.split("_")[0] in fogsim.ADAPTIVE
    tolerances = FOGSIM_ADAPTIVE if adaptive else FOGSIM
    measures = {ours: column for ours, column in (MEASURES | SHARES).items() if ours in tolerances}
    unstable = mechanism.startswith("PB") and pattern != "UN" and load >= 0.3
    notes = {}
    if load > FOGSIM_CALM * limit or unstable:
        reason = NOT_STATIONARY if unstable else _reason(first)
        notes = {measure: reason for measure in tolerances if measure.startswith("latency")}
    if load > limit and float(first["accepted_load"]) < FOGSIM_CALM * limit:
        notes["accepted_load"] = COLLAPSED
    if small and not setting and (why := BETWEEN_TWO_STATES.get((mechanism, pattern, load))):
        notes = dict.fromkeys(measures, why)
    return Case(
        simulator="FOGSim",
        series=series,
        load=load,
        scenario=scenario(first),
        theirs={
            ours: [float(run[column]) for run in runs] for ours, column in measures.items() if first[column] != "NA"
        },
        tolerances={m: t for m, t in tolerances.items() if m not in notes},
        quick=small and not setting and load == QUICK.get((mechanism, pattern)),
        seeds=_seeds(mechanism) if small else SEEDS_FEWER,
        setting=setting,
        notes=notes,
    )


def _seeds(mechanism: str) -> int:
    if mechanism == "Base":
        return SEEDS_MORE
    return SEEDS_FEWER if mechanism in SCATTER_LITTLE else SEEDS


def _reason(run: Row) -> str:
    """Why latencies are not judged; adversarial traffic uses one injection queue, uniform traffic all three."""
    cycles = int(run["warmup_cycles"]) + int(run["measured_cycles"])
    backlog = (float(run["offered_load"]) - float(run["accepted_load"])) * cycles
    queues = fogsim.INJECTION_QUEUES if run["pattern"] == "UN" else 1
    return FULL_QUEUES if backlog > queues * fogsim.INJECTION_QUEUE else NEAR_SATURATION
