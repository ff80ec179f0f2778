"""Sizes at which a study can be run."""

from dataclasses import Field
from enum import StrEnum
from typing import Any, ClassVar, Protocol, TypeVar

from phit.base.errors import InputError
from phit.base.nearest import hint


class Scale(StrEnum):
    """A size of the network, with matching loads, cycles and seeds."""

    SMOKE = "smoke"
    """A tiny network and few points: shows that everything runs, not that claims hold."""
    SMALL = "small"
    """A smaller network with the paper's proportions, which takes minutes."""
    PAPER = "paper"
    """The paper's network."""


def scale_named(name: str) -> Scale:
    """The scale with this name."""
    try:
        return Scale(name)
    except ValueError:
        known = [scale.value for scale in Scale]
        raise InputError(f"--scale {name}: expected one of {', '.join(known)}{hint(name, known)}") from None


class Dataclass(Protocol):
    """An instance of a dataclass: a study's setting, with everything that depends on the scale.

    The command's options `warmup` and `cycles` replace fields with these names.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


S = TypeVar("S", bound=Dataclass)
"""A study's setting."""
