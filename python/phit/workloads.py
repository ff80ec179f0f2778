"""The cost of contention for a workload, on its own network and beside other jobs; the error of the fluid network.

Its code is in `phit.running.workloads` and `phit.running.fidelity`.
"""

from phit.running.fidelity import Cause, Fidelity, fidelity, left_out, on_fluid
from phit.running.workloads import contention, contention_by_phase, interference, without_contention

__all__ = [
    "Cause",
    "Fidelity",
    "contention",
    "contention_by_phase",
    "fidelity",
    "interference",
    "left_out",
    "on_fluid",
    "without_contention",
]
