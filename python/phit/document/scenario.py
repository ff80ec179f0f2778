"""Scenario documents: reading them, changing keys by dotted path, completing them."""

import copy
import difflib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from phit import _phit, mechanisms
from phit.base.errors import InputError
from phit.base.files import opened, opened_bytes
from phit.base.left_out import counted
from phit.base.text import HIDDEN, LONGEST_TEXT, quoted, shortened, whole
from phit.document.origins import Located, Origin, located
from phit.document.sections import INFINIBAND, REFERENCE, SECTIONS, leave_out, takes_lists

Document = dict[str, Any]
"""A scenario or experiment as read from TOML or JSON."""

Source = str | os.PathLike[str] | Mapping[str, Any]
"""A scenario or experiment: the path of a TOML or JSON file, or the document itself."""

LEVELS = 32
"""Most levels of tables and lists within one another, and most parts of a dotted path."""

LONG = 1000
"""Values of a list from which on the schema is asked, before anything else is, whether a list may stand there."""

TABLES = ("", "topology", "planes", "router", "routing", "queueing", "traffic", "measure", "units")
"""Sections, and a document itself, whose tables have at most `LONG` keys."""

_BREAKS = "\n\t"
"""Hidden characters that a text may have."""


def check_values(value: Any, largest: int = 10**300) -> None:
    """Refuses what no document may hold, wherever it comes from: it names the key.

    That is hidden characters in a text or key, texts longer than any path, numbers that are not finite or beyond
    `largest`, and too many levels of tables and lists.
    """
    waiting: list[tuple[Any, str, int]] = [(value, "", 0)]
    while waiting:
        here, place, level = waiting.pop()
        if level > LEVELS:
            start = quoted(place.split(".")[0])
            raise InputError(f"{start}: too many levels of tables and lists; expected at most {LEVELS}")
        # The frequent ones first: to ask for a mapping takes long.
        if isinstance(here, str):
            _check_text(here, place, _BREAKS, place)
        elif isinstance(here, float):
            if not math.isfinite(here):
                raise InputError(f"{place} = {here}: expected a finite number", place)
        elif isinstance(here, int):
            if abs(here) >= largest:
                raise InputError(f"{place} = {_long(here)}: expected a number below {largest:.0e}", place)
        elif isinstance(here, list | tuple):
            if len(here) > LONG and not takes_lists(place):
                raise InputError(f"{place}: a list of {len(here):,} values; expected no list here", place)
            others = (i for i, inner in enumerate(here) if type(inner) is not int)
            waiting.extend((here[i], f"{place}[{i}]", level + 1) for i in others)
            if (wide := next((n for n in here if type(n) is int and abs(n) >= largest), None)) is not None:
                raise InputError(f"{place}: there is {_long(wide)}; expected numbers below {largest:.0e}", place)
        elif isinstance(here, Mapping):
            if len(here) > LONG and place.split(".")[0] in TABLES:
                what = place or "the document"
                raise InputError(f"{what}: a table of {len(here):,} keys; expected at most {LONG:,}", place)
            for key, inner in here.items():
                if isinstance(key, str):
                    _check_text(key, f"a key of {place or 'the document'}", _BREAKS, place)
                waiting.append((inner, f"{place}.{key}" if place else str(key), level + 1))


def _long(number: int) -> str:
    # Python refuses to write a number of thousands of digits.
    return f"a number of {number.bit_length():,} bits"


def _check_text(text: str, what: str, but: str, path: str) -> None:
    if HIDDEN.search(text) and any(found[0] not in but for found in HIDDEN.finditer(text)):
        raise InputError(f"{what} = {quoted(text)}: expected a text without control and other hidden characters", path)
    if len(text) > LONGEST_TEXT:
        raise InputError(f"{what} = {quoted(text)}: expected a text of at most {LONGEST_TEXT:,} characters", path)


_LEAVES = frozenset({str, int, float, bool, type(None)})


def copied(value: Any) -> Any:
    """A copy of a document or a part of one, down to its values."""
    if type(value) is dict:
        return {key: copied(inner) for key, inner in value.items()}
    if type(value) is list:
        return [copied(inner) for inner in value]
    if isinstance(value, Located):
        return Located({key: copied(inner) for key, inner in value.items()}, value.origin)
    return value if type(value) in _LEAVES else copy.deepcopy(value)


