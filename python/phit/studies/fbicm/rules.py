"""The rules of the claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from phit.studies.fbicm.network import SCHEMES
from phit.studies.fbicm.setting import US, Network, Setting
from phit.studies.kit import tables
from phit.studies.kit.claim import Judgement, NotRunError

RECOVERED = 0.9
"""Share of the throughput before the hot spot at which a scheme counts as recovered (F5)."""

BEFORE = 200
"""Microseconds before the hot spot whose mean throughput is that from which it falls."""

HALVES = (0.55, 0.75)
"""Where DBBM may end up (F4); the report says about 0.65."""

HOL_LIMIT = 2 - 2**0.5
"""What one queue per input leaves of a large switch (Karol, Hluchyj and Morgan, 1987)."""

TABLE_5_3 = {"FBICM first": {64: 1072, 256: 4144, 1024: 16432}, "FBICM": {64: 176, 256: 176, 1024: 176}}
"""Bytes of a CAM."""

SAME = 0.005
"""Differences of accepted load below that are noise of one seed."""


@dataclass(frozen=True)
class Evidence:
    """The tables of all figures, and the setting that they were run in."""

    tables: Mapping[str, pl.DataFrame]
    setting: Setting

    def table(self, figure: str, **where: Any) -> pl.DataFrame:
        """The rows of a figure's table."""
        table = self.tables.get(figure, pl.DataFrame())
        if table.is_empty():
            raise NotRunError(f"figure {figure} was not run")
        found = table.filter(*(pl.col(key) == value for key, value in where.items())) if where else table
        if found.is_empty():
            raise NotRunError(f"figure {figure}: no run of {', '.join(f'{key} {v}' for key, v in where.items())}")
        return found

    def accepted(self, figure: str, **where: Any) -> float:
        """Accepted load of one row."""
        return float(self.table(figure, **where)["accepted_load"].item())

    def mean(self, figure: str, begin: float, end: float, **where: Any) -> float:
        """Mean throughput from `begin` to `end`, in microseconds."""
        rows = self.table(figure, **where).filter(pl.col("t") >= begin, pl.col("t") < end)
        if rows.is_empty():
            raise NotRunError(f"figure {figure}: nothing from {begin:g} to {end:g} us")
        return float(rows["accepted_load"].to_numpy().mean())

    def networks(self, figure: str) -> list[Network]:
        """The networks that a figure has."""
        there = set(self.table(figure)["network"])
        return [net for net in self.setting.networks if net.name in there]

    def window(self) -> tuple[float, float]:
        """When the hot spot is there, in microseconds."""
        return self.setting.hot[0] / US, self.setting.hot[1] / US


def _percent(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * (ratio - 1):+.1f} %" for name, ratio in ratios.items())


