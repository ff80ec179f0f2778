"""Compares two sets of results: the differences of their scenarios, and of their numbers with significance.

A mean over seeds has the standard error of independent runs. A single run has the standard error of its own interval,
for quantities with an interval; without one, nothing is decided. Means differ if Welch's test says so, at 5 % over all
points of a quantity together (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 1979).
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from phit.base.errors import InputError, ResultsError
from phit.base.text import shortened
from phit.document import Document
from phit.document.experiment import label
from phit.document.labels import label_of
from phit.document.loading import load
from phit.document.paths import flatten
from phit.drawing.report import Folder
from phit.drawing.short import readable_cell
from phit.running.run import run
from phit.store.folder import MANIFEST, POINTS
from phit.store.quantities import QUANTITIES, Quantity, error_of
from phit.store.stored import read_point

LEVEL = 0.05
"""Probability that any point of a quantity is said to differ although none does."""

SEED = "seed"

MOST_VALUES = 6
"""Maximum number of values of a key in a table for people."""

Key = tuple[tuple[str, str], ...]
"""Keys with their values, by which a point is found on the other side."""

WORDS = {
    "higher": "higher in B",
    "lower": "lower in B",
    "same": "the same",
    "open": "not told apart",
    "undecided": "undecided",
}
"""Verdicts on a quantity of a point, in words."""


@dataclass(frozen=True)
class Difference:
    """A key whose values differ between the two sides."""

    key: str
    a: tuple[Any, ...]
    """Its values in A, each once; `None` if a scenario lacks it."""
    b: tuple[Any, ...]


@dataclass(frozen=True)
class Comparison:
    """The outcome of a comparison."""

    scenario: tuple[Difference, ...]
    """Keys that are constant on each side and differ, then keys that vary and have other values."""
    results: pl.DataFrame
    """A row per quantity and point that both sides have.

    Columns: the keys that distinguish points; `quantity`; the means `a` and `b`; their `difference`, b - a; the
    difference `relative` to a; the `half_width` of its 95 % interval; `p` of Welch's test; and `verdict`: higher,
    lower, same (exactly), open (not distinguishable) or undecided (a mean has no interval; `reason` says which, and
    why).
    """
    keys: tuple[str, ...]
    """Columns of `results` that distinguish points."""
    unmatched: tuple[int, int]
    """Numbers of points of A and of B that the other side lacks."""

    def tally(self, quantity: str) -> dict[str, int]:
        """The number of points with each verdict."""
        counts = self.results.filter(pl.col("quantity") == quantity)["verdict"].value_counts()
        found = dict(counts.iter_rows())
        return {verdict: found[verdict] for verdict in WORDS if verdict in found}

    def to_dict(self) -> dict[str, Any]:
        """The comparison for JSON."""
        return {
            "scenario": [{"key": d.key, "a": list(d.a), "b": list(d.b)} for d in self.scenario],
            "results": self.results.to_dicts(),
            "unmatched": {"a": self.unmatched[0], "b": self.unmatched[1]},
        }


@dataclass(frozen=True)
class Side:
    """One side: the summaries of its points, with their scenarios."""

    summaries: tuple[Mapping[str, Any], ...]

    @cached_property
    def scenarios(self) -> list[dict[str, Any]]:
        """The scenarios, by dotted keys."""
        return [dict(flatten(summary["scenario"])) for summary in self.summaries]

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The distinct values of every key in any of the scenarios."""
        keys = dict.fromkeys(key for scenario in self.scenarios for key in scenario)
        return {key: _distinct(scenario.get(key) for scenario in self.scenarios) for key in keys}


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def compare(
    a: str | os.PathLike[str] | Document,
    b: str | os.PathLike[str] | Document,
    quantities: Sequence[str] = ("accepted_load", "latency_mean"),
    *,
    threads: int = 1,
) -> Comparison:
    """Compares two results folders, or scenarios, which are run.

    Points match if they agree in every key that varies on either side. Several points of one side that match, such as
    seeds, form one mean.

    Args:
        a: a results folder, the path of a scenario, or a document.
        b: a results folder, the path of a scenario, or a document.
        quantities: names of quantities with one number; see `phit list quantities`.
        threads: threads of a run.
    """
    wanted = [_quantity(name) for name in quantities]
    return compared(side_of(a, threads), side_of(b, threads), wanted)


