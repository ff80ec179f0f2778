"""Steady states: an incast beside victims, on every network, with fixed and with adaptive routes."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.studies.control.networks import (
    CONTROLS,
    COORDINATED,
    NONE,
    SCHEMES,
    TOGETHER,
    Network,
    Scheme,
    chosen,
    scheme,
)
from phit.studies.control.question import (
    ALONE,
    HOT,
    NAMES,
    VICTIMS,
    Evidence,
    averaged,
    flows,
    in_order,
    incast,
    jain,
    number,
    of_runs,
    scenario,
    study,
)
from phit.studies.control.setting import TREE, Setting
from phit.studies.kit.claim import Judgement, NotRunError, Revision
from phit.studies.kit.evidence import Curves
from phit.studies.kit.margin import Check, above, all_of, below, between
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Value, nominal

FIXED, ADAPTIVE = "fixed", "adaptive"
"""Routes."""

MEASURES = (
    "rate",
    "slowdown",
    "slowdown_p99",
    "hot",
    "jain",
    "notifications",
)
"""Measures of the table, all of them relative or shares.

`rate`: accepted rate of victims, relative to that without the incast. `slowdown`, `slowdown_p99`: mean latency and 99th
percentile of victims, likewise. `hot`: use of the link to the target. `jain`: Jain's index of the aggressors.
`notifications`: phits of notifications for each 1,000 phits that were accepted.
"""


def routing(of: Scheme, on: Network, routes: str) -> Document | None:
    """`[routing]`: schemes that need tables have adaptive tables."""
    if routes == FIXED:
        return None
    return {"kind": "table", "adaptive": True} if of.tables else on.adaptive


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each case: see `MEASURES`. Runs are compared with the run without incast that has the same seed."""
    rows = of_runs(labels, done, "flows")
    if rows.is_empty():
        return pl.DataFrame()
    keys = ["network", "routes", "mechanism", "incast", "aggressors", "background"]
    same = ["network", "routes", "aggressors", "seed"]
    runs = [
        {**dict(zip((*keys, "seed", "point"), of, strict=True)), **_measured(found)}
        for of, found in rows.group_by([*keys, "seed", "point"], maintain_order=True)
    ]
    summaries = done.points.select("point", *_known(done.points, "congestion.notification_phits", "cycles"))
    found = pl.DataFrame(runs, infer_schema_length=None).join(summaries, on="point", how="left")
    alone = found.filter(pl.col("incast") == ALONE, pl.col("mechanism") == NONE)
    alone = alone.select(*same, *(pl.col(c).alias(f"{c}_alone") for c in ("rate", "mean", "p99")))
    found = found.join(alone, on=same, how="left", maintain_order="left")
    found = found.with_columns(
        rate=pl.col("rate") / pl.col("rate_alone"),
        slowdown=pl.col("mean") / pl.col("mean_alone"),
        slowdown_p99=pl.col("p99") / pl.col("p99_alone"),
        notifications=1000 * pl.col("congestion.notification_phits") / (pl.col("accepted") * pl.col("cycles")),
    )
    return in_order(averaged(found, keys, MEASURES), "mechanism", NAMES)


def _known(points: pl.DataFrame, *columns: str) -> list[pl.Expr]:
    """Columns of the table of points; null where no run has them."""
    return [(pl.col(c) if c in points.columns else pl.lit(None)).cast(pl.Float64).alias(c) for c in columns]


def _measured(found: pl.DataFrame) -> dict[str, float | None]:
    """The measures of one run, from its flows."""
    (victims,) = found.filter(pl.col("flow") == VICTIMS).iter_rows(named=True)
    aggressors = found.filter(~pl.col("flow").is_in([VICTIMS, HOT]))["accepted_rate"].to_list()
    hot = found.filter(pl.col("flow") != VICTIMS)["accepted_rate"].sum()
    return {
        "rate": victims["accepted_rate"],
        "mean": victims["latency_mean"],
        "p99": victims["latency_p99"],
        "hot": hot,
        "jain": jain(aggressors),
        "accepted": hot + victims["accepted_rate"],
    }


