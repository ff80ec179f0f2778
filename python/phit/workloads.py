"""The cost of contention for a workload: on its own network, and beside other jobs.

Its code is in `phit.running.workloads`.
"""

from phit.running.workloads import contention, contention_by_phase, interference, without_contention

__all__ = ["contention", "contention_by_phase", "interference", "without_contention"]
