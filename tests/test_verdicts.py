"""Verdicts that know their margin: errors of values, checks, revised rules and facts, and runs within a budget."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from phit.base.errors import InputError
from phit.running.where import Where
from phit.studies.kit import budget, spreads, uncertain
from phit.studies.kit.claim import (
    Claim,
    Fact,
    Finding,
    Judgement,
    NotRunError,
    Revision,
    Verdict,
    judge,
    markdown,
    read,
    reasons,
    rich_table,
    write,
)
from phit.studies.kit.evidence import Evidence, Responses
from phit.studies.kit.margin import Check, above, all_of, any_of, at_least, below, between, exact, not_
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.reproduce import reproduce
from phit.studies.kit.scale import Scale
from phit.studies.kit.study import Paper, Study
from phit.studies.kit.tables import pooled
from phit.studies.kit.uncertain import Source, Z, error, jackknife, nominal, over_seeds, t_quantile


def value(of: float, half: float | None, name: str = "a") -> Any:
    return uncertain.measured(of, half, Source((name,), name, "x"))


def test_a_margin_of_two_is_the_interval() -> None:
    check = above(value(1.0, 0.5), 0.5)
    assert check.holds
    assert check.margin == pytest.approx(Z)
    assert below(value(1.0, 0.5), 0.5).margin == pytest.approx(-Z)
    assert not below(value(1.0, 0.5), 0.5).holds
    # The bound may be a value, too; a ratio has the error of both.
    ratio = value(2.0, 0.2, "a") / value(1.0, 0.1, "b")
    assert error(ratio) == pytest.approx(2 * math.hypot(0.1, 0.1) / Z)
    assert above(value(2.0, 0.3, "a"), value(1.0, 0.4, "b")).margin == pytest.approx(2 * Z)


def test_the_same_quantity_of_the_same_runs_cancels() -> None:
    one, two = value(1.0, 0.5, "a"), value(1.0, 0.5, "a")
    assert error(one - two) == 0
    assert error(one - value(1.0, 0.5, "b")) > 0


def test_without_an_error_a_claim_is_exact_and_with_an_unknown_one_undecided() -> None:
    assert exact(True).margin == math.inf
    assert above(3.0, 2.0).exact
    assert below(value(1.0, 0.0), 1.0).exact
    assert not below(value(1.0, 0.0), 1.0, strict=True).holds
    unknown = above(value(1.0, None), 0.5)
    assert unknown.holds
    assert math.isnan(unknown.margin)
    assert Judgement(unknown, "").verdict is Verdict.UNDECIDED
    assert Judgement(exact(False), "").verdict is Verdict.DIFFERS


def check(margin: float, *, holds: bool | None = None) -> Check:
    return Check(margin > 0 if holds is None else holds, margin)


def test_combined_checks_take_the_margin_of_the_one_that_decides() -> None:
    checks = [check(5), check(-1), check(3)]
    assert all_of(checks).margin == -1
    assert any_of(checks).margin == 5
    assert [at_least(n, checks).margin for n in (1, 2, 3)] == [5, 3, -1]
    assert at_least(4, checks).margin == -math.inf
    assert at_least(0, []).margin == math.inf
    assert not_(check(3)).margin == -3
    assert between(value(1.0, 0.2), 0.9, 2.0).margin == pytest.approx(0.1 / (0.2 / Z))
    unknown = check(math.nan, holds=True)
    # An unknown margin decides only if its outcome matters.
    assert all_of([check(5), check(-4), unknown]).margin == -4
    assert math.isnan(all_of([check(5), unknown]).margin)
    assert any_of([check(5), unknown]).margin == 5
    assert math.isnan(any_of([check(-3), unknown]).margin)


def test_the_error_of_a_run_is_that_of_its_interval() -> None:
    half, level = 4.0, 0.9
    points = pl.DataFrame(
        {
            "point": ["x", "y"],
            "latency_ci": [half, None],
            "latency_ci_batches": [12, None],
            "accepted_ci": [None, 0.0],
            "confidence": [level, level],
        }
    )
    found = spreads.spreads(points, "latency_mean")
    assert list(found) == ["x"]
    assert found["x"].freedom == 11
    assert math.sqrt(found["x"].variance) == pytest.approx(half / 1.7959, rel=1e-4)
    # A folder of before has no number of batches.
    assert spreads.spreads(points, "accepted_load") == {}


def test_seeds_and_runs_are_pooled_unless_seeds_are_further_apart() -> None:
    within = spreads.Spread(0.01, 19)
    assert pooled(None, [within]) == pytest.approx(t_quantile(20) * 0.1)
    # Two seeds that agree: their runs' errors carry the interval; by Student's t alone it would be 12.7 times as wide.
    few = pooled(0.1, [within, within])
    assert few == pytest.approx(t_quantile(40) * math.sqrt(0.005), rel=0.01)
    # Two that do not: their distance alone counts.
    assert pooled(1.0, [within, within]) == pytest.approx(t_quantile(2) * 1.0 / math.sqrt(2))
    assert pooled(0.1, [within, None]) == pytest.approx(t_quantile(2) * 0.1 / math.sqrt(2))
    assert pooled(None, [None]) is None


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    numbers = [1.0, 2.0, 4.0, 8.0]
    source = Source(("r",), "runs", "x")

    def mean(some: Sequence[float]) -> float:
        return sum(some) / len(some)

    found, known = jackknife(mean, numbers, source), over_seeds(numbers, Source(("s",), "runs", "x"))
    assert (nominal(found), error(found)) == pytest.approx((nominal(known), error(known)))
    assert math.isnan(error(jackknife(mean, [1.0], source)))
    # A step of the value adds its own error, which further seeds do not lessen.
    stepped = jackknife(mean, [2.0, 2.0], source, resolution=6.0)
    assert error(stepped) == pytest.approx(6 / math.sqrt(12))
    assert all(part.step for part, _ in uncertain.sources(stepped))


def test_with_many_seeds_halves_are_left_out() -> None:
    source = Source(("r",), "runs", "x")
    numbers = [float(i % 7) for i in range(32)]

    def mean(some: Sequence[float]) -> float:
        return sum(some) / len(some)

    found, known = jackknife(mean, numbers, source), over_seeds(numbers, Source(("s",), "runs", "x"))
    assert error(found) == pytest.approx(error(known), rel=0.2)
    # One seed carries a value over a limit: without it the function is another, by 20; all halves say how rarely.
    barely = [0.0] * 31 + [1.0]
    jumping = jackknife(lambda some: 55.0 if mean(some) > 0.9 / 32 else 35.0, barely, source)
    assert error(jumping) < 0.6 * math.sqrt(31 * 31 / 32**2 * 20**2)


def responses() -> Responses:
    rows = [
        {
            "mechanism": "A",
            "t": t,
            "latency_mean": 10.0 + t + shift,
            "seed_each": [1, 2, 3],
            "latency_mean_each": [9.0 + t + shift, 10.0 + t + shift, 11.0 + t + shift],
            "runs": ["x", "y", "z"],
        }
        for t, shift in ((0, 0.0), (5, 1.0), (10, 2.0))
    ]
    return Responses(pl.DataFrame(rows), "figure 7")


def test_means_over_a_window_have_the_error_of_whole_windows() -> None:
    found = responses().mean("A", 0, 10)
    assert nominal(found) == pytest.approx(13.0)
    assert error(found) == pytest.approx(t_quantile(3) / math.sqrt(3) / Z)
    ((source, _),) = uncertain.sources(found)
    assert source.runs == ("x", "y", "z")
    last = responses().of_mean(lambda _, values: values[-1], "A", what="last")
    assert (nominal(last), error(last)) == pytest.approx((22.0, t_quantile(3) / math.sqrt(3) / Z))


def claim(rule: Any, **more: Any) -> Claim[None]:
    return Claim("X1", "1", "It is so", "1", rule, **more)


def by(margin: float) -> Any:
    return lambda _: Judgement(check(margin), f"{margin:g}")


def missing(_: None) -> Fact:
    raise NotRunError("no run")


def test_what_is_settled_and_why() -> None:
    fact = Fact("the bound is 0.44", "phit bound")
    proved = {"fact": lambda _: fact}
    findings = [
        judge(claim(by(3.0)), None),
        judge(claim(by(1.9), **proved), None),
        judge(claim(by(-1.9), **proved), None),
        judge(claim(by(-3.0), **proved), None),
        judge(claim(by(-3.0)), None),
        judge(claim(by(-3.0), fact=missing), None),
        judge(claim(by(-3.0), fact=lambda _: None), None),
        judge(claim(lambda _: Judgement(exact(True), "")), None),
        judge(claim(missing, **proved), None),
        judge(claim(missing, fact=missing), None),
    ]
    assert [f.settled for f in findings] == [True, False, False, True, False, False, False, True, True, False]
    assert [f.verdict.value for f in findings[8:]] == ["not run", "not run"]
    assert findings[3].because == "the bound is 0.44 (phit bound)"
    assert [f.verdict.value for f in findings[:4]] == ["holds", "undecided", "undecided", "differs"]
    assert reasons(findings) == ["* **X1**: the bound is 0.44 (phit bound)"]


def test_a_revised_rule_stands_beside_the_first(tmp_path: Path) -> None:
    first: Revision[None] = Revision(by(-2.5), "exactly 1", weaker=True)
    findings = [judge(claim(by(4.0), first=first), None), judge(claim(lambda _: Judgement(exact(True), "")), None)]
    text = markdown(findings)
    first_row, second_row = text.splitlines()[2:]
    assert first_row.startswith("| X1 | holds (+4.0) |")
    assert first_row.endswith("| **differs** (-2.5): exactly 1; the revised rule is weaker |")
    assert second_row.startswith("| X1 | holds (exact) |")
    assert second_row.endswith("|  |")
    assert read(write(findings, tmp_path / "claims.json")) == findings
    rows = json.loads((tmp_path / "claims.json").read_text())
    assert [(row["margin"], row["exact"], row["settled"]) for row in rows] == [(4.0, False, True), (None, True, True)]
    assert rows[0]["first"] == {
        "paper": "exactly 1",
        "measured": "-2.5",
        "verdict": "differs",
        "margin": -2.5,
        "weaker": True,
        "exact": False,
    }
    assert rich_table(findings).row_count == 2


def test_an_unknown_margin_is_shown_as_such(tmp_path: Path) -> None:
    unknown: Finding = judge(claim(lambda _: Judgement(above(value(1.0, None), 0.5), "1")), None)
    assert "| undecided (?) |" in markdown([unknown])
    assert read(write([unknown], tmp_path / "claims.json")) == [unknown]


@pytest.mark.parametrize(("text", "expected"), [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("45 s", 45)])
def test_budgets(text: str, expected: float) -> None:
    assert budget.seconds(text) == expected


@pytest.mark.parametrize("text", ["", "2", "h", "2h!", "two hours", "2x"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(InputError, match="expected a time such as 2h"):
        budget.seconds(text)


@dataclass(frozen=True)
class Setting:
    inputs: tuple[int, ...] = (2, 3, 4)
    warmup: int = 100
    cycles: int = 400


NEAR = 0.755
"""Close to the throughput of a switch with two inputs, 0.75."""


def switches() -> Study[Setting, Evidence[Setting]]:
    """Saturated switches with one queue at each input; the claim about two inputs is close."""
    study = Study[Setting, Evidence[Setting]](
        name="switches",
        title="Switches",
        paper=Paper(("M. J. Karol",), "Input versus output queueing", "1987"),
        setting=lambda _: Setting(),
        network=lambda _: {"router": {"links": {"endpoint": {"vcs": 1, "buffer": 16, "latency": 1}}}},
        size=lambda _: "2 to 4 inputs",
        describe=lambda _: "switches",
        options=lambda _: "",
        evidence=Evidence,
    )

    @study.figure("I", title="Accepted load", caption="")
    def accepted(setting: Setting, seeds: int | None) -> list[Case]:
        return [
            Case(
                {"inputs": inputs, "load": 1.0, "seed": seed},
                {
                    **study.network(setting),
                    "seed": seed,
                    "topology": {"kind": "single", "endpoints": inputs},
                    "traffic": {"pattern": {"kind": "uniform", "include_self": True}, "load": 1.0, "packet_size": 1},
                    "measure": {"warmup": setting.warmup, "cycles": setting.cycles},
                },
            )
            for inputs in setting.inputs
            for seed in seeds_of(seeds, 1)
        ]

    @study.claim("S1", figure="I", statement="More than half with 3 inputs", paper="> 0.5")
    def clear(evidence: Evidence[Setting]) -> Judgement:
        found = evidence.curves("I").accepted(inputs=3)
        return Judgement(above(found, 0.5), f"{nominal(found):.4f}")

    @study.claim("S2", figure="I", statement="Close with 2 inputs", paper=f"<= {NEAR}")
    def close(evidence: Evidence[Setting]) -> Judgement:
        found = evidence.curves("I").accepted(inputs=2)
        return Judgement(below(found, NEAR), f"{nominal(found):.4f}")

    @study.claim("S3", figure="I", statement="The grid decides", paper="<= 4")
    def stepped(evidence: Evidence[Setting]) -> Judgement:
        found = uncertain.in_steps(4.0, 2.0, evidence.curves("I").source("inputs", inputs=4))
        return Judgement(below(found, 4.1), "")

    return study


def runs(folder: Path) -> dict[int, list[int]]:
    """Seeds by number of inputs."""
    rows = Done.read(folder).points.sort("inputs", "seed")
    return {inputs: of["seed"].to_list() for (inputs,), of in rows.group_by("inputs", maintain_order=True)}


def test_a_budget_runs_seeds_of_what_decides_until_it_is_decided(tmp_path: Path) -> None:
    said: list[str] = []
    study = switches()
    options: dict[str, Any] = {"scale": Scale.SMOKE, "where": Where(workers=1), "say": said.append}
    before = reproduce(study, out=tmp_path / "a", **options).findings
    assert [f.verdict.value for f in before] == ["holds", "undecided", "undecided"]
    after = reproduce(study, out=tmp_path / "a", budget=60, **options).findings
    assert [f.verdict.value for f in after] == ["holds", "holds", "undecided"]
    assert after[1].margin is not None
    assert after[1].margin >= 2
    found = runs(tmp_path / "a")
    assert found[3] == found[4] == [1]
    assert len(found[2]) > 1
    assert found[2] == list(range(1, len(found[2]) + 1))
    assert any(line.startswith("S2 (") and "figure I, 2" in line for line in said)
    assert "undecided whatever the seeds: S3 (+0.2)" in said
    # The runs do not depend on earlier ones, and no more are added once all claims are decided.
    reproduce(study, out=tmp_path / "b", budget=60, **options)
    assert runs(tmp_path / "b") == found
    reproduce(study, out=tmp_path / "b", budget=60, **options)
    assert runs(tmp_path / "b") == found


def test_a_budget_that_is_spent_runs_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    reproduce(switches(), scale=Scale.SMOKE, out=tmp_path, where=Where(workers=1), budget=0, say=said.append)
    assert runs(tmp_path) == {2: [1], 3: [1], 4: [1]}
    assert any(line.startswith("undecided when the budget was spent: S2 (") for line in said)
    with pytest.raises(InputError, match="expected no --no-run, which runs nothing"):
        reproduce(switches(), scale=Scale.SMOKE, out=tmp_path, run=False, budget=1)
