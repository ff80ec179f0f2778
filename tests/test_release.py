"""A version is published only if its tag, its changelog and its citation agree."""

import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT

RELEASE: dict[str, Any] = runpy.run_path(str(ROOT / ".github" / "release.py"))
VERSION: str = RELEASE["version"]()
HERE = re.escape(VERSION)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the files that a release is checked by, in which nothing is unreleased."""
    for name in ("Cargo.toml", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    log = tmp_path / "CHANGELOG.md"
    log.write_text(re.sub(r"(## \[Unreleased\]\n).*?(?=\n## \[)", r"\1", log.read_text(), flags=re.DOTALL))
    return tmp_path


def found(root: Path, tag: str | None = None, repository: str | None = None) -> list[str]:
    listed: list[str] = RELEASE["contradictions"](tag, repository, root)
    return listed


def test_this_version_is_ready_except_for_its_address(copied: Path) -> None:
    assert found(copied, f"v{VERSION}") == []
    (missing,) = found(copied, f"v{VERSION}", "https://example.org/phit")
    assert missing.endswith("expected `repository-code: https://example.org/phit`")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("Cargo.toml", f'version = "{HERE}"', 'version = "9.9.9"', f"tag v{HERE}: expected v9.9.9"),
        ("Cargo.toml", f'version = "{HERE}"', 'version = "9.9.9"', r"expected a heading `## \[9.9.9\] - DATE`"),
        ("CHANGELOG.md", rf"\[{HERE}\] - [\d-]+", f"[{VERSION}] - soon", "expected YYYY-MM-DD"),
        ("CHANGELOG.md", rf"\[{HERE}\] - [\d-]+", f"[{VERSION}] - 2031-01-01", "expected `date-released: 2031-01-01`"),
        ("CHANGELOG.md", r"\[Unreleased\]\n", "[Unreleased]\n\n- Something new.\n", "lines under Unreleased"),
        ("CITATION.cff", f"version: {HERE}", "version: 0.0.9", f"expected `version: {HERE}`"),
    ],
)
def test_a_contradiction_is_named(copied: Path, file: str, old: str, new: str, message: str) -> None:
    text, times = re.subn(old, new, (copied / file).read_text(), count=1)
    assert times == 1
    (copied / file).write_text(text)
    assert any(re.search(message, line) for line in found(copied, f"v{VERSION}")), found(copied, f"v{VERSION}")


def test_the_notes_of_a_release_are_its_section() -> None:
    sections = RELEASE["sections"]()
    assert next(iter(sections)) == "Unreleased"
    assert {VERSION, "1.0.0", "0.1.0"} <= set(sections)
    for date, body in list(sections.values())[1:]:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
        assert re.search(r"^- ", body, re.MULTILINE)
