"""InfiniBand fabrics with the tables that OpenSM made for them: every number that a checker of its own has found."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.base.errors import InputError
from phit.document.inlining import to_json
from phit.reading.graphs.infiniband import Fabric

from .conftest import Cli, Write

FOLDER = Path(__file__).parent / "reference" / "infiniband"

with (FOLDER / "summary.csv").open(newline="") as summary:
    ROWS = list(csv.DictReader(summary))


def document(row: dict[str, str], vcs: int | None = None, levels: str = "sl", lid: int = 0) -> dict[str, Any]:
    """The scenario of a row; `levels` names the column of the service levels."""
    topology = {
        "kind": "infiniband",
        "file": str(FOLDER / "ibnetdiscover" / row["disc"]),
        "tables": str(FOLDER / "lfts" / row["lft"]),
    }
    if row[levels]:
        topology["service_levels"] = str(FOLDER / "sl" / row[levels])
    if row["sl2vl"] and levels == "sl":
        topology["virtual_lanes"] = str(FOLDER / "sl2vl" / row["sl2vl"])
    scenario: dict[str, Any] = {"topology": topology, "routing": {"kind": "infiniband", "lid": lid}}
    if vcs is not None:
        scenario["router"] = {"links": {"default": {"vcs": vcs}}}
    return scenario | {"traffic": {"load": 0.1}}


def histogram(text: str) -> Counter[int]:
    """`a:b;c:d` as counts."""
    pairs = (pair.split(":") for pair in text.split(";"))
    return Counter({int(value): int(count) for value, count in pairs})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['fabric']}-{row['engine']}")
def test_everything_is_as_the_checker_found_it(row: dict[str, str]) -> None:
    lids = 2 if row["engine"] == "minhoplmc1" else 1
    reports = [phit.verify(document(row, lid=lid)) for lid in range(lids)]
    hops: Counter[int] = Counter()
    for report in reports:
        routes = report["routes"]
        hops.update(dict(routes["hops"]))
        assert routes["pairs"] == routes["reachable"] == int(row["reachable"]) // lids
        assert routes["channels"] == int(row["vl_count"])
        assert report["proved"] is (row["cdg_cyclic"] == "0")
        assert bool(report.get("cycle")) is (row["cdg_cyclic"] == "1")
    assert hops == histogram(row["hops_hist"])
    assert sum(report["routes"]["nonminimal"] for report in reports) == int(row["nonminimal_pairs"])
    mean = sum(report["routes"]["load_mean"] for report in reports)
    loads = histogram(row["load_hist"])
    assert mean == pytest.approx(sum(load * links for load, links in loads.items()) / loads.total())
    if lids == 1:
        assert Counter(dict(routes["loads"])) == loads
        if report["proved"]:
            assert report["dependencies"] == int(row["cdg_edges"])
        merged = phit.verify(document(row, vcs=1))
        assert merged["proved"] is (row["cdg1_cyclic"] == "0")
        if merged["proved"]:
            assert merged["dependencies"] == int(row["cdg1_edges"])
    if row["layers"]:
        report = phit.verify(document(row, levels="layers"))
        assert report["routes"]["layers"] == int(row["layer_count"])
        assert report["proved"] is (row["cdg_layer_cyclic"] == "0")


def named(name: str, engine: str) -> dict[str, str]:
    return next(row for row in ROWS if (row["fabric"], row["engine"]) == (name, engine))


def test_the_circle_is_named_as_the_operator_knows_it(cli: Cli, write: Write) -> None:
    row = named("rr24d6", "updnroot")
    report = phit.verify(document(row))
    fabric = Fabric(FOLDER / "ibnetdiscover" / row["disc"])
    switches = {switch.name: switch for switch in fabric.switches}
    cycle = report["cycle"]
    for channel, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        name, _, port = channel["name"].partition(" port ")
        link = switches[name].links[int(port)]
        assert fabric.nodes[link.peer].name == following["name"].partition(" port ")[0]
    path = write(document(row))
    code, out, err = cli("verify", path)
    assert code != 0
    assert not err
    assert f"{cycle[0]['name']} VC 0" in out
    assert "552 pairs of endpoints, 552 of them reached" in out
    code, out, _ = cli("verify", path, "--set", "routing=dfsssp", "--set", "router.links.default.vcs=8")
    assert code == 0
    assert "0 pairs take more than the minimum" in out


OWN = {
    "minhop": "minhop", "sssp": "minhop", "updn": "up_down", "updnroot": "up_down", "ftree": "ftree",
    "dfsssp": "dfsssp", "lash": "lash",
}  # fmt: skip
"""Own routings by the names of OpenSM's."""

