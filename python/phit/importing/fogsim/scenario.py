"""Converts FOGSim's settings to a scenario."""

from collections.abc import Callable
from dataclasses import dataclass

from phit.document import Document
from phit.importing.fogsim.configuration import Configuration
from phit.importing.moves import to_router
from phit.importing.settings import Setting
from phit.peers import fogsim as peer

MOST_LISTED = 1 << 17
"""Maximum number of entries of a pattern that is written endpoint by endpoint."""

MISROUTING = {
    "CGA": ("PercentGlobalThreshold", "VcMisrouting"),
    "CA": ("ContentionThreshold",),
    "HYBRID": ("ContentionThreshold", "PercentGlobalThreshold", "VcMisrouting"),
    "CA_REMOTE": ("ContentionThreshold", "ContentionGlobalThreshold"),
}
"""Keys, or beginnings of keys, that each trigger reads."""


def translate(given: Configuration) -> None:
    """Puts the whole configuration into the scenario."""
    findings = given.findings
    findings.put("seed", given.whole("Seed"), given["Seed"])
    p, a, h = (given.whole(key, 1, 1 << 12) for key in ("P", "A", "H"))
    arrangement = "palmtree" if given.one_of("PalmTreeConfiguration", "1", "0") == "1" else "consecutive"
    topology: Document = {"kind": "dragonfly", "p": p, "a": a, "h": h, "arrangement": arrangement}
    findings.put("topology", topology, given["P"], given["A"], given["H"], given["PalmTreeConfiguration"])
    _router(given)
    _routing(given)
    _traffic(given, p, a, h)
    cycles, warmup = given.whole("MaxCycles", 1), _warmup(given)
    sources = [given["WarmupCycles"]] if _warms_up(given) else []
    findings.put("measure", {"warmup": warmup, "cycles": cycles}, *sources, given["MaxCycles"])
    given.one_of("CrossbarPortsPerInPort", "1")
    given.about_the_rest()


def _warms_up(given: Configuration) -> bool:
    """True if a key tells the cycles before the measurement."""
    return given.version > 2 and "WarmupCycles" in given.given and given.text("WarmupCycles") != ""


def _warmup(given: Configuration) -> int:
    """Cycles before the measurement: as many as are measured, unless a key tells."""
    return given.whole("WarmupCycles") if _warms_up(given) else given.whole("MaxCycles", 1)


SOURCES = {
    "latency": "XbarDelay",
    "speedup": "InternalSpeedup",
    "output_buffer": "OutQueueLength",
    "cut_through": "FlitSize",
    "allocation_rounds": "ArbiterIterations",
    "vc_choice": "VcAllocation",
    "sharing": "Buffer",
}


def _router(given: Configuration) -> None:
    for key, expected in (("Switch", "IOQ_SW"), ("InjectionDelay", "1"), ("deadlock_avoidance", "DALLY")):
        given.one_of(key, expected)
    if given.text("FlitSize") != given.text("PacketSize"):
        given.findings.refuse(given["FlitSize"], "cannot be expressed; expected the packet size")
    buffer = (given.whole("LocalQueueLength", 1), given.whole("GlobalQueueLength", 1))
    shared = _shared(given, buffer) if given.version > 2 else None
    local, across = _link_channels(given)
    document = peer.router(
        local,
        global_vcs=across,
        injection=given.whole("InjectionChannels", 1, 64),
        injection_buffer=given.whole("InjectionQueueLength", 1),
        delay=given.whole("XbarDelay", 1),
        speedup=given.whole("InternalSpeedup", 1, 64),
        output_buffer=given.whole("OutQueueLength", 1, 65_534),
        rounds=given.whole("ArbiterIterations", 1, 64),
        latency=(given.whole("LocalLinkTransmissionDelay", 1), given.whole("GlobalLinkTransmissionDelay", 1)),
        buffer=shared.buffer if shared else buffer,
        version=given.version,
    )
    if given.version > 2:
        given.one_of("VcInjectionPolicy", "DEST")
        document |= _channels(given)
    if shared:
        links = document["links"]
        document["sharing"] = {"private": shared.private[0]}
        links["global"]["private"] = shared.private[1]
        links["endpoint"]["private"] = links["endpoint"]["buffer"]
    for key, value in document.items():
        if key != "links":
            given.findings.put(f"router.{key}", value, *([given[SOURCES[key]]] if key in SOURCES else []))
    links = {
        "endpoint": ("InjectionChannels", "InjectionQueueLength"),
        "local": ("LocalLinkTransmissionDelay", "LocalLinkChannels", "LocalQueueLength"),
        "global": ("GlobalLinkTransmissionDelay", "GlobalChannels", "GlobalQueueLength"),
    }
    for name, keys in links.items():
        given.findings.put(f"router.links.{name}", document["links"][name])
        given.findings.comments[f"router.links.{name}"] = "; ".join(str(given[key]) for key in keys)


