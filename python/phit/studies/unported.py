"""Registers figures and claims that are still in lists, each with its parts in other files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phit.studies.kit.study import AnyStudy


@dataclass(frozen=True)
class Figure:
    """A figure as a line of a list."""

    name: str
    title: str
    caption: str
    cases: Callable[..., Any]
    table: Callable[..., Any]
    draw: Callable[..., Any]
    parts: tuple[str, ...] = ()
    is_table: bool = False
    text: Callable[..., str] | None = None


@dataclass(frozen=True)
class Claim:
    """A claim as a line of a list."""

    id: str
    figure: str
    statement: str
    paper: str
    check: Callable[[Any], Any]


def adopt(study: AnyStudy, figures: Sequence[Figure], claims: Sequence[Claim], remarks: Mapping[str, str]) -> None:
    """Registers all of them."""
    for one in figures:
        study.figure(
            one.name,
            title=one.title,
            caption=one.caption,
            parts=one.parts,
            is_table=one.is_table,
            table=one.table,
            draw=one.draw,
            text=one.text,
        )(one.cases)
    for claim in claims:
        study.claim(
            claim.id,
            figure=claim.figure,
            statement=claim.statement,
            paper=claim.paper,
            remark=remarks.get(claim.id, ""),
        )(claim.check)
