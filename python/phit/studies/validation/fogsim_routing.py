"""FOGSim's routing mechanisms: their configuration keys, and the same in Phit's words."""

from collections.abc import Mapping

from phit.studies.validation.comparison import Document, Known
from phit.studies.validation.reference import Row

Keys = Mapping[str, str]

ADAPTIVE = ("PB", "OLM", "Base", "Hybrid", "ECtN")
"""The mechanisms that decide by the network's state."""

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
"""By mechanism, the keys that its runs set; thresholds of contention counters depend on the network as well."""

THRESHOLDS: dict[str, dict[str, Keys]] = {
    "4": {
        "Base": {"ContentionThreshold": "4"},
        "Hybrid": {"ContentionThreshold": "5"},
        "ECtN": {"ContentionThreshold": "4", "ContentionGlobalThreshold": "5"},
    },
    "8": {
        "Base": {"ContentionThreshold": "6"},
        "Hybrid": {"ContentionThreshold": "7"},
        "ECtN": {"ContentionThreshold": "6", "ContentionGlobalThreshold": "10"},
    },
}
"""By h and mechanism, heads that an output (or a global link of the group) may have waiting for it."""

LABELS = {
    "VAL_group": "VAL by groups",
    "PB_local0": "PB with local threshold 0",
    "PB_group": "PB by groups",
    "ContentionThreshold": "threshold",
    "ContentionGlobalThreshold": "combined threshold",
    "ugal_global_threshold": "global threshold",
    "VcMisroutingCongestedRestrictionCoefPercent": "restriction (%)",
    "VcMisroutingCongestedRestrictionThreshold": "restriction (packets)",
}
"""What mechanisms and keys are called on the page, where it is not their own name."""


def extra(row: Row) -> Keys:
    """What a run sets apart from its mechanism's keys."""
    return dict(pair.split("=", 1) for pair in row["extra_config"].split())


def configuration(mechanism: str, h: str, others: Keys) -> Keys:
    """The keys of a run that concern routing."""
    return {**CONFIGURATION[mechanism], **THRESHOLDS[h].get(mechanism, {}), **others}


def local_vcs(keys: Keys) -> int:
    """Virtual channels of local links."""
    return int(keys.get("LocalLinkChannels", 3))


def routing(keys: Keys) -> Document:
    """The table `[routing]` that does the same."""
    match keys["routing"]:
        case "MIN":
            return {"kind": "minimal"}
        case "VAL":
            return {"kind": "valiant", "via": "group"}
        case "VAL_ANY":
            return {"kind": "valiant", "second_half": "next"}
        case "PB":
            return {"kind": "piggyback", "via": "group", **_piggyback(keys)}
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
            raise ValueError(f"MisroutingTrigger={other}: not translated")


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
    return {"threshold": int(keys["ContentionThreshold"]), "comparison": "reaches"}


def label(mechanism: str, others: Keys) -> str:
    """Mechanism and settings in words."""
    settings = [f"{LABELS[key]} {value}" for key, value in others.items()]
    return ", ".join([LABELS.get(mechanism, mechanism), *settings])


HOPS_OF_PB = Known(
    cause=(
        "FOGSim multiplies its queues by other numbers of hops than those of its routes. They are worked out for links "
        "between groups that are arranged otherwise (consecutively, not palmtree), and those of a Valiant route lack "
        "the local hop to the intermediate router, so that Valiant routes look shorter and more packets take them. Its "
        'source shows this (`determinePaths`). Phit has this as `hop_count = "consecutive"` for Valiant routes over a '
        "router, not over a group"
    ),
    limits={"accepted_load": 0.045, "hops_mean": 0.05, "misrouted_globally": 0.05},
)

LIST_OF_TRANSFERS = Known(
    cause=(
        "FOGSim keeps the packets that are crossing the crossbar in a list for each output that they would take "
        "minimally, and one whose transfer takes 8 cycles holds up those behind it that are over after 4: its counters "
        "are sometimes too high for up to 4 cycles. Its source shows this (`caHandler`). Phit counts a head until its "
        "tail has left its queue. It matters where a threshold is only just reached, and near saturation. Phit has no "
        "option for such lists"
    ),
    limits={"latency_p99": 0.15, "hops_mean": 0.02, "misrouted_globally": 0.03},
)

LIST_AT_THRESHOLD = Known(
    cause=LIST_OF_TRANSFERS.cause, limits={**LIST_OF_TRANSFERS.limits, "latency_mean": 0.25, "latency_p99": 0.75}
)
"""The same where the counters seldom reach the threshold."""


def known(mechanism: str, endpoints: str, keys: Keys) -> Known | None:
    """Where FOGSim's model of a mechanism is not Phit's; `endpoints` of a router."""
    if keys["routing"] == "PB":
        return HOPS_OF_PB
    if "ContentionThreshold" not in keys:
        return None
    seldom = mechanism == "Base" and int(keys["ContentionThreshold"]) > int(endpoints) + 1
    return LIST_AT_THRESHOLD if seldom else LIST_OF_TRANSFERS
