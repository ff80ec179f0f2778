"""Lists the studies in the documentation: tables of `studies.md`, and the navigation's pages."""

from collections.abc import Sequence
from typing import Any

from phit.base.markdown import markdown_table
from phit.studies import registry
from phit.studies.kit.scale import Scale
from phit.studies.kit.study import AnyStudy


def found() -> list[AnyStudy]:
    """All studies."""
    return [registry.find(name) for name in registry.names()]


def _sizes(study: AnyStudy, scales: Sequence[Scale]) -> list[str]:
    return [study.size(study.setting(scale)) for scale in scales]


def papers() -> str:
    """The studies and their papers."""
    rows = [[f"[`{study.name}`](studies/{study.name}.md)", study.paper.short] for study in found()]
    return markdown_table(["study", "paper"], rows)


def scales() -> str:
    """The size of the networks at every scale."""
    head = ["study", *(f"`{scale}`" for scale in Scale)]
    return markdown_table(head, [[f"`{study.name}`", *_sizes(study, list(Scale))] for study in found()])


def readme() -> str:
    """The table of README.md, which stands there as plain Markdown."""
    rows = [
        [
            f"[`{study.name}`](docs/studies/{study.name}.md)",
            f"{study.title} ({study.paper.published})",
            *_sizes(study, [Scale.PAPER]),
        ]
        for study in found()
    ]
    return markdown_table(["study", "paper", "full size"], rows)


def on_config(config: Any) -> Any:
    """Adds the page of every study to the navigation, below the page about all of them."""
    (evidence,) = (entry["Evidence"] for entry in config.nav if "Evidence" in entry)
    (studies,) = (entry["Studies"] for entry in evidence if "Studies" in entry)
    studies += [f"studies/{name}.md" for name in registry.names()]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Puts the tables where `studies.md` has `<!-- table: NAME -->`."""
    if page.file.src_uri == "studies.md":
        for name, make in (("papers", papers), ("scales", scales)):
            markdown = markdown.replace(f"<!-- table: {name} -->", make())
    return markdown
