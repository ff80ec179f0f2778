"""The five routings of the paper (section IV-B), and what the paper leaves open about them."""

from typing import Any

from phit.scenario import Document
from phit.studies.tpr.setting import WINDOW

STOP = "anywhere"
"""Valiant's intermediate router is any router of the group, source and destination included."""

THRESHOLD = 1.0
"""`thr` of table III, in packets per cycle: the paper gives no value. Chosen by the scan of table III, see the page."""

CANDIDATES: Document = {"stop": STOP, "queue": "port", "minimal_candidates": 2, "valiant_candidates": 2}
"""Up to two minimal and two nonminimal paths (sections II-B and III-D); queues are the used credits of a port."""

MECHANISMS: dict[str, Document] = {
    "MIN": {"kind": "minimal"},
    "VLB": {"kind": "valiant", "stop": STOP},
    "UGAL-L": {"kind": "ugal_l", **CANDIDATES, "threshold": 0},
    "UGAL-G": {"kind": "ugal_g", **CANDIDATES, "threshold": 0, "cost": "queue"},
    "TPR": {"kind": "tpr", **CANDIDATES, "thr": THRESHOLD},
}
"""In the order of the paper's legends. UGAL-G takes the path with the smallest sum of queues (section II-B)."""

ADAPTIVE = ("UGAL-L", "UGAL-G", "TPR")

COUNTING: Document = {
    "kind": "tpr",
    **CANDIDATES,
    "window": WINDOW,
    "regions": [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
}
"""UGAL-L with the counters of TPR: the offset is 0 in every region (tables I and II)."""


def routing(name: str, **changes: Any) -> Document:
    """The `[routing]` of a mechanism."""
    return {**MECHANISMS[name], **changes}
