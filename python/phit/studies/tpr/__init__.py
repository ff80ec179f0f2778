"""Traffic-pattern-based adaptive routing in a Cascade group (Faizian et al., HOTI 2016).

`paper` holds the network, mechanisms and readings, and `setting` the scales. The figures and tables, each with its
runs, its drawing and the claims about it:

* `load`: 2 and 3, steady states under uniform and adversarial traffic
* `mixes`: 4 to 9, mixes of the two by packet and by router
* `counters`: tables I and II, the counters of packets
* `search`: which reading holds most claims
* `choices`: table III and what else the paper leaves open
* `beyond`: TPR between groups, and beside contention counters
"""

from phit.studies.tpr import beyond, choices, counters, load, mixes, search
from phit.studies.tpr.paper import study

__all__ = ["study"]

study.consists_of(load, mixes, counters, search, choices, beyond)
