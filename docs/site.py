"""What the site says in its header, and pages of the repository's root.

The version is that of `Cargo.toml`. The address of the repository is that of `CITATION.cff`, of the workflow that
builds the site, or of the clone's origin, in this order. Without an address the site has no links to edit its pages.
"""

import os
import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

ROOT_PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages that are files of the repository's root."""


def version() -> str:
    """The version of Phit."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return found


def repository() -> str | None:
    """The address of the repository on the web, if it is known."""
    cited = re.search(
        r'^repository-code: "?([^"\n]+)"?$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    if cited:
        return cited[1]
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    if server and name:
        return f"{server}/{name}"
    command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    try:
        return web_address(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    except (OSError, subprocess.CalledProcessError):
        return None


def web_address(remote: str) -> str | None:
    """The page of a remote repository; None for a folder."""
    found = re.fullmatch(r"(?:https?://(?:[^@/]+@)?|ssh://git@|git@)([^/:]+\.[^/:]+)[/:](.+?)(?:\.git)?/?", remote)
    return f"https://{found[1]}/{found[2]}" if found else None


def on_config(config: Any) -> Any:
    """Puts version and address into the header."""
    config.site_name = f"Phit {version()}"
    if address := repository():
        config.repo_url = address
        config.repo_name = "/".join(address.split("/")[-2:])
        config.edit_uri = "edit/main/docs/"
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages of the root and the licences."""
    from mkdocs.structure.files import File

    made = {name: root_page(ROOT / source) for name, source in ROOT_PAGES.items()} | {"licence.md": licence(ROOT)}
    # The reference of this very code, whatever the repository has.
    made |= runpy.run_path(str(ROOT / "docs" / "model_reference.py"))["pages"]()
    for name, content in made.items():
        if (kept := files.get_file_from_path(name)) is not None:
            files.remove(kept)
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leads links to the root's files to their pages."""
    for name, source in ROOT_PAGES.items():
        up = "../" * (page.file.src_uri.count("/") + 1)
        markdown = markdown.replace(f"]({up}{source}", f"]({up[3:]}{name}")
    return markdown


def root_page(path: Path) -> str:
    """A file of the root as a page of the guide, whose pages it links to by their places in the repository."""
    return path.read_text(encoding="utf-8").replace("](docs/", "](")


def licence(root: Path) -> str:
    """The page with both licences."""
    texts = [
        f"## {path.stem.removeprefix('LICENSE-')}\n\n```text\n{path.read_text(encoding='utf-8')}\n```"
        for path in sorted(root.glob("LICENSE-*"))
    ]
    head = [
        "# Licence",
        "*For everyone who uses or passes on Phit: what the licences allow.*",
        "Phit is free software under either of two licences, at your choice.",
    ]
    return "\n\n".join([*head, *texts]) + "\n"
