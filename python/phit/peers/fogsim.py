"""FOGSim, versions 2 and 5: its router, its traffic, and its routing mechanisms by configuration keys."""

from collections.abc import Mapping

from phit.document import Document

INJECTION_QUEUES = 3
"""Injection queues of an endpoint: adversarial traffic uses one of them, uniform traffic all."""

INJECTION_QUEUE = 1000
"""Phits of each injection queue."""


def router(
    local: int,
    *,
    global_vcs: int = 2,
    injection: int = INJECTION_QUEUES,
    injection_buffer: int = INJECTION_QUEUE,
    delay: int = 5,
    speedup: int = 2,
    output_buffer: int = 32,
    rounds: int = 1,
    latency: tuple[int, int] = (10, 100),
    buffer: tuple[int, int] = (32, 256),
    version: int = 2,
) -> Document:
    """FOGSim's input-output-queued router.

    `local`, `global_vcs` and `injection` are the numbers of virtual channels of local links, global links and
    endpoints. `delay` is the delay of the crossbar in cycles, and `rounds` the rounds of allocation in a cycle.
    `latency` (cycles) and `buffer` (phits) are pairs for local and global links. From version 4 on, credits leave at
    the allocation, and outputs to endpoints are granted only while their endpoints are idle.
    """
    return {
        "latency": delay,
        "speedup": speedup,
        "clock": "link",
        "switching": "virtual_cut_through",
        "cut_through": "input",
        "output_buffer": output_buffer,
        "credit_release": "output" if version < LATER else "allocation",
        **({"ejection": "endpoint_idle"} if version >= LATER else {}),
        "transit_priority": True,
        "injection_queue": "destination",
        "allocator": {
            "kind": "separable_input_first",
            "arbiter": "least_recently_served",
            "update": "request",
        },
        **({"allocation_rounds": rounds} if rounds > 1 else {}),
        "links": {
            "endpoint": {
                "latency": 0,
                "injection_bandwidth": "infinite",
                "vcs": injection,
                "buffer": injection_buffer,
            },
            "local": {"latency": latency[0], "vcs": local, "buffer": buffer[0]},
            "global": {"latency": latency[1], "vcs": global_vcs, "buffer": buffer[1]},
        },
    }


LATER = 4
"""The first version with the later router."""

PATTERNS: dict[str, Document] = {
    "UN": {"kind": "uniform"},
    "ADV+1": {"kind": "adversarial", "offset": 1},
    "ADV+4": {"kind": "adversarial", "offset": 4},
}
"""Patterns by name."""


def traffic(pattern: str | Document, load: float) -> Document:
    """Bernoulli arrivals of packets of 8 phits, at a load in phits/(endpoint·cycle)."""
    found = PATTERNS[pattern] if isinstance(pattern, str) else pattern
    return {"pattern": found, "process": "bernoulli", "load": load, "packet_size": 8}


Keys = Mapping[str, str]
"""A configuration of FOGSim."""

ADAPTIVE = ("PB", "OLM", "Base", "Hybrid", "ECtN")
"""The mechanisms that decide by the state of the network."""

COMMON: Keys = {
    "Switch": "IOQ_SW",
    "XbarDelay": "5",
    "InternalSpeedup": "2",
    "ArbiterIterations": "1",
    "InjectionQueueLength": str(INJECTION_QUEUE),
    "LocalQueueLength": "32",
    "GlobalQueueLength": "256",
    "OutQueueLength": "32",
    "LocalLinkTransmissionDelay": "10",
    "GlobalLinkTransmissionDelay": "100",
    "InjectionDelay": "1",
    "PacketSize": "8",
    "FlitSize": "8",
    "PalmTreeConfiguration": "1",
    "LocalLinkChannels": "3",
    "InjectionChannels": str(INJECTION_QUEUES),
    "GlobalChannels": "2",
    "deadlock_avoidance": "DALLY",
}
"""Keys of the router that all runs share, unless they say otherwise."""

FOUR_LOCAL_VCS = {"LocalLinkChannels": "4"}
PIGGYBACK = {"piggybacking_coef": "200", "ugal_global_threshold": "3", "ugal_local_threshold": "3"}
IN_TRANSIT = {"routing": "OLM", "GlobalMisroutingPolicy": "MM_L"}
RESTRICTION = {
    "VcMisroutingCongestedRestrictionCoefPercent": "150",
    "VcMisroutingCongestedRestrictionThreshold": "5",
}

CONFIGURATION: dict[str, Keys] = {
    "MIN": {"routing": "MIN"},
    "VAL": {"routing": "VAL_ANY", **FOUR_LOCAL_VCS},
    "VAL_group": {"routing": "VAL"},
    "PB": {"routing": "PB_ANY", **FOUR_LOCAL_VCS, **PIGGYBACK},
    "PB_local0": {"routing": "PB_ANY", **FOUR_LOCAL_VCS, **PIGGYBACK, "ugal_local_threshold": "0"},
    "PB_group": {"routing": "PB", **PIGGYBACK},
    "OLM": {**IN_TRANSIT, "MisroutingTrigger": "CGA", "PercentGlobalThreshold": "50", **RESTRICTION},
    "Base": {**IN_TRANSIT, "MisroutingTrigger": "CA"},
    "Hybrid": {**IN_TRANSIT, "MisroutingTrigger": "HYBRID", "PercentGlobalThreshold": "35", **RESTRICTION},
    "ECtN": {**IN_TRANSIT, "MisroutingTrigger": "CA_REMOTE"},
}
"""Keys that the runs of each mechanism set. Thresholds of contention counters also depend on the network."""

