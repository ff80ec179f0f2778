"""All mechanisms on one network: a study of our own.

`question` asks the question, `networks` defines the networks and the mechanisms that run on each, `setting` defines the
scales, and `storage` counts the mechanisms' state. The figures, each with its runs, its drawing and the claims about
it:

* `standings`: one table for each network
* `load`: latency and throughput over the load
* `change`: adaptation times of mechanisms
* `findings`: comparisons of mechanisms from different papers
"""

from phit.studies.contest import change, findings, load, standings
from phit.studies.contest.question import study

__all__ = ["study"]

study.consists_of(standings, load, change, findings)
