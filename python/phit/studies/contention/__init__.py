"""Contention-based nonminimal adaptive routing in Dragonflies (Fuentes et al., IPDPS 2015).

`setting` says what is run at which scale, `mechanisms` what `[routing]` says, `cases` the runs of every figure,
`drawing` how they look; `claims` lists what the paper says, with rules in `claims_steady` and `claims_transient`;
`cost` is the cost model of section VI-B.
"""

from phit.studies.contention.study import STUDY

__all__ = ["STUDY"]
