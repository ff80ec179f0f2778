"""Mechanisms in Python: decisions, execution and consent, and errors."""

import importlib.util
import json
import linecache
import re
import textwrap
from pathlib import Path
from typing import Any

import phit
import pytest
from phit import mechanisms
from phit.document.inlining import to_json
from phit.mechanisms import execution, sources
from phit.running import executors
from phit.store.folder import read_table

from .conftest import ROOT, Cli, Write, tiny

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")

MINE = """\
import math
from pathlib import Path

import phit

LIMIT = 2
ELSEWHERE = Path(__file__) if False else Path("executed")
Path("executed").touch()


def over(heads, limit):
    return heads - limit > 0


@phit.trigger
def base(view, packet, threshold=LIMIT):
    return over(view.heads(view.minimal), threshold)
""".replace("=LIMIT)", "=2)")

CALM = """
@base.admits
def calm(view, packet, port, threshold=2):
    return view.heads(port) < threshold
"""


@pytest.fixture(autouse=True)
def _without_consent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # To be put back afterwards, if a command sets it.
    monkeypatch.setenv(mechanisms.CONSENT, "0")
    monkeypatch.setattr(mechanisms, "_own", set())
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE + CALM)
    return path


def contended(routing: Any, **changes: Any) -> dict[str, Any]:
    pattern = {"kind": "adversarial", "offset": 1}
    return tiny(routing=routing, traffic__pattern=pattern, traffic__load=0.3, measure__cycles=1500, **changes)


def measured(result: phit.Result) -> dict[str, Any]:
    return {q: result[q] for q in ("accepted_load", "latency_mean", "packets", "hops_mean", "misrouted")}


def test_base_in_a_file_is_base_and_needs_consent(mine: Path, cli: Cli, write: Write) -> None:
    table = {"kind": "python_trigger", "file": mine.name, "function": "base", "parameters": {"threshold": 3}}
    document = write(contended(table), "mine.json")
    status, out, err = cli("run", document)
    assert (status, out) == (2, "")
    assert re.search(r'mine\.json: routing\.function = "base": this scenario executes Python code', err)
    status, out, err = cli("run", document, "--json", "--trust-python")
    assert status == 0, err
    summary = json.loads(out)
    engine = phit.run(contended({"kind": "contention_base", "threshold": 3}))
    assert measured(engine) == {key: summary[key] for key in measured(engine)}
    assert summary["misrouted"] > 0.2
    # Only the parts of the file that the function needs were executed.
    assert not Path("executed").exists()
    routing = summary["scenario"]["routing"]
    assert routing["parameters"] == {"threshold": 3.0}
    assert "def over(heads, limit):" in routing["source"]
    assert not any("Path" in line for line in routing["source"])
    # The completed scenario is all that it takes, on any number of threads.
    for threads in (1, 2):
        assert measured(phit.run(summary["scenario"], threads=threads)) == measured(engine)


def test_nothing_is_executed_before_a_run(cli: Cli, write: Write, tmp_path: Path) -> None:
    hostile = "import phit\nfrom pathlib import Path\n\nLIMIT = Path('executed').touch() or 2\n\n\n"
    rest = "@phit.trigger\ndef base(view, packet, threshold=2):\n    return view.heads(view.minimal) > LIMIT\n"
    (tmp_path / "hostile.py").write_text(hostile + rest)
    table = {"kind": "python_trigger", "file": "hostile.py", "function": "base"}
    document = write(contended(table) | {"sweep": {"product": {"traffic.load": [0.1, 0.2]}}}, "hostile.json")
    points = phit.Experiment.read(document).points()
    assert any("touch" in line for line in points[0].scenario["routing"]["source"])
    for command in (["verify"], ["run"], ["run", "--out", "x"], ["saturate", "--out", "x"]):
        cli(command[0], write(contended(table), "one.json"), *command[1:])
    assert cli("sweep", document, "--out", "x")[0] == 2
    assert not Path("x").exists()
    # Results of somebody who has consented: made of a function that does no harm, and then changed.
    harmless = contended({"kind": "contention_base"}) | {"sweep": {"name": "x"}}
    phit.sweep(harmless, "results", workers=1)
    for path in [*Path("results/points").iterdir(), Path("results/manifest.json")]:
        text = path.read_text()
        content = json.loads(text)
        for part in (content.get("scenario", {}), content.get("summary", {}).get("scenario", {})):
            part["routing"] = points[0].scenario["routing"]
        content.pop("digest", None)
        path.write_text(json.dumps(content))
    for words in (["report", "results"], ["plot", "results"], ["sweep", document, "--out", "results"]):
        cli(*words)
    read_table(Path("results"))
    assert not Path("executed").exists()
    monkey = phit.run  # and with consent it is
    with pytest.raises(phit.InputError, match="trust_python"):
        monkey(points[0].scenario)
    phit.trust_python()
    phit.run(points[0].scenario)
    assert Path("executed").exists()


