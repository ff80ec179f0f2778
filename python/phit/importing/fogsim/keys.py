"""The keys of FOGSim's release of 2015: their treatment, and the reason in words."""

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


def _all(status: Status, *rows: tuple[str, str | None, str]) -> list[Key]:
    return [Key(name, default, status, words) for name, default, words in rows]


_TAKEN = _all(
    TAKEN,
    ("P", None, "`topology.p`"),
    ("A", None, "`topology.a`"),
    ("H", None, "`topology.h`"),
    ("MaxCycles", None, "`measure.warmup` and `measure.cycles`: it warms up as long as it measures"),
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
    ("Traffic", None, "`UN`, `ADV`, `ADV_RANDOM_NODE`, `ADV_LOCAL`, `MIX`, `TRANSIENT` of these"),
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
    ("routing", None, "`MIN`, `VAL`, `VAL_ANY`, `UGAL`, `PB`, `PB_ANY`, `OLM`"),
    ("GlobalMisroutingPolicy", "CRG", "`MM_L` only, with `OLM`"),
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
    ("WarmupCycles", "", "the release does not read it: it warms up for `MaxCycles`"),
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
    ("forceMisrouting", "0", "0 only"),
    ("try_just_escape", "0", "0 only"),
    ("CongestionManagement", "", "not with virtual channels that rise"),
    ("RestrictLocalCycles", "0", "of `OFAR`, with which this release ends at once"),
    ("OFAR_misrouting_local", "0", "of `OFAR`, with which this release ends at once"),
    ("FilteredContentionCoefficient", "0.5", "of a trigger without an equivalent"),
)

KEYS = {key.name: key for key in (*_TAKEN, *_IGNORED, *_DROPPED, *_REFUSED)}
"""All keys by name."""
