"""Why claims differ at the paper's scale, where that is known."""

REMARKS: dict[str, str] = {}
