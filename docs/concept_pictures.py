"""Draws the pictures of the page of concepts: python docs/concept_pictures.py.

The last picture is run here; the others are drawn from coordinates.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as Xml

import altair as alt
import phit
import polars as pl
from phit.document import Document
from phit.drawing import plots

IMAGES = Path(__file__).resolve().parent / "images" / "concepts"

INK, PALE, PAPER = "#1f2937", "#9ca3af", "#ffffff"
BLUE, ORANGE, GREEN = plots.COLOURS[:3]

Point = tuple[float, float]


class Drawing:
    """An SVG of the given pixels, on white, so that it can be read on a dark page, too."""

    def __init__(self, width: float, height: float) -> None:
        self.root = Xml.Element(
            "svg",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:g} {height:g}",
            width=f"{width:g}",
            height=f"{height:g}",
        )
        self.root.set("font-family", "sans-serif")
        marker = Xml.SubElement(Xml.SubElement(self.root, "defs"), "marker", id="head", viewBox="0 0 8 8", refX="7")
        for name, value in {"refY": "4", "markerWidth": "7", "markerHeight": "7", "orient": "auto"}.items():
            marker.set(name, value)
        Xml.SubElement(marker, "path", d="M0,0 L8,4 L0,8 z", fill=INK)
        self.box(0, 0, width, height, PAPER, stroke="none")

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, *, stroke: str = INK, round_: float = 3
    ) -> None:
        """A rectangle."""
        place = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}", "rx": f"{round_:g}"}
        Xml.SubElement(self.root, "rect", {**place, "fill": fill, "stroke": stroke})

    def line(self, a: Point, b: Point, colour: str = PALE, width: float = 1.5, *, arrow: bool = False) -> None:
        """A straight line, perhaps with a head."""
        place = {"x1": f"{a[0]:.1f}", "y1": f"{a[1]:.1f}", "x2": f"{b[0]:.1f}", "y2": f"{b[1]:.1f}"}
        drawn = Xml.SubElement(self.root, "line", {**place, "stroke": colour, "stroke-width": f"{width:g}"})
        if arrow:
            drawn.set("marker-end", "url(#head)")

    def dot(self, at: Point, radius: float, fill: str, stroke: str = INK) -> None:
        """A circle."""
        Xml.SubElement(self.root, "circle", cx=f"{at[0]:.1f}", cy=f"{at[1]:.1f}", r=f"{radius:g}", fill=fill).set(
            "stroke", stroke
        )

    def text(self, at: Point, words: str, *, size: float = 13, anchor: str = "middle", fill: str = INK) -> None:
        """A line of text."""
        label = Xml.SubElement(self.root, "text", x=f"{at[0]:.1f}", y=f"{at[1]:.1f}", fill=fill)
        label.set("font-size", f"{size:g}")
        label.set("text-anchor", anchor)
        label.text = words

    def save(self, name: str) -> None:
        """Writes the file."""
        IMAGES.mkdir(parents=True, exist_ok=True)
        Xml.indent(self.root)
        (IMAGES / f"{name}.svg").write_text(Xml.tostring(self.root, encoding="unicode") + "\n", encoding="utf-8")


def sizes() -> None:
    """A message of two packets of two flits of four phits."""
    picture = Drawing(600, 210)
    phit_width, left = 32.0, 44.0
    for packet in range(2):
        start = left + packet * (8 * phit_width + 16)
        picture.box(start - 4, 62, 8 * phit_width + 8, 66, "#f3f4f6")
        for number in range(8):
            colour = (BLUE, ORANGE)[number // 4]
            picture.box(start + number * phit_width, 70, phit_width, 36, colour, stroke=PAPER)
        picture.text((start + 2 * phit_width, 121), "head flit", size=11)
        picture.text((start + 6 * phit_width, 121), "tail flit", size=11)
        picture.text((start + 4 * phit_width, 146), f"packet {packet + 1}")
    picture.box(left - 12, 44, 16 * phit_width + 40, 114, "none")
    picture.text((left + 8 * phit_width + 8, 182), "message")
    picture.text((left + phit_width / 2, 32), "phit", anchor="start")
    picture.line((left + phit_width / 2 - 4, 28), (left + phit_width / 2 - 4, 68), INK, arrow=True)
    picture.save("sizes")


def router() -> None:
    """One link, the router behind it and what comes back."""
    picture = Drawing(640, 250)
    for port in range(2):
        top = 56 + port * 92
        for channel in range(2):
            y = top + channel * 30
            picture.box(150, y, 112, 22, "#eef2ff")
            for slot in range((3, 1, 2, 0)[2 * port + channel]):
                picture.box(242 - slot * 20, y + 3, 16, 16, (BLUE, ORANGE, GREEN)[(slot + port) % 3], stroke="none")
            picture.line((262, y + 11), (330, y + 11))
        picture.line((30, top + 26), (146, top + 26), INK, 2, arrow=True)
        picture.text((88, top + 18), "link")
    picture.box(330, 46, 90, 160, "#f3f4f6")
    picture.text((375, 122), "crossbar")
    picture.text((375, 140), "(allocator)", size=11)
    for port in range(2):
        y = 78 + port * 92
        picture.line((420, y + 4), (456, y + 4))
        picture.box(456, y - 8, 70, 24, "#eef2ff")
        picture.line((526, y + 4), (610, y + 4), INK, 2, arrow=True)
        picture.text((568, y - 4), "link")
    picture.text((206, 40), "input buffers: two virtual channels a port")
    picture.text((491, 60), "output buffer")
    picture.line((146, 190), (30, 190), ORANGE, 2, arrow=True)
    picture.text((88, 208), "credits", fill=ORANGE)
    picture.text((320, 243), "a credit goes back for each flit that leaves its buffer", size=12)
    picture.save("router")


GROUPS, ROUTERS = 5, 4
"""The balanced Dragonfly of one global link a router: a = 4, h = 1, so 5 groups."""


def _routers(centre: Point, radius: float, inner: float) -> list[list[Point]]:
    """Places of routers by group: groups on a circle, their routers on small ones."""
    places = []
    for group in range(GROUPS):
        angle = 2 * math.pi * group / GROUPS - math.pi / 2
        middle = (centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle))
        places.append(
            [
                (middle[0] + inner * math.cos(turn), middle[1] + inner * math.sin(turn))
                for turn in (angle + math.pi / 4 + 2 * math.pi * router / ROUTERS for router in range(ROUTERS))
            ]
        )
    return places


def _global_links() -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
    """Group and router at both ends: router r of group g leads to group g + r + 1."""
    for group in range(GROUPS):
        for router_ in range(ROUTERS):
            other = (group + router_ + 1) % GROUPS
            if group < other:
                yield (group, router_), (other, (group - other - 1) % GROUPS)


def dragonfly(name: str, *, attacked: bool) -> None:
    """Groups, routers and endpoints; with the links that ADV+1 attacks."""
    picture = Drawing(560, 490)
    centre = (280.0, 262.0)
    places = _routers(centre, 150, 38)
    for (group, router_), (other, far) in _global_links():
        busy = attacked and (other - group) % GROUPS in (1, GROUPS - 1)
        picture.line(places[group][router_], places[other][far], ORANGE if busy else PALE, 4 if busy else 1.5)
    for group, routers in enumerate(places):
        for i, a in enumerate(routers):
            for b in routers[i + 1 :]:
                picture.line(a, b, BLUE)
        middle = (sum(x for x, _ in routers) / ROUTERS, sum(y for _, y in routers) / ROUTERS)
        for x, y in routers:
            away = math.atan2(y - middle[1], x - middle[0])
            for side in (-0.95, 0.95):
                end = (x + 26 * math.cos(away + side), y + 26 * math.sin(away + side))
                picture.line((x, y), end)
                picture.dot(end, 4, PAPER)
            picture.dot((x, y), 8, GREEN)
        outward = math.atan2(middle[1] - centre[1], middle[0] - centre[0])
        at = (middle[0] + 84 * math.cos(outward), middle[1] + 84 * math.sin(outward) + 4)
        picture.text(at, f"group {group}")
    if attacked:
        picture.box(186, 238, 188, 46, PAPER, stroke="none")
        picture.text((280, 258), "each group sends all it has")
        picture.text((280, 276), "to the next one")
    else:
        picture.text((14, 24), "p = 2 endpoints a router,", anchor="start", size=12)
        picture.text((14, 40), "a = 4 routers a group,", anchor="start", size=12)
        picture.text((14, 56), "h = 1 global link a router", anchor="start", size=12)
    picture.save(name)


LOADS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)


def _scenario(routing: str, load: float) -> Document:
    return {
        "topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2},
        "router": {
            "latency": 5,
            "speedup": 2,
            "links": {
                "local": {"latency": 10, "vcs": 4, "buffer": 32},
                "global": {"latency": 100, "vcs": 2, "buffer": 256},
            },
        },
        "routing": routing,
        "traffic": {"pattern": "uniform", "load": load, "packet_size": 8},
        "measure": {"warmup": 3000, "cycles": 6000},
    }


def saturation() -> None:
    """Latency and accepted load of a small Dragonfly, minimal and Valiant routes."""
    rows = [
        {
            "routing": words,
            "offered": load,
            "accepted": (found := phit.run(_scenario(routing, load)))["accepted_load"],
            "latency": None if found["saturated"] else found["latency_mean"],
        }
        for routing, words in (("minimal", "minimal"), ("valiant", "Valiant"))
        for load in LOADS
    ]
    shared = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X("offered", title="Offered load (phits/(endpoint·cycle))"),
        color=alt.Color("routing", title=None, scale=alt.Scale(range=[BLUE, ORANGE])),
    )
    left = shared.mark_line(point=True).encode(y=alt.Y("latency", title="Mean packet latency (cycles)"))
    right = shared.mark_line(point=True).encode(y=alt.Y("accepted", title="Accepted load"))
    size = {"width": 250, "height": 210}
    plots.save(alt.hconcat(left.properties(**size), right.properties(**size)), IMAGES / "saturation", ["svg"])


if __name__ == "__main__":
    sizes()
    router()
    dragonfly("dragonfly", attacked=False)
    dragonfly("adversarial", attacked=True)
    saturation()
