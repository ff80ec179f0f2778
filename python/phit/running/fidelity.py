"""How far the fluid network is from the exact routers, on a sample of a scenario.

The sample is the scenario with fewer bytes, ranks and repetitions. Both networks run it. The difference is then looked
for in one property after another: the exact network runs the sample with longer buffers, and with smaller packets, and
the fluid network runs it with the other rule of sharing, and with or without head-of-line blocking.
"""

import copy
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import phit._phit as _phit
from phit.base.errors import InputError
from phit.document import Document, Source
from phit.document.completing import complete
from phit.document.loading import load
from phit.document.paths import get_path
from phit.document.sections import APART

if TYPE_CHECKING:
    import polars as pl

    from phit.store.result import Result

FLUID = ("sharing", "sources", "head_of_line")
"""Keys of the fluid router that routers do not have."""

KEPT = ("kind", "latency", "links")
"""Keys of routers that the fluid network has, too."""

WITHOUT = ("queueing", "measure.probes")
"""What only routers can have, besides keys of `router`."""

RANKS = 64
"""Ranks of a sample, at most, where the program can have fewer."""

REQUESTS = 16
"""Requests of a sample of inference, at most."""

TIMES = 2
"""Repetitions of a sample, at most."""

BUDGET = 4e5
"""Packets of a sample, at most, if its messages keep `LEAST` packets."""

LEAST = 16
"""Packets of the largest message of a sample, at least, or as many as it has."""

SMALL = 0.01
"""Errors below this have no cause worth looking for."""

CAUSES = ("head-of-line blocking", "arbitration", "buffers", "packets")
"""What the fluid network leaves out, or has by a rule."""


@dataclass(frozen=True)
class Cause:
    """What becomes of the error if one property of the model changes."""

    name: str
    """One of `CAUSES`."""
    change: str
    """What was changed, in words."""
    error: float
    """The error of the completion with it."""


