"""The origin of the results: versions, commands, machines, times and seeds, everything that reproduces them."""

import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from phit.base.durations import duration
from phit.base.numbers import readable
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render

MOST_STRETCHES = 50
"""Maximum number of periods of work that are listed; the last ones are shown."""


def _build(source: Source) -> Content:
    manifest, points = source.manifest, source.points
    facts = [("phit", str(manifest.get("phit", "unknown"))), ("engine", str(manifest.get("engine", "unknown")))]
    if "version" in points.columns:
        facts.append(("points were run by", ", ".join(sorted({str(v) for v in points["version"] if v is not None}))))
    if "seed" in points.columns:
        seeds = sorted({int(v) for v in points["seed"].drop_nulls()})
    else:
        seeds = sorted({int(s["seed"]) for s in source.scenarios if isinstance(s.get("seed"), int)})
    facts.append(
        ("seeds", ", ".join(map(str, seeds[:20])) + (f" and {len(seeds) - 20} more" if len(seeds) > 20 else ""))
    )
    told: dict[str, tuple[str, Callable[[pl.Series], str]]] = {
        "cpu_seconds": ("CPU time", lambda values: duration(float(values.sum()))),
        "peak_memory_bytes": (
            "largest process",
            lambda values: f"{readable(int(np.max(values.drop_nulls().to_numpy())) >> 20)} MiB",
        ),
        "threads": ("threads of a run", lambda values: readable(values.max())),
    }
    for column, (words, shown) in told.items():
        if column in points.columns and points[column].null_count() < points.height:
            facts.append((words, shown(points[column])))
    stretches = [_stretch(entry) for entry in manifest.get("stretches", [])][-MOST_STRETCHES:]
    commands = list(dict.fromkeys(entry["command"] for entry in stretches if entry["command"]))
    name = shlex.quote(f"{manifest.get('name') or 'experiment'}.json")
    verb = "run" if points.height == 1 and not source.folder.swept else "sweep"
    again = f"phit {verb} {name} --out results"
    return Content(render("provenance.html", facts=facts, stretches=stretches, commands=commands, again=again))


def _stretch(entry: dict[str, Any]) -> dict[str, str]:
    machine = entry.get("machine")
    words = machine if isinstance(machine, dict) else {}
    described = [str(words[key]) for key in ("processor", "system") if words.get(key)]
    if words.get("cores"):
        described.insert(1, f"{words['cores']} cores")
    processes = entry.get("processes")
    return {
        "ended": str(entry.get("ended") or "–"),
        "points": readable(entry["points"]),
        "wall": duration(entry["wall_seconds"]),
        "processes": "–" if processes is None else readable(processes),
        "machine": ", ".join(described) or "–",
        "command": str(entry.get("command") or ""),
    }


SECTION = Section("provenance", "Provenance", _build)
