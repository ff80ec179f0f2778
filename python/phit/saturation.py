"""The largest sustained load of a scenario: the rule of `phit.saturate` and its outcome.

Its code is in `phit.running.saturation`.
"""

from phit.running.saturation import Rule, Saturation, Trial, saturate

__all__ = ["Rule", "Saturation", "Trial", "saturate"]