def load(source: Source) -> Document:
    """The document in a TOML or JSON file, or a copy of the given one.

    Files that a file names are found from its own folder, those of a given document from the current one. A key
    `$schema`, by which editors find the JSON Schema, is left out.
    """
    if isinstance(source, Mapping):
        check_values(source)
        document: Document = copied(source if isinstance(source, Located) else dict(source))
        document.pop(REFERENCE, None)
        return document
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    document = _read(path, text)
    document.pop(REFERENCE, None)
    return document


def _read(path: Path, text: str) -> Document:
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except json.JSONDecodeError as error:
        from phit.document import slips

        comma = "; leave out the comma before the closing bracket" if slips.comma_before(text, error.pos) else ""
        raise InputError(f"{path}: not valid JSON: {error}{comma}") from None
    except tomllib.TOMLDecodeError as error:
        from phit.document import slips

        # The reader stops behind the slip, in its line or at the beginning of the next.
        line = re.search(r"\(at line (\d+), column", str(error))
        meant = slips.line_meant(text, int(line[1])) if line else None
        write = f"; write `{meant}`" if meant else ""
        raise InputError(f"{path}: not valid TOML: {shortened(str(error))}{write}") from None
    except RecursionError:
        raise InputError(f"{path}: too many levels of tables and lists; expected at most {LEVELS}") from None
    except ValueError as error:
        # A number of thousands of digits.
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: expected a table with the sections of a scenario")
    try:
        check_values(document)
    except InputError as error:
        raise InputError(f"{path}: {error}", error.path) from None
    return Located(_with_files(document, path.parent), Origin.of_file(path, text))


_FILES = {
    "topology": ("file", "tables", "service_levels", "virtual_lanes"),
    "routing": ("file", "layers", "roots"),
}
"""Keys that may name a file."""


def _with_files(document: Document, folder: Path) -> Document:
    """The document with the files that it names, found from `folder`: data, Python functions, what a sweep names."""
    for _, named in _functions(document):
        named["file"] = str(folder / named["file"])
    document = _with_data(document, folder)
    if isinstance(sweep := document.get("sweep"), dict):
        _sweep_with_files(sweep, folder)
    return document


def _with_data(document: Document, folder: Path) -> Document:
    """The same for files that are no Python.

    These are `topology.file` and a fabric's other files, `routing.file`, `routing.layers`, `traffic.trace`, and the
    `file` of programs and placements in `workload` and its jobs.
    """
    traffic = document.get("traffic")
    for _, named in [*_programs(document), *_placements(document)]:
        named["file"] = str(folder / named["file"])
    for section, keys in _FILES.items():
        table = document.get(section)
        for key in keys:
            if isinstance(table, dict) and isinstance(table.get(key), str) and not mechanisms.is_table(table):
                table[key] = str(folder / table[key])
    if isinstance(traffic, dict) and isinstance(trace := traffic.get("trace"), str | dict):
        trace = {"file": trace} if isinstance(trace, str) else trace
        if isinstance(trace.get("file"), str):
            traffic["trace"] = {**trace, "file": str(folder / trace["file"])}
    return document


def _sweep_with_files(sweep: Document, folder: Path) -> None:
    """The same for swept values that name files; Python functions among them have been found with all others."""

    def found(key: str, value: Any) -> Any:
        document: Document = {}
        try:
            set_path(document, key, value)
        except InputError:
            # No key, as is said later.
            return value
        there = get_path(_with_data(document, folder), key)
        # A trace may be given by its file.
        return there["file"] if isinstance(value, str) and isinstance(there, dict) else there

    tables = [sweep.get("product"), *_tables_of(sweep, "zip"), *_tables_of(sweep, "curves")]
    for table in tables:
        for key, values in table.items() if isinstance(table, dict) else ():
            table[key] = [found(key, value) for value in values] if isinstance(values, list) else found(key, values)


def _tables_of(sweep: Document, name: str) -> list[Any]:
    return tables if isinstance(tables := sweep.get(name), list) else []


def _jobs(document: Document) -> Iterator[tuple[str, Document]]:
    """The jobs of a workload, each with its path."""
    workload = document.get("workload")
    jobs = workload.get("job") if isinstance(workload, dict) else None
    for number, job in enumerate(jobs if isinstance(jobs, list) else ()):
        if isinstance(job, dict):
            yield f"workload.job[{number}]", job


