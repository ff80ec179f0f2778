"""BookSim's keys: their defaults, their treatment, and the reason in words.

The reader takes defaults from this list and refuses by it; the guide's table is generated from it.
"""

from dataclasses import dataclass

from phit.importing.booksim.grammar import Value
from phit.importing.settings import Status

TAKEN, IGNORED, DROPPED, STALE, REFUSED = Status


@dataclass(frozen=True)
class Key:
    """A key of BookSim."""

    name: str
    default: Value
    status: Status
    words: str
    listed: bool = False
    """Whether its value may also be a list in braces, or a word that BookSim reads as one."""


def _all(status: Status, *rows: tuple[str, Value, str] | tuple[str, Value, str, bool]) -> list[Key]:
    return [Key(name, default, status, words, bool(listed)) for name, default, words, *listed in rows]


LIST = True

_TAKEN = _all(
    TAKEN,
    (
        "topology",
        "torus",
        "`mesh`, `torus`, `cmesh`, `flatfly` (a HyperX), `fattree`, `qtree`, `dragonflynew`, `fly`, `anynet`",
    ),
    ("k", 8, "routers along a side, ports of a switch, or endpoints at a router, as the topology has it"),
    ("n", 2, "dimensions, levels or stages"),
    ("c", 1, "endpoints at each router"),
    (
        "routing_function",
        "none",
        (
            "`dor`, `dim_order`, `dim_order_bal`, `xy_yx`, `adaptive_xy_yx`, `romm`, `min_adapt`, `planar_adapt`, "
            "`valiant`, `dor_no_express`, `ran_min`, `ugal`, `nca`, `anca`, `min`, `dest_tag`"
        ),
    ),
    ("use_noc_latency", 1, "the links' latencies follow the floor plan; 0: one cycle each"),
    ("x", 8, "routers along the floor plan; with the next three the numbering of endpoints and the lengths of links"),
    ("y", 8, "as `x`"),
    ("xr", 1, "endpoints of a router side by side"),
    ("yr", 1, "endpoints of a router above one another"),
    ("router", "iq", "`iq` only"),
    ("credit_delay", 0, "`router.credit_delay`"),
    ("internal_speedup", 1.0, "`router.speedup` of the crossbar's clock, of at most three decimals"),
    (
        "output_buffer_size",
        -1,
        "without effect where no flit waits there, or where it has room for all; otherwise refused",
    ),
    ("speculative", 0, "`router.vc_allocation`"),
    ("spec_check_elig", 1, "1 only, with `speculative`: a head asks for the switch if a channel is free"),
    ("spec_check_cred", 1, "1 only, with `speculative`: and has room"),
    ("spec_sw_allocator", "prio", "`prio` only, with `speculative`: one allocator for all requests"),
    ("num_vcs", 16, "`router.links.*.vcs`"),
    ("vc_buf_size", 8, "`router.links.*.buffer`"),
    ("buf_size", -1, "`router.links.*.buffer`: an equal part of it for each virtual channel"),
    (
        "buffer_policy",
        "private",
        "`router.sharing`: `shared`, and with a limit `limited`, `dynamic`, `shifting`; no feedback of delays",
    ),
    ("private_bufs", -1, "with these policies: as many as virtual channels"),
    ("private_buf_size", 1, "`router.sharing.private`", LIST),
    ("private_buf_start_vc", -1, "with these policies: left out", LIST),
    ("private_buf_end_vc", -1, "as above", LIST),
    ("max_held_slots", -1, "`router.sharing.most`, with `limited`"),
    ("noq", 0, "`queueing.kind`, where routes are deterministic and `routing_delay` is 0"),
    ("wait_for_tail_credit", 0, "`router.vc_reuse`"),
    ("hold_switch_for_packet", 0, "`router.connection`"),
    ("input_speedup", 1, "`router.input_speedup`"),
    ("output_speedup", 1, "`router.output_speedup`"),
    ("routing_delay", 1, "`router.allocation_delay`; above 1 the simulator's stage is not pipelined, with a warning"),
    ("vc_alloc_delay", 1, "1 only: with more the simulator aborts"),
    ("sw_alloc_delay", 1, "1 only: with more the simulator aborts"),
    (
        "st_prepare_delay",
        0,
        "`router.latency`, with the next one; above 1 together the stage is not pipelined, with a warning",
    ),
    ("st_final_delay", 1, "`router.latency`, as above"),
    ("vc_allocator", "islip", "`router.vc_allocator`"),
    ("vc_busy_when_full", 0, "`router.vc_eligible`"),
    ("vc_prioritize_empty", 0, "`router.vc_preferred`; without effect on allocators that know no priorities"),
    ("vc_shuffle_requests", 0, "`router.vc_turns`"),
    (
        "sw_allocator",
        "islip",
        "`router.allocator`: `islip`, `pim`, separable ones, wavefronts, `loa`, `max_size`, `select` of one round",
    ),
    ("classes", 1, "`traffic.classes`, up to 8; not with `use_read_write`"),
    (
        "traffic",
        "uniform",
        "all patterns; `randperm` draws another permutation, with a warning",
        LIST,
    ),
    ("class_priority", 0, "`traffic.classes.priority`, with `priority = class`", LIST),
    ("subnets", 1, '`planes.count`, with `planes.injection = "serial"`; not with several `classes`'),
    ("read_request_subnet", 0, "with `use_read_write`: all four kinds of packets over the same one of `subnets`"),
    ("read_reply_subnet", 0, "as above"),
    ("write_request_subnet", 0, "as above"),
    ("write_reply_subnet", 0, "as above"),
    ("perm_seed", 0, "`traffic.pattern.seed` of `randperm`", LIST),
    ("injection_rate", 0.1, "`traffic.load`, which counts flits", LIST),
    ("injection_rate_uses_flits", 0, "whether `injection_rate` counts flits or packets"),
    ("packet_size", 1, "`traffic.packet_size`", LIST),
    ("packet_size_rate", 1, "`traffic.packet_size.weights`", LIST),
    ("injection_process", "bernoulli", "`traffic.process`: `bernoulli`, `on_off`", LIST),
    ("burst_alpha", 0.5, "with `on_off`: probability that a burst begins"),
    ("burst_beta", 0.5, "with `on_off`: probability that a burst ends"),
    ("burst_r1", -1.0, "with `on_off`: packets per cycle in a burst"),
    (
        "priority",
        "none",
        "`none`; `age`, `class`: `priority` of separable allocators, wavefronts, `select`",
    ),
    ("use_read_write", 0, "`traffic.requests`", LIST),
    ("write_fraction", 0.5, "`traffic.requests.writes`", LIST),
    ("read_request_begin_vc", 0, "with `use_read_write`: whether requests and replies share virtual channels"),
    ("read_request_end_vc", 5, "as above"),
    ("write_request_begin_vc", 2, "as above"),
    ("write_request_end_vc", 7, "as above"),
    ("read_reply_begin_vc", 8, "as above"),
    ("read_reply_end_vc", 13, "as above"),
    ("write_reply_begin_vc", 10, "as above"),
    ("write_reply_end_vc", 15, "as above"),
    ("read_request_size", 1, "`traffic.requests.read_request`", LIST),
    ("write_request_size", 1, "`traffic.requests.write_request`", LIST),
    ("read_reply_size", 1, "`traffic.requests.read_reply`", LIST),
    ("write_reply_size", 1, "`traffic.requests.write_reply`", LIST),
    ("sim_type", "latency", "`measure.count`: `latency` counts packets generated, `throughput` packets delivered"),
    ("warmup_periods", 3, "`measure.warmup`; 0: found out by the run"),
    ("sample_period", 1000, "`measure.warmup`, `measure.cycles`"),
    ("max_samples", 10, "`measure.cycles`: three periods, as when the simulator has converged, or what these leave"),
    ("stopping_thres", 0.05, "0 (or less): `measure.cycles` is all that `max_samples` leaves", LIST),
    ("acc_stopping_thres", 0.05, "as `stopping_thres`", LIST),
    ("sim_count", 1, "`sweep.seeds`"),
    ("seed", 0, "`seed`; the streams of random numbers are others", LIST),
    ("network_file", "", "the links of `anynet`, which become a graph"),
)

