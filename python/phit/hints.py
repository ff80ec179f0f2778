"""Hints: why a run is slow or saturated.

Its code is in `phit.drawing.hints`.
"""

from phit.drawing.hints import Hint, hints, watched

__all__ = ["Hint", "hints", "watched"]
