"""The study of TPR: its runs at the scale that takes seconds, and the rules of its claims on made-up tables."""

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.base.errors import InputError
from phit.peers import booksim
from phit.store.quantities import SATURATED_BELOW
from phit.studies import registry
from phit.studies.kit.claim import Finding, Verdict, judge, markdown, matrix, measured, rich_table
from phit.studies.kit.plan import Plan
from phit.studies.kit.scale import Scale
from phit.studies.kit.uncertain import nominal
from phit.studies.tpr import paper, study
from phit.studies.tpr.beyond import minimal_share
from phit.studies.tpr.counters import fewer_than_minimal
from phit.studies.tpr.load import paper_against_its_bound
from phit.studies.tpr.paper import DEEP, FITTED, MECHANISMS, SENT, TEXT, THROUGH, VIEWS, Evidence, under
from phit.studies.tpr.search import VARIANTS
from phit.studies.tpr.setting import ADV, UR, nlc, rlc, setting

from .conftest import Cli, without_errors

TPR = registry.find("tpr")
BY_ID = {claim.id: claim for claim in study.claims}
PAPER = setting(Scale.PAPER)

Row = dict[str, Any]


def curve(name: str, loads: Iterable[float], latency: float, limit: float, share: Iterable[float]) -> list[Row]:
    """A curve that accepts the offered load up to a limit."""
    return [
        {
            "mechanism": name,
            "load": load,
            "accepted_load": min(load, limit),
            "latency_mean": latency,
            "misrouted_globally": nonminimal,
            "saturated": min(load, limit) < SATURATED_BELOW * load,
        }
        for load, nonminimal in zip(loads, share, strict=True)
    ]


LOADS = (0.05, 0.1, 0.4, 0.95)


def uniform() -> list[Row]:
    """Figure 2 as the paper has it."""
    return [
        *curve("MIN", LOADS, 30.0, 0.88, [0.0] * 4),
        *curve("VLB", LOADS, 50.0, 0.44, [1.0] * 4),
        *curve("UGAL-L", LOADS, 35.0, 0.81, [0.38, 0.3, 0.2, 0.1]),
        *curve("UGAL-G", LOADS, 32.0, 0.865, [0.1] * 4),
        *curve("TPR", LOADS, 30.2, 0.88, [0.0, 0.005, 0.01, 0.01]),
    ]


ATTACKED = (0.05, 0.3, 0.6)


def adversarial() -> list[Row]:
    """Figure 3 as the paper has it."""
    return [
        *curve("MIN", (0.05, 0.1), 20.0, 1 / 18, [0.0, 0.0]),
        *curve("VLB", ATTACKED, 55.0, 0.40, [1.0] * 3),
        *curve("UGAL-L", ATTACKED, 54.0, 0.39, [0.72, 0.98, 0.99]),
        *curve("UGAL-G", ATTACKED, 50.0, 0.43, [0.7, 0.8, 0.88]),
        *curve("TPR", ATTACKED, 48.0, 0.42, [0.0, 0.99, 1.0]),
    ]


def mixed() -> list[Row]:
    """Figures 4 to 9 as the paper has them."""
    loads = (0.05, 0.1, 0.15, 0.9)
    return [
        *curve("UGAL-L", loads, 40.0, 0.70, [0.3, 0.32, 0.35, 0.4]),
        *curve("UGAL-G", loads, 38.0, 0.74, [0.2] * 4),
        *curve("TPR", loads, 36.0, 0.73, [0.0, 0.005, 0.01, 0.3]),
    ]


def around() -> list[Row]:
    """Figure 6 around saturation."""
    loads = (0.69, 0.71, 0.73, 0.75)
    return [*curve("UGAL-L", loads, 60.0, 0.70, [0.4] * 4), *curve("TPR", loads, 50.0, 0.73, [0.3] * 4)]


def counters() -> list[Row]:
    """Tables I and II as the paper has them."""
    return [
        {"pattern": pattern, "load": load, "sent_to_next": float(SENT[pattern, load]), "through": value}
        for (pattern, load), value in THROUGH.items()
    ]


def tables(**changed: list[Row]) -> dict[str, list[Row]]:
    """The whole study as the paper has it."""
    paper = {"2": uniform(), "3": adversarial(), "edge": around(), "I": counters(), "II": counters()}
    return {**paper, **{str(figure): mixed() for figure in range(4, 10)}, **changed}


