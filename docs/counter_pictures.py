"""Draws the picture of contention on other networks: python docs/counter_pictures.py."""

from itertools import product
from pathlib import Path
from typing import Any

import altair as alt
import phit
import polars as pl
from phit.document import Document
from phit.drawing import plots

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images" / "counters"

NETWORKS: dict[str, tuple[Document, int, int]] = {
    "Slim Fly": ({"kind": "slim_fly", "q": 5}, 4, 8),
    "Megafly": ({"kind": "dragonfly_plus", "leaves": 4, "spines": 4, "groups": 9}, 8, 3),
}
"""The networks, the virtual channels that Valiant routes need there, and the threshold of the contention counters."""

PATTERNS: dict[str, dict[str, Document]] = {
    "uniform": {network: {"kind": "uniform"} for network in NETWORKS},
    "adversarial": {"Slim Fly": {"kind": "shift", "offset": 4}, "Megafly": {"kind": "adversarial"}},
}
"""The traffic. On the Slim Fly all four endpoints of a router send to the endpoints of the next, over one link. Of all
shifts by whole routers this is the worst for minimal routing. On the Megafly all of a group send to the next group."""

MEMORY = 32
"""Phits of a port's memory for each virtual channel that Valiant routes need."""

MECHANISMS: dict[str, Document] = {
    "minimal": {"kind": "minimal"},
    "Valiant": {"kind": "valiant"},
    "UGAL-L": {"kind": "ugal_l"},
    "UGAL-G": {"kind": "ugal_g"},
    "Base": {"kind": "contention_graph", "misroute": "anywhere"},
    "Hybrid": {"kind": "contention_graph", "misroute": "anywhere", "credit_threshold": 0.35},
    "tables": {"kind": "table"},
    "tables, FBICM": {"kind": "table"},
}
"""The compared mechanisms. Base and Hybrid leave a minimal route once, anywhere on it."""

THRESHOLDS: list[int | str] = [2, 3, 4, 6, 8, "auto"]
"""Thresholds of Base that are tried besides."""

LOADS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
"""Offered loads in phits/(endpoint·cycle)."""


def document(network: str, mechanism: str, pattern: str, load: float) -> Document:
    """A run."""
    topology, channels, threshold = NETWORKS[network]
    counters = {"threshold": threshold} if mechanism in ("Base", "Hybrid") else {}
    # With tables, packets wait in a queue for their destination until they are sent, as FBICM requires. Minimal routes
    # need half as many channels, which divide the same memory.
    tables = mechanism.startswith("tables")
    vcs, queues = (channels // 2, 1) if tables else (channels, 3)
    buffer = MEMORY * channels // vcs
    links: Document = {
        "default": {"latency": 10, "vcs": vcs, "buffer": buffer},
        "endpoint": {"latency": 1, "vcs": queues, "buffer": buffer},
    }
    isolation = {"kind": "fbicm", "detection": 32, "stop": 16, "go": 8}
    return {
        "topology": topology,
        "router": {
            "latency": 5,
            "speedup": 2,
            "output_buffer": 32,
            "admittance": "per_destination" if tables else "single",
            "links": links,
        },
        "routing": {**MECHANISMS[mechanism], **counters},
        "queueing": isolation if mechanism.endswith("FBICM") else {"kind": "virtual_channels"},
        "traffic": {"pattern": PATTERNS[pattern][network], "load": load, "packet_size": 4},
        "measure": {"warmup": 1500, "cycles": 2500},
    }


def row(network: str, mechanism: str, pattern: str, load: float, change: Document | None = None) -> dict[str, Any]:
    """The result of a run, with other keys of the mechanism if there are any."""
    run = document(network, mechanism, pattern, load)
    run["routing"] = {**run["routing"], **(change or {})}
    result = phit.run(run)
    labels = {"network": network, "mechanism": mechanism, "pattern": pattern, "load": load}
    return labels | {"accepted": result.accepted_load, "latency": result.latency_mean, "saturated": result.saturated}


def main() -> None:
    """Proves each combination free of deadlock, runs everything, prints the tables and draws the picture."""
    rows = []
    for network, mechanism in product(NETWORKS, MECHANISMS):
        report = phit.verify(document(network, mechanism, "uniform", 0.1))
        if not report["proved"]:
            raise SystemExit(f"{mechanism} on the {network}: {report}")
        rows += [row(network, mechanism, pattern, load) for pattern, load in product(PATTERNS, LOADS)]
    points = pl.DataFrame(rows)
    for network in NETWORKS:
        compared(points, network)
        thresholds(network)
    IMAGES.mkdir(parents=True, exist_ok=True)
    panels = [panel(points, network, pattern) for network, pattern in product(NETWORKS, PATTERNS)]
    chart = plots.styled(alt.vconcat(*panels), "Contention counters and FBICM on a Slim Fly and a Megafly", "")
    plots.save(chart, IMAGES / "counters", ["svg"])


def compared(points: pl.DataFrame, network: str) -> None:
    """Prints what each mechanism accepts of a load of 0.9, the most that it accepts of any, and its latency at 0.1."""
    print(f"\n### {network}\n")
    titles = [f"{pattern}, {what}" for pattern in PATTERNS for what in ("0.9", "most", "latency")]
    print(f"| mechanism | {' | '.join(titles)} |\n| --- |{' --- |' * len(titles)}")
    for mechanism in MECHANISMS:
        cells = []
        for pattern in PATTERNS:
            here = points.filter(network=network, mechanism=mechanism, pattern=pattern)
            (low,), (high,) = (here.filter(load=load).iter_rows(named=True) for load in (0.1, 0.9))
            latency = "saturated" if low["saturated"] else f"{low['latency']:,.0f}"
            cells += [f"{high['accepted']:.3f}", f"{max(here['accepted'].to_list()):.3f}", latency]
        print(f"| {mechanism} | {' | '.join(cells)} |")


def thresholds(network: str) -> None:
    """Prints what Base accepts with other thresholds."""
    print(f"\n| threshold of Base | {' | '.join(f'{pattern}, 0.9' for pattern in PATTERNS)} |\n| --- |{' --- |' * 2}")
    for threshold in THRESHOLDS:
        found = [row(network, "Base", pattern, 0.9, {"threshold": threshold})["accepted"] for pattern in PATTERNS]
        print(f"| {threshold} | {' | '.join(f'{accepted:.3f}' for accepted in found)} |")


def panel(points: pl.DataFrame, network: str, pattern: str) -> Any:
    """Accepted load and latency over the offered load."""
    here = points.filter(network=network, pattern=pattern)
    colours = alt.Scale(domain=list(MECHANISMS), range=plots.COLOURS)
    of = alt.Chart(here).encode(
        alt.X("load:Q", title="offered load (phits/(endpoint·cycle))"),
        alt.Color("mechanism:N", title=None, scale=colours, legend=alt.Legend(orient="right")),
    )
    accepted = of.mark_line(point={"size": 12}).encode(alt.Y("accepted:Q", title="accepted load"))
    below = of.transform_filter("!datum.saturated").mark_line(point={"size": 12})
    latency = below.encode(alt.Y("latency:Q", title="latency (cycles)", scale=alt.Scale(zero=False)))
    both = [chart.properties(width=280, height=180) for chart in (accepted, latency)]
    return alt.hconcat(*both, title=f"{network}, {pattern} traffic")


if __name__ == "__main__":
    main()
