"""Commands that print text import no library that draws, computes statistics or solves linear programs."""

import subprocess
import sys

import pytest

from .conftest import ROOT

HEAVY = ("scipy.stats", "scipy.optimize", "altair", "vl_convert", "numba", "networkx", "matplotlib")

PROGRAM = """
import contextlib, io, sys
from phit.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    status = main(sys.argv[1:])
print(status, *(name for name in {heavy!r} if name in sys.modules))
"""

SCENARIO = str(ROOT / "examples" / "dragonfly_smoke.toml")


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        ["list", "routing", "ugal_l"],
        ["schema"],
        ["verify", SCENARIO, "--set", "sweep={}"],
        ["cost", "contention"],
        ["cost", "fbicm"],
        ["reproduce", "--help"],
        ["reproduce", "contention", "--scale", "smoke", "--no-run", "--out", "nowhere"],
        ["run", SCENARIO, "--set", "measure.cycles=50", "--set", "measure.warmup=10"],
    ],
    ids=" ".join,
)
def test_a_command_that_prints_text_starts_soon(command: list[str]) -> None:
    program = PROGRAM.format(heavy=HEAVY)
    ended = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    status, *imported = ended.stdout.split()
    assert not imported
    assert status in ("0", "1", "2")
