"""The papers that `phit reproduce` knows: one line each."""

from collections.abc import Callable
from importlib import import_module

from phit.errors import InputError
from phit.scenario import Document, hint
from phit.studies.study import Cost, Study

STUDIES = {
    "contention": "phit.studies.contention",
    "clos": "phit.studies.clos",
    "tpr": "phit.studies.tpr",
    "outflank": "phit.studies.outflank",
    "fbicm": "phit.studies.fbicm",
}
"""Module of each study, whose `STUDY` describes it."""


def find(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise InputError(f"{name!r}: no such study; expected one of {', '.join(STUDIES)}{hint(name, STUDIES)}")
    study: Study = import_module(STUDIES[name]).STUDY
    return study


def cost_model(name: str) -> Callable[[Document | None], Cost]:
    """The cost model of the study of that name: a function of a scenario, or of `None` for the paper's network."""
    study = find(name)
    if study.cost is None:
        raise InputError(f"{name!r}: this study has no cost model")
    return study.cost
