"""FOGSim, version 2: its router."""

from phit.scenario import Document


def router(local: int) -> Document:
    """FOGSim's input-output-queued router, with so many virtual channels on local links."""
    return {
        "latency": 5,
        "speedup": 2,
        "clock": "link",
        "switching": "virtual_cut_through",
        "cut_through": "input",
        "output_buffer": 32,
        "credit_release": "output",
        "transit_priority": True,
        "injection_queue": "destination",
        "allocator": {
            "kind": "separable_input_first",
            "arbiter": "least_recently_served",
            "update": "request",
        },
        "links": {
            "endpoint": {"latency": 0, "injection_bandwidth": "infinite", "vcs": 3, "buffer": 1000},
            "local": {"latency": 10, "vcs": local, "buffer": 32},
            "global": {"latency": 100, "vcs": 2, "buffer": 256},
        },
    }
