"""The wheel, as those get it who have neither Rust nor a checkout: `make wheels` builds it, `make test-wheel` asks."""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from .conftest import ROOT

DIST = ROOT / "dist"
ASKED = "PHIT_WHEEL" in os.environ


def version() -> str:
    """The version, from the one place where it stands."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    return found


def test_the_version_stands_in_one_place() -> None:
    assert re.search(rf"^version: {re.escape(version())}$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]
    packages = [tomllib.loads(path.read_text())["package"] for path in (ROOT / "crates").glob("phit-*/Cargo.toml")]
    assert packages
    assert all(package["version"] == {"workspace": True} for package in packages)


@pytest.fixture(scope="module")
def wheel() -> Path:
    # There may be a wheel for another processor.
    (found,) = DIST.glob(f"phit-{version()}-cp311-abi3-*_{platform.machine()}.whl")
    return found


@pytest.mark.skipif(not ASKED, reason="make test-wheel")
@pytest.mark.timeout(1200)
def test_a_bare_environment_runs_a_scenario(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python, phit = tmp_path / "venv" / "bin" / "python", tmp_path / "venv" / "bin" / "phit"
    # No compiler, and nothing of this checkout.
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)} | {k: v for k, v in os.environ.items() if "pip" in k.lower()}
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", wheel], env=env, check=True)

    def run(*command: object) -> str:
        words = [str(part) for part in command]
        return subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert run(python, "-c", "import phit; print(phit.__file__)").startswith(str(tmp_path / "venv"))
    assert re.fullmatch(rf"phit {re.escape(version())} \([0-9a-f]{{12}}(-dirty)?\)\n", run(phit, "--version"))
    # The version of the installed package is that of its engine.
    versions = "import phit, importlib.metadata as m; print(phit.__version__, m.version('phit'))"
    assert run(python, "-c", versions).split() == [version()] * 2
    found = json.loads(run(phit, "run", ROOT / "examples" / "dragonfly_small.toml", "--json"))
    assert found["packets"] > 0
    run(phit, "sweep", ROOT / "examples" / "dragonfly_smoke.toml", "--out", "r", "--set", "measure.cycles=200")
    assert (tmp_path / "r" / "points.parquet").stat().st_size > 0
    # The quickstart, as its page has it.
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    commands = "".join(re.findall(r"^```bash\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)).splitlines()
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "phit"
        run(phit, *words[1:])
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert "accepted load" in run(python, "-c", code)


@pytest.mark.skipif(not ASKED, reason="make test-wheel")
def test_what_is_packed(wheel: Path) -> None:
    assert re.search(r"-(manylinux|macosx)\w+(\.\w+)*\.whl$", wheel.name), "a wheel for other machines than this one"
    names = zipfile.ZipFile(wheel).namelist()
    assert {"phit/__init__.py", "phit/py.typed", "phit/_phit.pyi", "phit/_commit.txt"} <= set(names)
    assert [name for name in names if name.endswith(".so")] == ["phit/_phit.abi3.so"]
    assert sum("LICENSE" in name for name in names) == 2
    (source,) = DIST.glob(f"phit-{version()}.tar.gz")
    with tarfile.open(source) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    assert {"Cargo.toml", "Cargo.lock", "pyproject.toml", "crates/phit-engine/Cargo.toml", "README.md"} <= inside
    assert not any(name.endswith(".so") for name in inside)
