"""Experiments: a scenario with `[sweep]`, expanded into points that are all validated before one runs."""

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import phit._phit as _phit
from phit.base.amounts import Amount, amount
from phit.base.errors import InputError, ScenarioError, one_line
from phit.base.files import LONGEST_NAME, is_name
from phit.base.nearest import hint
from phit.base.text import quoted
from phit.document import Document, Source
from phit.document.completing import complete
from phit.document.identity import canonical, engine_version, hashed
from phit.document.inlining import to_json
from phit.document.loading import copied, load
from phit.document.origins import Located, located
from phit.document.paths import apply_settings, get_path, paths, set_path
from phit.document.schema import begins_with_section
from phit.document.sections import keys_of

Values = dict[str, Any]
"""Swept keys of one point, by dotted path."""

CHECKED = 256
"""Points that are checked between two reports of progress."""

SEEDS = 2**64
"""Number of seeds; the first is 0."""

MOST_VALUES = 1_000_000
"""Maximum number of values of a range."""

RANGE_KEYS = frozenset({"start", "stop", "step", "count"})

CURVE = "curve"
"""Column for the optional name of a `[[sweep.curves]]` table."""

WORK_PER_SECOND = 4e6
"""Units of `Point.work` that one core of a common machine simulates in a second, for the first estimate."""

SEED = "seed"
"""The key of the seed."""


class _Alike:
    """Completed scenarios that differ in their seed only: their common parts are computed once."""

    def __init__(self, scenario: Document) -> None:
        self.scenario = {key: value for key, value in scenario.items() if key != SEED}

    @cached_property
    def _identity(self) -> tuple[str, str]:
        """Canonical text of the engine and scenario, split where the seed goes: sections stand on both sides."""
        before, after = (
            canonical({key: value for key, value in self.scenario.items() if (key < SEED) is first})
            for first in (True, False)
        )
        start = canonical({"engine": engine_version()})
        return f'{start[:-1]},"scenario":{before[:-1]},"{SEED}":', f",{after[1:]}}}"

    def hash(self, seed: Any) -> str:
        """The hash of the scenario with this seed."""
        before, after = self._identity
        return hashed(f"{before}{canonical(seed)}{after}")

    @cached_property
    def _rest(self) -> str:
        return to_json(self.scenario)

    def text(self, seed: Any) -> str:
        """The text of the scenario with this seed, for the engine."""
        return f'{{"{SEED}": {json.dumps(seed)}, {self._rest[1:]}'


@dataclass(frozen=True)
class Point:
    """One run of an experiment."""

    values: Values
    """Swept keys by dotted path, as the experiment gives them."""
    scenario: Document = field(repr=False)
    """The scenario with every default filled in."""
    first: "Point | None" = field(default=None, repr=False, compare=False)
    """A point that differs in its seed only, if one is known."""

    @cached_property
    def _alike(self) -> _Alike:
        """The parts that are common to all points that differ in their seed only."""
        return _Alike(self.scenario)

    @cached_property
    def hash(self) -> str:
        """Identity of the point's results: the hash of its completed scenario and the engine's version."""
        if self.first is not None:
            return self.first._alike.hash(self.scenario[SEED])
        return hashed(canonical({"engine": engine_version(), "scenario": self.scenario}))

    @property
    def text(self) -> str:
        """The scenario as JSON for the engine, with the contents of files that it names."""
        return to_json(self.scenario) if self.first is None else self.first._alike.text(self.scenario[SEED])

    def with_seed(self, values: Values, seed: int) -> "Point":
        """The same point with another seed; `values` are its swept values with that seed."""
        return Point(values, {**self.scenario, SEED: seed}, self.first or self)

    @property
    def columns(self) -> Values:
        """The swept keys as columns of a table; each value is a number, a string or a boolean."""
        return {key: label(value) for key, value in self.values.items()}

    @cached_property
    def work(self) -> float:
        """Expected work in arbitrary units: flit-hops, and a constant for the start of a run."""
        # Another seed draws other packets, but about as many of them, with about as many hops.
        return self.first.work if self.first is not None else 10_000.0 + _phit.expected_hops(self.text)


