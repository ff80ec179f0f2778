"""Contents of results are declared once: everything that shows results follows from the declarations."""

import json
import re
import runpy
from pathlib import Path
from typing import Any, get_type_hints

import phit
import polars as pl
import pytest
from mypy import api
from phit import _attributes
from phit.drawing import plots
from phit.store import quantities
from phit.store.folder import summary_row
from phit.store.quantities import HEADLINES, MACHINE, OBSERVABLES, QUANTITIES, SATURATED_BELOW, TABLES, Quantity

from .conftest import ROOT, Cli, Write, tiny

PAGE: str = runpy.run_path(str(ROOT / "docs" / "model_reference.py"))["results"]()


@pytest.fixture(scope="module")
def result() -> phit.Result:
    asked = {"warmup": 200, "cycles": 600, "links": True, "endpoints": True, "series": {"bin": 50}, "order": True}
    asked["flows"] = [{"name": "all"}]
    precise = {"precision": {"latency_mean": 0.01}, "max_cycles": 600}
    traffic = tiny()["traffic"] | {"classes": [{}]}
    return phit.run(tiny(measure={**asked, **precise, "probes": ["buffers"]}, traffic=traffic))


@pytest.fixture(scope="module")
def program() -> phit.Result:
    barrier = {"program": {"kind": "collective", "collective": "barrier", "ranks": 4}}
    asked = dict.fromkeys(("messages", "operations", "tracks", "phases"), True)
    document = tiny(units={"phit": "8 B"}, workload={"kind": "jobs", "job": [barrier]}, measure=asked)
    return phit.run({key: table for key, table in document.items() if key != "traffic"})


@pytest.fixture(scope="module")
def served() -> phit.Result:
    """A run of requests to a language model."""
    workload = {"kind": "inference", "cache_bytes": 8, "times": {"pass": 100}, "trace": [[0.0, 10, 3], [5.0, 10, 1]]}
    document = tiny(units={"phit": "8 B", "cycle": "1 ns"}, workload=workload)
    return phit.run({key: table for key, table in document.items() if key not in ("traffic", "measure")})


@pytest.fixture(scope="module")
def repeated() -> phit.Result:
    """A run of several iterations of a program."""
    workload = {"kind": "collective", "collective": "barrier", "repeat": {"iterations": 2}}
    document = tiny(units={"phit": "8 B"}, workload=workload)
    return phit.run({key: table for key, table in document.items() if key not in ("traffic", "measure")})


@pytest.fixture(scope="module")
def controlled() -> phit.Result:
    """A run with a congestion control, which has no classes."""
    pattern = {"kind": "hotspot", "targets": [0], "share": 1.0}
    control = {"kind": "infiniband", "threshold": 15}
    return phit.run(tiny(congestion=control, traffic=tiny()["traffic"] | {"pattern": pattern, "load": 0.9}))


def test_a_summary_has_the_declared_quantities_in_order(result: phit.Result) -> None:
    assert list(result) == [*QUANTITIES, "version", "scenario"]
    assert set(MACHINE) == {q for q in QUANTITIES if q.endswith(("seconds", "bytes", "threads", "partitions"))} - {
        "cycle_seconds"
    }


def test_tables_have_the_declared_columns_and_types(
    result: phit.Result,
    program: phit.Result,
    served: phit.Result,
    repeated: phit.Result,
    controlled: phit.Result,
) -> None:
    types = {
        "number": pl.Float64,
        "whole": pl.Int64,
        "flag": pl.Boolean,
        "text": pl.String,
        "wholes": pl.List(pl.Int64),
        "texts": pl.List(pl.String),
    }
    # Tables of a program and tables of a measurement without a program never occur together.
    tables = program.tables | served.tables | repeated.tables | result.tables | controlled.tables
    assert tables.keys() == TABLES.keys()
    for name, table in tables.items():
        # Columns of names exist for networks with names.
        columns = [column for column in TABLES[name].columns if not column.name.endswith(("_name", "_names"))]
        assert dict(table.schema) == {c.name: types[c.cell] for c in columns}


def test_the_attributes_are_those_that_are_declared(result: phit.Result) -> None:
    assert _attributes.main(["--check"]) == 0, "`make attributes` writes python/phit/store/_results.py anew"
    for name, quantity in QUANTITIES.items():
        assert getattr(result, name) == result[name]
        hint = get_type_hints(getattr(phit.Result, name).fget)["return"]
        assert (type(None) in getattr(hint, "__args__", ())) == (quantity.there is not None)


def test_a_type_checker_finds_a_misspelt_attribute(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "from phit import Result\n"
        "def shown(r: Result) -> None:\n"
        "    reveal_type(r.accepted_load)\n"
        "    reveal_type(r.latency_mean)\n"
        "    reveal_type(r.saturated)\n"
        "    print(r.acepted_load)\n"
    )
    config = tmp_path / "mypy.ini"
    # Types of libraries are not checked: this takes long and tells nothing here.
    config.write_text(
        f"[mypy]\nmypy_path = {ROOT / 'python'}\nfollow_imports = silent\n[mypy-polars.*]\nfollow_imports = skip\n"
    )
    found, errors, status = api.run(["--config-file", str(config), "--cache-dir", str(tmp_path / "c"), str(snippet)])
    assert (status, errors) == (1, "")
    revealed = [text.replace("builtins.", "") for text in re.findall(r'Revealed type is "(.*)"', found)]
    assert revealed in (["float", "float | None", "bool"], ["float", "Union[float, None]", "bool"])
    assert '6: error: "Result" has no attribute "acepted_load"' in found


