"""The cost of the allocations: comparators and storage of one router (section 5).

A comparator decides between two outputs. It compares the known fill of their buffers (`precision` bits) and their
availability (one bit). An input that chooses among n outputs needs n - 1 of them. Allocations that take account of one
another's decisions stand in one place and decide for one input after the other; the others are duplicated at every
input.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table

from phit.base.errors import InputError
from phit.document import Document
from phit.document.completing import complete
from phit.studies.clos.paper import study
from phit.studies.clos.setting import BUFFER

RADICES = (8, 16, 32, 64, 128)
PRECISIONS = (0, 1, 2, 3, 4)
RADIX = 64
"""The paper's router."""


@dataclass(frozen=True)
class Shape:
    """A router of a folded Clos network: inputs that choose, among these outputs, and the entries of a buffer."""

    inputs: int
    """Ports from below."""
    outputs: int
    """Ports upwards."""
    entries: int = BUFFER

    @property
    def full(self) -> int:
        """Bits that tell the fill of a buffer: log2 q, as the paper counts; whether it is full is one bit more."""
        return max(1, math.ceil(math.log2(self.entries)))

    @property
    def choice(self) -> int:
        """Bits that name an output."""
        return math.ceil(math.log2(self.outputs)) if self.outputs > 1 else 0


def of_radix(radix: int) -> Shape:
    """A router with as many ports up as down."""
    return Shape(radix // 2, radix // 2)


@dataclass(frozen=True)
class Algorithm:
    """An allocation."""

    name: str
    samples: int | None
    """Outputs among which an input chooses; `None`: all."""
    central: bool
    """Inputs are decided about one after the other, in one place."""

    def candidates(self, shape: Shape) -> int:
        """Outputs among which an input chooses."""
        return shape.outputs if self.samples is None else self.samples

    @property
    def precomputable(self) -> bool:
        """Decisions can be computed ahead: they need no knowledge of other decisions (section 5)."""
        return not self.central and self.samples != 1


def algorithms(samples: int = 2) -> tuple[Algorithm, ...]:
    """The allocations of section 4, and oblivious routing."""
    return (
        Algorithm("oblivious", 1, central=False),
        Algorithm("sequential", None, central=True),
        Algorithm(f"sequential_r({samples})", samples, central=True),
        Algorithm("greedy", None, central=False),
        Algorithm(f"greedy_r({samples})", samples, central=False),
    )


@dataclass(frozen=True)
class Row:
    """The cost of an allocation in a router."""

    algorithm: str
    radix: int
    precision: int
    """Bits known of the fill of a buffer."""
    structure: str
    """`central` or `distributed`."""
    comparators_per_input: int
    comparators: int
    comparator_bits: int
    """Width of a comparator: precision, and one bit for whether the output is available."""
    total_bits: int
    """Comparators times their width."""
    steps: int
    """Comparisons one after the other until all inputs have an output."""
    random_bits: int
    """Random bits in a cycle."""
    state_bits: int
    """Bits of the state of outputs that are brought to where decisions are made, in a cycle."""
    request_bits: int
    """Bits of requests to, and of outputs from, a central structure in a cycle."""
    precompute_bits: int
    """Registers for decisions computed one cycle ahead, as many more for each further cycle; 0: impossible."""


def row(algorithm: Algorithm, shape: Shape, precision: int) -> Row:
    """The cost of `algorithm` with that precision."""
    among = algorithm.candidates(shape)
    compared = among - 1
    width = precision + 1 if compared else 0
    depth = math.ceil(math.log2(among)) if compared else 0
    places = 1 if algorithm.central else shape.inputs
    return Row(
        algorithm=algorithm.name,
        radix=shape.inputs + shape.outputs,
        precision=precision,
        structure="central" if algorithm.central else "distributed",
        comparators_per_input=compared,
        comparators=compared * shape.inputs,
        comparator_bits=width,
        total_bits=compared * shape.inputs * width,
        steps=depth * (shape.inputs if algorithm.central else 1),
        random_bits=0 if algorithm.samples is None else shape.inputs * algorithm.samples * shape.choice,
        state_bits=places * shape.outputs * width,
        request_bits=shape.inputs * (1 + shape.choice) if algorithm.central else 0,
        precompute_bits=shape.inputs * shape.choice if algorithm.precomputable else 0,
    )


@dataclass(frozen=True)
class Cost:
    """The costs of the allocations."""

    entries: int
    by_radix: list[Row]
    """With exact knowledge of the fill."""
    by_precision: list[Row]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "entries": self.entries,
            "by_radix": [asdict(row) for row in self.by_radix],
            "by_precision": [asdict(row) for row in self.by_precision],
        }

    def to_rich(self) -> Group:
        """For a terminal."""
        radix = self.by_precision[0].radix
        return Group(
            f"One router, buffers of {self.entries} entries; exact knowledge of their fill:",
            _table(self.by_radix, "radix"),
            f"Radix {radix}, by bits known of the fill:",
            _table(self.by_precision, "precision"),
        )


COLUMNS = {
    "structure": "structure",
    "comparators_per_input": "comparators per input",
    "comparators": "in all",
    "total_bits": "comparator bits",
    "steps": "steps",
    "state_bits": "state bits",
    "request_bits": "request bits",
    "precompute_bits": "precompute bits",
}


def _table(rows: Iterable[Row], first: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("allocation", header_style="bold")
    for heading in (first, *COLUMNS.values()):
        table.add_column(heading, header_style="bold", justify="left" if heading == "structure" else "right")
    for found in rows:
        values = asdict(found)
        table.add_row(found.algorithm, *(_cell(values[key]) for key in (first, *COLUMNS)))
    return table


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def cost(shapes: Iterable[Shape], shape: Shape, samples: int = 2, precisions: Iterable[int] = PRECISIONS) -> Cost:
    """The costs on routers of several radices, and on one by precision."""
    named = algorithms(samples)
    by_radix = [row(algorithm, of, of.full) for algorithm in named for of in shapes]
    by_precision = [row(algorithm, shape, bits) for algorithm in named if algorithm.samples != 1 for bits in precisions]
    return Cost(shape.entries, by_radix, by_precision)


@study.cost_model
def of_scenario(source: Document | None) -> Cost:
    """The costs on the first-level routers of a scenario; without one, on the paper's."""
    if source is None:
        return cost([of_radix(radix) for radix in RADICES], of_radix(RADIX))
    scenario = complete(source)
    topology = scenario["topology"]
    if topology["kind"] != "clos":
        raise InputError(f'topology.kind = "{topology["kind"]}": the costs of section 5 are those of a "clos"')
    links = scenario["router"]["links"]
    buffer = links.get("level1", links.get("default", {})).get("buffer", BUFFER)
    shape = Shape(topology["down"][0], topology["up"][0], buffer if isinstance(buffer, int) else BUFFER)
    routing = scenario["routing"]
    samples = int(routing.get("samples", 2)) if routing["kind"] == "clos" else 2
    return cost([shape], shape, samples, range(shape.full + 1))
