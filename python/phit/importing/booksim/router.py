"""BookSim's router: the table `[router]`."""

from phit.document import Document
from phit.importing.booksim.configuration import Configuration, check_range
from phit.importing.booksim.grammar import called, elements
from phit.importing.booksim.network import Network
from phit.importing.settings import Status
from phit.peers.booksim import router as model

SOURCES = {
    "latency": ("st_prepare_delay", "st_final_delay"),
    "allocation_delay": ("routing_delay",),
    "vc_allocation": ("speculative",),
    "speculation": ("speculative", "sw_allocator"),
    "connection": ("hold_switch_for_packet",),
    "speedup": ("internal_speedup",),
    "input_speedup": ("input_speedup",),
    "output_speedup": ("output_speedup",),
    "credit_delay": ("credit_delay",),
    "vc_reuse": ("wait_for_tail_credit",),
    "allocator": ("sw_allocator", "priority"),
    "vc_allocator": ("vc_allocator", "priority"),
    "vc_eligible": ("vc_busy_when_full",),
    "vc_preferred": ("vc_prioritize_empty",),
    "vc_turns": ("vc_shuffle_requests",),
    "sharing": ("buffer_policy", "private_buf_size", "max_held_slots"),
}
"""BookSim's keys for each key of the table."""


def router(given: Configuration, network: Network) -> None:
    """Puts the router into the scenario."""
    if given["router"].value != "iq":
        given.refuse("router", "cannot be expressed; expected iq")
    for key in ("vc_alloc_delay", "sw_alloc_delay"):
        if given[key].value != 1:
            given.refuse(key, "expected 1: with more BookSim stops at an assertion")
    transfer = given.whole("st_prepare_delay") + check_range(given, "st_final_delay", 0, 1 << 16)
    if not 1 <= transfer <= 1 << 16 or given.whole("st_prepare_delay") < 0:
        given.refuse("st_final_delay", "expected 1 or more cycles, st_prepare_delay included")
    _left_out(given)
    vcs, buffer = check_range(given, "num_vcs", 1, 64), _buffer(given)
    document = model(
        vcs=vcs,
        buffer=buffer,
        routing_delay=check_range(given, "routing_delay", 0, 1 << 16),
        switch_delay=transfer,
        credit_delay=check_range(given, "credit_delay", 0, 1 << 16),
        speedup=_speedup(given),
    )
    priority = _priority(given)
    for name, key in (("allocator", "sw_allocator"), ("vc_allocator", "vc_allocator")):
        document[name] = _allocator(given, key)
        if priority and _ranks(given, key):
            document[name]["priority"] = priority
    if called(str(given["sw_allocator"].value))[0] == "max_size" and given.whole("output_speedup") > given.whole(
        "input_speedup"
    ):
        words = "BookSim itself stops or hangs with max_size where the crossbar has more outputs than inputs"
        given.drop("output_speedup", words)
    _speculation(given, document)
    _channels(given, document)
    _sharing(given, network, document)
    _next_hop_queueing(given, network)
    if given.whole("hold_switch_for_packet"):
        document["connection"] = "packet"
    document["vc_reuse"] = "empty" if given.whole("wait_for_tail_credit") else "tail"
    document["links"] = _links(document["links"], network)
    for key in ("input_speedup", "output_speedup"):
        if (paths := check_range(given, key, 1, 64)) > 1:
            document[key] = paths
    _output_buffer(given, vcs * buffer)
    if network.whole_flits:
        document["cut_through"] = "input"
    for key, value in document.items():
        if key != "links":
            given.findings.put(f"router.{key}", value, *(given[source] for source in SOURCES.get(key, ())))
    for name, link in document["links"].items():
        given.findings.put(f"router.links.{name}", link)
        given.findings.comments[f"router.links.{name}"] = f"{given['num_vcs']}; {given['vc_buf_size']}"


def _links(links: Document, network: Network) -> Document:
    """The links of a model's router, with the network's latencies and channels."""
    endpoint, default = links["endpoint"], links["default"]
    # A flit, or a credit, takes one cycle more than the length of its channel. Endpoints use a credit at once, routers
    # after `credit_delay`.
    endpoint |= {
        "latency": network.attachment,
        "injection_credit_latency": network.attachment + 1,
        "ejection_latency": network.attachment - 1,
    }
    found = {"endpoint": endpoint}
    for name, latency in network.channels.items():
        found[name] = default | {"latency": latency, "vcs": network.vcs.get(name, default["vcs"])}
    return found


