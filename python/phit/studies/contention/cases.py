"""The runs of every figure: Dragonflies of Table I's routers under steady and changing traffic."""

from collections.abc import Iterable
from typing import Any

from phit.scenario import Document
from phit.studies.contention.mechanisms import (
    ADAPTIVE,
    MECHANISMS,
    PROBE,
    routing,
)
from phit.studies.contention.setting import MIXED_LOAD, TRANSIENT_LOAD, Setting
from phit.studies.plan import Case, Labels
from phit.studies.validation.fogsim import router

UNIFORM: Document = {"kind": "uniform"}
LARGE = {"local": 256, "global": 2048}
"""Phits per virtual channel of figure 8's input buffers."""


def adversarial(offset: int) -> Document:
    """ADV+i: every packet goes to the group `offset` further."""
    return {"kind": "adversarial", "offset": offset}


def patterns(setting: Setting) -> dict[str, Document]:
    """The paper's patterns by name: UN, ADV+1 and ADV+h."""
    return {"UN": UNIFORM, "ADV+1": adversarial(1), f"ADV+{setting.h}": adversarial(setting.h)}


def far(setting: Setting) -> str:
    """The name of ADV+h."""
    return f"ADV+{setting.h}"


def network(setting: Setting) -> Document:
    """What all runs share."""
    return {"topology": {"kind": "dragonfly", "p": setting.p, "a": setting.a, "h": setting.h}}


def scenario(setting: Setting, mechanism: str, pattern: Document, load: float, seed: int, **changes: Any) -> Document:
    """One steady state; `changes` are keys of `[routing]`."""
    return {
        **network(setting),
        "seed": seed,
        "router": router(MECHANISMS[mechanism].local_vcs),
        "routing": routing(mechanism, setting, **changes),
        "traffic": {"pattern": pattern, "process": "bernoulli", "load": load, "packet_size": 8},
        "measure": {"warmup": setting.warmup, "cycles": setting.cycles},
    }


def _seeds(given: int | None, own: int) -> Iterable[int]:
    return range(1, (own if given is None else given) + 1)


def load_curves(setting: Setting, seeds: int | None, pattern: str, names: Iterable[str]) -> list[Case]:
    """Figures 5a to 5c: latency and accepted load against offered load under one pattern."""
    found = []
    for name in names:
        loads = setting.uniform_loads if pattern == "UN" else setting.adversarial_loads
        if name == "MIN" and pattern != "UN":
            loads = setting.minimal_loads
        for load in loads:
            for seed in _seeds(seeds, setting.seeds):
                labels: Labels = {"mechanism": name, "pattern": pattern, "load": load, "seed": seed}
                found.append(Case(labels, scenario(setting, name, patterns(setting)[pattern], load, seed)))
    return found


def uniform(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5a."""
    return load_curves(setting, seeds, "UN", ("MIN", *ADAPTIVE))


def adversarial_next(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5b."""
    return load_curves(setting, seeds, "ADV+1", MECHANISMS)


def adversarial_far(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5c."""
    return load_curves(setting, seeds, far(setting), MECHANISMS)


def mixed(share: int) -> Document:
    """A mix of UN, in percent, and ADV+1, drawn for every packet."""
    if share in (0, 100):
        return UNIFORM if share else adversarial(1)
    return {
        "kind": "mix",
        "parts": [{"weight": share, "pattern": UNIFORM}, {"weight": 100 - share, "pattern": adversarial(1)}],
    }


def mixes(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 6."""
    return [
        Case(
            {"mechanism": name, "uniform_percent": share, "load": MIXED_LOAD, "seed": seed},
            scenario(setting, name, mixed(share), MIXED_LOAD, seed),
        )
        for name in ("VAL", *ADAPTIVE)
        for share in (0, *setting.uniform_shares, 100)
        for seed in _seeds(seeds, setting.seeds)
    ]


def change_of_traffic(setting: Setting, mechanism: str, seed: int, *, large: bool = False) -> Document:
    """UN that becomes ADV+1, with a time series by the cycle of generation."""
    changes = MECHANISMS[mechanism].large_buffers if large else {}
    document = scenario(setting, mechanism, UNIFORM, TRANSIENT_LOAD, seed, **changes)
    if large:
        for link, phits in LARGE.items():
            document["router"]["links"][link]["buffer"] = phits
    document["traffic"]["changes"] = [{"cycle": setting.change, "pattern": adversarial(1)}]
    document["measure"] = {
        "warmup": setting.settle,
        "cycles": setting.before + setting.after,
        "count": "generated",
        "series": {"by": "generation", "bin": setting.bin},
        "histogram": False,
    }
    return document


def transients(
    setting: Setting, seeds: int | None, names: Iterable[str] = ADAPTIVE, *, large: bool = False
) -> list[Case]:
    """Figures 7 (small buffers), 8 (large ones) and 9 (a longer time)."""
    return [
        Case(
            {
                "mechanism": name,
                "buffers": "large" if large else "small",
                "load": TRANSIENT_LOAD,
                "change": setting.change,
                "seed": seed,
            },
            change_of_traffic(setting, name, seed, large=large),
        )
        for name in names
        for seed in _seeds(seeds, setting.transient_seeds)
    ]


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
        for seed in _seeds(seeds, setting.seeds)
    ]


def counters(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-A: the counters of Base under saturated UN."""
    found = []
    for name in ("Base",):
        for seed in _seeds(seeds, setting.seeds):
            load = max(setting.uniform_loads)
            document = scenario(setting, name, UNIFORM, load, seed)
            document["measure"]["probes"] = [PROBE]
            labels: Labels = {"mechanism": name, "pattern": "UN", "load": load, "probe": "counters", "seed": seed}
            found.append(Case(labels, document))
    return found


UPDATES = ("free", "full")
"""Section VI-B: partial arrays for nothing, as in the paper's simulations, or sent over the local links."""


def overhead(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-B: ECtN with and without the traffic of its updates."""
    plans = {"UN": setting.threshold_uniform_loads, "ADV+1": setting.threshold_adversarial_loads}
    return [
        Case(
            {"mechanism": name, "pattern": pattern, "updates": updates, "load": load, "seed": seed},
            scenario(setting, name, patterns(setting)[pattern], load, seed, updates=updates),
        )
        for name in ("ECtN",)
        for pattern, loads in plans.items()
        for updates in UPDATES
        for load in loads
        for seed in _seeds(seeds, setting.seeds)
    ]
