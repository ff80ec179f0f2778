"""The keys of FOGSim, versions 2 (2015) and 5 (2019): their treatment, and the reason in words."""

from dataclasses import dataclass

from phit.importing.settings import Status

TAKEN, IGNORED, DROPPED, STALE, REFUSED = Status


@dataclass(frozen=True)
class Key:
    """A key of FOGSim."""

    name: str
    default: str | None
    """Its default; `None` if FOGSim ends without a value."""
    status: Status
    words: str
    since: int = 2
    """The first version that has the key."""


def _all(status: Status, *rows: tuple[str, str | None, str], since: int = 2) -> list[Key]:
    return [Key(name, default, status, words, since) for name, default, words in rows]


VERSIONS = ("2", "5")
"""Versions whose configurations can be read."""


_TAKEN = _all(
    TAKEN,
    ("P", None, "`topology.p`"),
    ("A", None, "`topology.a`"),
    ("H", None, "`topology.h`"),
    ("Version", "", "no key of FOGSim: 2 or 5; left out, 5 if a key or word of version 5 occurs, otherwise 2"),
    ("MaxCycles", None, "`measure.cycles`, and `measure.warmup` if nothing else gives it"),
    ("WarmupCycles", "", "`measure.warmup` in version 5; the release of version 2 warms up for `MaxCycles`"),
    ("ArbiterIterations", None, "`router.allocation_rounds`"),
    ("InjectionQueueLength", None, "`router.links.endpoint.buffer`"),
    ("LocalQueueLength", None, "`router.links.local.buffer`"),
    ("GlobalQueueLength", None, "`router.links.global.buffer`"),
    ("Probability", None, "`traffic.load`, in percent of a phit per cycle"),
    ("Seed", None, "`seed`; the streams of random numbers are others"),
    ("LocalLinkTransmissionDelay", None, "`router.links.local.latency`"),
    ("GlobalLinkTransmissionDelay", None, "`router.links.global.latency`"),
    ("InjectionDelay", None, "1 only"),
    ("PacketSize", None, "`traffic.packet_size`"),
    ("FlitSize", None, "the packet size only: virtual cut-through"),
    ("GlobalChannels", None, "`router.links.global.vcs`"),
    ("LocalLinkChannels", None, "`router.links.local.vcs`"),
    ("InjectionChannels", None, "`router.links.endpoint.vcs`"),
    ("PalmTreeConfiguration", None, "`topology.arrangement`: `palmtree`, or `consecutive` with 0"),
    ("Switch", "BASE_SW", "`IOQ_SW` only"),
    ("XbarDelay", "1", "`router.latency`"),
    ("OutQueueLength", "32", "`router.output_buffer`"),
    ("InternalSpeedup", "1", "`router.speedup`, whole numbers only"),
    ("Traffic", None, "`UN`, `ADV`, `ADV_RANDOM_NODE`, `ADV_LOCAL`, `ADVc`, each with `_RCTV`; `MIX`, `TRANSIENT`"),
    ("AdvTrafficDistance", "1", "groups to that of the destination"),
    ("AdvTrafficLocalDistance", "1", "routers to that of the destination, within the group"),
    ("randomTrafficPercent", "0", "share of uniform traffic in `MIX`"),
    ("localAdvTrafficPercent", "0", "share of `ADV_LOCAL` in `MIX`"),
    ("globalAdvTrafficPercent", "0", "share of `ADV_RANDOM_NODE` in `MIX`"),
    ("transientTrafficFirstPattern", "UN", "`traffic.pattern`"),
    ("transientTrafficSecondPattern", "UN", "`traffic.changes`"),
    ("transientTrafficNextDist", "1", "as `AdvTrafficDistance`, of the second pattern"),
    ("transientTrafficCycle", "0", "`traffic.changes`, counted from the end of the warm-up"),
    ("deadlock_avoidance", None, "`DALLY` only: virtual channels that rise along a route"),
    (
        "routing",
        None,
        "`MIN`, `VAL`, `VAL_ANY`, `UGAL`, `PB`, `PB_ANY`, `OLM`; in version 5 those of its mechanisms, too",
    ),
    (
        "GlobalMisroutingPolicy",
        "CRG",
        "`routing.misrouting.policy` of `OLM` and `PAR`, `routing.reach` and `within` of `OBL` and its relatives",
    ),
    ("MisroutingTrigger", "CGA", "with `OLM`: `CGA`, `CA`, `HYBRID`, `CA_REMOTE`"),
    ("ugal_global_threshold", "5", "`routing.global_threshold` of `PB`"),
    ("ugal_local_threshold", "0", "`routing.local_threshold` of `PB`, `routing.threshold` of `UGAL`"),
    ("piggybacking_coef", "200", "`routing.coefficient` of `PB`"),
    ("VcMisroutingCongestedRestrictionCoefPercent", "150", "`routing.restriction.coefficient`"),
    ("VcMisroutingCongestedRestrictionThreshold", "5", "`routing.restriction.packets`"),
    ("ContentionThreshold", "0", "`routing.threshold`"),
    ("ContentionGlobalThreshold", "0", "`routing.combined_threshold`"),
    ("PercentGlobalThreshold", "100", "`routing.threshold` of `OLM`, `routing.credit_threshold`"),
    ("PercentLocalThreshold", "100", "the threshold of local links: equal to `PercentGlobalThreshold` only"),
    ("ThMin", "0", "0 only"),
)

