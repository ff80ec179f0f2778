"""Single packets on their way: the routers they visit, when, and why they wait there."""

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
"""Reasons why the head of a packet waits in a queue, in words that follow "waited"."""


@dataclass(frozen=True)
class Visit:
    """The visit of a packet to a router. Times are in cycles; they may be fractions in a router with a speedup."""

    router: int
    router_name: str | None
    """The name of the router, in networks with names. Ports have names there, too."""
    input: int
    """Input port at which it arrived."""
    input_name: str | None
    link: str
    """Class of the link to that port; `endpoint` for packets that come from their source."""
    queue: int
    """Queue of the input port: the virtual channel, if queues are virtual channels."""
    entered: float
    """When its head entered the queue."""
    waited: Mapping[Wait, float]
    """Cycles that its head waited, by reason. They add up to the time from `entered` to `left`."""
    left: float | None
    """When its head was granted the crossbar; `None` if it is still in the queue."""
    tail: float | None
    """When its tail was granted the crossbar."""
    output: int | None
    """Output port that it took or is about to take."""
    output_name: str | None
    vc: int | None
    """Virtual channel beyond that port."""


@dataclass(frozen=True)
class Journey:
    """The journey of a packet from its source to its destination. Times are in cycles."""

    source: int
    source_name: str | None
    """The name of the source, in networks with names. The destination has a name there, too."""
    number: int
    """Number of the packet among the packets of its source, from 0."""
    destination: int
    destination_name: str | None
    size: int
    """Size in phits."""
    flits: int
    generated: float
    sent: float
    """When its source began to send it."""
    end: float | None
    """When its tail arrived or was lost; `None` if it was on its way when the run ended."""
    lost: bool
    """Whether it was lost on a link that failed."""
    visits: tuple[Visit, ...]

    @property
    def latency(self) -> float | None:
        """Cycles from the generation of the packet to its end."""
        return None if self.end is None else self.end - self.generated

    @property
    def waited(self) -> dict[Wait, float]:
        """Cycles that its head waited in all routers, by reason."""
        return {why: sum(visit.waited[why] for visit in self.visits) for why in WAITS}

    def to_dict(self) -> dict[str, Any]:
        """The journey as one JSON object."""
        return asdict(self) | {"latency": self.latency}

    def table(self) -> "pl.DataFrame":
        """The visits as a table, with a column for each reason in `waited`."""
        import polars as pl

        rows = [{**asdict(visit), **{f"waited_{why}": visit.waited[why] for why in WAITS}} for visit in self.visits]
        return pl.DataFrame(rows, infer_schema_length=None).drop("waited")


def trace_packet(
    scenario: Source,
    *,
    source: int | str | None = None,
    number: int = 0,
    count: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Journey]:
    """Follows packets through a network of input-queued routers, in the order of their generation.

    With `source`, an endpoint's number or name, these are `count` packets of that endpoint, starting with packet
    `number`. Packets are counted from 0 in the order in which the endpoint sends them, warm-up included. Without
    `source`, they are the `count` packets with the highest latency among those that arrive in the measured time.
    Observation changes nothing: packets take the paths that they take in `phit.run`.

    Use it for small networks: it inspects the whole network in every tick.

    Raises:
        InputError: the document cannot be read, or is no scenario, or a number is negative.
        ScenarioError: the scenario cannot be simulated, has routers of another kind, or has no such endpoint or packet.
        SimulationError: the run comes to a deadlock.
    """
    for name, value, least in (("source", source, 0), ("number", number, 0), ("count", count, 1)):
        if isinstance(value, int) and not least <= value < 2**32:
            raise InputError(f"{name} = {value}: expected a whole number of at least {least}")
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; trace packets of one scenario")
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
