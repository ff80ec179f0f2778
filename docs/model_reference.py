"""Writes the pages of the reference, and the table of kinds in README, from the declarations in the code.

The pages are kept in the repository, where a web page of a host shows them, too.
"""

import json
import re
import runpy
from collections.abc import Iterable
from pathlib import Path

import phit
from phit import _phit
from phit.base.files import write_text
from phit.base.markdown import markdown_table
from phit.document.keys import REQUIRED, WORDS, Key, Schema, keys, resolved
from phit.document.labels import label_of
from phit.document.schema import described, of_kind
from phit.store.quantities import OBSERVABLES, QUANTITIES, SATURATED_BELOW, TABLES, TOTALS, Named, Quantity

HERE = Path(__file__).resolve().parent

TITLES = {
    "topology": "Topologies",
    "router": "Routers",
    "routing": "Routing mechanisms",
    "queueing": "Queue organisations",
    "congestion": "Congestion controls",
    "pattern": "Traffic patterns",
    "process": "Injection processes",
    "packet_size": "Packet sizes",
    "allocator": "Allocators",
    "probe": "Probes",
    "workload": "Workloads",
    "placement": "Placements",
}

SECTIONS = ("units", "planes", "traffic", "workload", "measure", "sweep", "plot", "cluster")
"""The sections whose keys do not depend on a kind."""

PLACES = {
    "topology": "[topology]",
    "router": "[router]",
    "routing": "[routing]",
    "queueing": "[queueing]",
    "congestion": "[congestion]",
    "pattern": "traffic.pattern",
    "process": "traffic.process",
    "packet_size": "traffic.packet_size",
    "allocator": "router.allocator",
    "probe": "measure.probes",
    "workload": "[workload]",
    "placement": "workload.placement",
}

NOTES = {
    "router": (
        "Without `kind` it is the input-queued router, or, with a table `node`, the packet-level node. "
        'Router cycles are link cycles unless `clock = "crossbar"`. Links are described by class: `CLASS` is '
        "`endpoint` or a class of the topology (`local` and `global` in a Dragonfly, `dim0`, `dim1`, ... in grids, "
        "`level1`, `level2`, ... in a folded Clos network), and a class takes what it does not say from the class "
        "`default`."
    ),
    "traffic": "The offered traffic: who sends what to whom and when.",
    "measure": "What is measured and for how long.",
}

INTRODUCTION = """# Model reference

*For everyone who writes scenarios: every kind and every key, with its values, its default and its meaning.*

`make schema` writes this page from the descriptions in the engine's source. `phit list` and `phit schema` show them on
the command line.

A key without a default may be left out unless it is required; its meaning says what happens then. `CLASS` stands for
the name of a class of links, `[]` for each table of a list. A number that counts cycles, phits or bytes may also be
written as a quantity with its unit, as `"200 ns"`.

## Top level
"""

HEAD = ("| key | value | meaning |", "| --- | --- | --- |")


def page() -> str:
    """The Markdown of the whole page."""
    schema = described()
    scalars = {name: value for name, value in schema["properties"].items() if value.get("type") in WORDS}
    top = [row(key) for key in keys({"properties": scalars}, schema)]
    parts = [INTRODUCTION, "\n".join([*HEAD, *top])]
    for name in SECTIONS:
        section = resolved(schema.get("properties", {}).get(name, {}), schema)
        if "properties" in section:
            note = NOTES.get(name, section["description"].removeprefix(f"`[{name}]`: "))
            parts += [f"## `[{name}]`", note[:1].upper() + note[1:], table(section, schema)]
    for concept, entries in phit.catalogue().items():
        parts.append(f"## {TITLES.get(concept, concept)}")
        parts.append(f"In a scenario: `{PLACES[concept]}`." if concept in PLACES else "")
        parts.append(NOTES.get(concept, ""))
        if concept == "routing":
            parts += [MECHANISMS, mechanisms(entries)]
        for entry in entries:
            own = table(of_kind(concept, entry["kind"], entry["schema"]), schema)
            parts += [f"### {concept}: `{entry['kind']}`", entry["description"].strip(), own or "No keys."]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


