"""Why claims differ at the paper's scale, as far as it was found out."""

REMARKS: dict[str, str] = {
    "F10": (
        "Bits and idle memories are as claimed, and with several hot destinations queues are freed sooner beyond "
        "what seeds differ. With one hot destination the mean is lower, too, but by less than that: there every line "
        "has the same single destination in both versions, and a queue lives as long as the tree takes to drain."
    ),
}
"""By claim, with numbers of the run that the documentation shows."""