def _quantity(name: str) -> Quantity:
    found = QUANTITIES.get(name)
    if found is None or found.shape not in ("number", "whole"):
        known = [q.name for q in QUANTITIES.values() if q.shape in ("number", "whole")]
        raise InputError(f"{name!r}: no quantity with one number; expected one of {', '.join(known)}")
    return found


def side_of(source: str | os.PathLike[str] | Document, threads: int = 1) -> Side:
    """Reads a results folder, or runs a scenario."""
    if isinstance(source, Mapping) or not Path(source).is_dir():
        document = load(source)
        if "sweep" in document:
            raise InputError(f"{source}: has a [sweep]; run it with `phit sweep`, and compare its results folder")
        return Side((run(document, threads=threads).summary,))
    folder = Folder.read(Path(source))
    summaries = []
    for hash_ in folder.points["point"] if folder.points.height else ():
        path = folder.path / POINTS / f"{hash_}.json"
        try:
            summaries.append(read_point(path)["summary"])
        except FileNotFoundError:
            raise ResultsError(f"{path}: this point is missing; `phit sweep` with this folder runs it again") from None
        except ResultsError as error:
            raise ResultsError(f"{path}: {error}") from None
    if not summaries:
        raise InputError(f"{folder.path / MANIFEST}: no point has finished yet: nothing to compare")
    return Side(tuple(summaries))


def compared(a: Side, b: Side, quantities: Sequence[Quantity]) -> Comparison:
    """Compares two sides."""
    ours = [key for side in (a, b) for key, values in side.values.items() if len(values) > 1 and key != SEED]
    varying = list(dict.fromkeys(ours))
    groups_a, groups_b = _groups(a, varying), _groups(b, varying)
    shared = [key for key in groups_a if key in groups_b]
    shown = _telling(shared)
    rows: list[dict[str, Any]] = []
    for quantity in quantities:
        own = []
        for key in shared:
            left, right = _mean(groups_a[key], quantity), _mean(groups_b[key], quantity)
            if left is not None and right is not None:
                words = dict(key)
                own.append({**{k: words[k] for k in shown}, "quantity": quantity.name, **_difference(left, right)})
        rows += _judged(own)
    schema = {**dict.fromkeys([*shown, "quantity"], pl.String), **dict.fromkeys(NUMBERS, pl.Float64)}
    lost = [
        sum(len(own) for key, own in one.items() if key not in two)
        for one, two in ((groups_a, groups_b), (groups_b, groups_a))
    ]
    return Comparison(
        tuple(_differences(a, b)),
        pl.DataFrame(rows, schema=schema | {"verdict": pl.String, "reason": pl.String}),
        tuple(shown),
        (lost[0], lost[1]),
    )


NUMBERS = ("a", "b", "difference", "relative", "half_width", "p")


def _groups(side: Side, varying: Sequence[str]) -> dict[Key, list[Mapping[str, Any]]]:
    """The summaries of each point; several if it has several seeds."""
    found: dict[Key, list[Mapping[str, Any]]] = {}
    for summary, scenario in zip(side.summaries, side.scenarios, strict=True):
        key = tuple((name, shown(scenario.get(name))) for name in varying)
        found.setdefault(key, []).append(summary)
    return found


def shown(value: Any) -> str:
    """A value of a scenario as people read it."""
    return "–" if value is None else shortened(label_of(readable_cell(label(value))), 60)


