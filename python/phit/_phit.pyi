from collections.abc import Callable
from pathlib import Path
from typing import Protocol, Self

__version__: str

class PhitError(ValueError):
    """What Phit refuses: the base of all of its errors."""

class ScenarioError(PhitError):
    """A scenario that cannot be simulated: ``str(error)`` names key, value, expectation and nearest valid name.

    Errors that are independent of one another come together, each on its line of the text. The attributes describe the
    first; `errors` has all, each by itself.
    """

    path: str
    """Dotted path of the key."""
    value: str | None
    """The value as it was written, if there is one."""
    expected: str
    """What is wrong, and what was expected."""
    nearest: str | None
    """The nearest valid name, for a misspelt one."""
    file: Path | None
    """The file of the document, if it came from one."""
    line: int | None
    """The line of the key there, if it is known."""
    errors: list[ScenarioError]
    """All errors, this one first; their own lists are empty."""

def complete(scenario: str) -> str:
    """JSON of a scenario in, the same validated and with every default filled in out."""

def check_seeds(scenario: str, seeds: list[int]) -> None:
    """Checks what is drawn of a valid scenario with other seeds than its own.

    Raises:
        ScenarioError: one of them is refused.
    """

def run(
    scenario: str,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    partitions: int | None = None,
    memory: int | None = None,
) -> str:
    """Runs the scenario given as JSON; returns JSON ``{"summary": {...}, "tables": {name: {column: [..]}}}``.

    Refused if it is expected to take more than `memory` bytes. What a signal leaves is `partial` of its exception.

    Neither ``threads`` nor ``partitions`` (of the network; by default chosen by its size) changes a result.
    """