MECHANISMS = """The table has the name of each mechanism in figures and its paper, with the section if the paper has
several mechanisms. The last column has the virtual channels that it needs on small networks of several kinds, by class
of links. `phit verify` says whether the channels of a scenario's own network are enough."""

NETWORKS: dict[str, Schema] = {
    "Dragonfly": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2},
    "mesh": {"kind": "mesh", "dims": [4, 4]},
    "torus": {"kind": "torus", "dims": [4, 4]},
    "HyperX": {"kind": "hyperx", "dims": [4, 4], "endpoints_per_router": 2},
    "folded Clos": {"kind": "clos", "down": [4, 4], "up": [4]},
}
"""Networks on which mechanisms are asked for the channels that they need."""


def mechanisms(entries: Iterable[Schema]) -> str:
    """A row for each routing mechanism: its name, its paper, and the virtual channels that it needs."""
    rows = [
        (f"`{one['kind']}`", label_of(one["kind"]), paper(one["description"]), needs(one["kind"])) for one in entries
    ]
    return markdown_table(("kind", "in figures", "paper and section", "virtual channels"), rows)


def paper(description: str) -> str:
    """The paper that a description cites first, with its section if it says which."""
    text = " ".join(description.split("```")[0].split())
    cited = re.findall(r"\(([^()]*(?:\b(?:19|20)\d\d\b|section [IVX\d])[^()]*(?:\([^()]*\)[^()]*)*)\)", text)
    return cell(cited[0].replace("contention paper", CONTENTION)) if cited else "–"


CONTENTION = "[Fuentes et al., IPDPS 2015](studies/contention.md)"
"""The paper that descriptions call the contention paper."""


def needs(kind: str) -> str:
    """The virtual channels that a mechanism needs on each of `NETWORKS` that it is for."""
    found: dict[str, list[str]] = {}
    for name, topology in NETWORKS.items():
        document = {"topology": topology, "routing": kind, "traffic": {"load": 0.1}}
        try:
            needed = json.loads(_phit.channels(json.dumps(document)))["needed"]
        except phit.ScenarioError:
            continue
        same = set(needed.values())
        words = str(same.pop()) if len(same) == 1 else ", ".join(f"{vcs} {cls}" for cls, vcs in needed.items())
        found.setdefault(words, []).append(name)
    return "; ".join(f"{words} ({', '.join(names)})" for words, names in found.items()) or "by its own keys"


def table(schema: Schema, root: Schema) -> str:
    """A table of the keys of a schema and of the tables within it; empty without keys."""
    rows = [row(key) for key in keys(schema, root)]
    return "\n".join([*HEAD, *rows]) if rows else ""


def row(key: Key) -> str:
    """A key as a row of a Markdown table."""
    return f"| `{key.path}` | {cell(key.type)}{default(key)} | {meaning(key)} |"


def meaning(key: Key) -> str:
    """The description of a key, with the names that it may take and what each of them means."""
    return cell(key.meaning + "".join(f'<br>`"{name}"`: {text}' for name, text in key.names))


def default(key: Key) -> str:
    """The default of a key, on a separate line; empty for a key without a default that is not required."""
    if key.has_default:
        return f"<br>default: `{cell(key.default)}`"
    return "<br>**required**" if key.default == REQUIRED else ""


def cell(text: str) -> str:
    """Text as a cell of a Markdown table; asterisks outside of code stand for themselves."""
    code_apart = " ".join(text.split()).replace("|", "\\|").split("`")
    code_apart[::2] = [words.replace("*", "\\*") for words in code_apart[::2]]
    return "`".join(code_apart)


RESULTS = f"""# Results

*For everyone who reads results: every quantity and every column of every table, with its unit and its meaning.*

A run gives the quantities of its summary (`phit run --json`, attributes of `phit.Result`, columns of `points.parquet`)
and tables. `make schema` writes this page from the declarations in the engine's source. On the command line `phit list
quantities` and `phit list tables` show them.

## Saturation

A run is saturated if it accepts less than a share of {SATURATED_BELOW:g} of the load that was offered in the measured
time. Lost packets count as accepted here. The quantity `saturated`, the triangles of plots and the tables of studies
all follow this rule. `phit saturate` takes a load as sustained from that share on, unless `--share` says otherwise.
"""

