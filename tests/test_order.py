"""The order of the package's rooms is law: no room imports from one that stands above it.

A room is a folder of `python/phit`. Those of one line of `ORDER` know nothing of each other. Within a folder, at every
level, files and folders have an order as well: no two of them import from each other, not even by way of others. An
import within a function counts as any other, and so does one for types alone. Names that begin with a line belong to
their file.
"""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from .conftest import ROOT

PACKAGE = ROOT / "python" / "phit"

ORDER = (
    ("base",),
    ("reading", "mechanisms"),
    ("document",),
    ("throughput", "store"),
    ("running",),
    ("drawing", "peers"),
    ("importing",),
    ("studies",),
    ("cli",),
)
"""From the ground up."""

FACADE = "phit"
"""Module for users: it exports names of all rooms below the command line, which alone may use it."""

ENGINE = "phit._phit"
"""The engine's extension, on which all rooms stand."""

Parts = tuple[str, ...]


class House:
    """A package's files by their modules, each with the modules that it imports."""

    def __init__(self, package: Path) -> None:
        self.files = {_module(package, path): path for path in sorted(package.rglob("*.py"))}
        self.nodes = {name: list(_nodes(path.read_text(encoding="utf-8"))) for name, path in self.files.items()}

    def folder(self, name: str) -> str:
        """The package in whose folder a module stands."""
        return name if self.files[name].name == "__init__.py" else name.rpartition(".")[0]

    def imports(self, name: str) -> Iterator[tuple[str, str]]:
        """The modules that a module imports from, each with the name that it takes; the module itself has none."""
        package = self.folder(name)
        for node in self.nodes[name]:
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == FACADE)
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                module = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names if module.split(".")[0] == FACADE else ():
                    full = f"{module}.{alias.name}"
                    yield (full, "") if full in self.files or full == ENGINE else (module, alias.name)

    def modules_by_name(self, name: str) -> dict[str, str]:
        """The names by which a module refers to other modules of the package."""
        found = {}
        for node in self.nodes[name]:
            if isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
                for alias in node.names:
                    if f"{node.module}.{alias.name}" in self.files:
                        found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return found


def _nodes(text: str) -> Iterator[ast.AST]:
    """The imports of a file, and its uses of attributes."""
    wanted = (ast.Import, ast.ImportFrom, ast.Attribute)
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, wanted))


