"""The commands and examples in README and the user guide are executed, and every example is valid."""

import functools
import json
import linecache
import re
import runpy
import shlex
import shutil
import tomllib
from pathlib import Path

import phit
import pytest
from phit import mechanisms
from phit.base import machine
from phit.document.loading import load
from phit.running.where import Cluster

from .conftest import ROOT, Cli, tiny

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def executed() -> dict[str, Path | None]:
    """Commands of the pages before, without the folder that each names, and the folder with its results."""
    return {}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, shortened to a tenth of their cycles: the test shows that commands work."""
    (tmp_path / "examples").mkdir()
    for example in (ROOT / "examples").glob("*.toml"):
        (tmp_path / "examples" / example.name).write_text(shortened(example.read_text(encoding="utf-8")))
    for other in [*(ROOT / "examples").glob("*.goal"), *(ROOT / "examples").glob("*.py")]:
        shutil.copy(other, tmp_path / "examples")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "reference").symlink_to(ROOT / "tests" / "reference")
    monkeypatch.chdir(tmp_path)
    # A command that trusts Python says so for the whole process: that ends with the test.
    monkeypatch.setenv(mechanisms.CONSENT, "0")
    # Runs stay in this process: they are so short that others would take longer to start.
    monkeypatch.setattr(machine, "cores", lambda: 1)
    return tmp_path


def shortened(example: str) -> str:
    """An example with a tenth of the cycles, whatever their unit."""
    return re.sub(r'^((?:warmup|cycles) = "?)(\d+)', lambda m: f"{m[1]}{int(m[2]) // 10}", example, flags=re.MULTILINE)


# A page has up to twenty commands: minutes on a machine that others use, too.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands(page: Path, checkout: Path, cli: Cli, executed: dict[str, Path | None]) -> None:
    # Several pages begin alike: results of a command are copied to the next page, into the folder named there.
    for line in "".join(blocks(page, "bash")).splitlines():
        command, *arguments = shlex.split(line)
        assert command == "phit", line
        option = re.search(r" --out(?:put)? (\S+)", line)
        general = line.replace(option.group(), " --out ...") if option else line
        results = checkout / option.group(1) if option else None
        if general in executed and (written := executed[general]) and results:
            shutil.copytree(written, results)
        elif general not in executed or " out/" in general:
            status, _, err = cli(*arguments)
            assert status == 0, (line, err)
            executed[general] = results


@pytest.mark.parametrize("page", ["quickstart", "saturated"])
def test_printed_results(page: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first command of these pages prints the lines that they show."""
    path = ROOT / "docs" / f"{page}.md"
    monkeypatch.chdir(ROOT)
    command = shlex.split(blocks(path, "bash")[0].splitlines()[0])
    status, out, _ = cli(*command[1:])
    assert status == 0
    assert blocks(path, "text")[0] in out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.usefixtures("checkout")
def test_python(page: Path) -> None:
    for number, block in enumerate(blocks(page, "python")):
        if not block.startswith("# not executed"):
            # As in a notebook, where the text of a function can be found by the name of its cell.
            name = f"<{page.name} {number}>"
            linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
            exec(compile(block, name, "exec"), {"__name__": "__main__"})


def test_the_readme_lists_every_kind() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    written = runpy.run_path(str(ROOT / "docs" / "model_reference.py"))["readme"]()
    assert "| topology | `dragonfly`, " in written
    assert readme == written, "a kind is missing: `make schema` writes the table"


def test_the_scenario_of_the_guide_is_valid() -> None:
    text, requests, classes, faults, retransmit = blocks(ROOT / "docs" / "scenarios.md", "toml")
    flows, precise = blocks(ROOT / "docs" / "measuring.md", "toml")
    assert phit.complete(tomllib.loads(text))["topology"]["kind"] == "dragonfly"
    traffic = tiny()["traffic"] | tomllib.loads(requests)["traffic"]
    assert phit.complete(tiny(traffic=traffic))["traffic"]["requests"]["outstanding"] == 4
    several = phit.complete(tiny(traffic=tomllib.loads(classes)["traffic"]))["traffic"]["classes"]
    assert [(each["name"], each["weight"], each["priority"]) for each in several] == [("bulk", 4, 0), ("control", 1, 1)]
    assert phit.complete(tiny() | tomllib.loads(precise))["measure"]["max_cycles"] == 100_000
    victims = phit.complete(load(ROOT / "examples" / "victim.toml") | tomllib.loads(flows))["measure"]["flows"]
    assert victims == [{"name": "hot spot", "destinations": [32]}, {"name": "victims"}]
    links = {"default": {"vcs": 3}, "endpoint": {"vcs": 1}}
    failing = tomllib.loads(faults)
    failing["topology"]["faults"] |= tomllib.loads(retransmit)["topology"]["faults"]
    broken = phit.complete(tiny(**failing, routing={"kind": "minimal"}, router={"links": links}))["topology"]["faults"]
    assert (broken["later"][0]["until"], broken["retransmit"]["attempts"]) == (6000, 3)


