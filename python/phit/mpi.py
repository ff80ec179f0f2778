"""One run on many machines, by the processes of an MPI job.

Its code is in `phit.running.mpi`.
"""

from phit.running.mpi import Elsewhere, Job, end, join

__all__ = ["Elsewhere", "Job", "end", "join"]
