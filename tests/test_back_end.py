"""Programs in front of Phit: the C interface from C++, the examples, and their outputs on the page of the guide."""

import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import phit
import pytest
from phit import _phit

from .conftest import ROOT

EXAMPLES = ROOT / "examples" / "back_end"
NETWORK = EXAMPLES / "network.toml"
PAGE = (ROOT / "docs" / "back-end.md").read_text(encoding="utf-8")
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

needs_a_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform == "win32", reason="there is no compiler of C++ that takes its options"
)

Build = Callable[[Path], Path]


def shown(command: str) -> str:
    """What the page says that a command prints."""
    found = re.search(rf"^\$ .*{re.escape(command)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, command
    return found[1]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles a program in C++ against the library of this build."""
    folder = Path(str(_phit.__file__)).resolve().parent
    (library,) = [file for file in folder.iterdir() if file.name in ("libphit.so", "libphit.dylib")]

    def built(source: Path) -> Path:
        program = tmp_path_factory.mktemp("built") / source.stem
        header = ROOT / "crates" / "phit-c" / "include"
        options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{header}", f"-Wl,-rpath,{folder}"]
        subprocess.run([str(COMPILER), *options, str(source), str(library), "-o", str(program)], check=True)
        return program

    return built


def ring(network: phit.Network, size: int, calculation: int) -> tuple[float, int]:
    """The ring all-reduce of the example, from Python: its end, and its messages."""
    ranks = network.ranks
    steps: dict[int, tuple[int, int]] = {}

    def received(rank: int, step: int, now: float) -> None:
        if step < 2 * (ranks - 1):
            at = now + (calculation if step < ranks else 0)
            steps[network.send(rank, (rank + 1) % ranks, size // ranks, at=at)] = ((rank + 1) % ranks, step + 1)

    for rank in range(ranks):
        received(rank, 0, 0)
    while network.advance_to_completion() is not None:
        for message in network.completed():
            received(*steps.pop(message.handle), message.time)
    return network.now, ranks * 2 * (ranks - 1)


@needs_a_compiler
def test_a_simulator_in_cpp_has_the_times_of_one_in_python(build: Build) -> None:
    program = build(EXAMPLES / "ring.cpp")
    for size, calculation in [(65536, 100), (1000, 0)]:
        arguments = [str(program), str(NETWORK), str(size), str(calculation)]
        out = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        end, messages = ring(phit.Network(NETWORK), size, calculation)
        assert out.startswith(f"all sums after {end} ticks\n{messages} messages, {messages * (size // 16)} bytes, ")
    default = subprocess.run([str(program), str(NETWORK)], capture_output=True, text=True, check=True).stdout
    assert default == shown("network.toml 65536 100")
    wrong = subprocess.run([str(program), str(EXAMPLES / "ring.cpp")], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("ring: not valid TOML")


CHECKS = """
#include "phit.h"

#include <cstdio>
#include <cstring>

static int wrong = 0;

static void expect(bool holds, const char *what) {
    if (!holds) {
        std::printf("%s; the last error: %s\\n", what, phit_error());
        wrong = 1;
    }
}

int main() {
    expect(phit_open(nullptr) == nullptr && std::strstr(phit_error(), "scenario = NULL"), "no scenario");
    expect(phit_open("{") == nullptr && std::strstr(phit_error(), "not valid JSON"), "half a scenario");
    expect(phit_open("{}") == nullptr && std::strstr(phit_error(), "topology"), "an empty scenario");
    phit_network *network = phit_open(R"({
        "topology": { "kind": "single", "endpoints": 4 },
        "router": { "speedup": 2, "clock": "crossbar" },
        "units": { "phit": "8 B", "cycle": "2 ns" }
    })");
    expect(network != nullptr, "a scenario");
    expect(phit_ranks(network) == 4 && phit_ticks_per_cycle(network) == 2, "its numbers");
    expect(phit_cycle_seconds(network) == 2e-9, "its cycle");
    expect(phit_next_event(network) == PHIT_NEVER && phit_now(network) == 0, "nothing is under way");

    uint32_t handle = 7;
    expect(phit_send(network, 4, 0, 8, 0, PHIT_NOW, &handle) == PHIT_REFUSED && handle == 7, "a rank too many");
    expect(std::strcmp(phit_error(), "source = 4: expected a rank from 0 to 3") == 0, "why it was refused");
    expect(phit_send(nullptr, 0, 1, 8, 0, PHIT_NOW, nullptr) == PHIT_REFUSED, "no network");
    for (uint32_t i = 0; i < 3; i++)
        expect(phit_send(network, i, 3, 64, i, PHIT_NOW, &handle) == PHIT_OK && handle == i, "a message");
    expect(phit_send(network, 0, 1, 8, 9, 5000, nullptr) == PHIT_OK, "a later message");

    expect(phit_advance_to_completion(network, PHIT_NEVER) == PHIT_OK, "the first one");
    const uint64_t first = phit_now(network);
    phit_completion list[8];
    expect(phit_advance(network, 4000) == PHIT_OK && phit_now(network) == 4000, "advance");
    expect(phit_advance(network, 3999) == PHIT_REFUSED, "back");
    expect(phit_completed(network, list, 0) == 0 && phit_completed(network, nullptr, 8) == 0, "no room");
    expect(phit_completed(network, list, 2) == 2 && list[0].time == first, "two of them");
    expect(phit_advance_to_completion(network, PHIT_NEVER) == PHIT_OK && phit_now(network) == 4000, "one is left");
    expect(phit_completed(network, list + 2, 8) == 1 && phit_completed(network, list, 8) == 0, "the third");
    for (int i = 0; i < 3; i++)
        expect(list[i].destination == 3 && list[i].bytes == 64 && list[i].tag == list[i].source &&
                   list[i].handle == list[i].source && (i == 0 || list[i - 1].time < list[i].time), "what arrived");
    expect(phit_next_event(network) == 5000, "the later one");
    expect(phit_advance_to_completion(network, PHIT_NEVER) == PHIT_OK, "goes");
    expect(phit_completed(network, list, 8) == 1 && list[0].handle == 3 && list[0].time > 5000, "and arrives");
    phit_stats stats;
    phit_get_stats(network, &stats);
    expect(stats.sent == 4 && stats.completed == 4, "messages");
    expect(stats.bytes_sent == 200 && stats.bytes_completed == 200, "bytes");
    expect(stats.latency_mean > 0 && stats.latency_mean <= double(stats.latency_max), "latencies");
    phit_close(network);
    phit_close(nullptr);
    return wrong;
}
"""


@needs_a_compiler
def test_the_c_interface(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "checks.cpp"
    source.write_text(CHECKS)
    found = subprocess.run([str(build(source))], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_the_scheduler_prints_what_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["scheduler.py", str(NETWORK)])
    runpy.run_path(str(EXAMPLES / "scheduler.py"), run_name="__main__")
    assert capsys.readouterr().out == shown("scheduler.py examples/back_end/network.toml")
