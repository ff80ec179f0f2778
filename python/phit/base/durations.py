"""Times as people write them: 2h, 90m, 1h30m."""

import re

from phit.base.errors import InputError

UNITS = {"h": 3600, "m": 60, "min": 60, "s": 1}
"""Seconds in each unit."""


def seconds(text: str, name: str) -> float:
    """The seconds in a time such as `2h`, `90m` or `1h30m`. `name` is the option or key that an error names."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(h|min|m|s)", text)
    if not parts or re.sub(r"\s", "", "".join(f"{number}{unit}" for number, unit in parts)) != re.sub(r"\s", "", text):
        raise InputError(f"{name} {text}: expected a time such as 2h, 90m or 1h30m")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def duration(seconds: float) -> str:
    """A time as people write it: 0.14 s, 8 s, 3 min 20 s, 2 h 5 min."""
    if 0.005 <= seconds < 0.995:
        return f"{seconds:.2f} s"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
