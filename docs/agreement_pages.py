"""Cuts the page of agreement into a summary and a page for each simulator, which search leaves out.

`validation.md` is written as one page by `phit validate`; its tables of every run are far too long to be read through.
"""

import re
from typing import Any

SOURCE = "validation.md"
KEPT = ("Tolerances", "What the settings mean")
"""Sections that stay on the summary's page."""


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section of level 2, and these sections by their titles."""
    head, *sections = re.split(r"^## ", text, flags=re.M)
    return head, {section.partition("\n")[0].strip(): f"## {section}" for section in sections}


def _place(title: str) -> str:
    """File of a simulator's page: `FOGSim: answers` stands on that of FOGSim."""
    return f"agreement-{re.sub('[^a-z0-9]+', '-', title.partition(':')[0].lower())}.md"


def _pages(sections: dict[str, str]) -> dict[str, list[str]]:
    """Sections of a page of their own, by its file."""
    found: dict[str, list[str]] = {}
    for title in sections:
        if title not in KEPT:
            found.setdefault(_place(title), []).append(title)
    return found


def on_files(files: Any, config: Any) -> Any:
    """Adds a page for each simulator."""
    from mkdocs.structure.files import File

    _, sections = _parts(files.get_file_from_path(SOURCE).content_string)
    for place, titles in _pages(sections).items():
        head = f"---\nsearch:\n  exclude: true\n---\n\n# Agreement with {titles[0]}: every run\n"
        note = f"[The summary]({SOURCE}) has the tolerances and what the settings mean."
        # The page's own heading takes the place of the section's.
        texts = [sections[titles[0]].partition("\n")[2], *(sections[title] for title in titles[1:])]
        content = "\n\n".join([head, note, *(text.strip() for text in texts)]) + "\n"
        files.append(File.generated(config, place, content=content))
    for entry in config.nav:
        if "Validation" in entry:
            places = [place for place in _pages(sections) if place not in entry["Validation"]]
            at = next(i for i, page in enumerate(entry["Validation"]) if SOURCE in page.values()) + 1
            entry["Validation"][at:at] = places
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leaves the summary, with a list of the pages."""
    if page.file.src_uri != SOURCE:
        return markdown
    head, sections = _parts(markdown)
    listed = [f"* [{titles[0]}]({place})" for place, titles in _pages(sections).items()]
    kept = [sections[title] for title in KEPT if title in sections]
    return "\n\n".join([head.strip(), "Every run, on a page for each simulator:", "\n".join(listed), *kept])
