"""The paper: its network, its mechanisms, the two ways to read it, and what all its figures share."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from phit.markdown import markdown_table, toml_line
from phit.scenario import Document
from phit.studies.kit.charts import Look
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Curves as AnyCurves
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.evidence import span
from phit.studies.kit.study import Paper, Reading, Study
from phit.studies.kit.uncertain import Value, nominal
from phit.studies.peers import booksim
from phit.studies.tpr.setting import ADV, MIXES, UR, Setting, nlc, rlc, setting

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


def router(*, vcs: int = 4) -> Document:
    """Section IV-A: BookSim's router with a crossbar at twice the links' frequency, and links of 10 cycles."""
    return booksim.router(vcs=vcs, buffer=BUFFER, speedup=2, channel=10, allocator="separable_input_first")


STOP = "anywhere"
"""Valiant's intermediate router is any router of the group, source and destination included."""

THRESHOLD = 1.0
"""`thr` of table III, in packets per cycle: the paper gives no value. Chosen by the scan of table III, see the page."""

CANDIDATES: Document = {"stop": STOP, "queue": "port", "minimal_candidates": 2, "valiant_candidates": 2}
"""Up to two minimal and two nonminimal paths (sections II-B and III-D); queues are the used credits of a port."""

MECHANISMS: dict[str, Document] = {
    "MIN": {"kind": "minimal"},
    "VLB": {"kind": "valiant", "stop": STOP},
    "UGAL-L": {"kind": "ugal_l", **CANDIDATES, "threshold": 0},
    "UGAL-G": {"kind": "ugal_g", **CANDIDATES, "threshold": 0, "cost": "queue"},
    "TPR": {"kind": "tpr", **CANDIDATES, "thr": THRESHOLD},
}
"""The five routings (section IV-B), in the order of the paper's legends. UGAL-G takes the path with the smallest sum of
queues (section II-B)."""

ADAPTIVE = ("UGAL-L", "UGAL-G", "TPR")

COUNTER_WINDOW = 50
"""Cycles of the window of tables I and II; the figures' is TPR's default, 128."""


def routing(name: str, **changes: Any) -> Document:
    """The `[routing]` of a mechanism."""
    return {**MECHANISMS[name], **changes}


ADVERSARIAL: Document = {"kind": "adversarial", "offset": 1}
"""Each endpoint of router i sends to endpoints of router i + 1; between groups, of group i to group i + 1."""


def pattern(name: str) -> Document:
    """The pattern of that name (section IV-C); uniform traffic is BookSim's."""
    plain = {UR: booksim.UNIFORM, ADV: ADVERSARIAL}
    if name in plain:
        return plain[name]
    by, share = next((by, s) for by, of in (("packet", nlc), ("router", rlc)) for s in MIXES if of(s) == name)
    parts = [{"weight": share, "pattern": booksim.UNIFORM}, {"weight": 100 - share, "pattern": ADVERSARIAL}]
    return {"kind": "mix", "by": by, "parts": parts}


def scenario(setting: Setting, rule: Document, traffic: str, load: float, seed: int) -> Document:
    """One run in one group, of a `[routing]` and the name of a pattern."""
    return {
        **network(setting),
        "seed": seed,
        "router": router(),
        "routing": rule,
        "traffic": {"pattern": pattern(traffic), "process": "bernoulli", "load": load, "packet_size": 1},
        "measure": {"warmup": setting.warmup, "cycles": setting.cycles},
    }


CREDIT_LATENCY = 1
"""Cycles of a credit's way back under `FITTED`."""

INJECTION_QUEUES = 1
"""Of an endpoint under `FITTED`."""

MINIMAL_CANDIDATES = 1
"""Minimal routes that UGAL-L, UGAL-G and TPR look at under `FITTED`."""

LOCAL_LOW = 1.2
"""TPR's low_l in packets per cycle under `FITTED`."""

TEXT = Reading(
    "text",
    "Every value that the text gives; where it gives none, what BookSim does: credits take as long as phits, an "
    "endpoint has an injection queue for each virtual channel. The UGALs look at two minimal routes, as the Cascade "
    "does.",
)

FITTED = Reading(
    "fitted",
    "What gives most of the paper's numbers, found by varying what the text leaves open. Four settings differ:\n\n"
    f"* Credits come back in one cycle (`router.links.default.credit_latency = {CREDIT_LATENCY}`): the text gives "
    "links 10 cycles and says nothing of credits, and a credit channel of BookSim's takes one cycle unless the "
    "network's file sets it.\n"
    f"* The UGALs and TPR look at one minimal route (`minimal_candidates = {MINIMAL_CANDIDATES}`) and at two "
    "nonminimal ones. For the UGALs the text gives no number; for TPR it says two, and that TPR equals MIN.\n"
    f"* An endpoint has one injection queue (`router.links.endpoint.vcs = {INJECTION_QUEUES}`).\n"
    f"* TPR's low_l is {LOCAL_LOW:g} (`local_low`). The text says 0.8, and that TPR is minimal under ADV at 0.05, "
    "where 18 endpoints have a local impact of 0.9.",
)

READINGS = (TEXT, FITTED)


def under(reading: Reading, document: Document) -> Document:
    """The run as `reading` has it, of the run that the text describes."""
    found = deepcopy(document)
    if reading is TEXT:
        return found
    links, rule = found["router"]["links"], found["routing"]
    links["default"]["credit_latency"] = CREDIT_LATENCY
    links["endpoint"]["vcs"] = INJECTION_QUEUES
    if "minimal_candidates" in rule:
        rule["minimal_candidates"] = MINIMAL_CANDIDATES
    if rule["kind"] == "tpr":
        rule["local_low"] = LOCAL_LOW
    return found


