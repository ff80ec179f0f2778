"""Converts FOGSim's settings to a scenario."""

from collections.abc import Callable

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
    cycles = given.whole("MaxCycles", 1)
    findings.put("measure", {"warmup": cycles, "cycles": cycles}, given["MaxCycles"])
    given.one_of("CrossbarPortsPerInPort", "1")
    given.about_the_rest()


SOURCES = {
    "latency": "XbarDelay",
    "speedup": "InternalSpeedup",
    "output_buffer": "OutQueueLength",
    "cut_through": "FlitSize",
    "allocation_rounds": "ArbiterIterations",
}


def _router(given: Configuration) -> None:
    for key, expected in (("Switch", "IOQ_SW"), ("InjectionDelay", "1"), ("deadlock_avoidance", "DALLY")):
        given.one_of(key, expected)
    if given.text("FlitSize") != given.text("PacketSize"):
        given.findings.refuse(given["FlitSize"], "cannot be expressed; expected the packet size")
    document = peer.router(
        given.whole("LocalLinkChannels", 1, 64),
        global_vcs=given.whole("GlobalChannels", 1, 64),
        injection=given.whole("InjectionChannels", 1, 64),
        injection_buffer=given.whole("InjectionQueueLength", 1),
        delay=given.whole("XbarDelay", 1),
        speedup=given.whole("InternalSpeedup", 1, 64),
        output_buffer=given.whole("OutQueueLength", 1, 65_534),
        rounds=given.whole("ArbiterIterations", 1, 64),
        latency=(given.whole("LocalLinkTransmissionDelay", 1), given.whole("GlobalLinkTransmissionDelay", 1)),
        buffer=(given.whole("LocalQueueLength", 1), given.whole("GlobalQueueLength", 1)),
    )
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


def _routing(given: Configuration) -> None:
    name = given.one_of("routing", "MIN", "VAL", "VAL_ANY", "UGAL", "PB", "PB_ANY", "OLM")
    keys, read = {"routing": name}, ["routing"]
    if name == "UGAL":
        read.append("ugal_local_threshold")
    if name.startswith("PB"):
        read += ["piggybacking_coef", "ugal_global_threshold", "ugal_local_threshold"]
    if name == "OLM":
        given.one_of("GlobalMisroutingPolicy", "MM_L")
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
        if key != "MisroutingTrigger":
            keys[key] = str(given.whole(key, 0, 1 << 16))
    given.findings.put("routing", peer.routing(keys), *(given[key] for key in read))


def _traffic(given: Configuration, p: int, a: int, h: int) -> None:
    size = (p, a, h)
    kind = given.one_of("Traffic", "UN", "ADV", "ADV_RANDOM_NODE", "ADV_LOCAL", "MIX", "TRANSIENT")
    if kind == "TRANSIENT":
        first, second = (given[f"transientTraffic{which}Pattern"] for which in ("First", "Second"))
        cycle = given.whole("MaxCycles", 1) + given.whole("transientTrafficCycle")
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
    given.findings.put("traffic.load", given.whole("Probability", 0, 100) / 100, given["Probability"])
    given.findings.put("traffic.packet_size", given.whole("PacketSize", 1, 1 << 16), given["PacketSize"])


def _pattern(given: Configuration, name: str, size: tuple[int, int, int], distance: str, setting: Setting) -> Document:
    """The pattern of this name; `distance` is the key for its distance."""
    _, a, h = size
    groups = a * h + 1
    if name == "UN":
        return {"kind": "uniform"}
    if name == "ADV_RANDOM_NODE":
        return {"kind": "adversarial", "offset": given.whole(distance, 1, groups - 1)}
    if name == "ADV":
        by = given.whole(distance, 1, groups - 1)
        return _any_endpoint(given, size, setting, lambda router: (router + by * a) % (groups * a))
    if name == "ADV_LOCAL":
        by = given.whole("AdvTrafficLocalDistance", 1, max(a - 1, 1))
        return _any_endpoint(given, size, setting, lambda router: router // a * a + (router + by) % a)
    given.findings.refuse(setting, "cannot be expressed; expected UN, ADV, ADV_RANDOM_NODE or ADV_LOCAL")
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