def trace_packets(
    scenario: str,
    source: int | str | None,
    number: int,
    count: int,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Follows ``count`` packets of endpoint ``source`` from ``number`` on, or the slowest; returns a JSON list.

    Each is as `phit.journeys.Journey` has it, with ``visits`` as `phit.journeys.Visit` has them.
    """

class Peers(Protocol):
    """Processes that run one network together, as one of them sees them."""

    rank: int
    count: int

    def exchange(self, letters: list[bytearray]) -> list[bytearray]:
        """A letter for each process, by its number, for one from each; what it raises ends the run.

        Nobody may keep a view of a letter. Those that have come are read before the next exchange.
        """
        ...

def run_together(
    scenario: str,
    peers: Peers,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    partitions: int | None = None,
    memory: int | None = None,
) -> str | None:
    """Runs the scenario as `run` does, with other processes that make the same call, each with its own share.

    The first process gets the answer, the others nothing.
    """

class Completion:
    """A message that has arrived."""

    @property
    def handle(self) -> int:
        """What `Network.send` returned for it."""

    @property
    def time(self) -> float:
        """Cycle in which all of it had arrived, and all earlier messages of its source, destination and tag.

        An `int` if it is whole.
        """

    @property
    def source(self) -> int:
        """The rank that sent it."""

    @property
    def destination(self) -> int:
        """The rank that it went to."""

    @property
    def bytes(self) -> int:
        """Size in bytes."""

    @property
    def tag(self) -> int:
        """Its tag."""

class Network:
    """A network whose messages a caller sends; see `phit.Network`.

    Times are numbers of cycles, or texts such as ``"5 us"``.
    """

    def __new__(cls, scenario: str, memory: int | None = None) -> Self:
        """The network of a scenario given as JSON. Refused if it is expected to take more than `memory` bytes."""

    def send(
        self,
        source: int,
        destination: int,
        bytes: int | str,  # noqa: A002
        tag: int | None = None,
        at: float | str | None = None,
    ) -> int:
        """Sends a message from rank to rank, now or at a later time. Returns its handle, from 0 on in order of calls.

        Messages of one source, destination and tag complete in the order of sending.

        Raises:
            InputError: a rank does not exist, the time is past, or a value is no number of its kind.
        """

    def advance(self, until: float | str) -> None:
        """Goes on to a time: everything up to it, and in it, happens.

        Raises:
            InputError: the time is past, or beyond the last that can be simulated.
            SimulationError: packets wait for one another for ever, or messages go on beyond the last cycle.
        """

    def advance_to_completion(self, until: float | str | None = None) -> float | None:
        """Goes on to the first time at which a message completes, `until` at the latest. Returns the time.

        Completed messages that have not been fetched count: then it returns at once. Without `until` it returns `None`
        if no message is under way that can complete.

        Raises:
            InputError: the time is past, or beyond the last that can be simulated.
            SimulationError: packets wait for one another for ever, or messages go on beyond the last cycle.
        """

    def next_event(self) -> float | None:
        """The first time at which a message may complete, or an earlier one; `None` if none is under way that can."""

    def completed(self) -> list[Completion]:
        """The messages that have completed since the last call, in the order of their times."""

    def stats(self) -> dict[str, int | float | None]:
        """Totals since the start.

        ``now``, ``sent``, ``completed``, ``bytes_sent``, ``bytes_completed``, and of completed messages
        ``latency_mean`` and ``latency_max`` in cycles, from the send to the arrival.
        """

    @property
    def now(self) -> float:
        """The present time in cycles: everything up to it has happened."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""

    @property
    def cycle_seconds(self) -> float | None:
        """Length of a cycle, if the scenario gives it."""

def verify(scenario: str) -> str:
    """Whether the routes of a scenario given as JSON are free of deadlock; returns JSON with ``proved``.

    True comes with ``channels``, ``dependencies`` and ``states``; false with ``reason`` and ``cycle``, a list of
    channels ``{"router", "port", "vc"}``, empty if the reason is another; null with ``reason``.
    """

def channels(scenario: str) -> str:
    """The virtual channels that the routing of a scenario given as JSON needs.

    JSON with ``needed``, a number for each class of links between routers, and ``reason``.
    """

def routes(scenario: str) -> str:
    """The routing tables of a scenario given as JSON: JSON lists, for each router the port for every destination."""

def endpoints(scenario: str) -> str:
    """Number of endpoints of a scenario given as JSON."""

def units(scenario: str) -> str:
    """JSON with ``cycle_ns`` and ``phit_bytes``, as "1/60", as far as a scenario given as JSON says what these are."""

def expected_hops(scenario: str) -> float:
    """Flit-hops that a scenario given as JSON is expected to take over minimal routes, below saturation."""

def flows(scenario: str) -> str:
    """What bounds of the throughput of a scenario given as JSON are computed from.

    JSON with ``classes``, ``routers``, ``attachment`` (the router of each endpoint), ``links`` (each ``[router, port,
    router at the other end, class, phits per cycle]``), ``injection``, ``ejection``, and ``demand``: for each endpoint
    ``"nothing"``, ``{"among": {"first", "end"}}``, ``{"split": {"share", "these", "others"}}`` or ``{"mix": [[weight,
    ...], ...]}``.
    """

def minimal_ports(scenario: str) -> str:
    """JSON: for every router, ``[[router, ports], ...]`` of the routers on minimal routes towards it, or null."""

def needs(scenario: str) -> str:
    """JSON of what a run is expected to take: ``{"bytes", "endpoints", "routers", "parts": {what: bytes}}``."""

def schema() -> str:
    """JSON Schema (draft 2020-12) of a scenario document."""

def toml_lines(text: str) -> str:
    """JSON ``{path: line}`` for every key of a TOML document, with paths such as ``sweep.curves[1].routing.kind``."""

def catalogue() -> str:
    """JSON ``{concept: [{"kind": str, "description": str, "schema": {...}}]}``."""

def quantities() -> str:
    """JSON of what results consist of: ``quantities``, ``tables``, ``observables``, ``totals``, ``saturated_below``."""

def layout() -> str:
    """JSON of where lies what compiled functions see: of each struct fields and calls, with offsets and types."""

def register(kind: str, function: str, source: list[str], addresses: dict[str, int], reads: list[str]) -> None:
    """Makes compiled functions known to the engine, by their addresses: for `phit.mechanisms.compiled` alone."""

class WorkloadError(PhitError):
    """A program that cannot be read, made or written: ``str(error)`` names file, line and rank as far as there are."""

    file: Path | None
    """The file."""
    line: int | None
    """The line of a text, from 1."""
    rank: int | None
    """The rank."""
    key: str | None
    """The parameter that is wrong, if it is one."""

def fluid_case(case: str, sharing: str, head_of_line: bool) -> str:
    """Runs flows over given routes, given as JSON; returns JSON ``{"ends": [..], "events": int, "rates": [..]}``.

    Ends are in the order of the flows, and so are rates, of all flows active at once. ``sharing`` is a value of
    ``router.sharing`` of the fluid network.

    Raises:
        PhitError: the case is refused.
    """

def workload_info(path: Path, options: str) -> str:
    """JSON of what the program in a file consists of; ``options`` is JSON of how traces are read."""

def workload_notes(path: Path, options: str) -> list[str]:
    """What a reader of a Chakra trace should know besides the program; `options` is JSON."""

def workload_files(path: Path) -> list[Path]:
    """The files that a program is read from: all of a trace, in the order of the ranks, or the one of GOAL."""

def workload_convert(path: Path, target: Path, options: str) -> None:
    """Reads a program and writes it as GOAL: binary if the name ends in .bin, compressed if .gz follows."""

def workload_make(parameters: str, target: Path, ranks: int | None, groups: list[int], seed: int) -> str:
    """Makes a program by JSON of its parameters and writes it as GOAL; returns JSON as ``workload_info`` does."""

def workload_kinds() -> str:
    """JSON ``[{"kind": str, "description": str, "schema": {...}}]`` of the programs that can be made."""

def workload_read(path: Path, options: str) -> str:
    """JSON of a program: for each rank operations and dependencies.

    Operations are ``[type, amount, peer, tag, cpu, nic]``, with types 0 calc, 1 send and 2 recv; dependencies
    ``[before, after, on the start]``.
    """

def workload_write(program: str, target: Path) -> None:
    """Writes a program, given as ``workload_read`` returns it, as GOAL."""
