"""Writes a Rust crate outside the repository that adds a mechanism to a full Phit."""

import keyword
import re
import shutil
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from phit.base.errors import InputError
from phit.base.files import write_text
from phit.base.text import quoted

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST = 40
_KEYWORDS = {*keyword.kwlist, *keyword.softkwlist} | {
    *(
        "abstract",
        "become",
        "box",
        "const",
        "crate",
        "do",
        "dyn",
        "enum",
        "extern",
        "final",
        "fn",
        "gen",
        "impl",
        "let",
    ),
    *("loop", "macro", "mod", "move", "mut", "override", "priv", "pub", "ref", "self", "static", "struct", "super"),
    *("trait", "true", "false", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where"),
    *("core", "std", "alloc", "test", "phit", "phit_engine", "phit_binding", "mechanism"),
}
"""Words that cannot be names in Rust or in Python."""

_RENAMED = {"gitignore": ".gitignore"}


def write(name: str, folder: Path, engine: str | None = None) -> list[Path]:
    """Writes a crate with a routing mechanism, its tests and its Python package. Returns the files.

    Args:
        name: name of the mechanism and the package: small letters, digits and underscores.
        folder: folder of the crate; it must not exist, or be empty.
        engine: a checkout of Phit, or the address of its repository; by default the checkout of this package.

    Raises:
        InputError: the name is invalid, the folder is not empty, or no engine is found.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST or name in _KEYWORDS:
        said = f"expected at most {_LONGEST} small letters, digits and underscores, and no keyword of Rust or Python"
        raise InputError(f"{quoted(name)}: {said}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: exists already and is not empty")
    checkout, source = _engine(engine)
    words = {
        "@name@": name,
        "@Name@": "".join(part.capitalize() for part in name.split("_")),
        "@dashed@": name.replace("_", "-"),
    }
    written = []
    for path, text in sorted(_templates(files("phit.mechanisms") / "crate", Path())):
        path = Path("python", name, path.name) if path.parts[0] == "python" else path
        for word, value in words.items():
            text = text.replace(word, value)
        if path.name == "Cargo.toml":
            for crate in ("phit-binding", "phit-engine"):
                text = text.replace(f"{crate} = {{ @source@ }}", f"{crate} = {{ {source.replace('@crate@', crate)} }}")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        written.append(write_text(target, text))
    if checkout is not None and (checkout / "Cargo.lock").is_file():
        # The versions of libraries with which the engine was tested.
        written.append(Path(shutil.copyfile(checkout / "Cargo.lock", folder / "Cargo.lock")))
    return written


def _engine(engine: str | None) -> tuple[Path | None, str]:
    """The checkout, if `engine` is one, and the way Cargo finds the engine's crates, with `@crate@` for their names."""
    if engine is not None and re.match(r"(https?|ssh|git|file)://|git@", engine):
        if not re.fullmatch(r"[\w.:/@~+%-]+", engine):
            raise InputError(f"--engine {quoted(engine)}: expected the address of a repository")
        return None, f'git = "{engine}"'
    checkout = Path(engine) if engine is not None else Path(__file__).resolve().parents[3]
    if not (checkout / "crates" / "phit-engine" / "Cargo.toml").is_file():
        found = f"--engine {engine}: has no crates/phit-engine" if engine else "this package is not in a checkout"
        raise InputError(f"{found}; expected a checkout of Phit or the address of its repository, with --engine")
    if '"' in str(checkout.resolve()) or "\\" in str(checkout.resolve()):
        raise InputError(f"--engine {quoted(str(checkout))}: expected a path without quotes and backslashes")
    return checkout.resolve(), f'path = "{checkout.resolve()}/crates/@crate@"'


def _templates(folder: Traversable, path: Path) -> list[tuple[Path, str]]:
    """The files of a crate, each with its path in the crate, as texts with placeholders for names."""
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _templates(entry, path / entry.name)
        elif entry.name.endswith(".txt"):
            name = entry.name.removesuffix(".txt")
            found.append((path / _RENAMED.get(name, name), entry.read_text(encoding="utf-8")))
    return found