WITHOUT_LEVELS = ("torus4x4", "jellyfish20", "rr24d6")
"""Networks of which the first switch is the root."""


def own(row: dict[str, str]) -> dict[str, Any]:
    """Phit's own routing that corresponds to a row."""
    rooted = row["engine"] == "updnroot" and row["fabric"] in WITHOUT_LEVELS
    return {"kind": OWN[row["engine"]]} | ({"roots": str(FOLDER / "roots" / f"{row['fabric']}.txt")} if rooted else {})


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["engine"] in OWN], ids=lambda row: f"{row['fabric']}-{row['engine']}"
)
def test_own_routings_spread_pairs_as_opensm_s_of_that_name(row: dict[str, str]) -> None:
    report = phit.verify(document(row, vcs=8) | {"routing": own(row)})
    routes = report["routes"]
    assert routes["reachable"] == routes["pairs"] == int(row["pairs"])
    assert report["proved"] or row["engine"] in ("minhop", "sssp")
    assert routes["loads"][-1][0] <= 1.1 * max(histogram(row["load_hist"]))


def test_a_leaf_is_reached_over_all_its_uplinks() -> None:
    """64 pairs go each way between two leaves of 8 hosts, over four links: 16 on each, of which each takes 0.45."""
    topology = {"kind": "infiniband", "file": str(FOLDER / "ibnetdiscover" / "two_leaves_full.txt")}
    scenario = {"topology": topology, "traffic": {"load": 0.45}, "router": {"links": {"default": {"vcs": 2}}}}
    opensm = [{"tables": str(FOLDER / "lfts" / f"two_leaves_{name}.txt")} for name in ("updn", "dfsssp")]
    none: dict[str, str] = {}
    ways = [(none, kind) for kind in ("minhop", "up_down", "ftree", "dfsssp")] + [(one, "infiniband") for one in opensm]
    for tables, kind in ways:
        there = scenario | {"topology": topology | tables, "routing": {"kind": kind}}
        assert phit.verify(there)["routes"]["loads"] == [[16, 16]], (tables, kind)
        result = phit.run(there | {"measure": {"warmup": 500, "cycles": 3000}})
        assert result["accepted_load"] == pytest.approx(0.45, rel=0.02), (tables, kind)
    # LASH has one way for each pair of switches.
    assert phit.verify(scenario | {"routing": {"kind": "lash"}})["routes"]["loads"] == [[0, 12], [64, 4]]


def test_roots_are_those_of_opensm_s_file(tmp_path: Path) -> None:
    row = named("rr24d6", "updnroot")

    def roots(text: str) -> list[int]:
        (tmp_path / "roots").write_text(text)
        routing = {"kind": "up_down", "roots": str(tmp_path / "roots")}
        found: list[int] = json.loads(to_json(document(row) | {"routing": routing}))["routing"]["roots"]
        return found

    guids = [switch.guid for switch in Fabric(FOLDER / "ibnetdiscover" / row["disc"]).switches]
    assert roots(f"{guids[3]:#x}\n\n# the other\n{guids[1]:X}  # hexadecimal\n") == [3, 1]
    with pytest.raises(InputError, match="line 2: '0x1'; expected the GUID of a switch"):
        roots(f"{guids[3]:#x}\n0x1\n")
    with pytest.raises(InputError, match="line 1: 'spine0'; expected the GUID"):
        roots("spine0\n")
    with pytest.raises(InputError, match="no roots; expected the GUID of a switch in each line"):
        roots("# none\n")