def heading(key: str) -> str:
    """A short name for a swept key: `load` for traffic.load, `routing` for routing.kind."""
    return key.removesuffix(".kind").rsplit(".", 1)[-1]


def label(value: Any) -> Any:
    """A value of a scenario as one cell of a table; a table with `kind` is shown by its kind and keys."""
    if isinstance(value, Mapping):
        keys = [f"{key}={label(v)}" for key, v in value.items() if key != "kind"]
        return " ".join([str(value["kind"]), *keys] if "kind" in value else keys)
    if isinstance(value, list):
        return "x".join(str(label(v)) for v in value) if value else "none"
    return value


@dataclass(frozen=True)
class Experiment:
    """A scenario and the points that a sweep makes of it."""

    name: str
    base: Document
    """The scenario without its swept keys."""
    sweep: Document
    """The `[sweep]` table as written."""
    plot: Document
    """The `[plot]` table as written."""
    cluster: Document = field(default_factory=dict)
    """The `[cluster]` table as written. It says where points run, and is no part of the results."""

    @classmethod
    def read(cls, source: Source, settings: Iterable[str] = ()) -> "Experiment":
        """Reads an experiment; `settings` are ``dotted.key=value``, as `--set` takes them."""
        document = apply_settings(load(source), settings)
        with located(document):
            sweep, plot, cluster = (_table(document.pop(name, {}), name) for name in ("sweep", "plot", "cluster"))
            for key, value in plot.items():
                if not isinstance(value, str | int | float):
                    raise InputError(f"plot.{key} = {quoted(value)}: expected a text", f"plot.{key}")
            stem = "experiment" if isinstance(source, Mapping) else Path(source).stem
            name = sweep.get("name", stem)
            if not isinstance(name, str) or not is_name(name):
                raise InputError(
                    f"sweep.name = {quoted(name)}: expected a name of at most {LONGEST_NAME} letters, digits and "
                    "signs, without slashes and not beginning with a dot: it becomes the name of a folder",
                    "sweep.name",
                )
        return cls(name, document, sweep, plot, cluster)

    @property
    def keys(self) -> list[str]:
        """Swept keys, in the order of the columns."""
        return list(dict.fromkeys(key for values in self.combinations() for key in values))

    def combinations(self) -> Iterator[Values]:
        """The swept values of every point: every combination of curves, zip groups, product and seeds."""
        with located(self.base):
            axes = [_curves(self.sweep), *_zips(self.sweep), *_product(self.sweep), _seeds(self.sweep)]
        seen: dict[str, int] = {}
        for i, axis in enumerate(axes):
            for key in {key for values in axis for key in values}:
                if seen.setdefault(key, i) != i:
                    raise InputError(f"sweep: the key {quoted(key)} is swept twice")
        for parts in itertools.product(*axes):
            yield {key: value for part in parts for key, value in part.items()}

    def document(self, values: Values) -> Document:
        """The scenario of one point, without defaults."""
        # The base was checked when it was read; the whole scenario is checked when it is completed.
        document: Document = copied(self.base)
        if isinstance(document, Located):
            document.origin = document.origin.at_point(values)
        for key in sorted(values.keys() - {CURVE}, key=lambda key: key.count(".")):
            set_path(document, key, values[key])
        return document

    def points(self, tell: Callable[[int], None] = lambda _: None) -> list[Point]:
        """All points, validated, without duplicates. `tell` receives the number of points checked so far."""
        found: dict[str, Point] = {}
        # Seeds vary fastest, so points that differ in their seed only are adjacent.
        for _, group in itertools.groupby(self.combinations(), _but_seed):
            together = iter(group)
            while some := list(itertools.islice(together, CHECKED)):
                for point in self._checked(some):
                    tell(len(found))
                    found.setdefault(point.hash, point)
        if not found:
            raise InputError("sweep: no points to run; expected at least one value for every key")
        points = list(found.values())
        self._check_units(points)
        return points

    def _checked(self, some: list[Values]) -> Iterator[Point]:
        """Points that differ in their seed only.

        The first is checked whole, the others only in what their seed draws.
        """
        first = self._complete(some[0])
        yield first
        seeds = [seed for values in some[1:] if type(seed := values.get(SEED)) is int and 0 <= seed < SEEDS]
        if seeds and len(seeds) == len(some) - 1:
            with suppress(ScenarioError):
                _phit.check_seeds(first.text, seeds)
                yield from (first.with_seed(values, values[SEED]) for values in some[1:])
                return
        # A seed is refused, or has a value of another type: each scenario is checked whole, so that its error names the
        # key.
        yield from (self._complete(values) for values in some[1:])

    def _complete(self, values: Values) -> Point:
        try:
            return Point(values, complete(self.document(values)))
        except ScenarioError as error:
            raise self.explained(error, values) from error

    def _check_units(self, points: list[Point]) -> None:
        """Refuses points for which different cycles or phits were chosen, unless the sweep asks for it."""
        if any(key.split(".")[0] == "units" for key in self.keys):
            return
        scenarios = [point.scenario for point in points]
        first, common = "", dict[str, str]()
        for key, what in (("cycle", "times"), ("phit", "sizes and loads")):
            # A point without quantities has no cycle.
            chosen = list(dict.fromkeys(get_path(scenario, f"units.{key}") for scenario in scenarios))
            if len(chosen) == 1 or get_path(self.base, f"units.{key}") is not None:
                continue
            first = first or f"the points have {key}s of {_listed(chosen)}, so their {what} cannot be compared"
            common[f"units.{key}"] = _common(text for text in chosen if text)
            try:
                # The phit depends on the cycle.
                scenarios = [complete(self.document({**point.values, **common})) for point in points]
            except ScenarioError:
                break
        if common:
            lines = " and ".join(f'{key.removeprefix("units.")} = "{value}"' for key, value in common.items())
            raise InputError(f"units: {first}; add {lines} to [units]")

    def explained(self, error: ScenarioError, values: Values) -> Exception:
        """The refusal of a point, as an error of `[sweep]` if one of its keys is the reason."""
        for key in values:
            if key != error.path and not key.startswith(f"{error.path}."):
                continue
            others = {k: v for k, v in values.items() if k != key}
            try:
                completed = complete(self.document(others))
            except (ScenarioError, InputError):
                continue
            if get_path(completed, key, default := object()) is default:
                known = [path for path in paths(completed) if path not in others]
                return InputError(f"sweep: the scenario has no key {quoted(key)}{hint(key, known)}: {one_line(error)}")
        if not values:
            return error
        where = ", ".join(f"{key} = {label(value)}" for key, value in values.items())
        return InputError(f"{one_line(error)} (at the point {where})")


