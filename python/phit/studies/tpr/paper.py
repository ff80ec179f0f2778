"""The paper: its network, its mechanisms, the two ways to read it, and what all its figures share."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table, toml_line
from phit.document import Document
from phit.document.paths import set_path
from phit.peers import booksim
from phit.studies.kit.bounds import bound_of
from phit.studies.kit.charts import Look
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Curves as AnyCurves
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.evidence import Tables, span
from phit.studies.kit.study import Paper, Reading, Study
from phit.studies.kit.uncertain import Value, nominal
from phit.studies.tpr.setting import ADV, MIXES, UR, Setting, nlc, rlc, setting
from phit.throughput import Bounds

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

TEXT_LOCAL_LOW = 0.8
"""TPR's low_l in packets per cycle (section III-B)."""

CANDIDATES: Document = {"stop": STOP, "queue": "port", "minimal_candidates": 2, "valiant_candidates": 2}
"""Up to two minimal and two nonminimal paths (sections II-B and III-D); queues are the used credits of a port."""

MECHANISMS: dict[str, Document] = {
    "MIN": {"kind": "minimal"},
    "VLB": {"kind": "valiant", "stop": STOP},
    "UGAL-L": {"kind": "ugal_l", **CANDIDATES, "threshold": 0},
    "UGAL-G": {"kind": "ugal_g", **CANDIDATES, "threshold": 0, "cost": "queue"},
    "TPR": {"kind": "tpr", **CANDIDATES, "thr": THRESHOLD, "local_low": TEXT_LOCAL_LOW},
}
"""The five routings (section IV-B), in the order of the paper's legends. UGAL-G takes the path with the smallest sum of
queues (section II-B)."""

ADAPTIVE = ("UGAL-L", "UGAL-G", "TPR")

COUNTER_WINDOW = 50
"""Cycles of the window of tables I and II; the figures' is TPR's default, 128."""


Entries = Mapping[tuple[str, float], float]
"""Mean counters by pattern and offered load."""

SENT: Entries = {(UR, 0.1): 1, (UR, 0.44): 4, (UR, 0.9): 8, (ADV, 0.1): 90, (ADV, 0.44): 396}
"""The paper's table I."""

THROUGH: Entries = {(UR, 0.1): 2.24, (UR, 0.44): 9.86, (UR, 0.9): 20.5, (ADV, 0.1): 5.45, (ADV, 0.44): 33.7}
"""The paper's table II."""


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


Changes = Mapping[str, Any]
"""Keys of a scenario, by their dotted paths, and the values that a reading has there."""

CREDIT_LATENCY = "router.links.default.credit_latency"
"""Cycles of a credit's way back; as long as a phit's way if left out."""

INJECTION_QUEUES = "router.links.endpoint.vcs"
"""Injection queues of an endpoint."""

MINIMAL_CANDIDATES = "routing.minimal_candidates"
"""Minimal routes that UGAL-L, UGAL-G and TPR look at."""

LOCAL_LOW = "routing.local_low"
"""TPR's low_l in packets per cycle."""

LINK_BUFFER = "router.links.default.buffer"
"""Flits of a virtual channel's buffer behind the links between routers."""


def apply(changes: Changes, document: Document) -> Document:
    """The run with these values; keys of `[routing]` that its mechanism does not have are left out."""
    found = deepcopy(document)
    for path, value in changes.items():
        table, key = path.rsplit(".", 1)
        if table != "routing" or key in found["routing"]:
            set_path(found, path, value)
    return found


TEXT = Reading(
    "text",
    "Every value that the text gives; where it gives none, what BookSim does: credits take as long as phits, an "
    "endpoint has an injection queue for each virtual channel. The UGALs look at two minimal routes, as the Cascade "
    "does.",
)

FITTED_CHANGES: Changes = {CREDIT_LATENCY: 1, MINIMAL_CANDIDATES: 1, INJECTION_QUEUES: 1, LOCAL_LOW: 1.2}

