"""Adaptive routing in high-radix Clos networks (Kim, Dally and Abts, SC 2006).

`paper` holds the network, router and allocations, `setting` the scales, and `bound` the largest load of the network
with faulty links. The figures, each with its runs, its table, its drawing and the claims about it:

* `load`: 2 and 4 to 6, adaptive against oblivious routing
* `imbalance`: 7a and 7b, where part of the traffic is deterministic or links are faulty
* `allocation`: 9 to 12, how the inputs of a router share its outputs
* `precision`: 14 to 16, precision and age of routing's knowledge of buffers
* `cost`: section 5, comparators and storage
"""

from phit.studies.clos import allocation, cost, imbalance, load, precision
from phit.studies.clos.paper import study

__all__ = ["study"]

study.consists_of(load, imbalance, allocation, precision, cost)