def _but_seed(values: Values) -> Values:
    return {key: value for key, value in values.items() if key != SEED}


def _listed(units: list[str | None], most: int = 4) -> str:
    words = [unit or "no stated size" for unit in units]
    words = words if len(words) <= most else [*words[: most - 1], f"{len(words) - most + 1:,} others"]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _common(quantities: Iterable[str]) -> str:
    """The largest quantity of which all `quantities`, fractions of one unit, are whole multiples: "1/5 ns"."""
    numbers, units = zip(*(quantity.split() for quantity in quantities), strict=True)
    fractions = [Fraction(number) for number in numbers]
    under = math.lcm(*(fraction.denominator for fraction in fractions))
    return f"{Fraction(math.gcd(*(int(fraction * under) for fraction in fractions)), under)} {units[0]}"


def _table(value: Any, name: str) -> Document:
    known = keys_of(name)
    if not isinstance(value, dict):
        raise InputError(f"{name} = {quoted(value)}: expected a table with {', '.join(known)}", name)
    for key in value:
        if key not in known and name == "sweep" and key != "seed" and begins_with_section(key):
            expected = 'swept keys stand in `product`, for example product = { "traffic.load" = [0.1, 0.2] }'
            raise InputError(f"{name}.{key}: {expected}", f"{name}.{key}")
        if key not in known:
            message = f"{name}.{key}: unknown key; expected one of {', '.join(known)}{hint(key, known)}"
            raise InputError(message, f"{name}.{key}")
    return value


