"""Congestion management in k-ary n-trees: FBICM (Escudero-Sahuquillo et al., report DIAB-10-04-1, 2010).

`setting` says what is run at which scale, `network` what a scenario of each scheme looks like, `traffic` the six
cases of table 5.2 and
the I/O traces, `cases` the runs of every figure, `measures` their tables, `drawing` how they look; `claims` lists
what the
report says, with rules in `rules`; `cost` is the cost model of section 5.5.
"""

from phit.studies.fbicm.paper import study

__all__ = ["study"]
