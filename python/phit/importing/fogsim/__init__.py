"""FOGSim, the release of 2015: its configurations as scenarios, and its printed output."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from phit.importing.fogsim.configuration import Configuration, settings_of
from phit.importing.fogsim.printed import printed
from phit.importing.fogsim.scenario import translate
from phit.importing.found import Findings, Imported

__all__ = ["printed", "read"]


def read(files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
    """The scenario of configuration files, then of settings `KEY=VALUE`; later files and settings override."""
    findings = Findings()
    translate(Configuration(settings_of(files, settings), findings))
    return findings.finished("fogsim", files)
