"""The fluid network's max-min rule against SimGrid and an exact solver, flow by flow.

The folder `fluid` of the reference data has `cases/*.json` (links, and flows with explicit routes), `results.csv` (the
end of every flow), and, if they are there, `rates.csv` (the rate of every flow with all of them active at once) and
`proof.csv` (ends found by hand).
"""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import phit._phit as _phit
from phit.base.errors import InputError
from phit.peers.comparison import FLUID, Case, Comparison, Verdict
from phit.studies.validation.reference import Row, rows

FOLDER = "fluid"
"""Where the cases stand below the folder of the other simulators' numbers."""

SIMULATOR = "SimGrid"

Numbers = Mapping[str, Mapping[str, float]]
"""By case and flow."""


def comparisons(folder: Path) -> list[Comparison]:
    """Every case of `folder`/fluid, with the flow that differs most; nothing if there is no such folder.

    Raises:
        InputError: a file cannot be read, or a case has no results.
    """
    place = folder / FOLDER
    if not place.is_dir():
        return []
    known = {
        "exact": _numbers(place, "results.csv", "finish_exact"),
        "SimGrid": _numbers(place, "results.csv", "finish_simgrid"),
        "by hand": _numbers(place, "proof.csv", "by_hand") if (place / "proof.csv").exists() else {},
    }
    rates = _numbers(place, "rates.csv", "rate") if (place / "rates.csv").exists() else {}
    found = []
    for path in sorted((place / "cases").glob("*.json")):
        name, kind, ends, active = _solved(path)
        if name not in known["exact"]:
            raise InputError(f"{place / 'results.csv'}: has no row of the case {name!r}, which {path.name} describes")
        for source, numbers in known.items():
            if name in numbers:
                found.append(_worst(kind, f"{name}, {source}", "flow_end", numbers[name], ends, path))
        if name in rates:
            found.append(_worst(kind, name, "flow_rate", rates[name], active, path))
    if not found:
        raise InputError(f"{place / 'cases'}: expected cases, files that end in .json")
    return found


def _numbers(place: Path, name: str, column: str) -> Numbers:
    """A column of a table, by case and flow: as a ratio where the table has one, or else as a number."""
    found: dict[str, dict[str, float]] = {}
    for row in rows(place, name):
        try:
            if row.get(column):
                found.setdefault(row["case"], {})[row["flow"]] = _number(row, column)
        except (KeyError, ValueError, ZeroDivisionError) as error:
            raise InputError(f"{place / name}: expected case, flow and {column} in {row} ({error})") from None
    return found


def _number(row: Row, column: str) -> float:
    return float(Fraction(row.get(f"{column}_ratio") or row[column]))


def _solved(path: Path) -> tuple[str, str, Mapping[str, float], Mapping[str, float]]:
    """Name and kind of a case, and the end and the rate of every flow."""
    try:
        text = path.read_text(encoding="utf-8")
        case: dict[str, Any] = json.loads(text)
        flows = [str(flow["id"]) for flow in case["flows"]]
        name, kind = str(case["name"]), str(case.get("kind", "case"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: expected a case, a table with name, links and flows ({error!r})") from None
    try:
        solved = json.loads(_phit.fluid_case(text, "max_min", False))
    except _phit.PhitError as error:
        raise InputError(f"{path}: {error}") from None
    ends, rates = (dict(zip(flows, solved[key], strict=True)) for key in ("ends", "rates"))
    return name, kind, ends, rates


def _worst(
    kind: str, setting: str, measure: str, theirs: Mapping[str, float], ours: Mapping[str, float], path: Path
) -> Comparison:
    """The flow of a case that differs most."""

    def differences() -> Iterator[tuple[float, str]]:
        for flow, value in theirs.items():
            if flow not in ours:
                raise InputError(f"{path}: has no flow {flow}, of which a table has a result")
            yield abs(ours[flow] - value) / max(abs(value), 1.0), flow

    difference, flow = max(differences())
    case = Case(SIMULATOR, kind.replace("_", " "), 0.0, {}, {}, {measure: FLUID}, setting=f"{setting}, flow {flow}")
    verdict = Verdict.AGREES if difference <= FLUID else Verdict.DIFFERS
    return Comparison(case, measure, theirs[flow], ours[flow], 0.0, FLUID, verdict)
