"""Converts lists of experiments: each becomes a list of `[sweep]`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.document import Document
from phit.importing.caminos.grammar import Experiments, Record, shown
from phit.importing.caminos.scenario import translate
from phit.importing.found import Findings, Imported
from phit.importing.settings import Setting

MOST = 1 << 12
"""Maximum number of values of a list of experiments."""

WHOLE = ("topology", "routing", "traffic.pattern", "traffic.changes")
"""Tables that are replaced as a whole."""


def experiment(configuration: Record, files: Sequence[Path]) -> Imported:
    """The scenario of the first value in each list, with a `[sweep]` over all values."""
    groups = _groups(configuration)
    first = [0] * len(groups)
    findings = _translated(configuration, groups, first)
    if findings.errors:
        return findings.finished("caminos", files)
    base = _flat(findings.document)
    for number, group in enumerate(groups):
        alternatives = []
        for place in range(len(group[0].values)):
            other = _translated(configuration, groups, [place if n == number else 0 for n in range(len(groups))])
            if other.errors:
                return other.finished("caminos", files)
            alternatives.append(_flat(other.document))
        _sweep(findings, base, group[0], alternatives)
    _check(configuration, groups, findings)
    return findings.finished("caminos", files)


def _groups(configuration: Record) -> list[list[Experiments]]:
    """The lists of experiments, grouped by name."""
    found: dict[object, list[Experiments]] = {}
    for each in _lists(configuration):
        if not each.values or len(each.values) > MOST:
            raise InputError(f"{each.place}: expected 1 to {MOST:,} values in a list of experiments")
        group = found.setdefault(each.name or id(each), [])
        group.append(each)
        if len(each.values) != len(group[0].values):
            raise InputError(f"{each.place}: expected {len(group[0].values)} values, as in the list of the same name")
    return list(found.values())


def _lists(value: Any) -> Iterator[Experiments]:
    if isinstance(value, Record):
        for _, inner, _ in value.members:
            yield from _lists(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _lists(inner)
    elif isinstance(value, Experiments):
        if any(True for inner in value.values for _ in _lists(inner)):
            raise InputError(f"{value.place}: expected no list of experiments within another")
        yield value


def _translated(configuration: Record, groups: list[list[Experiments]], places: list[int]) -> Findings:
    chosen = {id(each): each.values[place] for group, place in zip(groups, places, strict=True) for each in group}
    findings = Findings()
    translate(_with(configuration, chosen), findings)
    return findings


def _with(value: Any, chosen: dict[int, Any]) -> Any:
    """The value with the chosen alternative of each list of experiments."""
    if isinstance(value, Experiments):
        return chosen[id(value)]
    if isinstance(value, list):
        return [_with(inner, chosen) for inner in value]
    if isinstance(value, Record):
        members = tuple((key, _with(inner, chosen), place) for key, inner, place in value.members)
        return Record(value.name, members, value.place)
    return value


def _flat(document: Document, path: str = "") -> dict[str, Any]:
    """The values of a document by their dotted paths."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        here = f"{path}.{key}" if path else key
        if isinstance(value, dict) and here not in WHOLE:
            found |= _flat(value, here)
        else:
            found[here] = value
    return found


def _sweep(findings: Findings, base: dict[str, Any], first: Experiments, alternatives: list[dict[str, Any]]) -> None:
    """Puts one list of experiments into the sweep."""
    changing = [path for path in base if any(other.get(path) != base[path] for other in alternatives)]
    setting = Setting("list", shown(first), first.place)
    if any(other.keys() != base.keys() for other in alternatives):
        findings.refuse(setting, "cannot be expressed: its values need different keys of a scenario")
    elif changing == ["seed"]:
        findings.put("sweep.seeds", [other["seed"] for other in alternatives], shown(first))
    elif len(changing) == 1:
        product = findings.document.setdefault("sweep", {}).setdefault("product", {})
        product[changing[0]] = [other[changing[0]] for other in alternatives]
    elif changing:
        zipped = {path: [other[path] for other in alternatives] for path in changing}
        findings.document.setdefault("sweep", {}).setdefault("zip", []).append(zipped)


def _check(configuration: Record, groups: list[list[Experiments]], findings: Findings) -> None:
    """Refuses lists that depend on each other: the sweep must reproduce the scenario of the last value in each list."""
    if not groups or findings.errors:
        return
    last = _translated(configuration, groups, [len(group[0].values) - 1 for group in groups])
    sweep = findings.document.get("sweep", {})
    made = _flat({key: value for key, value in findings.document.items() if key != "sweep"})
    for lists in (sweep.get("product", {}), *sweep.get("zip", [])):
        made |= {path: values[-1] for path, values in lists.items()}
    if "seeds" in sweep:
        made["seed"] = sweep["seeds"][-1]
    if last.errors or made != _flat(last.document):
        place = groups[-1][0].place
        findings.refuse(
            Setting("lists", "![...]", place), "cannot be expressed: the meaning of one list depends on another"
        )
