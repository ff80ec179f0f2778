"""A crate outside the repository: its files, how it is found, and, on request, its build."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import phit
import pytest
from phit.base import engine as engines
from phit.mechanisms import crates

from .conftest import ROOT, Cli

SLOW = os.environ.get("PHIT_BUILD_CRATE") == "1"
"""Building the engine once more takes minutes: `make test-crate` does it."""


def test_a_crate_is_written(tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "my_routing"
    status, out, err = cli("new-mechanism", "my_routing", "--engine", ROOT, "--out", folder)
    assert status == 0, err
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == {
        ".gitignore", "Cargo.lock", "Cargo.toml", "README.md", "build.rs", "pyproject.toml", "rustfmt.toml",
        "python/my_routing/__init__.py", "src/lib.rs", "src/mechanism.rs", "tests/mechanism.rs",
        "tests/test_mechanism.py",
    }  # fmt: skip
    assert all(str(folder / name) in out for name in written)
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "Cargo.lock":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"@\w+@", text), path
    manifest = tomllib.loads((folder / "Cargo.toml").read_text(encoding="utf-8"))
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    for crate in ("phit-binding", "phit-engine"):
        assert manifest["dependencies"][crate] == {"path": str(ROOT / "crates" / crate)}
    # The extension is one of Python's, of one version.
    assert manifest["dependencies"]["pyo3"] == ours["workspace"]["dependencies"]["pyo3"]
    assert manifest["package"]["rust-version"] == ours["workspace"]["package"]["rust-version"]
    package = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert package["project"]["entry-points"] == {engines.GROUP: {"my_routing": "my_routing._engine"}}
    assert "pub struct MyRouting {" in (folder / "src" / "mechanism.rs").read_text(encoding="utf-8")
    # It is never written over.
    status, _, err = cli("new-mechanism", "my_routing", "--engine", ROOT, "--out", folder)
    assert (status, "exists already" in err) == (2, True)


def test_the_engine_can_be_a_repository(tmp_path: Path) -> None:
    crates.write("mine", tmp_path / "mine", "https://example.org/phit.git")
    manifest = tomllib.loads((tmp_path / "mine" / "Cargo.toml").read_text(encoding="utf-8"))
    assert manifest["dependencies"]["phit-binding"] == {"git": "https://example.org/phit.git"}
    for wrong in ('https://example.org/"; x = "', str(tmp_path), str(tmp_path / "none")):
        with pytest.raises(phit.InputError, match="--engine"):
            crates.write("mine", tmp_path / "other", wrong)


@pytest.mark.parametrize("name", ["", "Mine", "my-routing", "1a", "a__b", "_a", "fn", "class", "phit", "a" * 41, "a/b"])
def test_names_are_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(phit.InputError, match="expected at most 40 small letters"):
        crates.write(name, tmp_path / "crate", str(ROOT))
    assert not (tmp_path / "crate").exists()


def test_an_engine_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[EntryPoint] = []
    monkeypatch.setattr(engines, "installed", lambda: {entry.name: entry for entry in installed})
    monkeypatch.delenv(engines.CHOICE, raising=False)
    assert engines.chosen() is None
    first, second = (EntryPoint(name, f"{name}._engine", engines.GROUP) for name in ("first", "second"))
    installed.append(first)
    assert engines.chosen() == first
    installed.append(second)
    with pytest.raises(ImportError, match="several engines are installed: first, second; set PHIT_ENGINE"):
        engines.chosen()
    for name, expected in (("second", second), (engines.OWN, None)):
        monkeypatch.setenv(engines.CHOICE, name)
        assert engines.chosen() == expected
    monkeypatch.setenv(engines.CHOICE, "third")
    with pytest.raises(ImportError, match="no such engine is installed; expected one of phit, first, second"):
        engines.chosen()
    monkeypatch.setenv(engines.CHOICE, "first")
    with pytest.raises(
        ImportError, match=r"the engine first cannot be imported .*; build it again, or set PHIT_ENGINE"
    ):
        engines.install()
    monkeypatch.setenv(engines.CHOICE, engines.OWN)
    assert engines.install() == engines.OWN


def test_an_engine_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("mine", "mine._engine", engines.GROUP)
    monkeypatch.setattr(engines, "installed", lambda: {"mine": entry})
    monkeypatch.setattr(engines, "version", lambda: "0.2.0")
    monkeypatch.delenv(engines.CHOICE, raising=False)
    monkeypatch.setitem(sys.modules, "phit._phit", phit._phit)
    for there in ("0.1.9", "0.2.1"):
        other: Any = SimpleNamespace(__version__=there)
        monkeypatch.setitem(sys.modules, "mine._engine", other)
        with pytest.raises(
            ImportError, match=rf"mine was built for Phit {re.escape(there)}, but this package is Phit 0\.2\.0"
        ):
            engines.install()
    engine: Any = SimpleNamespace(__version__="0.2.0")
    monkeypatch.setitem(sys.modules, "mine._engine", engine)
    assert engines.install() == "mine"
    assert sys.modules["phit._phit"] is engine


def test_an_installed_engine_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    metadata = tmp_path / "my_routing-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-routing\nVersion: 0.1.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "nowhere"), *sys.path])
    before = engines.installed()
    for text in ("[console_scripts]\nmine = mine:main\n", "[phit.engines]\nmine = mine._engine\n"):
        (metadata / "entry_points.txt").write_text(text)
        found = {name: entry.value for name, entry in engines.installed().items() if name not in before}
        assert found == ({"mine": "mine._engine"} if engines.GROUP in text else {})


@pytest.mark.skipif(not SLOW, reason="takes minutes; run by make test-crate")
@pytest.mark.timeout(3600)
def test_the_crate_builds_and_is_a_whole_phit(tmp_path: Path) -> None:
    folder = tmp_path / "my_routing"
    crates.write("my_routing", folder, str(ROOT))
    target = Path(os.environ.get("PHIT_CRATE_TARGET", tmp_path / "target"))
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    subprocess.run(["cargo", "test", "--quiet"], cwd=folder, env=environment, check=True)
    subprocess.run(["cargo", "build", "--quiet"], cwd=folder, env=environment, check=True)
    # As pip lays it out, without a second build.
    site = tmp_path / "site"
    shutil.copytree(folder / "python" / "my_routing", site / "my_routing")
    shutil.copy(target / "debug" / "lib_engine.so", site / "my_routing" / "_engine.abi3.so")
    metadata = site / "my_routing-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-routing\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{engines.GROUP}]\nmy_routing = my_routing._engine\n")
    path = os.pathsep.join([str(site), os.environ["PYTHONPATH"], sysconfig.get_paths()["purelib"]])
    environment |= {"PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-q", "tests", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    shown = subprocess.run(
        [sys.executable, "-m", "phit", "--version"], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    assert shown.stdout.startswith(f"phit {phit.__version__} (")
    assert shown.stdout.endswith("engine my_routing)\n")
