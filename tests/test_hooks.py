"""The commit hook formats what is committed, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

UGLY, NEAT = "x = [1,2 ,3]\n", "x = [1, 2, 3]\n"
UGLY_RUST, NEAT_RUST = 'fn main(){let x=1;print!("{x}");}\n', 'fn main() {\n    let x = 1;\n    print!("{x}");\n}\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if not shutil.which("git") or not shutil.which("ruff"):
        pytest.skip("no git or no ruff")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(tmp_path, "init", "--quiet")
    shutil.copytree(ROOT / ".github" / "hooks", tmp_path / ".github" / "hooks")
    git(tmp_path, "config", "core.hooksPath", ".github/hooks")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_a_commit_is_formatted(repository: Path) -> None:
    (repository / "a name.py").write_text(UGLY)
    (repository / "other.py").write_text(UGLY)
    (repository / "text.md").write_text(UGLY)
    git(repository, "add", "a name.py", "text.md")
    git(repository, "commit", "--quiet", "-m", "first")
    assert git(repository, "show", "HEAD:a name.py") == NEAT == (repository / "a name.py").read_text()
    assert git(repository, "show", "HEAD:text.md") == UGLY == (repository / "other.py").read_text()


@pytest.mark.skipif(not shutil.which("rustfmt"), reason="no rustfmt")
def test_rust_is_formatted_too(repository: Path) -> None:
    (repository / "main.rs").write_text(UGLY_RUST)
    git(repository, "add", "main.rs")
    git(repository, "commit", "--quiet", "-m", "first")
    assert git(repository, "show", "HEAD:main.rs") == NEAT_RUST


def test_a_file_of_which_only_a_part_is_committed_is_left(repository: Path) -> None:
    (repository / "a.py").write_text(UGLY)
    git(repository, "add", "a.py")
    (repository / "a.py").write_text(UGLY + "y = 1\n")
    assert "only a part of it is committed: a.py" in git(repository, "commit", "-m", "first")
    assert git(repository, "show", "HEAD:a.py") == UGLY