def finding(claim: str, found: dict[str, list[Row]]) -> Finding:
    frames = {name: without_errors(rows) for name, rows in found.items()}
    return judge(BY_ID[claim], Evidence(frames, PAPER))


@pytest.mark.parametrize("claim", BY_ID)
def test_claims_hold_on_the_paper_itself(claim: str) -> None:
    found = finding(claim, tables())
    assert found.verdict is Verdict.HOLDS, found


@pytest.mark.parametrize("claim", BY_ID)
def test_claims_without_runs_are_not_run(claim: str) -> None:
    assert finding(claim, {}).verdict is Verdict.NOT_RUN


def changed(rows: list[Row], mechanism: str, loads: Iterable[float] | None = None, **values: Any) -> list[Row]:
    """The rows with values set for one mechanism, at all loads or some."""
    chosen = None if loads is None else set(loads)
    return [
        {**row, **values} if row["mechanism"] == mechanism and (chosen is None or row["load"] in chosen) else row
        for row in rows
    ]


def counted(key: tuple[str, float], **values: Any) -> list[Row]:
    return [{**row, **values} if (row["pattern"], row["load"]) == key else row for row in counters()]


DIFFERING: list[tuple[str, dict[str, list[Row]]]] = [
    ("T1", {"2": changed(uniform(), "VLB", latency_mean=29.0)}),
    ("T1", {"2": changed(uniform(), "VLB", [0.95], accepted_load=0.6)}),
    ("T2", {"2": changed(uniform(), "UGAL-L", [0.05], misrouted_globally=0.26)}),
    ("T2", {"2": changed(uniform(), "UGAL-L", [0.95], accepted_load=0.87)}),
    ("T3", {"2": changed(uniform(), "UGAL-G", latency_mean=30.1)}),
    ("T3", {"2": changed(uniform(), "UGAL-G", [0.95], accepted_load=0.885)}),
    ("T4", {"2": changed(uniform(), "TPR", [0.4], misrouted_globally=0.011)}),
    ("T4", {"2": changed(uniform(), "TPR", [0.1], latency_mean=31.0)}),
    ("T5", {"3": changed(adversarial(), "VLB", [0.6], accepted_load=0.37)}),
    ("T5", {"3": changed(adversarial(), "MIN", [0.1], accepted_load=0.07)}),
    ("T6", {"3": changed(adversarial(), "UGAL-L", [0.3], misrouted_globally=0.96)}),
    ("T6", {"3": changed(adversarial(), "UGAL-L", [0.05], misrouted_globally=0.6)}),
    ("T7", {"3": changed(adversarial(), "UGAL-G", [0.6], accepted_load=0.40)}),
    ("T7", {"3": changed(adversarial(), "UGAL-G", [0.6], misrouted_globally=0.99)}),
    ("T8", {"3": changed(adversarial(), "TPR", [0.6], accepted_load=0.395)}),
    ("T8", {"3": changed(adversarial(), "TPR", [0.3], latency_mean=51.0)}),
    ("T8", {"3": changed(adversarial(), "TPR", [0.05], misrouted_globally=0.5)}),
    ("T9", {"I": counted((ADV, 0.44), sent_to_next=350.0)}),
    ("T9", {"I": counted((UR, 0.1), sent_to_next=2.1)}),
    ("T10", {"II": counted((UR, 0.1), through=4.4)}),
    ("T11", {"5": changed(mixed(), "TPR", [0.05, 0.15], latency_mean=43.0)}),
    ("T11", {"6": changed(mixed(), "TPR", [0.9], accepted_load=0.68)}),
    ("T12", {"6": changed(mixed(), "UGAL-L", [0.1], misrouted_globally=0.2)}),
    ("T12", {"6": changed(mixed(), "TPR", [0.05], misrouted_globally=0.03)}),
    ("T12", {"6": changed(mixed(), "TPR", latency_mean=39.0)}),
    ("T12", {"edge": changed(around(), "UGAL-L", [0.75], accepted_load=0.72)}),
    ("T12", {"edge": changed(around(), "TPR", [0.73, 0.75], accepted_load=0.70)}),
    ("T13", {"9": changed(mixed(), "UGAL-G", [0.9], accepted_load=0.80)}),
    ("T13", {"7": changed(mixed(), "UGAL-L", [0.9], accepted_load=0.75)}),
]

