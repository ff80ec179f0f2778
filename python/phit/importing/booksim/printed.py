"""BookSim's output: the configuration that it has read, and the numbers at its end."""

import operator
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.document.paths import set_path
from phit.importing.booksim import grammar
from phit.importing.booksim.keys import KEYS
from phit.importing.booksim.scenario import of_settings
from phit.importing.printed import Printed
from phit.importing.settings import Setting
from phit.importing.text import text_of

# BookSim's network latency begins when the head leaves the endpoint. Phit's begins when it leaves its injection queue
# in the router.
_NUMBERS = {
    "accepted_load": re.compile(r"^Accepted flit rate average\s*=\s*(\S+)", re.M),
    "latency_mean": re.compile(r"^Packet latency average = (\S+)", re.M),
    "hops_mean": re.compile(r"^Hops average = (\S+)", re.M),
}

_PACKETS = re.compile(r"^Accepted packet rate average\s*=\s*(\S+)", re.M)

_UNSTABLE = ("Simulation unstable", "Aborting simulation")


def printed(path: Path) -> Printed:
    """The run whose output is in a file."""
    text = text_of(path)
    settings = grammar.repeated(text, str(path))
    if not settings:
        raise InputError(f"{path}: expected the output of BookSim, beginning with the configuration")
    imported = of_settings(settings, path.parent)
    saturated = any(words in text for words in _UNSTABLE)
    _, _, overall = text.rpartition("====== Overall Traffic Statistics ======")
    # If there are no numbers at the end, those of the last period count.
    numbers = _numbers(overall, str(_last(settings, "classes")))
    if not numbers:
        raise InputError(f"{path}: the output has no results; the run may have ended early")
    if "hops_mean" in numbers:
        # BookSim counts routers, Phit counts links between them.
        numbers["hops_mean"] -= 1
    warmup, cycles = _measured(text, int(_last(settings, "sample_period")))
    if cycles:
        set_path(imported.document, "measure.warmup", warmup)
        set_path(imported.document, "measure.cycles", cycles)
    if saturated:
        set_path(imported.document, "measure.count", "delivered")
    return Printed(imported, numbers, saturated)


def _last(settings: Sequence[Setting], key: str) -> Any:
    """The last setting of a key, or its default."""
    return next((setting.value for setting in reversed(settings) if setting.key == key), KEYS[key].default)


def _numbers(text: str, classes: str) -> dict[str, float]:
    """The measurements of all packets, which the output lists for each of `classes` classes."""
    count = int(classes) if classes.isdecimal() else 1
    found = {name: _of_classes(pattern, text, count) for name, pattern in (*_NUMBERS.items(), ("packets", _PACKETS))}
    packets = found.pop("packets")
    numbers = {}
    for name, values in found.items():
        if name == "accepted_load" and values:
            numbers[name] = sum(values)
        elif len(values) == 1:
            numbers[name] = values[0]
        elif len(packets) == len(values) and sum(packets) > 0:
            # Means over the packets of all classes.
            numbers[name] = sum(map(operator.mul, values, packets)) / sum(packets)
    return numbers


def _of_classes(pattern: re.Pattern[str], text: str, count: int) -> list[float]:
    """The last number of each class; empty if one is missing."""
    values = [_number(value) for value in pattern.findall(text)[-count:]]
    known = [value for value in values if value is not None]
    return known if len(known) == count else []


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) < 1e300 else None


def _measured(text: str, period: int) -> tuple[int, int]:
    """Cycles before the measured ones, and the number of measured cycles; 0 if no period has ended."""
    begin = re.search(r"^Warmed up \.\.\.Time used is (\d{1,9}) cycles", text, re.M)
    end = text.find("\nDraining")
    inside = text[: end if end >= 0 else len(text)]
    periods, after = (
        len(re.findall(r"^throughput change", part, re.M)) for part in (inside, inside[begin.end() if begin else 0 :])
    )
    if begin and after:
        return int(begin[1]), after * period
    # During warm-up each period has numbers of its own, and the last ones count.
    return max(periods - 1, 0) * period, period if periods else 0
