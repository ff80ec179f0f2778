"""Why claims differ at the paper's scale, where that is known."""

REMARKS: dict[str, str] = {
    "O2": (
        "Three gains come out. The Butterfly's and Bit-Reverse's follow from two cells of table 2 that the rule's cut "
        "decides: ABR's gamma* is 0.30 instead of 0.35 under the Butterfly and 0.45 instead of 0.40 under Bit-Reverse. "
        "The lifetimes in the author's own repository cross the cut elsewhere than the printed table "
        "in just these two cells and in two more, Uniform and Bit-Reverse under POR, as ours do; the paper does not "
        "say how its gamma* were read, and the cuts that give all of its table differ from pattern to pattern. One "
        "differing cell is ours alone: Uniform under OFR takes 40.88 µs at 0.85, 1.2 % below the cut, and 71.82 µs at "
        "0.90. Under the Butterfly ABR takes 47.68 µs at 0.35, 0.8 % above the cut; no queue grows without end there: "
        "the slowest messages, half a ring away, take longer than the time to the next message."
    ),
    "O3": (
        "As in the paper but for Bit-Reverse at k = 16, where POR draws level with OFR: it takes 48.38 µs at 0.60, 4 % "
        "below the cut, in one of the cells that the cut decides (O2), and 635 µs at 0.65."
    ),
}