WERE_STRICTER: list[tuple[str, dict[str, list[Row]]]] = [
    (
        "T8",
        {
            "3": [
                {**row, "saturated": False, "latency_mean": 70.0 if row["mechanism"] == "TPR" else 60.0}
                if row["load"] == 0.6
                else row
                for row in adversarial()
            ]
        },
    ),
    ("T11", {"5": changed(mixed(), "TPR", [0.1], latency_mean=41.0)}),
    ("T13", {"7": changed(mixed(), "UGAL-L", [0.9], accepted_load=0.735)}),
]
"""Tables that the first rules of these claims refuse, and the revised rules accept."""


@pytest.mark.parametrize(("claim", "changes"), DIFFERING)
def test_claims_differ_where_one_value_does(claim: str, changes: dict[str, list[Row]]) -> None:
    found = finding(claim, tables(**changes))
    assert found.verdict is Verdict.DIFFERS, found


@pytest.mark.parametrize(("claim", "changes"), WERE_STRICTER)
def test_first_rules_were_stricter(claim: str, changes: dict[str, list[Row]]) -> None:
    found = finding(claim, tables(**changes))
    assert found.verdict is Verdict.HOLDS, found
    assert found.first is not None
    assert (found.first.verdict, found.first.weaker) == (Verdict.DIFFERS, True)


def test_booksim_has_ugal_g_accept_more_than_min_as_well() -> None:
    more = finding("T3", tables(**{"2": changed(uniform(), "UGAL-G", [0.95], accepted_load=0.885)}))
    less = finding("T3", tables(**{"2": changed(uniform(), "UGAL-G", [0.95], accepted_load=0.7)}))
    assert (more.verdict, less.verdict) == (Verdict.DIFFERS, Verdict.DIFFERS)
    assert "UGAL-G accepts 2.1% more than MIN" in more.because
    assert not less.settled


def test_a_curve_that_does_not_saturate_has_no_throughput() -> None:
    short = [row for row in uniform() if row["load"] < 0.9]
    found = finding("T2", tables(**{"2": short}))
    assert found.verdict is Verdict.NOT_RUN
    assert "carries its highest load 0.4" in found.note


def test_a_curve_that_is_carried_to_its_end_has_no_last_load() -> None:
    found = finding("T6", tables(**{"3": changed(adversarial(), "UGAL-L", [0.6], accepted_load=0.6, saturated=False)}))
    assert found.verdict is Verdict.NOT_RUN
    assert "UGAL-L carries its highest load 0.6" in found.note


def test_what_lies_beyond_the_last_load_that_is_carried_was_looked_at_first() -> None:
    collapsed = changed(adversarial(), "UGAL-L", [0.6], misrouted_globally=0.9)
    found = finding("T6", tables(**{"3": collapsed}))
    assert found.first is not None
    assert (found.verdict, found.first.verdict, found.first.weaker) == (Verdict.HOLDS, Verdict.DIFFERS, True)
    assert "10.0% minimal at saturation (0.6)" not in found.measured
    fallen = changed(mixed(), "UGAL-L", [0.9], accepted_load=0.3)
    found = finding("T12", tables(**{"6": fallen}))
    assert found.first is not None
    assert (found.verdict, found.first.verdict) == (Verdict.HOLDS, Verdict.DIFFERS)


def test_curves_end_at_the_last_load_that_is_carried() -> None:
    loads = (0.1, 0.2, 0.3, 0.4)
    rows = without_errors(
        [*curve("UGAL-L", loads, 50.0, 0.25, [0.1] * 4), *curve("TPR", loads, 50.0, 0.398, [0.0] * 4)]
    )
    # 0.398 is 99.5 % of 0.4; of 0.3 and 0.4 UGAL-L carries 0.25.
    curves = Evidence({"2": paper.carried(rows.reverse())}, PAPER).curves("2")
    assert (curves.loads(mechanism="UGAL-L"), curves.loads(mechanism="TPR")) == ([0.1, 0.2], list(loads))
    assert (curves.last_carried("UGAL-L"), curves.last_carried("TPR")) == (0.2, 0.4)
    assert nominal(curves.throughput("UGAL-L")) == 0.2
    assert nominal(curves.saturation(mechanism="TPR")) == pytest.approx(0.398)
    # A load that is carried again beyond a load that is not does not count.
    again = rows.with_columns(accepted_load=pl.when(load=0.2).then(0.1).otherwise("load"))
    assert paper.carried(again)["load"].to_list() == [0.1, 0.1]
    assert Evidence({"2": rows}, PAPER).curves("2").last_carried("UGAL-L") == 0.2
    table = pl.DataFrame({"pattern": [UR], "load": [0.9], "accepted_load": [0.1]})
    assert paper.carried(table) is table


