"""The paper's formulas."""

import math


def latency_ratio(stages: int) -> float:
    """T_adapt / T_ob where queueing is all there is and adaptive routing removes it on the way up (section 3.1)."""
    x = (stages - 1) // 2
    return (x + 1) / (2 * x + 1)


def two_or_more(radix: int, flits: int, load: float) -> float:
    """The probability that two or more heads arrive at the inputs of a router in one cycle (figure 11).

    Each of `radix` inputs receives the head of a packet with probability `load / flits`, independently of the others.
    """
    p = load / flits
    return 1.0 - (1.0 - p) ** radix - radix * p * (1.0 - p) ** (radix - 1)


def output_queue_wait(load: float, inputs: int = 0) -> float:
    """Mean wait in cycles in an output queue of Bernoulli inputs, infinitely many if 0 (Karol, Hluchyj and Morgan)."""
    share = 1.0 if inputs == 0 else (inputs - 1) / inputs
    return share * load / (2.0 * (1.0 - load))


HEAD_OF_LINE = 2.0 - math.sqrt(2.0)
"""Throughput of an input-queued switch with FIFO inputs and many ports (Karol, Hluchyj and Morgan, 1987)."""
