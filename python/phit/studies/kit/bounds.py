"""Throughput bounds of patterns, computed once for each network and pattern."""

import json
from functools import cache
from typing import Any

from phit.document import Document
from phit.document.identity import canonical
from phit.throughput import Bounds, bound


def bound_of(topology: Document, pattern: Any, *, minimal: bool = True) -> Bounds:
    """The load of a pattern that no routing can exceed, and, if requested, that of minimal routing."""
    return _bound(canonical(topology), canonical(pattern), minimal)


@cache
def _bound(topology: str, pattern: str, minimal: bool) -> Bounds:
    traffic = {"load": 0.0, "pattern": json.loads(pattern)}
    return bound({"topology": json.loads(topology), "traffic": traffic}, minimal=minimal)
