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


def _differing(sections: dict[str, str]) -> str:
    """The rows that differ, explained or not, of all series in a table, and what explains them."""
    rows: list[str] = []
    notes: dict[str, None] = {}
    for text in sections.values():
        for series in re.split(r"^### ", text, flags=re.M)[1:]:
            title, _, body = series.partition("\n")
            found = [line for line in body.splitlines() if re.search(r"\| \**differs(, explained)?\** \|$", line)]
            if found and len(found[0].split(" | ")) == COLUMNS:
                rows += [f"| {title} {line}" for line in found]
                cells = [line.strip("| ").split(" | ") for line in found]
                of_these = [f"{measure} at {where}" for where, measure, *_ in cells]
                for note in (line for line in body.splitlines() if line.startswith("* ")):
                    where, _, why = note.partition(": ")
                    notes |= dict.fromkeys([f"* {why}"] if any(words in where for words in of_these) else [])
    if not rows:
        return ""
    head = ["series", "load or setting", "measure", "theirs", "Phit", "difference", "tolerance", "verdict"]
    table = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *rows]
    return "## What differs\n\n" + "\n".join([*table, "", *notes])


COLUMNS = 7
"""Of the table of a series: load, measure, both numbers, difference, tolerance, verdict."""


def _figures(sections: dict[str, str]) -> str:
    """The figures that stand before the first series of each simulator."""
    found = [re.findall(r"^!\[.*$", text.partition("\n### ")[0], flags=re.M) for text in sections.values()]
    images = [image for of_one in found for image in of_one]
    return "\n\n".join(["## Figures", *images]) if images else ""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leaves the summary, with a list of the pages."""
    if page.file.src_uri != SOURCE:
        return markdown
    head, sections = _parts(markdown)
    listed = [f"* [{titles[0]}]({place})" for place, titles in _pages(sections).items()]
    kept = [sections[title] for title in KEPT if title in sections]
    others = {title: text for title, text in sections.items() if title not in KEPT}
    blocks = [head.strip(), "Every run, on a page for each simulator:", "\n".join(listed)]
    return "\n\n".join([*blocks, _differing(others), _figures(others), *kept])