@dataclass(frozen=True)
class Fidelity:
    """A sample of a scenario on the exact network and on the fluid network."""

    scenario: Document = field(repr=False)
    """The sample on the fluid network."""
    sample: list[str]
    """How the sample differs from the scenario, in words; empty if it does not."""
    exact: "Result" = field(repr=False)
    fluid: "Result" = field(repr=False)
    causes: list[Cause]
    """Empty if the error is small."""

    @property
    def error(self) -> float:
        """How much later the fluid network completes the program than the exact one, as a share; negative: earlier."""
        error: float = self.fluid["completion"] / max(self.exact["completion"], 1) - 1
        return error

    @property
    def cause(self) -> str:
        """The property that changes the error most towards 0; `none` of a small error, `unknown` if nothing helps."""
        if abs(self.error) < SMALL:
            return "none"
        best = min(self.causes, key=lambda cause: abs(cause.error), default=None)
        return best.name if best is not None and abs(best.error) < abs(self.error) * 0.7 else "unknown"

    @property
    def messages(self) -> "pl.DataFrame":
        """The messages of both runs: source, destination, tag, bytes, number, exact and fluid (arrivals), and error.

        Messages that agree in the first four are told apart by `number`: their order of posting.
        """
        import polars as pl

        same = ["source", "destination", "tag", "bytes"]
        number = pl.int_range(pl.len()).over(same).alias("number")
        exact, fluid = (
            run.tables["messages"].select(*same, number, pl.col("last").alias(name))
            for name, run in (("exact", self.exact), ("fluid", self.fluid))
        )
        both = exact.join(fluid, on=[*same, "number"], validate="1:1")
        return both.with_columns(error=pl.col("fluid") / pl.col("exact") - 1).sort(*same, "number")

    @property
    def message_error(self) -> float:
        """The mean over messages of the error of their arrival, whatever its sign."""
        mean: float = self.messages["error"].abs().mean() or 0.0  # type: ignore[assignment]
        return mean

    @property
    def phases(self) -> "pl.DataFrame":
        """By phase of the program: the mean time over ranks on both networks, and the error.

        Columns: phase, kind, exact, fluid, error. Empty for a program that has no phases.
        """
        import polars as pl

        def means(result: "Result", name: str) -> "pl.DataFrame":
            table = result.tables.get("phases")
            if table is None:
                return pl.DataFrame(schema={"phase": pl.Int64, "kind": pl.String, name: pl.Float64})
            time = (pl.col("end") - pl.col("start")).mean().alias(name)
            return table.group_by("phase", "kind").agg(time)

        both = means(self.exact, "exact").join(means(self.fluid, "fluid"), on=["phase", "kind"])
        error = pl.when(pl.col("exact") > 0).then(pl.col("fluid") / pl.col("exact") - 1)
        return both.with_columns(error=error).sort("phase")

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers and texts."""
        return {
            "completion_exact": self.exact["completion"],
            "completion_fluid": self.fluid["completion"],
            "error": self.error,
            "message_error": self.message_error,
            "cause": self.cause,
            "causes": [{"name": c.name, "change": c.change, "error": c.error} for c in self.causes],
            "phases": self.phases.to_dicts(),
            "sample": self.sample,
        }


def fidelity(scenario: Source, *, threads: int = 1, whole: bool = False, causes: bool = True) -> Fidelity:
    """Runs a sample of a scenario on the fluid network and on the exact one.

    The scenario may be of either; the other gets its links and the latency of its routers. With `whole` the sample is
    the scenario itself. Without `causes` the cause of an error is not looked for.

    Raises:
        InputError: the scenario has no workload, or a router that is neither of the two.
        ScenarioError: one of the two networks cannot run it.
        SimulationError: the program can never end.
    """
    from phit.running.run import run

    document = {key: value for key, value in load(scenario).items() if key not in APART}
    if "workload" not in document:
        raise InputError(
            "workload: the fluid network carries the messages of a program; expected [workload]", "workload"
        )
    full = complete(document)
    exact, fluid = both(full)
    words: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        if not whole:
            words = _reduce(exact, Path(folder))
            fluid["workload"] = exact["workload"]
        found = {name: run(of, threads=threads) for name, of in (("exact", exact), ("fluid", fluid))}
        error = found["fluid"]["completion"] / max(found["exact"]["completion"], 1) - 1
        tried = list(_causes(exact, fluid, found, threads)) if causes and abs(error) >= SMALL else []
    return Fidelity(fluid, words, found["exact"], found["fluid"], tried)


def on_fluid(scenario: Source) -> Document:
    """The workload's scenario on the fluid network, with the same links and routers of the same latency.

    The scenario may be of exact routers, or of the fluid network already.

    Raises:
        InputError: the scenario has a router that is neither of the two.
        ScenarioError: the scenario cannot be simulated.
    """
    document = load(scenario)
    if get_path(document, "router.kind") == "fluid":
        return document
    return _flows(complete({key: value for key, value in document.items() if key not in APART}))


def left_out(scenario: Source) -> list[str]:
    """The keys that a scenario sets and `on_fluid` leaves out, as dotted paths."""
    document = load(scenario)
    router = document.get("router", {})
    if not isinstance(router, dict) or router.get("kind") == "fluid":
        return []
    keys = [f"router.{key}" for key in router if key not in KEPT]
    return keys + [key for key in WITHOUT if get_path(document, key) is not None]


def _flows(full: Document) -> Document:
    """`on_fluid`, of a complete scenario."""
    router = full["router"]
    kind = _kind(full)
    fluid = copy.deepcopy(full)
    if kind == "input_queued":
        fluid["router"] = {"kind": "fluid", "latency": router["latency"], "links": copy.deepcopy(router["links"])}
    elif kind != "fluid":
        raise InputError(f'router.kind = "{kind}": expected "input_queued" or "fluid"', "router.kind")
    fluid["queueing"] = {"kind": "virtual_channels"}
    fluid.get("measure", {}).pop("probes", None)
    return fluid


def _kind(full: Document) -> str:
    """The kind of router of a complete scenario."""
    router = full["router"]
    kind: str = router.get("kind", "packet_node" if "node" in router else "input_queued")
    return kind


def both(full: Document) -> tuple[Document, Document]:
    """A complete scenario on exact routers and on the fluid network, with what a comparison asks for."""
    fluid, exact = _flows(full), copy.deepcopy(full)
    if _kind(full) == "fluid":
        exact["router"] = {key: value for key, value in full["router"].items() if key not in (*FLUID, "kind")}
    for document in (exact, fluid):
        document["measure"] = {"messages": True, "phases": True}
        document["workload"].pop("repeat", None)
    return exact, fluid


def _reduce(document: Document, folder: Path) -> list[str]:
    """Makes a scenario small: its ranks, its repetitions, then the bytes of its messages. Returns the changes."""
    workload, words = document["workload"], []
    repeat = workload.pop("repeat", None)
    if repeat is not None and repeat["iterations"] > 1:
        words.append(f"1 of {repeat['iterations']:,} iterations")
    if workload.get("kind") == "inference" and (workload.get("requests") or 0) > REQUESTS:
        words.append(f"{REQUESTS} of {workload['requests']:,} requests")
        workload["requests"] = REQUESTS
    if "file" in workload:
        return _reduce_file(document, folder)
    for table in _tables(workload):
        times = table.get("times")
        if isinstance(times, int) and times > TIMES:
            table["times"] = TIMES
            words.append(f"{TIMES} of {times:,} repetitions")
    if workload.get("kind") in ("collective", "incast", "permutation") and not workload.get("communicators"):
        ranks = workload.get("ranks") or json.loads(_phit.endpoints(json.dumps(document)))
        if ranks > RANKS and workload.get("placement", {}).get("kind") != "list" and not workload.get("matrix"):
            workload["ranks"] = RANKS
            words.append(f"{RANKS} of {ranks:,} ranks")
    share = _share(document, _messages(document))
    if share < 1.0:
        for table in _tables(workload):
            for key, value in table.items():
                if key.endswith("bytes") and isinstance(value, int):
                    table[key] = max(1, round(value * share))
        words.append(f"{share:.2g} of the bytes of each message")
    return words


def _reduce_file(document: Document, folder: Path) -> list[str]:
    """The same of a program in a file: the bytes of its messages."""
    workload = document["workload"]
    share = _share(document, _messages(document))
    if share == 1.0:
        return []
    options = json.dumps(workload.get("options") or {})
    program = json.loads(_phit.workload_read(Path(workload["file"]), options))
    for rank in program["ranks"]:
        for operation in rank["operations"]:
            if operation[0] != 0:
                operation[1] = max(1, round(operation[1] * share))
    target = folder / "sample.goal"
    _phit.workload_write(json.dumps(program), target)
    for key in ("options", "digest"):
        workload.pop(key, None)
    workload["kind"], workload["file"] = "goal", str(target)
    return [f"{share:.2g} of the bytes of each message"]


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    """All tables in a table, itself first."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _tables(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tables(inner)


