"""BookSim's branches for congestion control: notification and reservation, row by row, and single packets.

The folder `control` of the reference data has tables of three forms, told apart by their columns. One has the loads and
latencies of whole runs, one has single packets cycle by cycle, one has series over time. Rows that Phit cannot express
are left out with a reason.
"""

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.document import Document
from phit.peers import booksim_branch
from phit.peers.comparison import CONTROL, CONTROL_FULL, EXACT, Case, LeftOut
from phit.store.folder import Answer
from phit.studies.validation.reference import Row, rows

FOLDER = "control"
"""Where the tables stand below the folder of the other simulators' numbers."""

SIMULATOR = "BookSim-congestion"

CALM = 0.8
"""Loads up to this are far from saturation."""

SATURATED = 0.98
"""A run that accepts a smaller part of its offered load is saturated."""

SEEDS = 6
"""Phit's runs of a setting: enough to know how far runs scatter."""

ERRORS = 2.0
"""Standard errors of the difference of the means that agree."""

QUICK_SEEDS = 3
"""Runs of a quick comparison. Two would not tell how far runs scatter."""

LONGEST = 20_000
"""Cycles in which the packets of a single message arrive."""

NOTIFICATION = 1
"""Phits of a notification, which an endpoint's load counts and the branches' data loads do not."""

ENOUGH = 1.0
"""Fewest notifications, on average over runs, that are compared."""

COUNTS: Mapping[str, str] = {
    "notifications": "ack_sent",
    "reservations": "res_received",
    "acknowledgements": "ack_sent",
    "refusals": "nack_received",
}
"""Counts of the summary, and the columns of the tables that have them."""

BINS = 11
"""Latencies of more binary digits than this are counted in wider bins."""


@dataclass(frozen=True)
class Setting(Case):
    """The rows of one setting, which differ in their seeds."""

    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    hot: tuple[int, ...] = ()
    """Destinations of the hot spot."""

    def scenarios(self, quick: bool) -> list[Document]:
        """The runs, each with messages of its own."""
        seeds = min(self.seeds, QUICK_SEEDS) if quick else self.seeds
        return [booksim_branch.with_seed(self.config, seed) for seed in range(1, seeds + 1)]

    def measured(self, answer: Answer) -> Mapping[str, Any]:
        """Loads by destination without notifications, and latency as the branch counts it."""
        summary: Mapping[str, Any] = answer["summary"]
        accepted = [float(load) for load in answer["tables"]["endpoints"]["accepted_load"]]
        sources = answer["tables"].get("sources") or {}
        cycles = float(summary["cycles"])
        if self.config.get("hotspot_reservation") == "1" and summary["congestion"]["reservations"]:
            accepted = [0.0] * len(accepted)
            for endpoint, phits in zip(sources["endpoint"], sources["data_received"], strict=True):
                accepted[int(endpoint)] = float(phits) / cycles
        else:
            received = zip(sources.get("endpoint", ()), sources.get("notifications_received", ()), strict=True)
            for endpoint, count in received:
                accepted[int(endpoint)] -= NOTIFICATION * float(count) / cycles
        others = [load for endpoint, load in enumerate(accepted) if endpoint not in self.hot]
        hot = [accepted[endpoint] for endpoint in self.hot]
        return {
            "hot_load": statistics.fmean(hot) if hot else 0.0,
            "other_load": statistics.fmean(others),
            "latency_mean": (summary["latency_mean"] or 0.0) - booksim_branch.EARLIER,
            **{measure: summary["congestion"][measure] for measure in COUNTS},
        }


@dataclass(frozen=True)
class Packets(Case):
    """The packets of single messages, whose tails arrive in known cycles."""

    tails: tuple[int, ...] = ()

    def scenarios(self, quick: bool) -> list[Document]:  # noqa: ARG002
        """One run: nothing is drawn."""
        return [{"seed": 1, **self.scenario}]

    def measured(self, answer: Answer) -> Mapping[str, Any]:
        """The tail that is furthest from its cycle."""
        table = answer["tables"]["histogram"]
        found = sorted(
            int(latency) - booksim_branch.EARLIER
            for latency, count in zip(table["latency"], table["packets"], strict=True)
            for _ in range(int(count))
        )
        return {"tail_arrival": float(largest_difference(self.tails, found))}


def largest_difference(theirs: Sequence[int], ours: Sequence[int]) -> int:
    """The largest difference in cycles, where latencies are counted in bins: 0 for two in one bin."""
    if len(ours) < len(theirs):
        return max(theirs)
    apart = [0]
    for known, found in zip(theirs, ours, strict=False):
        width = 1 << max(0, (known + booksim_branch.EARLIER).bit_length() - BINS)
        same = (known + booksim_branch.EARLIER) // width == (found + booksim_branch.EARLIER) // width
        apart.append(0 if same else abs(known - found))
    return max(apart)


