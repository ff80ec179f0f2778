"""Options of a trace besides its file."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from phit.base.errors import InputError
from phit.base.text import quoted

UNITS = {"s": 10**9, "ms": 10**6, "us": 1000, "100ns": 100, "ns": 1}
"""Nanoseconds of each unit of time; `100ns` is the unit of Windows event tracing."""


def _positive(value: Any) -> bool:
    number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _endpoints(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_whole(0)(endpoint) for endpoint in value.values())


@dataclass(frozen=True)
class Option:
    """One option."""

    accepts: Callable[[Any], bool]
    expected: str
    """Accepted values, in words."""
    schema: dict[str, Any]
    """Accepted values as a JSON Schema, with the meaning of the option."""


def _number(meaning: str) -> dict[str, Any]:
    return {"type": "number", "exclusiveMinimum": 0, "description": meaning}


def _count(meaning: str, least: int = 0) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": meaning}


def _table(meaning: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "description": meaning}


OPTIONS: Mapping[str, Option] = {
    "compression": Option(_positive, "a number more than 0", _number("Times are divided by it.")),
    "unit": Option(
        lambda value: isinstance(value, str) and value in UNITS,
        f"one of {', '.join(UNITS)}",
        {"enum": list(UNITS), "description": "Unit of times; by default ns for messages and s for block I/O."},
    ),
    "cycle_ns": Option(_positive, "a number of nanoseconds, more than 0", _number("Nanoseconds of a cycle.")),
    "phit_bytes": Option(_positive, "a number of bytes, more than 0", _number("Bytes of a phit.")),
    "start": Option(_whole(0), "a whole number of cycles", _count("Cycle of the earliest time of the file.")),
    "limit": Option(_whole(0), "a whole number of cycles", _count("Messages from this cycle on are left out.")),
    "hosts": Option(_endpoints, "a table with the endpoint of each host", _table("The endpoint of each host.")),
    "disks": Option(_endpoints, "a table with the endpoint of each disk", _table("The endpoint of each disk.")),
    "request_bytes": Option(
        _whole(1), "a whole number of bytes, 1 or more", _count("Bytes of a request and of an acknowledgement.", 1)
    ),
    "skip_bad": Option(
        lambda value: isinstance(value, bool),
        "true or false",
        {"type": "boolean", "description": "Whether lines that cannot be read are left out and counted."},
    ),
}
"""The options by name."""


def check(options: Mapping[str, Any], prefix: str = "") -> None:
    """Refuses options with unexpected values; `prefix` is the path of their table."""
    for key, value in options.items():
        if key not in OPTIONS:
            raise InputError(f"{prefix}{key}: no such key; expected one of file, {', '.join(OPTIONS)}")
        if not OPTIONS[key].accepts(value):
            raise InputError(f"{prefix}{key} = {quoted(value)}: expected {OPTIONS[key].expected}")


def exact(number: float | Fraction) -> Fraction:
    """The exact value of a number's decimals."""
    return number if isinstance(number, Fraction) else Fraction(str(number))
