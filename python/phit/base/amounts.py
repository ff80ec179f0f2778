"""Quantities with units, such as "200 ns", "512 B" or "20 Gb/s".

The engine reads the same notation in keys that count cycles, phits or rates.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Kind = Literal["time", "size", "rate"]

_TIMES = {"s": 1, "ms": 10**3, "us": 10**6, "µs": 10**6, "ns": 10**9, "ps": 10**12}
_NUMBER = r"\d+\.?\d*|\.\d+"
_QUANTITY = re.compile(rf"\s*({_NUMBER})(?:\s*/\s*({_NUMBER}))?\s*([A-Za-zµ/]+)\s*", re.ASCII)
_SIZE = re.compile(r"(?:([kMGT]?)(B|b|bit)|([kKmMgGtT])iB)", re.ASCII)


@dataclass(frozen=True)
class Amount:
    """A quantity with a unit."""

    kind: Kind
    number: Fraction
    """The number in front of the unit."""
    unit: str
    size: Fraction
    """The size of the unit in seconds, bits, or bits per second."""

    @property
    def value(self) -> Fraction:
        """The quantity in seconds, bits, or bits per second."""
        return self.number * self.size

    def of(self, number: Fraction) -> str:
        """The text of a quantity of `number` of this unit, as a scenario writes it."""
        decimal = f"{float(number):.12g}"
        return f"{decimal if 'e' not in decimal and Fraction(decimal) == number else number} {self.unit}"


def amount(value: Any) -> Amount | None:
    """The quantity that `value` spells, or `None` if it spells none."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None or (found := _unit(match[3])) is None:
        return None
    under = Fraction(match[2] or 1)
    return None if under == 0 else Amount(found[0], Fraction(match[1]) / under, match[3], found[1])


def _unit(name: str) -> tuple[Kind, Fraction] | None:
    if name in _TIMES:
        return "time", Fraction(1, _TIMES[name])
    size = name.removesuffix("/s") if name.endswith("/s") else name.removesuffix("ps") if name.endswith("bps") else name
    match = _SIZE.fullmatch(size)
    if match is None:
        return None
    if match[3]:
        bits = 8 * 1024 ** ("kmgt".index(match[3].lower()) + 1)
    else:
        bits = (8 if match[2] == "B" else 1) * 1000 ** ("kMGT".find(match[1]) + 1 if match[1] else 0)
    return ("size" if size == name else "rate"), Fraction(bits)
