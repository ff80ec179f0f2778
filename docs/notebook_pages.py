"""Shows the notebooks of the examples in the guide: a page for each, with the outputs that are kept in it."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"Notebooks": "examples", "Course": "examples/course"}
"""Folders of notebooks, by the part of the navigation in which they stand."""


TO_A_NOTEBOOK = re.compile(r"\]\(\.\./examples/(?:course/)?([\w-]+)\.ipynb\)")
TO_THE_GUIDE = re.compile(r"\]\((?:\.\./)+docs/")
"""Links as they stand in the repository: from the guide to a notebook, and back."""


def page(path: Path) -> tuple[str, dict[str, str]]:
    """A notebook as Markdown, and the pictures of its outputs by their names."""
    parts: list[str] = []
    pictures: dict[str, str] = {}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/svg+xml" in data:
                name = f"{path.stem}-{number}.svg"
                pictures[name] = "".join(data["image/svg+xml"])
                parts.append(f"![What the cell before shows]({name})")
            elif text := "".join(output.get("text", data.get("text/plain", []))).rstrip():
                parts.append(f"```text\n{text}\n```")
    note = f"This page is the notebook `{path.relative_to(ROOT).as_posix()}`."
    text = "\n\n".join([parts[0], note, *parts[1:]]) + "\n"
    return TO_THE_GUIDE.sub("](", text), pictures


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leads links to notebooks to their pages."""
    return TO_A_NOTEBOOK.sub(r"](notebook-\1.md)", markdown)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages and their pictures, and names them in the navigation."""
    from mkdocs.structure.files import File

    for part, folder in FOLDERS.items():
        places = entries(config.nav, part)
        for path in sorted((ROOT / folder).glob("*.ipynb")):
            content, pictures = page(path)
            places.append(f"notebook-{path.stem}.md")
            files.append(File.generated(config, places[-1], content=content))
            for name, picture in pictures.items():
                files.append(File.generated(config, name, content=picture))
    return files


def entries(navigation: Any, part: str) -> list[Any]:
    """The list of a part of the navigation, at any depth.

    Raises:
        KeyError: there is no such part.
    """
    for entry in navigation:
        for name, below in entry.items() if isinstance(entry, dict) else ():
            if name == part:
                found: list[Any] = below
                return found
            if isinstance(below, list):
                try:
                    return entries(below, part)
                except KeyError:
                    continue
    raise KeyError(part)