def _swept(table: Any, where: str) -> Values:
    """Keys of a table by dotted path. A nested table stands for a dot, unless it is a range or has a `kind`."""
    if not isinstance(table, dict):
        raise InputError(
            f'{where} = {quoted(table)}: expected a table of dotted keys, for example "traffic.load" = [0.1, 0.2]',
            where,
        )
    found: Values = {}
    for key, value in table.items():
        if isinstance(value, dict) and "kind" not in value and not ("start" in value or value.keys() <= RANGE_KEYS):
            found |= {f"{key}.{inner}": v for inner, v in _swept(value, f"{where}.{key}").items()}
        else:
            found[key] = value
    return found


def _values(where: str, value: Any) -> list[Any]:
    """The values that a list or a range stands for."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and "start" in value:
        return expand_range(where, value)
    raise InputError(
        f"{where} = {quoted(value)}: expected a list, or a range {{ start, stop, step }} or {{ start, stop, count }}",
        where,
    )


def expand_range(where: str, table: Mapping[str, Any]) -> list[int | float] | list[str]:
    """The numbers of ``{start, stop, step}`` (with stop if a step ends there) or ``{start, stop, count}``.

    Quantities, as in ``{start = "1 us", stop = "5 us", step = "500 ns"}``, are written in the unit of `start`.
    """
    if table.keys() not in ({"start", "stop", "step"}, {"start", "stop", "count"}):
        raise InputError(f"{where}: a range has start and stop and either step or count, not {', '.join(table)}", where)
    ends = {key: value for key, value in table.items() if key != "count"}
    if any(isinstance(value, str) for value in ends.values()):
        return _range_of_quantities(where, table, ends)
    for key, number in table.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise InputError(f"{where}.{key} = {quoted(number)}: expected a number", f"{where}.{key}")
    # Computed with exact decimals: sums of binary fractions would not be the decimals that a reader expects.
    start, stop = (_exact(table[key]) for key in ("start", "stop"))
    if "count" in table:
        count, whole = table["count"], False
        if not isinstance(count, int) or count < 1:
            raise InputError(f"{where}.count = {quoted(count)}: expected a whole number, at least 1", f"{where}.count")
        step = (stop - start) / (count - 1) if count > 1 else Fraction(0)
    else:
        step = _exact(table["step"])
        if step == 0 or (stop - start) / step < 0:
            reason = f"does not lead from {table['start']} to {table['stop']}"
            raise InputError(f"{where}.step = {quoted(table['step'])}: {reason}", f"{where}.step")
        count = math.floor((stop - start) / step + Fraction(1, 10**9)) + 1
        whole = all(isinstance(number, int) for number in table.values())
    if count > MOST_VALUES:
        raise InputError(f"{where}: a range of {count} values; expected at most a million", where)
    if whole:
        found: list[int | float] = [int(start + i * step) for i in range(count)]
        return found
    # Rounded to twelve digits of the largest value: a sum that should be 0 has no digits of its own.
    places = 12 - math.ceil(math.log10(max(abs(start), abs(stop), abs(step), Fraction(1, 10**300))))
    return [float(round(start + i * step, places)) for i in range(count)]


def between(low: float, high: float) -> float:
    """The middle of two numbers, with no more digits than their decimals need."""
    return float((_exact(low) + _exact(high)) / 2)


def _exact(number: int | float) -> Fraction:
    """The exact value of a floating-point number's decimals."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(float(number)))


