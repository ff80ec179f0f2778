"""FOGSim, version 5: the tables of a folder `fogsim5`, whose rows name all keys of their runs.

The settings of a row are imported like a configuration file. Rows that cannot be expressed as a scenario are left out,
each with the reason.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from phit.base.errors import InputError
from phit.document import Document
from phit.importing.fogsim import of_settings
from phit.importing.found import RefusedError
from phit.peers import fogsim
from phit.peers.comparison import Case, LeftOut
from phit.studies.validation.reference import Row, rows
from phit.studies.validation.transient import Transient, joined

FOLDER = "fogsim5"
"""The folder of the tables, in the folder of all references."""

SIMULATOR = "FOGSim 5"

MEASURES = {
    "accepted_load": "accepted_load",
    "latency_mean": "avg_packet_latency",
    "hops_mean": "avg_hops",
    "misrouted": "frac_nonminimal",
}
"""Columns by measure."""

SERIES = {"latency_mean": ("latency_mean", 1.0), "misrouted_globally": ("misrouted_percent", 0.01)}
"""Columns of a transient by measure, and the unit of the column."""

UNCOUNTED = dict.fromkeys(("SRC_ADP", "PB_ACOR"), ("misrouted_percent",))
"""Columns of a transient that are not comparable, by `routing`: they count attempts at the head of a queue."""

TOLERANCES = {"accepted_load": 0.01, "latency_mean": 0.03, "hops_mean": 0.01, "misrouted": 0.02}
"""Relative tolerances; of shares absolute."""

OBLIVIOUS = ("MIN", "VAL", "VAL_ANY", "OBL")
"""Values of `routing` whose latencies are judged more strictly."""

LATENCY_OBLIVIOUS = 0.02

ERRORS = 3.0
"""Differences of up to this many standard errors agree. Runs are short, and each setting has one or two."""

NOT_STATIONARY = ("PB", "PB_ANY", "SRC_ADP", "UGAL", "PB_ACOR")
"""Values of `routing` that are not in a steady state after these warm-ups under adversarial traffic."""

BACKLOG = "packets of the start are still carried: more is accepted than offered"

UNSTEADY = "not in a steady state after this warm-up"

SATURATED = "beyond saturation: latency is the growth of the source queues"

CARRIED = 0.98
"""A run accepts at least this share of the offered load, or is saturated."""

REMARKS = {
    ("RR VAL_ANY 8/4 BASE", "ADV+1_RR", 0.4): {
        "accepted_load": "scatter of the offered load, which is 0.4018 in FOGSim's two runs and 0.398 in these: 20 "
        "seeds accept 0.3991, which is 0.55 % less",
    },
    ("PAUSE", "ADV+1", 0.2): {
        "accepted_load": "a single run of FOGSim after a short warm-up: a run after 2,000 cycles accepts "
        "0.1669, within 0.4 % of Phit",
    },
}
"""What accounts for differences, by mechanism, pattern and load."""

ABOUT = """FOGSim's runs are short, and each setting has one or two. Differences beyond the tolerance have their reasons
below the tables. Larger differences that are not judged have these:

* FOGSim's endpoints drop a packet if its injection queue is full, and Phit's sources keep all packets. In FOGSim's
  saturated runs of QCN at a load of 0.2, queues take 0.15 and 0.18. So latencies differ where queues from the start are
  still being emptied: with QCN under ADV+1 at 0.35, packets take 26 and 60 % longer in Phit. Where Phit's sources drop
  packets, too, at the same number of phits in all (120 for each of 8 destinations), BASE takes 415 cycles (FOGSim 430,
  without drops 548) and FBCOMP 631 (683 and 1,119).
* The latency of PAUSE at h=2 and a load of 0.4, beyond saturation, scatters by more than it differs.
* Source-adaptive mechanisms (SRC_ADP, PB_ACOR) are far from a steady state after these warm-ups. Latencies differ by up
  to 17 %, in both directions, and accepted loads by up to 2 %.
