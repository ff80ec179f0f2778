"""Scenarios that the engine completes and checks without a run."""

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
    """The validated scenario with every default filled in. Raises `ScenarioError` if it cannot be simulated."""
    completed: Document = json.loads(_asked(_phit.complete, for_reading(scenario)))
    return completed


def _asked(question: Callable[[str], str], document: Document) -> str:
    """The engine's answer about a document."""
    with located(document):
        return question(to_json(document))


def routes(scenario: Source) -> list[list[int]]:
    """The routing tables of a scenario: for each router, the output port for every destination."""
    found: list[list[int]] = json.loads(_asked(_phit.routes, load(scenario)))
    return found


def verify(scenario: Source) -> Document:
    """Proves by the channel dependency graph that the routes of a scenario cannot deadlock, or shows a cycle.

    `proved` is true, false, or `None` if the proof cannot follow the routes of the routing mechanism. If it is false,
    `reason` says why, and `cycle` lists the channels (`router`, `port`, `vc`) that can wait for each other in a cycle.
    If the network has names, each channel has a `name`, too, with its router and port in words.

    For routing tables with layers, `routes` describes all routes:

    - `pairs` of endpoints, and how many of them are `reachable`;
    - `hops`: the number of pairs for each number of links between routers, and `hops_mean`;
    - `nonminimal` pairs;
    - `loads`: the number of links, each in one direction, for each number of pairs that use it, and `load_mean`;
    - the `layers` and `channels` that the routes use.

    For a network from a file, `network` counts the `routers`, `endpoints` and `links` between routers that were read.
    `left_out` lists the things that were not: `what`, `count`, and the place of the `first`.
    """
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; verify one scenario")
    leave_out(document)
    # Inlined only once, because files may be large.
    with located(document):
        whole_document = inlined(document)
    report: Document = json.loads(_asked(_phit.verify, whole_document))
    topology = document.get("topology")
    if isinstance(topology, dict) and "file" in topology:
        section = whole_document["topology"]
        report["network"] = counted(section)
        report["left_out"] = section.get("left_out", [])
    return report
