"""Traffic-pattern-based adaptive routing in a Cascade group (Faizian et al., HOTI 2016).

`setting` says what is run at which scale, `mechanisms` what `[routing]` says, `cases` the runs of every figure and
table, `drawing` how they look; `claims` lists what the paper says, with the rules in `rules`; `bounds` is what channel
loads allow.
"""

from phit.studies.tpr.paper import study

__all__ = ["study"]