* A notification of QCN is a packet in FOGSim, with channels of its own, and goes before data. In Phit it is a frame,
  which waits for links alone."""
"""What differs in this simulator, in Markdown."""

SEEDS = 5
SEEDS_FEWER = 3
"""Of the larger networks."""

VERSIONS = {"v2": "2", "v5": "5"}
"""Versions in tables without settings."""

SHORT = {"MIN": "MIN", "VAL": "VAL", "VAL_ANY": "VAL", "OLM": "OLM"}
"""Mechanisms in tables without settings, by the names of their configurations."""


@dataclass(frozen=True)
class Run:
    """A row with all settings of its run."""

    table: str
    line: int
    """Its line in the table; the headings have line 1."""
    row: Row = field(repr=False)
    keys: fogsim.Keys

    @property
    def words(self) -> str:
        """Mechanism, pattern and load."""
        row = self.row
        return f"{row['mechanism']}, {row['pattern']}, {row['offered_load']}, seed {row['seed']}"

    @property
    def network(self) -> str:
        """The network in words."""
        return f"Dragonfly p={self.keys['P']} a={self.keys['A']} h={self.keys['H']}"

    def scenario(self) -> Document:
        """The scenario without its seed."""
        found = of_settings({"Seed": "1", "Version": "5", **self.keys})
        return {key: value for key, value in found.document.items() if key != "seed"}


def tables(folder: Path) -> list[str]:
    """The tables of the folder, by file name."""
    return sorted(path.name for path in (folder / FOLDER).glob("*.csv"))


def _runs(folder: Path) -> Iterator[Run | LeftOut]:
    for table in tables(folder):
        for line, row in enumerate(rows(folder / FOLDER, table), 2):
            if "generation_cycle_bin_start" in row:
                continue
            keys = _keys(row)
            if keys is None:
                reason = "the table has no settings of its runs"
                yield LeftOut(SIMULATOR, f"{table}:{line}", row.get("mechanism", ""), reason)
            elif row.get("status", "ok") != "ok":
                yield LeftOut(SIMULATOR, f"{table}:{line}", row["mechanism"], f"ended with {row['status']}")
            else:
                yield Run(table, line, row, keys)


def _keys(row: Row) -> fogsim.Keys | None:
    """All keys of a row's run; `None` if they are not known."""
    if "settings" in row:
        keys = _of_settings(row)
    elif row.get("version") in VERSIONS and row["mechanism"] in SHORT:
        keys = _short(row)
    else:
        return None
    return {**keys, "Probability": f"{100 * float(row['offered_load']):g}"}


def _short(row: Row) -> dict[str, str]:
    """The keys of a run of which the table has mechanism and size alone."""
    h = int(row["h"])
    pattern = row["pattern"]
    traffic = {"Traffic": "UN"}
    if pattern.startswith("ADV+"):
        traffic = {"Traffic": "ADV_RANDOM_NODE", "AdvTrafficDistance": pattern.removeprefix("ADV+")}
    routing = dict(fogsim.configuration(SHORT[row["mechanism"]], h, {}))
    if "PercentGlobalThreshold" in routing:
        routing["PercentLocalThreshold"] = routing["PercentGlobalThreshold"]
    return {
        **fogsim.COMMON,
        "P": str(h),
        "A": str(2 * h),
        "H": str(h),
        "MaxCycles": row["measured_cycles"],
        "Version": VERSIONS[row["version"]],
        **traffic,
        **routing,
    }


def _reason(error: InputError) -> str:
    """Why a run cannot be expressed: the first of the refused settings."""
    return str(error.errors[0] if isinstance(error, RefusedError) else error)


def compared(folder: Path) -> tuple[list[Case], list[LeftOut]]:
    """Runs that differ in their seed alone are one case; rows that cannot be compared, with their reasons."""
    left_out: list[LeftOut] = []
    grouped: dict[tuple[str, ...], list[Run]] = {}
    for run in _runs(folder):
        if isinstance(run, LeftOut):
            left_out.append(run)
        else:
            settings = ";".join(f"{key}={value}" for key, value in sorted(run.keys.items()))
            grouped.setdefault((run.row["mechanism"], run.row["pattern"], settings), []).append(run)
    cases = []
    for runs in grouped.values():
        try:
            cases.append(_case(runs, runs[0].scenario()))
        except InputError as error:
            left_out += [LeftOut(SIMULATOR, f"{run.table}:{run.line}", run.words, _reason(error)) for run in runs]
    return cases, left_out


