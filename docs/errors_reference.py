"""The page of all error messages, made from the places in the code that write them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = [ROOT / "crates" / name / "src" for name in ("phit-engine", "phit-workload", "phit-binding")]
INNER = {"catalogue", "result", "measure", "hints"}
"""Parts whose texts describe results."""

PACKAGE = ROOT / "python" / "phit"

INTRODUCTION = """# Errors

*For everyone who has just met an error: what it means and where it comes from.*

Every error is one line: where it is, the value, and what was expected. `…` stands for a name or a number of your own.

```text
phit: error: mine.toml, line 4: router.links.default.vcs = 1: expected 2 or more
```

- **The place** is a file with its line, a key by its dotted path, a rank, or a switch by its name.
- **The exit status** is 2 for bad input and 1 for a run that failed: [all statuses](cli.md#output-and-exit-status).
- **In Python** every error is a `phit.PhitError`. Bad input is a `phit.ScenarioError`, whose `errors` has all of them.
  A run that ended too early is a `phit.SimulationError`: [errors in Python](python.md).
- **Where packets wait for one another** the error names the packets and their channels: [Will my cluster
  deadlock?](deadlock.md)
- **A slow or saturated run** is no error: [Reading a saturated network](saturated.md).

`make schema` writes the lists below from the code. Search finds an error by any words of its message."""

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
HOLE = re.compile(r"\{[^{}]*\}")


def page() -> str:
    """The Markdown of the page."""
    parts = [
        INTRODUCTION,
        "## Scenarios and runs",
        listed(engine()),
        "## Files, commands and Python",
        listed(package()),
    ]
    return "\n\n".join(parts) + "\n"


def listed(found: dict[str, set[str]]) -> str:
    """Messages by the part of Phit that writes them."""
    return "\n\n".join(
        f"### {place}\n\n" + "\n".join(f"- {shown(text)}" for text in sorted(texts)) for place, texts in found.items()
    )


def shown(text: str) -> str:
    """A message as Markdown shows it."""
    return re.sub(r"([*_<\[\]|#])", r"\\\1", text) if "`" not in text else text


def engine() -> dict[str, set[str]]:
    """Messages of the Rust crates by their folder or file: all literals of some words that users may read."""
    found: dict[str, set[str]] = {}
    for crate in CRATES:
        for file in sorted(crate.rglob("*.rs")):
            place = file.relative_to(crate).parts[0].removesuffix(".rs")
            if place not in INNER and "test" not in str(file.relative_to(crate)):
                for text in LITERAL.findall(read(file)):
                    keep(found, place, re.sub(r"\\\n\s*", "", text))
    return dict(sorted(found.items()))


def read(file: Path) -> str:
    """The code of a file without its tests, its comments, its attributes, and texts that only a bug shows."""
    source = file.read_text(encoding="utf-8").split("\n#[cfg(test)]")[0]
    source = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
    # A quotation mark as a character begins no text.
    source = re.sub(r"""'\\?"'""", "' '", source)
    source = re.sub(r"#!?\[(?:[^\[\]]|\[[^\]]*\])*\]", "", source)
    return re.sub(rf"(?:expect|assert\w*!|panic!|unreachable!)\((?:[^\"]*?){LITERAL.pattern}", "", source)


def package() -> dict[str, set[str]]:
    """Messages of the Python package by their folder."""
    found: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for text in raised(ast.parse(file.read_text(encoding="utf-8"))):
            keep(found, place, text)
    return dict(sorted(found.items()))


def raised(tree: ast.AST) -> Iterator[str]:
    """Texts of the errors that a module raises."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                yield from texts(argument)


def texts(node: ast.AST) -> Iterator[str]:
    """Texts that an expression is made of."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in values)
        case _:
            for part in ast.iter_child_nodes(node):
                yield from texts(part)


def keep(found: dict[str, set[str]], place: str, text: str) -> None:
    """Adds a message that has words of its own; a key or a name is none."""
    plain = " ".join(HOLE.sub("…", text.replace('\\"', '"').replace("{{", "{").replace("}}", "}")).split())
    if len(re.findall(r"[A-Za-z]{2,}", plain)) >= 3 and " " in plain.strip():
        found.setdefault(place, set()).add(plain)
