"""Mechanisms in Python: what examples/mechanisms.toml and examples/mechanism_rule.toml name."""

import phit


@phit.trigger
def crowded(view, packet, threshold=6):
    """Contention Base: a packet leaves its minimal output when more heads than the threshold want it ..."""
    return view.heads(view.minimal) > threshold


@crowded.admits
def calm(view, packet, port, threshold=6):
    """... for an output that fewer want."""
    return view.heads(port) < threshold


@phit.rule
def emptiest(view, packet, margin=8):
    """The port with least phits ahead; one off the minimal routes must save more than the margin of them."""
    best, least = view.minimal, view.port_occupancy(view.minimal)
    here = view.distance(view.router, packet.destination_router)
    for port in range(view.ports):
        if view.permits(packet, port):
            away = view.distance(view.neighbour(port), packet.destination_router) >= here
            phits = view.port_occupancy(port) + (margin if away else 0)
            if phits < least:
                best, least = port, phits
    return best


@phit.pattern
def near(view, share=0.5):
    """A share of the packets goes to the next endpoint, the others anywhere else."""
    if view.random() < share:
        return (view.source + 1) % view.endpoints
    other = view.below(view.endpoints - 1)
    return other + 1 if other >= view.source else other


@phit.probe
def waiting(view):
    """Phits in the queues of an input port from another router."""
    if view.neighbour < 0:
        return -1
    phits = 0
    for queue in range(view.queues):
        phits += view.input_phits(queue)
    return phits