LOW = 0.2
"""Low load: at most this share of a mechanism's saturation throughput."""

BEHIND = 0.99
"""Who accepts less than this share of the offered load is beyond what it carries: noise is a third of that."""


class Curves(AnyCurves):
    """Steady states of one pattern, by mechanism."""

    def throughput(self, mechanism: str) -> Value:
        """Accepted load at the highest offered load, of a curve that falls behind the offered load there."""
        load, accepted = self.top(mechanism=mechanism)
        if nominal(accepted) > BEHIND * load:
            raise NotRunError(f"{self._name}: {mechanism} carries its highest load {load:g}")
        return accepted

    def nonminimal(self, **where: Any) -> Value:
        """Share of packets sent over Valiant routes."""
        return self.value("misrouted_globally", **where)

    def calm(self, *mechanisms: str) -> list[float]:
        """Loads that all of these mechanisms have run at and carry."""
        of_each = [
            {load for load in self.loads(mechanism=name) if not self.saturated(mechanism=name, load=load)}
            for name in mechanisms
        ]
        loads = sorted(set.intersection(*of_each))
        if not loads:
            raise NotRunError(f"{self._name}: no load that {' and '.join(mechanisms)} carry")
        return loads

    def low(self, mechanism: str) -> list[float]:
        """Low loads of a mechanism."""
        limit = LOW * nominal(self.throughput(mechanism))
        loads = [load for load in self.loads(mechanism=mechanism) if load <= limit + 1e-9]
        if not loads:
            raise NotRunError(f"{self._name}: no load of {mechanism} up to {limit:.3f}")
        return loads


@dataclass(frozen=True)
class Evidence(AnyEvidence[Setting]):
    """What the rules of the claims look at."""

    def curves(self, figure: str, **where: Any) -> Curves:
        """The steady states of a figure."""
        return Curves(self.rows(figure, **where), self.name(figure, **where))


def shares(values: list[Value]) -> str:
    """The span of some shares in percent: `1.2 to 3.4 %`."""
    return f"{span([100 * value for value in values], '{:.1f}')} %"


def minimal_uniform_bound(setting: Setting) -> float:
    """What channel loads allow of MIN under UR, in packets/(endpoint·cycle), destinations on the own router included.

    A router's endpoints send the share (k - 1)/k of their packets to other positions of a line of k, over (k - 1) x
    links ports: p/(k·links) on each.
    """
    p = setting.endpoints_per_router
    return min(setting.columns / p, setting.rows * setting.column_links / p)


def minimal_adversarial_bound(setting: Setting) -> float:
    """What channel loads allow of MIN under ADV: one row link for all endpoints of a router."""
    return 1 / setting.endpoints_per_router


def valiant_bound(setting: Setting) -> float:
    """What channel loads allow of VLB under any pattern that is even over routers: two uniform legs."""
    return minimal_uniform_bound(setting) / 2


UNIT = "packets/(endpoint·cycle)"

LOOK = Look.of((*MECHANISMS, "TPR by group"), order=("TPR", "UGAL-G", "UGAL-L", "VLB", "MIN", "TPR by group"))
"""The same colour and mark for a mechanism in every figure."""


def size(of: Setting) -> str:
    """How large the network is."""
    return f"{of.endpoints:,} endpoints"


def describe(of: Setting) -> str:
    """The network in words."""
    return f"Cascade group of {of.rows} x {of.columns} routers, {size(of)}"


def options(of: Setting) -> str:
    """What is run, in Markdown."""
    mechanisms = markdown_table(
        ["mechanism", "`[routing]`"], [[name, toml_line(rule)] for name, rule in MECHANISMS.items()]
    )
    limits = markdown_table(
        ["bound of the channel loads", UNIT],
        [
            ["MIN, UR", f"{minimal_uniform_bound(of):.3f}"],
            ["MIN, ADV", f"{minimal_adversarial_bound(of):.4f}"],
            ["VLB, UR and ADV", f"{valiant_bound(of):.3f}"],
        ],
    )
    setup = (
        "The router is BookSim's with a crossbar of twice the frequency: packets of one flit, links of 10 cycles, "
        f"4 virtual channels of {BUFFER} flits. {of.warmup:,} cycles of warm-up, {of.cycles:,} measured. Tables I and "
        f"II count over {COUNTER_WINDOW} cycles, TPR over 128."
    )
    choices = (
        "What the paper leaves open: the virtual channels that a hop may take (`topology.channels = "
        f'"{CHANNELS}"`: all above the last hop\'s that leave enough for the hops to come), the offset of UGAL-L '
        f"(0), `thr` ({THRESHOLD:g}, from the scan of table III), and whether the window slides (it does)."
    )
    return f"{mechanisms}\n\n{setup}\n\n{choices}\n\n{limits}"


study = Study[Setting, Evidence](
    name="tpr",
    title="Traffic-pattern-based adaptive routing",
    paper=Paper(
        ("P. Faizian", "M. S. Rahman", "M. A. Mollah", "X. Yuan", "S. Pakin", "M. Lang"),
        "Traffic pattern-based adaptive routing for intra-group communication in Dragonfly networks",
        "HOTI 2016",
    ),
    setting=setting,
    network=network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
    readings=READINGS,
)