def test_the_paper_contradicts_itself() -> None:
    """UGAL-G at most 1 % above UGAL-L's load in table I; table II below the counts of the shortest routes."""
    found = finding("T7", tables(**{"3": changed(adversarial(), "UGAL-G", [0.6], accepted_load=0.40)}))
    assert found.settled
    assert "4/9 = 0.4444" in found.because
    assert "96 row links at 1; 1,344 row links at 1/2; 1,440 column links at 0" in found.because
    assert "leaves UGAL-G 1.0% more" in found.because
    found = finding("T10", tables(II=counted((UR, 0.1), through=4.4)))
    assert found.settled
    # 18 x 0.1 x 75/96 x 50 / 30.
    assert "2.34 at 0.1 (paper 2.24), 10.31 at 0.44 (paper 9.86), 21.09 at 0.9 (paper 20.5)" in found.because
    # Neither says anything of another network.
    assert paper_against_its_bound(Evidence({}, setting(Scale.SMOKE))) is None
    assert fewer_than_minimal(Evidence({}, setting(Scale.SMOKE))) is None


@pytest.mark.parametrize("scale", Scale)
def test_every_run_of_every_scale_is_valid(scale: Scale) -> None:
    plan = Plan.of({name: figure.cases(TPR.setting(scale), 1) for name, figure in TPR.figures.items()})
    for name in plan.cases:
        labels = plan.labels(name)
        assert labels.height
        # Nothing else distinguishes the runs of a figure.
        assert labels.drop("point").is_unique().all()


def test_tables_are_asked_for_by_number() -> None:
    assert TPR.named_tables(["II"]) == ["II"]
    assert TPR.named_tables(["all"]) == ["I", "II", "III"]
    with pytest.raises(InputError, match="--table IV: expected one of I, II, III, all"):
        TPR.named_tables(["IV"])
    with pytest.raises(InputError, match="no tables"):
        registry.find("contention").named_tables(["I"])