def _programs(document: Document) -> Iterator[tuple[str, Document]]:
    """The programs that are read from files, each with its path."""
    yield from _with_file([("workload", document.get("workload"))])
    yield from _with_file((f"{path}.program", job.get("program")) for path, job in _jobs(document))


def program_notes(document: Document) -> Iterator[str]:
    """What one should know of the Chakra traces that a document names, each with the path of its table."""
    for path, program in _programs(document):
        if program.get("kind") == "chakra":
            options = program.get("options", {})
            for text in _phit.workload_notes(Path(program["file"]), json.dumps(options)):
                yield f"{path}: {program['file']}: {text}"


def _placements(document: Document) -> Iterator[tuple[str, Document]]:
    """The placements that are read from files, each with its path."""
    workload = document.get("workload")
    if isinstance(workload, dict):
        yield from _with_file([("workload.placement", workload.get("placement"))])
    yield from _with_file((f"{path}.placement", job.get("placement")) for path, job in _jobs(document))


def _functions(document: Document) -> Iterator[tuple[str, Document]]:
    """The tables of Python functions that stand in files, each with its path."""
    return _with_file(mechanisms.tables(document))


def _with_file(tables: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Document]]:
    return ((path, table) for path, table in tables if isinstance(table, dict) and isinstance(table.get("file"), str))


def _inlined(document: Document) -> Document:
    """The document with the contents of the files that it names in their places."""
    document = _with_functions(_with_graph(document))
    routing, traffic = document.get("routing"), document.get("traffic")
    tables = isinstance(routing, dict) and ("file" in routing or isinstance(routing.get("layers"), str))
    trace = traffic.get("trace") if isinstance(traffic, dict) else None
    if not tables and not isinstance(trace, str | dict) and next(_programs(document), None) is None:
        return document
    found = copy.deepcopy(document)
    for key, program in _programs(found):
        # The engine reads it; what it holds tells two points apart whose files have the same name.
        program["digest"] = _digest(Path(program["file"]), f"{key}.file")
    if tables and "file" in found["routing"]:
        path = Path(str(found["routing"].pop("file")))
        found["routing"]["entries"] = _rows(path, ("router", "destination", "port"))
    if tables and isinstance(found["routing"].get("layers"), str):
        found["routing"]["layers"] = _rows(Path(found["routing"]["layers"]), ("source", "destination", "layer"))
    if isinstance(trace, str | dict):
        from phit.reading import traces

        traffic = {key: value for key, value in found["traffic"].items() if key != "trace"}
        rest = {key: value for key, value in found.items() if key not in SECTIONS}
        bare = json.dumps({**rest, "traffic": {"load": 0.0} | traffic})
        units = {key: Fraction(value) for key, value in json.loads(_phit.units(bare)).items()}
        found["traffic"]["trace"] = traces.inline(trace, int(_phit.endpoints(bare)), units)
    return found


def _with_functions(document: Document) -> Document:
    """The document with the source text of the Python functions that it names, and all of their parameters."""
    if not mechanisms.names_any(document):
        return document
    plain = copy.deepcopy(document)
    found = Located(plain, document.origin) if isinstance(document, Located) else plain
    for path, table in mechanisms.tables(found):
        table.update(mechanisms.completed(path, table))
        table.pop("file", None)
    return found


