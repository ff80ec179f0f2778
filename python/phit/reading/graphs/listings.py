"""Listings of InfiniBand fabrics by the tools of infiniband-diags: switches, channel adapters and links.

Three forms are recognised by their lines: the output of `ibnetdiscover` (also with `-f` and `-g`); the output of
`ibnetdiscover -p`, a line for each port; and the output of `iblinkinfo`, in blocks or, with `-l`, a line for each port.
Lines of other text, which tools write to standard error, are left out.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from phit.base.errors import InputError
from phit.base.files import opened
from phit.base.left_out import LeftOut
from phit.base.text import quoted, shortened

LANES = {
    "SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 13.64, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0,
    "XDR": 200.0, "GDR": 400.0,
}  # fmt: skip
"""Data rate of a lane, in Gb/s (InfiniBand Architecture Specification and roadmap; from HDR on nominally)."""

SIGNALS = {
    "SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR": 14.0625, "EDR": 25.78125, "HDR": 53.125, "NDR": 106.25, "XDR": 212.5,
    "GDR": 425.0,
}  # fmt: skip
"""Signalling rate of a lane in Gb/s, as `iblinkinfo` prints it; the tool itself names FDR10."""

EXTENDED = {1: "FDR", 2: "EDR", 4: "HDR", 8: "NDR"}
"""Speeds by the code `e=` of `ibnetdiscover -f`, which it prints even if it does not know their names."""

WIDTHS = (1, 2, 4, 8, 12)
"""Possible numbers of lanes of a link."""

VL_CAP = {1: 1, 2: 2, 3: 4, 4: 8, 5: 15}
"""Number of data virtual lanes by the code `v=` of `ibnetdiscover -f`."""

SWITCH, ADAPTER, ROUTER = "switch", "channel adapter", "router"

AGGREGATION = re.compile(r"\bAggregation Node\b", re.IGNORECASE)
"""Description of the adapter inside a switch that combines data (SHARP): hosts do not send to it."""

_KINDS = {"Switch": SWITCH, "SW": SWITCH, "S": SWITCH, "Ca": ADAPTER, "Hca": ADAPTER, "CA": ADAPTER, "H": ADAPTER}
_RATE = r"(\d+x|\?\?)(\S+?)"

_HEADER = re.compile(r'^(Switch|Ca|Hca|Rt)\s+(\d{1,5})\s+"[SHR]-([0-9a-fA-F]{1,16})"\s*(?:#\s*"(.*)".*)?$', re.ASCII)
_LINK = re.compile(
    r'^\[(\d{1,5})\](?:\[ext \d+\])?(?:\([0-9a-fA-F]+\))?\s*"([SHR])-([0-9a-fA-F]{1,16})"\[(\d{1,5})\]'
    r"(?:\[ext \d+\])?\s*(?:\([0-9a-fA-F]+\))?\s*(?:#(.*))?$",
    re.ASCII,
)
_ACTIVE = re.compile(rf"\s{_RATE}(?:\s+s=\d+ w=\d+ v=(\d)(?:\s+e=(\d+))?)?(?:\s+(?:slot \d+|\(scp\)))*\s*$", re.ASCII)
_OWN_LID = re.compile(r"^\s*lid (\d{1,5}) lmc ([0-7])\s", re.ASCII)
_PEER = re.compile(r'"(.*)" lid (\d{1,5})\s', re.ASCII)
_STRUCTURE = re.compile(
    r"^(#|vendid=|devid=|sysimgguid=|switchguid=|caguid=|rtguid=|\w+=|Chassis\b|Hostname:|Non-Chassis Nodes)"
)
_DAMAGED = re.compile(r"^(\[\d|(Switch|Ca|Hca|Rt)\s+\d|(SW|CA|RT)\s+\d+\s+\d|0x[0-9a-fA-F]+\s+\"|\d+\s+\d+\[)|==\(")

_PORT = re.compile(
    r"^(SW|CA|RT)\s+(\d{1,5})\s+(\d{1,5})\s+0x([0-9a-fA-F]{1,16})\s+(\d+x|\?\?)\s+(\S+)"
    r"(?:\s+-\s+(SW|CA|RT)\s+(\d{1,5})\s+(\d{1,5})\s+0x([0-9a-fA-F]{1,16})\s+\(\s*'(.*)'\s+-\s+'(.*)'\s*\)"
    r"|\s+'(.*)')$",
    re.ASCII,
)

_INFO_HEADER = re.compile(r"^(Switch|CA|Router):\s+(?:0x([0-9a-fA-F]{1,16})\b\s*)?(.*):$", re.ASCII)
_INFO = re.compile(r"^(.*?)\s*==\((.*)\)==>\s*(.*)$", re.ASCII)
_INFO_OWN = re.compile(r'^(?:0x([0-9a-fA-F]{1,16})\s+(?:"\s*(.*)"\s+)?)?(\d{1,5})\s+(\d{1,5})\[\s*\d*\s*\]$', re.ASCII)
_INFO_PEER = re.compile(
    r'^(?:0x([0-9a-fA-F]{1,16})\s+)?(\d{1,5})\s+(\d{1,5})\[\s*\d*\s*\]\s+"(.*)"\s*\(.*\)$', re.ASCII
)
_INFO_ACTIVE = re.compile(r"^\s*(\d+)X\s+([\d.]+) Gbps( \(FDR10\))?\s", re.ASCII)


@dataclass
class Node:
    """A switch or a channel adapter. In listings of ports, an adapter has one port."""

    guid: int
    kind: str
    ports: int
    name: str
    where: int
    links: dict[int, "Link"] = field(default_factory=dict)

    @property
    def is_switch(self) -> bool:
        """Whether it is a switch."""
        return self.kind == SWITCH


@dataclass
class Link:
    """The link that one line describes; the LID belongs to the adapter's own port."""

    peer: int
    peer_port: int
    where: int
    rate: str | None
    said: str = ""
    """Width and speed as the line has them."""
    lanes: int | None = None
    lid: int | None = None
    lmc: int = 0
    peer_kind: str = ""
    peer_name: str = ""
    peer_lid: int | None = None