def test_other_routings_of_a_fabric_are_proved() -> None:
    for kind in ("up_down", "dfsssp", "lash"):
        report = phit.verify(document(named("torus4x4", "dor")) | {"routing": kind})
        assert report["proved"], kind
        assert report["routes"]["reachable"] == 992


def test_a_fabric_runs_as_it_is_routed() -> None:
    for row in (named("torus4x4", "torus2qos"), named("ft2_par", "minhop"), named("jellyfish20", "lash")):
        scenario = document(row)
        scenario["measure"] = {"warmup": 0, "cycles": 500, "count": "generated"}
        assert phit.run(scenario)["converged"]


def test_both_forms_of_forwarding_tables_say_the_same() -> None:
    row = named("ft2", "minhop")
    fabric = Fabric(FOLDER / "ibnetdiscover" / row["disc"])
    dumped = fabric.entries(FOLDER / "opensm" / "ft2_minhop_opensm-lfts.dump", 0)
    assert sorted(dumped) == sorted(fabric.entries(FOLDER / "lfts" / row["lft"], 0))
    assert len(dumped) == 6 * 16


def test_widths_and_speeds_are_bandwidths() -> None:
    # The fabric has hosts of 4xEDR (100 Gb/s), links of 4xHDR (200), and one at 1x.
    section, links = Fabric(FOLDER / "ibnetdiscover" / "ft2_par_full.txt").section(1)
    assert [section["routers"], sum(section["endpoints"]), len(section["links"])] == [6, 20, 24]
    classes = {name: links[name]["bandwidth"] for name in section["classes"]}
    slow = next(name for name in classes if name.endswith("_1x"))
    assert [classes["HDR_4x"], classes[slow], links["endpoint"]["bandwidth"]] == ["200 Gb/s", "50 Gb/s", "100 Gb/s"]
    assert sum(row[2] == section["classes"].index(slow) for row in section["links"]) == 1
    assert {keys["vcs"] for name, keys in links.items() if name != "endpoint"} == {8}


NET = """vendid=0x2c9
switchguid=0x10(10)
Switch\t3 "S-0000000000000010"\t\t# "a "quoted" lid 9" base port 0 lid 1 lmc 0
[1]\t"H-0000000000000030"[1](31) \t\t# "h0" lid 3 4xEDR
[2]\t"S-0000000000000020"[1]\t\t# "b" lid 2 4xEDR

switchguid=0x20(20)
Switch\t3 "S-0000000000000020"\t\t# "b" base port 0 lid 2 lmc 0
[1]\t"S-0000000000000010"[2]\t\t# "a "quoted" lid 9" lid 1 4xEDR
[2]\t"H-0000000000000040"[1](41) \t\t# "h1" lid 4 4xEDR

Ca\t2 "H-0000000000000030"\t\t# "h0"
[1](31) \t"S-0000000000000010"[1]\t\t# lid 3 lmc 0 "a "quoted" lid 9" lid 1 4xEDR

Hca\t2 "H-0000000000000040"\t\t# "h1"
[1](41) \t"S-0000000000000020"[2]\t\t# lid 4 lmc 0 "b" lid 2 4xEDR
"""

TABLES = """Unicast lids [0x0-0x4] of switch DR path slid 0; dlid 0; 0 guid 0x0000000000000010 (a):
  Lid  Out   Destination
0x0003 001
0x0004 002
2 valid lids dumped
Unicast lids [0-4] of switch Lid 2 guid 0x0000000000000020 ('b'):
0x0003 001 # Channel Adapter
0x0004 002 # Channel Adapter
4 lids dumped
"""