def tables(folder: Path) -> dict[str, list[Row]]:
    """The tables of `folder`/control, by name; none if there is no such folder.

    Raises:
        InputError: the folder has no table, or a table cannot be read.
    """
    place = folder / FOLDER
    if not place.is_dir():
        return {}
    found = {path.name: rows(place, path.name) for path in sorted(place.glob("*.csv"))}
    if not found:
        raise InputError(f"{place}: expected tables, files that end in .csv")
    return found


def cases(folder: Path) -> tuple[list[Case], list[LeftOut]]:
    """All comparisons with the tables of a folder, and the rows that are left out."""
    chosen: list[Case] = []
    left: list[LeftOut] = []
    for name, table in tables(folder).items():
        columns = set(table[0]) if table else set()
        if {"setting", "acc_other_dst", "config"} <= columns:
            found = _settings(folder / FOLDER / name, table)
        elif {"case", "event", "cycle", "config"} <= columns:
            found = _packets(folder / FOLDER / name, table)
        elif {"setting", "bin_start_cycle"} <= columns:
            found = _series(folder / FOLDER / name, table)
        else:
            expected = (
                "a table with setting, acc_other_dst and config; case, event, cycle and config; or bin_start_cycle"
            )
            raise InputError(f"{folder / FOLDER / name}: expected {expected}")
        for one in found:
            if isinstance(one, LeftOut):
                left.append(one)
            else:
                chosen.append(one)
    return chosen, left


