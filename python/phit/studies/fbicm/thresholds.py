"""The thresholds that the report leaves open, scanned: FBICM against VOQnet with a hot spot and without."""

from typing import TYPE_CHECKING

import polars as pl

from phit.base.lazily import lazily
from phit.drawing.plots import Chart
from phit.studies.fbicm.load import uniform
from phit.studies.fbicm.paper import named, scenario, steady, study
from phit.studies.fbicm.setting import US, Setting
from phit.studies.fbicm.transient import single
from phit.studies.kit.charts import Charts, beside, finished
from phit.studies.kit.plan import Case, seeds_of

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")


@study.figure(
    "thresholds",
    title="The open thresholds",
    caption="Throughput of FBICM against VOQnet, with a hot spot and without, by detection and Stop threshold.",
    table=steady,
)
def thresholds(setting: Setting, seeds: int | None) -> list[Case]:
    """Case #2, with a shorter time before the hot spot, and case #1 at full load."""
    net = setting.networks[0]
    first, last = setting.scan_hot
    begin = first + (last - first) // 5
    offered = {
        "single": (single(net, setting.scan_hot), {"warmup": begin, "cycles": last - begin}),
        "uniform": (uniform(1.0), {"warmup": setting.warmup, "cycles": setting.warmup}),
    }
    choices = [("FBICM", detection, stop) for detection in setting.scan for stop in setting.scan]
    found = []
    for case, (traffic, measure) in offered.items():
        for scheme, detection, stop in [*choices, ("VOQnet", 0, 0)]:
            changes = {"detection": detection, "stop": stop, "go": stop // 2} if scheme == "FBICM" else {}
            labels = {"network": net.name, "mechanism": scheme, "case": case, "detection": detection, "stop": stop}
            for seed in seeds_of(seeds, setting.seeds):
                run = scenario(net, scheme, traffic, measure, seed, **changes)
                found.append(Case({**labels, "seed": seed}, run))
    return found


SCANNED = {"single": "single hot spot", "uniform": "uniform traffic at full load"}
"""The cases of the scan."""


@thresholds.draw
def _charts(table: pl.DataFrame, setting: Setting) -> Charts:
    """Throughput relative to VOQnet's."""
    first, last = setting.scan_hot
    notes = (
        f"{named(setting, table['network'][0])}; FBICM relative to VOQnet, one seed",
        f"hot spot from {first / US:g} to {last / US:g} µs, mean from the time a fifth of it is over",
    )
    panels = [_panel(table.filter(pl.col("case") == case), title) for case, title in SCANNED.items()]
    return {"thresholds": finished(beside(*panels), "Thresholds of FBICM", notes)}


def _panel(table: pl.DataFrame, title: str) -> Chart:
    reference = table.filter(pl.col("mechanism") == "VOQnet")["accepted_load"]
    percent = 100 * (pl.col("accepted_load") / (reference[0] if len(reference) else 1.0) - 1)
    rows = table.filter(pl.col("mechanism") == "FBICM").with_columns(percent=percent)
    base = alt.Chart(rows).encode(
        alt.X("stop:O", title="Stop (bytes in a CFQ); Go at half of it", axis=alt.Axis(labelAngle=0)),
        alt.Y("detection:O", title="Detection (bytes in the NFQ)", sort="descending"),
    )
    scale = alt.Scale(scheme="viridis", domain=[-8, 0], clamp=True)
    cells = base.mark_rect().encode(alt.Color("percent:Q", title="Percent", scale=scale))
    ink = alt.condition(alt.datum.percent > -3.0, alt.value("black"), alt.value("white"))
    text = base.mark_text(fontSize=13).encode(alt.Text("percent:Q", format="+.1f"), color=ink)
    return (cells + text).properties(width=330, height=240, title=alt.TitleParams(title, anchor="middle", fontSize=14))
