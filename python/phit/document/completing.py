"""Scenarios completed and checked by the engine, without a run."""

import json
from collections.abc import Callable

import phit._phit as _phit
from phit.base.errors import InputError
from phit.base.left_out import counted
from phit.document import Document, Source
from phit.document.inlining import inlined, to_json
from phit.document.loading import for_reading, load
from phit.document.origins import located
from phit.document.sections import leave_out


def complete(scenario: Source) -> Document:
    """The scenario validated, with every default filled in. Raises `ScenarioError` if it cannot be simulated."""
    completed: Document = json.loads(_asked(_phit.complete, for_reading(scenario)))
    return completed


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
        whole_document = inlined(document)
    report: Document = json.loads(_asked(_phit.verify, whole_document))
    topology = document.get("topology")
    if isinstance(topology, dict) and "file" in topology:
        section = whole_document["topology"]
        report["network"] = counted(section)
        report["left_out"] = section.get("left_out", [])
    return report