_IGNORED = _all(
    IGNORED,
    ("channel_file", "", "never read"),
    ("in_ports", 5, "never read"),
    ("out_ports", 5, "never read"),
    ("output_delay", 0, "never read"),
    (
        "arb_type",
        "round_robin",
        "the router builds its allocators without it, so arbiters are round-robin; an allocator's name can say it",
    ),
    ("alloc_iters", 1, "the router builds its allocators without it, so iSLIP has one iteration; `islip(N)` says it"),
    ("vct", 0, "of the `event` router"),
    ("watch_transactions", "", "never read"),
    ("spec_mask_by_reqs", 0, "of a `spec_sw_allocator` of its own"),
    ("feedback_aging_scale", 1, "of other buffer policies"),
    ("feedback_offset", 0, "as above"),
    ("channel_width", 128, "of the power model"),
    ("channel_sweep", 0, "of the power model"),
    ("tech_file", "", "of the power model"),
    ("power_output_file", "pwr_tmp", "of the power model"),
    ("fail_seed", 0, "of `link_failures`", LIST),
    ("batch_size", 1000, "of `sim_type = batch`"),
    ("batch_count", 1, "of `sim_type = batch`"),
    ("max_outstanding_requests", 0, "of `sim_type = batch`"),
)

_LOG = "a file for watching the run; `phit trace-packet` follows single packets, tables and `measure.probes` say more"
_DROPPED = _all(
    DROPPED,
    ("measure_stats", 1, "every class is measured", LIST),
    ("pair_stats", 0, "no statistics by source and destination"),
    ("latency_thres", 500.0, "Phit runs to the end however large the latency; `phit saturate` judges", LIST),
    ("warmup_thres", 0.05, 'used without `warmup_periods` only; `measure.warmup = "auto"` has a rule of its own', LIST),
    ("acc_warmup_thres", 0.05, "as `warmup_thres`", LIST),
    ("include_queuing", 1, "`network_latency_mean` is the latency without the source queue"),
    ("print_activity", 0, "`measure.links` has the use of every link"),
    ("print_csv_results", 0, "`phit run --json` and `phit report --csv` print numbers for programs"),
    ("deadlock_warn_timeout", 256, "`phit verify` proves that there is none"),
    ("viewer_trace", 0, "no viewer"),
    ("watch_file", "", _LOG),
    ("watch_flits", "", _LOG, LIST),
    ("watch_packets", "", _LOG, LIST),
    ("watch_out", "", _LOG),
    ("stats_out", "", _LOG),
    ("injected_flits_out", "", _LOG),
    ("received_flits_out", "", _LOG),
    ("stored_flits_out", "", _LOG),
    ("sent_flits_out", "", _LOG),
    ("outstanding_credits_out", "", _LOG),
    ("ejected_flits_out", "", _LOG),
    ("active_packets_out", "", _LOG),
    ("used_credits_out", "", _LOG),
    ("free_credits_out", "", _LOG),
    ("max_credits_out", "", _LOG),
    ("sent_packets_out", "", _LOG),
    ("sim_power", 0, "no model of power"),
)

_REFUSED = _all(
    REFUSED,
    ("link_failures", 0, "0 only; `topology.faults` names links that do not work"),
    ("vc_priority_donation", 0, "0 only"),
)

_STALE = _all(
    STALE,
    ("limit", 0, "of BookSim 1"),
    ("physical_subnetworks", 1, "of BookSim 1; `subnets` now"),
    ("reorder", 0, "of BookSim 1"),
    ("flit_timing", 0, "of BookSim 1"),
    ("split_packets", 0, "of BookSim 1"),
)

KEYS = {key.name: key for key in (*_TAKEN, *_IGNORED, *_DROPPED, *_REFUSED, *_STALE)}
"""All keys by name."""
