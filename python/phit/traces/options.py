"""What can be said about a trace besides its file."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from phit.errors import InputError

UNITS = {"s": 10**9, "ms": 10**6, "us": 1000, "100ns": 100, "ns": 1}
"""Nanoseconds of a unit of time; `100ns` is that of Windows event tracing."""


def _positive(value: Any) -> bool:
    number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _endpoints(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_whole(0)(endpoint) for endpoint in value.values())


OPTIONS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "compression": (_positive, "a number more than 0"),
    "unit": (lambda value: isinstance(value, str) and value in UNITS, f"one of {', '.join(UNITS)}"),
    "cycle_ns": (_positive, "a number of nanoseconds, more than 0"),
    "phit_bytes": (_positive, "a number of bytes, more than 0"),
    "start": (_whole(0), "a whole number of cycles"),
    "limit": (_whole(0), "a whole number of cycles"),
    "hosts": (_endpoints, "a table with the endpoint of each host"),
    "disks": (_endpoints, "a table with the endpoint of each disk"),
    "request_bytes": (_whole(1), "a whole number of bytes, 1 or more"),
    "skip_bad": (lambda value: isinstance(value, bool), "true or false"),
}
"""The options by name: what is accepted, and what that is called."""


def check(options: Mapping[str, Any], prefix: str = "") -> None:
    """Refuses options of another kind than expected; `prefix` is where they stand."""
    for key, value in options.items():
        if key not in OPTIONS:
            raise InputError(f"{prefix}{key}: no such key; expected one of file, {', '.join(OPTIONS)}")
        accepts, expected = OPTIONS[key]
        if not accepts(value):
            raise InputError(f"{prefix}{key} = {value!r}: expected {expected}")


def exact(number: float | Fraction) -> Fraction:
    """A number as it is written in decimals."""
    return number if isinstance(number, Fraction) else Fraction(str(number))
