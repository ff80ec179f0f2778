"""When a mechanism has adapted to a change of traffic: responses of which the answer is known."""

import math

from phit.studies.kit.response import adaptation


def exponential(start: float, end: float, constant: float, *, bins: int = 150, width: int = 20) -> list[float]:
    """A level until 0, then an approach to another with that time constant."""
    return [start if t < 0 else end + (start - end) * math.exp(-t / constant) for t in range(-400, bins * width, width)]


def times(bins: int = 150, width: int = 20) -> list[int]:
    return list(range(-400, bins * width, width))


def test_adaptation_times_are_those_of_exponentials() -> None:
    # Within a tenth of the step after ln 10 time constants: the last bin outside ends one bin later at most.
    for constant in (50, 120, 300):
        found = adaptation(times(), exponential(100, 300, constant))
        assert found is not None
        assert 0 <= found - math.log(10) * constant <= 20
    # At once, which a bin cannot tell from its end; and in the other direction.
    assert adaptation(times(), [100.0 if t < 0 else 300.0 for t in times()]) == 20
    assert adaptation(times(), exponential(300, 100, 120)) == adaptation(times(), exponential(100, 300, 120))


def test_a_single_bin_outside_is_chance_but_for_the_first() -> None:
    response = exponential(100, 300, 50)
    usual = adaptation(times(), response)
    late = times().index(1400)
    response[late] = 900.0
    assert adaptation(times(), response) == usual
    response[late + 1] = 900.0
    assert adaptation(times(), response) == 1440
    assert adaptation(times(), [{-20: 100.0, 0: 500.0}.get(t, 100.0 if t < 0 else 300.0) for t in times()]) == 20


def test_adaptation_is_to_a_share_of_the_step() -> None:
    def response(t: int, base: float) -> float:
        return base if t < 0 else base + 20 if t < 80 else base + 100

    # 80 of the step's 100 cycles are not within a tenth, whatever both states have in common.
    for base in (50.0, 5000.0):
        values = [response(t, base) for t in times()]
        assert adaptation(times(), values) == 80
        assert adaptation(times(), values, 0.85) == 20
        assert adaptation(times(), [6000 - value for value in values]) == 80


def test_what_meets_the_change_on_its_way_is_not_the_state_before() -> None:
    """Packets that are generated before the change and arrive after it."""
    values = exponential(100, 300, 50)
    late = [i for i, t in enumerate(times()) if -200 <= t < 0]
    usual = adaptation(times(), values)
    for i in late:
        values[i] = 280.0
    assert adaptation(times(), values) == usual


def test_what_grows_without_end_does_not_adapt() -> None:
    # The packets that finally arrive are no slower than earlier ones.
    assert adaptation(times(), exponential(100, 800, 200)) is None
    assert adaptation(times(), [100.0 if t < 0 else 100 + 2 * t for t in times()]) is None
    assert adaptation(times()[:25], exponential(100, 300, 50)[:25]) is None
