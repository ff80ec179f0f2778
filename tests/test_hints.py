"""Why a run is slow or saturated: every rule where it holds, and none where it does not."""

import re
from typing import Any

import phit
import pytest
from phit.document.paths import set_path
from phit.drawing.hints import PAGE, RULES, hints, watched
from phit.store.quantities import MACHINE

from .conftest import ROOT, Cli, Write, tiny

ADVERSARIAL = {"kind": "adversarial", "offset": 1}
SINGLE = {
    "topology": {"kind": "single", "endpoints": 8},
    "traffic": {"pattern": {"kind": "hotspot", "targets": [0], "share": 0.9}, "load": 0.5, "packet_size": 8},
    "measure": {"warmup": 500, "cycles": 1000},
}
UNIFORM = SINGLE | {"traffic": {"pattern": "uniform", "load": 0.9, "packet_size": 8}}


def run(document: dict[str, Any]) -> phit.Result:
    return phit.run(watched(document))


def adversarial(**changes: Any) -> dict[str, Any]:
    document = tiny(traffic__pattern=ADVERSARIAL, traffic__load=0.4, measure__warmup=2000, measure__cycles=2000)
    for path, value in changes.items():
        set_path(document, path.replace("__", "."), value)
    return document


@pytest.mark.parametrize(
    ("document", "there", "absent"),
    [
        (adversarial(), {"saturated", "where-packets-wait", "few-links", "full-queues", "unfair"}, {"shallow-buffers"}),
        (
            adversarial(router__links__global__buffer=64),
            {"saturated", "shallow-buffers", "full-queues"},
            {"few-links", "no-full-link"},
        ),
        (adversarial(routing__kind="ugal_l"), {"saturated", "blind-adaptivity"}, {"shallow-buffers", "full-endpoints"}),
        (adversarial(routing__kind="ugal_l", router__links__local__buffer=256), set(), {"blind-adaptivity"}),
        (SINGLE, {"saturated", "full-endpoints", "where-packets-wait"}, {"few-links", "no-full-link"}),
        (UNIFORM, {"saturated", "no-full-link"}, {"few-links", "all-links"}),
    ],
    ids=["few links", "credits", "ugal", "deep ugal", "hot spot", "head of line"],
)
def test_what_limits_a_run_is_named(document: dict[str, Any], there: set[str], absent: set[str]) -> None:
    found = {hint.rule for hint in hints(run(document).summary)}
    assert there <= found
    assert not absent & found
    assert found <= set(RULES)


def test_a_calm_run_is_not_explained() -> None:
    assert hints(run(tiny(measure__warmup=1000, measure__cycles=4000)).summary) == []


def test_the_share_of_a_link_that_late_credits_leave_is_measured() -> None:
    for buffer in (32, 64):
        result = run(adversarial(router__links__global__buffer=buffer))
        expected = buffer / (2 * 100 + 5 + 2 * 8)
        assert result.summary["link_utilisation"]["global"]["max"] == pytest.approx(expected, rel=0.03)


def test_watching_a_run_changes_no_other_number() -> None:
    document = adversarial()
    left_out = {*MACHINE, "scenario", "probes", "engine_bytes"}
    bare, seen = (
        {key: value for key, value in result.summary.items() if key not in left_out}
        for result in (phit.run(document), run(document))
    )
    assert bare == seen
    assert watched(watched(document)) == watched(document)


def test_a_run_says_why(cli: Cli, write: Write) -> None:
    status, out, _ = cli("run", write(adversarial()))
    assert status == 0
    assert f"why (rules: {PAGE} of the guide)" in out
    assert re.search(r"^- a few global links are full \(9\d % used\).*\[few-links\]$", out, re.MULTILINE)
    status, out, _ = cli("run", write(tiny(measure__warmup=1000, measure__cycles=4000)))
    assert (status, "why" in out) == (0, False)


def test_the_guide_explains_every_rule_under_its_name() -> None:
    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## ([\w-]+)$", text, re.MULTILINE)) == RULES


def test_a_class_that_is_not_named_inherits_the_buffer_of_the_class_default() -> None:
    document = adversarial()
    document["router"]["links"] = {"default": {"latency": 10, "vcs": 3, "buffer": 512}}
    full = {
        "saturated": True,
        "probes": {"input endpoint": 83.0},
        "link_utilisation": {"endpoint": {"mean": 0.5, "max": 0.9}},
    }
    found = hints({**full, "scenario": phit.complete(document), "offered_load": 0.4, "accepted_load": 0.1})
    assert "full-queues" not in {hint.rule for hint in found}
