"""The memory of a port for each scheme (table 5.3), and the notifications of FBICM's versions (sections 4.2, 4.3)."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from rich import box
from rich.table import Table

from phit.base.lazily import lazily
from phit.document import Document
from phit.document.completing import complete
from phit.drawing.plots import COLOURS
from phit.studies.fbicm.load import uniform
from phit.studies.fbicm.paper import FBICM, MEMORY, VERSIONS, VOQNET_QUEUE, Evidence, named, scenario, study
from phit.studies.fbicm.setting import US, Network, Setting
from phit.studies.fbicm.transient import multiple, recorded, single
from phit.studies.kit import tables
from phit.studies.kit.charts import Charts, finished
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.margin import all_of, below, exact
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.scale import Scale
from phit.studies.kit.uncertain import Source, Value, Z, error, over_seeds

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

LINE_BYTES = 6
"""Bytes of a CAM line without its list: 4 for the timer, 2 for all other fields."""

DESTINATION_BYTES = 2
"""Bytes of a destination in a line's list."""

TABLE_5_3 = {"FBICM first": {64: 1072, 256: 4144, 1024: 16432}, "FBICM": {64: 176, 256: 176, 1024: 176}}
"""Bytes of a CAM, by version and number of endpoints."""


def cam_bytes(lines: int, destinations: int) -> int:
    """Bytes of a CAM whose lines hold `destinations` destinations."""
    return lines * (LINE_BYTES + DESTINATION_BYTES * destinations)


@dataclass(frozen=True)
class Row:
    """One network."""

    endpoints: int
    first: int
    """Bytes of a CAM in the first version."""
    new: int
    """Bytes of a CAM in the new version."""
    voqnet: int
    """Bytes of a port's packet memory with VOQnet; all others have 8,192."""


@dataclass(frozen=True)
class Memories:
    """Table 5.3, with the packet memories."""

    lines: int
    destinations: int
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def to_rich(self) -> Table:
        """For a terminal."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("endpoints", "CAM, first version", "CAM, new version", "packets, VOQnet", "packets, others"):
            table.add_column(heading, justify="right")
        for row in self.rows:
            table.add_row(*(f"{n:,}" for n in (row.endpoints, row.first, row.new, row.voqnet, MEMORY)))
        table.caption = (
            f"bytes of a port; {self.lines} lines, lists of {self.destinations} destinations in the new version"
        )
        return table


@study.cost_model
def of_scenario(document: Document | None) -> Memories:
    """The memories for a scenario's queueing and network, or for table 5.3."""
    queueing = FBICM
    sizes = tuple(TABLE_5_3["FBICM"])
    if document is not None:
        completed = complete(document)
        if completed["queueing"]["kind"] == "fbicm":
            queueing = completed["queueing"]
        if completed["topology"]["kind"] == "k_ary_n_tree":
            sizes = (completed["topology"]["arity"] ** completed["topology"]["levels"],)
    lines, destinations = queueing["cfqs"], queueing["destinations"]
    rows = (Row(n, cam_bytes(lines, n), cam_bytes(lines, destinations), VOQNET_QUEUE * n) for n in sizes)
    return Memories(lines, destinations, tuple(rows))


COUNTED = (
    "detections",
    "lines_allocated",
    "lines_freed",
    "line_lifetime",
    "without_line",
    "cam_on",
    "cams",
    "cam_bytes",
    "allocations_sent",
    "allocation_bits",
    "updates_sent",
    "update_bits",
    "stops_sent",
    "stop_bits",
    "gos_sent",
    "go_bits",
    "deallocations_sent",
    "deallocation_bits",
)
"""What FBICM counts."""


