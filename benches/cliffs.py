"""Counts the instructions of a hop in the settings of `settings.py`, for a table of `docs/performance.md`.

Instructions are counted as the difference of two runs of different lengths. So the cost of starting and building
cancels, and other work on the machine has no effect. QEMU counts them where its user mode and a C compiler are there.
Otherwise cachegrind does, which takes six times as long; the two differ by 1 %. A setting is compared with the plain
one of its network. Programs are counted by the message, idle networks by the cycle; proofs are timed.
`benches/cliffs.json` has every setting as soon as it is counted, so an interrupted run continues where it stopped.
Another build of the engine counts all settings again.
"""

import argparse
import functools
import hashlib
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from cases import ROOT, Record
from measure import processor
from page import CLIFFS, DOCUMENT, write_page
from settings import Document, Setting, all_settings

EXAMPLE = ROOT / "target" / "release" / "examples" / "run"
"""The engine without Python, in the build that users have."""

PLUGIN = ROOT / "target" / "instructions.so"
"""The plugin that counts instructions in QEMU, compiled from `instructions.c`."""

LIMIT = 600
"""Seconds by the clock after which a run is given up. Under cachegrind a run takes fifty times as long as otherwise."""

PROOF_LIMIT = 60
"""Seconds of processor time after which a proof is given up."""

TOGETHER = 2
"""Settings that are counted at once."""

RUN = (
    "import json, sys, phit; phit.trust_python(); result = phit.run(json.load(open(sys.argv[1]))); "
    "print(json.dumps({key: result[key] for key in ('flit_hops', 'packet_hops', 'accepted_load')}))"
)
ALONE = {"warmup", "cycles", "count"}
"""Keys of `measure` whose results the example `run` has, too: it starts a hundred times as fast as Python."""

PROVE = "import json, sys; from phit import verify; verify(json.load(open(sys.argv[1])))"
START = "from phit import verify"


class NoCountError(Exception):
    """A setting that cannot be counted, and why."""


def python(code: str, document: Document, *under: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs code of a scenario in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.json"
        path.write_text(json.dumps(document))
        command = [*under, sys.executable, "-c", code, str(path)]

        def bounded() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

        try:
            return subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=True, preexec_fn=bounded
            )
        except subprocess.TimeoutExpired:
            raise NoCountError(f"not in {LIMIT} s") from None
        except subprocess.CalledProcessError as error:
            if limit is not None and error.returncode < 0:
                raise NoCountError(f"not in {limit} s") from None
            raise NoCountError(last_words(error.stderr)) from None


def last_words(printed: str) -> str:
    """Why a run has failed: the last line that it has printed, without the count of QEMU."""
    lines = [line for line in printed.strip().splitlines() if not re.fullmatch(QEMU.printed, line)]
    return (lines or ["it failed"])[-1][:200]


def alone(document: Document) -> bool:
    """True if a scenario runs without Python: it reads no file, has no code in Python, and asks for no table."""
    text = json.dumps(document)
    return set(document.get("measure", {})) <= ALONE and "python_" not in text and '"./' not in text


def engine_alone(document: Document, *under: str) -> subprocess.CompletedProcess[str]:
    """Runs a scenario by the example `run` of the engine."""
    command, text = [*under, str(EXAMPLE)], json.dumps(document)
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=LIMIT, check=True)
    except subprocess.TimeoutExpired:
        raise NoCountError(f"not in {LIMIT} s") from None
    except subprocess.CalledProcessError as error:
        raise NoCountError(last_words(error.stderr)) from None


@dataclass(frozen=True)
class Counter:
    """A program that runs another one and prints the number of its instructions on standard error."""

    name: str
    command: tuple[str, ...]
    printed: str
    """A regular expression whose first group is the number."""


CACHEGRIND = Counter(
    "cachegrind",
    ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"),
    r"I\s+refs:\s+([\d,]+)",
)
QEMU = Counter("QEMU", ("qemu-x86_64", "-cpu", "max", "-plugin", str(PLUGIN)), r"instructions: (\d+)")


@functools.cache
def counter() -> Counter:
    """The fastest counter of this machine."""
    compiler = shutil.which("cc")
    if compiler is not None and shutil.which("qemu-x86_64") is not None:
        PLUGIN.parent.mkdir(exist_ok=True)
        source = Path(__file__).with_name("instructions.c")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", PLUGIN, source], check=True)
        tried = subprocess.run([*QEMU.command, "/bin/true"], capture_output=True, text=True)
        if tried.returncode == 0 and re.search(QEMU.printed, tried.stderr):
            return QEMU
    if shutil.which("valgrind") is None:
        raise SystemExit("cliffs.py: counts need QEMU's user mode with a C compiler, or valgrind")
    return CACHEGRIND


