"""Draws the pictures of the page of experiments with workloads: python docs/workload_pictures.py FOLDER.

FOLDER holds the results of its sweeps, as `sizes` and `placement`.
"""

import sys
from pathlib import Path

import altair as alt
import phit
import polars as pl
from phit.document import Document
from phit.document.loading import load
from phit.document.paths import set_path
from phit.drawing import plots, report, tracks
from phit.running.workloads import interference

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images" / "workloads"
EXAMPLES = ROOT / "examples"

FBICM = {"kind": "fbicm", "detection": 64, "stop": 48, "go": 16}
AGAINST: dict[str, Document] = {
    "minimal": {"routing": "minimal"},
    "contention counters": {"routing": "contention_base"},
    "the same, from 3 heads on": {"routing": {"kind": "contention_base", "threshold": 3}},
    "Valiant": {"routing": "valiant"},
    "tables (dfsssp)": {"routing": "dfsssp"},
    "tables, FBICM": {"routing": "dfsssp", "queueing": FBICM},
}
"""The mechanisms that meet the aggressor."""


def save(chart: alt.TopLevelMixin, name: str) -> None:
    """Writes a picture of the page."""
    plots.save(chart, IMAGES / name, ["svg"])


def sizes(folder: Path) -> None:
    """Completion against size, and the best two of each size."""
    read = report.Folder.read(folder)
    plot = load(EXAMPLES / "all_reduce_sizes.toml")["plot"]
    save(plots.load_curves(read.points, "completion", read.swept, plot), "all_reduce")
    for (size,), rows in read.points.sort("workload.bytes").group_by("workload.bytes", maintain_order=True):
        best = rows.sort("completion").head(2).select("workload.algorithm", "completion").rows()
        print(f"| {size:,} | " + " | ".join(f"{name} | {cycles:,}" for name, cycles in best) + " |")


def aggressor() -> None:
    """How much longer the victim takes."""
    rows = []
    for name, change in AGAINST.items():
        document = load(EXAMPLES / "aggressor.toml")
        for path, value in change.items():
            set_path(document, path, value)
        victim = interference(document).row(0, named=True)
        rows.append({"what": name, **victim})
        print(f"| {name} | {victim['alone']:,.0f} | {victim['together']:,.0f} | {victim['slowdown']:.2f} |")
    bars = (
        alt.Chart(pl.DataFrame(rows))
        .mark_bar(color=plots.COLOURS[0])
        .encode(
            alt.X("slowdown:Q", title="Time of the victim beside the aggressor, over its time alone"),
            alt.Y("what:N", title=None, sort=list(AGAINST), axis=alt.Axis(labelLimit=240)),
        )
        .properties(width=420)
    )
    save(plots.styled(bars, "An all-reduce beside an incast", ""), "aggressor")


def placement(folder: Path) -> None:
    """Completion by placement and routing."""
    points = report.Folder.read(folder).points
    kind, routing = "workload.placement.kind", "routing"
    means = points.group_by(kind, routing, maintain_order=True).agg(pl.col("completion").mean())
    for (name,), rows in means.group_by(kind, maintain_order=True):
        print(f"| {name} | " + " | ".join(f"{value:,.0f}" for value in rows["completion"]) + " |")
    drawn = means.rename({kind: "placement"})
    bars = (
        alt.Chart(drawn)
        .mark_bar()
        .encode(
            alt.X("completion:Q", title="Completion (cycles)"),
            alt.Y("routing:N", title=None),
            alt.Row("placement:N", title=None, sort=drawn["placement"].unique(maintain_order=True).to_list()),
            alt.Color("routing:N", legend=None, scale=alt.Scale(range=list(plots.COLOURS))),
        )
        .properties(width=420)
    )
    save(plots.styled(bars, "A halo exchange by placement and routing", ""), "placement")


def seen() -> None:
    """Tracks of an all-reduce."""
    document = load(EXAMPLES / "all_reduce.toml")
    change = {"ranks": 16, "bytes": 32768, "calc": 3000, "algorithm": "halving_doubling", "placement": "random"}
    bare = {key: value for key, value in document.items() if key not in ("sweep", "plot")}
    bare["workload"] = {**document["workload"], **change}
    save(tracks.of_tracks(phit.run({**bare, "measure": {"tracks": True}}).tables["tracks"]), "tracks")


if __name__ == "__main__":
    results = Path(sys.argv[1])
    sizes(results / "sizes")
    aggressor()
    placement(results / "placement")
    seen()
