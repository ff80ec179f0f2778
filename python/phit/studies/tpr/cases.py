"""The runs of every figure and table."""

from collections.abc import Iterable

from phit.scenario import Document, set_path
from phit.studies.kit.plan import Case, Labels
from phit.studies.kit.study import READING, Reading
from phit.studies.peers import booksim
from phit.studies.tpr.mechanisms import ADAPTIVE, COUNTING, MECHANISMS, routing
from phit.studies.tpr.readings import CREDIT_LATENCY, INJECTION_QUEUES, LOCAL_LOW, READINGS, under
from phit.studies.tpr.setting import ADV, MIXES, UR, Loads, Setting, nlc, rlc

ADVERSARIAL: Document = {"kind": "adversarial", "offset": 1}
"""Each endpoint of router i sends to endpoints of router i + 1; between groups, of group i to group i + 1."""


def pattern(name: str) -> Document:
    """The pattern of that name."""
    plain = {UR: booksim.UNIFORM, ADV: ADVERSARIAL}
    if name in plain:
        return plain[name]
    by, share = next((by, s) for by, of in (("packet", nlc), ("router", rlc)) for s in MIXES if of(s) == name)
    parts = [{"weight": share, "pattern": booksim.UNIFORM}, {"weight": 100 - share, "pattern": ADVERSARIAL}]
    return {"kind": "mix", "by": by, "parts": parts}


CHANNELS = "rising"
"""Which of the four virtual channels a hop may take: the paper does not say. See the page."""


def network(setting: Setting) -> Document:
    """One group."""
    return {
        "topology": {
            "kind": "cascade",
            "rows": setting.rows,
            "columns": setting.columns,
            "column_links": setting.column_links,
            "endpoints_per_router": setting.endpoints_per_router,
            "channels": CHANNELS,
        }
    }


BUFFER = 32
"""Flits of a virtual channel's buffer (section IV-A)."""


def router(*, channel: int = 10, vcs: int = 4) -> Document:
    """Section IV-A: BookSim's router with a crossbar at twice the links' frequency, and 32 flits per VC."""
    return booksim.router(vcs=vcs, buffer=BUFFER, speedup=2, channel=channel, allocator="separable_input_first")


def scenario(setting: Setting, rule: Document, traffic: str, load: float, seed: int) -> Document:
    """One run in one group."""
    return {
        **network(setting),
        "seed": seed,
        "router": router(),
        "routing": rule,
        "traffic": {"pattern": pattern(traffic), "process": "bernoulli", "load": load, "packet_size": 1},
        "measure": {"warmup": setting.warmup, "cycles": setting.cycles},
    }


def _seeds(given: int | None, own: int) -> Iterable[int]:
    return range(1, (own if given is None else given) + 1)


def _loads(setting: Setting, name: str, traffic: str) -> Loads:
    if name == "MIN" and traffic == ADV:
        return setting.minimal_adversarial
    if name == "MIN" and traffic != UR:
        return setting.minimal_mixed
    if name == "VLB":
        return {UR: setting.valiant_uniform, ADV: setting.loads[ADV]}.get(traffic, setting.valiant_mixed)
    return setting.loads[traffic]


def load_curves(setting: Setting, seeds: int | None, traffic: str) -> list[Case]:
    """Figures 2 to 9: latency against offered load under one pattern, under both readings."""
    return [
        Case(
            {READING: reading.name, "mechanism": name, "pattern": traffic, "load": load, "seed": seed},
            under(reading, scenario(setting, routing(name), traffic, load, seed)),
        )
        for reading in READINGS
        for name in MECHANISMS
        for load in _loads(setting, name, traffic)
        for seed in _seeds(seeds, setting.seeds)
    ]


EVERY = 10
"""Cycles between two looks at the counters."""


def counters(setting: Setting, seeds: int | None) -> list[Case]:
    """Tables I and II: the counters under UGAL-L; those of router 0 one by one, those of all routers together."""

    def of(reading: Reading, traffic: str, load: float, seed: int) -> Case:
        document = under(reading, scenario(setting, COUNTING, traffic, load, seed))
        document["measure"]["probes"] = [
            {"kind": "counters", "every": EVERY, "router": 0, "by_index": True},
            {"kind": "counters", "every": EVERY},
        ]
        labels: Labels = {READING: reading.name, "mechanism": "UGAL-L", "pattern": traffic, "load": load, "seed": seed}
        return Case({**labels, "probe": "counters"}, document)

    return [
        of(reading, traffic, load, seed)
        for reading in READINGS
        for traffic in (UR, ADV)
        for load in setting.counted
        for seed in _seeds(seeds, setting.seeds)
    ]


def scan(setting: Setting, seeds: int | None) -> list[Case]:
    """The regions that table III leaves open: TPR with several values of `thr`."""
    return [
        Case(
            {"mechanism": "TPR", "pattern": traffic, "thr": thr, "load": load, "seed": seed},
            scenario(setting, routing("TPR", thr=thr), traffic, load, seed),
        )
        for traffic, loads in setting.scan.items()
        for load in loads
        for thr in setting.thresholds
        for seed in _seeds(seeds, setting.seeds)
    ]


def windows(setting: Setting, seeds: int | None) -> list[Case]:
    """TPR with sliding and tumbling windows of several lengths."""
    return [
        Case(
            {"mechanism": "TPR", "pattern": traffic, "window_kind": kind, "window": window, "load": load, "seed": seed},
            scenario(setting, routing("TPR", window=window, window_kind=kind), traffic, load, seed),
        )
        for traffic, loads in setting.scan.items()
        if traffic not in (UR, ADV)
        for load in loads
        for kind in ("sliding", "tumbling")
        for window in setting.windows
        for seed in _seeds(seeds, setting.seeds)
    ]


