"""The search for a reading: short runs at the loads that decide, for settings that the text leaves open."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from phit.base.markdown import markdown_table
from phit.studies.kit import tables
from phit.studies.kit.claim import judged
from phit.studies.kit.plan import Case, Done, Labels, seeds_of
from phit.studies.tpr.counters import counting, mean_counters
from phit.studies.tpr.paper import (
    BUFFER,
    CREDIT_LATENCY,
    INJECTION_QUEUES,
    LINK_BUFFER,
    LOCAL_LOW,
    MINIMAL_CANDIDATES,
    Changes,
    Evidence,
    apply,
    routing,
    scenario,
    study,
)
from phit.studies.tpr.setting import ADV, UR, Loads, Setting

VALIANT_CANDIDATES = "routing.valiant_candidates"
QUEUE = "routing.queue"
CHANNELS = "topology.channels"
INJECTION_QUEUE = "router.injection_queue"

ONE: Changes = {MINIMAL_CANDIDATES: 1, LOCAL_LOW: 1.2}
"""Common keys of `fitted` and `deep`: one minimal candidate, and TPR minimal under ADV at 0.05."""

DEEP: Changes = {**ONE, LINK_BUFFER: 2 * BUFFER}

VARIANTS: Mapping[str, Changes] = {
    "buffers of 64, credits after 1 cycle": {**DEEP, CREDIT_LATENCY: 1},
    "buffers of 128": {**ONE, LINK_BUFFER: 4 * BUFFER},
    "buffers of 64, one nonminimal candidate": {**DEEP, VALIANT_CANDIDATES: 1},
    "buffers of 32, credits after 1 cycle": {**ONE, CREDIT_LATENCY: 1},
    "buffers of 64, queue of the channel": {**DEEP, QUEUE: "phits"},
    "buffers of 64, one injection queue": {**DEEP, INJECTION_QUEUES: 1},
    "buffers of 32": ONE,
    "buffers of 64, one channel a hop": {**DEEP, CHANNELS: "one"},
    "buffers of 64, two minimal candidates": {LOCAL_LOW: 1.2, LINK_BUFFER: 2 * BUFFER},
    "buffers of 64, credits after 1 cycle, one injection queue": {**DEEP, CREDIT_LATENCY: 1, INJECTION_QUEUES: 1},
    "buffers of 64, injection queue by destination": {**DEEP, INJECTION_QUEUE: "destination"},
}
"""The keys of each variant; all other keys follow the text."""

VARIANT = "variant"

CLAIMS: Mapping[str, str] = {
    "T1": "2",
    "T2": "2",
    "T3": "2",
    "T4": "2",
    "T5": "3",
    "T6": "3",
    "T7": "3",
    "T8": "3",
    "T9": "I",
    "T10": "II",
}
"""The claims that these runs decide, with the figure whose runs they stand for."""

PATTERNS = {"2": UR, "3": ADV}


def _loads(setting: Setting) -> dict[str, dict[str, Loads]]:
    """The deciding loads among those of the figures, by pattern and mechanism."""
    uniform, attacked = (setting.loads[pattern] for pattern in PATTERNS.values())

    def some(loads: Loads, *places: int) -> Loads:
        """The loads at these positions, without duplicates, as far as they exist."""
        return tuple(sorted({loads[place] for place in places if -len(loads) <= place < len(loads)}))

    return {
        UR: {
            "MIN": some(uniform, 0, -3, -1),
            "VLB": some(setting.valiant_uniform, 0, -1),
            "UGAL-L": some(uniform, 0, -1),
            "UGAL-G": some(uniform, 0, -1),
            "TPR": some(uniform, -3, -1),
        },
        ADV: {
            "MIN": some(setting.minimal_adversarial, -1),
            "VLB": some(attacked, -1),
            "UGAL-L": some(attacked, 0, -3, -2, -1),
            "UGAL-G": some(attacked, -3, -1),
            "TPR": some(attacked, 0, -3, -1),
        },
    }


def _table(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Steady states, and the rows of the counters (with `probe`)."""
    if labels.is_empty():
        return pl.DataFrame()
    plain = tables.steady(labels.filter(pl.col("probe").is_null()).drop("probe"), done)
    counted = mean_counters(labels.filter(pl.col("probe").is_not_null()), done, VARIANT)
    return (
        pl.concat([part for part in (plain, counted) if part.height], how="diagonal_relaxed")
        if (plain.height or counted.height)
        else pl.DataFrame()
    )


@study.figure(
    "search",
    title="The search for a reading",
    caption="Short runs at the loads that decide, for settings that the text leaves open, one by one and together; "
    "the claims' own rules judge them. One run each.",
    table=_table,
)
def search(setting: Setting, seeds: int | None) -> list[Case]:
    """The runs of all variants."""
    short = replace(setting, warmup=setting.search_warmup, cycles=setting.search_cycles)

    def cases(variant: str, changes: Changes, seed: int) -> list[Case]:
        labels: Labels = {VARIANT: variant, "probe": None, "seed": seed}
        steady = [
            Case(
                {**labels, "mechanism": name, "pattern": traffic, "load": load},
                apply(changes, scenario(short, routing(name), traffic, load, seed)),
            )
            for traffic, mechanisms in _loads(setting).items()
            for name, loads in mechanisms.items()
            for load in loads
        ]
        counted = [
            Case(
                {**labels, "probe": "counters", "mechanism": "UGAL-L", "pattern": traffic, "load": load},
                apply(changes, counting(short, traffic, load, seed)),
            )
            for traffic in (UR, ADV)
            for load in setting.counted
            if (traffic, load) != (ADV, setting.counted[-1])
        ]
        return [*counted, *steady]

    return [
        case
        for variant, changes in VARIANTS.items()
        for seed in seeds_of(seeds, 1)
        for case in cases(variant, changes, seed)
    ]


@search.text
def _text(table: pl.DataFrame, setting: Setting) -> str:
    rules = {claim.id: claim for claim in study.claims}
    found: dict[str, dict[str, bool]] = {}
    for variant in VARIANTS:
        rows = table.filter(pl.col(VARIANT) == variant)
        counters = rows.filter(pl.col("probe").is_not_null()) if "probe" in rows.columns else rows.head(0)
        parts = {name: rows.filter(pl.col("pattern") == traffic) for name, traffic in PATTERNS.items()}
        evidence = Evidence({**parts, "I": counters, "II": counters}, setting)
        checks = {claim: judged(rules[claim], evidence).check for claim in CLAIMS}
        own = {claim: check.holds for claim, check in checks.items() if check is not None}
        # Runs that other variants share do not make a variant.
        if len(own) == len(CLAIMS):
            found[variant] = own
    if not found:
        return ""
    words = {True: "yes", False: "no"}
    count = {name: sum(own.values()) for name, own in found.items()}
    lines = [(name, *(words[own[claim]] for claim in CLAIMS), str(count[name])) for name, own in found.items()]
    most = [name for name in found if count[name] == max(count.values())]
    never = [claim for claim in CLAIMS if not any(own[claim] for own in found.values())]
    which = f"No variant fulfils {', '.join(never)}." if never else "Some variant fulfils each of these rules."
    note = (
        f"Most, {max(count.values())} of {len(CLAIMS)}: {'; '.join(most)}. {which} Said is whether estimates fulfil "
        "the rules, by whatever margin: the runs are short, and one of each. The readings are judged above, by longer "
        "runs."
    )
    return f"{markdown_table(('variant', *CLAIMS, 'fulfilled'), lines)}\n\n{note}"
