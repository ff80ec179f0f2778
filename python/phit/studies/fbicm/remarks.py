"""Why claims differ at the paper's scale, as far as it was found out."""

REMARKS: dict[str, str] = {}
"""By claim, with numbers of the run that the documentation shows: all hold there."""