def _cases(
    setting: Setting, seeds: int | None, networks: Sequence[Network], routes: str, backgrounds: Sequence[bool]
) -> list[Case]:
    measure = {"warmup": setting.warmup, "cycles": setting.cycles}
    found = []
    for on in networks:
        for seed in seeds_of(seeds, setting.seeds):
            for count in setting.fan_ins:
                sources = on.aggressors(count)
                plain = scheme(NONE)
                found.append(_case(setting, on, plain, sources, routes, seed, measure, background=True, silent=True))
                found += [
                    _case(setting, on, of, sources, routes, seed, measure, background=background)
                    for of in SCHEMES
                    if routes == FIXED or not of.reserves
                    for background in backgrounds
                ]
    return found


def _case(
    setting: Setting,
    on: Network,
    of: Scheme,
    sources: list[int],
    routes: str,
    seed: int,
    measure: Document,
    *,
    background: bool,
    silent: bool = False,
) -> Case:
    traffic = {"load": setting.load, "pattern": incast(on, sources, background=background, silent=silent)}
    labels = {
        "network": on.name,
        "routes": routes,
        "mechanism": of.name,
        "incast": ALONE if silent else f"{len(sources)} to 1",
        "aggressors": len(sources),
        "background": background,
        "seed": seed,
    }
    asked = {**measure, "flows": flows(on, sources)}
    return Case(labels, scenario(on, of, traffic, asked, seed, routing(of, on, routes)))


@study.figure(
    "victims",
    title="An incast beside victims",
    caption="Some endpoints send to a single one; all others send to any endpoint, or nothing. Rates and latencies of "
    "victims are relative to the run without incast.",
    table=steady,
)
def beside_an_incast(setting: Setting, seeds: int | None) -> list[Case]:
    """Every scheme on every network, with victims and without."""
    return _cases(setting, seeds, chosen(setting), FIXED, (True, False))


@study.figure(
    "adaptive",
    title="The same with adaptive routes",
    caption="The fat tree of the figure before, with routes that adapt on the way up. Isolated packets of FBICM follow "
    "the tables.",
    table=steady,
)
def with_adaptive_routes(setting: Setting, seeds: int | None) -> list[Case]:
    """Every scheme on the tree."""
    networks = [on for on in chosen(setting) if on.adaptive is not None]
    return _cases(setting, seeds, networks, ADAPTIVE, (True,))


HEADINGS = (
    "scheme",
    "rate of victims",
    "slowdown: mean",
    "99th percentile",
    "use of the hot link",
    "Jain's index",
    "notifications, per mille",
    "hot link, no victims",
)


def _text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    blocks = []
    for (name, case), rows in table.filter(pl.col("incast") != ALONE).group_by(
        ["network", "incast"], maintain_order=True
    ):
        quiet = {row["mechanism"]: row["hot"] for row in rows.filter(~pl.col("background")).iter_rows(named=True)}
        lines = [
            [
                row["mechanism"],
                number(row["rate"]),
                number(row["slowdown"], "{:.2f}"),
                number(row["slowdown_p99"], "{:.2f}"),
                number(row["hot"]),
                number(row["jain"]),
                number(row["notifications"], "{:.2f}"),
                number(quiet.get(row["mechanism"])),
            ]
            for row in rows.filter(pl.col("background")).iter_rows(named=True)
        ]
        columns = [i for i in range(len(HEADINGS)) if any(line[i] != number(None) for line in lines)]
        chosen_lines = [[line[i] for i in columns] for line in lines]
        blocks += [f"**{name}, {case}**", markdown_table([HEADINGS[i] for i in columns], chosen_lines)]
    return "\n\n".join(blocks)


beside_an_incast.text(_text)
with_adaptive_routes.text(_text)


def incasts(evidence: Evidence, figure: str, name: str) -> Curves:
    """The smaller incast on a network, with victims."""
    case = f"{evidence.setting.fan_ins[0]} to 1"
    return evidence.curves(figure, network=name, incast=case, background=True)


def _on_all(evidence: Evidence) -> dict[str, Curves]:
    return {on.name: incasts(evidence, "victims", on.name) for on in chosen(evidence.setting)}


def _words(values: Mapping[str, Value], digits: int = 2) -> str:
    return ", ".join(f"{name} {nominal(value):.{digits}f}" for name, value in values.items())