THRESHOLDS: dict[int, dict[str, Keys]] = {
    4: {
        "Base": {"ContentionThreshold": "4"},
        "Hybrid": {"ContentionThreshold": "5"},
        "ECtN": {"ContentionThreshold": "4", "ContentionGlobalThreshold": "5"},
    },
    8: {
        "Base": {"ContentionThreshold": "6"},
        "Hybrid": {"ContentionThreshold": "7"},
        "ECtN": {"ContentionThreshold": "6", "ContentionGlobalThreshold": "10"},
    },
}
"""Thresholds by h and mechanism: number of heads that wait for an output (or for a global link of the group)."""


def configuration(mechanism: str, h: int, others: Keys) -> Keys:
    """The routing keys of a run."""
    return {**CONFIGURATION[mechanism], **THRESHOLDS.get(h, {}).get(mechanism, {}), **others}


def local_vcs(keys: Keys) -> int:
    """The number of virtual channels of local links."""
    return int(keys.get("LocalLinkChannels", 3))


def routing(keys: Keys, version: int = 2) -> Document:
    """The equivalent table `[routing]`."""
    found = _routing(keys)
    if version < LATER:
        return found
    if found["kind"] in ("valiant", "ugal_l"):
        found["stop"] = "like_destination"
    if found["kind"] == "piggyback":
        found["within"] = True
    if keys["routing"] == "OLM":
        found["draw"] = "any"
    if keys["routing"] in ("OLM", "PAR"):
        policy = POLICIES[keys["GlobalMisroutingPolicy"]]
        misrouting = {
            **({"policy": policy} if policy != "mixed_local" else {}),
            **({"channels": "next"} if keys["routing"] == "PAR" else {}),
        }
        found |= {"misrouting": misrouting} if misrouting else {}
    return found


POLICIES = {"MM_L": "mixed_local", "MM": "mixed", "CRG_L": "router_local", "CRG": "router"}
"""`misrouting.policy` by `GlobalMisroutingPolicy`."""


def _routing(keys: Keys) -> Document:
    match keys["routing"]:
        case "MIN":
            return {"kind": "minimal"}
        case "VAL":
            return {"kind": "valiant", "via": "group"}
        case "VAL_ANY":
            return {"kind": "valiant", "second_half": "next"}
        case "UGAL":
            decision = {"hop_count": "consecutive", "decide": "until_nonminimal"}
            return {"kind": "ugal_l", "via": "group", "threshold": int(keys["ugal_local_threshold"]), **decision}
        case "PB":
            return {"kind": "piggyback", "via": "group", "hop_count": "consecutive", **_piggyback(keys)}
        case "PB_ANY":
            return {"kind": "piggyback", "second_half": "next", "hop_count": "consecutive", **_piggyback(keys)}
    match keys["MisroutingTrigger"]:
        case "CGA":
            return {"kind": "olm", "threshold": _percent(keys, "PercentGlobalThreshold"), **_restriction(keys)}
        case "CA":
            return {"kind": "contention_base", **_contention(keys)}
        case "HYBRID":
            credit = {"credit_threshold": _percent(keys, "PercentGlobalThreshold"), **_restriction(keys)}
            return {"kind": "contention_hybrid", **_contention(keys), "candidates": "any", **credit}
        case "CA_REMOTE":
            combined = {"combined_threshold": int(keys["ContentionGlobalThreshold"]), "period": 100}
            return {"kind": "ectn", **_contention(keys), **combined, "candidates": "local"}
        case other:
            raise ValueError(f"MisroutingTrigger={other}: has no translation")


def _percent(keys: Keys, key: str) -> float:
    return float(keys[key]) / 100


def _piggyback(keys: Keys) -> Document:
    return {
        "coefficient": _percent(keys, "piggybacking_coef"),
        "global_threshold": int(keys["ugal_global_threshold"]),
        "local_threshold": int(keys["ugal_local_threshold"]),
    }


def _restriction(keys: Keys) -> Document:
    coefficient = _percent(keys, "VcMisroutingCongestedRestrictionCoefPercent")
    packets = int(keys["VcMisroutingCongestedRestrictionThreshold"])
    return {"restriction": {"coefficient": coefficient, "packets": packets}}


def _contention(keys: Keys) -> Document:
    return {"threshold": int(keys["ContentionThreshold"]), "comparison": "reaches", "crossing": "fifo"}


def network(p: int, a: int, h: int, keys: Keys) -> Document:
    """Topology, router and routing of a run with these configuration keys."""
    return {
        "topology": {"kind": "dragonfly", "p": p, "a": a, "h": h},
        "router": router(local_vcs(keys), rounds=int(keys.get("ArbiterIterations", 1))),
        "routing": routing(keys),
    }
