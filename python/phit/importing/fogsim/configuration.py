"""A FOGSim configuration: `Key=Value` in the section `[CONFIG]`, comments from `#`."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from phit.base.errors import InputError
from phit.base.nearest import hint
from phit.base.text import quoted
from phit.importing.fogsim.keys import KEYS, VERSIONS
from phit.importing.found import Findings
from phit.importing.settings import Setting, Status
from phit.importing.text import text_of

MOST_DIGITS = 9

WORDS_OF_5 = {
    "routing": ("OBL", "ACOR", "SRC_ADP", "PB_ACOR", "PAR", "CAR", "RLM", "MIN_COND"),
    "Traffic": ("ADVc", "UN_RCTV", "ADV_RANDOM_NODE_RCTV", "HOTREGION", "HOTSPOT", "RANDOMPERMUTATION"),
}
"""Values of keys that version 2 does not know."""


def settings_of(files: Sequence[Path], settings: Iterable[str]) -> Iterator[Setting]:
    """The settings of files, one after another, and then those given as `KEY=VALUE`."""
    for path in files:
        section = ""
        for number, written in enumerate(text_of(path).splitlines(), 1):
            line, place = written.strip(), f"{path}:{number}"
            if not line or line.startswith("#"):
                continue
            if line.startswith("[") and line.endswith("]"):
                section = line[1:-1]
                continue
            if "=" not in line:
                raise InputError(f"{place}: {quoted(line)}; expected `Key=Value`")
            if section == "CONFIG":
                yield _setting(line, place)
    for setting in settings:
        yield _setting(setting, f"setting {quoted(setting)}")


def _setting(text: str, place: str) -> Setting:
    key, _, value = text.partition("=")
    return Setting(key.strip(), value.strip(), place)


class Configuration:
    """Settings over defaults, with a record of the settings that have been read."""

    def __init__(self, settings: Iterable[Setting], findings: Findings) -> None:
        self.findings = findings
        self.given: dict[str, Setting] = {}
        self.read: set[str] = set()
        for setting in settings:
            if setting.key not in KEYS:
                findings.refuse(setting, f"cannot be expressed, or FOGSim knows no such key{hint(setting.key, KEYS)}")
            self.given[setting.key] = setting
        self.version = self._version()

    def __getitem__(self, key: str) -> Setting:
        """The setting of a key, or its default."""
        self.read.add(key)
        if key in self.given:
            return self.given[key]
        default = KEYS[key].default
        if default is None:
            self.findings.refuse(Setting(key, ""), "FOGSim needs it: expected a value")
        setting = Setting(key, default or "")
        self.given.setdefault(key, setting)
        return setting

    def _version(self) -> int:
        """The version whose rules apply."""
        if "Version" in self.given:
            return int(self.one_of("Version", *VERSIONS))
        later = any(name in KEYS and KEYS[name].since > 2 for name in self.given)
        words = (name in self.given and self.given[name].value in of_5 for name, of_5 in WORDS_OF_5.items())
        return 5 if later or any(words) else 2

    def text(self, key: str) -> str:
        """The value as it is written."""
        return str(self[key].value)

    def whole(self, key: str, least: int = 0, most: int = 1 << 24) -> int:
        """A whole number between bounds; after a refusal, the lower bound."""
        setting = self[key]
        text = str(setting.value)
        digits = text.removeprefix("-").removesuffix(".0")
        if digits.isdecimal() and len(digits) <= MOST_DIGITS and least <= (value := int(float(text))) <= most:
            return value
        if text or KEYS[key].default is not None:
            self.findings.refuse(setting, f"expected a whole number, {least} to {most}")
        return least

    def number(self, key: str, most: float) -> float:
        """A number from 0 on; after a refusal, 0."""
        setting = self[key]
        try:
            value = float(str(setting.value))
        except ValueError:
            value = -1.0
        if 0 <= value <= most:
            return value
        if setting.value or KEYS[key].default is not None:
            self.findings.refuse(setting, f"expected a number, 0 to {most:g}")
        return 0.0

    def one_of(self, key: str, *choices: str) -> str:
        """One of several words; after a refusal, the first."""
        found = self.text(key)
        if found in choices:
            return found
        if found or KEYS[key].default is not None:
            self.findings.refuse(self[key], f"cannot be expressed; expected {' or '.join(choices)}")
        return choices[0]

    def about_the_rest(self) -> None:
        """Records the treatment of settings that nothing has read."""
        for name, setting in self.given.items():
            key = KEYS.get(name)
            if key is None or name in self.read:
                continue
            if key.status is Status.REFUSED:
                if setting.value != key.default:
                    self.findings.refuse(setting, f"cannot be expressed: {key.words}")
            elif key.status is Status.TAKEN:
                self.findings.note(Status.IGNORED, setting, "has no effect with these settings")
            else:
                self.findings.note(key.status, setting, key.words)
