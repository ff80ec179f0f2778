"""BookSim 2: dimension order on mesh, torus and flattened butterfly; empty networks; saturated rings."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from phit.document import Document
from phit.importing.booksim import grammar, of_settings
from phit.peers.booksim import router
from phit.peers.comparison import BOOKSIM, BOOKSIM_CALM, EXACT, SATURATION_THROUGHPUT, Case
from phit.studies.validation.reference import Row, rows

TABLES = ("booksim_kncube.csv", "booksim_flatfly.csv", "booksim_dragonfly.csv")

NETWORKS = {
    "a_mesh88_1flit": "8x8 mesh, uniform, 1-flit packets",
    "a_mesh88_4flit": "8x8 mesh, uniform, 4-flit packets",
    "a_torus88_uniform": "8x8 torus, uniform",
    "a_torus88_tornado": "8x8 torus, tornado",
    "a_torus888_uniform": "8x8x8 torus, uniform",
    "d_ff_k8c9_uniform_ran_min": "8x8 flattened butterfly of 576, uniform",
    "d_ff_k8c9_tornado_ran_min": "8x8 flattened butterfly of 576, tornado",
    "d_ff_k8c16_bitcomp_ran_min": "8x8 flattened butterfly of 1,024, bit complement",
    "d_ff_k8c9_uniform_valiant": "8x8 flattened butterfly of 576, uniform, Valiant",
    "d_ff_k8c9_tornado_valiant": "8x8 flattened butterfly of 576, tornado, Valiant",
    "d_ff_k8c16_bitcomp_valiant": "8x8 flattened butterfly of 1,024, bit complement, Valiant",
    "d_ff_k8c9_uniform_ugal": "8x8 flattened butterfly of 576, uniform, UGAL",
    "d_ff_k8c9_tornado_ugal": "8x8 flattened butterfly of 576, tornado, UGAL",
    "d_ff_k8c16_bitcomp_ugal": "8x8 flattened butterfly of 1,024, bit complement, UGAL",
    "c_df1056_uniform_min": "Dragonfly of 1,056, uniform",
    "c_df1056_baddragon_min": "Dragonfly of 1,056, to the next group",
    "c_df1056_uniform_ugal": "Dragonfly of 1,056, uniform, UGAL",
    "c_df1056_baddragon_ugal": "Dragonfly of 1,056, to the next group, UGAL",
}
"""Descriptions of the series that Phit can express."""

QUICK = {"a_torus88_uniform": (0.3, 0.5), "c_df1056_uniform_min": (0.9,), "c_df1056_uniform_ugal": (0.3,)}
"""Loads of each series that the fast tests run."""

NEAR_SATURATION = "above 80 % of saturation"


def configuration(row: Row) -> dict[str, str]:
    """The whole configuration of a run."""
    pairs = (part.split(" = ", 1) for part in row["config_string"].split(";") if " = " in part)
    found = {key.strip(): value.strip() for key, value in pairs}
    return found | dict(token.split("=", 1) for token in row["overrides"].split())


def settings(given: dict[str, str]) -> dict[str, Any]:
    """The settings of `router` in a configuration of BookSim's."""
    return {
        "vcs": int(given["num_vcs"]),
        "buffer": int(given["vc_buf_size"]),
        "routing_delay": int(given["routing_delay"]),
        "credit_delay": int(given["credit_delay"]),
        "speedup": float(given["internal_speedup"]),
        "allocator": given["sw_allocator"],
        "speculative": given.get("speculative") == "1",
    }


def scenario(row: Row, *, drained: bool = True) -> Document:
    """The imported scenario of a BookSim run; `drained` if it waited for all recorded packets."""
    given = configuration(row)
    written = " ".join(f"{key} = {value};" for key, value in given.items())
    document = of_settings(grammar.settings(written, row["cfg"])).document
    measure = {
        "warmup": int(given["sample_period"]),
        "cycles": int(row["measured_cycles"]),
        "count": "generated" if drained else "delivered",
    }
    tables = ("topology", "planes", "router", "routing", "queueing", "traffic")
    return {key: document[key] for key in tables if key in document} | {"measure": measure}


