"""Events of a run that charts over time mark: faults, recoveries and changes of traffic."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from phit.document import Document
from phit.document.paths import get_path

FAULT, KNOWN, RECOVERY, TRAFFIC, MEASURED = (
    "fault",
    "routing knows",
    "recovery",
    "change of traffic",
    "measured from here",
)
"""Kinds of events."""

COLOURS = {FAULT: "#D55E00", KNOWN: "#E69F00", RECOVERY: "#009E73", TRAFFIC: "#CC79A7", MEASURED: "#888888"}
"""The colour of the mark of each kind."""


@dataclass(frozen=True)
class Happening:
    """An event in one cycle of a run."""

    cycle: float
    kind: str
    words: str
    """The kind and its details."""


def happenings(scenario: Document) -> Iterator[Happening]:
    """The events of a run that charts over time mark.

    These are the end of the warm-up, faults and recoveries, the cycles in which routing learns of them, and changes of
    traffic.

    Args:
        scenario: the completed scenario.
    """
    warmup = get_path(scenario, "measure.warmup", None)
    if _is_cycle(warmup):
        yield Happening(warmup, MEASURED, "end of the warm-up")
    for entry in _entries(scenario, "topology.faults.later"):
        what = _what_fails(entry)
        delay = entry.get("delay", 0)
        for key, kind in (("cycle", FAULT), ("until", RECOVERY)):
            cycle = entry.get(key)
            if not _is_cycle(cycle):
                continue
            yield Happening(cycle, kind, f"{kind}: {what}")
            if _is_cycle(delay):
                yield Happening(cycle + delay, KNOWN, f"routing knows of the {kind}: {what}")
    for entry in _entries(scenario, "traffic.changes"):
        if _is_cycle(entry.get("cycle")):
            said = ", ".join(f"{key} {value}" for key, value in _numbers(entry).items())
            yield Happening(entry["cycle"], TRAFFIC, f"{TRAFFIC}{f': {said}' if said else ''}")


def _what_fails(entry: dict[str, Any]) -> str:
    """The things that an entry of `later` names, in words."""
    parts = []
    for key, word in (("links", "link"), ("routers", "router"), ("endpoints", "endpoint")):
        named = entry.get(key)
        if not isinstance(named, list) or not named:
            continue
        if key == "routers" and entry.get("count"):
            # With `count`, the routers only delimit the links from which some are drawn.
            continue
        parts.append(f"{word} {_name(named[0])}" if len(named) == 1 else f"{len(named)} {word}s")
    if count := entry.get("count"):
        parts.append("a random link" if count == 1 else f"{count} random links")
    return " and ".join(parts) or "something"


def _name(named: Any) -> str:
    return " to ".join(map(str, named)) if isinstance(named, list) else str(named)


def _entries(scenario: Document, key: str) -> Iterator[dict[str, Any]]:
    entries = get_path(scenario, key, None)
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, dict):
            yield entry


def _numbers(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in entry.items() if isinstance(v, int | float) and k not in ("cycle", "delay", "until")}


def _is_cycle(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