def test_the_sweeps_of_the_guide_are_valid() -> None:
    first, curves, plot, cluster = (tomllib.loads(text) for text in blocks(ROOT / "docs" / "sweeps.md", "toml"))
    assert len(phit.Experiment.read(tiny() | first).points()) == 2 * 9 * 2 * 3
    assert len(phit.Experiment.read(tiny() | curves).points()) == 8
    assert phit.Experiment.read(tiny() | plot).plot["colour"] == "pattern"
    assert Cluster.of(phit.Experiment.read(tiny() | cluster).cluster).jobs == 100


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_examples_are_valid(example: Path) -> None:
    assert phit.Experiment.read(example).points()


FROM_THE_ROOT = {"contributing.md", "changelog.md", "licence.md"}
"""Pages of the site that are files of the root: in the repository links lead there."""


def slug(heading: str) -> str:
    """The anchor of a heading on the web page of a host; the site's anchors differ only in repeated hyphens."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@functools.cache
def anchors(page: Path) -> set[str]:
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE):
        name, number = slug(heading), 0
        while (unique := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(unique)
    return found


@functools.cache
def without_code(page: Path) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


WRITTEN = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_heading_of_the_repository(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", without_code(page))
    for target, anchor in re.findall(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)", text):
        if "://" in target or target.startswith(("mailto:", "<")):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.relative_to(ROOT)}: {target}"
        if anchor and there.suffix == ".md":
            assert re.sub("-+", "-", anchor) in {re.sub("-+", "-", name) for name in anchors(there)}, (target, anchor)


def navigation() -> set[str]:
    """Pages that the site's navigation names."""
    return set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_page_of_the_navigation_is_a_page_of_the_repository() -> None:
    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert navigation() - there == FROM_THE_ROOT
    assert there - navigation() == {f"studies/{path.name}" for path in (ROOT / "docs" / "studies").glob("*.md")}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_says_for_whom_it_is(page: Path) -> None:
    if page.name not in ("README.md", "paper.md"):
        text = re.sub(r"\A---\n.*?^---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        assert re.match(r"\s*# [^\n]+\n\n\*For [^*]+[.?]\*\n", text)


SHOWN = re.compile(r"^```console\n\$ (phit .*)\n((?:.+\n)+?)```$", re.MULTILINE)


@pytest.mark.parametrize("name", ["which-routing", "deadlock", "all-reduce"])
def test_a_task_shows_what_its_commands_print(name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for command, lines in SHOWN.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")):
        # A search for saturation takes a while: its table is the same at any time.
        if " saturate " not in command:
            _, out, err = cli(*shlex.split(command)[1:])
            assert set(lines.splitlines()) <= set((out + err).splitlines()), command


def test_the_times_of_the_all_reduce_are_those_of_its_runs() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| ([a-z ]+) \| ([\d.,]+) µs", (ROOT / "docs" / "all-reduce.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 6
    scenario = load(ROOT / "examples" / "one_all_reduce.toml")
    for algorithm, placement, time in rows:
        kind = {"in order": "linear", "random": "random"}[placement]
        workload = scenario["workload"] | {"algorithm": algorithm, "placement": {"kind": kind}}
        # A cycle is a nanosecond.
        cycles = phit.run({**scenario, "workload": workload}).completion
        assert cycles is not None
        assert f"{cycles / 1000:,.1f}" == time


def test_the_figures_of_the_front_page_are_those_that_were_measured() -> None:
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    times = [round(turn["times"]) for turn in json.loads((ROOT / "benches" / "peers.json").read_text(encoding="utf-8"))]
    measured = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for page in (front, measured):
        assert f"{min(times)} to {max(times)} times as" in " ".join(page.split())
    (memory,) = re.findall(r"ten million endpoints \[in ([\d.]+ GB)\]", front)
    assert re.search(rf"10,243,200 endpoints.*?, in {re.escape(memory)} ", " ".join(measured.split()))


def test_the_guide_names_one_room_of_a_global_link() -> None:
    pages = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("faq", "saturated")}
    rooms = {
        name: re.findall(r"link of 100 cycles.*?needs about (\d+) phits", " ".join(text.split()))
        for name, text in pages.items()
    }
    # Two latencies, the router of the example, and two packets.
    assert rooms == {name: [str(round(2 * 100 + 5 + 2 * 8, -1))] for name in pages}
