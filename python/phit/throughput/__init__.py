"""Upper bounds of throughput, which no routing can exceed, proved by prices of links.

`network` reads the demand on a scenario's network. `flow` finds the largest load that the network can carry, by a
linear program, and `symmetry` makes the program small. `groups` finds prices that people can read. `certificate` checks
prices in exact arithmetic, and `limits` combines all of these.
"""

from phit.throughput.certificate import Price
from phit.throughput.limits import Bounds, Limit, bound

__all__ = ["Bounds", "Limit", "Price", "bound"]
