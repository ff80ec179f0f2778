"""All mechanisms on one network: a study of our own.

`question` says what is asked, `networks` holds the networks with all that runs on them, `setting` what is run at which
scale, `storage` what mechanisms keep. The figures, each with its runs, its drawing and the claims about it:

* `standings`: one table for each network
* `load`: latency and throughput over the load
* `change`: how long mechanisms take to adapt
* `findings`: what the tables say across papers
"""

from phit.studies.contest import change, findings, load, standings
from phit.studies.contest.question import study

__all__ = ["study"]

study.consists_of(standings, load, change, findings)
