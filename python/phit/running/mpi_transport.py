"""Letters that MPI carries, as buffers of bytes."""

import time
from collections.abc import Sequence

from mpi4py import MPI

from phit.running.letters import LARGEST, Letter

IDLE_SECONDS = 0.005
"""Between two looks, of a process that waits for something to do."""

SPIN_SECONDS, NAP_SECONDS = 0.001, 0.0001
"""How long a process looks for a letter without a pause, as MPI itself does, and the pauses after that. Processes of a
run compute for about equal times; where one is behind by more than that, another may need the core."""

LONG = 1 << 14
"""Letters of so many bytes come into memory that stays: the system would have to clear what is new. Between two of them
there are short ones, for which they would be given back."""


class World:
    """All processes of an MPI job: a `phit.running.letters.Transport`."""

    def __init__(self) -> None:
        self._all = MPI.COMM_WORLD.Dup()
        self.rank, self.count = self._all.Get_rank(), self._all.Get_size()
        near = self._all.Split_type(MPI.COMM_TYPE_SHARED)
        self.beside = near.Get_size()
        near.Free()
        self._long = [bytearray() for _ in range(self.count)]
        """By process the last long letter that came from it."""

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
        """The letter of a process, which ends with a message that is not full."""
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
        """The next message of a process, when it has come."""
        status, begin = MPI.Status(), time.perf_counter()
        while (message := self._all.Improbe(source=process, status=status)) is None:
            if time.perf_counter() - begin > SPIN_SECONDS:
                time.sleep(NAP_SECONDS)
        return message, status


def _lengthen(letter: bytearray, length: int) -> None:
    """Makes room for so many bytes."""
    if (missing := length - len(letter)) > 0:
        letter.extend(bytes(missing))


def pieces(letter: Letter) -> list[memoryview]:
    """A letter in messages, of which the last one is not full."""
    view = memoryview(letter)
    return [view[start : start + LARGEST] for start in range(0, len(letter) + 1, LARGEST)]