def test_list_shows_quantities_and_tables(cli: Cli) -> None:
    everything = cli("list")[1]
    listed = cli("list", "quantities")[1]
    assert all(re.search(rf"^  {name} ", listed, re.MULTILINE) for name in QUANTITIES)
    assert listed in everything
    one = cli("list", "quantities", "latency_mean")[1]
    assert all(word in one for word in ("mean packet latency", "cycles", "latency_ci", "if packets were recorded"))
    assert "jain" in cli("list", "quantities", "fairness")[1]
    probes = cli("list", "tables", "probes")[1]
    assert all(f"{probe}: {o.name}" in probes for probe, observables in OBSERVABLES.items() for o in observables)
    status, out, err = cli("list", "quantities", "latency_men")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert 'did you mean "latency_mean"' in err


def test_columns_have_words_and_units(result: phit.Result) -> None:
    title = plots.title_of
    assert title("traffic.load") == title("offered_load") == "Offered load (phits/(endpoint·cycle))"
    assert title("latency_p99") == "99th percentile of packet latency (cycles)"
    assert title("fairness.jain") == "Jain's index of the injected loads"
    assert title("link_utilisation.local.mean") == "Mean link utilisation, local (share of capacity)"
    assert title("hops.global") == "Mean hops by class of links, global (links between routers)"
    assert title("probes.input local") == "Phits in an input queue, local (phits)"
    assert title("probes.input lines") == "Lines in use at inputs (lines)"
    assert title("queueing.detections") == "Congested points detected"
    assert title("latency", "histogram") == "Packet latency (cycles)"
    assert title("router.latency") == "router.latency"
    assert title("fairness") == "fairness", "no column: it has parts"
    # Every number of a summary is known, and the completion knows what every run has.
    numbers = [k for k, v in summary_row(result.summary).items() if isinstance(v, int | float) and k != "version"]
    assert all(quantities.find(name) for name in numbers), numbers
    assert {name for name in numbers if "." not in name} <= set(quantities.columns())


def test_the_shell_completes_columns() -> None:
    from phit.cli.showing import columns

    assert ("latency_p99", "99th percentile of packet latency (cycles)") in columns("latency_")
    assert all(name.startswith("fairness.") for name, _ in columns("fairness."))


def test_a_misspelt_column_is_answered_with_the_nearest(cli: Cli, write: Write, tmp_path: Path) -> None:
    assert cli("run", write(tiny()), "--out", tmp_path / "r")[0] == 0
    status, _, err = cli("plot", tmp_path / "r", "--y", "latency_men")
    assert (status, err.count("\n")) == (2, 1)
    assert 'did you mean "latency_mean"' in err
    assert "`phit list quantities`" in err


def test_headlines_follow_ranks(result: phit.Result) -> None:
    assert [q.rank for q in HEADLINES] == list(range(1, len(HEADLINES) + 1))
    shown = [name for name, _, _ in result.headlines()]
    assert shown == [q.words for q in HEADLINES if result[q.name] is not None]


def test_the_page_has_every_quantity_and_column() -> None:
    def row(name: str, unit: str) -> bool:
        return f"| `{name}` | {unit} | " in PAGE

    assert all(row(q.name, q.unit) for q in QUANTITIES.values())
    assert all(row(c.name, c.unit) for table in TABLES.values() for c in table.columns)
    assert all(row(o.name, o.unit) for observables in OBSERVABLES.values() for o in observables)
    assert f"less than a share of {SATURATED_BELOW:g} of the load" in PAGE
    assert "drain_cycles" in PAGE
    assert "control_utilisation" in PAGE


def test_there_is_one_rule_of_saturation(result: phit.Result) -> None:
    from inspect import signature

    assert result.saturated == (result.accepted_load < SATURATED_BELOW * result.offered_load)
    assert signature(phit.saturate).parameters["share"].default == SATURATED_BELOW
    saturated = QUANTITIES["saturated"].description
    assert f"{SATURATED_BELOW:g}" in saturated
    # Nothing else in the package has a rule of its own.
    own = [p for p in (ROOT / "python" / "phit").rglob("*.py") if re.search(r"SATURATED_SHARE", p.read_text())]
    assert own == []


def test_times_are_shown_of_cycles_only() -> None:
    def declared(quantity: Quantity) -> bool:
        return quantity.unit == "cycles" or not (quantity.time or quantity.diverges)

    assert all(declared(q) for q in QUANTITIES.values())


def test_the_catalogue_is_json_of_one_shape() -> None:
    found: dict[str, Any] = json.loads(phit._phit.quantities())
    assert set(found) == {"quantities", "tables", "observables", "totals", "saturated_below"}