def _telling(keys: Sequence[Key]) -> list[str]:
    """The fewest keys, in their order, that distinguish points: a key that follows from an earlier one is left out."""
    found: list[str] = []
    names = [name for name, _ in keys[0]] if keys else []
    # Keys that name a kind, and loads, tell more than keys that belong to a kind.
    names.sort(key=lambda name: (not name.endswith(".kind"), name != "traffic.load"))
    columns = {name: [dict(key)[name] for key in keys] for name in names}
    apart = 1
    for name in names:
        told = len(set(zip(*(columns[own] for own in [*found, name]), strict=True)))
        if told > apart:
            found.append(name)
            apart = told
    return found


@dataclass(frozen=True)
class _Mean:
    value: float
    error: float | None
    """Standard error; `None` if it is not known."""
    freedom: float
    """Degrees of freedom of the error."""
    reason: str | None = None
    """The reason why the error is not known."""


def _mean(summaries: Sequence[Mapping[str, Any]], quantity: Quantity) -> _Mean | None:
    values = [float(s[quantity.name]) for s in summaries if s.get(quantity.name) is not None]
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if len(values) > 1:
        variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        return _Mean(mean, math.sqrt(variance / len(values)), len(values) - 1)
    error = error_of(summaries[0], quantity.name)
    return _Mean(mean, None, 1, error) if isinstance(error, str) else _Mean(mean, error.standard, error.freedom)


def _difference(a: _Mean, b: _Mean) -> dict[str, Any]:
    """The difference of two means, with its interval and p, or with a verdict if there is no interval."""
    from scipy import stats

    difference = b.value - a.value
    found: dict[str, Any] = {"a": a.value, "b": b.value, "difference": difference, "half_width": None, "p": None}
    found["relative"] = difference / a.value if a.value else None
    why = [f"{side}: {one.reason}" for side, one in (("A", a), ("B", b)) if one.reason is not None]
    found["reason"] = "; ".join(why) or None
    if a.error is None or b.error is None:
        return found
    error = math.hypot(a.error, b.error)
    if error == 0.0:
        return found | {"half_width": 0.0, "p": 1.0 if difference == 0.0 else 0.0}
    # Welch and Satterthwaite's degrees of freedom.
    freedom = error**4 / (a.error**4 / a.freedom + b.error**4 / b.freedom)
    half = float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    return found | {"half_width": half, "p": float(2 * stats.t.sf(abs(difference) / error, freedom))}


def _judged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a quantity with verdicts, by Holm's procedure on all rows with a p."""
    tested = sorted((row["p"], at) for at, row in enumerate(rows) if row["p"] is not None)
    different: set[int] = set()
    for rank, (p, at) in enumerate(tested):
        if p > LEVEL / (len(tested) - rank):
            break
        different.add(at)
    return [row | {"verdict": _verdict(row, at in different)} for at, row in enumerate(rows)]


def _verdict(row: Mapping[str, Any], different: bool) -> str:
    if row["difference"] == 0.0:
        return "same"
    if row["p"] is None:
        return "undecided"
    if not different:
        return "open"
    return "higher" if row["difference"] > 0 else "lower"


def _differences(a: Side, b: Side) -> Iterator[Difference]:
    keys = [key for key in dict.fromkeys([*a.values, *b.values]) if key != SEED]
    found = [Difference(key, tuple(a.values.get(key, [None])), tuple(b.values.get(key, [None]))) for key in keys]
    unlike = [d for d in found if any(v not in d.b for v in d.a) or any(v not in d.a for v in d.b)]
    return iter(sorted(unlike, key=lambda d: len(d.a) > 1 or len(d.b) > 1))


def listed(values: Sequence[Any]) -> str:
    """The values of a key as people read them."""
    words = [shown(value) for value in values]
    return ", ".join(
        words if len(words) <= MOST_VALUES else [*words[: MOST_VALUES - 1], f"{len(words) - MOST_VALUES + 1} more"]
    )
