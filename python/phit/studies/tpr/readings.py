"""How the paper is read: as its text says, and with the choices under which most of its results come out."""

from copy import deepcopy

from phit.scenario import Document
from phit.studies.kit.study import Reading

CREDIT_LATENCY = 1
"""Cycles of a credit's way back."""

INJECTION_QUEUES = 1
"""Of an endpoint."""

MINIMAL_CANDIDATES = 1
"""Minimal routes that UGAL-L, UGAL-G and TPR look at."""

LOCAL_LOW = 1.2
"""TPR's low_l in packets per cycle."""

TEXT = Reading(
    "text",
    "Every value that the text gives; where it gives none, what BookSim does: credits take as long as phits, an "
    "endpoint has an injection queue for each virtual channel. The UGALs look at two minimal routes, as the Cascade "
    "does.",
)

FITTED = Reading(
    "fitted",
    "What gives most of the paper's numbers, found by varying what the text leaves open. Four settings differ:\n\n"
    f"* Credits come back in one cycle (`router.links.default.credit_latency = {CREDIT_LATENCY}`): the text gives "
    "links 10 cycles and says nothing of credits, and a credit channel of BookSim's takes one cycle unless the "
    "network's file sets it.\n"
    f"* The UGALs and TPR look at one minimal route (`minimal_candidates = {MINIMAL_CANDIDATES}`) and at two "
    "nonminimal ones. For the UGALs the text gives no number; for TPR it says two, and that TPR equals MIN.\n"
    f"* An endpoint has one injection queue (`router.links.endpoint.vcs = {INJECTION_QUEUES}`).\n"
    f"* TPR's low_l is {LOCAL_LOW:g} (`local_low`). The text says 0.8, and that TPR is minimal under ADV at 0.05, "
    "where 18 endpoints have a local impact of 0.9.",
)

READINGS = (TEXT, FITTED)


def under(reading: Reading, document: Document) -> Document:
    """The run as `reading` has it, of the run that the text describes."""
    found = deepcopy(document)
    if reading is TEXT:
        return found
    links, rule = found["router"]["links"], found["routing"]
    links["default"]["credit_latency"] = CREDIT_LATENCY
    links["endpoint"]["vcs"] = INJECTION_QUEUES
    if "minimal_candidates" in rule:
        rule["minimal_candidates"] = MINIMAL_CANDIDATES
    if rule["kind"] == "tpr":
        rule["local_low"] = LOCAL_LOW
    return found
