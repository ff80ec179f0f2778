"""What channel loads allow: closed forms of one Cascade group, in packets/(endpoint·cycle)."""

from phit.studies.tpr.setting import Setting


def minimal_uniform(setting: Setting) -> float:
    """MIN under UR, destinations on the own router included.

    A router's endpoints send the share (k - 1)/k of their packets to other positions of a line of k, over (k - 1) x
    links ports: p/(k·links) on each.
    """
    p = setting.endpoints_per_router
    return min(setting.columns / p, setting.rows * setting.column_links / p)


def valiant(setting: Setting) -> float:
    """VLB under any pattern that is even over routers: two uniform legs."""
    return minimal_uniform(setting) / 2


def minimal_adversarial(setting: Setting) -> float:
    """MIN under ADV: one row link for all endpoints of a router."""
    return 1 / setting.endpoints_per_router


def zero_load(hops: float, *, channel: int = 10, speedup: int = 2) -> float:
    """Latency in cycles of a packet over `hops` links when nobody else is there.

    One cycle in the source, one on the injection and one on the ejection channel; a router's three stages take two
    cycles at twice the links' frequency.
    """
    stages = -(-3 // speedup)
    return 3 + (hops + 1) * stages + hops * channel
