"""Letters that MPI carries, as buffers of bytes."""

import time
from collections.abc import Sequence

from mpi4py import MPI

from phit.mpi import LARGEST

IDLE_SECONDS = 0.005


class World:
    """All processes of an MPI job: a `phit.mpi.Transport`."""

    def __init__(self) -> None:
        self._all = MPI.COMM_WORLD.Dup()
        self.rank, self.count = self._all.Get_rank(), self._all.Get_size()
        near = self._all.Split_type(MPI.COMM_TYPE_SHARED)
        self.beside = near.Get_size()
        near.Free()

    def round(self, letters: Sequence[bytes], kind: int) -> list[tuple[int, bytearray]]:
        """See `phit.mpi.Transport.round`."""
        others = [(self.rank + step) % self.count for step in range(1, self.count)]
        sent = [
            self._all.Isend([piece, MPI.BYTE], dest=process, tag=kind)
            for process in others
            for piece in pieces(letters[process])
        ]
        came = [(0, bytearray())] * self.count
        for process in others:
            came[process] = self._receive(process)
        MPI.Request.Waitall(sent)
        return came

    def idle(self) -> None:
        """See `phit.mpi.Transport.idle`: MPI itself would keep a core busy."""
        while not self._all.Iprobe(source=0, tag=MPI.ANY_TAG):
            time.sleep(IDLE_SECONDS)

    def _receive(self, process: int) -> tuple[int, bytearray]:
        """The letter of a process, which ends with a message that is not full."""
        letter = bytearray()
        while True:
            status = MPI.Status()
            message = self._all.Mprobe(source=process, status=status)
            piece = bytearray(status.Get_count(MPI.BYTE))
            message.Recv([piece, MPI.BYTE])
            letter = letter + piece if letter else piece
            if len(piece) < LARGEST:
                return status.Get_tag(), letter


def pieces(letter: bytes) -> list[memoryview]:
    """A letter in messages, of which the last one is not full."""
    view = memoryview(letter)
    return [view[start : start + LARGEST] for start in range(0, len(letter) + 1, LARGEST)]
