"""What the schemes cost in the memory of a port (sections 5.1 and 5.5)."""

from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.table import Table

from phit.scenario import Document, complete
from phit.studies.fbicm.network import MEMORY, VOQNET_QUEUE

LINE_BYTES = 6
"""Of a CAM line without its list: 4 of the timer, 2 of all other fields."""

DESTINATION_BYTES = 2

SIZES = (64, 256, 1024)
"""Networks of table 5.3."""


def cam_bytes(lines: int, destinations: int) -> int:
    """Bytes of a CAM whose lines hold so many destinations."""
    return lines * (LINE_BYTES + DESTINATION_BYTES * destinations)


@dataclass(frozen=True)
class Row:
    """One network."""

    endpoints: int
    first: int
    """Bytes of a CAM in the first version."""
    new: int
    """The same in the new version."""
    voqnet: int
    """Bytes of a port's packet memory with VOQnet; all others have 8,192."""


@dataclass(frozen=True)
class Memories:
    """Table 5.3, with the packet memories."""

    lines: int
    destinations: int
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def to_rich(self) -> Table:
        """For a terminal."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("endpoints", "CAM, first version", "CAM, new version", "packets, VOQnet", "packets, others"):
            table.add_column(heading, justify="right")
        for row in self.rows:
            table.add_row(*(f"{n:,}" for n in (row.endpoints, row.first, row.new, row.voqnet, MEMORY)))
        table.caption = (
            f"bytes of a port; {self.lines} lines, lists of {self.destinations} destinations in the new version"
        )
        return table


def of_scenario(document: Document | None) -> Memories:
    """The memories of a scenario's queueing and network, or those of table 5.3."""
    queueing: Document = {}
    sizes: tuple[int, ...] = SIZES
    if document is not None:
        completed = complete(document)
        if completed["queueing"]["kind"] == "fbicm":
            queueing = completed["queueing"]
        if completed["topology"]["kind"] == "k_ary_n_tree":
            sizes = (completed["topology"]["arity"] ** completed["topology"]["levels"],)
    lines, destinations = queueing.get("cfqs", 8), queueing.get("destinations", 8)
    rows = (Row(n, cam_bytes(lines, n), cam_bytes(lines, destinations), VOQNET_QUEUE * n) for n in sizes)
    return Memories(lines, destinations, tuple(rows))