def _messages(document: Document) -> "pl.Series":
    """The bytes of all messages of a scenario, which the ideal network carries in no time."""
    from phit.running.run import run
    from phit.running.workloads import without_contention

    quick = without_contention(document)
    quick["measure"] = {"messages": True}
    sizes: pl.Series = run(quick).tables["messages"]["bytes"]
    return sizes


def _share(document: Document, sizes: "pl.Series") -> float:
    """The share of the bytes of all messages that a sample keeps."""
    workload = document["workload"]
    phit_bytes = float(json.loads(_phit.units(json.dumps(document))).get("phit_bytes", 1))
    packet: float = max((workload["packet_size"] - workload["header"]) * phit_bytes, 1)
    packets, largest = float(sizes.sum()) / packet, float(sizes.max() or 0) / packet  # type: ignore[arg-type]
    if packets <= BUDGET or largest <= LEAST:
        return 1.0
    return min(1.0, max(BUDGET / packets, LEAST / largest))


def _causes(exact: Document, fluid: Document, found: "dict[str, Result]", threads: int) -> Iterator[Cause]:
    """The error with one property changed at a time."""
    from phit.running.run import run

    def changed(document: Document, path: tuple[str, ...], value: Any) -> "Result":
        other = copy.deepcopy(document)
        table = other
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value
        other["measure"] = {}
        return run(other, threads=threads)

    completion = {name: result["completion"] for name, result in found.items()}
    router = fluid["router"]
    blocking = not router.get("head_of_line", False)
    result = changed(fluid, ("router", "head_of_line"), blocking)
    words = "the fluid network with head-of-line blocking" if blocking else "the fluid network without it"
    yield Cause(CAUSES[0], words, result["completion"] / completion["exact"] - 1)
    sharing = "max_min" if router.get("sharing", "per_input") == "per_input" else "per_input"
    result = changed(fluid, ("router", "sharing"), sharing)
    yield Cause(
        CAUSES[1], f'the fluid network with sharing = "{sharing}"', result["completion"] / completion["exact"] - 1
    )
    links = copy.deepcopy(exact["router"]["links"])
    for link in links.values():
        if isinstance(link.get("buffer"), int):
            link["buffer"] *= 8
    result = changed(exact, ("router", "links"), links)
    yield Cause(CAUSES[2], "routers with eight times the buffers", completion["fluid"] / result["completion"] - 1)
    workload = exact["workload"]
    size = max(workload["packet_size"] // 2, workload["header"] + 1)
    if size < workload["packet_size"] and not workload["header"]:
        result = changed(exact, ("workload", "packet_size"), size)
        yield Cause(CAUSES[3], f"packets of {size} phits", completion["fluid"] / result["completion"] - 1)