def small(tmp_path: Path, net: str = NET, tables: str = TABLES, **keys: str) -> dict[str, Any]:
    files = {"file": net, "tables": tables} | {key: text for key, text in keys.items() if key != "rate"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    topology = {"kind": "infiniband"} | {name: str(tmp_path / name) for name in files}
    topology |= {key: text for key, text in keys.items() if key == "rate"}
    return {"topology": topology, "routing": {"kind": "infiniband"}, "traffic": {"load": 0.1}}


def test_descriptions_may_hold_anything(tmp_path: Path) -> None:
    report = phit.verify(small(tmp_path))
    assert report["proved"]
    assert report["routes"]["hops"] == [[1, 2]]
    csv_levels = "source,destination,sl\n3,4,5\n"
    report = phit.verify(small(tmp_path, service_levels=csv_levels))
    assert report["routes"]["layers"] == 2


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"net": NET.replace('"S-0000000000000010"[2]', '"S-0000000000000010"[3]')}, "has another link"),
        ({"net": NET.replace("[2]\t", "[9]\t", 1)}, "line 5: port 9; expected one of the ports of"),
        ({"net": NET.replace("4xEDR", "4x???")}, "topology.rate"),
        ({"net": NET + '[2](42) \t"S-00000'}, "line 17: '[2](42) \\t\"S-00000'; expected a whole line"),
        ({"net": NET.replace(" lid 3 4xEDR", "")}, "expected a width and a speed at its end, such as 4xHDR"),
        ({"net": NET + "Switch\t3\n"}, "line 17: 'Switch\\t3'; expected a whole line of a node or a link"),
        ({"net": "# nothing\n"}, "no switch and no link; expected the output of ibnetdiscover"),
        ({"net": "nonsense\n" * 9}, "no switch and no link; expected the output of ibnetdiscover"),
        (
            {"tables": TABLES.replace("4 lids dumped\n", "")},
            "line 6: the table that begins here does not end",
        ),
        ({"tables": TABLES.replace("2 valid", "3 valid")}, "line 5: 3 entries, of which 2 stand there"),
        ({"tables": TABLES.replace("0x0004 002 #", "0x0004 x")}, "'0x0004 x"),
        ({"net": NET.replace("lid 4 lmc", "lid 3 lmc")}, "LID 3 is already used in line 13"),
        ({"net": NET.replace("# lid 4 lmc 0 ", "# ")}, "the port has no LID"),
        ({"tables": TABLES.replace("0x0000000000000020", "0x0000000000000021")}, "0x0000000000000021 is no switch of"),
        ({"tables": TABLES.split("Unicast lids [0-4]")[0]}, "no table of switch 'b'"),
        ({"tables": TABLES.replace("\n0x000", "\n0x100")}, "no entry for any port"),
        ({"tables": ""}, "no table of switch 'a \"quoted\" lid 9'"),
        ({"service_levels": "source,destination,sl\n"}, "no service level; expected one of every pair of ports"),
        ({"service_levels": ""}, "line 1: expected the columns source,destination,sl"),
        ({"virtual_lanes": "uniform:\n"}, "line 1: expected the lanes of 16 service levels"),
        ({"virtual_lanes": ""}, "expected opensm-sl2vl.dump"),
        ({"service_levels": "lids: 3 4\n3 -g\n"}, "line 2: expected the columns source,destination,sl"),
        ({"service_levels": "source,destination,sl\n3,9,1\n"}, "line 2: there is no port of LID 9"),
        ({"virtual_lanes": "Switch 0x10\n"}, "has no row of input 1 and output 1"),
        ({"rate": "4xWDR"}, "topology.rate = '4xWDR': expected a width and a speed"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path: Path, keys: dict[str, str], expected: str) -> None:
    with pytest.raises(InputError) as error:
        phit.verify(small(tmp_path, **keys))
    assert expected in str(error.value)


def test_a_way_that_is_missing_is_named(tmp_path: Path) -> None:
    report = phit.verify(small(tmp_path, tables=TABLES.replace("0x0004 002\n", "").replace("2 valid", "1 valid")))
    assert report["proved"] is False
    assert report["routes"]["reachable"] == 1
    assert "has no entry for it" in report["reason"]
    with pytest.raises(phit.ScenarioError, match="has no entry for it"):
        phit.run(small(tmp_path, tables=TABLES.replace("0x0004 002\n", "").replace("2 valid", "1 valid")))
    with pytest.raises(InputError, match="whose tables these are"):
        phit.verify({"topology": {"kind": "torus", "dims": [4]}, "routing": "infiniband", "traffic": {"load": 0.1}})


