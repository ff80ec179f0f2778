"""Runs every case and writes what came out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phit.base.errors import InputError
from phit.peers.comparison import Case, Comparison, LeftOut, Verdict, compare
from phit.peers.runs import Runs, answers
from phit.running.where import HERE, Where
from phit.studies.validation import (
    booksim,
    booksim_cascade,
    booksim_fattree,
    control,
    document,
    figures,
    fluid,
    fogsim,
    fogsim5,
    merlin,
    more_settings,
    outflank,
    reference,
    transient,
    transient_figures,
)
from phit.studies.validation.transient import Phase, Transient


@dataclass(frozen=True)
class Report:
    """All comparisons and the files that show them."""

    comparisons: list[Comparison]
    phases: list[Phase]
    written: list[Path]
    left_out: list[LeftOut] = field(default_factory=list)
    """Rows of the tables that Phit cannot be compared with."""

    @property
    def differs(self) -> bool:
        """Whether anything differs more than it may."""
        verdicts = [c.verdict for c in self.comparisons] + [phase.verdict for phase in self.phases]
        return Verdict.DIFFERS in verdicts


FOLDERS = (fluid.FOLDER, fogsim5.FOLDER, control.FOLDER)
"""Folders of cases beside the tables. A folder may have any of them alone."""


def only_folders(folder: Path) -> bool:
    """Whether a folder has folders of cases, and no table of its own."""
    return any((folder / name).is_dir() for name in FOLDERS) and not any(folder.glob("*.csv"))


def cases(folder: Path = reference.FOLDER, *, quick: bool = False) -> list[Case]:
    """The comparisons in steady state; only the cheap ones if `quick`."""
    beside = [*fogsim5.compared(folder)[0], *control.cases(folder)[0]]
    found = [*beside, *([] if only_folders(folder) else _of_tables(folder))]
    return [case for case in found if case.quick or not quick]


def _of_tables(folder: Path) -> tuple[Case, ...]:
    return (
        *fogsim.cases(folder),
        *booksim.cases(folder),
        *booksim_fattree.cases(folder),
        *booksim_cascade.cases(folder),
        *more_settings.cases(folder),
        *outflank.cases(folder),
        *merlin.cases(folder),
    )


def left_out(folder: Path = reference.FOLDER) -> list[LeftOut]:
    """The rows that Phit cannot be compared with, each with its reason."""
    beside = [*fogsim5.compared(folder)[1], *fogsim5.transients(folder)[1], *control.cases(folder)[1]]
    return [*beside, *merlin.left_out(folder)]


def transients(folder: Path = reference.FOLDER, *, quick: bool = False) -> list[Transient]:
    """The comparisons after a change of traffic; only the cheap ones if `quick`."""
    found = [*([] if only_folders(folder) else transient.transients(folder)), *fogsim5.transients(folder)[0]]
    return [change for change in found if change.quick or not quick]


def simulate(
    chosen: Sequence[Case],
    changes: Sequence[Transient] = (),
    *,
    quick: bool = False,
    where: Where = HERE,
    progress: bool = False,
    results: Path | None = None,
) -> tuple[list[Comparison], list[Phase]]:
    """Runs everything that is chosen and compares."""
    found = answers([*changes, *chosen], quick=quick, where=where, progress=progress, results=results)
    phases = [p for change, runs in zip(changes, found, strict=False) for p in transient.compare(change, runs)]
    comparisons = []
    for case, runs in zip(chosen, found[len(changes) :], strict=True):
        comparisons += compare(case, [case.measured(run) for run in runs])
    return comparisons, phases


def validate(
    out: Path,
    *,
    folder: Path = reference.FOLDER,
    quick: bool = False,
    where: Where = HERE,
    progress: bool = False,
    results: Path | None = None,
) -> Report:
    """Runs everything and writes the page `validation.md` and its plots below `out`.

    A shard writes nothing besides its runs, which `results` stores.
    """
    if where.shard is not None:
        if results is None:
            raise InputError("shard (--shard): expected a folder that keeps the runs, results (--results)")
        chosen: list[Runs] = [*transients(folder, quick=quick), *cases(folder, quick=quick)]
        answers(chosen, quick=quick, where=where, progress=progress, results=results)
        return Report([], [], [])
    comparisons, phases = simulate(
        cases(folder, quick=quick),
        transients(folder, quick=quick),
        quick=quick,
        where=where,
        progress=progress,
        results=results,
    )
    comparisons += fluid.comparisons(folder)
    images = out / "images" / "validation"
    drawn = [c for c in comparisons if c.case.simulator not in (control.SIMULATOR, merlin.SIMULATOR)]
    written = [*figures.write(drawn, images), *transient_figures.write(phases, images)]
    beyond = left_out(folder)
    page = document.write(comparisons, phases, written, out / "validation.md", beyond, quick=quick)
    return Report(comparisons, phases, [page, *written], beyond)
