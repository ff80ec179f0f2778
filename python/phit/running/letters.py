"""Messages between the processes of one run (letters), and the transport that carries them."""

from collections.abc import Sequence
from typing import Protocol

FLAG = "--mpi"
"""Option of `phit run`: this process belongs to an MPI job."""

DATA, FAILED = 0, 1
"""Kinds of letters: data, or the error message of a process that has failed."""

LARGEST = 1 << 30
"""Maximum number of bytes of an MPI message; longer letters are divided."""

Letter = bytes | bytearray


class Transport(Protocol):
    """Carries letters between processes."""

    rank: int
    """The number of this process, from 0."""
    count: int
    """The number of processes."""
    beside: int
    """The number of processes that share the memory of this machine, this one included."""

    def round(self, letters: Sequence[Letter], kind: int) -> list[tuple[int, bytearray]]:
        """Sends each process its letter and returns, by process, the kind and the letter that came from it.

        The returned letters are valid until the next round, which may reuse their memory.
        """
        ...

    def idle(self) -> None:
        """Waits for the first process without occupying the core."""
        ...