def same(one: Fabric, other: Fabric) -> bool:
    """Whether both are the same network; how many lanes ports can have, one listing alone says."""
    sections = []
    for fabric in (one, other):
        section, links = fabric.section(1)
        section.pop("left_out", None)
        sections.append((section, {name: {**keys, "vcs": 0} for name, keys in links.items()}, fabric.lids))
    return sections[0] == sections[1]


def in_blocks(listing: str) -> str:
    """The output of `iblinkinfo` without `-l`: a block for each node, with only the LID of the other end."""
    switches = {
        line[:18] for line in listing.splitlines() if "[  ] ==(" in line and line.split("[")[0].split()[-1] > "2"
    }
    blocks: dict[str, list[str]] = {}
    for line in listing.splitlines():
        own, _, rest = line.partition("[  ] ==")
        guid, name, lid, port = (*own.split('"')[0:2], *own.split('"')[2].split())
        state, _, peer = rest.partition("==>")
        peer = peer.strip().partition(" ")[2] if peer.strip().startswith("0x") else peer
        header = f"Switch: {guid.strip()} {name.strip()}:" if guid.strip() in switches else f"CA: {name.strip()}:"
        start = "     " if guid.strip() in switches else f"      {guid.strip()} "
        blocks.setdefault(header, []).append(f"{start} {lid:>6} {port:>4}[  ] =={state}==>  {peer}")
    return "\n".join(line for header, ports in blocks.items() for line in (header, *ports)) + "\n"


def test_all_listings_of_a_fabric_say_the_same(tmp_path: Path) -> None:
    folder = FOLDER / "ibnetdiscover"
    whole = Fabric(folder / "ft2_par_full.txt")
    blocks = tmp_path / "blocks.txt"
    blocks.write_text(in_blocks((folder / "ft2_par_iblinkinfo.txt").read_text(encoding="utf-8")), encoding="utf-8")
    for path in (folder / "ft2_par_ports.txt", folder / "ft2_par_iblinkinfo.txt", blocks):
        fabric = Fabric(path)
        assert same(fabric, whole), path.name
        # 6 switches of 16 ports have 24 cables between them, which have two ends, and 20 to hosts.
        expected = {"what": "ports without a link", "count": 6 * 16 - 2 * 24 - 20}
        (row,) = fabric.left_out.rows()
        assert {key: row[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "order"),
    [("ft2_full.txt", 0), ("ft2_par_ports.txt", 0), ("ft2_par_iblinkinfo.txt", 0), ("ft2_par_iblinkinfo.txt", 1)],
)
def test_a_listing_that_is_cut_off_is_whole_or_refused(tmp_path: Path, name: str, order: int) -> None:
    """A listing cut at any place gives the whole fabric, because it has every link twice, or is refused."""
    text = (FOLDER / "ibnetdiscover" / name).read_text(encoding="utf-8")
    if order:
        # Switches first: they have another vendor's GUIDs.
        text = "".join(sorted(text.splitlines(keepends=True), key=lambda line: not line.startswith("0x0002c902")))
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    whole, refused = Fabric(path), 0
    lines = text.splitlines(keepends=True)
    cuts = ["".join(lines[:end]) for end in range(len(lines))]
    # Within lines, too.
    cuts += [text[:end] for end in range(0, len(text), 97)]
    for cut in cuts:
        path.write_text(cut, encoding="utf-8")
        try:
            unlike = not same(Fabric(path), whole)
        except InputError:
            refused += 1
        else:
            assert not unlike, cut[-200:]
    assert refused > len(cuts) / 4


NO_PEER = '           [  ] "" ( )'


