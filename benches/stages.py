"""Where the instructions of a hop go, by stage of the kernel: `python benches/stages.py [CASE...]`.

Counts every instruction of two runs of a case under callgrind, of different lengths so that building and warming up
cancel, and asks the debug information by which calls, inlined or not, the compiler came to each. The first stage whose
functions occur among them gets the count. Needs valgrind and llvm-symbolizer. Without a case those of the page are
counted; these are kept in `benches/stages.json`.
"""

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import COUNTED, STAGED
from executable import build
from page import STAGES as KEPT
from page import stages_table, write_page

STAGES = {
    "nodes: calendar": r"packet_node/calendar\.rs:",
    "nodes: choice of a way": r"seams/bubble/|routing/bubble/|receive\.rs:(plan|packed_slots)",
    "nodes: links and answers": r"packet_node/send\.rs:|state\.rs:(push|pop)",
    "nodes: arrivals and queues": r"packet_node/(receive|landing|ahead)\.rs:",
    "nodes: dispatch, prefetching": r"packet_node/state\.rs:",
    "queue organisation": r"queueing/|managed\.rs:",
    "announcements": r"/control\.rs:|routing/.*:(head_arrived|tail_left|departs|hear|period|occupancy_changed)",
    "route: mechanism, topology": r"(topology|routing)/",
    "route: call, ejection, decision": r"(heads|state)\.rs:(route\w*|decide|ejection|note|settle\w*)|routing/hops",
    "VC allocation": r"vc_allocation\.rs|channels\.rs:",
    "switch allocation": r"allocators/|seams/allocator\.rs|lone\.rs:|step\.rs:(grant_in_turn|try_again)",
    "injection": r"(endpoint|admittance|sources)\.rs:|traffic/|:.*(log_fma|^log)",
    "delivery, statistics": r"measure/",
    "mail in": r"parallel\.rs:|partition\.rs:(receive|fetch)|mail\.rs",
    "transfer: events, mail out": r"transfer\.rs:(post|go_on|leave|pop)",
    "transfer: times, ports, credits": r"transfer\.rs:|output_buffers\.rs:(push|room_from)",
    "arrival, offer, candidate in": r"events\.rs:(arrive|come_to_front\w*|make_ready|offer|tail_left)",
    "credit return": r"events\.rs:credit",
    "wake-ups": r"(events|step)\.rs:(wake|input_free)|wait_lists\.rs:",
    "request pushed": r":push.*Request",
    "look": r"step\.rs:(look|fits|full_until|watch\w*)|output_buffers\.rs:",
    "candidate scan": r"candidates\.rs:(drain|is_empty|list)",
    "frame of `step`": r"step\.rs:",
    "events out, dispatch": r"partition\.rs:|wheel\.rs:(take|pop|next_tick|bring\w*)|events\.rs:handle",
}
"""The stages, and a pattern for the file and function of a call of each. The first that fits a call counts."""

Stages = dict[str, dict[str, float]]

ELSEWHERE = -1
"""Replaces the address of code in the C library."""


def run(executable: str, case: str, warmup: int, cycles: int) -> tuple[int, Counter[int]]:
    """Hops of a run, and the instructions executed at each address."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "counts"
        command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={output}", executable]
        command += ["--bench", "--case", f"={case}", "--json", "--spans", "1"]
        command += ["--warmup", str(warmup), "--cycles", str(cycles)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        hops = sum(json.loads(done.stdout.splitlines()[-1])["hops"])
        return hops, addresses(output, executable)


def addresses(path: Path, executable: str) -> Counter[int]:
    """Own instructions by address in the executable, of callgrind's lines those that do not follow a call.

    What other objects have stands at `ELSEWHERE`.
    """
    counts: Counter[int] = Counter()
    at = 0
    called = False
    objects: dict[str, str] = {}
    ours = True
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("calls="):
            called = True
        elif found := re.match(r"c?ob=(\(\d+\))(?: (.+))?", line):
            number, name = found.groups()
            if name:
                objects[number] = name
            if not line.startswith("c"):
                ours = Path(objects[number]).name == Path(executable).name
        elif found := re.match(r"(0x[0-9a-f]+|\+\d+|-\d+|\*) \S+ (\d+)", line):
            place, count = found.groups()
            if place.startswith("0x"):
                at = int(place, 16)
            elif place != "*":
                at += int(place)
            if not called:
                counts[at if ours else ELSEWHERE] += int(count)
            called = False
    return counts


def chains(executable: str, places: list[int]) -> list[list[str]]:
    """For each address the calls, inlined or not, by which the compiler came to it: the innermost first."""
    asked = "".join(f"{place:#x}\n" for place in places)
    command = ["llvm-symbolizer", f"--obj={executable}", "--inlines", "--functions=linkage", "--demangle"]
    done = subprocess.run(command, check=True, input=asked, stdout=subprocess.PIPE, text=True)
    blocks = [block.splitlines() for block in done.stdout.split("\n\n")][: len(places)]
    return [[call(*pair) for pair in zip(block[::2], block[1::2], strict=True)] for block in blocks]


def call(name: str, position: str) -> str:
    """File and function of a call."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    # A function that is not inlined comes with its path, or with the path of its trait.
    if name.startswith(("phit_engine", "_$LT$", "<")):
        name = name.split("::")[-1]
    return f"{position.split('phit-engine/src/')[-1].split(':')[0]}:{name}"


def stage(calls: list[str]) -> str:
    """The stage of an instruction: the stage of the innermost call that has one."""
    for each in calls:
        for name, pattern in STAGES.items():
            if re.search(pattern, each):
                return name
    return "all others"


def budget(executable: str, case: str) -> Counter[str]:
    """Instructions per hop by stage."""
    warmup, cycles = COUNTED[case]
    with ThreadPoolExecutor(2) as pool:
        (_, none), (hops, some) = pool.map(lambda cycles: run(executable, case, warmup, cycles), (0, cycles))
    some.subtract(none)
    elsewhere = some.pop(ELSEWHERE, 0)
    places = [place for place, count in some.items() if count]
    stages: Counter[str] = Counter({"C library": elsewhere})
    # Libraries loaded at run time are elsewhere. Code of the program has its address in the file, plus a fixed base.
    base = 0x400000 if min(places) >= 0x400000 and min(places) < 0x4000000 else 0
    for place, chain in zip(places, chains(executable, [place - base for place in places]), strict=True):
        stages[stage(chain)] += some[place]
    return Counter({name: count / hops for name, count in stages.items()})


def main() -> None:
    """Prints a table in Markdown, and keeps the cases of the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", nargs="*", choices=[*COUNTED, []], metavar="case", help="of those that are counted")
    parser.add_argument("--executable", type=Path, help="the benchmark, if it is not to be built")
    options = parser.parse_args()
    executable = str(options.executable or build())
    order = [*STAGES, "C library", "all others"]
    counted: Stages = {}
    for case in options.cases or STAGED:
        stages = budget(executable, case)
        counted[case] = {name: float(round(stages[name], 1)) for name in order}
    print(stages_table(counted))
    known: Stages = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    known |= counted
    KEPT.write_text(json.dumps({case: known[case] for case in STAGED if case in known}, indent=1) + "\n")
    write_page()


if __name__ == "__main__":
    main()
