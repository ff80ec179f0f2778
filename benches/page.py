"""The page `docs/performance.md`: tables of times and counts between handwritten lines."""

import json
import operator
import re
import sys
from collections.abc import Iterable

from cases import ADAPTIVE, CLOS, H4, H8, HYBRID, NODES, ROOT, STAGED, THREADED, TORUS, Record, describe
from executable import COLUMNS
from settings import all_settings

TEMPLATE = ROOT / "benches" / "performance.md"
DOCUMENT = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "benches" / "results.json"
COUNTS = ROOT / "benches" / "counts.json"
TURNS = ROOT / "benches" / "peers.json"
STAGES = ROOT / "benches" / "stages.json"
CLIFFS = ROOT / "benches" / "cliffs.json"
PROFILED = H8

TOO_MUCH = 2.5
"""Times the plain setting of its network that a setting may cost."""

AUTHOR = (("the OutFlank author's, as published", 0.07e6), ("the OutFlank author's, with cached lookups", 0.13e6))
"""Packet-hops per CPU second of the model of OutFlank's author on the torus of 8x8x8 nodes, on a quiet machine."""


def show(number: float, digits: int = 2) -> str:
    """A number for a table."""
    return f"{number:,.{digits}f}"


def table(heads: list[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown, all columns but the first to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def speed_table(runs: dict[str, Record]) -> str:
    """Speed and memory of all cases."""
    rows = [
        [
            describe(case),
            show(run["accepted_load"], 3),
            show(run["best"] / 1e6),
            show(run["median"] / 1e6),
            f"{run['bytes_per_endpoint']:,.0f}",
            f"{run['resident_bytes'] / run['endpoints']:,.0f}" if run["resident_bytes"] else "–",
            str(run["partitions"]),
        ]
        for case, run in runs.items()
    ]
    heads = ["network, traffic, load", "accepted", "best", "median", "tables", "resident", "partitions"]
    return table(heads, rows)


def required_table(runs: dict[str, Record], counts: dict[str, Record], threads: dict[str, Record]) -> str:
    """Requirements, targets and measurements."""
    rows = []

    def row(what: str, sign: str, required: float, aim: float | None, measured: float | None, digits: int = 2) -> None:
        meets = operator.ge if sign == "≥" else operator.le
        verdict = "not measured"
        if measured is not None:
            verdict = (
                "aim" if aim is not None and meets(measured, aim) else "yes" if meets(measured, required) else "**no**"
            )
        bounds = [f"{sign}\N{NO-BREAK SPACE}{bound:,g}" if bound is not None else "–" for bound in (required, aim)]
        rows.append([what, *bounds, "–" if measured is None else show(measured, digits), verdict])

    row("h=8, UN 0.3: million packet-hops/s", "≥", 5, 12, runs[H8]["best"] / 1e6)
    row("h=4, UN 0.3: million packet-hops/s", "≥", 6, 14, runs[H4]["best"] / 1e6)
    for case, required in ADAPTIVE.items():
        row(f"{describe(case)}: million packet-hops/s", "≥", required, None, runs[case]["best"] / 1e6)
    for case, required in (("tree-256-fbicm-1", 2.5), ("tree-256-voqnet-1", 3), ("clos-1024-sequential-0.9", 6)):
        row(f"{describe(case)}: million packet-hops/s", "≥", required, None, runs[case]["best"] / 1e6)
    for case in TORUS:
        what = f"8×8×8 torus, 0.5, {case[6]}-flit packets: million flit-hops/s"
        row(what, "≥", 3, 10, runs[case]["best"] / 1e6)
    for case in NODES:
        row(f"{describe(case)}: million packet-hops/s", "≥", 9, None, runs[case]["best"] / 1e6)
    for case, required in (("clos-27648-oblivious-0.5", 5.5), (CLOS, 3.3)):
        row(
            f"{describe(case)}: million packet-hops/s",
            "≥",
            required,
            7 if required > 4 else 5,
            runs[case]["best"] / 1e6,
        )
    bounds = {H8: (730, 600), H4: (730, 600), TORUS[0]: (1200, 900), CLOS: (1500, None), HYBRID: (1700, None)}
    for case, (required, aim) in bounds.items():
        measured = counts[case]["all"]["instructions"] if case in counts else None
        row(f"{describe(case)}: instructions per hop", "≤", required, aim, measured, 0)
    row("h=8, UN 0.3: bytes per endpoint", "≤", 1300, None, runs[H8]["bytes_per_endpoint"], 0)
    for case, wanted in THREADED.items():
        if wanted is not None:
            row(f"{describe(case)}: two threads against one", "≥", wanted, None, threads[case]["speedup"])
    return table(["", "required", "aim", "measured", "met"], rows)


def peers_table(turns: list[Record]) -> str:
    """The speed of this engine relative to its peers, timed in turn."""
    rows = [
        [
            turn["words"],
            turn["peer"],
            show(turn["theirs"] / 1e6, 3),
            show(turn["ours"] / 1e6),
            f"{turn['times']:.0f} ({turn['least']:.0f} to {turn['most']:.0f})".replace(" ", "\N{NO-BREAK SPACE}"),
        ]
        for turn in turns
    ]
    machines = sorted({turn["machine"] for turn in turns})
    heads = ["network, mechanism, traffic", "peer", "the peer", "Phit", "times as fast"]
    return f"{table(heads, rows)}\n\nMeasured on: {'; '.join(machines)}."


def ratios(turns: list[Record]) -> dict[str, str]:
    """How many times as fast as its peers the engine is: the least and the most, and where the page names a target."""
    times = {turn["case"]: f"{turn['times']:.0f}" for turn in turns}
    missing = "an unknown number of"
    return {
        "least_times": min(times.values(), key=int, default=missing),
        "most_times": max(times.values(), key=int, default=missing),
        "min_times": times.get("dragonfly-h4-MIN-UN", missing),
        "ectn_times": times.get("dragonfly-h4-ECtN-ADV+1", missing),
    }


def author_table(runs: dict[str, Record]) -> str:
    """The speed of this engine and that of OutFlank's author."""
    rows = [
        [describe(case), peer, show(theirs / 1e6), show(runs[case]["best"] / 1e6), f"{runs[case]['best'] / theirs:.0f}"]
        for case in NODES
        if case.startswith("nodes-8")
        for peer, theirs in AUTHOR
    ]
    return table(["network, traffic, load", "peer", "the peer", "Phit", "times"], rows)


def counts_table(counts: dict[str, Record]) -> str:
    """Counts per hop of all cases run under cachegrind."""
    rows = [[describe(case), *counted(count["all"])] for case, count in counts.items()]
    return table(["network, traffic, load", "instructions", "mispredicted", "L1 misses", "L2 misses"], rows)


def stages_table(stages: dict[str, dict[str, float]]) -> str:
    """Instructions per hop by stage of the kernel, of each case that has any there."""
    names = [name for name in next(iter(stages.values())) if any(round(each[name]) for each in stages.values())]
    rows = [[name, *(show(each[name], 0) if round(each[name]) else "–" for each in stages.values())] for name in names]
    total = ["all", *(show(sum(each.values()), 0) for each in stages.values())]
    return table(["stage", *(STAGED.get(case, case) for case in stages)], [*rows, total])


def cliffs_table(kept: Record) -> str:
    """Costs of settings beside the plain one of their network, the worst first."""
    settings, counted = all_settings(), kept["settings"]
    known = {name: counted[name] for name in settings if name in counted}
    plain = {settings[name].group: found.get("cost") for name, found in known.items() if settings[name].is_plain}

    def times(name: str) -> float | None:
        cost, base = known[name].get("cost"), plain.get(settings[name].group)
        return cost / base if cost is not None and base else None

    def row(name: str) -> list[str]:
        found, ratio = known[name], times(name)
        cost = show(found["cost"], 2 if found["unit"] == "second" else 0) if "cost" in found else found["why"]
        load = show(found["accepted_load"], 3) if "accepted_load" in found else "–"
        by = "s" if found["unit"] == "second" else f"a {found['unit']}"
        return [settings[name].group, settings[name].name, cost, by, "–" if ratio is None else show(ratio), load]

    # Settings that were given up come before all that were counted.
    order = sorted(known, key=lambda name: ("cost" in known[name], -(times(name) or 0.0)))
    above = sum(1 for name in known if (times(name) or 0.0) > TOO_MUCH)
    heads = ["network", "setting", "cost", "", "times plain", "accepted"]
    stated = (
        f"Of {len(settings)} settings {len(known)} were counted; {above} cost more than {TOO_MUCH} times the plain one."
    )
    builds = f"Counted with: {'; '.join(sorted(set(kept['builds'].values())))}."
    return f"{stated}\n\n{table(heads, map(row, order))}\n\n{builds}"


def profile_table(count: Record, part: str, head: str, rows: int) -> str:
    """The parts with most instructions per hop."""
    parts: list[tuple[str, dict[str, float]]] = sorted(count[part].items(), key=lambda item: -item[1]["instructions"])
    rest = {column: sum(other[column] for _, other in parts[rows:]) for column in COLUMNS}
    shown = [[f"`{name}`" if "::" in name or ".rs" in name else name, *counted(own)] for name, own in parts[:rows]]
    return table(
        [head, "instructions", "mispredicted", "L1 misses", "L2 misses"], [*shown, ["all others", *counted(rest)]]
    )


def counted(count: dict[str, float]) -> list[str]:
    """The columns of a table of counts."""
    return [show(count["instructions"], 0), *(show(count[column]) for column in ("mispredicted", "l1", "l2"))]


def blocks_table(blocks: list[Record]) -> str:
    """Speed by number of partitions on one thread."""
    rows = [
        [
            describe(run["case"]),
            f"{run['partitions']}{' (automatic)' if run['automatic'] else ''}",
            show(run["best"] / 1e6),
            f"{run['bytes_per_endpoint']:,.0f}",
        ]
        for run in blocks
    ]
    return table(["network, traffic, load", "partitions", "million hops/s", "bytes/endpoint"], rows)


def block_bytes(run: Record) -> float:
    """Bytes of the tables of one partition."""
    return float(run["bytes_per_endpoint"] * run["endpoints"] / run["partitions"])


def reloaded_lines(run: Record) -> float:
    """Cache lines per hop if every partition fetches all of its tables once in the 100 cycles of a global link."""
    return float(block_bytes(run) * run["partitions"] / 64 / (100 * run["hops_per_cycle"]))


def threads_table(threads: dict[str, Record]) -> str:
    """The speed with two threads."""
    rows = [
        [
            describe(case),
            show(it["one"], 3),
            show(it["two"], 3),
            show(it["speedup"]),
            show(it["median_speedup"]),
            show(it["cpu"]),
            show(it["apart"]),
        ]
        for case, it in threads.items()
    ]
    heads = ["network, traffic, load", "one, s", "two, s", "times as fast", "median", "CPU time", "two processes"]
    return table(heads, rows)


def page(results: Record) -> str:
    """The page, from the times, the counts, and the peers' rounds that exist."""
    runs, threads = results["runs"], results["threads"]
    counts: dict[str, Record] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    from_memory = show(counts.pop("large", {}).get("all", {}).get("l2", float("nan")))
    missing = "Not measured: `make bench-counts` does."
    turns: list[Record] = json.loads(TURNS.read_text()) if TURNS.exists() else []
    cliffs: Record = json.loads(CLIFFS.read_text()) if CLIFFS.exists() else {}
    stages: dict[str, dict[str, float]] = json.loads(STAGES.read_text()) if STAGES.exists() else {}
    parts = {
        "required": required_table(runs, counts, threads),
        "peers": peers_table(turns) if turns else "Not measured: `benches/peers.py` does.",
        "author": author_table(runs),
        "speed": speed_table(runs),
        "counts": counts_table(counts) if counts else missing,
        "stages": stages_table(stages) if stages else "Not counted: `benches/stages.py` does.",
        "cliffs": cliffs_table(cliffs) if cliffs else "Not counted: `make bench-cliffs` does.",
        "functions": profile_table(counts[PROFILED], "functions", "function", 14) if counts else missing,
        "files": profile_table(counts[PROFILED], "files", "source", 16) if counts else missing,
        "torus": profile_table(counts[TORUS[0]], "functions", "function", 10) if counts else missing,
        "blocks": blocks_table(results["blocks"]),
        "from_memory": from_memory,
        "reloaded": show(reloaded_lines(runs[PROFILED])),
        "block_size": f"{block_bytes(runs[PROFILED]) / 1000:.0f}",
        "threads": f"{threads_table(threads)}\n\nMeasured on: {results['threads_machine']}.",
        "machine": results["machine"],
        "full_speed": show(runs[H8]["best"] / 1e6, 0),
        "full_bytes": f"{runs[H8]['bytes_per_endpoint']:,.0f}",
        "small_speed": show(runs[H4]["best"] / 1e6, 0),
        "small_instructions": show(counts[H4]["all"]["instructions"], 0) if H4 in counts else missing,
        **ratios(turns),
    }
    return re.sub(r"<!-- ([a-z_]+) -->", lambda found: parts[found[1]], TEMPLATE.read_text())


def write_page() -> None:
    """Writes the page from the latest times and counts."""
    DOCUMENT.write_text(page(json.loads(RESULTS.read_text())))
    print(f"written: {DOCUMENT.relative_to(ROOT)}", file=sys.stderr)
