"""Measures how the speed of the engine depends on the size of the network, on the load and on threads, and plots it.

`python benches/curves.py endpoints load threads` measures the named curves, adds them to `benches/curves.json`, and
draws `docs/images/performance/`. Everything is a Dragonfly with palmtree links, packets of 8 phits and minimal routes
under uniform traffic (h from 2 to 40), and for threads a folded Clos network, too.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import altair as alt
import polars as pl
from cases import ROOT, Record, describe
from executable import Engine, build
from measure import processor
from phit.drawing.plots import save

RESULTS = ROOT / "benches" / "curves.json"
IMAGES = ROOT / "docs" / "images" / "performance"

SIZES = (2, 3, 4, 6, 8, 12, 16, 23)
"""Global links of a router: 72 to 1,120,422 endpoints. The size of ten million endpoints must be requested by name."""
LARGEST = 40
LOADS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
THREADED = (
    "dragonfly-h8-uniform-0.3",
    "dragonfly-h16-uniform-0.3",
    "dragonfly-h23-uniform-0.3",
    "clos-27648-oblivious-0.5",
)
ROUNDS = {"dragonfly-h8-uniform-0.3": 5, "clos-27648-oblivious-0.5": 5, "dragonfly-h16-uniform-0.3": 2}
"""How often each number of threads has its turn; once if not listed."""

Curve = list[Record]


def spans(size: int) -> list[str]:
    """How long a network of `size` global links a router is run: some seconds each."""
    if size <= 8:
        return []
    if size >= LARGEST:
        return ["--warmup", "200", "--spans", "1", "--cycles", "100"]
    return ["--warmup", "300", "--spans", "3", "--cycles", "100" if size > 16 else "200"]


def kept(run: Record) -> Record:
    """The values of a run that are plotted."""
    record = {key: run[key] for key in ("case", "endpoints", "threads", "accepted_load", "build_seconds")}
    figures = {key: float(f"{run[key]:.4g}") for key in ("best", "median", "bytes_per_endpoint")}
    resident = round(run["resident_bytes"] / run["endpoints"]) if run["resident_bytes"] else None
    return record | figures | {"resident_bytes_per_endpoint": resident, "machine": processor()}


def over_endpoints(engine: Engine, sizes: tuple[int, ...] = SIZES) -> Curve:
    """Speed and memory by size of the network."""
    return [kept(engine.run(f"dragonfly-h{size}-uniform-0.3", *spans(size))[0]) for size in sizes]


def over_load(engine: Engine) -> Curve:
    """Speed and memory by offered load, of 1,056 and of 16,512 endpoints."""
    curve: Curve = []
    for size in (4, 8):
        for load in LOADS:
            (run,) = engine.run(f"dragonfly-h{size}-uniform-{load}", "--spans", "3")
            curve.append(kept(run) | {"load": load})
    return curve


def over_threads(engine: Engine) -> Curve:
    """Time on the wall of one span by number of threads, each in its turn."""
    cores = os.cpu_count() or 1
    numbers = sorted({1, 2, *(4 * n for n in range(1, cores // 4 + 1)), cores} & set(range(1, cores + 1)))
    curve: Curve = []
    for case in THREADED:
        large = "h16" in case or "h23" in case
        options = ["--warmup", "300", "--spans", "2", "--cycles", "100"] if large else ["--spans", "5"]
        times: dict[int, Record] = {}
        for _ in range(ROUNDS.get(case, 1)):
            for number in numbers:
                (run,) = engine.run(case, "--threads", str(number), *options)
                speed = max(hops / wall for hops, wall in zip(run["hops"], run["wall_seconds"], strict=True))
                record = kept(run) | {"hops_per_second": float(f"{speed:.4g}"), "cores": cores}
                times[number] = max(times.get(number, record), record, key=lambda each: each["hops_per_second"])
        curve += times.values()
    return curve


def line(points: Curve, x: alt.X, y: alt.Y, colour: str | None, title: str) -> alt.Chart:
    """A curve with its points."""
    encoded = alt.Chart(pl.DataFrame(points)).mark_line(point=True).encode(x=x, y=y)
    if colour is not None:
        legend = alt.Legend(orient="bottom", columns=1, labelLimit=0)
        encoded = encoded.encode(color=alt.Color(colour, type="nominal", title=None, sort=None, legend=legend))
    chart: alt.Chart = encoded.properties(width=460, height=260, title=title)
    return chart


def draw(curves: dict[str, Curve]) -> None:
    """All plots of which there are figures."""
    speed = "million hops per CPU second"
    plots: dict[str, Callable[[Curve], alt.Chart]] = {
        "endpoints": lambda points: line(
            [point | {"speed": point["best"] / 1e6} for point in points],
            alt.X("endpoints:Q", scale=alt.Scale(type="log"), title="endpoints", axis=alt.Axis(format="~s")),
            alt.Y("speed:Q", title=speed, scale=alt.Scale(zero=True)),
            None,
            "Dragonflies under uniform traffic at 0.3, one thread",
        ),
        "load": lambda points: line(
            [
                point | {"speed": point["best"] / 1e6, "network": f"{point['endpoints']:,} endpoints"}
                for point in points
            ],
            alt.X("load:Q", title="offered load, phits/(endpoint·cycle)"),
            alt.Y("speed:Q", title=speed, scale=alt.Scale(zero=True)),
            "network",
            "Dragonflies under uniform traffic, one thread",
        ),
        "threads": lambda points: line(
            [point | {"speed": point["hops_per_second"] / 1e6, "network": describe(point["case"])} for point in points],
            alt.X("threads:Q", title="threads", axis=alt.Axis(tickMinStep=1)),
            alt.Y("speed:Q", title="million hops per second on the wall", scale=alt.Scale(zero=True)),
            "network",
            f"By threads, on {points[0]['cores']} cores",
        ),
    }
    for name, plot in plots.items():
        if name in curves:
            save(plot(curves[name]), IMAGES / name, ["svg"])


def main() -> None:
    """Measures the requested curves, and draws all."""
    measures = {"endpoints": over_endpoints, "load": over_load, "threads": over_threads}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("curves", nargs="*", choices=[*measures, "largest", []], help="what to measure [nothing: draw]")
    parser.add_argument("--quick", action="store_true", help="a third of the time, for a first impression")
    parser.add_argument("--executable", type=Path, help="the benchmark, if it is not to be built")
    options = parser.parse_args()
    curves: dict[str, Curve] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.curves:
        engine = Engine(options.executable or build(), options.quick)
        for name in options.curves:
            if name == "largest":
                largest = over_endpoints(engine, (LARGEST,))
                curves["endpoints"] = [p for p in curves.get("endpoints", []) if "-h40-" not in p["case"]] + largest
                continue
            old = [point for point in curves.get(name, []) if name == "endpoints" and "-h40-" in point["case"]]
            curves[name] = measures[name](engine) + old
        RESULTS.write_text(json.dumps(curves, indent=1, ensure_ascii=False) + "\n")
        print(f"written: {RESULTS.relative_to(ROOT)}", file=sys.stderr)
        print(f"Measured on: {processor()}")
    draw(curves)
    print(f"drawn: {', '.join(str(path.relative_to(ROOT)) for path in sorted(IMAGES.glob('*.svg')))}", file=sys.stderr)


if __name__ == "__main__":
    main()
