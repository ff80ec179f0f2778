"""InfiniBand fabrics with the tables that OpenSM made for them: every number that a checker of its own has found."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.errors import InputError
from phit.graphs.infiniband import Fabric

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
    assert "0 pairs take more than they must" in out


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
    assert classes["HDR_4x"] == 4 * classes[slow] == 2 * links["endpoint"]["bandwidth"]
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
4 valid lids dumped
Unicast lids [0-4] of switch Lid 2 guid 0x0000000000000020 ('b'):
0x0003 001 # Channel Adapter
0x0004 002 # Channel Adapter
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
        ({"net": NET.replace('"S-0000000000000010"[2]', '"S-0000000000000010"[3]')}, "says otherwise"),
        ({"net": NET.replace("[2]\t", "[9]\t", 1)}, "line 5: port 9; expected 1 to 3"),
        ({"net": NET.replace("4xEDR", "4x???")}, "topology.rate"),
        ({"net": NET + "nonsense\n"}, "line 17: 'nonsense'; expected a node or a link"),
        ({"net": "# nothing\n"}, "no switch; expected the output of ibnetdiscover"),
        ({"net": NET.replace("lid 4 lmc", "lid 3 lmc")}, "LID 3 is taken already, in line 13"),
        ({"net": NET.replace("# lid 4 lmc 0 ", "# ")}, "the port has no LID"),
        ({"tables": TABLES.replace("0x0000000000000020", "0x0000000000000021")}, "0x0000000000000021 is no switch of"),
        ({"tables": TABLES.split("Unicast lids [0-4]")[0]}, "no table of switch 'b'"),
        ({"tables": TABLES.replace("\n0x000", "\n0x100")}, "no entry for any port"),
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
    report = phit.verify(small(tmp_path, tables=TABLES.replace("0x0004 002\n", "")))
    assert report["proved"] is False
    assert report["routes"]["reachable"] == 1
    assert "has no entry for it" in report["reason"]
    with pytest.raises(phit.ScenarioError, match="has no entry for it"):
        phit.run(small(tmp_path, tables=TABLES.replace("0x0004 002\n", "")))
    with pytest.raises(InputError, match="whose tables these are"):
        phit.verify({"topology": {"kind": "torus", "dims": [4]}, "routing": "infiniband", "traffic": {"load": 0.1}})