def _on_each(
    evidence: Evidence, column: str, names: Sequence[str], checks: Callable[[Mapping[str, Value]], Iterable[Check]]
) -> Judgement:
    """A measure of some schemes under the smaller incast, which must pass the checks on every network."""
    found = {
        name: {of: curves.value(column, mechanism=of) for of in names} for name, curves in _on_all(evidence).items()
    }
    words = "; ".join(f"{name}: {_words(values)}" for name, values in found.items())
    return Judgement(all_of(check for values in found.values() for check in checks(values)), words)


@study.claim(
    "G1",
    figure="victims",
    statement="Without protection an incast stops packets that only share links with it",
    paper="on every network victims have at most 0.7 of the rate that they have without the incast",
)
def victims_suffer(evidence: Evidence) -> Judgement:
    """The rate of victims with one queue and no control."""
    rates = {name: curves.value("rate", mechanism=NONE) for name, curves in _on_all(evidence).items()}
    return Judgement(all_of(below(rate, 0.7) for rate in rates.values()), _words(rates))


@study.claim(
    "G2",
    figure="victims",
    statement="Isolation alone keeps the rate of victims",
    paper="on every network FBICM keeps at least 0.97 of the rate, and DBBM does not",
)
def isolation_keeps_rates(evidence: Evidence) -> Judgement:
    """FBICM has queues for congested packets alone; DBBM shares each queue among destinations."""
    return _on_each(
        evidence,
        "rate",
        ("FBICM", "DBBM"),
        lambda rates: (above(rates["FBICM"], 0.97), below(rates["DBBM"], 0.97)),
    )


@study.claim(
    "G3",
    figure="victims",
    statement="Every control that is tuned to one incast protects victims from it in the long run",
    paper="on the fat tree every control alone keeps at least 0.95 of the rate",
)
def controls_keep_rates(evidence: Evidence) -> Judgement:
    """The controls after their warm-up."""
    curves = incasts(evidence, "victims", TREE)
    rates = {of: curves.value("rate", mechanism=of) for of in CONTROLS}
    return Judgement(all_of(above(rate, 0.95) for rate in rates.values()), _words(rates, 3))


@study.claim(
    "G4",
    figure="victims",
    statement="Parameters that are tuned to one network and incast protect others, too",
    paper="on every network, with every number of aggressors, every control alone keeps at least 0.95 of the rate",
)
def parameters_carry_over(evidence: Evidence) -> Judgement:
    """The worst case of each control."""
    found: dict[str, Value] = {}
    for of in CONTROLS:
        rates = [
            evidence.curves("victims", network=on.name, incast=f"{count} to 1", background=True).value(
                "rate", mechanism=of
            )
            for on in chosen(evidence.setting)
            for count in evidence.setting.fan_ins
        ]
        found[of] = min(rates, key=nominal)
    return Judgement(all_of(above(rate, 0.95) for rate in found.values()), f"worst: {_words(found, 3)}")


@study.claim(
    "G5",
    figure="victims",
    statement="Controls share the hot link evenly, and isolation does not",
    paper="on the fat tree Jain's index of the aggressors is at least 0.9 with every control, and less with FBICM",
)
def fair_shares(evidence: Evidence) -> Judgement:
    """Jain's index of the aggressors."""
    curves = incasts(evidence, "victims", TREE)
    indices = {of: curves.value("jain", mechanism=of) for of in (*CONTROLS, "FBICM")}
    checks = [above(indices[of], 0.9) for of in CONTROLS]
    return Judgement(all_of([*checks, below(indices["FBICM"], 0.9)]), _words(indices))


@study.claim(
    "G6",
    figure="victims",
    statement="Protection by controls costs some of the hot link, and isolation costs none",
    paper="on every network FBICM uses at least 0.99 of the hot link; every control uses 0.8 to 0.99 of it",
)
def price_at_the_hot_spot(evidence: Evidence) -> Judgement:
    """The use of the link to the target."""

    def checks(uses: Mapping[str, Value]) -> Iterable[Check]:
        yield above(uses["FBICM"], 0.99)
        for of in CONTROLS:
            yield between(uses[of], 0.8, 0.99)

    return _on_each(evidence, "hot", (*CONTROLS, "FBICM"), checks)


