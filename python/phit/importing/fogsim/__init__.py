"""FOGSim, versions 2 (2015) and 5 (2019): its configurations as scenarios, and its printed output."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from phit.importing.fogsim.configuration import Configuration, settings_of
from phit.importing.fogsim.printed import printed
from phit.importing.fogsim.scenario import translate
from phit.importing.found import Findings, Imported
from phit.importing.settings import Setting

__all__ = ["of_settings", "printed", "read"]


def read(files: Sequence[Path], settings: Iterable[str] = ()) -> Imported:
    """The scenario of configuration files, then of settings `KEY=VALUE`; later files and settings override."""
    findings = Findings()
    translate(Configuration(settings_of(files, settings), findings))
    return findings.finished("fogsim", files)


def of_settings(settings: Mapping[str, str]) -> Imported:
    """The scenario of settings that stand in no file."""
    findings = Findings()
    translate(Configuration((Setting(key, value) for key, value in settings.items()), findings))
    return findings.finished("fogsim", ())