def _grouped(table: Sequence[Row], column: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in table:
        found.setdefault(f"{row[column]}{_program(row)}", []).append(row)
    return found


def _program(row: Row) -> str:
    """Part of the program's name that distinguishes variants of one branch."""
    _, plus, variant = row.get("program", "").partition("+")
    return f", {variant}" if plus else ""


def _place(path: Path, group: Sequence[Row]) -> str:
    """The rows of a table in words."""
    found = [row["row"] for row in group]
    if len(found) == 1:
        return f"{path.name}, row {found[0]}"
    return f"{path.name}, rows {', '.join(found) if len(found) <= 4 else f'{found[0]} to {found[-1]}'}"


def _settings(path: Path, table: Sequence[Row]) -> Iterator[Case | LeftOut]:
    """The comparisons of a table of settings."""
    for setting, group in _grouped(table, "setting").items():
        good = [row for row in group if row["status"] == "ok"]
        bad = [row for row in group if row["status"] != "ok"]
        if bad:
            reason = f"the other simulator stopped: {bad[0]['status'].split(':')[0]}"
            yield LeftOut(SIMULATOR, _place(path, bad), setting, reason)
        if not good:
            continue
        row = good[0]
        try:
            if "+" in row["program"]:
                raise booksim_branch.InexpressibleError("program", row["program"], "a variant with a fault")
            config = booksim_branch.settings(row["config"])
            scenario = booksim_branch.Branch(config).scenario(drawn=False)
        except booksim_branch.InexpressibleError as error:
            yield LeftOut(SIMULATOR, _place(path, good), setting, str(error))
            continue
        yield _setting(path, setting, good, config, scenario)


def _setting(path: Path, setting: str, group: Sequence[Row], config: Mapping[str, str], scenario: Document) -> Case:
    """The comparison of one setting."""
    row = group[0]
    theirs: dict[str, list[float]] = {}
    tolerances: dict[str, float] = {}
    notes: dict[str, str] = {}

    def add(measure: str, column: str, tolerance: float, note: str = "") -> None:
        values = [_number(path, one, column) for one in group]
        theirs[measure] = values
        if note:
            notes[measure] = note
        else:
            tolerances[measure] = tolerance

    hot = row["pattern"] != "uniform"
    if hot:
        add("hot_load", "acc_hot_dst", CONTROL["hot_load"])
    if row["pattern"] != "hotspot":
        add("other_load", "acc_other_dst", CONTROL["other_load"])
    if not hot:
        load = _number(path, row, "load_bg")
        accepted = statistics.fmean(_number(path, one, "c0_acc_per_node") for one in group)
        limit = CONTROL["latency_mean"] if load <= CALM else CONTROL_FULL
        saturated = "saturated: latencies grow with the run" if accepted < SATURATED * load else ""
        add("latency_mean", "c0_lat_mean", limit, saturated)
    counted = {"ecn": ("notifications",), "srp": ("reservations", "acknowledgements", "refusals")}
    for measure in counted.get(row["mode"], ()):
        column = COUNTS[measure]
        if statistics.fmean(_number(path, one, column) for one in group) >= ENOUGH:
            add(measure, column, CONTROL["notifications"])
    words = f"{row['mode']}, {row['group']}, {row['topology']}"
    load = float(row["load_bg"] or row["load_hot"])
    ends = tuple(int(endpoint) for endpoint in row["hot_dst"].split()) if hot else ()
    return Setting(
        SIMULATOR,
        words,
        load,
        scenario,
        theirs,
        tolerances,
        quick=row["topology"] == "single8" and not hot and load <= CALM,
        seeds=SEEDS,
        setting=setting,
        notes=notes,
        errors=ERRORS,
        config=config,
        hot=ends,
    )


def _number(path: Path, row: Row, column: str) -> float:
    try:
        return float(row[column])
    except (KeyError, ValueError):
        value = row.get(column)
        raise InputError(f"{path}: row {row.get('row')}: {column} = {value!r}: expected a number") from None


PHASES = (0, 2500, 7500)
"""Starts of the phases after the change of traffic, in cycles; the last ends with the series."""


def _series(path: Path, table: Sequence[Row]) -> Iterator[Case | LeftOut]:
    """The comparisons of a table of series over time: phases before and after the change of traffic."""
    for setting, group in _grouped(table, "setting").items():
        firsts = [row for row in group if row["config"]]
        try:
            if not firsts:
                raise booksim_branch.InexpressibleError("config", "", "expected in the first row of a series")
            config = booksim_branch.settings(firsts[0]["config"])
            booksim_branch.Branch(config).scenario(drawn=False)
        except booksim_branch.InexpressibleError as error:
            yield LeftOut(SIMULATOR, _place(path, group), setting, str(error))
            continue
        first = firsts[0]
        change = int(_number(path, first, "hot_start"))
        width = int(_number(path, first, "bin_cycles"))
        hot = tuple(int(endpoint) for endpoint in first["hot_dst"].split())
        others = int(_number(path, first, "endpoints")) - len(hot)
        end = max(int(_number(path, row, "bin_start_cycle")) for row in group) + width
        starts = [change // 2, *(change + start for start in PHASES if change + start < end), end]
        for begin, stop in itertools.pairwise(starts):
            runs: dict[str, list[Row]] = {}
            for row in group:
                if begin <= int(_number(path, row, "bin_start_cycle")) < stop:
                    runs.setdefault(row["seed"], []).append(row)
            span = stop - begin

            def sums(column: str, runs: Mapping[str, list[Row]] = runs) -> list[float]:
                return [sum(_number(path, row, column) for row in of_one) for of_one in runs.values()]

            theirs = {"other_load": [flits / (span * others) for flits in sums("bg_accepted_flits")]}
            if begin >= change:
                theirs["hot_load"] = [flits / (span * len(hot)) for flits in sums("hot_accepted_flits")]
            if first["mode"] == "ecn" and statistics.fmean(sums("becn_arrivals")) >= ENOUGH:
                theirs["notifications"] = sums("becn_arrivals")
            yield Setting(
                SIMULATOR,
                f"{first['mode']}, {first['kind']}, {first['topology']}, over time",
                float(first["load_bg"]),
                {},
                theirs,
                dict.fromkeys(theirs, CONTROL_FULL),
                seeds=SEEDS,
                setting=f"{setting}, cycles {begin} to {stop}",
                errors=ERRORS,
                config={**config, "warmup_cycles": str(begin), "sample_period": str(span)},
                hot=hot,
            )


def _packets(path: Path, table: Sequence[Row]) -> Iterator[Case | LeftOut]:
    """The comparisons of a table of events."""
    for name, events in _grouped(table, "case").items():
        try:
            branch = booksim_branch.Branch(booksim_branch.settings(events[0]["config"]))
            scenario = branch.scenario()
        except booksim_branch.InexpressibleError as error:
            yield LeftOut(SIMULATOR, f"{path.name}, {len(events)} events", name, str(error))
            continue
        tails = sorted(
            int(_number(path, event, "cycle"))
            for event in events
            if event["event"] == "recv" and "T" in event["ht"] and event["type"] in ("norm", "spec")
        )
        scenario["measure"] = {"warmup": 0, "cycles": LONGEST, "histogram": True}
        yield Packets(
            SIMULATOR,
            f"single messages, {events[0]['mode']}",
            0.0,
            scenario,
            {"tail_arrival": [0.0]},
            {"tail_arrival": EXACT},
            quick=True,
            seeds=1,
            setting=f"{name}, {len(tails)} packets",
            tails=tuple(tails),
        )
