"""Why claims differ at the paper's scale, where that is known."""

BUTTERFLY = (
    "The Butterfly under ABR at k = 16 decides. Its lifetime at 0.35 is 47.68 µs, 0.8 % above the rule's cut of 1.4 "
    "times 33.80 µs (OFR at 0.1), so that gamma* is 0.30, not 0.35. No queue grows without end there: the slowest "
    "messages, half a ring away, take longer than the time to the next message, and lifetimes leave their flat value "
    "slowly. The author's own numbers cross the same cut in this cell: the cuts that give all of the printed table are "
    "other ones for each pattern."
)

REMARKS: dict[str, str] = {"O1": BUTTERFLY, "O2": BUTTERFLY}