def curves(folder: Path) -> list[Case]:
    """The latency-load curves. A load that BookSim gave up in its latency mode counts in its throughput mode alone."""
    grouped: dict[str, dict[tuple[float, str], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in (row for table in TABLES for row in rows(folder, table)):
        if row["series"] in NETWORKS and row["status"] == "ok":
            grouped[row["series"]][float(row["offered_flits_node_cycle"]), row["sim_type"]].append(row)
    found = []
    for series, points in grouped.items():
        limit = saturation([run for runs in points.values() for run in runs])
        for (load, _), runs in sorted(points.items()):
            quick = load in QUICK.get(series, ())
            # A saturated run never drains.
            drained = runs[0]["sim_type"] == "latency" and runs[0]["saturated"] == "no"
            document = scenario(runs[0], drained=drained)
            found.append(point(NETWORKS[series], load, runs, document, limit, quick=quick))
    return found


OPTIONS = {
    "mesh88_speedups": "8x8 mesh, uniform, paths through the crossbar",
    "mesh88_fraction": "8x8 mesh, uniform, a crossbar of a fractional speedup",
    "ring8_fraction": "ring of 8, neighbour, saturated, a crossbar of a fractional speedup",
    "mesh88_speculative": "8x8 mesh, uniform, speculation",
    "mesh88_channels": "8x8 mesh, uniform, rules for virtual channels",
    "mesh88_sharing": "8x8 mesh, channels that share the buffer of a port",
    "mesh88_classes": "8x8 mesh, two classes of packets",
    "mesh88_noq": "8x8 mesh, next-hop output queueing",
    "torus88_noq": "8x8 torus, uniform, next-hop output queueing",
    "mesh88_orders": "8x8 mesh, either order of dimensions",
    "mesh88_romm": "8x8 mesh, ROMM",
    "mesh88_adaptive": "8x8 mesh, adaptive as its sets of hops leave it",
    "torus88_balanced": "8x8 torus, balanced use of virtual channels",
    "mesh88_planes": "8x8 mesh, uniform, several networks",
    "torus88_planes": "8x8 torus, uniform, several networks",
    "fattree64_planes": "fat tree of 64, uniform, several networks",
    "mesh88_connections": "8x8 mesh, uniform, the crossbar connects ports for a packet",
    "ff44_allocators": "4x4 flattened butterfly of 64, uniform, allocators",
    "ff44_valiant": "4x4 flattened butterfly of 64, Valiant",
    "ff44_ugal": "4x4 flattened butterfly of 64, UGAL",
    "ff44_orders": "4x4 flattened butterfly of 64, either order of dimensions",
    "cmesh_express": "8x8 concentrated mesh of 256, express channels",
    "ff16_line": "flattened butterfly of 128 in one dimension",
}
"""Descriptions of the series of runs that differ in an option."""

ROUTINGS = ("mesh88_orders", "mesh88_adaptive", "ff44_orders", "ff16_line", "cmesh_express")
"""Series among these in which the routing function differs."""

FULL = 1.0
"""The load of a full link, in phits/(endpoint·cycle)."""


def options(folder: Path) -> list[Case]:
    """Runs that differ in an option of the router, or of routing, at one load or a few."""
    found = []
    for row in rows(folder, "booksim_options.csv"):
        given = configuration(row)
        speedups = ("internal_speedup", "input_speedup", "output_speedup")
        channels = ("vc_busy_when_full", "vc_prioritize_empty", "vc_shuffle_requests")
        allocation = ("routing_delay", "speculative", "vc_allocator", "sw_allocator")
        buffers = ("num_vcs", "vc_buf_size", "buffer_policy", "private_buf_size", "max_held_slots")
        classes = ("injection_rate", "class_priority") if "classes=" in row["overrides"] else ()
        planes = ("subnets",) if "subnets=" in row["overrides"] else ()
        routing = ("routing_function",) if row["series"] in ROUTINGS else ()
        router_keys = (*speedups, *allocation, *channels, *buffers)
        keys = (*classes, *planes, *routing, *router_keys, "wait_for_tail_credit", "traffic", "packet_size")
        changed = [f"{key}={given[key]}" for key in keys if f"{key}=" in row["overrides"]]
        load = float(row["offered_flits_node_cycle"])
        # These are no curves of which the saturation is known: latencies are judged at all loads.
        document = scenario(row, drained=row["saturated"] == "no")
        case = point(OPTIONS[row["series"]], load, [row], document, FULL, quick=False)
        of_class = int(row["class"]) if row["class"] else None
        part = f"load {load:g}" if of_class is None else f"class {of_class}"
        found.append(replace(case, setting=", ".join([*changed, part]), of_class=of_class))
    return found


def saturation(runs: list[Row]) -> float:
    """The most that a curve accepts."""
    return max(float(run["accepted_flits_node_cycle"]) for run in runs)


def point(series: str, load: float, runs: list[Row], scenario: Document, limit: float, *, quick: bool) -> Case:
    """One point of a curve that accepts `limit` at most."""
    saturated = all(run["saturated"] == "yes" for run in runs)
    theirs = {"accepted_load": [float(run["accepted_flits_node_cycle"]) for run in runs]}
    tolerances = {"accepted_load": SATURATION_THROUGHPUT if saturated else BOOKSIM["accepted_load"]}
    notes = {}
    if not saturated:
        theirs["latency_mean"] = [float(run["avg_packet_latency"]) for run in runs]
        theirs["hops_mean"] = [float(run["link_hops"]) for run in runs]
        tolerances["hops_mean"] = BOOKSIM["hops_mean"]
        if load <= BOOKSIM_CALM * limit:
            tolerances["latency_mean"] = BOOKSIM["latency_mean"]
        else:
            notes["latency_mean"] = NEAR_SATURATION
    return Case(
        simulator="BookSim",
        series=series,
        load=load,
        scenario=scenario,
        theirs=theirs,
        tolerances=tolerances,
        quick=quick,
        notes=notes,
    )


EMPTY: dict[str, dict[str, Any]] = {
    "rd0 va1 sa1 st1 d1": {},
    "d2 (use_noc_latency=1)": {"channel": 2},
    "rd1": {"routing_delay": 1},
    "rd2": {"routing_delay": 2},
    "st_final2": {"switch_delay": 2},
    "st_prepare1": {"switch_delay": 2},
    "credit_delay0": {"credit_delay": 0},
    "credit_delay8": {"credit_delay": 8},
    "speculative": {"speculative": True},
    "speculative rd1": {"speculative": True, "routing_delay": 1},
    "IS2": {"speedup": 2},
    "IS2 spec": {"speedup": 2, "speculative": True},
    "IS3": {"speedup": 3},
    "IS1.5": {"speedup": 1.5},
    "IS2 rd1": {"speedup": 2, "routing_delay": 1},
    "IS4 rd1": {"speedup": 4, "routing_delay": 1},
    "4-flit": {"packet": 4},
    "10-flit": {"packet": 10},
    "allocator sep_in_first": {"allocator": "separable_input_first"},
}
"""The settings of an empty torus that Phit can express. The others: stages of BookSim that abort."""

RING: dict[str, dict[str, Any]] = {
    "1 VC/class, 1-flit, rd0": {},
    "1 VC/class, 1-flit, rd1": {"routing_delay": 1},
    "1 VC/class, 1-flit, spec": {"speculative": True},
    "1 VC/class, 1-flit, IS2": {"speedup": 2},
    "1 VC/class, 4-flit rd0": {"packet": 4},
    "1 VC/class, 4-flit rd1": {"packet": 4, "routing_delay": 1},
    "2 VC/class, 1-flit rd0": {"vcs": 4},
    "64-flit, 1VC/class, buf 2, credit_delay0": {"packet": 64, "buffer": 2, "credit_delay": 0},
    "64-flit, 1VC/class, buf 4, credit_delay0": {"packet": 64, "buffer": 4, "credit_delay": 0},
    "64-flit, 1VC/class, buf 6, credit_delay0": {"packet": 64, "buffer": 6, "credit_delay": 0},
    "64-flit, 1VC/class, buf 8, credit_delay0": {"packet": 64, "buffer": 8, "credit_delay": 0},
    "64-flit, 1VC/class, buf 10, credit_delay0": {"packet": 64, "buffer": 10, "credit_delay": 0},
    "64-flit, 1VC/class, buf 12, credit_delay0": {"packet": 64, "buffer": 12, "credit_delay": 0},
    "64-flit, 1VC/class, buf 4, credit_delay2": {"packet": 64, "buffer": 4},
    "64-flit, 1VC/class, buf 4, rd1 credit_delay0": {
        "packet": 64,
        "buffer": 4,
        "credit_delay": 0,
        "routing_delay": 1,
    },
    "64-flit, 1VC/class, buf 4, credit_delay0 d2": {"packet": 64, "buffer": 4, "credit_delay": 0, "channel": 2},
    "64-flit, 1VC/class, buf 4, credit_delay0 IS2 spec": {
        "packet": 64,
        "buffer": 4,
        "credit_delay": 0,
        "speedup": 2,
        "speculative": True,
    },
    "64-flit, 1VC/class, buf 8, credit_delay2": {"packet": 64, "buffer": 8},
    "64-flit, 1VC/class, buf 8, credit_delay0 IS2 spec": {
        "packet": 64,
        "buffer": 8,
        "credit_delay": 0,
        "speedup": 2,
        "speculative": True,
    },
    "64-flit, 1VC/class, buf 8, rd1 credit_delay0": {
        "packet": 64,
        "buffer": 8,
        "credit_delay": 0,
        "routing_delay": 1,
    },
    "64-flit, 1VC/class, buf 8, credit_delay0 d2": {"packet": 64, "buffer": 8, "credit_delay": 0, "channel": 2},
}
"""The settings of a saturated ring of 8 that Phit can express. The others: a crossbar of two unpipelined cycles."""


def empty_network(packet: int = 1, **settings: Any) -> Document:
    """An 8x8 torus with so little tornado traffic that packets hardly ever meet."""
    return {
        "topology": {"kind": "torus", "dims": [8, 8]},
        "router": router(**settings),
        "routing": {"kind": "dimension_order"},
        "traffic": {"pattern": {"kind": "tornado"}, "load": 0.0005 * packet, "packet_size": packet},
        "measure": {"warmup": 200, "cycles": 4000, "count": "generated"},
    }


def saturated_ring(packet: int = 1, **settings: Any) -> Document:
    """A ring of 8 in which every router sends all it can to the next."""
    return {
        "topology": {"kind": "torus", "dims": [8]},
        "router": router(**({"vcs": 2} | settings)),
        "routing": {"kind": "dimension_order"},
        "traffic": {"pattern": {"kind": "neighbor"}, "process": "bernoulli", "load": 1.0, "packet_size": packet},
        "measure": {"warmup": 4000, "cycles": 60_000},
    }


def settings_alone(folder: Path) -> list[Case]:
    """Empty networks and saturated rings."""
    found = []
    for row in rows(folder, "booksim_zero_load.csv"):
        empty, variant = row["experiment"].startswith("zero-load"), row["variant"]
        if empty and variant in EMPTY:
            found.append(
                Case(
                    simulator="BookSim",
                    series="8x8 torus, tornado, empty",
                    load=0.0,
                    scenario=empty_network(**EMPTY[variant]),
                    theirs={"latency_p50": [float(row["measured_min_latency"])]},
                    tolerances={"latency_p50": EXACT},
                    quick=True,
                    seeds=1,
                    setting=variant,
                )
            )
        elif not empty and variant in RING:
            found.append(
                Case(
                    simulator="BookSim",
                    series="ring of 8, neighbour, saturated",
                    load=1.0,
                    scenario=saturated_ring(**RING[variant]),
                    theirs={"accepted_load": [float(row["measured_avg_latency_or_accepted"])]},
                    tolerances={"accepted_load": SATURATION_THROUGHPUT},
                    quick=False,
                    setting=variant,
                )
            )
    return found


def cases(folder: Path) -> list[Case]:
    """Everything of BookSim's."""
    return [*settings_alone(folder), *curves(folder), *options(folder)]
