"""Agreement with other simulators: FOGSim and BookSim, setting by setting.

`reference` reads their tables, `fogsim`, `booksim` and `booksim_fattree` translate their settings into scenarios,
`comparison` holds the tolerances and the verdicts, `document` writes the page and `figures` the plots. `run` does all
of it.
"""

from phit.studies.validation.comparison import Case, Comparison, Verdict
from phit.studies.validation.run import cases, validate

__all__ = ["Case", "Comparison", "Verdict", "cases", "validate"]
