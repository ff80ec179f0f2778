"""How large a study is run."""

from dataclasses import Field
from enum import StrEnum
from typing import Any, ClassVar, Protocol, TypeVar

from phit.base.errors import InputError
from phit.base.nearest import hint


class Scale(StrEnum):
    """A size of network, with loads, cycles and seeds to go with it."""

    SMOKE = "smoke"
    """A tiny network and few points: shows that everything runs, not what the paper says."""
    SMALL = "small"
    """A smaller network with the paper's proportions: minutes."""
    PAPER = "paper"
    """The paper's network."""


def scale_named(name: str) -> Scale:
    """The scale of that name."""
    try:
        return Scale(name)
    except ValueError:
        known = [scale.value for scale in Scale]
        raise InputError(f"--scale {name}: expected one of {', '.join(known)}{hint(name, known)}") from None


class Dataclass(Protocol):
    """An instance of a dataclass: what a study's setting is, everything that depends on the scale.

    If it has fields `warmup` and `cycles`, the command's options of that name replace them.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


S = TypeVar("S", bound=Dataclass)
"""A study's setting."""
