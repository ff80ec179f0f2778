"""Configurations of BookSim as scenarios."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from phit.importing.booksim.configuration import Configuration
from phit.importing.booksim.measure import measure
from phit.importing.booksim.network import network
from phit.importing.booksim.router import router
from phit.importing.booksim.traffic import traffic
from phit.importing.found import Findings, Imported
from phit.importing.settings import Setting, Status, written
from phit.peers import booksim_branch

NAME = "booksim"


def read(files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
    """The scenario of configuration files, read one after another, and then of settings `KEY=VALUE`."""
    findings = Findings()
    given = Configuration.settings_of(files, settings)
    if booksim_branch.is_branch([setting.key for setting in given]):
        return branch(given, files)
    return _imported(Configuration(given, findings, files[0].parent if files else Path()), files)


def branch(given: Sequence[Setting], files: Sequence[Path]) -> Imported:
    """The scenario of a configuration of the branches for congestion control."""
    findings = Findings()
    last = {setting.key: setting for setting in given}
    read_as = booksim_branch.Branch({key: written(setting.value) for key, setting in last.items()})
    refusals = read_as.refusals()
    for refusal in refusals:
        findings.refuse(last[refusal.key], refusal.reason)
    if not refusals:
        try:
            document = read_as.scenario()
        except booksim_branch.InexpressibleError as error:
            findings.refuse(last.get(error.key, Setting(error.key, error.value)), error.reason)
        else:
            seed = last.get("seed")
            findings.put("seed", read_as.whole("seed"), *([seed] if seed else []))
            for section, value in document.items():
                findings.put(section, value)
            if "trace" in document["traffic"]:
                words = "the messages are drawn here, by the seed, and stand in the scenario one by one"
                findings.note(Status.DROPPED, last.get("traffic", "traffic"), words)
    for key, reason in booksim_branch.WITHOUT_EFFECT.items():
        if key in last:
            findings.note(Status.IGNORED, last[key], reason)
    return findings.finished(NAME, files)


def of_settings(settings: Iterable[Setting], folder: Path = Path()) -> Imported:
    """The scenario of settings; files that they name are in `folder`."""
    return _imported(Configuration(settings, Findings(), folder), ())


def _imported(given: Configuration, files: Sequence[Path]) -> Imported:
    measure(given)
    # Other parts need properties of the network, such as the number of endpoints.
    found = network(given)
    if found is not None:
        router(given, found)
        traffic(given, found)
    if not given.findings.errors or found is not None:
        given.about_the_rest()
    return given.findings.finished(NAME, files)
