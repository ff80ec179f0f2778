"""InfiniBand fabrics that ibsim simulates and OpenSM routes during the test, beside fabrics with stored tables.

The test needs Debian's `ibsim-utils`, `opensm` and `infiniband-diags`, which `make test-infiniband` installs. The
networks are those of `tests/reference/infiniband`: ibsim reads the output of ibnetdiscover. If OpenSM finds equal
tables at every start, all numbers must equal `summary.csv`. Random fabrics are routed by OpenSM's engines and by Phit's
routings of these names.
"""

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.reading.graphs.infiniband import Fabric

from .fabrics import Drawn, drawn, guid
from .test_infiniband import FOLDER, OWN, ROWS, WITHOUT_LEVELS, histogram, named

NEEDED = ("ibsim", "opensm", "ibnetdiscover", "dump_fts", "saquery")
"""Programs of the packages."""

PLACES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

PRELOADED = next(iter(sorted(Path("/usr/lib").glob("**/libumad2sim.so"))), None)
"""Library that directs the programs to ibsim instead of an adapter."""

ENGINES = {
    "minhop": ("-R", "minhop"),
    "updn": ("-R", "updn,no_fallback"),
    "updnroot": ("-R", "updn,no_fallback", "-a", "roots"),
    "dnup": ("-R", "dnup,no_fallback"),
    "ftree": ("-R", "ftree,no_fallback"),
    "dor": ("-R", "dor,no_fallback"),
    "sssp": ("-R", "sssp,no_fallback"),
    "nue1": ("-R", "nue,no_fallback", "--nue_max_num_vls", "1"),
    "lash": ("-Q", "-R", "lash,no_fallback"),
}
"""Options of OpenSM for each engine in `summary.csv` whose tables are equal at every start."""

pytestmark = pytest.mark.skipif(
    PRELOADED is None or any(shutil.which(name, path=PLACES) is None for name in NEEDED),
    reason="needs ibsim, OpenSM and infiniband-diags; make test-infiniband installs them",
)


REFUSAL = "No routing engine able to successfully configure"
"""Message in OpenSM's log if the engine does not route the fabric."""


class RefusedError(Exception):
    """OpenSM's engine does not route this fabric."""


