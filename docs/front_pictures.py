"""Draws the pictures of the front page: python docs/front_pictures.py.

One Dragonfly of 72 endpoints under adversarial traffic, under three routing mechanisms. The colour of a link is the
share of the time for which it carried phits in a run.
"""

import math
from pathlib import Path
from xml.etree import ElementTree as Xml

import phit
from phit.base.files import write_text
from phit.document.loading import load

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images" / "front"

MECHANISMS = {"minimal": "Minimal", "valiant": "Valiant", "olm": "OLM, adaptive"}
GROUPS, ROUTERS = 9, 4
LOAD = 0.35

PALETTE = ((38, 44, 58), (92, 32, 107), (187, 55, 84), (249, 142, 9), (252, 255, 164))
"""From an idle link to one that is never idle."""

BACKGROUND, INK, PALE = "#14181f", "#f1f3f5", "#9aa4b2"
SIDE, FOOT = 320, 74

Point = tuple[float, float]


def colour(share: float) -> str:
    """The colour of a link that is used for a share of the time."""
    place = min(max(share, 0.0), 1.0) * (len(PALETTE) - 1)
    low = min(int(place), len(PALETTE) - 2)
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(PALETTE[low], PALETTE[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def places() -> list[Point]:
    """Where the routers are: groups on a circle, each group's routers on a small one."""
    found = []
    for group in range(GROUPS):
        angle = 2 * math.pi * group / GROUPS - math.pi / 2
        x, y = SIDE / 2 + 118 * math.cos(angle), SIDE / 2 + 118 * math.sin(angle)
        for router in range(ROUTERS):
            turn = angle + math.pi / 4 + 2 * math.pi * router / ROUTERS
            found.append((x + 22 * math.cos(turn), y + 22 * math.sin(turn)))
    return found


def bent(a: Point, b: Point, bend: float) -> str:
    """A curve between two places that bends towards the middle of the picture, for both directions side by side."""
    x, y = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
    x, y = x + (SIDE / 2 - x) * bend, y + (SIDE / 2 - y) * bend
    return f"M{a[0]:.1f},{a[1]:.1f} Q{x:.1f},{y:.1f} {b[0]:.1f},{b[1]:.1f}"


def picture(name: str, result: phit.Result) -> str:
    """The picture of one run."""
    height = SIDE + FOOT
    root = Xml.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {SIDE} {height}")
    root.set("font-family", "sans-serif")
    root.set("role", "img")
    accepted, latency = f"{result.accepted_load:.2f}", f"{result.latency_mean:,.0f}"
    Xml.SubElement(
        root, "title"
    ).text = (
        f"{name} routing of adversarial traffic at a load of {LOAD}: accepted load {accepted}, latency {latency} cycles"
    )
    Xml.SubElement(root, "rect", width=f"{SIDE}", height=f"{height}", rx="10", fill=BACKGROUND)
    at = places()
    links = result.tables["links"].filter(result.tables["links"]["class"] != "endpoint").sort("utilisation")
    for router, class_, to, share in links.select("router", "class", "to", "utilisation").rows():
        other = int(to.removeprefix("router "))
        width = (0.5 if class_ == "global" else 0.8) + 2.2 * share
        bend = 0.0 if class_ == "local" else 0.35 if router < other else 0.5
        drawn = {"d": bent(at[router], at[other], bend), "stroke": colour(share), "stroke-width": f"{width:.2f}"}
        Xml.SubElement(root, "path", {"fill": "none", "stroke-linecap": "round", **drawn})
    for x, y in at:
        Xml.SubElement(root, "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.6", fill=INK)
    for y, words, size, fill in (
        (SIDE + 14, name, 21, INK),
        (SIDE + 40, f"accepts {accepted} of {LOAD}", 17, INK),
        (SIDE + 61, f"latency {latency} cycles", 15, PALE),
    ):
        label = Xml.SubElement(root, "text", x=f"{SIDE / 2}", y=f"{y}", fill=fill)
        label.set("font-size", f"{size}")
        label.set("text-anchor", "middle")
        label.text = words
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode") + "\n"


def run(kind: str) -> phit.Result:
    """The run of one mechanism."""
    document = {key: value for key, value in load(ROOT / "examples" / "dragonfly_smoke.toml").items() if key != "sweep"}
    document["traffic"] = {"pattern": {"kind": "adversarial", "offset": 1}, "load": LOAD, "packet_size": 8}
    document["measure"] = {"warmup": 2000, "cycles": 6000, "links": True}
    return phit.run(document | {"routing": kind})


def pictures() -> dict[str, str]:
    """All pictures, by the names of their files."""
    return {f"{kind}.svg": picture(name, run(kind)) for kind, name in MECHANISMS.items()}


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    for file, text in pictures().items():
        write_text(IMAGES / file, text)