TWICE = f"buffers of {2 * BUFFER}"
ONE_ROUTE = "one minimal candidate"
ONE_CHANNEL = "one channel"
ONE_QUEUE = "one injection queue"
CREDITS = f"credits after {CREDIT_LATENCY} cycle"


def choices(setting: Setting, seeds: int | None) -> list[Case]:
    """What the paper leaves open, one choice at a time against the text, where it shows."""
    low, high = setting.loads[UR][0], setting.loads[UR][-1]
    light, heavy = setting.loads[ADV][0], setting.loads[ADV][-2]
    changes: dict[str, Document] = {
        ONE_ROUTE: {"routing.minimal_candidates": 1},
        CREDITS: {"router.links.default.credit_latency": CREDIT_LATENCY},
        ONE_QUEUE: {"router.links.endpoint.vcs": INJECTION_QUEUES},
        TWICE: {"router.links.default.buffer": 2 * BUFFER},
        ONE_CHANNEL: {"topology.channels": "one"},
        **{f"low_l = {value:g}": {"routing.local_low": value} for value in (1.0, LOCAL_LOW)},
    }
    wanted: list[tuple[str, str, float, str]] = [
        *(("UGAL-L", UR, load, ONE_ROUTE) for load in (low, high)),
        ("UGAL-G", UR, high, ONE_ROUTE),
        ("TPR", UR, high, ONE_ROUTE),
        ("UGAL-L", UR, low, CREDITS),
        *((name, ADV, heavy, CREDITS) for name in ("UGAL-L", "UGAL-G")),
        ("MIN", UR, high, ONE_QUEUE),
        ("UGAL-L", ADV, heavy, ONE_QUEUE),
        *((name, ADV, heavy, TWICE) for name in ("VLB", *ADAPTIVE)),
        *(("UGAL-L", ADV, load, ONE_CHANNEL) for load in (light, heavy)),
        ("UGAL-G", ADV, heavy, ONE_CHANNEL),
        *(("TPR", ADV, light, choice) for choice in list(changes)[-2:]),
    ]

    def of(name: str, traffic: str, load: float, choice: str, seed: int) -> Case:
        document = scenario(setting, routing(name), traffic, load, seed)
        for path, value in changes[choice].items():
            set_path(document, path, value)
        labels: Labels = {"choice": choice, "mechanism": name, "pattern": traffic, "load": load, "seed": seed}
        return Case(labels, document)

    return [of(*one, seed) for one in wanted for seed in _seeds(seeds, setting.seeds)]


GROUP_VCS = 8
"""Virtual channels of local links in the full Cascade: two for each visit of the two outer groups, four in between."""

GLOBAL_LATENCY = 100
GLOBAL_BUFFER = 256
"""Phits per virtual channel at the ends of global links, for their round trip."""


def between_groups(setting: Setting, seeds: int | None) -> list[Case]:
    """Beyond the paper: a full Cascade, with TPR's counters for destination routers and for destination groups."""
    links = router(vcs=GROUP_VCS)
    links["links"]["global"] = {"latency": GLOBAL_LATENCY, "vcs": 2, "buffer": GLOBAL_BUFFER}
    changes = {"stop": "elsewhere"}
    rules = {
        "MIN": routing("MIN"),
        "VLB": routing("VLB", stop="elsewhere"),
        **{name: routing(name, **changes) for name in ADAPTIVE},
        "TPR by group": routing("TPR", **changes, destinations="group"),
    }
    topology = {
        "kind": "cascade",
        "groups": setting.groups,
        "rows": setting.group_rows,
        "columns": setting.group_columns,
        "global_ports": setting.group_global_ports,
        "endpoints_per_router": setting.group_endpoints,
    }
    return [
        Case(
            {"mechanism": name, "pattern": traffic, "load": load, "seed": seed},
            {**scenario(setting, rule, traffic, load, seed), "topology": topology, "router": links},
        )
        for traffic, loads in setting.group_loads.items()
        for name, rule in rules.items()
        for load in loads
        for seed in _seeds(seeds, setting.seeds)
    ]


SIDE_BY_SIDE = (3, 6, 10)
"""Thresholds of the contention counters beside TPR."""


def side_by_side(setting: Setting, seeds: int | None) -> list[Case]:
    """Beyond the paper: TPR and contention counters on the graph of one group.

    Contention counters leave dimension order, which a HyperX of the same routers and links has.
    """
    graph = {
        "kind": "hyperx",
        "dims": [setting.columns, setting.rows],
        "parallel": [1, setting.column_links],
        "endpoints_per_router": setting.endpoints_per_router,
    }
    rules = {
        f"counters, th = {th}": {"kind": "contention_grid", "threshold": th, "alternatives": "nonminimal"}
        for th in SIDE_BY_SIDE
    }
    cut_through = {"switching": "virtual_cut_through", "vc_allocation": "with_switch"}
    found = []
    for traffic in (UR, ADV, nlc(50)):
        for load in setting.loads[traffic]:
            for seed in _seeds(seeds, setting.seeds):
                labels: Labels = {"pattern": traffic, "load": load, "seed": seed}
                for name, rule in rules.items():
                    document = scenario(setting, rule, traffic, load, seed)
                    document["router"] |= cut_through
                    found.append(Case({"mechanism": name, **labels}, {**document, "topology": graph}))
                document = scenario(setting, routing("TPR"), traffic, load, seed)
                document["router"] |= cut_through
                found.append(Case({"mechanism": "TPR", **labels}, document))
    return found
