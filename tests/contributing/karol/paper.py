"""The paper: a switch whose inputs have one queue each, always full."""

from dataclasses import dataclass

from phit.document import Document
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.scale import Scale
from phit.studies.kit.study import Paper, Study


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale."""

    inputs: tuple[int, ...]
    """Numbers of inputs, and of outputs."""
    warmup: int = 2_000
    """Cycles before the measurement."""
    cycles: int = 20_000
    """Measured cycles."""
    seeds: int = 1


SETTINGS = {
    Scale.SMOKE: Setting((2, 8)),
    Scale.SMALL: Setting((2, 3, 4, 5, 6, 7, 8, 32)),
    Scale.PAPER: Setting((2, 3, 4, 5, 6, 7, 8, 16, 32, 64), cycles=100_000, seeds=5),
}

Evidence = AnyEvidence[Setting]
"""The evidence for rules: tables and setting. A study whose rules need more extends this class."""


def network(of: Setting) -> Document:  # noqa: ARG001
    """The part of the scenarios that all runs share."""
    return {"router": {"links": {"endpoint": {"vcs": 1, "buffer": 16, "latency": 1}}}}


def size(of: Setting) -> str:
    """How large the switches are."""
    return f"{min(of.inputs)} to {max(of.inputs)} inputs"


def options(of: Setting) -> str:
    """The runs in Markdown."""
    return f"Packets of one phit, uniform traffic at full load, {of.cycles:,} cycles after {of.warmup:,} of warm-up."


study = Study[Setting, Evidence](
    name="karol",
    title="Input queueing on a packet switch",
    paper=Paper(
        ("M. J. Karol", "M. G. Hluchyj", "S. P. Morgan"),
        "Input versus output queueing on a space-division packet switch",
        "IEEE Transactions on Communications 35(12), 1987",
    ),
    setting=SETTINGS.__getitem__,
    network=network,
    size=size,
    describe=lambda of: f"a switch of {size(of)}",
    options=options,
    evidence=Evidence,
)
