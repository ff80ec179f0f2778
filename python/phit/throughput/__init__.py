"""Bounds of the throughput: what no routing can exceed, proved by prices of links.

`network` reads what a scenario's network is asked to carry. `flow` finds the most that it can by a linear program,
which `symmetry` makes small; `groups` finds prices that can be read, `certificate` checks prices in exact arithmetic,
and `limits` puts them together.
"""

from phit.throughput.certificate import Price
from phit.throughput.limits import Bounds, Limit, bound

__all__ = ["Bounds", "Limit", "Price", "bound"]
