"""The runs of every table and figure."""

from collections.abc import Iterable, Iterator

from phit.scenario import Document
from phit.studies.kit.plan import Case, Labels
from phit.studies.outflank import model
from phit.studies.outflank.model import AUTHOR, PAPER
from phit.studies.outflank.numbers import PATTERNS, ROUTINGS, SIDES, sustained
from phit.studies.outflank.setting import FIRST, STEP, Setting


def network(setting: Setting) -> Document:  # noqa: ARG001
    """What all runs share, at every scale: the links of table 1. So a folder can be used at several scales."""
    return {"router": {"links": model.links()}}


def seeds_of(given: int | None, own: int) -> Iterable[int]:
    """The seeds of a run: as many as given, or as its setting has."""
    return range(1, (own if given is None else given) + 1)


def grid(first: float, last: float) -> list[float]:
    """Loads in steps of 0.05."""
    return [
        round(FIRST + STEP * i, 2) for i in range(round((last - FIRST) / STEP) + 1) if FIRST + STEP * i >= first - 1e-9
    ]


def last_load(setting: Setting, pattern: str, routing: str, k: int) -> float:
    """Up to where a curve is run: some steps beyond the paper's gamma*."""
    known = sustained(pattern, routing, k) if k in SIDES else 0.6
    return known + setting.margin * STEP


def author(setting: Setting, pattern: str, routing: str, k: int, gamma: float, seed: int) -> Case:
    """One of the author's runs."""
    labels: Labels = {"reading": AUTHOR, "pattern": pattern, "k": k, "routing": routing, "load": gamma, "seed": seed}
    scenario = model.author(
        pattern,
        model.dims(pattern, k),
        model.ROUTINGS[AUTHOR][routing],
        gamma,
        packets=setting.packets,
        messages=setting.messages,
        seed=seed,
    )
    return Case(labels, scenario)


def _cells(sides: Iterable[int]) -> Iterator[tuple[int, str, str]]:
    for k in sides:
        for pattern in PATTERNS:
            for routing in ROUTINGS:
                yield k, pattern, routing


def _curves(
    setting: Setting, seeds: int | None, sides: Iterable[int], patterns: Iterable[str] = PATTERNS
) -> list[Case]:
    """Curves of the author's reading.

    Those points come first that decide: low load, from the paper's gamma* on, and the largest load of all routings.
    """
    chosen = set(patterns)
    found: list[tuple[int, int, Case]] = []
    for k, pattern, routing in _cells(sides):
        if pattern not in chosen:
            continue
        last = last_load(setting, pattern, routing, k)
        loads = grid(FIRST, last)
        common = min(grid(FIRST, last_load(setting, pattern, name, k))[-1] for name in ROUTINGS)
        decisive = {FIRST, common, *loads[-setting.margin - 1 :]}
        for gamma in loads:
            those = [author(setting, pattern, routing, k, gamma, seed) for seed in seeds_of(seeds, setting.seeds)]
            found += [(k, gamma not in decisive, case) for case in those]
    return [case for _, _, case in sorted(found, key=lambda entry: entry[:2])]


def throughput(setting: Setting, seeds: int | None) -> list[Case]:
    """Table 2: all patterns, routings and sizes."""
    return _curves(setting, seeds, setting.sides)