class Subnet:
    """A simulated fabric, and its subnet manager."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self._environment = folder, environment

    def ask(self, *command: str) -> str:
        """The output of a program that queries the fabric."""
        done = subprocess.run(
            command, env=self._environment, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def files(self) -> dict[str, Any]:
        """The topology with the outputs that an operator would store."""
        (self.folder / "fabric.txt").write_text(self.ask("ibnetdiscover", "-f"))
        (self.folder / "tables.txt").write_text(self.ask("dump_fts", "-n"))
        paths = {"file": self.folder / "fabric.txt", "tables": self.folder / "tables.txt"}
        return {"kind": "infiniband", **{key: str(path) for key, path in paths.items()}}

    def service_levels(self) -> str:
        """The service level of each pair of ports, as the subnet manager answers."""
        fabric = Fabric(self.folder / "fabric.txt")
        adapters = [node for node in fabric.nodes.values() if not node.is_switch]
        lids = sorted(link.lid for node in adapters for link in node.links.values() if link.lid is not None)

        def level(source: int, destination: int) -> str:
            if source == destination:
                return "-"
            answer = self.ask("saquery", "-p", "--slid", str(source), "--dlid", str(destination))
            found = re.search(r"\bsl\.+0x([0-9A-Fa-f])\b", answer)
            assert found is not None, answer
            return found[1]

        rows = [f"{source} " + "".join(level(source, destination) for destination in lids) for source in lids]
        return "\n".join([f"lids: {' '.join(map(str, lids))}", *rows]) + "\n"


@contextmanager
def subnet(folder: Path, network: str, *arguments: str) -> Iterator[Subnet]:
    """A network of the references that OpenSM has routed, told these arguments."""
    source = FOLDER / "ibnetdiscover" / f"{network}_full.txt"
    manager = min(re.findall(r'^Ca\s+\d+ "(H-[0-9a-f]+)"', source.read_text(), re.MULTILINE))
    switch = min(int(guid, 16) for guid in re.findall(r"^switchguid=0x([0-9a-f]+)", source.read_text(), re.MULTILINE))
    with simulated(folder, source, manager, switch, *arguments) as found:
        yield found


@contextmanager
def simulated(folder: Path, source: Path, manager: str, root: int, *arguments: str) -> Iterator[Subnet]:
    """A netlist that OpenSM has routed from a host, told these arguments; `roots` of the folder names a switch.

    Raises `RefusedError` if the engine that was asked for does not route it.
    """
    (folder / "roots").write_text(f"{root:#018x}\n")
    environment = {
        **os.environ, "PATH": PLACES, "IBSIM_SOCKNAME": f"phit{os.getpid()}", "SIM_HOST": manager,
        "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder),
    }  # fmt: skip
    preloaded = {**environment, "LD_PRELOAD": str(PRELOADED)}
    log = folder / "opensm.log"
    with open(folder / "ibsim.out", "w") as said:
        simulator = subprocess.Popen(
            ["ibsim", "-s", "-N", "256", str(source)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
        )
    manages = None
    try:
        awaited(lambda: "simulator ready" in (folder / "ibsim.out").read_text(), folder / "ibsim.out")
        with open(folder / "opensm.out", "w") as said:
            command = ["opensm", *arguments, "-s", "0", "-d2", "-D", "0x43", "-f", str(log)]
            manages = subprocess.Popen(command, env=preloaded, cwd=folder, stdout=said, stderr=said)
        awaited(lambda: log.exists() and ("SUBNET UP" in log.read_text() or REFUSAL in log.read_text()), log)
        if REFUSAL in log.read_text():
            raise RefusedError
        yield Subnet(folder, preloaded)
    finally:
        for process in (manages, simulator):
            if process is not None:
                process.kill()
                process.communicate()


def awaited(holds: Any, log: Path) -> None:
    """Waits until a condition holds; if it never does, fails with the log."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, log.read_text() if log.exists() else f"{log} was never written"
        time.sleep(0.05)


def routed(topology: dict[str, Any], **more: Any) -> dict[str, Any]:
    scenario = {"topology": topology, "routing": {"kind": "infiniband"}, "traffic": {"load": 0.1}}
    return phit.verify(scenario | more)


@pytest.mark.parametrize(
    "row",
    [
        row
        for row in ROWS
        if row["engine"] in ENGINES and (row["engine"] != "updnroot" or row["fabric"] in WITHOUT_LEVELS)
    ],
    ids=lambda row: f"{row['fabric']}-{row['engine']}",
)
def test_what_opensm_finds_now_is_what_it_found(row: dict[str, str], tmp_path: Path) -> None:
    with subnet(tmp_path, row["fabric"], *ENGINES[row["engine"]]) as there:
        topology = there.files()
    # One virtual lane for everything, whatever the service levels.
    report = routed(topology, router={"links": {"default": {"vcs": 1}}})
    routes = report["routes"]
    assert routes["pairs"] == int(row["pairs"])
    assert routes["reachable"] == int(row["reachable"])
    assert Counter(dict(routes["hops"])) == histogram(row["hops_hist"])
    assert Counter(dict(routes["loads"])) == histogram(row["load_hist"])
    assert routes["nonminimal"] == int(row["nonminimal_pairs"])
    assert report["proved"] is (row["cdg1_cyclic"] == "0")
    assert bool(report.get("cycle")) is (row["cdg1_cyclic"] == "1")
    if report["proved"]:
        assert report["dependencies"] == int(row["cdg1_edges"])
    # Own routings of the same fabric.
    for kind in ("up_down", "dfsssp"):
        assert phit.verify({"topology": topology, "routing": kind, "traffic": {"load": 0.1}})["proved"], kind


