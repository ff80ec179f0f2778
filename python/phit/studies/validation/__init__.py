"""Agreement with FOGSim, BookSim, merlin and the simulator of the OutFlank paper's author, setting by setting.

`reference` reads their tables; `fogsim`, `booksim`, `booksim_fattree`, `booksim_cascade`, `merlin` and `outflank` make
cases of them, in the words of `phit.peers`, and `transient` the answers to a change of traffic.
`phit.peers.comparison` holds the tolerances and the verdicts, `document` writes the page, `figures` and
`transient_figures` the plots, `summary` the table for a terminal. `run` does all of it.
"""

from phit.peers.comparison import Case, Comparison, Verdict
from phit.studies.validation.run import cases, validate

__all__ = ["Case", "Comparison", "Verdict", "cases", "validate"]
