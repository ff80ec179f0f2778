"""The links upwards of one router alone: how long packets wait for them by the number of outputs that a head samples.

A router whose crossbar does not limit is its outputs' queues. In every cycle, each input has a packet with the
probability of the load. The packet goes to the emptiest of `samples` outputs, drawn with replacement. Occupancies are
those at the beginning of the cycle, whatever other inputs choose (`greedy_r`). Then every queue sends one packet.

With one sample (oblivious routing), the mean wait equals that in a queue with binomial arrivals (Karol, Hluchyj and
Morgan, 1987). Sequential allocation, with as many outputs as inputs, gives each packet of a cycle another output: there
is no wait.
"""

from functools import cache

import numpy as np


def random_wait(outputs: int, load: float) -> float:
    """Mean cycles that a packet waits for an output drawn at random: load (1 - 1/n) / (2 (1 - load)) for n outputs."""
    return load * (1 - 1 / outputs) / (2 * (1 - load))


@cache
def sampled_wait(outputs: int, load: float, samples: int, *, routers: int = 128, cycles: int = 400) -> float:
    """Mean cycles that a packet waits for the emptiest of some outputs, from a simulation of several routers."""
    rng = np.random.default_rng(1)
    queued = np.zeros((routers, outputs), dtype=np.int64)
    rows = np.arange(routers)[:, None]
    total, counted = 0.0, 0
    for cycle in range(2 * cycles):
        drawn = rng.integers(outputs, size=(routers, outputs, samples))
        of_each = np.argmin(queued[rows[:, :, None], drawn], axis=2)
        chosen = np.take_along_axis(drawn, of_each[:, :, None], axis=2)[:, :, 0]
        arrived = rng.random((routers, outputs)) < load
        np.add.at(queued, (np.broadcast_to(rows, chosen.shape)[arrived], chosen[arrived]), 1)
        queued = np.maximum(queued - 1, 0)
        if cycle >= cycles:
            total += float(queued.mean())
            counted += 1
    return total / counted / load
