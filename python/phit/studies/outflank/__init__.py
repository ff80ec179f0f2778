"""OutFlank routing on tori (F. Versaci, ICPADS 2013).

`paper` holds the networks and two readings, and `setting` the scales. The figures, each with its runs, its drawing, its
text and the claims about it:

* `tables`: tables 2 and 3, sustained loads and shares of derouted packets
* `load`: figures 4 and 5, lifetimes and derouted packets over the load
* `long`: steady states and long runs, loads that are sustained without limit
* `choices`: answers and credits, rules of the author and rules of the text
* `beyond`: other parameters, other networks, recorded traffic
"""

from phit.studies.outflank import beyond, choices, load, long, tables
from phit.studies.outflank.paper import study

__all__ = ["study"]

study.consists_of(tables, load, long, choices, beyond)
