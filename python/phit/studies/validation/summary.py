"""The comparisons in short, for a terminal."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from phit.peers.comparison import NAMES, Comparison, LeftOut, Verdict, signed
from phit.studies.validation.document import limit
from phit.studies.validation.transient import Phase


def left_out_table(left_out: Sequence[LeftOut]) -> Table:
    """The rows of other simulators' tables that are not compared, with the reasons."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="not compared", title_justify="left")
    for heading in ("row", "run", "reason"):
        table.add_column(heading, overflow="fold")
    for one in left_out:
        table.add_row(one.place, one.words, one.reason)
    return table


def rich_table(comparisons: Sequence[Comparison], phases: Sequence[Phase] = ()) -> Table:
    """One line per series and measure: the largest difference among those that are judged, and how many differ."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("simulator", "setting", "measure"):
        table.add_column(heading)
    for heading in ("compared", "largest difference", "tolerance", "differ"):
        table.add_column(heading, justify="right")
    grouped: dict[tuple[str, str, str], list[Comparison]] = {}
    for c in comparisons:
        if c.verdict is not Verdict.SHOWN:
            grouped.setdefault((c.case.simulator, c.case.series, NAMES[c.measure]), []).append(c)
    for key, group in grouped.items():
        worst = max(group, key=lambda c: abs(c.difference))
        differ = sum(c.verdict is not Verdict.AGREES for c in group)
        unexplained = any(c.verdict is Verdict.DIFFERS for c in group)
        limits = sorted({c.tolerance or 0.0 for c in group})
        table.add_row(
            *key,
            str(len(group)),
            signed(worst.measure, worst.difference),
            " or ".join(limit(worst.measure, one) for one in limits),
            str(differ or ""),
            style="bold red" if unexplained else None,
        )
    for phase in phases:
        worst_window = phase.worst
        table.add_row(
            phase.transient.simulator,
            f"{phase.transient.mechanism}, {phase.transient.change}, {phase.name}",
            NAMES[phase.measure],
            str(len(phase.windows)),
            signed(phase.measure, worst_window.difference),
            limit(phase.measure, round(worst_window.limit, 4)),
            str(phase.beyond or ""),
            style="bold red" if phase.verdict is Verdict.DIFFERS else None,
        )
    return table
