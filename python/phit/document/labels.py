"""Names of kinds in text: `ugal_l` of a scenario is UGAL-L in a legend.

Names in capitals in the literature are listed; for any other kind underscores become spaces.
"""

import re
from typing import Any

NAMES = {
    "abr": "ABR",
    "clos": "Clos",
    "contention_base": "Base",
    "contention_hybrid": "Hybrid",
    "dbbm": "DBBM",
    "dfsssp": "DFSSSP",
    "dragonfly": "Dragonfly",
    "dragonfly_plus": "Dragonfly+",
    "ectn": "ECtN",
    "fbicm": "FBICM",
    "fft": "FFT",
    "ftree": "fat tree",
    "goal": "GOAL",
    "graph": "graph",
    "hamming_mesh": "HammingMesh",
    "hyperx": "HyperX",
    "infiniband": "InfiniBand",
    "islip": "iSLIP",
    "jellyfish": "Jellyfish",
    "k_ary_n_tree": "k-ary n-tree",
    "lash": "LASH",
    "minhop": "MinHop",
    "noq": "NOQ",
    "o1turn": "O1TURN",
    "olm": "OLM",
    "outflank": "OutFlank",
    "par": "PAR",
    "piggyback": "Piggyback",
    "polarfly": "PolarFly",
    "por": "POR",
    "rail_optimised": "rail-optimised",
    "slim_fly": "Slim Fly",
    "tpr": "TPR",
    "ugal_g": "UGAL-G",
    "ugal_l": "UGAL-L",
    "up_down": "up*/down*",
    "valiant": "Valiant",
    "voqnet": "VOQnet",
    "voqsw": "VOQsw",
    "worst_case_uniform": "wc-UR",
    "xgft": "XGFT",
    "xpander": "Xpander",
}
"""Names that differ from the words of their kind."""

_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")
_ADVERSARIAL = re.compile(r"adversarial(?: offset=)?([+-]?\d+)")


def label_of(value: Any) -> str:
    """A cell of a table in words: a kind by its name, any other value unchanged."""
    text = str(value)
    # A kind with keys, such as `ugal_l threshold=3`, has the name of the kind.
    kind, space, rest = text.partition(" ")
    if kind in NAMES and (not rest or "=" in rest):
        return f"{NAMES[kind]}{space}{rest}"
    if found := _ADVERSARIAL.fullmatch(text):
        return f"ADV{int(found[1]):+d}"
    return text.replace("_", " ") if _IDENTIFIER.fullmatch(text) else text
