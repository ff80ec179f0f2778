"""What the paper prints."""

PATTERNS = ("Butterfly/FFT", "Transposition", "3D Transposition", "Uniform", "Bit-Reverse")
ROUTINGS = ("ABR", "POR", "OFR")
SIDES = (8, 16)

TABLE_2 = {
    "Butterfly/FFT": {"ABR": (0.30, 0.35), "POR": (0.55, 0.55), "OFR": (0.60, 0.75)},
    "Transposition": {"ABR": (0.50, 0.55), "POR": (0.60, 0.70), "OFR": (0.50, 0.75)},
    "3D Transposition": {"ABR": (0.25, 0.20), "POR": (0.45, 0.40), "OFR": (0.45, 0.35)},
    "Uniform": {"ABR": (0.55, 0.70), "POR": (0.70, 0.80), "OFR": (0.70, 0.80)},
    "Bit-Reverse": {"ABR": (0.35, 0.40), "POR": (0.60, 0.50), "OFR": (0.50, 0.60)},
}
"""Maximum sustained throughput in units of gamma_0, for k = 8 and 16."""

TABLE_3 = {
    "Butterfly/FFT": (0.31, 0.10, 0.41, 0.35),
    "Transposition": (0.04, 0.10, 0.14, 0.10),
    "3D Transposition": (0.32, 0.20, 0.52, 0.53),
    "Uniform": (0.06, 0.12, 0.18, 0.13),
    "Bit-Reverse": (0.09, 0.12, 0.21, 0.24),
}
"""Shares of derouted packets, k = 16: OFR by OIDN, by WIDN, in total, and POR."""

TABLE_3_COLUMNS = ("OFR/OIDN", "OFR/WIDN", "OFR (TOT)", "POR")


def sustained(pattern: str, routing: str, k: int) -> float:
    """A number of table 2."""
    return TABLE_2[pattern][routing][SIDES.index(k)]