@study.claim(
    "G7",
    figure="victims",
    statement="Isolation together with a control needs fewer notifications than the control alone",
    paper="on every network FBICM with DCQCN sends at most half of the notifications of DCQCN alone, and FBICM with "
    "InfiniBand's control likewise",
)
def fewer_notifications(evidence: Evidence) -> Judgement:
    """Phits of notifications with isolation and with the control alone, in thousandths of the accepted phits."""
    checks: list[Check] = []
    words = []
    for name, curves in _on_all(evidence).items():
        pairs = {
            both: [curves.value("notifications", mechanism=of) for of in (both, control)]
            for both, control in TOGETHER.items()
            if both.startswith("FBICM")
        }
        checks += [below(both, 0.5 * control) for both, control in pairs.values()]
        shown = (f"{of} {nominal(both):.2f} of {nominal(control):.2f}" for of, (both, control) in pairs.items())
        words.append(f"{name}: {', '.join(shown)}")
    return Judgement(all_of(checks), "; ".join(words))


@study.claim(
    "G8",
    figure="victims",
    statement="Isolation together with a control has shorter tails than either alone",
    paper="on every network the 99th percentile of victims is lower with FBICM and DCQCN together than with each alone",
)
def shorter_tails(evidence: Evidence) -> Judgement:
    """The 99th percentile of victims' latencies."""
    return _on_each(
        evidence,
        "slowdown_p99",
        ("FBICM + DCQCN", "FBICM", "DCQCN"),
        lambda tails: (below(tails["FBICM + DCQCN"], tails[of], strict=True) for of in ("FBICM", "DCQCN")),
    )


@study.claim(
    "G9",
    figure="adaptive",
    statement="Adaptive routes carry an incast into more queues: without protection victims suffer more",
    paper="on the fat tree with one queue and no control the rate of victims is lower with adaptive routes than with "
    "fixed ones",
)
def adaptivity_spreads(evidence: Evidence) -> Judgement:
    """The rate of victims with one queue, by routes."""
    fixed = incasts(evidence, "victims", TREE).value("rate", mechanism=NONE)
    adaptive = incasts(evidence, "adaptive", TREE).value("rate", mechanism=NONE)
    return Judgement(below(adaptive, fixed, strict=True), _words({FIXED: fixed, ADAPTIVE: adaptive}))


PAIRED = ("FBICM + DCQCN", "DCQCN")
"""What ICI is compared with: both together without guidance, and the control alone."""


def _guided(evidence: Evidence, *others: str) -> Judgement:
    """The least ratio of notifications, and the least of tails, over networks and incasts, to one of these schemes."""
    columns = {"notifications": "notifications", "slowdown_p99": "tails"}
    best: dict[str, dict[str, tuple[Value, str]]] = {column: {} for column in columns}
    for on in chosen(evidence.setting):
        for count in evidence.setting.fan_ins:
            curves = evidence.curves("victims", network=on.name, incast=f"{count} to 1", background=True)
            for other in PAIRED:
                for column, least in best.items():
                    own, theirs = (curves.value(column, mechanism=of) for of in (COORDINATED, other))
                    if nominal(theirs) > 0:
                        found = (own / theirs, f"{on.name}, {count} to 1")
                        least[other] = min(found, least.get(other, found), key=lambda one: nominal(one[0]))
    if not all(other in found for other in others for found in best.values()):
        raise NotRunError("nobody is notified without ICI")
    words = []
    for column, name in columns.items():
        ratios = (f"{nominal(ratio):.3f} of {other} ({where})" for other, (ratio, where) in best[column].items())
        words.append(f"{name} {', '.join(ratios)}")
    least = {column: min((found[other][0] for other in others), key=nominal) for column, found in best.items()}
    return Judgement(all_of([below(least["notifications"], 0.1), below(least["slowdown_p99"], 0.9)]), "; ".join(words))


@study.claim(
    "G17",
    figure="victims",
    statement="Isolation that guides the control spares notifications and shortens tails (arXiv 2511.04639)",
    paper="on some network and with some number of aggressors ICI sends at most a tenth of the notifications of FBICM "
    "with DCQCN, and its 99th percentile of victims is at most 0.9 of theirs. The paper claims up to 32 times fewer "
    "notifications, and tails up to 31 % shorter",
    first=Revision(
        lambda evidence: _guided(evidence, *PAIRED),
        "the same of FBICM with DCQCN, or of DCQCN alone",
    ),
)
def guided_marks(evidence: Evidence) -> Judgement:
    """Against both together without guidance: DCQCN alone has no isolation, which spares nearly all notifications."""
    return _guided(evidence, PAIRED[0])