def counts(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per run: what FBICM has counted.

    `bits` counts the bits of all notifications. `lifetime` is the lifetime of a line in cycles. `cam_share` is the
    share of time in which a CAM is on.
    """
    found = tables.runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    keys = [c for c in labels.columns if c != "point"]
    own = {f"queueing.{name}": name for name in COUNTED if f"queueing.{name}" in found.columns}
    table = found.select("point", *keys, "accepted_load", "cycles", "out_of_order", *own).rename(own)
    return table.with_columns(
        bits=pl.sum_horizontal(name for name in own.values() if name.endswith("_bits")),
        lifetime=pl.col("line_lifetime") / pl.col("lines_freed"),
        cam_share=pl.col("cam_on") / (pl.col("cams") * pl.col("cycles")),
        bytes_per_cam=pl.col("cam_bytes") / pl.col("cams"),
    )


LOW_LOAD = 0.1
"""At which there is no congestion."""


@study.figure(
    "table5.3",
    title="Table 5.3: memories",
    caption="Bytes of a CAM of both versions in networks of three sizes.",
    is_table=True,
    table=counts,
)
def memories(setting: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
    """Table 5.3: the memories of the simulated networks; at the smallest scale, of one small network."""
    levels = (2,) if setting.scale is Scale.SMOKE else (3, 4, 5)
    return [
        Case(
            {"mechanism": version, "endpoints": net.endpoints, "seed": 1},
            scenario(net, version, uniform(LOW_LOAD), {"warmup": 0, "cycles": US}, 1),
        )
        for net in (Network(f"{4**count}", 4, count, 0, US) for count in levels)
        for version in VERSIONS
    ]


@study.claim(
    "F8",
    figure="table 5.3",
    statement="Bytes of a CAM for 64, 256, 1,024 endpoints: 1,072, 4,144, 16,432 in the first version, 176 in the new "
    "one",
    paper="exact",
)
def bytes_of_a_cam(evidence: Evidence) -> Judgement:
    """Table 5.3, from the memories of the runs."""
    found: dict[str, dict[int, int]] = {}
    rows = evidence.table("table5.3").select("mechanism", "endpoints", "bytes_per_cam")
    for version, endpoints, size in rows.iter_rows():
        found.setdefault(version, {})[endpoints] = round(size)
    expected = {v: {n: size for n, size in TABLE_5_3[v].items() if n in sizes} for v, sizes in found.items()}
    if not any(expected.values()):
        raise NotRunError("table 5.3: none of the report's networks was run")
    words = "; ".join(f"{v}: {', '.join(f'{size:,}' for size in sizes.values())}" for v, sizes in found.items())
    return Judgement(exact(found == expected), f"{words} bytes")


HOT = {"single": "single hot spot (#2)", "multiple": "several hot destinations (#3)"}
"""The cases in which there are notifications."""

KINDS = ("allocation", "update", "stop", "go", "deallocation")
"""Notifications, in the order of a line's life."""


@study.figure(
    "versions",
    title="First and new version",
    caption="The notifications of both versions, the lifetimes of their queues, and when their memories are on "
    "(sections 4.2, 4.3).",
    table=counts,
)
def versions(setting: Setting, seeds: int | None) -> list[Case]:
    """Both versions on cases #2 and #3, and without congestion."""
    net = setting.networks[0]
    probes = [{"kind": "queueing", "every": setting.bin}]
    offered = {
        "single": single(net, setting.hot),
        "multiple": multiple(net, setting.hot),
        "none": uniform(LOW_LOAD),
    }
    return [
        Case(
            {"network": net.name, "mechanism": version, "case": case, "seed": seed},
            scenario(net, version, traffic, {**recorded(setting, net.end), "probes": probes}, seed),
        )
        for case, traffic in offered.items()
        for version in VERSIONS
        for seed in seeds_of(seeds, setting.version_seeds)
    ]


@versions.draw
def _version_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    """The notifications that the versions send in a run, by kind."""
    hot = table.filter(pl.col("case").is_in(list(HOT)))
    means = hot.group_by("mechanism", "case", maintain_order=True).agg(pl.col(f"{kind}_bits").mean() for kind in KINDS)
    long = means.unpivot(index=["mechanism", "case"], variable_name="kind", value_name="bits").with_columns(
        pl.col("kind").str.strip_suffix("_bits").replace_strict({k: i for i, k in enumerate(KINDS)}).alias("place"),
        pl.col("kind").str.strip_suffix("_bits"),
        pl.col("case").replace_strict(HOT),
        megabits=pl.col("bits") / 1e6,
    )
    scale = alt.Scale(domain=list(KINDS), range=list(COLOURS[: len(KINDS)]))
    bars = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            alt.X("megabits:Q", title="Notifications in a run (Mbit)"),
            alt.Y("mechanism:N", title=None),
            alt.Color("kind:N", title="Notification", scale=scale),
            alt.Row(
                "case:N", title=None, sort=list(HOT.values()), header=alt.Header(labelOrient="top", labelFontSize=13)
            ),
            order="place:Q",
            tooltip=["mechanism", "kind", alt.Tooltip("megabits:Q", format=".3~g")],
        )
        .properties(width=480, height=70)
    )
    count = max(hot.group_by("mechanism", "case").len()["len"])
    seeds = "one seed" if count == 1 else f"means of {count} seeds"
    notes = (f"{named(setting, table['network'][0])}; {setting.networks[0].end / US:g} µs; {seeds}",)
    return {"versions": finished(bars, "Notifications of the two versions", notes)}


def _of_version(evidence: Evidence, version: str, case: str) -> pl.DataFrame:
    """The runs of a version, one row for each seed."""
    rows = evidence.rows("versions", mechanism=version, case=case)
    if rows.is_empty():
        raise NotRunError(f"{evidence.name('versions', mechanism=version, case=case)} was not run")
    return rows


def _difference(new: pl.DataFrame, first: pl.DataFrame, column: str) -> Value:
    """How much more the new version has, seed by seed: both have the same traffic."""
    both = new.join(first, on="seed", suffix="_first", how="inner")
    runs = tuple(sorted([*both["point"], *both["point_first"]])) if "point" in both.columns else ()
    differences = (both[column] - both[f"{column}_first"]).to_list()
    return over_seeds(differences, Source(runs, "figure versions", f"{column} {both['case'][0]}"))


def _mean(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].to_numpy().mean())


@study.claim(
    "F10",
    figure="4.2-4.3",
    statement="The new version sends fewer notification bits, frees CFQs sooner, and has its CAM off without "
    "congestion",
    paper="less, and sooner beyond the 95 % interval over seeds, on cases #2 and #3; never on at a load of 0.1",
)
def cheaper_version(evidence: Evidence) -> Judgement:
    """Fewer bits, queues freed sooner by more than seeds differ, and memories off where there is no congestion."""
    checks, notes = [], []
    for case in HOT:
        new, first = (_of_version(evidence, version, case) for version in VERSIONS)
        bits, bits_first = _mean(new, "bits"), _mean(first, "bits")
        life, life_first = _mean(new, "lifetime") / US, _mean(first, "lifetime") / US
        later = _difference(new, first, "lifetime") / US
        checks += [below(difference, 0, strict=True) for difference in (_difference(new, first, "bits"), later)]
        half = "not known" if math.isnan(error(later)) else f"{Z * error(later):.2f}"
        notes.append(
            f"{case}: {bits / 1000:.0f} against {bits_first / 1000:.0f} kbit, "
            f"{life:.2f} against {life_first:.2f} us (± {half}, {new.height} seeds)"
        )
    idle = _mean(_of_version(evidence, "FBICM", "none"), "cam_share")
    return Judgement(
        all_of([*checks, exact(idle == 0)]),
        "; ".join(notes),
        f"CAM on {100 * idle:.3g} % of the time without congestion",
    )