FITTED = Reading(
    "fitted",
    "This reading gives most of the paper's numbers with the buffers of the text. It was found by varying the "
    "choices that the text leaves open. Four settings differ:\n\n* Credits come back in one cycle "
    f"(`{CREDIT_LATENCY} = {FITTED_CHANGES[CREDIT_LATENCY]}`). The text gives links 10 cycles and says nothing of "
    "credits. A credit channel of BookSim takes one cycle unless the network's file sets it.\n"
    f"* The UGALs and TPR look at one minimal route (`{MINIMAL_CANDIDATES} = {FITTED_CHANGES[MINIMAL_CANDIDATES]}`) "
    "and at two nonminimal ones. For the UGALs the text gives no number; for TPR it says two, and that TPR equals "
    "MIN.\n"
    f"* An endpoint has one injection queue (`{INJECTION_QUEUES} = {FITTED_CHANGES[INJECTION_QUEUES]}`).\n"
    f"* TPR's low_l is {FITTED_CHANGES[LOCAL_LOW]:g} (`{LOCAL_LOW}`). The text says 0.8, and that TPR is minimal under "
    "ADV at 0.05, where 18 endpoints have a local impact of 0.9.",
)

DEEP_CHANGES: Changes = {MINIMAL_CANDIDATES: 1, LOCAL_LOW: 1.2, LINK_BUFFER: 2 * BUFFER}

DEEP = Reading(
    "deep",
    f"A fit that contradicts the text in one number: buffers of {DEEP_CHANGES[LINK_BUFFER]} flits instead of "
    f"{BUFFER} (`{LINK_BUFFER} = {DEEP_CHANGES[LINK_BUFFER]}`). With {BUFFER}, four virtual channels hold at most "
    f"{4 * BUFFER} flits of a port. A nonminimal queue of more than {4 * BUFFER}/3.5 = 37 then always costs more "
    "than the full minimal one, so UGAL-L goes minimally where it should not. Credits take as long as phits and an "
    "endpoint has an injection queue for each virtual channel, as in BookSim and under `text`. One minimal and two "
    f"nonminimal routes are compared, and low_l is {DEEP_CHANGES[LOCAL_LOW]:g}, as under `fitted`.",
)

CHANGES: Mapping[str, Changes] = {TEXT.name: {}, FITTED.name: FITTED_CHANGES, DEEP.name: DEEP_CHANGES}
"""By reading: what differs from the text."""

READINGS = (TEXT, FITTED, DEEP)


def under(reading: Reading, document: Document) -> Document:
    """The run as `reading` has it, of the run that the text describes."""
    return apply(CHANGES[reading.name], document)


CARRIED = 0.98
"""A load is carried if this share of it is accepted, and of all loads below it: the reading of this study, stricter
than `SATURATED_BELOW`."""

CUT = "cut"
"""Column of tables that end at the last load that is carried."""


@dataclass(frozen=True)
class Carried(Reading):
    """A reading whose curves end at the last load that is carried.

    The paper's curves end there, too:
    """

    whole: Reading
    """The reading with all loads."""

    def of(self, tables: Tables) -> dict[str, pl.DataFrame]:
        """The tables of its runs, in which curves end at the last carried load."""
        return {name: carried(table) for name, table in self.whole.of(tables).items()}


def carried(table: pl.DataFrame) -> pl.DataFrame:
    """The table with each mechanism's curve up to the last load that it carries.

    Tables without curves are unchanged.
    """
    if table.is_empty() or not {"mechanism", "load", "accepted_load"} <= set(table.columns):
        return table
    behind = (pl.col("accepted_load") < CARRIED * pl.col("load")).cast(pl.Int64)
    kept = table.sort("mechanism", "load").filter(behind.cum_sum().over("mechanism") == 0)
    return kept.with_columns(pl.lit(True).alias(CUT))


def _ending(reading: Reading) -> Carried:
    words = (
        f"As `{reading.name}`, with every curve up to the last load that is carried: of this load and of all below it "
        f"{CARRIED:.0%} or more are accepted. Claims about throughput or the highest load are judged there, as far as "
        "the grid of loads allows."
    )
    return Carried(f"{reading.name}, carried", words, reading)


VIEWS = (*READINGS, *(_ending(reading) for reading in READINGS))
"""All views under which claims are judged: each reading up to the highest load that was run, and up to the last carried
load."""


LOW = 0.2
"""Low load: at most this share of a mechanism's saturation throughput."""

BEHIND = 0.99
"""A mechanism that accepts less than this share of the offered load is beyond the loads that it carries; noise is a
third of the difference."""


