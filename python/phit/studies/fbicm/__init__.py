"""Congestion management in k-ary n-trees: FBICM (Escudero-Sahuquillo et al., report DIAB-10-04-1, 2010).

`paper` holds the schemes and the scenario of each, and `setting` the scales. The figures, each with its runs, its
drawing and the claims about it:

* `load`: 5.1, uniform traffic
* `transient`: 5.2 and 5.3, throughput over time with hot spots; the traffic of table 5.2
* `bursts`: 5.4, I/O
* `cost`: table 5.3, memories, and notifications of the two versions of FBICM
* `thresholds`: the scan of those that the report leaves open
* `isolation`: head-of-line blocking in one switch, hot spots in other networks, a congestion tree over time
* `beyond`: FBICM with adaptive routing
"""

from phit.studies.fbicm import beyond, bursts, cost, isolation, load, thresholds, transient
from phit.studies.fbicm.paper import study

__all__ = ["study"]

study.consists_of(load, transient, bursts, cost, thresholds, isolation, beyond)