def counted(document: Document) -> tuple[int, Record]:
    """Instructions of a run, and its result."""
    by_itself, under = alone(document), counter()
    done = engine_alone(document, *under.command) if by_itself else python(RUN, document, *under.command)
    found = re.search(under.printed, done.stderr)
    if found is None:
        raise NoCountError(f"{under.name} has counted nothing")
    result: Record = json.loads(done.stdout if by_itself else done.stdout.splitlines()[-1])
    return int(found[1].replace(",", "")), result


def cost(setting: Setting) -> Record:
    """Instructions of one hop, message or cycle of a setting, or seconds of a proof."""
    if setting.unit == "second":
        return {"cost": proof_seconds(setting.short)}
    (few, short), (many, long) = counted(setting.short), counted(setting.long)
    # Results of packets that are one flit each count packet-hops alone.
    hops = max(long[key] - short[key] for key in ("flit_hops", "packet_hops"))
    cycles = setting.long["measure"].get("cycles", 0) - setting.short["measure"].get("cycles", 0)
    units = {"hop": hops, "message": setting.messages, "cycle": cycles}[setting.unit]
    if units <= 0:
        raise NoCountError(f"the longer run has no more {setting.unit}s")
    found: Record = {"cost": float(f"{(many - few) / units:.4g}")}
    return found if setting.unit == "cycle" else found | {"accepted_load": float(f"{long['accepted_load']:.3g}")}


def proof_seconds(document: Document) -> float:
    """Seconds of processor time that a proof takes, without what Python takes to start."""

    def seconds(code: str) -> float:
        timed = f"{code}; import time; print(time.process_time())"
        return float(python(timed, document, limit=PROOF_LIMIT).stdout.splitlines()[-1])

    return float(f"{max(0.0, seconds(PROVE) - seconds(START)):.3g}")


def build() -> tuple[str, str]:
    """The engine that is installed: a digest of its file, and in words, with the machine."""
    code = "import phit._phit; print(phit._phit.__file__)"
    place = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    version = subprocess.run([sys.executable, "-m", "phit", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    compiler = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    words = f"{version.stdout.strip()}, compiled by rustc {compiler}, on {processor()}, by {counter().name}"
    return hashlib.sha256(Path(place).read_bytes()).hexdigest()[:16], words


def main() -> None:
    """Counts the settings that this build has not counted, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="settings whose names match this regular expression")
    parser.add_argument("--list", action="store_true", help="list the settings, and count nothing")
    parser.add_argument("--page", action="store_true", help="write the page from what was counted, and count nothing")
    options = parser.parse_args()
    wanted = {name: setting for name, setting in all_settings().items() if re.search(options.only, name)}
    if not wanted:
        raise SystemExit(f"cliffs.py: no setting is called {options.only!r}; --list names all")
    if options.list:
        print("\n".join(wanted))
        return
    if options.page:
        write_page()
        return
    count_all(wanted)
    write_page()
    print(f"written: {DOCUMENT.relative_to(ROOT)}", file=sys.stderr)


def count_all(wanted: dict[str, Setting]) -> None:
    """Counts settings, some at a time, and keeps each as it comes."""
    engine, words = build()
    subprocess.run(["cargo", "build", "--release", "-p", "phit-engine", "--example", "run"], cwd=ROOT, check=True)
    kept: Record = json.loads(CLIFFS.read_text()) if CLIFFS.exists() else {"builds": {}, "settings": {}}
    known: dict[str, Record] = kept["settings"]
    left = {name: setting for name, setting in wanted.items() if known.get(name, {}).get("engine") != engine}
    print(f"{len(left)} settings to count, {len(wanted) - len(left)} are known", file=sys.stderr)
    with ThreadPoolExecutor(TOGETHER) as pool:
        futures = {pool.submit(cost, setting): name for name, setting in left.items()}
        for done, future in enumerate(as_completed(futures), start=1):
            name = futures[future]
            try:
                found = future.result()
            except NoCountError as error:
                found = {"why": str(error)}
            known[name] = found | {"engine": engine, "unit": wanted[name].unit}
            shown = found["why"] if "why" in found else f"{found['cost']:,g} a {wanted[name].unit}"
            print(f"{done} of {len(left)}: {name}: {shown}", file=sys.stderr)
            keep(known, kept["builds"] | {engine: words})


def keep(known: dict[str, Record], builds: dict[str, str]) -> None:
    """Writes the counts in the order of the settings, and the builds that they are of."""
    settings = {name: known[name] for name in all_settings() if name in known}
    used = {record["engine"] for record in settings.values()}
    kept = {"builds": {digest: words for digest, words in builds.items() if digest in used}, "settings": settings}
    part = CLIFFS.with_suffix(".part")
    part.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    part.replace(CLIFFS)


if __name__ == "__main__":
    main()
