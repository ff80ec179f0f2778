"""A network whose messages another program sends."""

from typing import TYPE_CHECKING

from phit import _phit
from phit.base import machine
from phit.base.errors import InputError
from phit.document.inlining import to_json
from phit.document.loading import load
from phit.document.origins import located

if TYPE_CHECKING:
    from typing import Self

    from phit.document import Source


class Network(_phit.Network):
    """A network that another program drives: the program sends messages, and Phit says when they arrive.

    The scenario has no `[traffic]`, no `[measure]` and no program. Its `[workload]` has the keys around a program
    alone: `packet_size`, `header`, `host.rails` and `placement`. Messages go from rank to rank. Without a placement,
    rank `r` is endpoint `r`. All times are numbers of cycles, or texts such as `"5 us"` if `[units]` gives the cycle.

    A network runs on one thread. A second thread that uses it at the same time is refused.

    >>> network = phit.Network("network.toml")  # doctest: +SKIP
    >>> network.send(0, 5, 4096)  # doctest: +SKIP
    >>> while (now := network.advance_to_completion()) is not None:  # doctest: +SKIP
    ...     for message in network.completed():
    ...         print(now, message.handle, message.destination)
    """

    __slots__ = ()

    def __new__(cls, scenario: "Source", *, force: bool = False) -> "Self":
        """The network of a scenario, empty, at cycle 0: the path of a TOML or JSON file, or the document itself.

        A network that is expected to exceed the free memory of the machine is refused, unless `force` is true.

        Raises:
            ScenarioError: the scenario cannot be simulated, or needs more memory than there is.
            InputError: the document cannot be read, or names a Python function.
        """
        from phit.mechanisms import tables

        document = load(scenario)
        with located(document):
            for path, table in tables(document):
                name = f"{path}.function"
                words = "a network of callers runs no Python functions"
                raise InputError(f"{name} = {table.get('function')!r}: {words}", name)
            return super().__new__(cls, to_json(document), None if force else machine.memory())