def test_parameters_are_swept_and_the_source_is_kept(mine: Path, tmp_path: Path) -> None:
    table = {"kind": "python_trigger", "file": str(mine), "function": "base"}
    document = contended(table) | {"sweep": {"product": {"routing.parameters.threshold": [1, 3]}}}
    phit.trust_python()
    frame = phit.sweep(document, tmp_path / "out", workers=1)
    assert frame["routing.parameters.threshold"].to_list() == [1, 3]
    assert frame["latency_mean"].n_unique() == 2
    hashes = [point.hash for point in phit.Experiment.read(document).points()]
    for point in (tmp_path / "out" / "points").iterdir():
        assert (
            "def base(view, packet, threshold=2):"
            in json.loads(point.read_text())["summary"]["scenario"]["routing"]["source"]
        )
    # A change elsewhere in the file makes no other point, one of the function does.
    mine.write_text("# A comment.\n" + MINE + CALM)
    assert [point.hash for point in phit.Experiment.read(document).points()] == hashes
    mine.write_text(MINE.replace("> 0", ">= 1") + CALM)
    assert not {point.hash for point in phit.Experiment.read(document).points()} & set(hashes)


def test_a_process_of_a_sweep_trusts_the_one_that_has_asked(mine: Path) -> None:
    table = {"kind": "python_trigger", "file": str(mine), "function": "base"}
    text = to_json(contended(table))
    with pytest.raises(phit.InputError, match="executes Python code"):
        execution.run(text)
    assert json.loads(executors.execute(0, text))["summary"]["packets"] > 0


def in_a_cell(text: str, name: str, **known: Any) -> Any:
    """The value that a cell of a notebook defines under a name."""
    file = f"<cell {len(linecache.cache)}>"
    text = textwrap.dedent(text)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"phit": phit, "__name__": "__main__", **known}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


RULE = """
@phit.rule
def mine(view, packet, threshold=2):
    minimal = view.minimal
    if packet.hops > 0 or view.heads(minimal) <= threshold:
        return minimal
    found = 0
    for port in range(view.ports):
        if fits(view, packet, port, threshold):
            found += 1
    if found == 0:
        return minimal
    number = view.below(found)
    for port in range(view.ports):
        if fits(view, packet, port, threshold):
            if number == 0:
                return port
            number -= 1
    return minimal


def fits(view, packet, port, threshold):
    if port == view.minimal or not view.permits(packet, port):
        return False
    return view.takes(port, 0, packet.size) and view.heads(port) < threshold
"""


def test_a_rule_is_what_the_engine_does_by_the_same_rule() -> None:
    def of(routing: Any) -> dict[str, Any]:
        links = {"default": {"latency": 5, "vcs": 3, "buffer": 32}}
        return tiny(
            topology={"kind": "slim_fly", "q": 3}, router__links=links, routing=routing, traffic__pattern="permutation",
            traffic__load=0.7, measure__cycles=1500,
        )  # fmt: skip

    own = phit.run(of(in_a_cell(RULE, "mine").table({"hops": 3}, threshold=1)))
    engine = phit.run(of({"kind": "contention_graph", "threshold": 1}))
    assert own.latency_mean == engine.latency_mean
    assert own["hops_mean"] == engine["hops_mean"] > 1.5
    assert own["misrouted"] > 0.01
    assert phit.verify(of(own.scenario["routing"]))["proved"] is True


