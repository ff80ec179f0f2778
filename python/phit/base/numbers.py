"""Numbers as people read them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Most commands need no tables, and start in half of the time without it.

    pass


def readable(value: Any) -> str:
    """A number with four significant digits; integers in full, booleans as yes and no."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)


def readable_half(half: float) -> str:
    """Half the width of an interval, with two significant digits."""
    return readable(half) if half >= 100 else f"{half:.2g}"
