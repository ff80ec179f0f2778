"""OutFlank routing on tori (F. Versaci, ICPADS 2013).

`paper` holds its networks and its two readings, `setting` what is run at which scale. The figures, each with its runs,
its drawing, its text and the claims about it:

* `tables`: tables 2 and 3, what is sustained and how many packets are derouted
* `load`: figures 4 and 5, lifetimes and derouted packets over the load
* `long`: steady states and long runs, what is sustained for good
* `choices`: answers and credits, the author's rules and those of the text
* `beyond`: other parameters, other networks, recorded traffic
"""

from phit.studies.outflank import beyond, choices, load, long, tables
from phit.studies.outflank.paper import study

__all__ = ["study"]

study.consists_of(tables, load, long, choices, beyond)