def _range_of_quantities(where: str, table: Mapping[str, Any], ends: Mapping[str, Any]) -> list[str]:
    """The values of a range whose ends are quantities."""
    found: dict[str, Amount] = {}
    for key, value in ends.items():
        quantity = amount(value)
        first = next(iter(found.values()), quantity)
        if quantity is None or first is None or quantity.kind != first.kind:
            expected = f"a {first.kind} as for start" if first is not None else 'a quantity such as "200 ns"'
            raise InputError(f"{where}.{key} = {quoted(value)}: expected {expected}", f"{where}.{key}")
        found[key] = quantity
    unit = found["start"]
    numbers = {key: quantity.value / unit.size for key, quantity in found.items()}
    if "count" in table:
        count = table["count"]
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_VALUES:
            expected = f"expected a whole number from 1 to {MOST_VALUES}"
            raise InputError(f"{where}.count = {quoted(count)}: {expected}", f"{where}.count")
        step = (numbers["stop"] - numbers["start"]) / max(count - 1, 1)
    else:
        step = numbers["step"]
        if step == 0 or numbers["stop"] < numbers["start"]:
            leads = f"does not lead from {table['start']} to {table['stop']}"
            raise InputError(f"{where}.step = {quoted(table['step'])}: {leads}", f"{where}.step")
        count = math.floor((numbers["stop"] - numbers["start"]) / step) + 1
        if count > MOST_VALUES:
            raise InputError(f"{where}: a range of {count} values; expected at most {MOST_VALUES:,}", where)
    return [unit.of(numbers["start"] + i * step) for i in range(count)]


def _product(sweep: Document) -> list[list[Values]]:
    where = "sweep.product"
    return [
        [{key: value} for value in _values(f"{where}.{key}", values)]
        for key, values in _swept(sweep.get("product", {}), where).items()
    ]


def _tables(sweep: Document, name: str) -> list[tuple[str, Any]]:
    tables = sweep.get(name, [])
    if not isinstance(tables, list):
        raise InputError(f"sweep.{name}: expected [[sweep.{name}]] tables", f"sweep.{name}")
    return [(f"sweep.{name}[{i}]", table) for i, table in enumerate(tables)]


def _zips(sweep: Document) -> list[list[Values]]:
    groups = []
    for where, table in _tables(sweep, "zip"):
        columns = {key: _values(f"{where}.{key}", values) for key, values in _swept(table, where).items()}
        lengths = {key: len(values) for key, values in columns.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise InputError(f"{where}: zipped keys need equally many values; {counts}", where)
        groups.append([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    return groups


def _curves(sweep: Document) -> list[Values]:
    """The curves in turn: fixed keys, with every combination of the keys that have lists or ranges."""
    found: list[Values] = []
    tables = _tables(sweep, "curves")
    for where, table in tables:
        swept = _swept(table, where)
        named = {CURVE: swept.pop("name")} if "name" in swept else {}
        axes = [
            [
                (key, v)
                for v in (_values(f"{where}.{key}", value) if isinstance(value, list) or _is_range(value) else [value])
            ]
            for key, value in swept.items()
        ]
        found += [named | dict(row) for row in itertools.product(*axes)]
    return found if tables else [{}]


def _is_range(value: Any) -> bool:
    return isinstance(value, dict) and "start" in value


def _seeds(sweep: Document) -> list[Values]:
    seeds = sweep.get("seeds")
    if seeds is None:
        return [{}]
    if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds >= 1:
        return [{"seed": seed} for seed in range(1, seeds + 1)]
    if (
        isinstance(seeds, list)
        and seeds
        and all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds)
    ):
        return [{"seed": seed} for seed in seeds]
    raise InputError(
        f"sweep.seeds = {quoted(seeds)}: expected a number of seeds, at least 1, or a list of them", "sweep.seeds"
    )