def _loads(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def level_under_uniform(evidence: Evidence) -> Judgement:
    """F1: FBICM within 5 % of VOQnet at each load."""
    worst: dict[str, float] = {}
    for net in evidence.networks("5.1"):
        ratios = []
        for load in evidence.setting.loads:
            accepted = {
                scheme: evidence.accepted("5.1", network=net.name, mechanism=scheme, load=load)
                for scheme in ("FBICM", "VOQnet")
            }
            ratios.append(accepted["FBICM"] / accepted["VOQnet"])
        worst[net.name] = min(ratios, key=lambda ratio: -abs(ratio - 1))
    return Judgement(all(abs(r - 1) <= 0.05 for r in worst.values()), f"largest difference: {_percent(worst)}")


def ranking_under_uniform(evidence: Evidence) -> Judgement:
    """F2: 1Q < DBBM < FBICM at full load; DBBM's gap grows with load, and with the network."""
    notes, gaps, holds = [], [], True
    for net in evidence.networks("5.1"):
        high, low = evidence.setting.loads[-1], evidence.setting.loads[-2]
        at = {
            (scheme, load): evidence.accepted("5.1", network=net.name, mechanism=scheme, load=load)
            for scheme in SCHEMES
            for load in (high, low)
        }
        gap = {load: at["FBICM", load] - at["DBBM", load] for load in (high, low)}
        gaps.append(gap[high])
        holds &= at["1Q", high] < at["DBBM", high] < at["FBICM", high] and gap[high] > gap[low]
        notes.append(f"{net.name}: {_loads({scheme: at[scheme, high] for scheme in SCHEMES})}")
    if len(gaps) == 1:
        return Judgement(holds, "; ".join(notes), "one network only, so that its growth is not judged")
    return Judgement(holds and gaps[1] > gaps[0], "; ".join(notes), f"DBBM's gap {gaps[0]:.3f} and {gaps[1]:.3f}")


def _in_window(evidence: Evidence, figure: str, net: Network) -> dict[str, float]:
    begin, end = evidence.window()
    return {s: evidence.mean(figure, begin, end, network=net.name, mechanism=s) for s in SCHEMES}


def _level(evidence: Evidence, figure: str, within: float) -> Judgement:
    found = {net.name: _in_window(evidence, figure, net) for net in evidence.networks(figure)}
    ratios = {name: loads["FBICM"] / loads["VOQnet"] for name, loads in found.items()}
    note = "; ".join(f"{name}: {_loads(loads)}" for name, loads in found.items())
    return Judgement(all(abs(r - 1) <= within for r in ratios.values()), f"FBICM to VOQnet: {_percent(ratios)}", note)


def level_under_single(evidence: Evidence) -> Judgement:
    """F3: FBICM within 5 % of VOQnet while the hot spot is there."""
    return _level(evidence, "5.2", 0.05)


def level_under_multiple(evidence: Evidence) -> Judgement:
    """F6: within 7 %."""
    return _level(evidence, "5.3", 0.07)


def fall(evidence: Evidence) -> Judgement:
    """F4: VOQsw < DBBM < FBICM in the window, and DBBM between 0.55 and 0.75 in it."""
    holds, notes = True, []
    begin, _ = evidence.window()
    for net in evidence.networks("5.2"):
        loads = _in_window(evidence, "5.2", net)
        falls = {}
        for scheme in ("DBBM", "VOQsw"):
            before = evidence.mean("5.2", max(0, begin - BEFORE), begin, network=net.name, mechanism=scheme)
            falls[scheme] = before - loads[scheme]
        holds &= loads["VOQsw"] < loads["DBBM"] < loads["FBICM"] and HALVES[0] <= loads["DBBM"] <= HALVES[1]
        notes.append(f"{net.name}: {_loads(loads)}; falls of {_loads(falls)}")
    return Judgement(holds, "; ".join(notes))


def _recovery(evidence: Evidence, net: Network, scheme: str) -> float:
    """Microseconds from the end of the hot spot until the throughput is at 90 % of that before, for good."""
    begin, end = evidence.window()
    rows = evidence.table("5.2", network=net.name, mechanism=scheme).sort("t")
    level = RECOVERED * evidence.mean("5.2", max(0, begin - BEFORE), begin, network=net.name, mechanism=scheme)
    # The last bin may be cut off.
    below = rows.filter(pl.col("t") >= end, pl.col("accepted_load") < level)["t"].to_list()
    return max(0.0, (below[-1] - end + evidence.setting.bin / US)) if below else 0.0


def slow_recovery(evidence: Evidence) -> Judgement:
    """F5: one queue is the lowest in the window and takes the longest to recover."""
    holds, notes = True, []
    for net in evidence.networks("5.2"):
        loads = _in_window(evidence, "5.2", net)
        times = {scheme: _recovery(evidence, net, scheme) for scheme in SCHEMES}
        others = [s for s in SCHEMES if s != "1Q"]
        holds &= all(loads["1Q"] < loads[s] and times["1Q"] > times[s] for s in others)
        words = ", ".join(f"{scheme} {time:.0f}" for scheme, time in times.items())
        notes.append(f"{net.name}: 1Q at {loads['1Q']:.3f}; microseconds to recover: {words}")
    return Judgement(holds, "; ".join(notes))


def input_output(evidence: Evidence) -> Judgement:
    """F7: FBICM within 2 % of VOQnet and not below DBBM and VOQsw."""
    holds, notes = True, []
    for compression in sorted(evidence.table("5.4")["compression"].unique()):
        loads = {
            scheme: evidence.mean("5.4", 0, float("inf"), compression=compression, mechanism=scheme)
            for scheme in SCHEMES
        }
        holds &= abs(loads["FBICM"] / loads["VOQnet"] - 1) <= 0.02
        holds &= loads["FBICM"] >= max(loads["DBBM"], loads["VOQsw"]) - SAME
        notes.append(f"CF {compression}: {_loads(loads)}")
    return Judgement(holds, "; ".join(notes), "built-in bursty trace, not cello")


def memories(evidence: Evidence) -> Judgement:
    """F8: table 5.3, from the memories of the runs."""
    table = evidence.table("table5.3")
    found: dict[str, dict[int, int]] = {}
    for version, endpoints, size in table.select("mechanism", "endpoints", "bytes_per_cam").iter_rows():
        found.setdefault(version, {})[endpoints] = round(size)
    expected = {v: {n: b for n, b in TABLE_5_3[v].items() if n in sizes} for v, sizes in found.items()}
    if not any(expected.values()):
        raise NotRunError("table 5.3: none of the report's networks was run")
    words = "; ".join(f"{v}: {', '.join(f'{b:,}' for b in sizes.values())}" for v, sizes in found.items())
    return Judgement(found == expected, f"{words} bytes")


def in_order(evidence: Evidence) -> Judgement:
    """F9: no packet out of order in any run of FBICM."""
    late, runs = 0, 0
    for figure in ("5.1", "5.2", "5.3", "5.4", "versions", "thresholds", "elsewhere"):
        table = evidence.tables.get(figure, pl.DataFrame())
        if table.is_empty():
            continue
        rows = table.filter(pl.col("mechanism").is_in(["FBICM", "FBICM first"]))
        keys = [
            c for c in ("network", "mechanism", "load", "compression", "case", "detection", "stop") if c in rows.columns
        ]
        rows = rows.unique(keys) if keys else rows
        late += int(rows["out_of_order"].sum())
        runs += rows.height
    if not runs:
        raise NotRunError("no run of FBICM")
    return Judgement(late == 0, f"{late} packets out of order in {runs} runs")


def cheaper_version(evidence: Evidence) -> Judgement:
    """F10: fewer bits, queues freed sooner by more than seeds differ, and memories off where there is no congestion."""
    holds, notes = True, []
    for case in ("single", "multiple"):
        rows = {v: evidence.table("versions", mechanism=v, case=case) for v in ("FBICM", "FBICM first")}
        bits = {v: float(r["bits"].to_numpy().mean()) for v, r in rows.items()}
        life = {v: float(r["lifetime"].to_numpy().mean()) / US for v, r in rows.items()}
        by_seed = rows["FBICM"].join(rows["FBICM first"], on="seed", suffix="_first", how="inner")
        later = (by_seed["lifetime"] - by_seed["lifetime_first"]) / US
        half = tables.half_width(later.to_list())
        holds &= bits["FBICM"] < bits["FBICM first"] and life["FBICM"] - life["FBICM first"] + half < 0
        notes.append(
            f"{case}: {bits['FBICM'] / 1000:.0f} against {bits['FBICM first'] / 1000:.0f} kbit, "
            f"{life['FBICM']:.2f} against {life['FBICM first']:.2f} us (± {half:.2f}, {len(later)} seeds)"
        )
    idle = float(evidence.table("versions", mechanism="FBICM", case="none")["cam_share"].to_numpy().mean())
    holds &= idle == 0
    return Judgement(holds, "; ".join(notes), f"CAM on {100 * idle:.3g} % of the time without congestion")


def head_of_line_limit(evidence: Evidence) -> Judgement:
    """F11: 2 - sqrt(2), within 0.01."""
    accepted = float(evidence.table("limit")["accepted_load"].to_numpy().mean())
    return Judgement(abs(accepted - HOL_LIMIT) <= 0.01, f"{accepted:.4f} with 64 ports")