def test_patterns_and_probes_are_what_the_engine_does_by_the_same_rule() -> None:
    pattern = in_a_cell(
        """
        @phit.pattern
        def mine(view, offset=1):
            return (view.source + offset) % view.endpoints if view.router(view.source) >= 0 else -1
        """,
        "mine",
    )
    probe = in_a_cell(
        """
        @phit.probe
        def held(view):
            phits = 0
            for queue in range(view.queues):
                phits += view.input_phits(queue)
            return phits if phits > 0 else -1
        """,
        "held",
    )
    probes = [held := probe.table({"every": 50, "by": "port", "unit": "phits"})]
    own = phit.run(tiny(traffic__pattern=pattern.table(offset=9), measure__probes=probes))
    engine = phit.run(
        tiny(traffic__pattern={"kind": "shift", "offset": 9}, measure__probes=[{"kind": "ports", "every": 50}])
    )
    assert measured(own) == measured(engine)
    columns = ("cycle", "router", "port", "count", "mean", "max")
    assert own.tables["probes"].select(columns).equals(engine.tables["probes"].select(columns))
    assert set(own.tables["probes"]["quantity"]) == {"held"}
    mixed = {"kind": "mix", "parts": [{"weight": 1, "pattern": pattern.table(offset=9)}]}
    assert phit.run(tiny(traffic__pattern=mixed)).packets > 0
    assert held["source"][0] == "@phit.probe" or held["source"][0].startswith("import phit")


BODIES = [
    ("return view.heads(view.minimal) > view.random()", 4, "Unknown attribute 'random'"),
    ("x = 1\n    return view.haeds(0) > x", 5, "Unknown attribute 'haeds'"),
    ("return undefined(view)", 4, "undefined: expected a name that the file defines or imports"),
    ("return view.heads(", 4, "not valid Python"),
    ("return [view, 'a'][packet]", 4, ""),
]


@pytest.mark.parametrize(("body", "line", "words"), BODIES, ids=lambda value: str(value)[:20])
def test_what_cannot_be_compiled_is_told_with_its_line(
    body: str, line: int, words: str, tmp_path: Path, cli: Cli, write: Write
) -> None:
    (tmp_path / "wrong.py").write_text(f"import phit\n@phit.trigger\ndef mine(view, packet):\n    {body}\n")
    table = {"kind": "python_trigger", "file": "wrong.py", "function": "mine"}
    status, out, err = cli("run", write(contended(table), "wrong.json"), "--trust-python")
    assert (status, out) == (2, ""), err
    assert f"wrong.py:{line}: " in err, err
    assert words in err
    assert err.count("\n") == 1
    assert "\x1b" not in err


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"function": "base"}, "routing.file: this key is missing"),
    ({"file": "mine.py"}, "routing.function: this key is missing"),
    ({"file": "none.py", "function": "base"}, "no such file"),
    ({"file": "mine.py", "function": "bas"}, "expected one of base"),
    ({"file": "mine.py", "function": "over"}, "expected a function decorated by phit.trigger"),
    ({"file": "mine.py", "function": "base", "source": ["x"]}, "leave one of the two out"),
    ({"source": "x", "function": "base"}, "routing.source: expected a list of lines"),
    ({"file": "mine.py", "function": "base", "parameters": {"treshold": 1}}, 'did you mean "threshold"'),
    ({"file": "mine.py", "function": "base", "parameters": {"threshold": 1.5}}, "expected a whole number"),
    ({"file": "mine.py", "function": "base", "parameters": {"threshold": "a"}}, "routing.parameters.threshold = 'a'"),
    ({"file": "mine.py", "function": "base", "parameters": 3}, "routing.parameters = 3: expected a table"),
]


