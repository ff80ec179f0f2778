"""Contention-based nonminimal adaptive routing in Dragonflies (Fuentes et al., IPDPS 2015).

`paper` holds the network and mechanisms, and `setting` the scales. `response` measures responses to a change of
traffic. `authors` holds runs of the authors' own simulator, which the claims' rules judge as well. The figures, each
with its runs, its drawing and the claims about it:

* `load`: 5a to 5c and 6, steady states under uniform, adversarial and mixed traffic
* `transient`: 7 to 9, a change of traffic
* `thresholds`: 10 and section VI-A, the misrouting threshold and the counters
* `cost`: section VI-B, storage and control bandwidth
* `beyond`: open questions of sections VI-B and VI-C, cheaper and faster updates and a statistical trigger
* `topologies`: open question of section VI-D, counters on a HyperX, a torus and a folded Clos
"""

from phit.studies.contention import beyond, cost, load, thresholds, topologies, transient
from phit.studies.contention.paper import study

__all__ = ["study"]

study.consists_of(load, transient, thresholds, cost, beyond, topologies)
