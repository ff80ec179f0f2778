"""Times, sizes and rates of links in files of networks."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from phit.base.amounts import Kind, amount

T = TypeVar("T")

_KINDS: dict[str, tuple[Kind, str]] = {
    "latency": ("time", "200 ns"),
    "buffer": ("size", "64 KiB"),
    "bandwidth": ("rate", "100 Gb/s"),
}
"""Kind of quantity for each attribute of a link, as the engine reads it, and an example."""


def quantity(key: str, value: Any) -> str | None:
    """A value of such an attribute if it is a quantity with its unit, which the engine converts."""
    found = amount(value)
    return str(value).strip() if found is not None and found.kind == _KINDS[key][0] else None


def example(key: str) -> str:
    """An example of a quantity for an attribute."""
    return f'"{_KINDS[key][1]}"'


def gigabits_per_second(rate: float) -> str:
    """A rate as a scenario writes it: "200 Gb/s"."""
    return f"{rate:.12g} Gb/s"


def commonest(values: Iterable[T], rate: Callable[[T], Any]) -> T:
    """The most frequent value; of equally frequent values, the one with the highest rate."""
    counts = Counter(values)
    return max(counts, key=lambda value: (counts[value], rate(value)))


def size(bandwidth: float | str) -> float:
    """The value by which bandwidths are compared: phits per cycle, or bits per second."""
    found = amount(bandwidth)
    return float(bandwidth) if found is None else float(found.value)
