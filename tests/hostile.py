"""Hostile texts, and properties that every answer to them must have: common parts of the tests of trust."""

import copy
import os
from typing import Any

from hypothesis import HealthCheck
from hypothesis import strategies as st
from phit.base import text

FIXTURES = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
MORE = int(os.environ.get("PHIT_MORE", "1"))
"""Factor by which examples are more numerous."""

UNFORESEEN = "unexpected failure"

SMALL: dict[str, Any] = {
    "topology": {"kind": "single", "endpoints": 4},
    "traffic": {"load": 0.1},
    "measure": {"warmup": 10, "cycles": 100, "series": {"bin": 50}, "links": True},
}
LOADS = {"product": {"traffic.load": [0.1, 0.2]}}

HOSTILE = (
    "</script><hostile>",
    "<!--<script><hostile>",
    "]]></title><hostile/>",
    "[/x]",
    "[bold red]x[/bold red] :smile:",
    "=HYPERLINK(1)",
    "@SUM(A1)",
    "+1+cmd|x",
    "-2+3",
    "a|b\n|c\td",
    "[x](javascript:y) ![z](http://w) `v`",
    "{0} %s \\ \\x1b $e^{x}$ \"' &amp;",
)
"""Texts that can stand in a document, and mean something somewhere."""

HIDDEN = st.text(max_size=4).flatmap(
    lambda around: st.sampled_from("\x00\x07\x08\x1b\r\x7f\x9b\u202e\u2066\ufeff\ufffe\U000e0041").map(
        lambda hidden: around + hidden + around
    )
)


def small(**sections: Any) -> dict[str, Any]:
    return copy.deepcopy(SMALL) | sections


def plain_words(said: str) -> None:
    """Text for a terminal has no hidden characters."""
    assert not text.HIDDEN.search(said.replace("\n", "").replace("\t", "")), said


def one_error(status: int, err: str) -> None:
    """One line, and an exit status."""
    assert UNFORESEEN not in err
    lines = [line for line in err.splitlines() if line.startswith("phit: error:")]
    assert status in (0, 1, 2)
    assert len(lines) == (status != 0), err
    assert "Traceback" not in err
    plain_words(err)
