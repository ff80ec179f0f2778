"""Errors that a user can cause, each with a one-line message that says what to do."""

from phit._phit import ScenarioError

__all__ = ["InputError", "PhitError", "ResultsError", "ScenarioError", "SimulationError"]


class PhitError(ValueError):
    """What Phit refuses: the base of every error below."""


class InputError(PhitError):
    """A document, key or option that cannot be used."""


class ResultsError(PhitError):
    """A results folder that cannot be read, written or shared."""


class SimulationError(PhitError):
    """Points of a sweep that were valid but could not be simulated to the end."""


def one_line(error: BaseException) -> str:
    """The message of `error` without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