class Curves(AnyCurves):
    """Steady states of one pattern, by mechanism."""

    @property
    def cut(self) -> bool:
        """True if curves end at the last load that is carried."""
        return CUT in self._table.columns

    def throughput(self, mechanism: str) -> Value:
        """Accepted load at the highest offered load, of a curve that falls behind the offered load there.

        For a curve that is cut, it is the accepted load at the last load.
        """
        load, accepted = self.top(mechanism=mechanism)
        if not self.cut and nominal(accepted) > BEHIND * load:
            raise NotRunError(f"{self._name}: {mechanism} carries its highest load {load:g}")
        return accepted

    def saturation(self, **where: Any) -> Value:
        """The most that a curve accepts, of a curve that is cut or goes on into saturation."""
        return self.peak(**where) if self.cut else super().saturation(**where)

    def last_carried(self, mechanism: str) -> float:
        """The last load that is carried, of a curve that is cut or goes on beyond it."""
        loads = self.loads(mechanism=mechanism)
        accepted = [nominal(self.accepted(mechanism=mechanism, load=load)) for load in loads]
        beyond = [i for i, load in enumerate(loads) if accepted[i] < CARRIED * load]
        if not beyond and not self.cut:
            raise NotRunError(f"{self._name}: {mechanism} carries its highest load {loads[-1]:g}")
        if beyond and beyond[0] == 0:
            raise NotRunError(f"{self._name}: {mechanism} does not carry its lowest load {loads[0]:g}")
        return loads[beyond[0] - 1 if beyond else -1]

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
    """The evidence for the rules of the claims."""

    def curves(self, figure: str, **where: Any) -> Curves:
        """The steady states of a figure."""
        return Curves(self.rows(figure, **where), self.name(figure, **where))


def shares(values: list[Value]) -> str:
    """The span of some shares in percent: `1.2 to 3.4 %`."""
    return f"{span([100 * value for value in values], '{:.1f}')} %"


def bounds(setting: Setting, traffic: str) -> Bounds:
    """The bounds that links set for a pattern, for any routing and for minimal routes, proved by `phit bound`."""
    return bound_of(network(setting)["topology"], pattern(traffic))


def valiant_bound(setting: Setting) -> Fraction:
    """The bound that links set for VLB under any pattern that is even over routers: two uniform legs."""
    of_uniform = bounds(setting, UR).minimal
    if of_uniform is None:
        raise ValueError("no packet of uniform traffic takes a link")
    return of_uniform.load / 2


UNIT = "packets/(endpoint·cycle)"

LOOK = Look.of(
    (*MECHANISMS, "TPR by group", "TPR by links"),
    order=("TPR", "UGAL-G", "UGAL-L", "VLB", "MIN", "TPR by group", "TPR by links"),
)
"""Each mechanism has one colour and mark in all figures."""


def size(of: Setting) -> str:
    """How large the network is."""
    return f"{of.endpoints:,} endpoints"


def describe(of: Setting) -> str:
    """The network in words."""
    return f"Cascade group of {of.rows} x {of.columns} routers, {size(of)}"


def options(of: Setting) -> str:
    """The runs in Markdown."""
    mechanisms = markdown_table(
        ["mechanism", "`[routing]`"], [[name, toml_line(rule)] for name, rule in MECHANISMS.items()]
    )
    limits = markdown_table(
        [f"proved bound in {UNIT}", "any routing", "minimal routes"],
        [[name, _fraction(found.load), _fraction(found.minimal_load)] for name, found in _limits(of).items()],
    )
    valiant = (
        f"VLB's two legs are uniform each, so that links allow it {_fraction(valiant_bound(of))} under UR and ADV."
    )
    setup = (
        "The router is BookSim's with a crossbar of twice the frequency: packets of one flit, links of 10 cycles, "
        f"4 virtual channels of {BUFFER} flits. {of.warmup:,} cycles of warm-up, {of.cycles:,} measured. Tables I and "
        f"II count over {COUNTER_WINDOW} cycles, TPR over 128."
    )
    choices = (
        "The paper leaves four choices open: the virtual channels that a hop may take (`topology.channels = "
        f'"{CHANNELS}"`: all above the last hop\'s that leave enough for the hops to come), the offset of UGAL-L '
        f"(0), `thr` ({THRESHOLD:g}, from the scan of table III), and whether the window slides (it does)."
    )
    return f"{mechanisms}\n\n{setup}\n\n{choices}\n\n{limits}\n\n{valiant}"


def _limits(of: Setting) -> dict[str, Bounds]:
    return {name: bounds(of, name) for name in (UR, ADV, *(nlc(share) for share in MIXES))}


def _fraction(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):.4f}"


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
    readings=VIEWS,
)
