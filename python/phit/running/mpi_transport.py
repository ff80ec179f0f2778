"""Sends letters by MPI, as buffers of bytes."""

import time
from collections.abc import Sequence

from mpi4py import MPI

from phit.running.letters import LARGEST, Letter

IDLE_SECONDS = 0.005
"""Seconds between two checks while a process waits for work."""

SPIN_SECONDS, NAP_SECONDS = 0.001, 0.0001
"""Seconds for which a process polls for a letter without a pause, as MPI itself does, and the pauses after that.

The processes of a run compute for about equal times. If one is later than that, another process may need the core.
"""

LONG = 1 << 14
"""Minimum number of bytes of a long letter.

Long letters reuse their memory, because the system clears new memory. Short letters do not: between two long ones they
would free it.
"""


class World:
    """All processes of an MPI job: a `phit.running.letters.Transport`."""

    def __init__(self) -> None:
        self._all = MPI.COMM_WORLD.Dup()
        self.rank, self.count = self._all.Get_rank(), self._all.Get_size()
        near = self._all.Split_type(MPI.COMM_TYPE_SHARED)
        self.beside = near.Get_size()
        near.Free()
        self._long = [bytearray() for _ in range(self.count)]
        """The last long letter of each process."""

    def round(self, letters: Sequence[Letter], kind: int) -> list[tuple[int, bytearray]]:
        """See `phit.running.letters.Transport.round`."""
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
        """See `phit.running.letters.Transport.idle`: MPI itself would keep a core busy."""
        while not self._all.Iprobe(source=0, tag=MPI.ANY_TAG):
            time.sleep(IDLE_SECONDS)

    def _receive(self, process: int) -> tuple[int, bytearray]:
        """The letter of a process. Its last message is not full."""
        letter, begin = self._long[process], 0
        while True:
            message, status = self._awaited(process)
            end = begin + status.Get_count(MPI.BYTE)
            if end < LONG:
                letter = bytearray()
            _lengthen(letter, end)
            with memoryview(letter) as whole, whole[begin:end] as piece:
                message.Recv([piece, MPI.BYTE])
            if end - begin < LARGEST:
                del letter[end:]
                return status.Get_tag(), letter
            begin = end

    def _awaited(self, process: int) -> tuple[MPI.Message, MPI.Status]:
        """The next message of a process, once it has arrived."""
        status, begin = MPI.Status(), time.perf_counter()
        while (message := self._all.Improbe(source=process, status=status)) is None:
            if time.perf_counter() - begin > SPIN_SECONDS:
                time.sleep(NAP_SECONDS)
        return message, status


def _lengthen(letter: bytearray, length: int) -> None:
    """Extends the buffer to `length` bytes."""
    if (missing := length - len(letter)) > 0:
        letter.extend(bytes(missing))


def pieces(letter: Letter) -> list[memoryview]:
    """A letter divided into messages, of which the last is not full."""
    view = memoryview(letter)
    return [view[start : start + LARGEST] for start in range(0, len(letter) + 1, LARGEST)]