def _module(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def upwards(house: House) -> list[str]:
    """Imports from rooms that stand above, or on the same floor."""
    floor = {room: number for number, rooms in enumerate(ORDER) for room in rooms}
    wrong = []
    for name in house.files:
        here = name.split(".")[1:2]
        if not here or here[0] not in floor:
            continue
        for module, taken in house.imports(name):
            there = module.split(".")[1:2]
            if there == here or module == ENGINE or (module == FACADE and here == ["cli"]):
                continue
            if not there or floor.get(there[0], len(ORDER)) >= floor[here[0]]:
                wrong.append(f"{name} imports {taken or 'it'} from {module}")
    return wrong


def circles(house: House) -> list[list[str]]:
    """Entries of folders, each by its path, that import from each other, at any level."""
    arrows: dict[str, set[str]] = {}
    for name in house.files:
        for module, _ in house.imports(name):
            one, other = _entries(house, name, module)
            if one != other and module in house.files and FACADE not in (name, module):
                arrows.setdefault(one, set()).add(other)
    found = []
    for start in sorted(arrows):
        reached, waiting = set[str](), [start]
        while waiting:
            new = arrows.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        if start in reached:
            found.append(sorted({start, *(there for there in reached if _leads(arrows, there, start))}))
    return [circle for number, circle in enumerate(found) if circle not in found[:number]]


def _leads(arrows: dict[str, set[str]], one: str, other: str) -> bool:
    reached, waiting = set[str](), [one]
    while waiting:
        new = arrows.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return other in reached


def _entries(house: House, one: str, other: str) -> tuple[str, str]:
    """The entries of the innermost folder that two modules share; a folder's own file is an entry of it."""
    first, second = (_parts(house, name) for name in (one, other))
    shared = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return ".".join(first[: shared + 1]), ".".join(second[: shared + 1])


def _parts(house: House, name: str) -> Parts:
    parts = tuple(name.split("."))
    file = house.files.get(name)
    return (*parts, "__init__") if file is not None and file.name == "__init__.py" else parts


def private(house: House) -> list[str]:
    """Uses of names of other files that begin with a line."""
    wrong = []
    for name in house.files:
        for module, taken in house.imports(name):
            last = taken or module.rpartition(".")[2]
            if _is_private(last) and module != ENGINE and module.rpartition(".")[0] != house.folder(name):
                wrong.append(f"{name} imports {last} from {module}")
        modules = house.modules_by_name(name)
        for node in house.nodes[name]:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and _is_private(node.attr):
                wrong += [f"{name} uses {modules[node.value.id]}.{node.attr}"] if node.value.id in modules else []
    return wrong


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


PAGE = (ROOT / "docs" / "package.md").read_text(encoding="utf-8")


def test_the_developers_page_lists_the_rooms_in_order() -> None:
    table = PAGE.partition("| room | holds |")[2].partition("\n\n")[0].splitlines()[2:]
    assert tuple(tuple(re.findall(r"`(\w+)`", row.split("|")[1])) for row in table) == ORDER


@pytest.mark.parametrize("page", ["architecture", "design-notes", "performance"])
def test_pages_name_files_of_the_sources_that_are_there(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    folders = [ROOT / "crates", ROOT / "python", ROOT / "benches"]
    sources = [f"/{file.relative_to(ROOT)}" for folder in folders for file in folder.rglob("*")]
    named = set(re.findall(r"`([\w/]+\.(?:rs|py))`", text))
    assert sorted(file for file in named if not any(source.endswith(f"/{file}") for source in sources)) == []


def test_the_developers_page_names_files_and_functions_that_are_there() -> None:
    files = re.findall(r"`((?:phit|crates|tests)/[\w/.-]+)`", PAGE)
    assert files
    assert [file for file in files if not (ROOT / "python" / file).exists() and not (ROOT / file).exists()] == []
    steps = re.findall(r"`(\w+)` [^|]*\|[^|]*`(phit/[\w/.]+\.py)`", PAGE.partition("| stage |")[2])
    assert len(steps) > 8
    for name, file in steps:
        defined = re.search(rf"^(?:def|class) {name}\b", (ROOT / "python" / file).read_text(encoding="utf-8"), re.M)
        assert defined, f"{file}: {name}"


GUIDE = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.ipynb")]


def test_what_the_guide_names_is_where_users_import_it() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in GUIDE)
    named = [full.rpartition(".")[::2] for full in re.findall(r"^::: (phit[\w.]+)$", text, re.M)]
    for module, names in re.findall(r"from (phit[\w.]*) import ([\w, ]+)", text):
        named += [(module, name.split()[0]) for name in names.split(",") if name.strip()]
    assert len(named) > 30
    for module, name in named:
        assert hasattr(import_module(module), name) or import_module(f"{module}.{name}"), f"{module}.{name}"


@pytest.fixture(scope="module")
def package() -> House:
    return House(PACKAGE)


def test_every_folder_has_its_place() -> None:
    # A folder with nothing but its own file belongs to the facade.
    rooms = {path.parent.name for path in PACKAGE.glob("*/*.py") if path.name != "__init__.py"}
    assert rooms == {room for rooms in ORDER for room in rooms}


def test_no_room_imports_from_one_above_it(package: House) -> None:
    assert upwards(package) == []


def test_no_circles(package: House) -> None:
    assert circles(package) == []


def test_no_private_names_of_other_files(package: House) -> None:
    assert private(package) == []


def house_of(folder: Path, **files: str) -> House:
    """A package with these texts, by their paths with `__` for slashes."""
    for name, text in files.items():
        path = folder / "phit" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name("__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    return House(folder / "phit")


UPWARD = {
    "at the top": "from phit.store.folder import write",
    "a module": "from phit.store import folder",
    "by its name": "import phit.store.folder",
    "within a function": "def late():\n    from phit.store.folder import write",
    "for types": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from phit.store.folder import write",
    "the façade": "import phit",
    "a name of the façade": "from phit import run",
    "by dots": "from ..store.folder import write",
}


@pytest.mark.parametrize("text", UPWARD.values(), ids=UPWARD)
def test_an_upward_import_is_found(tmp_path: Path, text: str) -> None:
    assert len(upwards(house_of(tmp_path, base__text=text, store__folder=""))) == 1


def test_a_downward_import_is_none(tmp_path: Path) -> None:
    text = "import phit._phit as _phit\nfrom phit.base import text\nfrom phit.base.text import plain"
    house = house_of(tmp_path, base__text="", store__folder=text, cli__app="import phit\nfrom phit.store import folder")
    assert (upwards(house), circles(house), private(house)) == ([], [], [])


def test_rooms_of_one_floor_know_nothing_of_each_other(tmp_path: Path) -> None:
    files = {"drawing__plots": "from phit.peers.fogsim import router", "peers__fogsim": ""}
    assert upwards(house_of(tmp_path, **files)) == ["phit.drawing.plots imports router from phit.peers.fogsim"]


def test_a_circle_of_files_is_found(tmp_path: Path) -> None:
    files = {
        "base__a": "from phit.base import b",
        "base__b": "def late():\n    from phit.base.c import x",
        "base__c": "from phit.base.a import y",
        "base__d": "from phit.base.a import y",
    }
    assert circles(house_of(tmp_path, **files)) == [["phit.base.a", "phit.base.b", "phit.base.c"]]


def test_a_circle_of_folders_is_found(tmp_path: Path) -> None:
    files = {"store__a__one": "from phit.store.b import two", "store__b__two": "", "store__b__three": ""}
    house = house_of(tmp_path, **files)
    assert circles(house) == []
    house = house_of(tmp_path, **files | {"store__b__three": "from phit.store.a.one import x"})
    assert circles(house) == [["phit.store.a", "phit.store.b"]]


def test_private_names_are_found(tmp_path: Path) -> None:
    files = {"base__a": "_x = 1", "store__b": "from phit.base.a import _x", "store__c": "from phit.base import a\na._x"}
    assert len(private(house_of(tmp_path, **files))) == 2