_IGNORED = _all(
    IGNORED,
    ("RingInjectionBubble", "1", "of other ways to avoid deadlock"),
    ("CrossbarPortsPerInPort", "1", "1 only"),
    ("IssueParallelReqs", "1", "of `CrossbarPortsPerInPort`"),
    ("transientRecordCycles", "0", "how much of a change it records; `measure.series` records all"),
    ("transientRecordPrevCycles", "0", "as above"),
)

_DROPPED = _all(DROPPED, ("OutputFileName", "", "results are where `--out` says"))

_REFUSED = _all(
    REFUSED,
    ("increaseContentionAtHeader", "0", "0 only"),
    ("CongestionManagement", "", "only `PAUSE` and `QCNSW` of version 5, with `MIN_COND`"),
    ("forceMisrouting", "0", "0 only"),
    ("try_just_escape", "0", "0 only"),
    ("RestrictLocalCycles", "0", "of `OFAR`, with which this release ends at once"),
    ("OFAR_misrouting_local", "0", "of `OFAR`, with which this release ends at once"),
    ("FilteredContentionCoefficient", "0.5", "of a trigger without an equivalent"),
)

_LATER = [
    *_all(
        TAKEN,
        ("VcUsage", "BASE", "`FLEXIBLE` and `TBFLEX`: `queueing.highest` of `flexvc`"),
        (
            "Buffer",
            "SEPARATED",
            "`DYNAMIC`: `router.sharing`; `LocalQueueLength` and its like are then phits of a port",
        ),
        ("ReservedBufferLocal", None, "`router.sharing.private`, in packets, with `Buffer=DYNAMIC`"),
        ("ReservedBufferGlobal", None, "`router.links.global.private`, in packets, with `Buffer=DYNAMIC`"),
        ("MaxPetitionsOnFlight", "", "`traffic.requests.outstanding`"),
        ("NumberSegregatedTrafficFlows", "1", "1 only, with requests"),
        ("LocalResChannels", "0", "`queueing.replies.local`, with requests unless `VcUsage` is `BASE`"),
        ("GlobalResChannels", "0", "`queueing.replies.global`, with requests unless `VcUsage` is `BASE`"),
        ("VcAllocation", "LOWEST_OCCUPANCY", "`router.vc_choice`, unless `VcUsage` is `BASE`"),
        (
            "CongestionDetection",
            "PER_VC",
            "`routing.flag_queue` of `SRC_ADP` and `PB_ACOR`: `PER_VC`, `PER_PORT`, `PER_VC_MIN`, `PER_PORT_MIN`",
        ),
        ("ValiantType", "SRCEXC", "how intermediate routers are drawn"),
        ("ValiantMisroutingDestination", "NODE", "`NODE`: to a router, `GROUP`: to a group"),
        ("acorStateManagement", None, "`routing.states` of `ACOR` and `PB_ACOR`"),
        ("acorHystCycles", None, "`routing.states.period`"),
        ("acorInc1Packets", None, "`routing.states.up`"),
        ("acorInc2Packets", None, "`routing.states.up`"),
        ("acorDec1Packets", None, "`routing.states.down`"),
        ("acorDec2Packets", None, "`routing.states.down`"),
        ("VcInjectionPolicy", "DEST", "`router.injection_queue`: `DEST` only"),
        ("CosLevels", "1", "2 with `QCNSW`, otherwise 1 only"),
        ("QCNSW_IMPLEMENTATION", None, "`routing.point`, `routing.own` and `routing.compare` of `qcn_switch`"),
        ("QCNSW_POLICY", None, "`routing.increase_by` and `routing.decrease_by`"),
        ("QCN_Q_EQ", None, "`routing.set_point`"),
        ("QCNSamplingInterval", None, "`routing.sample_base`"),
        ("QCN_BC_LIMIT", None, "`routing.recovery`"),
        ("QCN_R_AI", None, "`routing.increase`"),
        ("QCN_MIN_RATE", None, "`routing.minimum`, in percent"),
        ("QCN_W", "2", "`routing.weight`"),
        ("QCN_GD", "0.0078125", "`routing.gain`"),
        ("QCNThreshold1", "0", "`routing.compare.keep`"),
        ("QCNThreshold2", "0", "`routing.compare.lower`"),
        ("QCNCNMsPercent", "10", "`routing.notify`"),
        since=5,
    ),
    *_all(
        IGNORED,
        ("PrintHists", "0", "what it prints"),
        ("QCNQueueLength", "1000", "notifications wait in no queue"),
        since=5,
    ),
    *_all(
        REFUSED,
        ("MisrouteFactor", "", "of `CAR`"),
        ("MisrouteTh", "", "of `CAR`"),
        ("WindowSize", "", "of `CAR`"),
        ("transientTrafficFirstProbability", "", "changes of the load alone"),
        ("transientTrafficSecondProbability", "", "changes of the load alone"),
        since=5,
    ),
]

KEYS = {key.name: key for key in (*_TAKEN, *_IGNORED, *_DROPPED, *_REFUSED, *_LATER)}
"""All keys by name."""
