"""The studies that `phit reproduce` knows: every folder beside this file that has a `paper.py`, or a `question.py`.

They are listed without being imported: the command line names them in its help.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from phit import studies
from phit.base.errors import InputError
from phit.base.nearest import hint

if TYPE_CHECKING:
    from phit.studies.kit.study import AnyStudy, CostModel


SUBJECTS = {"paper", "question"}
"""Modules that make a folder a study: of a paper, or of a question of our own."""


def names() -> list[str]:
    """The studies, in alphabetical order."""
    return [name for name, modules in _folders() if SUBJECTS & modules]


def with_costs() -> list[str]:
    """The studies that have a cost model, which is their `cost.py`."""
    return [name for name, modules in _folders() if SUBJECTS & modules and "cost" in modules]


def _folders() -> list[tuple[str, set[str]]]:
    """The folders beside this file, with the names of their modules."""
    return [
        (folder.name, {module.name for path in studies.__path__ for module in iter_modules([f"{path}/{folder.name}"])})
        for folder in sorted(iter_modules(studies.__path__), key=lambda found: found.name)
        if folder.ispkg
    ]


def find(name: str) -> "AnyStudy":
    """The study of that name."""
    known = names()
    if name not in known:
        raise InputError(f"{name!r}: no such study; expected one of {', '.join(known)}{hint(name, known)}")
    study: AnyStudy = import_module(f"phit.studies.{name}").study
    return study


def cost_model(name: str) -> "CostModel":
    """The cost model of the study of that name: a function of a scenario, or of `None` for the paper's network."""
    study = find(name)
    if study.cost is None:
        raise InputError(f"{name!r}: this study has no cost model")
    return study.cost