def test_a_switch_that_is_cut_off_may_have_more_hosts(tmp_path: Path) -> None:
    """Of the last switch the port that others name is missing: so may be those of hosts that nothing names."""

    def line(guid: int, name: str, lid: int, port: int, peer: str) -> str:
        state = " 4X      25.78125 Gbps Active/  LinkUp" if peer else "                Down/ Polling"
        return f'0x{guid:016x} "{name:>30}" {lid:6} {port:4}[  ] ==({state})==>  {peer or NO_PEER}\n'

    def to(guid: int, name: str, lid: int, port: int) -> str:
        return f'0x{guid:016x} {lid:6} {port:4}[  ] "{name}" ( )'

    lines = [
        line(0x31, "h0", 3, 1, to(0x10, "a", 1, 1)), line(0x10, "a", 1, 1, to(0x31, "h0", 3, 1)),
        line(0x10, "a", 1, 2, to(0x20, "b", 2, 3)), line(0x20, "b", 2, 1, ""),
        line(0x20, "b", 2, 2, to(0x41, "h1", 4, 1)), line(0x20, "b", 2, 3, to(0x10, "a", 1, 2)),
        line(0x41, "h1", 4, 1, to(0x20, "b", 2, 2)),
    ]  # fmt: skip
    assert fabric_of(tmp_path, "".join(lines)).lids == [(3, 1), (4, 1)]
    with pytest.raises(InputError, match="'b', the last in the file, does not list the link to this port"):
        fabric_of(tmp_path, "".join(lines[:4]))
    with pytest.raises(InputError, match="'h1' has no lines of its own: is the file cut off"):
        fabric_of(tmp_path, "".join(lines[:6]))


def fabric_of(tmp_path: Path, text: str, rate: str | None = None) -> Fabric:
    path = tmp_path / "fabric.txt"
    path.write_text(text, encoding="utf-8")
    return Fabric(path, rate)


def test_what_carries_no_traffic_is_left_out_and_counted(tmp_path: Path) -> None:
    plain = fabric_of(tmp_path, NET)
    other = [
        "ibwarn: [4711] _do_madrpc: recv failed: Connection timed out\n",
        "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,7 Attr 0x11:0) bad status 110; Connection timed out\n",
    ]
    grouped = NET.replace("vendid=0x2c9\n", "Chassis 1 (guid 0x77)\nHostname: box\n\n# Spine Nodes\nvendid=0x2c9\n")
    grouped = grouped.replace("Ca\t2", "Non-Chassis Nodes\n\nsysimgguid=0x9\t\t# Chassis 1 (box) slot 2\nCa\t2")
    assert same(fabric_of(tmp_path, grouped), plain)
    assert fabric_of(tmp_path, grouped).left_out.rows() == []
    noisy = fabric_of(tmp_path, other[0] + grouped.replace("Hca", f"{other[1]}\nHca"))
    assert same(noisy, plain)
    assert [(row["what"], row["count"]) for row in noisy.left_out.rows()] == [("lines of other text", 2)]
    assert noisy.left_out.rows()[0]["first"].startswith("line 1: 'ibwarn: [4711]")
    more = NET.replace("Switch\t3", "Switch\t6")
    ends = (
        '[3]\t"H-0000000000000050"[1](51) \t\t# "Mellanox Technologies Aggregation Node" lid 5 4xHDR\n'
        '[4]\t"S-0000000000000010"[5]\t\t# "a "quoted" lid 9" lid 1 4xEDR\n'
        '[5]\t"S-0000000000000010"[4]\t\t# "a "quoted" lid 9" lid 1 4xEDR\n'
        '[6]\t"R-0000000000000060"[1](61) \t\t# "far" lid 6 4xEDR\n'
    )
    more = more.replace('# "b" lid 2 4xEDR\n', f'# "b" lid 2 4xEDR\n{ends}', 1)
    more += (
        '\nCa\t1 "H-0000000000000050"\t\t# "Mellanox Technologies Aggregation Node"\n'
        '[1](51) \t"S-0000000000000010"[3]\t\t# lid 5 lmc 0 "a "quoted" lid 9" lid 1 4xHDR\n'
        '\nRt\t2 "R-0000000000000060"\t\t# "far"\n'
        '[1](61) \t"S-0000000000000010"[6]\t\t# lid 6 lmc 0 "a "quoted" lid 9" lid 1 4xEDR\n'
        '\nCa\t1 "H-0000000000000070"\t\t# "dark"\n'
    )
    fabric = fabric_of(tmp_path, more)
    assert same(fabric, plain)
    assert [(row["what"], row["count"]) for row in fabric.left_out.rows()] == [
        ("aggregation nodes", 1), ("routers to other subnets", 1), ("cables from a switch to itself", 1),
        ("channel adapters without a link", 1),
    ]  # fmt: skip
    # Their LIDs in other files are known, and left out as well; in the tables they are nobody's.
    levels = tmp_path / "sl.csv"
    levels.write_text("source,destination,sl\n3,4,1\n3,5,1\n6,4,1\n", encoding="utf-8")
    assert fabric.layers(levels) == [[0, 1, 1]]
    assert fabric.left_out.rows()[-1]["what"] == "service levels of nodes that are left out"
    assert fabric.left_out.rows()[-1]["count"] == 2