def _with_graph(document: Document) -> Document:
    """The document with the network of `topology.file` in its place.

    What links of the file say of themselves counts as written in `router.links`, after what is written there.
    """
    topology, routing = document.get("topology"), document.get("routing")
    fabric = isinstance(topology, dict) and topology.get("kind") == INFINIBAND
    kind = routing.get("kind") if isinstance(routing, dict) else routing
    if kind == INFINIBAND and not fabric:
        expected = f'expected topology.kind = "{INFINIBAND}", whose tables these are'
        raise InputError(f'routing.kind = "{kind}": {expected}', "routing.kind")
    if not isinstance(topology, dict) or not (fabric or (topology.get("kind") == "graph" and "file" in topology)):
        return document
    # Here and below: what many commands do without is imported where it is used, so that they start sooner.
    from phit.reading import graphs

    found = copy.deepcopy({key: value for key, value in document.items() if key != "topology"})
    if fabric:
        network = graphs.infiniband.fabric(topology)
        if kind == INFINIBAND:
            said = routing if isinstance(routing, dict) else {}
            found["routing"] = graphs.infiniband.tables(topology, network, said)
        elif isinstance(routing, dict) and isinstance(routing.get("roots"), str):
            found["routing"]["roots"] = network.roots(Path(routing["roots"]))
        section, links = graphs.of_fabric(topology, network)
    else:
        section, links = graphs.inlined(topology)
    found["topology"] = section
    if get_path(document, "router.links.endpoint.bandwidth", None) is not None:
        # What is said of all endpoints takes the place of what the file says of each.
        section.pop("endpoint_bandwidth", None)
    router = found.get("router", {})
    if isinstance(router, str):
        router = found["router"] = {"kind": router}
    written = router.get("links", {}) if isinstance(router, dict) else None
    if not isinstance(written, dict) or not all(isinstance(table, dict) for table in written.values()):
        # The engine says what is wrong with it.
        links = {}
    for name, keys in links.items():
        for key, value in keys.items():
            given = get_path(found.get("router", {}), "links", {})
            # Virtual lanes that a port could have do not count against those that it is said to have.
            general = given.get("default", {}).get(key) if key == "vcs" else None
            if given.get(name, {}).get(key, general) is None:
                found.setdefault("router", {}).setdefault("links", {}).setdefault(name, {})[key] = value
    if isinstance(document, Located):
        return Located(found, document.origin)
    return found


def _digest(path: Path, key: str) -> str:
    """What tells the contents of a program's file, or of those of all ranks, from others."""
    try:
        files = _phit.workload_files(path)
    except _phit.WorkloadError as error:
        raise InputError(f"{key}: {error}", key) from None
    import hashlib

    digests = [_digest_of_file(file, key) for file in files]
    return digests[0] if len(digests) == 1 else f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"


def _digest_of_file(path: Path, key: str) -> str:
    import hashlib

    try:
        with opened_bytes(path) as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except FileNotFoundError:
        raise InputError(f"{key}: {path}: no such file", key) from None
    except OSError as error:
        raise InputError(f"{key}: {path}: cannot be read ({error.strerror})", key) from None


def _rows(path: Path, columns: tuple[str, str, str]) -> list[list[int]]:
    """The rows of a CSV file with three columns of whole numbers."""
    try:
        with opened(path) as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not lines or [name.strip() for name in lines[0].split(",")] != list(columns):
        raise InputError(f"{path}: line 1: expected the columns {','.join(columns)}")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        fields = [whole(field) for field in line.split(",")]
        row = [field for field in fields if field is not None]
        if len(fields) != 3 or len(row) != 3:
            raise InputError(f"{path}: line {number}: {quoted(line)}; expected three whole numbers")
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: nothing below the names of the columns; expected a row of three whole numbers")
    return rows


def parse_value(text: str) -> Any:
    """A value as TOML would read it; what is not TOML is a string."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    value = table.get("value")
    return text if len(table) != 1 or not _is_json(value) else value


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def apply_settings(document: Document, settings: Iterable[str]) -> Document:
    """The document with each ``dotted.key=value`` set, as `--set` on the command line."""
    result = copy.deepcopy(document)
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(f"--set {setting}: expected dotted.key=value, for example traffic.load=0.4")
        set_path(result, key.strip(), parse_value(value.strip()))
        if isinstance(result, Located):
            result.origin = result.origin.with_setting(key.strip(), setting)
    return result


def set_path(document: Document, path: str, value: Any) -> None:
    """Sets the key at a dotted path; tables on the way are made, a bare name becomes a table with that `kind`."""
    *parents, last = path.split(".")
    if len(parents) >= LEVELS:
        raise InputError(f"{quoted(path)}: expected a dotted path of at most {LEVELS} parts")
    if not all((*parents, last)):
        raise InputError(f"{quoted(path)}: expected a dotted path, for example traffic.load")
    here: Any = document
    for i, key in enumerate(parents):
        if isinstance(here, list):
            here = here[_index(here, key, path)]
            continue
        child = here.get(key)
        if isinstance(child, str):
            child = here[key] = {"kind": child}
        elif child is None:
            child = here[key] = {}
        elif not isinstance(child, dict | list):
            parent = ".".join(parents[: i + 1])
            raise InputError(f"{parent} = {quoted(child)}: not a table, so it has no key {quoted(path)}")
        here = child
    if isinstance(here, list):
        here[_index(here, last, path)] = copy.deepcopy(value)
    elif isinstance(here, dict):
        here[last] = copy.deepcopy(value)
    else:
        raise InputError(f"{path}: {'.'.join(parents)} is not a table")


def _index(values: list[Any], key: str, path: str) -> int:
    if key.isdecimal() and int(key) < len(values):
        return int(key)
    raise InputError(f"{path}: {quoted(key)} is not a position in a list of {len(values)}")


def get_path(document: Mapping[str, Any], path: str, default: Any = None) -> Any:
    """The value at a dotted path, or `default`."""
    here: Any = document
    for key in path.split("."):
        if isinstance(here, Mapping) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            return default
    return here


def flatten(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`(dotted path, value)` of every leaf; a list is a leaf."""
    for key, value in document.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{path}.")
        else:
            yield path, value


