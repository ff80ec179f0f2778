"""Protecting a victim: a study of our own.

`question` asks the question, `networks` has the networks and the schemes, and `setting` the scales. The figures, each
with its runs, its drawing and the claims about it:

* `victims`: an incast beside victims, in steady states, with and without adaptive routing
* `reaction`: the same incast that comes and goes
* `spots`: many hot spots, and one that moves
* `collective`: an all-reduce beside an aggressor
* `price`: uniform traffic, where nothing needs protection
* `tuning`: the parameters of each control
"""

from phit.studies.control import collective, price, reaction, spots, tuning, victims
from phit.studies.control.question import study

__all__ = ["study"]

study.consists_of(victims, reaction, spots, collective, price, tuning)