class Listing:
    """The nodes and links of a listing, complete at both ends, without parts that carry no traffic."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[int, Node] = {}
        self.left_out = LeftOut()
        self.gone: set[int] = set()
        """LIDs of nodes that were left out."""
        self._read()
        self._leave_out_what_carries_nothing()
        self._complete()
        self._check()

    def fail(self, line: int, message: str) -> InputError:
        """An error at a line of the file."""
        return InputError(f"{self.path}: line {line}: {message}", "topology.file")

    # Reading lines.

    def _read(self) -> None:
        numbered = [(number, line.strip()) for number, line in lines(self.path, "topology.file")]
        reader = next((form for _, line in numbered if (form := self._form(line)) is not None), None)
        if reader is None:
            expected = "expected the output of ibnetdiscover or iblinkinfo"
            raise InputError(f"{self.path}: no switch and no link; {expected}", "topology.file")
        reader(numbered)

    def _form(self, line: str) -> "Callable[[list[tuple[int, str]]], None] | None":
        if _HEADER.match(line):
            return self._read_blocks
        if _PORT.match(line):
            return self._read_ports
        return self._read_linkinfo if _INFO.match(line) else None

    def _other(self, number: int, line: str) -> None:
        """Handles a line that is no part of a listing: it is damaged, or other text."""
        if not line:
            return
        what = quoted(shortened(line, 80))
        if _DAMAGED.search(line):
            raise self.fail(number, f"{what}; expected a whole line of a node or a link: is the file cut off?")
        self.left_out.add("lines of other text", f"line {number}: {what}")

    def _read_blocks(self, numbered: list[tuple[int, str]]) -> None:
        """Reads the output of `ibnetdiscover`: a block for each node."""
        node: Node | None = None
        for number, line in numbered:
            if header := _HEADER.match(line):
                kind, ports, guid, name = header.groups()
                node = self._node(int(guid, 16), _KINDS.get(kind, ROUTER), int(ports), name, number)
            elif link := _LINK.match(line):
                if node is None:
                    raise self.fail(number, "a link before the first node")
                self._block_link(node, link, number)
            elif not _STRUCTURE.match(line):
                self._other(number, line)
        if node is not None and node.is_switch and self._unlisted():
            lost, where = self._unlisted()[0]
            raise self.fail(where, f"channel adapter {quoted(lost)} has no block of its own: the file is cut off")

    def _unlisted(self) -> list[tuple[str, int]]:
        """Names of adapters without a block, and the lines that name them."""
        named = (link for node in self.nodes.values() for link in node.links.values())
        return [
            (link.peer_name, link.where) for link in named if link.peer_kind == ADAPTER and link.peer not in self.nodes
        ]

    def _node(self, guid: int, kind: str, ports: int, name: str | None, number: int) -> Node:
        if guid in self.nodes:
            raise self.fail(number, f"node 0x{guid:016x} is already listed in line {self.nodes[guid].where}")
        self.nodes[guid] = Node(guid, kind, ports, name or f"0x{guid:016x}", number)
        return self.nodes[guid]

    def _block_link(self, node: Node, found: re.Match[str], number: int) -> None:
        port, kind, peer, peer_port, comment = found.groups()
        if not 1 <= int(port) <= node.ports:
            raise self.fail(number, f"port {port}; expected one of the ports of {quoted(node.name)}, 1 to {node.ports}")
        active = _ACTIVE.search(comment or "")
        if not active:
            what = quoted(shortened(found[0], 80))
            raise self.fail(
                number, f"{what}; expected a width and a speed at its end, such as 4xHDR: is the file cut off?"
            )
        own, other = _OWN_LID.match(comment or ""), _PEER.search(comment or "")
        said = f"{active[1]}{active[2]}" if active else ""
        speed = EXTENDED.get(int(active[4])) if active and active[4] else None
        rate = said if gigabits(said) else f"{active[1]}{speed}" if active and speed else None
        link = Link(
            int(peer, 16),
            int(peer_port),
            number,
            rate if rate and gigabits(rate) else None,
            said,
            VL_CAP.get(int(active[3])) if active and active[3] else None,
            None if node.is_switch or own is None else int(own[1]),
            0 if own is None else int(own[2]),
            _KINDS.get(kind, ROUTER),
            other[1] if other else f"0x{int(peer, 16):016x}",
            int(other[2]) if other else None,
        )
        self._add(node, int(port), link)

    def _add(self, node: Node, port: int, link: Link) -> None:
        if port in node.links:
            raise self.fail(link.where, f"port {port} of {quoted(node.name)} already has a link")
        node.links[port] = link

    def _read_ports(self, numbered: list[tuple[int, str]]) -> None:
        """Reads the output of `ibnetdiscover -p`: a line for each port, from each node's last port to its first."""
        last: tuple[Node, int, int] | None = None
        for number, line in numbered:
            found = _PORT.match(line)
            if found is None:
                self._other(number, line)
                continue
            kind, lid, port, guid, width, speed, peer_kind, peer_lid, peer_port, peer, name, peer_name, alone = (
                found.groups()
            )
            node = self._port_of(int(guid, 16), _KINDS.get(kind, ROUTER), name or alone, int(port), number)
            last = (node, int(port), number)
            if peer is None:
                self.left_out.add("ports without a link", f"line {number}")
                continue
            said = f"{width}{speed}"
            rate = said if gigabits(said) else None
            link = Link(int(peer, 16), int(peer_port), number, rate, said, lid=int(lid) or None)
            link.peer_kind, link.peer_name, link.peer_lid = (
                _KINDS.get(peer_kind, ROUTER),
                peer_name,
                int(peer_lid) or None,
            )
            self._add(node, int(port), link)
        if last and last[0].is_switch and last[1] > 1:
            node, port, number = last
            raise self.fail(number, f"the ports of {quoted(node.name)} end at {port}, not at 1: the file is cut off")

    def _port_of(self, guid: int, kind: str, name: str, port: int, number: int) -> Node:
        """The node of a port. All ports of a switch share one GUID; each port of an adapter has its own."""
        node = self.nodes.get(guid)
        if node is None:
            node = self._node(guid, kind, port, name.strip(), number)
        node.ports = max(node.ports, port)
        return node

    def _read_linkinfo(self, numbered: list[tuple[int, str]]) -> None:
        """Reads the output of `iblinkinfo`: a block for each node, or with `-l` a line for each port.

        Blocks give the LIDs of peers, and lines the GUIDs of both ends.
        """
        kinds = self._line_kinds(numbered)
        header: tuple[str, int | None, str] | None = None
        by_lid: dict[int, int] = {}
        unresolved: list[Link] = []
        for number, line in numbered:
            if found := _INFO_HEADER.match(line):
                kind, guid, name = found.groups()
                header = (_KINDS.get(kind, ROUTER), int(guid, 16) if guid else None, name)
                continue
            found = _INFO.match(line)
            own = _INFO_OWN.match(found[1]) if found else None
            if found is None or own is None:
                self._other(number, line)
                continue
            guid, name, lid, port = own.groups()
            if name is not None:
                key = int(guid, 16)
                kind = kinds[key]
            elif header is None:
                raise self.fail(number, "a port before the first node")
            else:
                kind, name = header[0], header[2]
                given = int(guid, 16) if guid else header[1]
                if given is None:
                    raise self.fail(number, f"a port of {quoted(name)} without a GUID; expected one")
                key = given
            node = self._port_of(key, kind, name, int(port), number)
            by_lid.setdefault(int(lid), key)
            peer = _INFO_PEER.match(found[3])
            if peer is None:
                state = "ports without a link" if "Down/" in found[2] else "ports whose other end is not known"
                self.left_out.add(state, f"line {number}")
                continue
            peer_guid, peer_lid, peer_port, peer_name = peer.groups()
            rate, said = _active(found[2])
            link = Link(0, int(peer_port), number, rate, said, lid=int(lid) or None)
            link.peer_name, link.peer_lid = peer_name, int(peer_lid) or None
            if peer_guid:
                link.peer = int(peer_guid, 16)
                link.peer_kind = kinds[link.peer]
            else:
                unresolved.append(link)
            self._add(node, int(port), link)
        for link in unresolved:
            if link.peer_lid is None:
                raise self.fail(link.where, "the other end has no LID; expected the output of `iblinkinfo -l`")
            if link.peer_lid in by_lid:
                link.peer = by_lid[link.peer_lid]
                link.peer_kind = self.nodes[link.peer].kind
        for node in self.nodes.values():
            for link in node.links.values():
                if link.peer not in self.nodes:
                    said = f"{quoted(link.peer_name)} has no lines of its own: is the file cut off?"
                    raise self.fail(link.where, f"{said} Expected lines of all switches and channel adapters")

    @staticmethod
    def _line_kinds(numbered: list[tuple[int, str]]) -> dict[int, str]:
        """Types of nodes in lines that have GUIDs at both ends but no types: a node with several ports is a switch."""
        ports: dict[int, set[int]] = {}
        for _, line in numbered:
            found = _INFO.match(line)
            own, peer = (_INFO_OWN.match(found[1]), _INFO_PEER.match(found[3])) if found else (None, None)
            if own and own[1] and own[2] is not None:
                ports.setdefault(int(own[1], 16), set()).add(int(own[4]))
            if peer and peer[1]:
                ports.setdefault(int(peer[1], 16), set()).add(int(peer[3]))
        return {guid: SWITCH if len(own) > 1 else ADAPTER for guid, own in ports.items()}

    # Completing the listing.

    def _leave_out_what_carries_nothing(self) -> None:
        gone: dict[int, tuple[str, int]] = {}

        def look(guid: int, kind: str, name: str, where: int) -> None:
            if kind == ROUTER:
                gone.setdefault(guid, ("routers to other subnets", where))
            elif kind == ADAPTER and AGGREGATION.search(name):
                gone.setdefault(guid, ("aggregation nodes", where))

        for node in self.nodes.values():
            look(node.guid, node.kind, node.name, node.where)
        for node in self.nodes.values():
            for link in node.links.values():
                look(link.peer, link.peer_kind, link.peer_name, link.where)
        for guid, (what, where) in gone.items():
            left = self.nodes.pop(guid, None)
            self.gone.update(link.lid for link in (left.links.values() if left else ()) if link.lid)
            self.left_out.add(what, f"line {where}")
        for node in self.nodes.values():
            self.gone.update(link.peer_lid for link in node.links.values() if link.peer in gone and link.peer_lid)
            loops = {port: link for port, link in node.links.items() if link.peer == node.guid}
            for port, link in loops.items():
                if link.peer_port not in loops or port <= link.peer_port:
                    self.left_out.add("cables from a switch to itself", f"line {link.where}")
            node.links = {
                port: link for port, link in node.links.items() if port not in loops and link.peer not in gone
            }

    def _complete(self) -> None:
        """Adds the other end to links that only one end lists, as far as nothing contradicts it."""
        last = next(reversed(self.nodes.values()), None)
        for node in list(self.nodes.values()):
            for port, link in node.links.items():
                peer = self.nodes.get(link.peer)
                if peer is None:
                    if link.peer_kind == SWITCH:
                        said = f"switch {quoted(link.peer_name)} has no ports of its own in the listing"
                        raise self.fail(link.where, f"{said}: is the file cut off? Expected every switch")
                    peer = Node(link.peer, ADAPTER, link.peer_port, link.peer_name, link.where)
                    self.nodes[link.peer] = peer
                back = peer.links.get(link.peer_port)
                if back is None:
                    if peer is last and peer.is_switch:
                        said = f"{quoted(peer.name)}, the last in the file, does not list the link to this port"
                        raise self.fail(link.where, f"{said}: is the file cut off?")
                    what = "ends of links between switches" if peer.is_switch else "ends of links at channel adapters"
                    self.left_out.add(f"{what} that are not listed, but known from the other end", f"line {link.where}")
                    back = Link(node.guid, port, link.where, link.rate, link.said, link.lanes, link.peer_lid)
                    peer.links[link.peer_port] = back
                if (back.peer, back.peer_port) != (node.guid, port):
                    said = f"the other end of port {port} of {quoted(node.name)} has another link"
                    raise self.fail(link.where, f"{said}; expected every link at both of its ends")
        for node in [node for node in self.nodes.values() if not node.links]:
            self.left_out.add(
                f"{'switches' if node.is_switch else 'channel adapters'} without a link", f"line {node.where}"
            )
            del self.nodes[node.guid]

    def _check(self) -> None:
        if not any(node.is_switch for node in self.nodes.values()):
            expected = "expected the output of ibnetdiscover or iblinkinfo"
            raise InputError(f"{self.path}: no switch with a link; {expected}", "topology.file")
        for node in self.nodes.values():
            for link in node.links.values():
                if not node.is_switch and not self.nodes[link.peer].is_switch:
                    raise self.fail(link.where, "a link between two channel adapters; expected one to a switch")