@pytest.mark.usefixtures("sketched")
def test_a_figure_and_a_table_from_end_to_end(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    command = ("reproduce", "tpr", "--figure", "3", "--table", "I", "--scale", "smoke", "--output", folder, "--jobs", 1)
    status, out, err = cli(*command)
    assert status == 0, err
    assert "smoke scale: Cascade group of 2 x 4 routers, 40 endpoints" in err
    assert (folder / "figures" / "3.svg").stat().st_size > 1000
    table = pl.read_parquet(folder / "tables" / "3.parquet")
    assert set(table["reading"]) == {"text", "fitted", "deep"}
    table = table.filter(pl.col("reading") == "text")
    assert set(table["mechanism"]) == set(MECHANISMS)
    minimal = table.filter(pl.col("mechanism") == "MIN", pl.col("load") == 0.25)
    # One row link for five endpoints; the last routers of the two rows have two ways.
    assert 0.99 / 5 <= minimal["accepted_load"].item() <= 1.25 / 5
    assert table.filter(pl.col("mechanism") == "VLB")["misrouted_globally"].to_list() == [1.0] * 3
    counts = pl.read_csv(folder / "tables" / "I.csv").filter(pl.col("pattern") == ADV, pl.col("load") == 0.1)
    # Five endpoints at a load of 0.1 for 50 cycles, all to the next router.
    assert counts["reading"].to_list() == ["text", "fitted", "deep"]
    assert counts["sent_to_next"].to_list() == pytest.approx([25] * 3, rel=0.15)
    rows = json.loads((folder / "claims.json").read_text())
    assert [(row["reading"], row["id"]) for row in rows] == [(view.name, claim) for view in VIEWS for claim in BY_ID]
    claims = {(row["reading"], row["id"]): row["verdict"] for row in rows}
    assert claims["text", "T1"] == claims["fitted", "T11"] == "not run"
    assert claims["text", "T9"] != "not run" != claims["fitted", "T9"]
    # Shown are the claims that these say something of; the others are counted.
    shown = {claim for (_, claim), verdict in claims.items() if verdict != "not run"}
    assert "T9" in shown
    assert "T13" not in shown
    assert {claim for claim in BY_ID if f" {claim} " in out} == shown
    assert f"{len(BY_ID) - len(shown)} claims belong to figures that have not been run" in err
    page = (folder / "report.md").read_text()
    assert "Table I: packets sent to one router" in page
    assert "| claim | `text` | `fitted` | `deep` | `text, carried` |" in page
    assert "### Reading: fitted" in page
    assert "| fitted | ADV | 0.1 |" in page


def test_what_the_readings_change() -> None:
    run = paper.scenario(PAPER, MECHANISMS["TPR"], UR, 0.1, 1)
    assert under(TEXT, run) == run
    text, fitted = phit.complete(under(TEXT, run)), phit.complete(under(FITTED, run))
    # Earlier runs of the text's reading stay valid: their documents have none of the new keys.
    assert not any("credit_latency" in link for link in text["router"]["links"].values())
    assert [link.pop("credit_latency") for link in fitted["router"]["links"].values()] == [1, 1]
    assert (text["router"]["links"]["endpoint"]["vcs"], fitted["router"]["links"]["endpoint"].pop("vcs")) == (4, 1)
    rule = fitted["routing"]
    assert (rule.pop("minimal_candidates"), rule.pop("local_low")) == (1, 1.2)
    text["router"]["links"]["endpoint"].pop("vcs")
    for key in ("minimal_candidates", "local_low"):
        text["routing"].pop(key)
    assert text == fitted
    minimal = under(FITTED, paper.scenario(PAPER, MECHANISMS["MIN"], UR, 0.1, 1))
    assert minimal["routing"] == MECHANISMS["MIN"]
    deep = phit.complete(under(DEEP, run))
    assert [deep["router"]["links"][name]["buffer"] for name in ("default", "endpoint")] == [64, 32]
    assert (deep["routing"]["minimal_candidates"], deep["routing"]["local_low"]) == (1, 1.2)
    assert deep["router"]["links"]["endpoint"]["vcs"] == 4


def test_every_claim_is_judged_under_each_reading() -> None:
    frames = {name: without_errors(rows).with_columns(reading=pl.lit("text")) for name, rows in tables().items()}
    worse = without_errors(changed(uniform(), "VLB", latency_mean=29.0)).with_columns(reading=pl.lit("fitted"))
    findings = TPR.judge({**frames, "2": pl.concat([frames["2"], worse])}, PAPER)
    verdicts = {(found.reading, found.id): found.verdict for found in findings}
    assert {verdict for (reading, _), verdict in verdicts.items() if reading == "text"} == {Verdict.HOLDS}
    assert verdicts["fitted", "T1"] is Verdict.DIFFERS
    assert verdicts["fitted", "T2"] is Verdict.HOLDS
    assert verdicts["fitted", "T5"] is Verdict.NOT_RUN
    lines = markdown(findings).splitlines()
    assert lines[0] == "| claim | verdict | figure | statement | paper | measured | first rule |"
    assert len(lines) == 2 + len(study.claims)
    assert lines[2].startswith("| T1 | holds (exact), `text` | 2 |")
    under_each = matrix(findings).splitlines()
    assert under_each[0] == f"| claim | {' | '.join(f'`{view.name}`' for view in VIEWS)} |"
    assert under_each[2].startswith("| T1 | holds (exact) | **differs** (exact) |")
    assert matrix([f for f in findings if f.reading == "text"]) == ""
    assert measured(findings[len(study.claims) :]).splitlines()[2].startswith("| T1 | VLB/MIN throughput 0.42 to 0.58")
    shown = rich_table(findings)
    assert shown.row_count == len(VIEWS) * len(study.claims)
    assert [column.header for column in shown.columns][3] == "reading"


def test_a_collapse_beyond_saturation_counts() -> None:
    collapsed = changed(adversarial(), "UGAL-L", [0.6], accepted_load=0.15, misrouted_globally=0.7)
    collapsed += curve("UGAL-L", [0.4], 60.0, 0.39, [0.99])
    found = finding("T7", tables(**{"3": collapsed}))
    assert found.verdict is Verdict.DIFFERS, found
    assert "throughput 2.867 (of the most that each accepts: 1.103; bound of any routing 0.4444)" in found.measured
    assert "12.0% minimal at 0.6" in found.measured


def test_patterns_have_the_shares_that_they_are_named_after() -> None:
    node, router = paper.pattern(nlc(20)), paper.pattern(rlc(80))
    assert (node["by"], [part["weight"] for part in node["parts"]]) == ("packet", [20, 80])
    assert (router["by"], [part["weight"] for part in router["parts"]]) == ("router", [80, 20])


def test_bounds_of_the_group_of_the_paper() -> None:
    """Half the packets of a line of k go over each of its links' two ends: p/(k·links) on each at a load of 1."""
    of_uniform, of_adversarial = paper.bounds(PAPER, UR), paper.bounds(PAPER, ADV)
    assert [of_uniform.load, of_uniform.minimal_load] == [Fraction(16, 18)] * 2
    assert [of_adversarial.load, of_adversarial.minimal_load] == [Fraction(8, 18), Fraction(1, 18)]
    assert paper.valiant_bound(PAPER) == Fraction(8, 18)


def test_the_search_is_judged_by_the_rules_of_the_claims() -> None:
    rows = []
    first, second, *_ = VARIANTS
    for variant, count in ((first, THROUGH[UR, 0.1]), (second, 4.4)):
        for pattern, of in ((UR, uniform()), (ADV, adversarial())):
            rows += [{**row, "variant": variant, "pattern": pattern, "probe": None} for row in of]
        counted_rows = counted((UR, 0.1), through=count)
        rows += [{**row, "variant": variant, "probe": "counters"} for row in counted_rows]
    text = TPR.figures["search"].prose(without_errors(rows), PAPER).splitlines()
    ours = [line for line in text if line.startswith("| buffers")]
    assert len(ours) == 2
    assert (ours[0].count(" yes "), ours[1].count(" yes ")) == (10, 9)
    assert ours[1].endswith("| no | 9 |")
    assert text[-1].startswith(f"Most, 10 of 10: {first}. Some variant fulfils each of these rules.")
    # A variant whose runs are not all there is left out.
    some = [row for row in rows if row["variant"] == second or row["pattern"] == UR]
    lines = TPR.figures["search"].prose(without_errors(some), PAPER).splitlines()
    assert [line for line in lines if line.startswith("| buffers")] == ours[1:]
    assert "No variant fulfils T10." in lines[-1]


def test_an_empty_group_has_the_latency_of_its_hops() -> None:
    def latency(hops: float) -> float:
        return booksim.latency_when_empty(1 + hops, speedup=2, channel=10)

    assert [latency(hops) for hops in (0, 1, 2)] == [5, 17, 29]
    scenario = paper.scenario(PAPER, MECHANISMS["VLB"], UR, 0.002, 1)
    scenario["measure"] = {"warmup": 200, "cycles": 4000}
    result = phit.run(scenario)
    assert result.latency_mean == pytest.approx(latency(result["hops_mean"]), rel=0.002)


def test_a_finding_between_groups_is_computed_from_the_table() -> None:
    small = setting(Scale.SMALL)
    accepted = {"TPR by links": 0.30, "TPR by group": 0.19, "TPR": 0.16, "UGAL-L": 0.21, "VLB": 0.3}
    rows = [
        *({"mechanism": name, "pattern": ADV, "load": 0.5, "accepted_load": of} for name, of in accepted.items()),
        *(
            {"mechanism": name, "pattern": UR, "load": load, "latency_mean": of}
            for load in (0.1, 0.7)
            for name, of in {"MIN": 100.0, "TPR by links": 101.0, "TPR by group": 100.5, "UGAL-L": 130.0}.items()
        ),
    ]
    halves = {"accepted_load_half": 0.002, "latency_mean_half": 1.0}
    fallen = ("UGAL-L", 0.7)
    table = without_errors([{**row, **halves, "saturated": (row["mechanism"], row["load"]) == fallen} for row in rows])
    text = TPR.figures["groups"].prose(table, small)
    assert "TPR accepts more than UGAL-L**: 0.300 ± 0.002 against 0.210 ± 0.002;" in text
    assert "TPR by links +1.0 ± 1.4 %, TPR by group +0.5 ± 1.4 %, UGAL-L +30.0 ± 1.6 %." in text
    assert text.endswith("under UR at 0.7: TPR by links +1.0 ± 1.4 %, TPR by group +0.5 ± 1.4 %, UGAL-L saturated.")
    even = table.with_columns(pl.col("accepted_load").clip(upper_bound=0.211))
    assert "about as much as UGAL-L**" in TPR.figures["groups"].prose(even, small)
    assert TPR.figures["groups"].prose(table.filter(pl.col("pattern") == UR), small) == ""


def test_thresholds_by_links_are_those_of_the_links_between_groups() -> None:
    """9 groups of 4 x 6 routers with 4 global ports: 12 links to each other group, half a link for each router."""
    assert minimal_share(PAPER) == 0.5