def _case(runs: list[Run], scenario: Document) -> Case:
    first = runs[0]
    load, routing = float(first.row["offered_load"]), first.keys["routing"]
    tolerances = dict(TOLERANCES)
    if routing in OBLIVIOUS:
        tolerances["latency_mean"] = LATENCY_OBLIVIOUS
    theirs = {
        ours: [float(run.row[column]) for run in runs]
        for ours, column in MEASURES.items()
        if first.row.get(column, "") != ""
    }
    notes = {}
    accepted = statistics.fmean(theirs["accepted_load"])
    if accepted < CARRIED * load:
        notes["latency_mean"] = SATURATED
    if accepted > (2 - CARRIED) * load:
        notes = dict.fromkeys(theirs, BACKLOG)
    if routing in NOT_STATIONARY and first.row["pattern"] != "UN":
        notes = dict.fromkeys(theirs, UNSTEADY)
    tolerances = {measure: tolerances[measure] for measure in theirs if measure not in notes}
    notes = {**REMARKS.get((first.row["mechanism"], first.row["pattern"], load), {}), **notes}
    measured = scenario["measure"]
    version = first.row.get("version", "")
    return Case(
        simulator=SIMULATOR,
        series=", ".join(filter(None, (first.network, version, first.row["mechanism"], first.row["pattern"]))),
        load=load,
        scenario=scenario,
        theirs=theirs,
        tolerances=tolerances,
        seeds=SEEDS if int(first.keys["H"]) < 4 else SEEDS_FEWER,
        setting=f"{load:g} in {measured['warmup']:,} + {measured['cycles']:,} cycles",
        notes=notes,
        errors=ERRORS,
    )


def transients(folder: Path) -> tuple[list[Transient], list[LeftOut]]:
    """The answers to a change of traffic; tables or parts that cannot be compared, with their reasons."""
    grouped: dict[tuple[str, str, str], list[Row]] = {}
    for table in tables(folder):
        for row in rows(folder / FOLDER, table):
            if "generation_cycle_bin_start" in row:
                grouped.setdefault((table, row["mechanism"], row["settings"]), []).append(row)
    found, left_out = [], []
    for (table, mechanism, _), bins in grouped.items():
        try:
            found.append(_transient(bins))
        except InputError as error:
            left_out.append(LeftOut(SIMULATOR, table, f"{mechanism}, {len(bins)} bins", _reason(error)))
    return found, left_out


WINDOW = 50
"""Cycles in which packets are generated that are compared together: two runs have some hundred packets in them."""

SEEDS_OF_CHANGE = 10


def _of_settings(row: Row) -> dict[str, str]:
    """The settings of a row over the keys that all runs share."""
    given = dict(part.split("=", 1) for part in row["settings"].split(";") if "=" in part)
    return {**fogsim.COMMON, **given}


def _transient(bins: list[Row]) -> Transient:
    first = bins[0]
    keys = {**_of_settings(first), "Probability": f"{100 * float(first['load']):g}"}
    found = of_settings({"Seed": "1", "Version": "5", **keys}).document
    (change,) = found["traffic"]["changes"]
    starts = [int(row["generation_cycle_bin_start"]) for row in bins]
    begin, end = min(starts), max(starts) + int(first["bin_cycles"])
    measure = {
        "warmup": change["cycle"] + begin,
        "cycles": end - begin,
        "count": "generated",
        # Packets that are under way at the end of the run are missing in both series.
        "max_drain": max(int(keys["WarmupCycles"]) + int(keys["MaxCycles"]) - change["cycle"] - end, 0),
        "series": {"by": "generation", "bin": WINDOW},
    }
    tables = ("topology", "router", "routing", "traffic")
    return Transient(
        mechanism=first["mechanism"],
        network=f"Dragonfly p={first['p']} a={first['a']} h={first['h']}",
        change=f"{first['first_pattern']} to {first['second_pattern']} at a load of {first['load']}",
        scenario={key: found[key] for key in tables} | {"measure": measure},
        theirs={
            ours: joined(bins, column, unit, WINDOW)
            for ours, (column, unit) in SERIES.items()
            if column not in UNCOUNTED.get(keys["routing"], ())
        },
        their_seeds=int(first["seeds"]),
        our_seeds=SEEDS_OF_CHANGE,
        simulator=SIMULATOR,
        changed_at=change["cycle"],
        window=WINDOW,
    )
