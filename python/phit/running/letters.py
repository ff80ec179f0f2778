"""What the processes of one run say to one another, and what carries it."""

from collections.abc import Sequence
from typing import Protocol

FLAG = "--mpi"
"""Of `phit run`: it is one process of a job."""

DATA, FAILED = 0, 1
"""What a letter is: what it should be, or the words of a process that has failed."""

LARGEST = 1 << 30
"""Bytes of a message of MPI: longer letters are cut."""

Letter = bytes | bytearray


class Transport(Protocol):
    """What carries letters."""

    rank: int
    """The number of this process, from 0."""
    count: int
    """How many processes there are."""
    beside: int
    """How many of them share the memory of this one's machine, itself included."""

    def round(self, letters: Sequence[Letter], kind: int) -> list[tuple[int, bytearray]]:
        """Hands every process its letter, and returns by process the kind and the letter that came from it.

        Those letters are valid until the next round, which may use their memory again.
        """
        ...

    def idle(self) -> None:
        """Waits for the first process, and leaves the processor to others."""
        ...
