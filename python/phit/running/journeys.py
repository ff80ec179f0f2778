"""Single packets on their way: at which router they were when, and what they waited for there."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from phit.base.errors import InputError, SimulationError
from phit.document import Source
from phit.document.inlining import to_json
from phit.document.loading import load
from phit.document.origins import located
from phit.document.sections import leave_out
from phit.mechanisms import execution

if TYPE_CHECKING:
    import polars as pl

Wait = Literal["behind", "routing", "held", "channel", "credits", "switch"]

WAITS: dict[Wait, str] = {
    "behind": "behind other packets in its queue",
    "routing": "for the router's pipeline, or for routing to choose an output",
    "held": "held back by congestion management",
    "channel": "for a virtual channel that other packets hold",
    "credits": "for room in the next buffer",
    "switch": "for the crossbar, whose input or output served another queue",
}
"""What a head waits for in its queue, in words that follow "waited"."""


@dataclass(frozen=True)
class Visit:
    """A packet at a router. Times are cycles; those of a router with a speedup may have fractions."""

    router: int
    router_name: str | None
    """What the router is called, in networks with names; so with the ports."""
    input: int
    """Input port by which it came."""
    input_name: str | None
    link: str
    """Class of the link that leads there; `endpoint` where packets come from their source."""
    queue: int
    """Queue of that port: the virtual channel, where queues are these."""
    entered: float
    """Its head entered the queue."""
    waited: Mapping[Wait, float]
    """Cycles that its head waited, by reason; they add up to the time from `entered` to `left`."""
    left: float | None
    """Its head was granted the crossbar; `None` if it is still there."""
    tail: float | None
    """Its tail was."""
    output: int | None
    """Output port that it took, or is to take."""
    output_name: str | None
    vc: int | None
    """Virtual channel beyond that port."""


@dataclass(frozen=True)
class Journey:
    """A packet from its source to its destination. Times are cycles."""

    source: int
    source_name: str | None
    """What the endpoint is called, in networks with names; so with the destination."""
    number: int
    """Its number among the packets of its source, from 0."""
    destination: int
    destination_name: str | None
    size: int
    """In phits."""
    flits: int
    generated: float
    sent: float
    """Its source began to send it."""
    end: float | None
    """Its tail came to the destination, or it was lost; `None` if it was on its way when the run ended."""
    lost: bool
    """It was lost over a link that has broken."""
    visits: tuple[Visit, ...]

    @property
    def latency(self) -> float | None:
        """Cycles from generation to the end."""
        return None if self.end is None else self.end - self.generated

    @property
    def waited(self) -> dict[Wait, float]:
        """Cycles that its head waited in all routers, by reason."""
        return {why: sum(visit.waited[why] for visit in self.visits) for why in WAITS}

    def to_dict(self) -> dict[str, Any]:
        """Everything as one JSON object."""
        return asdict(self) | {"latency": self.latency}

    def table(self) -> "pl.DataFrame":
        """The visits as a table; of `waited` a column for each reason."""
        import polars as pl

        rows = [{**asdict(visit), **{f"waited_{why}": visit.waited[why] for why in WAITS}} for visit in self.visits]
        return pl.DataFrame(rows, infer_schema_length=None).drop("waited")


def trace_packet(
    scenario: Source,
    *,
    source: int | None = None,
    number: int = 0,
    count: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Journey]:
    """Follows packets through a network of input-queued routers, in the order of their generation.

    These are `count` packets of endpoint `source` from `number` on, counted from 0 in the order in which it sends them,
    warm-up included. Without `source` they are the `count` packets with the highest latency of all that arrive in the
    measured time. To look changes nothing: packets go the ways that they go in `phit.run`.

    It is meant for small networks: the network stands still in every tick to be looked at.

    Raises:
        InputError: the document cannot be read, or is no scenario, or a number is negative.
        ScenarioError: the scenario cannot be simulated, has other routers, no such endpoint, or no such packet.
        SimulationError: the run comes to a deadlock.
    """
    for name, value, least in (("source", source, 0), ("number", number, 0), ("count", count, 1)):
        if value is not None and not least <= value < 2**32:
            raise InputError(f"{name} = {value}: expected a whole number of at least {least}")
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; packets are of one scenario")
    leave_out(document)
    with located(document):
        try:
            found = execution.trace_packets(to_json(document), source, number, count, progress=progress)
        except RuntimeError as error:
            raise SimulationError(str(error)) from None
    return [
        Journey(**{**journey, "visits": tuple(Visit(**visit) for visit in journey["visits"])})
        for journey in json.loads(found)
    ]