def lifetimes(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 4: the largest network."""
    return _curves(setting, seeds, [setting.largest])


def derouted(setting: Setting, seeds: int | None) -> list[Case]:
    """Table 3: low load on the largest network, where packets are derouted."""
    return [
        author(setting, pattern, routing, setting.largest, FIRST, seed)
        for pattern in PATTERNS
        for routing in ("OFR", "POR")
        for seed in seeds_of(seeds, setting.seeds)
    ]


def butterfly(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5: the derouted shares of the Butterfly over the load."""
    cases = _curves(setting, seeds, [setting.largest], ["Butterfly/FFT"])
    return [case for case in cases if case.labels["routing"] != "ABR"]


def steady(setting: Setting, seeds: int | None) -> list[Case]:
    """The `paper` reading: what the text says, with credits, in steady states around the paper's gamma*."""
    k = setting.sides[0]
    found = []
    for _, pattern, routing in _cells([k]):
        last = last_load(setting, pattern, routing, k)
        for gamma in grid(last - (setting.margin + 2) * STEP, last + 2 * STEP):
            for seed in seeds_of(seeds, setting.seeds):
                labels: Labels = {
                    "reading": PAPER,
                    "pattern": pattern,
                    "k": k,
                    "routing": routing,
                    "load": gamma,
                    "seed": seed,
                }
                torus = {"kind": "torus", "dims": model.dims(pattern, k)}
                period = model.message_cycles(model.dims(pattern, k), gamma, setting.packets, PAPER)
                scenario = model.steady(
                    torus,
                    model.PATTERNS[pattern],
                    model.ROUTINGS[PAPER][routing],
                    gamma,
                    warmup=round(setting.settling * period),
                    cycles=round(setting.measured * period),
                    seed=seed,
                    packets=setting.packets,
                )
                found.append(Case(labels, scenario))
    return found


LONG_LOADS = {8: (0.65, 0.85), 16: (0.95, 1.2)}
"""Where long runs of the Butterfly cease to be sustained."""


def divergence(setting: Setting, seeds: int | None) -> list[Case]:
    """Long runs of the author's node: whether a load is sustained, not only survived for 32 messages."""
    found = []
    for k in setting.sides:
        for routing in ROUTINGS:
            for gamma in grid(*LONG_LOADS.get(k, LONG_LOADS[8])):
                for seed in seeds_of(seeds, setting.seeds):
                    case = author(setting, "Butterfly/FFT", routing, k, gamma, seed)
                    period = model.message_cycles([k] * 3, gamma, setting.packets, AUTHOR)
                    measure = {
                        "warmup": round(setting.messages * period),
                        "cycles": round(2 * setting.messages * period),
                        "histogram": False,
                    }
                    traffic = {**case.scenario["traffic"], "message": {"packets": setting.packets}}
                    found.append(Case(case.labels, {**case.scenario, "measure": measure, "traffic": traffic}))
    return found


def text(setting: Setting, seeds: int | None) -> list[Case]:
    """The rules of the text in the author's node, beside his own: what the choices that it does not mention do."""
    found = []
    for pattern in PATTERNS:
        for routing in ("POR", "OFR"):
            for seed in seeds_of(seeds, setting.seeds):
                case = author(setting, pattern, routing, setting.sides[0], FIRST, seed)
                for rules in (AUTHOR, PAPER):
                    scenario = {**case.scenario, "routing": model.ROUTINGS[rules][routing]}
                    found.append(Case({**case.labels, "rules": rules}, scenario))
    return found


ACCEPTANCE_LOADS = {"Uniform": (0.1, 0.3, 0.5), "Bit-Reverse": (0.1, 0.2, 0.3)}
"""Loads at which answers and credits are compared, below the smallest gamma* of the routings."""

ANSWERS, CREDITS, ROUTER = "answers", "credits", "input-queued router"
ACCEPTANCES = (ANSWERS, CREDITS, ROUTER)
"""The packet-level node with answers and with credits, and the input-queued router, which has credits."""


def _accepting(
    setting: Setting, pattern: str, routing: str, gamma: float, by: str, period: float, seed: int
) -> Document:
    scenario = model.steady(
        {"kind": "torus", "dims": [setting.sides[0]] * 3},
        model.PATTERNS[pattern],
        model.ROUTINGS[PAPER][routing],
        gamma,
        warmup=round(2 * period),
        cycles=round(4 * period),
        seed=seed,
        packets=1,
    )
    scenario["traffic"]["process"] = {"kind": "bernoulli"}
    if by != ROUTER:
        node = {"answer": "10 B"} if by == ANSWERS else {"answer": "10 B", "acceptance": by}
        scenario["units"] = {"cycle": model.CYCLE[PAPER]}
        scenario["router"] = {"node": node, "links": model.links()}
    return scenario


def acceptance(setting: Setting, seeds: int | None) -> list[Case]:
    """Answers beside credits, all else the same.

    Single packets at random times take the place of messages, whose packets leave their endpoint one answer after
    another in the packet-level node, and without a break in the input-queued router.
    """
    k = setting.sides[0]
    found = []
    for pattern, loads in ACCEPTANCE_LOADS.items():
        for routing in ROUTINGS:
            for gamma in loads:
                period = model.message_cycles([k] * 3, gamma, setting.packets, PAPER)
                for by in ACCEPTANCES:
                    for seed in seeds_of(seeds, setting.seeds):
                        labels: Labels = {
                            "reading": PAPER,
                            "pattern": pattern,
                            "k": k,
                            "routing": routing,
                            "load": gamma,
                            "acceptance": by,
                            "seed": seed,
                        }
                        found.append(Case(labels, _accepting(setting, pattern, routing, gamma, by, period, seed)))
    return found


CREDITED_PATTERNS = ("Butterfly/FFT", "Uniform", "Bit-Reverse")


def credited(setting: Setting, seeds: int | None) -> list[Case]:
    """The author's runs around the paper's gamma*, and the same with credits."""
    k = setting.sides[0]
    found = []
    for pattern in CREDITED_PATTERNS:
        for routing in ROUTINGS:
            last = last_load(setting, pattern, routing, k) - setting.margin * STEP
            for gamma in (FIRST, *grid(last, last + STEP)):
                for seed in seeds_of(seeds, setting.seeds):
                    case = author(setting, pattern, routing, k, gamma, seed)
                    router = case.scenario["router"]
                    held = {**router, "node": {**router["node"], "acceptance": CREDITS}}
                    found.append(Case({**case.labels, "acceptance": ANSWERS}, case.scenario))
                    found.append(Case({**case.labels, "acceptance": CREDITS}, {**case.scenario, "router": held}))
    return found
