"""Inlines into a document the contents of the files that it names, as the engine needs them."""

import copy
import csv
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import phit._phit as _phit
from phit import mechanisms
from phit.base.errors import InputError
from phit.base.files import opened, opened_bytes
from phit.base.text import quoted, whole
from phit.document import Document
from phit.document.named_files import programs, shares
from phit.document.origins import Located
from phit.document.paths import flatten, get_path, is_json
from phit.document.sections import SECTIONS
from phit.reading.fabrics import INFINIBAND


def inlined(document: Document) -> Document:
    """The document with the contents of all files that it names."""
    document = _with_functions(_with_graph(document))
    routing, traffic = document.get("routing"), document.get("traffic")
    tables = isinstance(routing, dict) and ("file" in routing or isinstance(routing.get("layers"), str))
    trace = traffic.get("trace") if isinstance(traffic, dict) else None
    named = next(programs(document), None) or next(shares(document), None)
    if not tables and not isinstance(trace, str | dict) and named is None:
        return document
    found = copy.deepcopy(document)
    for where, program, key in list(shares(found)):
        read = _requests if key == "trace" else _numbers
        program[key] = read(Path(program[key]), f"{where}.{key}")
    for key, program in programs(found):
        # The engine reads the file itself. The digest distinguishes points whose files have the same name but not the
        # same contents.
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
    """The document with the source text of its Python functions, and all of their parameters."""
    if not mechanisms.names_any(document):
        return document
    plain = copy.deepcopy(document)
    found = Located(plain, document.origin) if isinstance(document, Located) else plain
    for path, table in mechanisms.tables(found):
        table.update(mechanisms.completed(path, table))
        table.pop("file", None)
    return found


def _with_graph(document: Document) -> Document:
    """The document with the network that `topology.file` names.

    Properties that the file gives to links count like keys of `router.links`, but keys of the scenario take precedence.
    """
    topology, routing = document.get("topology"), document.get("routing")
    fabric = isinstance(topology, dict) and topology.get("kind") == INFINIBAND
    kind = routing.get("kind") if isinstance(routing, dict) else routing
    if kind == INFINIBAND and not fabric:
        expected = f'expected topology.kind = "{INFINIBAND}", whose tables these are'
        raise InputError(f'routing.kind = "{kind}": {expected}', "routing.kind")
    if not isinstance(topology, dict) or not (fabric or (topology.get("kind") == "graph" and "file" in topology)):
        return document
    # Here and below, modules that many commands do not need are imported on use, so that commands start sooner.
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
        # A bandwidth for all endpoints replaces the bandwidths of single endpoints in the file.
        section.pop("endpoint_bandwidth", None)
    router = found.get("router", {})
    if isinstance(router, str):
        router = found["router"] = {"kind": router}
    written = router.get("links", {}) if isinstance(router, dict) else None
    if not isinstance(written, dict) or not all(isinstance(table, dict) for table in written.values()):
        # The engine reports the error.
        links = {}
    for name, keys in links.items():
        for key, value in keys.items():
            given = get_path(found.get("router", {}), "links", {})
            # The file's virtual lanes are how many a port could have; the scenario's are how many it has.
            general = given.get("default", {}).get(key) if key == "vcs" else None
            if given.get(name, {}).get(key, general) is None:
                found.setdefault("router", {}).setdefault("links", {}).setdefault(name, {})[key] = value
    if isinstance(document, Located):
        return Located(found, document.origin)
    return found


def _digest(path: Path, key: str) -> str:
    """The digest of a program: of its file, or of the files of all its ranks."""
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


def names_of(document: Document) -> dict[str, list[str]]:
    """The names of the network's routers and endpoints, of a file or of the document; none where it has none."""
    topology = inlined(document).get("topology")
    names = topology.get("names") if isinstance(topology, dict) else None
    return names or {}


def _rows(path: Path, columns: tuple[str, str, str]) -> list[list[int | str]]:
    """The rows of a CSV file with three columns: two of numbers or names, and one of whole numbers.

    Further columns, such as those of names beside numbers, are not read.
    """
    try:
        with opened(path) as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    head = [name.strip() for name in lines[0].split(",")] if lines else []
    if head[:3] != list(columns):
        raise InputError(f"{path}: line 1: expected the columns {','.join(columns)}")
    rows: list[list[int | str]] = []
    # A row has one line: no name has a line break.
    for number, (line, fields) in enumerate(zip(lines[1:], csv.reader(lines[1:]), strict=True), 2):
        last = whole(fields[2]) if len(fields) == len(head) else None
        if last is None or not all(field.strip() for field in fields[:2]):
            what = f"expected {len(head)} fields, the first two numbers or names, the third a whole number"
            raise InputError(f"{path}: line {number}: {quoted(line)}; {what}")
        ends = ((whole(field), field) for field in fields[:2])
        rows.append([*(field if known is None else known for known, field in ends), last])
    if not rows:
        raise InputError(f"{path}: no rows below the heading; expected rows of three whole numbers")
    return rows


def _numbers(path: Path, key: str, each: str = "layer") -> list[list[float]]:
    """The rows of a CSV file of numbers without a heading."""
    try:
        with opened(path) as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{key}: {path}: cannot be read ({reason})", key) from None
    rows: list[list[float]] = []
    for number, (line, fields) in enumerate(zip(lines, csv.reader(lines), strict=True), 1):
        try:
            row = [float(field) for field in fields]
        except ValueError:
            row = []
        if not row or not all(math.isfinite(value) and value >= 0 for value in row):
            what = "expected numbers of 0 or more, separated by commas"
            raise InputError(f"{key}: {path}: line {number}: {quoted(line)}; {what}", key)
        rows.append(row)
    if not rows:
        raise InputError(f"{key}: {path}: expected a line of numbers for each {each}, found none", key)
    return rows


def _requests(path: Path, key: str) -> list[list[float | int]]:
    """The rows of a CSV file of requests without a heading: arrival in nanoseconds, prompt and output in tokens."""
    rows: list[list[float | int]] = []
    for number, row in enumerate(_numbers(path, key, "request"), 1):
        if len(row) != 3 or any(value != int(value) for value in row[1:]):
            what = "expected a time of arrival, the tokens of the prompt and the tokens to be generated"
            raise InputError(f"{key}: {path}: line {number}: {quoted(','.join(map(str, row)))}; {what}", key)
        rows.append([row[0], int(row[1]), int(row[2])])
    return rows


def to_json(document: Mapping[str, Any]) -> str:
    """JSON text of a scenario for the engine. Refuses values that a scenario cannot hold."""
    document = inlined(dict(document))
    try:
        return json.dumps(document, allow_nan=False)
    except (TypeError, ValueError):
        for path, value in flatten(document):
            if not is_json(value):
                what = "expected a finite number, a string, true, false, a list or a table"
                raise InputError(f"{path} = {quoted(value)}: {what}", path) from None
        raise