def _active(state: str) -> tuple[str | None, str]:
    """Width and speed of a link in a line of `iblinkinfo`, under the names of `ibnetdiscover`."""
    found = _INFO_ACTIVE.match(state)
    if found is None:
        return None, state.strip()
    if found[3]:
        return f"{found[1]}x{'FDR10'}", state.strip()
    # Some versions print rounded rates.
    near = (name for name, signal in SIGNALS.items() if abs(float(found[2]) / signal - 1) < 0.01)
    rate = f"{found[1]}x{next(near, '?')}"
    return (rate if gigabits(rate) else None), f"{found[1]}X {found[2]} Gbps"


_QUANTITY = re.compile(r"^(\d+(?:\.\d+)?)\s*([GT])(?:b/s|bit/s|bps)$", re.ASCII)


def gigabits(rate: str) -> float | None:
    """Data rate of a link in Gb/s, from width and speed or from a rate; `None` if it is unknown."""
    if quantity := _QUANTITY.match(rate.strip()):
        number = float(quantity[1]) * (1000 if quantity[2] == "T" else 1)
        return number if 1 <= number < 1e9 else None
    width, _, speed = rate.partition("x")
    known = width.isdecimal() and int(width) in WIDTHS and speed in LANES
    return int(width) * LANES[speed] if known else None


def lines(path: Path, key: str) -> Iterator[tuple[int, str]]:
    """The lines of a file, numbered from 1."""
    try:
        with opened(path, errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", key) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})", key) from None
    yield from enumerate(text.splitlines(), 1)
