"""Draws the picture of the page of faults: python docs/fault_pictures.py."""

from pathlib import Path
from typing import Any

import altair as alt
import phit
import polars as pl
from phit.document import Document
from phit.document.loading import load
from phit.document.paths import set_path
from phit.drawing import plots

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images" / "faults"

BROKEN, KNOWN, REPAIRED = 2000, 2200, 5000
"""Cycles in which links break, in which routing knows, and in which they work again."""

SHOWN = 1000
"""The first cycle in the picture."""

NETWORKS: dict[str, tuple[Document, list[object]]] = {
    "Dragonfly": ({"kind": "dragonfly", "p": 2, "a": 4, "h": 2}, ["minimal", "ugal_l", "contention_base"]),
    "Torus 8x8": ({"kind": "torus", "dims": [8, 8]}, ["minimal", "abr", "up_down"]),
    "Mesh 8x8": ({"kind": "mesh", "dims": [8, 8]}, ["minimal", "valiant", "up_down"]),
    "HyperX 6x6": ({"kind": "hyperx", "dims": [6, 6], "endpoints_per_router": 3}, ["minimal", "ugal_l", "table"]),
    "Folded Clos": (
        {"kind": "clos", "down": [4, 4, 4], "up": [4, 4]},
        [{"kind": "clos", "allocation": "oblivious"}, "clos", "dfsssp"],
    ),
    "Slim Fly": ({"kind": "slim_fly", "q": 5, "endpoints_per_router": 3}, ["minimal", "ugal_l", "polarized"]),
    "Jellyfish": (
        {"kind": "jellyfish", "routers": 40, "links": 6, "endpoints_per_router": 3},
        ["minimal", "par_graph", "dfsssp"],
    ),
    "Megafly": (
        {"kind": "dragonfly_plus", "leaves": 4, "spines": 4, "groups": 5},
        ["minimal", "ugal_l", "table"],
    ),
}
"""The networks, and the mechanisms that are compared in each."""

LOADS = {"Mesh 8x8": 0.1, "Torus 8x8": 0.15, "Folded Clos": 0.2}
"""Where tables carry less than 0.3."""


def name(routing: object) -> str:
    """The name of a mechanism."""
    return f"{routing['kind']}, {routing['allocation']}" if isinstance(routing, dict) else str(routing)


def series(topology: Document, routing: object, load_: float) -> tuple[pl.DataFrame, int]:
    """The run over time, and the packets that it loses."""
    document = load(ROOT / "examples" / "recovery.toml")
    del document["sweep"]
    (entry,) = document["topology"]["faults"]["later"]
    set_path(document, "topology", {**topology, "faults": {"later": [entry]}})
    set_path(document, "routing", routing)
    set_path(document, "router.links.default.vcs", 13)
    set_path(document, "traffic.load", load_)
    result = phit.run(document)
    return result.tables["series"], result.summary["packets_lost"]


def main() -> None:
    """Runs everything, prints the table and draws the picture."""
    panels: list[Any] = []
    print("| network | routing | before | until routing knows | after | lost |\n| --- | --- | --- | --- | --- | --- |")
    for network, (topology, mechanisms) in NETWORKS.items():
        rows = []
        for routing in mechanisms:
            table, lost = series(topology, routing, LOADS.get(network, 0.3))
            rows.append(table.with_columns(pl.lit(name(routing)).alias("routing")))
            spans = [(1000, BROKEN), (BROKEN, KNOWN), (KNOWN + 800, REPAIRED)]
            means = [table.filter(pl.col("cycle").is_between(*span, closed="left")) for span in spans]
            pairs = [part.select(pl.col("accepted_load", "latency_mean").mean()).row(0) for part in means]
            loads = [f"{carried:.3f}, {latency:,.0f}" for carried, latency in pairs]
            print(f"| {network} | `{name(routing)}` | " + " | ".join(loads) + f" | {lost:,} |")
        panels.append(panel(network, pl.concat(rows)))
    columns = [alt.vconcat(*panels[start::2]).resolve_scale(color="independent") for start in range(2)]
    IMAGES.mkdir(parents=True, exist_ok=True)
    both = alt.hconcat(*columns).resolve_scale(color="independent")
    chart = plots.styled(both, "Router 9 loses three links in cycle 2000 and has them back in cycle 5000", "")
    plots.save(chart, IMAGES / "recovery", ["svg"])


def panel(network: str, rows: pl.DataFrame) -> Any:
    """Throughput and latency of one network over time."""
    marks = pl.DataFrame({"cycle": [BROKEN, KNOWN, REPAIRED]})
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3], color="#888").encode(alt.X("cycle:Q"))
    colours = alt.Scale(range=plots.COLOURS)
    lines = []
    for column, title in [("accepted_load", "accepted load"), ("latency_mean", "latency (cycles)")]:
        scale = alt.Scale(zero=False)
        curve = (
            alt.Chart(rows.filter(pl.col("cycle") >= SHOWN))
            .mark_line(strokeWidth=1.2)
            .encode(
                alt.X("cycle:Q", title="cycle", scale=alt.Scale(domain=[SHOWN, 8000])),
                alt.Y(f"{column}:Q", title=title, scale=scale),
                alt.Color("routing:N", title=None, scale=colours, sort=None, legend=alt.Legend(orient="top")),
            )
        )
        lines.append((rules + curve).properties(width=230, height=110))
    return alt.hconcat(*lines, title=network).resolve_scale(color="shared")


if __name__ == "__main__":
    main()
