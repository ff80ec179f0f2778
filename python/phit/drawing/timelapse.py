"""Time-lapses: the occupancy of every port and the congestion trees, as one animated SVG.

Frames come from the probes `ports` and `trees`. The picture needs no script and no other file. On paper, or for a
reader who has switched animations off, it shows one frame. The HTML form has a slider.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from phit.base.files import write_atomically, write_text
from phit.base.text import plain_lines
from phit.drawing.layout import Layout, rows_of, spread

PALETTE = ("#fcffa4", "#f6d746", "#fca50a", "#f37819", "#dd513a", "#a52c60", "#6a176e", "#1b0c41")
"""Colours from few to many phits: each step is twice as many."""

TREE = "#0a8fff"
"""Colour of the frame around a port that belongs to a tree."""

CELL_WIDTH, CELL_HEIGHT, GAP = 9, 9, 2
"""Size of a port, and the gap between two ports, in pixels."""

WIDEST = 700
"""Default width of a row of routers in pixels."""

SECONDS = 0.35
"""Duration of a frame in seconds."""

MARGIN, NARROWEST = 16, 724
"""Margin and smallest width of the picture in pixels."""


def port_frames(probes: pl.DataFrame, keys: Sequence[str] = ("point",)) -> pl.DataFrame:
    """One row per input port and frame, from a table of probes: phits in its queues, and the trees that it holds.

    `destinations` are the destinations of all its lines, and `trees` lists them as text, line by line. `hops` is the
    smallest number of links to a congested point, and `lines` the number of lines. An empty port without lines is left
    out.
    """
    keys = [*keys, "cycle", "router", "port"]
    ports = probes.filter(pl.col("quantity") == "port phits").select(*keys, phits=pl.col("max"))
    held = probes.filter(pl.col("quantity") == "line phits", pl.col("side") == "input")
    words = pl.col("destinations").cast(pl.List(pl.String)).list.join(",")
    trees = held.group_by(keys, maintain_order=True).agg(
        words.str.join(" | ").alias("trees"),
        pl.col("destinations").explode(),
        pl.col("hops").min(),
        pl.len().alias("lines"),
    )
    joined = ports.join(trees, on=keys, how="full", coalesce=True)
    return joined.with_columns(pl.col("phits").fill_null(0), pl.col("lines").fill_null(0)).sort(keys)


def holds(destination: int) -> pl.Expr:
    """A test whether the port has a line for `destination`."""
    return pl.col("destinations").list.contains(destination).fill_null(False)


@dataclass(frozen=True)
class Row:
    """Routers that are side by side."""

    label: str
    routers: Sequence[int]


@dataclass(frozen=True)
class Timelapse:
    """A chart that `phit.plots.save` writes like any other."""

    title: str
    notes: Sequence[str]
    panels: Mapping[str, pl.DataFrame]
    """Rows by panel, with `t`, `router`, `port`, `phits` and `marked`, which is true if the port is part of a tree."""
    rows: Sequence[Row] = ()
    """Rows from top to bottom; by default those of the layout."""
    layout: Layout | None = None
    """Places of routers; by default rows of equal length in the order of numbers."""
    routers: Mapping[int, str] = field(default_factory=dict)
    """Names of routers, if they have names."""
    unit: str = "cycles"
    """Unit of `t`."""
    amount: str = "phits"
    """The name of the quantity in `phits`."""
    capacity: int = 0
    """Phits of the darkest colour; by default the maximum of any port."""
    busy: tuple[float, float] | None = None
    """Begin and end of the cause of congestion, whose name is `cause`."""
    cause: str = ""
    marks: str = "holds a line of a congestion tree"
    moments: Sequence[float] = ()
    """Times of the frames; by default the times at which any port holds something."""

    def times(self) -> list[float]:
        """Times of the frames."""
        return list(self.moments) or sorted({t for rows in self.panels.values() for t in rows["t"]})

    def svg(self, only: float | None = None) -> str:
        """The animated picture, or one frame of it."""
        return _Picture(self).svg(only)

    def save(self, path: str | Path, **_: Any) -> None:
        """Writes the animated picture (SVG, HTML with a slider) or a frame from its middle (PNG, PDF)."""
        path = Path(path)
        match path.suffix:
            case ".svg":
                write_text(path, plain_lines(self.svg()))
            case ".html":
                write_text(path, plain_lines(_PAGE.format(title=escape(self.title), svg=self.svg())))
            case _:
                import vl_convert

                still = plain_lines(self.svg(self.still()))
                is_pdf = path.suffix == ".pdf"
                content = vl_convert.svg_to_pdf(still) if is_pdf else vl_convert.svg_to_png(still, scale=2)
                write_atomically(path, lambda file: file.write(content))

    def still(self) -> float:
        """Time of the frame that represents all.

        It is the frame with the most ports in trees, or, without trees, with the most occupied ports.
        """
        most: dict[float, tuple[int, int]] = {}
        for rows in self.panels.values():
            for t, marked, phits in rows.group_by("t").agg(pl.col("marked").sum(), pl.col("phits").sum()).iter_rows():
                before = most.get(t, (0, 0))
                most[t] = (before[0] + marked, before[1] + phits)
        return max(self.times(), key=lambda t: most.get(t, (0, 0)))


def of_probes(
    probes: pl.DataFrame, names: Mapping[str, str] | None = None, layout: Layout | None = None
) -> Timelapse | None:
    """The time-lapse of a table of probes, with a panel for each point; `None` without observations of ports.

    Args:
        probes: the table of probes of several points.
        names: names of the points.
        layout: places of the routers of their network.
    """
    if "quantity" not in probes.columns or "port phits" not in probes["quantity"]:
        return None
    frames = port_frames(probes).with_columns(t=pl.col("cycle").cast(pl.Float64), marked=pl.col("lines") > 0)
    if frames.is_empty():
        return None
    named = names or {}
    panels = {named.get(point, point[:8]): rows for (point,), rows in frames.group_by("point", maintain_order=True)}
    note = "each cell is an input port of a router, the first half of them in the lower row"
    moments = [float(cycle) for cycle in moments_of(frames["cycle"])]
    called = probes.select("router", "router_name").unique() if "router_name" in probes.columns else None
    routers = {} if called is None else {router: name for router, name in called.iter_rows() if name is not None}
    return Timelapse("Ports over time", (note,), panels, layout=layout, routers=routers, moments=moments)


def moments_of(cycles: pl.Series) -> list[int]:
    """Times of observations, from the cycles of the rows. Observations of empty ports only have left no rows."""
    seen = cycles.unique().sort().to_list()
    step = math.gcd(*(after - before for before, after in pairwise(seen))) or 1
    return list(range(seen[0], seen[-1] + 1, step))


class _Picture:
    """Places of all elements of the picture."""

    def __init__(self, of: Timelapse) -> None:
        self.of = of
        everything = pl.concat([rows.select("router", "port", "phits") for rows in of.panels.values()])
        seen = dict(everything.group_by("router").agg(pl.col("port").max() + 1).iter_rows())
        self.columns = max(2, math.ceil(max(seen.values(), default=1) / 2))
        self.capacity = of.capacity or max(everything["phits"], default=1) or 1
        places = of.layout.places if of.layout is not None and not of.rows else ()
        self.rows = of.rows or self._rows(max(seen, default=0) + 1, places)
        # Routers of a row are alike, so a port that never holds anything is drawn, too.
        self.ports = [max((seen.get(router, 0) for router in row.routers), default=0) for row in self.rows]
        self.box = (self.columns * (CELL_WIDTH + 1) + 3, 2 * (CELL_HEIGHT + 1) + 3)
        self.pitch = (self.box[0] + 4 * GAP, self.box[1] + 6 * GAP)
        self.left = MARGIN + max((7 * len(row.label) for row in self.rows), default=0)
        if places:
            corners, width, height = spread(places, self.pitch)
        else:
            corners = [
                (i * self.pitch[0], r * self.pitch[1])
                for r, row in enumerate(self.rows)
                for i, _ in enumerate(row.routers)
            ]
            width = max(len(row.routers) for row in self.rows) * self.pitch[0]
            height = len(self.rows) * self.pitch[1]
        self.panel_height = 26 + height + 8
        self.width = max(NARROWEST, self.left + MARGIN + width)
        self.top = 52 + 16 * len(of.notes)
        routers = (router for row in self.rows for router in row.routers)
        self.corners = {router: (self.left + x, 26 + y) for router, (x, y) in zip(routers, corners, strict=True)}
        """The upper left corner of each router, in its panel."""

    def _rows(self, count: int, places: Sequence[tuple[float, float]]) -> list[Row]:
        """Rows of equal length for `count` routers.

        For a graph, whose routers have places, one row with all of them.
        """
        if places:
            return [Row("", range(len(places)))]
        width = self.columns * (CELL_WIDTH + 1) + 3 + 4 * GAP
        if self.of.layout is not None:
            return [Row(label, routers) for label, routers in rows_of(self.of.layout, max(1, WIDEST // width))]
        rows = math.ceil(count / max(1, WIDEST // width))
        length = math.ceil(count / rows)
        ends = [(first, min(first + length, count)) for first in range(0, count, length)]
        return [Row(f"{first} to {end - 1}", range(first, end)) for first, end in ends]

    def cell(self, router: int, port: int) -> tuple[int, int]:
        """The upper left corner of a port: the first half of a router's ports are below, the others above."""
        x, y = self.corners[router]
        above, column = divmod(port, self.columns)
        return x + 2 + column * (CELL_WIDTH + 1), y + 2 + (1 - above) * (CELL_HEIGHT + 1)

    def level(self, phits: int) -> int:
        """The colour of an occupied port."""
        halvings = math.floor(math.log2(self.capacity / min(phits, self.capacity)))
        return max(0, len(PALETTE) - 1 - halvings)

    def svg(self, only: float | None) -> str:
        times = self.of.times()
        still = only if only is not None else self.of.still()
        shown = times if only is None else [only]
        bottom = self.top + len(self.of.panels) * self.panel_height
        height = bottom + 118
        whole = SECONDS * len(times)
        style = f"""text{{font-family:sans-serif;fill:#222}}.f{{visibility:hidden}}.s{{visibility:visible}}
.f path{{fill:none}}.l{{stroke-width:{CELL_HEIGHT}}}.t{{stroke:{TREE};stroke-width:1.6}}"""
        if only is None:
            style += f"""
@keyframes k{{0%{{visibility:visible}}{100 / len(times):.4f}%{{visibility:hidden}}100%{{visibility:hidden}}}}
.f{{animation:k {whole:g}s step-end infinite}}
@media (prefers-reduced-motion:reduce){{.f{{animation:none}}}}"""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" width="{self.width}" '
            f'height="{height}" font-size="12"><title>{escape(self.of.title)}</title><style>{style}</style>'
            f'<rect width="{self.width}" height="{height}" fill="white"/>'
            + _text(MARGIN, 32, self.of.title, size=17, bold=True),
            *(_text(MARGIN, 51 + 16 * i, note, colour="#555") for i, note in enumerate(self.of.notes)),
            *(self.background(i, name) for i, name in enumerate(self.of.panels)),
            self.legend(bottom + 14),
            self.axis(bottom + 66, times),
        ]
        for i, t in enumerate(times):
            if t in shown:
                begin = f' style="animation-delay:{SECONDS * i - whole:.2f}s"' if only is None else ""
                parts.append(f'<g class="f{" s" * (t == still)}" data-t="{t:g}"{begin}>{self.frame(t, bottom)}</g>')
        return "\n".join([*parts, "</svg>\n"])

    def background(self, number: int, name: str) -> str:
        """The elements that do not move: the outlines of the routers and of their ports."""
        y = self.top + number * self.panel_height
        boxes, cells = [], []
        for row, ports in zip(self.rows, self.ports, strict=True):
            for router in row.routers:
                x, top = self.corners[router]
                boxes.append(f"M{x} {top}h{self.box[0]}v{self.box[1]}h-{self.box[0]}z")
                for port in range(ports):
                    cx, cy = self.cell(router, port)
                    cells.append(f"M{cx} {cy + CELL_HEIGHT / 2:g}h{CELL_WIDTH}")
        labels = "".join(self.label(row) for row in self.rows)
        return (
            f'<g transform="translate(0 {y})">{_text(self.left, 16, name, size=14, bold=True)}{labels}'
            f'<path d="{"".join(boxes)}" fill="#f7f7f7" stroke="#bbb"/>'
            f'<path d="{"".join(cells)}" stroke="#e4e4e4" stroke-width="{CELL_HEIGHT}"/></g>'
        )

    def label(self, row: Row) -> str:
        """The label of a row on its left, or the name or number of each of its routers."""
        beside = row.label or len(self.rows) > 1
        said = _text(self.left - 8, self.corners[row.routers[0]][1] + 16, row.label, anchor="end") if beside else ""
        if beside and not self.of.routers:
            return said
        corners = ((router, *self.corners[router]) for router in row.routers)
        return said + "".join(self._name(router, x, y - 2) for router, x, y in corners)

    def _name(self, router: int, x: int, y: int) -> str:
        """The name or number of a router, shortened to the room available; a pointer on it shows all."""
        if (name := self.of.routers.get(router)) is None:
            return _text(x, y, str(router), size=8, colour="#777")
        fits = max(3, self.pitch[0] // 5)
        shown = name if len(name) <= fits else f"{name[: fits - 1]}…"
        return f"<g><title>{escape(name)}</title>{_text(x, y, shown, size=8, colour='#777')}</g>"

    def frame(self, t: float, bottom: int) -> str:
        """The frame at time `t`."""
        parts = [self.cursor(t, bottom + 66)]
        for number, rows in enumerate(self.of.panels.values()):
            now = rows.filter(pl.col("t") == t)
            levels: dict[int, list[str]] = {}
            tree = []
            for router, port, phits, marked in now.select("router", "port", "phits", "marked").iter_rows():
                x, y = self.cell(router, port)
                if phits > 0:
                    levels.setdefault(self.level(phits), []).append(f"M{x} {y + CELL_HEIGHT / 2:g}h{CELL_WIDTH}")
                if marked:
                    tree.append(f"M{x} {y}h{CELL_WIDTH}v{CELL_HEIGHT}h-{CELL_WIDTH}z")
            said = f"{int(now['phits'].sum()):,} {self.of.amount} in all ports"
            if rows["marked"].any():
                said += f", {len(tree)} ports framed"
            full = (
                f'<path class="l" stroke="{PALETTE[level]}" d="{"".join(d)}"/>' for level, d in sorted(levels.items())
            )
            outlines = f'<path class="t" d="{"".join(tree)}"/>' if tree else ""
            parts.append(
                f'<g transform="translate(0 {self.top + number * self.panel_height})">'
                f"{_text(self.width - MARGIN, 16, said, anchor='end')}{''.join(full)}{outlines}</g>"
            )
        return "".join(parts)

    def legend(self, y: int) -> str:
        """The legend of the colours."""
        said = f"{self.of.amount} in a port, up to"
        parts = [_text(MARGIN, y + 12, said)]
        x = MARGIN + 6 * len(said) + 8
        for level, colour in enumerate(PALETTE):
            top = f"{math.ceil(self.capacity / 2 ** (len(PALETTE) - 1 - level)):,}"
            parts.append(f'<rect x="{x}" y="{y + 1}" width="14" height="14" fill="{colour}" stroke="#999"/>')
            parts.append(_text(x + 18, y + 12, top))
            x += 28 + 7 * len(top)
        if any(rows["marked"].any() for rows in self.of.panels.values()):
            square = f'<rect x="{MARGIN + 1}" y="{y + 22}" width="12" height="12" fill="none" stroke="{TREE}" '
            parts.append(f'{square}stroke-width="1.8"/>{_text(MARGIN + 20, y + 32, self.of.marks)}')
        return "".join(parts)

    def at(self, t: float) -> float:
        """The place of a time on the axis."""
        times = self.of.times()
        first, last = times[0], times[-1]
        share = (t - first) / (last - first) if last > first else 0.0
        return MARGIN + 8 + share * (self.width - 2 * MARGIN - 16)

    def axis(self, y: int, times: Sequence[float]) -> str:
        """The axis of time."""
        left, right = self.at(times[0]), self.at(times[-1])
        parts = []
        if self.of.busy is not None:
            begin, end = (self.at(min(max(t, times[0]), times[-1])) for t in self.of.busy)
            bar = f'<rect x="{begin:.1f}" y="{y}" width="{end - begin:.1f}" height="10" fill="#f3c9b5"/>'
            parts.append(bar + _text((begin + end) / 2, y - 4, self.of.cause, anchor="middle", size=11))
        parts.append(f'<path d="M{left:.1f} {y + 10}H{right:.1f}" stroke="#444"/>')
        for tick in _ticks(times[0], times[-1]):
            x = self.at(tick)
            parts.append(f'<path d="M{x:.1f} {y + 10}v5" stroke="#444"/>')
            parts.append(_text(x, y + 28, f"{tick:,g}", anchor="middle", size=11))
        parts.append(_text((left + right) / 2, y + 44, f"Time ({self.of.unit})", anchor="middle"))
        return "".join(parts)

    def cursor(self, t: float, y: int) -> str:
        """The mark of a frame's time on the axis, and the time in figures."""
        x = self.at(t)
        mark = f'<path style="fill:#222" d="M{x:.1f} {y + 11}l-5 -9h10z"/>'
        return mark + _text(self.width - MARGIN, 32, f"t = {t:,g} {self.of.unit}", anchor="end", size=17)


def _text(
    x: float, y: float, said: str, *, anchor: str = "", size: int = 12, bold: bool = False, colour: str = ""
) -> str:
    attributes = {
        "text-anchor": anchor,
        "font-size": str(size) if size != 12 else "",
        "font-weight": "bold" if bold else "",
        "style": f"fill:{colour}" if colour else "",
    }
    given = "".join(f' {name}="{value}"' for name, value in attributes.items() if value)
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(said)}</text>'