@pytest.mark.parametrize(("keys", "words"), WRONG, ids=lambda value: str(value)[:40])
@pytest.mark.usefixtures("mine")
def test_bad_input_is_told_by_its_key(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(phit.InputError, match=re.escape(words)):
        phit.complete(contended({"kind": "python_trigger", **keys}))


def test_defaults_are_numbers(tmp_path: Path) -> None:
    for signature, words in (
        ("view, packet, threshold", "expected a number as default of the parameter threshold"),
        ("view, packet, threshold='a'", "expected a number as default of the parameter threshold"),
        ("view", "expected 2 arguments"),
        ("view, packet, *rest", "expected 2 arguments"),
    ):
        (tmp_path / "mine.py").write_text(f"import phit\n@phit.trigger\ndef mine({signature}):\n    return True\n")
        with pytest.raises(phit.InputError, match=re.escape(words)) as raised:
            phit.complete(contended({"kind": "python_trigger", "file": "mine.py", "function": "mine"}))
        assert "mine.py:3: " in str(raised.value)


RAISING: list[tuple[str, str, str]] = [
    ("trigger", "return view.heads(99) > 0", "the router has no such port"),
    ("rule", "return 99", "a port that view.permits does not permit"),
]


@pytest.mark.parametrize(("role", "body", "words"), RAISING, ids=lambda value: str(value)[:20])
def test_what_a_function_raises_ends_the_run(role: str, body: str, words: str) -> None:
    own = in_a_cell(f"@phit.{role}\ndef mine(view, packet):\n    {body}\n", "mine")
    with pytest.raises(phit.SimulationError, match=re.escape(words)):
        phit.run(contended(own.table(), router__links__local__vcs=6, router__links__global__vcs=6))
    # And the next run is a run as any other.
    phit.run(tiny())


def test_the_notebook_runs() -> None:
    notebook = json.loads((ROOT / "examples" / "mechanisms.ipynb").read_text(encoding="utf-8"))
    scope: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        text, name = "".join(cell["source"]), f"<ipython-input-{number}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), scope)
    assert len(scope["rows"]) == 3
    for _, python, engine, misrouted in scope["rows"]:
        assert python == engine
        assert misrouted > 0.1
    # Definitions of other cells are in the source.
    text = "\n".join(scope["softly"].table()["source"])
    assert "SLOPE = 0.4" in text
    assert "import math" in text
    assert "def share(heads):" in text


def test_a_function_without_a_text_is_refused() -> None:
    scope: dict[str, Any] = {"phit": phit}
    exec("@phit.trigger\ndef mine(view, packet):\n    return True\n", scope)
    with pytest.raises(phit.InputError, match="its source text is unknown"):
        scope["mine"].table()


def test_a_function_can_be_called_as_it_is() -> None:
    own = in_a_cell("@phit.trigger\ndef mine(view, packet, least=3):\n    return view > least\n", "mine")
    assert own(4, None)
    assert not own(4, None, least=5)
    assert repr(own) == "<phit.trigger mine>"


def test_only_what_is_needed_is_taken(mine: Path) -> None:
    source = sources.of_file(mine, "base", "python_trigger", "routing")
    text = "\n".join(source.lines)
    assert "LIMIT" not in text
    assert "import math" not in text
    assert text.startswith("import phit\n")
    # The text stands for itself.
    assert sources._extracted(text, "x", "base", "python_trigger", "routing").lines == source.lines


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("x = {}\n    return x['a'] > 2", 6),
        ("x = []\n    return len(x) > 2", 6),
        ("return 10**30 > threshold", 6),
        ("x = 1\n    yield x", 5),
        ("with open('x') as f:\n        x = 1\n    return x > 2", 5),
        ("try:\n        x = 1\n    except ValueError as e:\n        x = 2\n    return x > 2", 8),
        ("x = f'{threshold:03d}'\n    return len(x) > 2", 5),
        ("class A:\n        pass\n    return 1 > 2", 6),
        ("x = 1\n    return view.nothing > x", 7),
        ("return helper(threshold)\n\n\ndef helper(x):\n    y = x + 1\n    return y.foo", 11),
    ],
)
def test_whatever_cannot_be_compiled_is_told_with_a_line(body: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        f"import phit\n\n\n@phit.trigger\ndef base(view, packet, threshold=2):\n    {body}\n"
    )
    phit.trust_python()
    table = {"kind": "python_trigger", "file": "own.py", "function": "base"}
    with pytest.raises(phit.InputError, match=rf"own\.py:{line}: base cannot be compiled: \w"):
        phit.run(contended(table))


def test_what_is_raised_is_told_with_a_place(tmp_path: Path) -> None:
    text = "import phit\n\n\n@phit.trigger\ndef base(view, packet, threshold=2):\n    return view.heads(9999) > 2\n"
    (tmp_path / "own.py").write_text(text)
    phit.trust_python()
    table = {"kind": "python_trigger", "file": "own.py", "function": "base"}
    with pytest.raises(phit.SimulationError, match=r"no such port \(in base, own\.py:5\)"):
        phit.run(contended(table))