QUANTITY_NOTES = """## Quantities of a summary

A missing quantity is `null`. If a quantity is a table, its columns in `points.parquet` have dotted names, as
`fairness.jain` or `hops.local`. *Headline* is the place of a quantity in the output of `phit run`. A summary also has
the `version` of Phit and the complete `scenario`.
"""

OWNERS = {
    "scenario": "Of the scenario: known before anything has run",
    "model": "Of the model: measured, and the same on every machine, for any number of threads and partitions",
    "machine": "Of the machine: how the run was executed, and what it cost",
}


def results() -> str:
    """The Markdown of the page about results."""
    parts = [RESULTS, QUANTITY_NOTES]
    for owner, words in OWNERS.items():
        rows = [quantity_row(q) for q in QUANTITIES.values() if q.of == owner]
        head = ("quantity", "unit", "meaning", "there", "interval", "headline")
        parts.append(f"{words}:\n\n{markdown_table(head, rows)}")
    composed = (quantity for quantity in QUANTITIES.values() if quantity.parts)
    parts += [f"Parts of `{quantity.name}`:\n\n{named(quantity.parts, 'part')}" for quantity in composed]
    parts += ["### Names in `queueing`", "Counts of managed queue organisations:", named(TOTALS, "name")]
    parts.append("## Tables")
    for table_ in TABLES.values():
        there = f" There {table_.there}." if table_.there else ""
        parts += [f"### Table `{table_.name}`", table_.description + there, named(table_.columns, "column")]
    parts.append(PROBE_NOTES)
    for probe, observables in OBSERVABLES.items():
        parts += [f"### Quantities of the probe `{probe}`", named(observables, "quantity")]
    return "\n\n".join(part.strip() for part in parts) + "\n"


PROBE_NOTES = """## Quantities of probes

A probe looks at the network at a fixed interval of the measured time and records values. Each value belongs to a place:
a class of links, a router, a port, a virtual channel. A row of the table `probes` holds number, mean and largest of the
values of one look for one place. The summary's `probes` has the means over all looks of the values for all routers
together. They are named by the quantity and, if classes of links are distinguished, the class: `fullest`, `input
local`.
"""


def quantity_row(quantity: Quantity) -> tuple[str, ...]:
    """A quantity as a row."""
    interval = f"`{quantity.interval}`" if quantity.interval else ""
    meaning = f"{quantity.title.removesuffix(f' ({quantity.unit})')}. {quantity.description}"
    there = quantity.there or "always"
    return (f"`{quantity.name}`", quantity.unit, cell(meaning), there, interval, str(quantity.rank or ""))


def named(entries: Iterable[Named], head: str) -> str:
    """A table of declarations."""
    rows = ((f"`{entry.name}`", entry.unit, cell(entry.description)) for entry in entries)
    return markdown_table((head, "unit", "meaning"), rows)


def pages() -> dict[str, str]:
    """All pages of the reference, by the names of their files."""
    others = {name: runpy.run_path(str(HERE / f"{name}_reference.py"))["page"]() for name in ("commands", "errors")}
    return {"model.md": page(), "results.md": results()} | {f"{name}.md": text for name, text in others.items()}


README = HERE.parent / "README.md"


def readme() -> str:
    """README with its table of kinds as the catalogue has them."""
    text = README.read_text(encoding="utf-8")
    rows = (
        (concept, ", ".join(f"`{entry['kind']}`" for entry in entries)) for concept, entries in phit.catalogue().items()
    )
    table = markdown_table(("concept", "kinds"), rows)
    return re.sub(r"(?<=\n## All kinds\n\n).*?(?=\n\n)", lambda _: table, text, flags=re.DOTALL)


if __name__ == "__main__":
    write_text(README, readme())
    for name, text in pages().items():
        write_text(HERE / name, text)
