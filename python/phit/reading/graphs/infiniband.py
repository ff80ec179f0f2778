"""InfiniBand fabrics: the output of `ibnetdiscover` or `iblinkinfo`, and the tables of the subnet manager.

Switches are routers, numbered in the order of their GUIDs. Every connected port of a channel adapter is an endpoint of
its switch; endpoints are numbered by switch and port. A switch has the ports of its endpoints first, then the ports to
other switches, each in the order of its own ports.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.base.text import quoted, shortened, whole
from phit.reading.fabrics import KEYS
from phit.reading.graphs.listings import Link, Listing, Node, gigabits, lines
from phit.reading.graphs.names import distinct
from phit.reading.graphs.network import MOST_CLASSES
from phit.reading.graphs.rates import commonest, gigabits_per_second

_TABLE = re.compile(r"^Unicast lids .*guid 0x([0-9a-fA-F]{1,16})\b")

_ENTRY = re.compile(r"^0x([0-9a-fA-F]{1,4})\s+(\d{1,3})\b", re.ASCII)

_DUMPED = re.compile(r"^(\d+) (valid )?lids dumped\b", re.ASCII)

_SL2VL = re.compile(r"^(Switch|Channel Adapter|Router) 0x([0-9a-fA-F]{1,16})\b")

_SL2VL_ROW = re.compile(r"^(\d{1,3})\s+(\d{1,3})\s*:((?:\s+\d{1,2}){16})\s*$", re.ASCII)

_UNIFORM = re.compile(r"^uniform:((?:\s+\d{1,2})+)\s*$", re.ASCII)

_GUID = re.compile(r"^(0x)?[0-9a-f]{1,16}$", re.ASCII | re.IGNORECASE)

_NO_ROUTE = 255
"""Entry of a forwarding table for an LID without a route."""

_GUID = re.compile(r"^(0x)?[0-9a-f]{1,16}$", re.ASCII | re.IGNORECASE)


@dataclass
class _Table:
    """The forwarding table of a switch: its first line, its entries so far, and whether its last line has been read."""

    where: int
    entries: int = 0
    whole: bool = False


class Fabric:
    """The switches, channel adapters and links of a listing."""

    def __init__(self, path: Path, rate: str | None = None) -> None:
        """Reads a file. `rate`, such as `4xHDR` or `400 Gb/s`, is for links whose width or speed is unknown."""
        self.path, self.rate = path, rate
        if rate is not None and gigabits(rate) is None:
            expected = "expected a width and a speed, such as 4xHDR, or a rate, such as 400 Gb/s"
            raise InputError(f"topology.rate = {quoted(rate)}: {expected}", "topology.rate")
        listing = Listing(path)
        self.nodes, self.left_out, self.gone = listing.nodes, listing.left_out, listing.gone

    def fail(self, line: int, message: str) -> InputError:
        """An error at a line of the file."""
        return InputError(f"{self.path}: line {line}: {message}", "topology.file")

    @cached_property
    def switches(self) -> list[Node]:
        """The switches, in the order of routers."""
        return sorted((node for node in self.nodes.values() if node.is_switch), key=lambda node: node.guid)

    @cached_property
    def router(self) -> dict[int, int]:
        """The router of every switch, by GUID."""
        return {switch.guid: index for index, switch in enumerate(self.switches)}

    @cached_property
    def ports(self) -> list[dict[int, int]]:
        """The port of every router, by the number of the switch's port."""
        return [
            {
                port: index
                for index, port in enumerate(sorted(switch.links, key=lambda p: (self._between(switch, p), p)))
            }
            for switch in self.switches
        ]

    def _between(self, switch: Node, port: int) -> bool:
        return switch.links[port].peer in self.router

    @cached_property
    def endpoints(self) -> list[tuple[Node, int]]:
        """The channel adapter and the port of every endpoint."""
        return [
            (self.nodes[switch.links[port].peer], switch.links[port].peer_port)
            for switch in self.switches
            for port in sorted(switch.links)
            if not self._between(switch, port)
        ]

    @cached_property
    def lids(self) -> list[tuple[int, int]]:
        """The first LID of every endpoint, and its number of LIDs."""
        found = [adapter.links[port] for adapter, port in self.endpoints]
        if without := next((link for link in found if not link.lid), None):
            raise self.fail(without.where, "the port has no LID; expected `lid N lmc M` after #")
        lids = [(link.lid or 0, 1 << link.lmc) for link in found]
        taken: dict[int, int] = {}
        for (first, count), link in zip(lids, found, strict=True):
            for lid in range(first, first + count):
                if lid in taken:
                    raise self.fail(link.where, f"LID {lid} is already used in line {taken[lid]}")
                taken[lid] = link.where
        return lids

    def names(self) -> dict[str, Any]:
        """The operator's names of switches, switch ports and ports of channel adapters."""
        # Ports of adapters with equal names are distinguished by their numbers: a list of ports has no other property.
        count: dict[str, int] = {}
        for adapter, _ in self.endpoints:
            count[adapter.name] = count.get(adapter.name, 0) + 1
        hosts = [
            (adapter.name if count[adapter.name] == 1 else f"{adapter.name} port {port}", f"0x{adapter.guid:016x}")
            for adapter, port in self.endpoints
        ]
        found: dict[str, Any] = {
            "routers": distinct([switch.name for switch in self.switches], [f"0x{s.guid:016x}" for s in self.switches]),
            "ports": [[str(port) for port in ports] for ports in self.ports],
        }
        return found | ({"endpoints": distinct(*map(list, zip(*hosts, strict=True)))} if hosts else {})

    def section(self, group: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """`[topology]` of kind `graph`, and keys of `router.links` by class."""
        rates = self._rates()
        names = sorted(set(rates.values()), key=lambda name: (-(gigabits(name) or 0), name))
        hosts = [self._rate(adapter.links[port]) for adapter, port in self.endpoints]
        rate = {name: gigabits_per_second(gigabits(name) or 1.0) for name in {*names, *hosts}}
        links: dict[str, dict[str, Any]] = {_class(name): {"bandwidth": rate[name]} for name in names}
        if hosts:
            links["endpoint"] = {"bandwidth": rate[commonest(hosts, lambda name: gigabits(name) or 1.0)]}
        rows = [
            [
                *(self.router[guid] for guid in (switch.guid, link.peer)),
                names.index(rates[switch.guid, port]),
                self.ports[self.router[switch.guid]][port],
                self.ports[self.router[link.peer]][link.peer_port],
            ]
            for switch in self.switches
            for port, link in sorted(switch.links.items())
            if self._between(switch, port) and (switch.guid, port) < (link.peer, link.peer_port)
        ]
        counts = [sum(not self._between(switch, port) for port in switch.links) for switch in self.switches]
        section = {"kind": "graph", "routers": len(counts), "endpoints": counts, "links": rows}
        section |= {"classes": [_class(name) for name in names]} if names else {}
        section["names"] = self.names()
        section |= {"endpoint_bandwidth": [rate[name] for name in hosts]} if len(set(hosts)) > 1 else {}
        lanes = [link.lanes for node in self.nodes.values() for link in node.links.values() if link.lanes]
        for name in names:
            links[_class(name)] |= {"vcs": min(lanes)} if lanes else {}
        section |= {"group": group} if group != 1 else {}
        left_out = self.left_out.rows()
        return section | ({"left_out": left_out} if left_out else {}), links

    def _rate(self, link: Link) -> str:
        if link.rate is None and self.rate is None:
            expected = "expected topology.rate for links like it, such as 4xHDR or 400 Gb/s"
            raise self.fail(
                link.where, f"the width or the speed of the link is unknown ({link.said or '?'}); {expected}"
            )
        return link.rate or str(self.rate)

    def _rates(self) -> dict[tuple[int, int], str]:
        """Width and speed of every link between switches, by its two ends."""
        rates: dict[tuple[int, int], str] = {}
        for switch in self.switches:
            for port, link in switch.links.items():
                if self._between(switch, port):
                    rates[switch.guid, port] = self._rate(link)
                    other = self._rate(self.nodes[link.peer].links[link.peer_port])
                    if other != rates[switch.guid, port]:
                        raise self.fail(link.where, f"{rates[switch.guid, port]} here and {other} at the other end")
        if len(set(rates.values())) > MOST_CLASSES:
            what = ", ".join(sorted(set(rates.values())))
            raise InputError(f"{self.path}: links of {what}; expected at most {MOST_CLASSES} kinds", "topology.file")
        return rates

    def entries(self, path: Path, offset: int) -> list[list[int]]:
        """Router, destination and output port, from forwarding tables; `offset` chooses one of an endpoint's LIDs."""
        if unlike := next((count for _, count in self.lids if offset >= count), None):
            expected = f"expected a number below {unlike}, the LIDs of every endpoint"
            raise InputError(f"routing.lid = {offset}: {expected}", "routing.lid")
        endpoint = {first + offset: index for index, (first, _) in enumerate(self.lids)}
        entries: list[list[int]] = []
        table: _Table | None = None
        tables: dict[int, _Table] = {}
        for number, line in lines(path, "topology.tables"):
            line = line.strip()
            if header := _TABLE.match(line):
                guid = int(header[1], 16)
                if guid not in self.router or guid in tables:
                    what = "stands there twice" if guid in tables else f"is no switch of {self.path}"
                    raise InputError(f"{path}: line {number}: 0x{guid:016x} {what}", "topology.tables")
                table = tables[guid] = _Table(number)
                router = self.router[guid]
                ports = self.ports[router]
            elif entry := _ENTRY.match(line):
                if table is None:
                    raise InputError(f"{path}: line {number}: an entry before the first switch", "topology.tables")
                table.entries += 1
                lid, port = int(entry[1], 16), int(entry[2])
                if lid in endpoint and port in ports:
                    entries.append([router, endpoint[lid], ports[port]])
                elif lid in endpoint and port != _NO_ROUTE:
                    what = "entries of forwarding tables that lead to a port without a link"
                    self.left_out.add(what, f"{path}: line {number}")
            elif dumped := _DUMPED.match(line):
                # OpenSM's own dump ends with the largest LID instead of a count.
                if table is not None and dumped[2] and int(dumped[1]) != table.entries:
                    said = f"{dumped[1]} entries, of which {table.entries} stand there"
                    raise InputError(f"{path}: line {number}: {said}; expected all", "topology.tables")
                if table is not None:
                    table.whole = True
            elif line.startswith("0x"):
                raise InputError(f"{path}: line {number}: {quoted(line)}; expected a LID and a port", "topology.tables")
        if len(tables) != len(self.switches):
            lost = next(switch for switch in self.switches if switch.guid not in tables)
            what = f"no table of switch {quoted(lost.name)}, 0x{lost.guid:016x}"
            raise InputError(f"{path}: {what}; expected the output of dump_fts, or opensm-lfts.dump", "topology.tables")
        cut = next((table for table in tables.values() if not table.whole), None)
        if cut and any(table.whole for table in tables.values()):
            what = "the table that begins here does not end as others do (... lids dumped): is the file cut off?"
            raise InputError(f"{path}: line {cut.where}: {what}", "topology.tables")
        return entries

    def roots(self, path: Path) -> list[int]:
        """The routers of a file of GUIDs, one per line, as OpenSM reads roots."""
        found: list[int] = []
        for number, line in lines(path, "routing.roots"):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            guid = int(text, 16) if _GUID.match(text) else None
            if guid not in self.router:
                what = f"{quoted(shortened(text, 80))}; expected the GUID of a switch of {self.path}"
                raise InputError(f"{path}: line {number}: {what}", "routing.roots")
            found.append(self.router[guid])
        if not found:
            raise InputError(f"{path}: no roots; expected the GUID of a switch in each line", "routing.roots")
        return found

    def layers(self, path: Path) -> list[list[int]]:
        """Source, destination and service level of all pairs whose level is not 0."""
        endpoint = {first: index for index, (first, _) in enumerate(self.lids)}
        found = []
        where = 0
        for source, destination, level, where in _service_levels(path):
            if {source, destination} & self.gone:
                self.left_out.add("service levels of nodes that are left out", f"{path}: line {where}")
                continue
            for lid in (source, destination):
                if lid not in endpoint:
                    raise InputError(f"{path}: line {where}: there is no port of LID {lid}", "topology.service_levels")
            if level and source != destination:
                found.append([endpoint[source], endpoint[destination], level])
        if not where:
            raise InputError(
                f"{path}: no service level; expected one of every pair of ports", "topology.service_levels"
            )
        return found

    def channels(self, path: Path, levels: int) -> list[list[Any]]:
        """Router, input port, output port, and the virtual lane for each of `levels` service levels."""
        uniform: list[int] | None = None
        tables: dict[int, dict[tuple[int, int], list[int]]] = {}
        table: dict[tuple[int, int], list[int]] | None = None
        for number, line in lines(path, "topology.virtual_lanes"):
            if line.startswith("uniform:"):
                lanes = _UNIFORM.match(line)
                uniform = [int(lane) for lane in lanes[1].split()] if lanes else []
                if len(uniform) < levels:
                    what = "expected the lanes of 16 service levels"
                    raise InputError(f"{path}: line {number}: {what}", "topology.virtual_lanes")
            elif node := _SL2VL.match(line):
                guid = int(node[2], 16)
                table = tables.setdefault(self.router[guid], {}) if guid in self.router else None
            elif (row := _SL2VL_ROW.match(line)) and table is not None:
                table[int(row[1]), int(row[2])] = [int(lane) for lane in row[3].split()]
        rows: list[list[Any]] = []
        for router, ports in enumerate(self.ports):
            for (port, came), (other, left) in ((a, b) for a in ports.items() for b in ports.items()):
                said = uniform or tables.get(router, {}).get((port, other))
                if said is None:
                    what = f"{quoted(self.switches[router].name)} has no row of input {port} and output {other}"
                    raise InputError(f"{path}: {what}; expected opensm-sl2vl.dump", "topology.virtual_lanes")
                rows.append([router, came, left, said[:levels]])
        return rows


def _class(rate: str) -> str:
    """The class of links with this width and speed, or rate: a name that does not begin like a number."""
    width, _, speed = rate.partition("x")
    return f"{speed}_{width}x" if speed else f"rate_{re.sub(r'[^0-9a-zA-Z.]', '', rate)}"


def _service_levels(path: Path) -> Iterable[tuple[int, int, int, int]]:
    """Source LID, destination LID, service level and line, from a CSV file or from rows of hexadecimal digits."""
    rows = [(number, line) for number, line in lines(path, "topology.service_levels") if not line.startswith("#")]
    expected = "expected the columns source,destination,sl, or `lids:` and a row of digits for each source"

    def fail(number: int) -> InputError:
        return InputError(f"{path}: line {number}: {expected}", "topology.service_levels")

    first = rows[0][1] if rows else ""
    if [name.strip() for name in first.split(",")] == ["source", "destination", "sl"]:
        for number, row in zip(
            (number for number, _ in rows[1:]), csv.reader(line for _, line in rows[1:]), strict=True
        ):
            cells = [whole(cell) for cell in row]
            if len(cells) != 3 or None in cells:
                raise fail(number)
            source, destination, level = (cell for cell in cells if cell is not None)
            yield source, destination, level, number
        return
    lids = [lid for lid in map(whole, first.split()[1:]) if lid is not None]
    if not first.startswith("lids:") or len(lids) != len(first.split()) - 1:
        raise fail(rows[0][0] if rows else 1)
    for number, line in rows[1:]:
        name, _, digits = line.strip().partition(" ")
        if not line.strip():
            continue
        own = whole(name)
        if own is None or len(digits) != len(lids) or not set(digits) <= set("-0123456789abcdef"):
            raise fail(number)
        for lid, digit in zip(lids, digits, strict=True):
            if digit != "-":
                yield own, lid, int(digit, 16), number


def fabric(topology: Mapping[str, Any]) -> Fabric:
    """The fabric of a `[topology]` section of kind `infiniband`."""
    if unknown := next((key for key in topology if key not in (*KEYS, "kind")), None):
        expected = f"unknown key; expected one of {', '.join(KEYS)}"
        raise InputError(f"topology.{unknown}: {expected}", f"topology.{unknown}")
    if not isinstance(topology.get("file"), str):
        raise InputError("topology.file: expected the name of a file with the output of ibnetdiscover", "topology.file")
    for key in ("tables", "service_levels", "virtual_lanes"):
        if key in topology and not isinstance(topology[key], str):
            said = quoted(topology[key])
            raise InputError(f"topology.{key} = {said}: expected the name of a file", f"topology.{key}")
    if not isinstance(topology.get("rate", ""), str):
        said = quoted(topology["rate"])
        raise InputError(f"topology.rate = {said}: expected a width and a speed, such as 4xHDR", "topology.rate")
    return Fabric(Path(topology["file"]), topology.get("rate"))


def tables(topology: Mapping[str, Any], fabric: Fabric, routing: Mapping[str, Any]) -> dict[str, Any]:
    """`[routing]` of kind `table`, with the fabric's own tables."""
    if unknown := next((key for key in routing if key not in ("kind", "lid")), None):
        raise InputError(f"routing.{unknown}: unknown key; expected lid", f"routing.{unknown}")
    if "tables" not in topology:
        raise InputError(
            "topology.tables: expected the name of a file with the fabric's forwarding tables", "topology.tables"
        )
    lid = routing.get("lid", 0)
    if type(lid) is not int or lid < 0:
        raise InputError(f"routing.lid = {quoted(lid)}: expected a whole number", "routing.lid")
    entries = fabric.entries(Path(topology["tables"]), lid)
    if not entries:
        raise InputError(f"{topology['tables']}: no entry for any port of {fabric.path}", "topology.tables")
    layers = fabric.layers(Path(topology["service_levels"])) if "service_levels" in topology else []
    found: dict[str, Any] = {"kind": "table", "entries": entries, "layers": layers}
    if "virtual_lanes" in topology:
        levels = 1 + max((row[2] for row in layers), default=0)
        channels = fabric.channels(Path(topology["virtual_lanes"]), levels)
        lanes = channels[0][3] if channels else [0]
        if all(row[3] == lanes for row in channels) and lanes[0] == 0:
            # Every port has the same map of service levels, so the lane is the layer.
            found["layers"] = [[source, destination, lanes[level]] for source, destination, level in layers]
        else:
            found["channels"] = channels
    return found