def test_a_link_that_one_end_lists_is_whole(tmp_path: Path) -> None:
    plain = fabric_of(tmp_path, NET)
    half = NET.replace('[2]\t"S-0000000000000020"[1]\t\t# "b" lid 2 4xEDR\n', "")
    fabric = fabric_of(tmp_path, half)
    assert same(fabric, plain)
    what = "ends of links between switches that are not listed, but known from the other end"
    assert fabric.left_out.rows() == [{"what": what, "count": 1, "first": "line 8"}]
    # The other end must not say otherwise.
    with pytest.raises(InputError, match="has another link"):
        fabric_of(tmp_path, half.replace('"S-0000000000000010"[2]', '"S-0000000000000010"[1]'))


@pytest.mark.parametrize(
    ("text", "rate", "gigabits"),
    [
        ("4xXDR", None, 800), ("4xGDR", None, 1600), ("2xNDR", None, 200), ("12xHDR", None, 600),
        ("4x???", "4xXDR", 800), ("4x???", "800 Gb/s", 800), ("4xWDR", "3.2 Tb/s", 3200), ("??NDR", "400Gbps", 400),
        ("4x??? s=4 w=2 v=4 e=8", None, 400), ("4xEDR s=4 w=2 v=4 e=2 (scp)", None, 100),
    ],
)  # fmt: skip
def test_speeds(tmp_path: Path, text: str, rate: str | None, gigabits: int) -> None:
    """Hosts have 100 Gb/s; the link between the switches has its own speed."""
    net = NET
    for end in ('# "b" lid 2 4xEDR\n\n', '# "a "quoted" lid 9" lid 1 4xEDR\n[2]'):
        assert end in net
        net = net.replace(end, end.replace("4xEDR", text), 1)
    section, links = fabric_of(tmp_path, net, rate).section(1)
    (name,) = section["classes"]
    assert [links[key]["bandwidth"] for key in (name, "endpoint")] == [f"{gigabits} Gb/s", "100 Gb/s"]


def test_a_speed_that_is_not_known_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 5: .* unknown \(4xWDR\); expected topology\.rate"):
        fabric_of(tmp_path, NET.replace("4xEDR", "4xWDR")).section(1)


def test_a_list_of_nodes_is_no_fabric(tmp_path: Path) -> None:
    """The output of `ibnetdiscover -l`, and other files."""
    for text in (
        'Switch\t : 0x10 ports 36 devid 0xcb20 vendid 0x2c9 "a"\nCa\t : 0x30 ports 1 devid 0x1017 vendid 0x2c9 "h"\n',
        "", "\x00\x01", "{}", "source,target\n0,1\n", TABLES, NET.split("[1]")[0],
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"fabric\.txt: no switch"):
            fabric_of(tmp_path, text)