def _ticks(first: float, last: float) -> list[float]:
    """Round numbers within a range, about eight of them."""
    span = (last - first) or 1.0
    raw = span / 8
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= raw)
    return [n * step for n in range(math.ceil(first / step), math.floor(last / step) + 1)]


_PAGE = """<!doctype html>
<meta charset="utf-8"><title>{title}</title>
<style>body{{font-family:sans-serif;margin:1em}}svg{{max-width:100%;height:auto}}</style>
{svg}
<p><button id="go">pause</button> <input id="at" type="range" min="0" value="0" style="width:40em"></p>
<script>
const frames = [...document.querySelectorAll(".f")];
const at = document.getElementById("at"), go = document.getElementById("go");
let playing = true, now = 0;
at.max = frames.length - 1;
const show = () => {{
  frames.forEach((f, i) => {{ f.style.animation = "none"; f.style.visibility = i == now ? "visible" : "hidden"; }});
  at.value = now;
}};
const play = (on) => {{ playing = on; go.textContent = on ? "pause" : "play"; }};
at.oninput = () => {{ play(false); now = +at.value; show(); }};
go.onclick = () => play(!playing);
setInterval(() => {{ if (playing) {{ now = (now + 1) % frames.length; show(); }} }}, 350);
show();
</script>
"""
