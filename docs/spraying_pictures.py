"""Draws the picture of the page of spraying from its table: python docs/spraying_pictures.py."""

import re
from pathlib import Path

import altair as alt
import polars as pl
from phit.drawing import plots

DOCS = Path(__file__).resolve().parent
ROW = re.compile(r"\| (\d+ MB) \| `([^`]+)` \| ([\d.]+) \|.*\| (\d+) \|")


def main() -> None:
    """One point for each rule and size of messages."""
    rows = [match.groups() for match in ROW.finditer((DOCS / "spraying.md").read_text(encoding="utf-8"))]
    table = pl.DataFrame(
        [(size, rule, float(tail), int(waiting)) for size, rule, tail, waiting in rows if rule != "flow"],
        schema=["message", "rule", "tail", "waiting"],
        orient="row",
    )
    base = alt.Chart(table).encode(
        alt.X("tail:Q", title="Last message, over one alone").scale(domain=(1, 2)),
        alt.Y("waiting:Q", title="Packets that wait at one receiver"),
        alt.Color("rule:N", title="Rule"),
    )
    lines = base.mark_line(opacity=0.4).encode(alt.Detail("rule:N"), alt.Order("waiting:Q"))
    points = base.mark_point(filled=True, size=90).encode(alt.Shape("message:N", title="Message"))
    chart = (lines + points).properties(width=520, height=340)
    folder = DOCS / "images" / "spraying"
    folder.mkdir(parents=True, exist_ok=True)
    note = "1,024 endpoints of a leaf-spine network. ECMP: 5.2 to 5.8 times as long, no packet waits"
    plots.save(plots.styled(chart, "Fast spraying needs little memory", note), folder / "rules", ["svg"])


if __name__ == "__main__":
    main()
