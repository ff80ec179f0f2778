"""Checks that a version is ready for its tag, and prints its part of the changelog.

    python .github/release.py check [TAG]    # every contradiction, one a line; exit status 1 if there is one
    python .github/release.py notes          # what the release page says

The version stands in `Cargo.toml`. The date stands in the changelog's heading. `CITATION.cff` repeats both, because
those who read it read nothing else.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version(root: Path = ROOT) -> str:
    """The version of the workspace, which all crates and the Python package share."""
    found: str = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return found


def sections(root: Path = ROOT) -> dict[str, tuple[str, str]]:
    """Date and text of each release of the changelog, and of `Unreleased`."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## \[([^\]]+)\](?: - (\S+))?\n", text, flags=re.MULTILINE)
    return {
        name: (date or "", body.strip()) for name, date, body in zip(*(parts[n::3] for n in (1, 2, 3)), strict=True)
    }


def cited(key: str, root: Path = ROOT) -> str | None:
    """A line of the citation, or None."""
    found = re.search(rf'^{key}: "?([^"\n]+)"?$', (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else None


def contradictions(tag: str | None = None, repository: str | None = None, root: Path = ROOT) -> list[str]:
    """Everything that keeps this version from being published, as the address `repository` if that is known."""
    number, found = version(root), []
    if tag is not None and tag != f"v{number}":
        found.append(f"tag {tag}: expected v{number}, the version of Cargo.toml")
    releases = sections(root)
    date, body = releases.get(number, ("", ""))
    if number not in releases:
        found.append(f"CHANGELOG.md: expected a heading `## [{number}] - DATE`")
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        found.append(f"CHANGELOG.md: [{number}] has the date `{date}`, expected YYYY-MM-DD")
    elif not re.search(r"^- ", body, re.MULTILINE):
        found.append(f"CHANGELOG.md: [{number}] has no lines")
    if re.search(r"^- ", releases.get("Unreleased", ("", ""))[1], re.MULTILINE):
        found.append(f"CHANGELOG.md: lines under Unreleased, expected them under [{number}]")
    wanted = {"version": number, "date-released": date, **({"repository-code": repository} if repository else {})}
    for key, value in wanted.items():
        if value and cited(key, root) != value:
            found.append(f"CITATION.cff: `{key}: {cited(key, root) or ''}`, expected `{key}: {value}`")
    return found


def hosted() -> str | None:
    """The address of the repository for which a workflow runs, or None elsewhere."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return f"{server}/{name}" if server and name else None


def main(words: list[str]) -> int:
    """The two commands."""
    match words:
        case ["check", *rest] if len(rest) < 2:
            found = contradictions(rest[0] if rest else None, hosted())
            print("\n".join(found) or f"{version()} is ready")
            return 1 if found else 0
        case ["notes"]:
            print(sections()[version()][1].replace("](docs/", f"]({hosted() or '.'}/blob/v{version()}/docs/"))
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