@pytest.mark.parametrize("network", ["ft2", "rr24d6"])
def test_service_levels_are_those_of_path_records(network: str, tmp_path: Path) -> None:
    row = named(network, "lash")
    with subnet(tmp_path, network, *ENGINES["lash"]) as there:
        topology = there.files()
        levels = there.service_levels()
    (tmp_path / "levels.txt").write_text(levels)
    topology["service_levels"] = str(tmp_path / "levels.txt")
    topology["virtual_lanes"] = str(tmp_path / "opensm-sl2vl.dump")
    report = routed(topology)
    assert report["routes"]["channels"] == int(row["vl_count"])
    assert report["proved"]
    assert report["dependencies"] == int(row["cdg_edges"])


DRAWN = [drawn(seed) for seed in range(int(os.environ.get("PHIT_FABRICS", "12")))]
"""Fabrics of any kind, as many as are asked for."""


def engines(fabric: Drawn) -> dict[str, tuple[str, ...]]:
    """Options of OpenSM by engine."""
    names = ["minhop", "lash", *(["updn", "ftree"] if fabric.root is None else ["updnroot"])]
    return {name: ENGINES[name] for name in names} | {"dfsssp": ("-Q", "-R", "dfsssp,no_fallback")}


@pytest.mark.parametrize("fabric", DRAWN, ids=[f"{number}-{fabric.name}" for number, fabric in enumerate(DRAWN)])
def test_own_routings_are_as_good_as_opensm_s_of_that_name(fabric: Drawn, tmp_path: Path) -> None:
    """The busiest link has at most 1.1 times the pairs of OpenSM's, or one more.

    If links limit the accepted load, it is at least 0.98 of OpenSM's; if they have room, at least 0.95.
    """
    (tmp_path / "net").write_text(fabric.netlist())
    for engine, arguments in engines(fabric).items():
        folder = tmp_path / engine
        folder.mkdir()
        root = guid(fabric.root or 0)
        try:
            with simulated(folder, tmp_path / "net", "h000", root, *arguments) as there:
                topology = there.files()
        except RefusedError:
            continue
        kind = {"kind": OWN[engine]} | ({"roots": str(folder / "roots")} if engine == "updnroot" else {})
        lanes = {"links": {"default": {"vcs": 8, "buffer": 64}}}
        ours = {"topology": topology, "routing": kind, "router": lanes, "traffic": {"load": 0.9}}
        theirs = ours | {"routing": {"kind": "infiniband"}, "router": {"links": {"default": {"vcs": 1, "buffer": 64}}}}
        reports = [phit.verify(scenario) for scenario in (ours, theirs)]
        assert reports[0]["routes"]["reachable"] == reports[0]["routes"]["pairs"], engine
        busiest = [report["routes"]["loads"][-1][0] for report in reports]
        assert busiest[0] <= max(1.1 * busiest[1], busiest[1] + 1), engine
        # Routes of OpenSM that close a cycle in one lane can deadlock. Routes of `updn` without levels go down and up
        # again.
        if reports[1]["proved"] and engine != "updnroot":
            measure = {"warmup": 1000, "cycles": 4000}
            alike = [scenario | {"router": lanes, "measure": measure} for scenario in (ours, theirs)]
            accepted = [phit.run(scenario)["accepted_load"] for scenario in alike]
            # A link with fewer pairs than an endpoint's link has room, so the order in buffers counts.
            limits = busiest[0] > 0.9 * (sum(fabric.hosts) - 1)
            assert accepted[0] >= (0.98 if limits else 0.95) * accepted[1], engine


def test_a_fabric_of_today_runs(tmp_path: Path) -> None:
    with subnet(tmp_path, "ft2_par", *ENGINES["minhop"]) as there:
        topology = there.files()
    measure = {"warmup": 0, "cycles": 300, "count": "generated"}
    routing = {"kind": "infiniband"}
    result = phit.run({"topology": topology, "routing": routing, "traffic": {"load": 0.2}, "measure": measure})
    assert result["converged"]
    assert result["packets_lost"] == 0