def _notifies(given: Configuration) -> bool:
    """True if routers send notifications."""
    return given.version > 2 and given.text("CongestionManagement") == "QCNSW"


def _link_channels(given: Configuration) -> tuple[int, int]:
    """Channels of data of local and global links: notifications have the last of all channels."""
    local, across = (given.whole(key, 1, 64) for key in ("LocalLinkChannels", "GlobalChannels"))
    if not _notifies(given):
        if given.version > 2:
            given.one_of("CosLevels", "1")
        return local, across
    given.one_of("CosLevels", "2")
    for key, found, least in (("LocalLinkChannels", local, 5), ("GlobalChannels", across, 3)):
        if found < least:
            given.findings.refuse(given[key], f"expected {least} or more with CongestionManagement=QCNSW")
    return 3, 2


@dataclass(frozen=True)
class Shared:
    """Buffers that the channels of a port share, as pairs for local and global links."""

    buffer: tuple[int, int]
    """Phits of each channel."""
    private: tuple[int, int]
    """Phits of these that are the channel's own."""


def _shared(given: Configuration, port: tuple[int, int]) -> Shared | None:
    """The buffers with `Buffer=DYNAMIC`: `port` has the phits of a port, and whole packets are reserved."""
    if given.one_of("Buffer", "SEPARATED", "DYNAMIC") == "SEPARATED":
        return None
    if given.text("VcUsage") != "BASE":
        given.findings.refuse(given["VcUsage"], "FOGSim ends with it; expected BASE with Buffer=DYNAMIC")
    size = given.whole("PacketSize", 1, 1 << 16)
    channels = [given.whole(key, 1, 64) for key in ("LocalLinkChannels", "GlobalChannels")]
    packets = [max(total // count // size, 1) for total, count in zip(port, channels, strict=True)]
    kept = [given.whole(f"ReservedBuffer{name}", 0, most) for name, most in zip(LINKS, packets, strict=True)]
    return Shared((packets[0] * size, packets[1] * size), (kept[0] * size, kept[1] * size))


LINKS = ("Local", "Global")

BY_PLACES = ("MIN", "VAL", "VAL_ANY", "OBL", "ACOR", "SRC_ADP", "PB_ACOR")
"""Values of `routing` whose channels follow from the places of hops."""

CHOICES = {
    "LOWEST_OCCUPANCY": "roomiest_highest",
    "HIGHEST_VC": "highest",
    "LOWEST_VC": "lowest",
    "RANDOM_VC": "random",
}
"""`router.vc_choice` by `VcAllocation`."""


def _channels(given: Configuration) -> Document:
    """The keys of the router for channels that a hop may choose among; puts the queue organisation in its place."""
    usage = given.one_of("VcUsage", "BASE", "FLEXIBLE", "TBFLEX")
    if usage == "BASE" or given.text("routing") in UNSOUND:
        return {}
    if given.text("routing") not in BY_PLACES:
        given.findings.refuse(
            given["VcUsage"], f"cannot be expressed; expected BASE, or routing={' or '.join(BY_PLACES)}"
        )
    queueing: Document = {"kind": "flexvc", "highest": "group" if usage == "FLEXIBLE" else "position"}
    read = ["VcUsage"]
    if given.text("Traffic").endswith(ANSWERED):
        keys = ("LocalResChannels", "GlobalResChannels")
        local, across = (given.whole(key, 1, 64) for key in keys)
        queueing["replies"] = {"local": local, "global": across}
        read += keys
    given.findings.put("queueing", queueing, *(given[key] for key in read))
    return {"vc_choice": CHOICES[given.one_of("VcAllocation", *CHOICES)]}


def _routing(given: Configuration) -> None:
    later = LATER if given.version > 2 else ()
    in_transit = ("OLM", "PAR") if given.version > 2 else ("OLM",)
    if given.version > 2 and (why := UNSOUND.get(given.text("routing"))):
        given.findings.refuse(given["routing"], why)
        return
    name = given.one_of("routing", "MIN", "VAL", "VAL_ANY", "UGAL", "PB", "PB_ANY", *in_transit, *later)
    keys, read = {"routing": name}, ["routing"]
    if name in LATER:
        _later_routing(given, name)
        return
    if given.version > 2 and name in ("PB", "PB_ANY"):
        given.one_of("CongestionDetection", "PER_VC")
        if "GlobalMisroutingPolicy" in given.given and given.text("GlobalMisroutingPolicy") == "CRG":
            expected = "cannot be expressed; expected MM_L, or routing=SRC_ADP"
            given.findings.refuse(given["GlobalMisroutingPolicy"], expected)
    if name == "UGAL":
        read.append("ugal_local_threshold")
    if name.startswith("PB"):
        read += ["piggybacking_coef", "ugal_global_threshold", "ugal_local_threshold"]
    if name in in_transit:
        policies = tuple(peer.POLICIES) if given.version > 2 else ("MM_L",)
        keys["GlobalMisroutingPolicy"] = given.one_of("GlobalMisroutingPolicy", *policies)
        read.append("GlobalMisroutingPolicy")
        if given.version > 2 and "CongestionDetection" in given.given:
            given.one_of("CongestionDetection", "PER_VC")
        trigger = given.one_of("MisroutingTrigger", *MISROUTING)
        keys["MisroutingTrigger"] = trigger
        read.append("MisroutingTrigger")
        for key in MISROUTING[trigger]:
            restriction = ["VcMisroutingCongestedRestrictionCoefPercent", "VcMisroutingCongestedRestrictionThreshold"]
            read += restriction if key == "VcMisrouting" else [key]
        if "PercentGlobalThreshold" in MISROUTING[trigger]:
            given.one_of("ThMin", "0")
            if given.text("PercentLocalThreshold") != given.text("PercentGlobalThreshold"):
                expected = "cannot be expressed; expected the value for global links"
                given.findings.refuse(given["PercentLocalThreshold"], expected)
    for key in read[1:]:
        if key not in keys:
            keys[key] = str(given.whole(key, 0, 1 << 16))
    given.findings.put("routing", peer.routing(keys, given.version), *(given[key] for key in read))


UNSOUND = {
    "CAR": "packets may go back after a nonminimal hop, and no order of channels keeps such routes free of deadlock",
    "RLM": "FOGSim ends with it at the first nonminimal hop",
}
"""Why Phit has no equivalent of some values of `routing`."""

LATER = ("OBL", "ACOR", "SRC_ADP", "PB_ACOR", "MIN_COND")
"""Values of `routing` that version 5 alone has and Phit can express."""

DETECTION = {
    "PER_VC": "channel",
    "PER_PORT": "port",
    "PER_VC_MIN": "minimal_channel",
    "PER_PORT_MIN": "minimal_port",
}
"""`routing.flag_queue` by `CongestionDetection`."""

POLICIES = ("CRG", "CRG_L", "RRG", "RRG_L")
TYPES = ("SRCEXC", "SRCEXC_RECOMP", "FULL", "FULL_RECOMP")

STATES = {
    "CGCSRS": ("link_group", "link_router", "any_router"),
    "CGRS": ("link_group", "any_router"),
    "CSRS": ("link_router", "any_router"),
}
"""The states by the last part of `acorStateManagement`."""


def _later_routing(given: Configuration, name: str) -> None:
    """A mechanism of version 5."""
    read = ["routing"]
    document: Document = {"kind": name.lower()}
    if name == "OBL":
        document["kind"] = "oblivious"
    if name in ("OBL", "SRC_ADP"):
        policy, kind = given.one_of("GlobalMisroutingPolicy", *POLICIES), given.one_of("ValiantType", *TYPES)
        read += ["GlobalMisroutingPolicy", "ValiantType"]
        document |= {
            "reach": "router" if policy.startswith("CRG") else "group",
            "within": policy.endswith("_L"),
            "own_group": kind.startswith("FULL"),
            "redraw": "every_cycle" if kind.endswith("_RECOMP") else "never",
        }
    to_group = name == "OBL" and given.one_of("ValiantMisroutingDestination", "NODE", "GROUP") == "GROUP"
    if to_group:
        document["via"] = "group"
        read.append("ValiantMisroutingDestination")
    elif name != "MIN_COND":
        document["second_half"] = "next"
    if name in ("ACOR", "PB_ACOR"):
        # What else the types say has no effect in the release.
        given.one_of("ValiantType", "SRCEXC_RECOMP", "FULL_RECOMP")
        document["states"] = _states(given)
        read += ["ValiantType", "acorStateManagement"]
    if name in ("SRC_ADP", "PB_ACOR"):
        thresholds = ("piggybacking_coef", "ugal_global_threshold", "ugal_local_threshold")
        coefficient, flag, packets = (given.whole(key, 0, 1 << 16) for key in thresholds)
        detection = given.one_of("CongestionDetection", *DETECTION)
        document |= {
            "coefficient": coefficient / 100,
            "global_threshold": flag,
            "local_threshold": packets,
            "hop_count": "minimal_consecutive",
            **({"flag_queue": DETECTION[detection]} if detection != "PER_VC" else {}),
        }
        read += [*thresholds, "CongestionDetection"]
    if name == "MIN_COND":
        management = given.one_of("CongestionManagement", "PAUSE", "QCNSW")
        given.one_of("GlobalMisroutingPolicy", "CRG")
        read += ["CongestionManagement", "GlobalMisroutingPolicy"]
        if management == "QCNSW":
            document = _notifications(given)
            read += NOTIFYING
    given.findings.put("routing", document, *(given[key] for key in read))


NOTIFYING = (
    "QCNSW_IMPLEMENTATION",
    "QCNSW_POLICY",
    "QCN_Q_EQ",
    "QCNSamplingInterval",
    "QCN_BC_LIMIT",
    "QCN_R_AI",
    "QCN_MIN_RATE",
    "QCN_W",
    "QCN_GD",
    "QCNThreshold1",
    "QCNThreshold2",
    "QCNCNMsPercent",
)
"""Keys of `QCNSW`."""

IMPLEMENTATIONS = ("BASE", "OUT", "SELF", "FBCOMP", "OUTFBCOMP", "COMPLETE")


def _notifications(given: Configuration) -> Document:
    """Minimal routing with probabilities that notifications change."""
    name = given.one_of("QCNSW_IMPLEMENTATION", *(f"QCNSW{name}" for name in IMPLEMENTATIONS)).removeprefix("QCNSW")
    policy = given.one_of("QCNSW_POLICY", "AIMD", "MIMD", "AIAD", "MIAD")
    adds, subtracts = policy.startswith("A"), policy.endswith("AD")
    step, gain = given.number("QCN_R_AI", 100), given.number("QCN_GD", 1)
    document: Document = {
        "kind": "qcn_switch",
        "point": "output" if name.startswith("OUT") else "input_and_link",
        "set_point": given.whole("QCN_Q_EQ", 1),
        "weight": given.number("QCN_W", 1024),
        "sample_base": given.whole("QCNSamplingInterval", 1),
        "notify": given.number("QCNCNMsPercent", 100) / 100,
        "own": name in ("SELF", "COMPLETE"),
        "decrease_by": "sum" if subtracts else "product",
        # Differences are in percent.
        "gain": gain / 100 if subtracts else gain,
        "increase_by": "sum" if adds else "product",
        "increase": step / 100 if adds else step,
        "recovery": given.whole("QCN_BC_LIMIT", 1),
        "minimum": given.number("QCN_MIN_RATE", 100) / 100,
        "whole_percent": True,
        "notification": given.whole("PacketSize", 1, 1 << 16),
    }
    if not adds and step < 1:
        given.findings.refuse(given["QCN_R_AI"], "expected 1 or more with this QCNSW_POLICY")
    if name in ("FBCOMP", "OUTFBCOMP", "COMPLETE"):
        keep, lower = (given.whole(f"QCNThreshold{which}", 0, 63) for which in (1, 2))
        if lower < keep:
            given.findings.refuse(given["QCNThreshold2"], "expected at least QCNThreshold1")
        document["compare"] = {"keep": keep, "lower": lower, "below": "raise", "memory": 0}
    return document


def _states(given: Configuration) -> Document:
    """The states of `ACOR` and `PB_ACOR`."""
    names = [f"{per}{states}" for per in ("PACKET", "SWITCH") for states in STATES]
    name = given.one_of("acorStateManagement", *names)
    order = STATES[name.removeprefix("PACKET").removeprefix("SWITCH")]
    if name.startswith("PACKET"):
        return {"order": list(order), "per": "packet"}
    # Two states use the first of the two thresholds alone.
    changes = range(1, len(order))
    return {
        "order": list(order),
        "per": "router",
        "period": given.whole("acorHystCycles", 1),
        "up": [given.whole(f"acorInc{change}Packets", 0, 1 << 30) for change in changes],
        "down": [given.whole(f"acorDec{change}Packets", 0, 1 << 30) for change in changes],
    }


def _traffic(given: Configuration, p: int, a: int, h: int) -> None:
    size = (p, a, h)
    kinds = ("UN", "ADV", "ADV_RANDOM_NODE", "ADV_LOCAL", "ADVc", "MIX", "TRANSIENT")
    answered = tuple(f"{kind}{ANSWERED}" for kind in kinds[:5]) if given.version > 2 else ()
    kind = given.one_of("Traffic", *kinds, *answered)
    if kind in answered:
        kind = kind.removesuffix(ANSWERED)
        _requests(given)
    if kind == "TRANSIENT":
        first, second = (given[f"transientTraffic{which}Pattern"] for which in ("First", "Second"))
        cycle = _warmup(given) + given.whole("transientTrafficCycle")
        before = _pattern(given, str(first.value), size, "AdvTrafficDistance", first)
        after = _pattern(given, str(second.value), size, "transientTrafficNextDist", second)
        given.findings.put("traffic.pattern", before, given["Traffic"], first)
        given.findings.put("traffic.changes", [{"cycle": cycle, "pattern": after}], second, given["MaxCycles"])
    elif kind == "MIX":
        shares = {
            "UN": "randomTrafficPercent",
            "ADV_LOCAL": "localAdvTrafficPercent",
            "ADV_RANDOM_NODE": "globalAdvTrafficPercent",
        }
        weights = {name: given.whole(key, 0, 100) for name, key in shares.items()}
        if sum(weights.values()) != 100:
            given.findings.refuse(given["randomTrafficPercent"], "expected percentages that add up to 100")
        parts = [
            {"weight": weight, "pattern": _pattern(given, name, size, "AdvTrafficDistance", given["Traffic"])}
            for name, weight in weights.items()
            if weight
        ]
        document = {"kind": "mix", "parts": parts}
        given.findings.put("traffic.pattern", document, *(given[key] for key in shares.values()))
    else:
        setting = given["Traffic"]
        pattern = _pattern(given, kind, size, "AdvTrafficDistance", setting)
        given.findings.put("traffic.pattern", pattern, setting)
    given.findings.put("traffic.process", "bernoulli")
    # Version 2 reads whole numbers alone.
    percent = given.number("Probability", 100) if given.version > 2 else given.whole("Probability", 0, 100)
    given.findings.put("traffic.load", percent / 100, given["Probability"])
    given.findings.put("traffic.packet_size", given.whole("PacketSize", 1, 1 << 16), given["PacketSize"])


ANSWERED = "_RCTV"
"""The end of the names of patterns whose packets are requests."""


def _requests(given: Configuration) -> None:
    """Requests and their replies, in halves of the virtual channels, or by FlexVC with some for replies alone."""
    name = given.text("routing")
    if name not in TWICE:
        given.findings.refuse(given["Traffic"], f"cannot be expressed; expected routing={' or '.join(TWICE)} with it")
    given.one_of("NumberSegregatedTrafficFlows", "1")
    requests: Document = {}
    sources = [given["Traffic"]]
    if given.one_of("VcUsage", "BASE", "FLEXIBLE", "TBFLEX") != "BASE":
        requests["virtual_networks"] = False
        sources.append(given["VcUsage"])
    else:
        for key, channels in zip(("LocalLinkChannels", "GlobalChannels"), TWICE.get(name, (4, 2)), strict=True):
            if given.whole(key, 1, 64) != channels:
                given.findings.refuse(given[key], f"expected {channels} with requests: the channels of the route twice")
    if given.text("MaxPetitionsOnFlight"):
        requests["outstanding"] = given.whole("MaxPetitionsOnFlight", 1, 65_535)
        sources.append(given["MaxPetitionsOnFlight"])
    given.findings.put("traffic.requests", requests, *sources)


TWICE = {"MIN": (4, 2), "VAL": (6, 4), "VAL_ANY": (8, 4)}
"""Local and global channels of requests and replies, by `routing`."""


def _pattern(given: Configuration, name: str, size: tuple[int, int, int], distance: str, setting: Setting) -> Document:
    """The pattern of this name; `distance` is the key for its distance."""
    _, a, h = size
    groups = a * h + 1
    if name == "UN":
        return {"kind": "uniform"}
    if name == "ADV_RANDOM_NODE":
        return {"kind": "adversarial", "offset": given.whole(distance, 1, groups - 1)}
    if name == "ADVc":
        # Groups +1 to +h-1, though the comment in its source says +h.
        if h < 2:
            given.findings.refuse(setting, "needs H of 2 or more")
        return {"kind": "adversarial", "offset": 1, "groups": max(h - 1, 1)}
    if name == "ADV":
        by = given.whole(distance, 1, groups - 1)
        return _any_endpoint(given, size, setting, lambda router: (router + by * a) % (groups * a))
    if name == "ADV_LOCAL":
        by = given.whole("AdvTrafficLocalDistance", 1, max(a - 1, 1))
        return _any_endpoint(given, size, setting, lambda router: router // a * a + (router + by) % a)
    given.findings.refuse(setting, "cannot be expressed; expected UN, ADV, ADV_RANDOM_NODE, ADV_LOCAL or ADVc")
    return {}


def _any_endpoint(
    given: Configuration, size: tuple[int, int, int], setting: Setting, to: Callable[[int], int]
) -> Document:
    """Every endpoint draws a destination at the router that `to` returns."""
    p, a, h = size
    routers = (a * h + 1) * a
    if routers * p * p > MOST_LISTED:
        given.findings.refuse(setting, f"cannot be expressed for more than {MOST_LISTED:,} pairs of endpoints")
        return {}
    return to_router(routers, p, to)
