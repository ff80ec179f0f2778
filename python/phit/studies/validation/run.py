"""Runs every case and writes what came out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phit.base.errors import InputError
from phit.peers.comparison import Case, Comparison, Verdict, compare
from phit.peers.runs import Runs, answers
from phit.running.where import HERE, Where
from phit.studies.validation import (
    booksim,
    booksim_cascade,
    booksim_fattree,
    document,
    figures,
    fluid,
    fogsim,
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

    @property
    def differs(self) -> bool:
        """Whether anything differs more than it may."""
        verdicts = [c.verdict for c in self.comparisons] + [phase.verdict for phase in self.phases]
        return Verdict.DIFFERS in verdicts


def only_fluid(folder: Path) -> bool:
    """Whether a folder has cases of the fluid network, and no table of another simulator."""
    return (folder / fluid.FOLDER).is_dir() and not any(folder.glob("*.csv"))


def cases(folder: Path = reference.FOLDER, *, quick: bool = False) -> list[Case]:
    """The comparisons in steady state; only the cheap ones if `quick`."""
    if only_fluid(folder):
        return []
    found = (
        *fogsim.cases(folder),
        *booksim.cases(folder),
        *booksim_fattree.cases(folder),
        *booksim_cascade.cases(folder),
        *more_settings.cases(folder),
        *outflank.cases(folder),
    )
    return [case for case in found if case.quick or not quick]


def transients(folder: Path = reference.FOLDER, *, quick: bool = False) -> list[Transient]:
    """The comparisons after a change of traffic; only the cheap ones if `quick`."""
    if only_fluid(folder):
        return []
    return [found for found in transient.transients(folder) if found.quick or not quick]


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
    written = [*figures.write(comparisons, images), *transient_figures.write(phases, images)]
    page = document.write(comparisons, phases, written, out / "validation.md", quick=quick)
    return Report(comparisons, phases, [page, *written])
