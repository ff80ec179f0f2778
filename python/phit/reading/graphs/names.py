"""Names of nodes from files, as `[topology.names]` has them."""

import re
from collections.abc import Sequence

from phit.base.text import plain, shortened

LONGEST = 120
"""Maximum number of characters of a name; a longer one loses its middle."""


NUMBERED = re.compile(r"(n|node|v|vertex)?[0-9]+(::(n|node)?[0-9]+)*", re.ASCII)
"""Identities that editors and libraries number: `12`, `n0`, within groups `n3::n0` (yEd)."""


def called(identity: str, label: str) -> str:
    """The name of a node: its label if its identity is a mere number or an editor's, otherwise its identity."""
    return label if NUMBERED.fullmatch(identity) else identity


def distinct(names: Sequence[str], identities: Sequence[str]) -> list[str]:
    """Names that can be shown and differ from each other: equal names get their identities behind them."""
    pairs = list(zip(names, identities, strict=True))
    shown = [plain(shortened(" ".join(name.split()), LONGEST)) or identity for name, identity in pairs]
    count: dict[str, int] = {}
    for name in shown:
        count[name] = count.get(name, 0) + 1
    found: list[str] = []
    taken = {name for name, times in count.items() if times == 1}
    for place, (name, identity) in enumerate(zip(shown, identities, strict=True)):
        apart = name
        if count[name] > 1:
            apart = f"{name} ({plain(shortened(identity, LONGEST // 2))})"
            # Another node may have the same name with an identity behind it.
            apart = f"{apart} {place}" if apart in taken else apart
            taken.add(apart)
        found.append(apart)
    return found
