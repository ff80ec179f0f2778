"""The known name that a misspelt one was meant to be."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known dotted name most similar to `name`, compared as a whole or by the last part."""
    names = list(known)

    def score(candidate: str) -> float:
        whole = difflib.SequenceMatcher(None, name, candidate).ratio()
        last = difflib.SequenceMatcher(None, name.rsplit(".", 1)[-1], candidate.rsplit(".", 1)[-1]).ratio()
        return max(whole, 0.95 * last) + 0.01 * whole

    best = max(names, key=score, default=None)
    return best if best is not None and score(best) >= 0.6 else None


def hint(name: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)``, or an empty string if no known name is similar."""
    found = nearest(name, known)
    return f' (did you mean "{found}"?)' if found else ""