def paths(document: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted path of every key, tables included."""
    for key, value in document.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from paths(value, f"{prefix}{key}.")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known dotted name most like `name`: by all of it, or by its last part."""
    names = list(known)

    def score(candidate: str) -> float:
        whole = difflib.SequenceMatcher(None, name, candidate).ratio()
        last = difflib.SequenceMatcher(None, name.rsplit(".", 1)[-1], candidate.rsplit(".", 1)[-1]).ratio()
        return max(whole, 0.95 * last) + 0.01 * whole

    best = max(names, key=score, default=None)
    return best if best is not None and score(best) >= 0.6 else None


def hint(name: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)``, or nothing if no known name is near."""
    found = nearest(name, known)
    return f' (did you mean "{found}"?)' if found else ""


def canonical(document: Any) -> str:
    """JSON text that is the same for equal documents."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def to_json(document: Mapping[str, Any]) -> str:
    """JSON text of a scenario for the engine; refuses values that a scenario cannot hold."""
    document = _inlined(dict(document))
    try:
        return json.dumps(document, allow_nan=False)
    except (TypeError, ValueError):
        for path, value in flatten(document):
            if not _is_json(value):
                what = "expected a finite number, a string, true, false, a list or a table"
                raise InputError(f"{path} = {quoted(value)}: {what}", path) from None
        raise


def complete(scenario: Source) -> Document:
    """The scenario validated, with every default filled in. Raises `ScenarioError` if it cannot be simulated."""
    completed: Document = json.loads(_asked(_phit.complete, _looked_at(scenario)))
    return completed


def _looked_at(source: Source) -> Document:
    """The same as `load` gives, to be read alone: tables of a given document are the caller's."""
    if not isinstance(source, Mapping):
        return load(source)
    check_values(source)
    document = Located(source, source.origin) if isinstance(source, Located) else dict(source)
    document.pop(REFERENCE, None)
    return document


def _asked(question: Callable[[str], str], document: Document) -> str:
    """The engine's answer about a document."""
    with located(document):
        return question(to_json(document))


def routes(scenario: Source) -> list[list[int]]:
    """The routing tables of a scenario: for each router the output port for every destination."""
    found: list[list[int]] = json.loads(_asked(_phit.routes, load(scenario)))
    return found


def verify(scenario: Source) -> Document:
    """Proves the routes of a scenario free of deadlock by their channel dependency graph, or shows why not.

    `proved` is true, false, or `None` for a routing mechanism whose routes the proof cannot follow. If it is
    false, `reason` says why, and `cycle` lists the channels (`router`, `port`, `vc`) that can wait in a circle; in a
    network with names with their router and port in words, as `name`.

    Of tables with layers `routes` says what all routes are like: `pairs` of endpoints and how many are `reachable`;
    `hops`, how many pairs take so many links between routers, and `hops_mean`; `nonminimal` pairs; `loads`, how many
    links, each in one direction, are taken by so many pairs, and `load_mean`; `layers` and `channels` that they take.

    Of a network from a file `network` says how many `routers`, `endpoints` and `links` between routers were read, and
    `left_out` lists what was not taken: `what`, `count`, and where the `first` stands.
    """
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; a proof is about one scenario")
    leave_out(document)
    # Once: files may be large.
    with located(document):
        whole_document = _inlined(document)
    report: Document = json.loads(_asked(_phit.verify, whole_document))
    topology = document.get("topology")
    if isinstance(topology, dict) and "file" in topology:
        section = whole_document["topology"]
        report["network"] = counted(section)
        report["left_out"] = section.get("left_out", [])
    return report