def _buffer(given: Configuration) -> int:
    vcs = max(given.whole("num_vcs"), 1)
    shared = check_range(given, "buf_size", -1, 1 << 24)
    own = check_range(given, "vc_buf_size", 1, 1 << 20)
    if shared > 0 and shared // vcs < 1:
        given.refuse("buf_size", f"expected at least a flit for each of {vcs} virtual channels")
    return max(shared // vcs, 1) if shared > 0 else own


def _speedup(given: Configuration) -> float:
    asked = given.number("internal_speedup")
    if not 1 <= asked <= 64 or round(asked, 3) != asked:
        given.refuse("internal_speedup", "cannot be expressed; expected 1 to 64, of at most three decimals")
        return 1
    return int(asked) if asked == int(asked) else asked


def _left_out(given: Configuration) -> None:
    """Notes options without an equivalent whose effect is limited, or absent with these settings."""
    if given.whole("routing_delay") > 1:
        given.drop("routing_delay", "BookSim's stage is not pipelined, Phit's is: equal in an empty network")
    crossing = given.whole("st_prepare_delay") + given.whole("st_final_delay")
    # BookSim's router begins to move flits only when all that move have arrived, at any of its ports.
    words = (
        "BookSim's crossbar is not pipelined, Phit's is: equal in an empty network for packets of one flit; elsewhere "
        f"BookSim's latency is longer, by up to {crossing - 1:,} cycles a router"
    )
    for key in ("st_prepare_delay", "st_final_delay"):
        if crossing > 1 and given.whole(key) > 0:
            given.drop(key, words)


def _output_buffer(given: Configuration, most: int) -> None:
    """Output buffers. At most `most` flits can be on their way to one.

    Before allocating the crossbar, BookSim counts the flits that have passed it and are still in the output buffer.
    """
    held = check_range(given, "output_buffer_size", -1, 65_534)
    if held < 0:
        return
    crossing = given.whole("st_prepare_delay") + given.whole("st_final_delay")
    at_once = given.number("internal_speedup") > 1 or given.whole("output_speedup") > 1 or crossing > 1
    if held == 0:
        given.refuse("output_buffer_size", "expected -1, or at least 1 flit: without room nothing is ever sent")
    elif held >= most:
        words = "a flit in it has a credit of the next buffer, of which there are no more"
        given.findings.note(Status.IGNORED, given["output_buffer_size"], words)
    elif not at_once:
        words = "a flit goes on in the cycle in which it has come through the crossbar, so none ever waits"
        given.findings.note(Status.IGNORED, given["output_buffer_size"], words)
    else:
        expected = f"cannot be expressed where several flits come in a cycle; expected -1, or at least {most}"
        given.refuse("output_buffer_size", expected)


RANKING = ("separable_input_first", "separable_output_first", "wavefront", "rr_wavefront", "select")
"""BookSim's allocators with priorities, which grant requests without a channel last.

The other allocators treat all requests alike.
"""


def _ranks(given: Configuration, key: str) -> bool:
    return called(str(given[key].value))[0] in RANKING


def _speculation(given: Configuration, document: Document) -> None:
    """The treatment of heads that have no channel yet."""
    if not given.whole("speculative"):
        return
    document["vc_allocation"] = "speculative"
    if not _ranks(given, "sw_allocator"):
        document["speculation"] = "alike"
    for key, expected in (("spec_check_elig", 1), ("spec_check_cred", 1), ("spec_sw_allocator", "prio")):
        if given[key].value != expected:
            given.refuse(key, f"cannot be expressed; expected {expected} with speculative")


def _channels(given: Configuration, document: Document) -> None:
    """Which free virtual channels heads request, and in which order the channels take turns."""
    if given.whole("vc_busy_when_full") > 0:
        document["vc_eligible"] = "with_room"
    if given.whole("vc_shuffle_requests") > 0:
        document["vc_turns"] = "queues"
    if given.whole("vc_prioritize_empty") > 0:
        if _ranks(given, "vc_allocator"):
            document["vc_preferred"] = "empty"
        else:
            words = f"{given['vc_allocator'].value} has no priorities"
            given.findings.note(Status.IGNORED, given["vc_prioritize_empty"], words)


LIMITS = {"shared": "none", "limited": "fixed", "dynamic": "even", "shifting": "halved"}
"""Share of a shared buffer that one virtual channel may hold, by policy."""


def _sharing(given: Configuration, network: Network, document: Document) -> None:
    """Sharing of a port's memory by its virtual channels."""
    policy = str(given["buffer_policy"].value)
    if policy == "private":
        return
    if policy not in LIMITS:
        given.refuse("buffer_policy", f"cannot be expressed; expected one of private, {', '.join(LIMITS)}")
        return
    vcs, buffer = given.whole("num_vcs"), _buffer(given)
    if given.whole("buf_size") > 0 and given.whole("buf_size") % max(vcs, 1):
        given.refuse("buf_size", f"cannot be expressed; expected a multiple of the {vcs} virtual channels")
    if given.whole("output_speedup") > 1:
        words = "two flits can take the same place, at which BookSim stops"
        given.refuse("output_speedup", f"cannot be expressed with {given['buffer_policy']}: {words}; expected 1")
    if any(used != vcs for used in network.vcs.values()):
        given.refuse("buffer_policy", "cannot be expressed with channels that routing does not use; expected private")
    if given["private_bufs"].value not in (-1, vcs):
        given.refuse("private_bufs", f"cannot be expressed; expected -1 or {vcs}, one for each virtual channel")
    for key in ("private_buf_start_vc", "private_buf_end_vc"):
        if given[key].value != -1:
            given.refuse(key, "cannot be expressed; expected -1: each virtual channel has its own")
    private = check_range(given, "private_buf_size", -1, 1 << 20)
    own = set(elements(str(given["private_buf_size"].value)))
    if private == 0 or len(own) > 1:
        given.refuse("private_buf_size", "cannot be expressed; expected one number for all, at least 1 flit")
    private = buffer if private < 0 else private
    if private > buffer:
        given.refuse("private_buf_size", f"expected at most {buffer}, the share of a virtual channel, as BookSim does")
    found: Document = {"private": private, "limit": LIMITS[policy]}
    if policy == "limited":
        held = check_range(given, "max_held_slots", -1, 1 << 24)
        if held == 0:
            given.refuse("max_held_slots", "expected at least 1 flit")
        found |= {"most": held} if held > 0 else {"limit": "none"}
    document["sharing"] = found


def _next_hop_queueing(given: Configuration, network: Network) -> None:
    """Virtual channels that are divided among the outputs of the router at the end of the link."""
    if not given.whole("noq"):
        return
    if given.whole("routing_delay"):
        given.refuse("routing_delay", "expected 0 with noq, as BookSim does itself")
    if given.whole("use_read_write"):
        given.refuse("noq", "cannot be expressed with use_read_write; expected 0")
    if given.whole("classes") > 1:
        given.refuse("noq", "cannot be expressed with classes; expected 0")
    if not network.outputs:
        given.refuse("noq", f"cannot be expressed with {given['routing_function']}; expected 0")
    least = network.outputs * network.halves
    if given.whole("num_vcs") < least:
        given.refuse("num_vcs", f"expected at least {least} with noq, one for each output of a router, as BookSim does")
    given.findings.put("queueing", {"kind": "noq"}, given["noq"])


ITERATIVE: dict[str, Document] = {
    "islip": {"kind": "islip"},
    "select": {"kind": "islip"},
    "pim": {"kind": "pim", "lots": "places"},
}
"""Iterative allocators."""

SEPARABLE: dict[str, Document] = {
    "separable_input_first": {"kind": "separable_input_first", "among": "outputs"},
    "separable_output_first": {"kind": "separable_output_first"},
}
"""Allocators with arbiters."""

PLAIN: dict[str, Document] = {
    "wavefront": {"kind": "wavefront"},
    "rr_wavefront": {"kind": "wavefront", "diagonal": "after_first"},
    "max_size": {"kind": "maximum_matching"},
    "loa": {"kind": "lonely_output"},
}
"""Allocators without parameters."""

ARBITERS: dict[str, Document] = {"round_robin": {}, "matrix": {"arbiter": "least_recently_served"}}


def _allocator(given: Configuration, key: str) -> Document:
    """The allocator that `key` names."""
    kind, parameters = called(str(given[key].value))
    if kind in ITERATIVE:
        return _iterative(given, key, kind, parameters)
    if kind in SEPARABLE:
        arbiter = parameters[0] if parameters else "round_robin"
        if arbiter in ARBITERS:
            return SEPARABLE[kind] | ARBITERS[arbiter]
        given.refuse(key, f"cannot be expressed; expected an arbiter of {', '.join(ARBITERS)}")
    elif kind in PLAIN:
        return dict(PLAIN[kind])
    else:
        given.refuse(key, f"cannot be expressed; expected one of {', '.join((*ITERATIVE, *SEPARABLE, *PLAIN))}")
    return {"kind": "islip"}


def _iterative(given: Configuration, key: str, kind: str, parameters: list[str]) -> Document:
    if not parameters:
        return dict(ITERATIVE[kind])
    if not parameters[0].isdecimal() or not 1 <= int(parameters[0][:4]) <= 255:
        given.refuse(key, "expected 1 to 255 iterations")
        return dict(ITERATIVE[kind])
    if kind == "select" and int(parameters[0]) > 1:
        given.refuse(key, "cannot be expressed; expected 1 iteration: in more of them it matches inputs again")
    return ITERATIVE[kind] | {"iterations": int(parameters[0])}


def _priority(given: Configuration) -> str | None:
    """The rule of priority among packets, if the allocator has priorities."""
    name = str(given["priority"].value)
    if name == "class" and given["classes"].value == 1:
        given.findings.note(Status.IGNORED, given["priority"], "there is one class")
        return None
    if name in ("age", "class") and not _ranks(given, "sw_allocator"):
        words = f"{given['sw_allocator'].value} has no priorities; left out: which queue of an input requests"
        given.drop("priority", words)
    elif name not in ("none", "age", "class"):
        given.refuse("priority", "cannot be expressed; expected none, age or class")
        return None
    return None if name == "none" else name
