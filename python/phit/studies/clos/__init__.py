"""Adaptive routing in high-radix Clos networks (Kim, Dally and Abts, SC 2006).

`setting` says what is run at which scale, `cases` the router and the runs of every figure, `tabling` how runs become
tables, `drawing` how these look; `claims` lists what the paper says, with rules in `claims_routing` and
`claims_allocation`; `closed` holds the paper's formulas, `bound` the throughput bound with faults as a linear program,
`cost` the cost of the allocations in comparators and storage (section 5).
"""

from phit.studies.clos.paper import study

__all__ = ["study"]
