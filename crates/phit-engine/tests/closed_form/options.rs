//! Options of the router and of networks whose effect single packets show.

use crate::common::{assert_close, number, run, with};
use serde_json::{Value, json};

/// A switch whose endpoints send what `trace` says at once, however much: cycle, source, destination, phits.
fn switch(router: Value, trace: &[[u32; 4]]) -> Value {
    json!({
        "topology": { "kind": "single", "endpoints": 6 },
        "router": with(
            json!({ "links": { "endpoint": {
                "vcs": 4, "buffer": 64, "latency": 0, "injection_bandwidth": "infinite", "bandwidth": 8,
            } }, "injection_queue": "round_robin", "crossbar_bandwidth": 1 }),
            router,
        ),
        "traffic": { "load": 0, "packet_size": PACKET, "trace": trace },
        "measure": { "warmup": 0, "cycles": 400, "count": "generated" },
    })
}

/// Phits of a packet, which crosses in as many cycles.
const PACKET: u32 = 8;

/// Mean latency in cycles of the packets in `trace`.
fn latency(router: &Value, trace: &[[u32; 4]]) -> f64 {
    number(&run(&switch(router.clone(), trace)), "/latency_mean")
}

#[test]
fn flits_of_one_input_cross_at_once_if_their_queues_have_different_paths() {
    // Packets come to queues 1, 2, 3, 0, one in a cycle, each for an output of its own. Queue q has path q modulo the
    // speedup. One path takes them at 0, 8, 16, 24; two those of queues 1 and 3 at 0 and 8 and the others at 1 and 9;
    // of three the first takes those of queues 3 and 0 at 2 and 10; four take each as it comes.
    let trace = [1, 2, 3, 4].map(|to| [0, 0, to, PACKET]);
    let alone = latency(&json!({}), &trace[..1]);
    let waits = [(1, 8 + 16 + 24), (2, 1 + 8 + 9), (3, 1 + 2 + 10), (4, 1 + 2 + 3), (64, 1 + 2 + 3)];
    for allocator in ["islip", "separable_input_first"] {
        for (paths, waits) in waits {
            let router = json!({ "input_speedup": paths, "allocator": allocator });
            assert_eq!(latency(&router, &trace), alone + f64::from(waits) / 4.0, "{allocator} {paths}");
        }
        // To one output all must go one after another, whatever the paths of their input.
        let router = json!({ "input_speedup": 4, "allocator": allocator });
        let to_one = [1; 4].map(|to| [0, 0, to, PACKET]);
        assert_eq!(latency(&router, &to_one), alone + 12.0, "{allocator}");
    }
}

#[test]
fn flits_come_to_one_output_at_once_if_their_inputs_have_different_paths() {
    // Inputs 0, 1, 2, 4 send to endpoint 5. Input i has path i modulo the speedup. The link behind the output takes a
    // packet in a cycle, in the order in which they come, or when the one before has gone.
    let trace = [0, 1, 2, 4].map(|from| [0, from, 5, PACKET]);
    for allocator in ["islip", "separable_input_first"] {
        let alone = latency(&json!({ "allocator": allocator }), &trace[..1]);
        // One path: 0, 8, 16, 24 cycles later. Two: 0 and 1 at 0, 2 at 8, 4 at 16. Three: 0, 1, 2 at 0, 4 at 8 (with
        // 1). Four: 0, 1, 2 at 0, 4 at 8 (with 0). Five: all at 0. Those that come at once wait for one another.
        let later = [(1, 8 + 16 + 24), (2, 1 + 8 + 16), (3, 1 + 2 + 8), (4, 1 + 2 + 8), (5, 1 + 2 + 3)];
        for (paths, later) in later {
            let router = json!({ "output_speedup": paths, "allocator": allocator });
            assert_eq!(latency(&router, &trace), alone + f64::from(later) / 4.0, "{allocator} {paths}");
        }
    }
}

#[test]
fn an_output_buffer_takes_no_more_than_it_has_room_for() {
    // Room for two packets: of four that could cross at once two do, the others when there is room again.
    let trace = [0, 1, 2, 3].map(|from| [0, from, 5, PACKET]);
    let with_room = |phits: u32| {
        let link = json!({ "endpoint": { "bandwidth": 1 } });
        latency(&json!({ "output_speedup": 4, "output_buffer": phits, "links": link }), &trace)
    };
    // The link takes them one after another whatever is in front of it.
    assert_eq!(with_room(16), with_room(64));
    // With room for one the next crosses when the one before has begun to leave: no gap either.
    assert_eq!(with_room(8), with_room(64));
}

#[test]
fn a_channel_that_is_reused_when_empty_carries_a_packet_in_a_credit_loop_more() {
    // The head takes a channel at t, the tail goes L - 1 cycles later, and its credit is back R after that.
    for (latency, delay, size) in [(1, 0, 4), (5, 2, 4), (3, 1, 1), (10, 0, 8)] {
        for (reuse, stage) in [("tail", "with_switch"), ("empty", "with_switch"), ("empty", "stage")] {
            let value = json!({
                "topology": { "kind": "mesh", "dims": [2] },
                "router": {
                    "switching": "wormhole", "vc_reuse": reuse, "vc_allocation": stage, "credit_delay": delay,
                    "links": {
                        "endpoint": { "vcs": 8, "buffer": 8 },
                        "dim0": { "latency": latency, "vcs": 1, "buffer": 64 },
                    },
                },
                "traffic": { "load": 1, "packet_size": size, "pattern": "shift", "process": "periodic" },
                "measure": { "warmup": 2000, "cycles": 20_000 },
            });
            let accepted = number(&run(&value), "/accepted_load");
            // Router and link there, a cycle in which the flit leaves the buffer, the link back, the delay; and the
            // cycle of the stage at both routers.
            let loops = 1 + latency + 1 + latency + delay + 2 * u32::from(stage == "stage");
            let expected = if reuse == "tail" { 1.0 } else { f64::from(size) / f64::from(size - 1 + loops) };
            assert_close(accepted, expected, 0.003, &format!("{reuse} {stage} {latency} {delay} {size}"));
        }
    }
}

#[test]
fn a_packet_keeps_its_ports_until_its_tail_has_crossed() {
    // Two packets of eight flits of a phit for one output, a flit of each in every cycle. If the ports are connected
    // for a flit, their flits take turns: one packet is through after 15 cycles, the other after 16. If for a packet,
    // that with two flits there when it has its first turn, in the second cycle, is through after 9, and the other
    // after 16.
    let both = [[0, 0, 5, PACKET], [0, 1, 5, PACKET]];
    // One of two heads gets a channel in its first cycle. In the next cycle, the other speculates. If speculation comes
    // after requests with a channel, the first has another turn before it, and is through after 14 cycles. If it comes
    // in turn, the packet that arrives in the third cycle is through after 10.
    for (stage, speculation, waits) in [
        ("with_switch", "after", [7 + 8, 1 + 8]),
        // A stage before the first turn lets the second flit catch up: 8 and 16.
        ("stage", "after", [7 + 8, 8]),
        ("speculative", "alike", [7 + 8, 1 + 8]),
        ("speculative", "after", [6 + 8, 2 + 8]),
    ] {
        for vcs in [2, 4] {
            let router = |connection: &str| {
                json!({
                    "switching": "wormhole", "vc_allocation": stage, "speculation": speculation,
                    "connection": connection,
                    "links": { "endpoint": { "vcs": vcs } },
                })
            };
            let alone = latency(&router("flit"), &both[..1]);
            let found = ["flit", "packet"].map(|connection| latency(&router(connection), &both) - alone);
            assert_eq!(found, waits.map(|sum| f64::from(sum) / 2.0), "{stage} {speculation} {vcs}");
        }
    }
}

#[test]
fn of_two_packets_that_contend_the_one_generated_first_wins() {
    // The packet of endpoint 0 crosses from cycle 0 to 8. Then it is the turn of endpoint 1, whose packet was generated
    // in cycle 3: it waits 5 cycles. The packet of endpoint 2, of 4 phits and generated in cycle 2, waits until cycle
    // 16, 14 cycles. By age, endpoint 2 goes first: its packet waits 6 cycles, and the other until cycle 12, 9 cycles.
    let trace = [[0, 0, 5, PACKET], [2, 2, 5, PACKET / 2], [3, 1, 5, PACKET]];
    let mean = |router: Value| latency(&router, &trace);
    let alone = |size: u32| latency(&json!({}), &[[0, 0, 5, size]]);
    let without = (2.0 * alone(PACKET) + alone(PACKET / 2)) / 3.0;
    for (kind, among) in [
        ("separable_input_first", Some("queues")),
        ("separable_input_first", Some("outputs")),
        ("separable_output_first", None),
        ("islip", None),
        ("wavefront", None),
    ] {
        let allocator = |priority: &str| {
            let mut table = json!({ "kind": kind, "priority": priority });
            if let Some(among) = among {
                table["among"] = json!(among);
            }
            json!({ "allocator": table })
        };
        let what = format!("{kind} {among:?}");
        assert_close(mean(allocator("age")), without + (6.0 + 9.0) / 3.0, 1e-9, &what);
        if kind != "wavefront" {
            assert_close(mean(allocator("none")), without + (5.0 + 14.0) / 3.0, 1e-9, &what);
        }
        // Heads that want the only channel of the output: the same order, and the same time between two.
        let staged = |priority: &str| {
            let table = allocator(priority)["allocator"].clone();
            let link = json!({ "endpoint": { "vcs": 1 } });
            mean(json!({ "switching": "wormhole", "vc_allocation": "stage", "vc_allocator": table, "links": link }))
        };
        if kind != "wavefront" {
            assert_close(staged("none") - staged("age"), 4.0 / 3.0, 1e-9, &format!("{kind} {among:?}"));
        }
    }
}

#[test]
fn what_an_output_refuses_asks_for_another_in_the_next_round() {
    // Endpoint 1 sends a packet that crosses from cycle 0 to 8; behind it stand one for output 4, in queue 2, and one
    // for output 5, in queue 3. In cycle 8 its input proposes queue 2, whose turn it is, and loses to endpoint 0, whose
    // packet for output 4 comes just then. In a second round the input asks for output 5, and has it in cycle 8; with
    // one round it has it in cycle 9. The other packet follows 8 cycles later. With iSLIP an input asks for all it
    // wants in every round.
    let trace = [[0, 1, 3, PACKET], [1, 1, 4, PACKET], [2, 1, 5, PACKET], [8, 0, 4, PACKET]];
    let alone = latency(&json!({}), &trace[..1]);
    let waits = |rounds: u32, allocator: Value| {
        4.0 * (latency(&json!({ "allocation_rounds": rounds, "allocator": allocator }), &trace) - alone)
    };
    let (later, at_once) = (f64::from((17 - 1) + (9 - 2)), f64::from((16 - 1) + (8 - 2)));
    for arbiter in ["round_robin", "least_recently_served"] {
        for update in ["grant", "request"] {
            let allocator = json!({ "kind": "separable_input_first", "arbiter": arbiter, "update": update });
            assert_eq!(waits(1, allocator.clone()), later, "{arbiter} {update}");
            assert_eq!(waits(2, allocator.clone()), at_once, "{arbiter} {update}");
            assert_eq!(waits(3, allocator), at_once, "{arbiter} {update}");
        }
    }
    assert_eq!(waits(1, json!("islip")), at_once);
    assert_eq!(waits(2, json!("islip")), at_once);
}

#[test]
fn a_head_decides_anew_in_every_round() {
    // Two packets stand at router 0 in cycle 0, for endpoints of the group to which its first global link leads. One
    // has the link. The other takes the second global link: in the next cycle, or in the second round of this one, in
    // which it sees 8 phits at the first link, of 256. It sees them at once: a condition on the least that there must
    // be holds. But the router compares its global links once in a cycle: the restriction holds in the next one only.
    let latency = |rounds: u32, options: Value| {
        let value = json!({
            "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
            "router": {
                "allocation_rounds": rounds,
                "links": {
                    "endpoint": { "latency": 0, "injection_bandwidth": "infinite", "vcs": 1, "buffer": 64 },
                    "local": { "latency": 10, "vcs": 3, "buffer": 64 },
                    "global": { "latency": 30, "vcs": 2, "buffer": 256 },
                },
            },
            "routing": with(json!({ "kind": "olm" }), options),
            "traffic": { "load": 0, "packet_size": PACKET, "trace": [[0, 0, 70, PACKET], [0, 1, 71, PACKET]] },
            "measure": { "warmup": 0, "cycles": 400, "count": "generated" },
        });
        number(&run(&value), "/latency_mean")
    };
    let restriction = json!({ "restriction": { "coefficient": 0.0, "packets": 0 } });
    for options in [json!({}), json!({ "minimum": 8.0 / 256.0 }), restriction.clone()] {
        let sooner = if options == restriction { 0.0 } else { 0.5 };
        let one = latency(1, options.clone());
        // A misrouted packet, not one that has waited for 8 cycles.
        assert!(one > latency(1, json!({ "threshold": 0.0, "minimum": 2.0 })) + 10.0, "{options}");
        assert_eq!(latency(2, options.clone()), one - sooner, "{options}");
        assert_eq!(latency(3, options.clone()), one - sooner, "{options}");
    }
}

#[test]
fn a_head_that_speculates_needs_no_stage() {
    // A ring in which every router sends all it can to the next over one channel. With a stage the channel rests for a
    // cycle after each packet: L / (L + 1). A head that asks for the crossbar at once follows the tail without a gap.
    for size in [1, 2, 4] {
        for (stage, expected) in [("stage", f64::from(size) / f64::from(size + 1)), ("speculative", 1.0)] {
            let value = json!({
                "topology": { "kind": "torus", "dims": [8] },
                "router": {
                    "switching": "wormhole", "vc_allocation": stage,
                    "links": { "endpoint": { "vcs": 1, "buffer": 16 }, "dim0": { "vcs": 2, "buffer": 16 } },
                },
                "traffic": { "load": 1, "packet_size": size, "pattern": "neighbor", "process": "periodic" },
                "measure": { "warmup": 1000, "cycles": 10_000 },
            });
            assert_close(number(&run(&value), "/accepted_load"), expected, 0.003, &format!("{stage} {size}"));
        }
    }
}

#[test]
fn links_by_length_take_as_long_as_they_are() {
    let latency = |to: u32, lengths: Value, link: u32| {
        let links = match lengths.is_null() {
            true => json!({ "dim0": { "latency": link } }),
            false => json!({ "length2": { "latency": 2 }, "length4": { "latency": 4 }, "length6": { "latency": 6 } }),
        };
        let value = json!({
            "topology": { "kind": "hyperx", "dims": [4], "endpoints_per_router": 1, "lengths": lengths },
            "router": { "links": links },
            "traffic": { "load": 0, "packet_size": 1, "trace": [[0, 0, to, 1]] },
            "measure": { "warmup": 0, "cycles": 100, "count": "generated" },
        });
        number(&run(&value), "/latency_mean")
    };
    for to in 1..4 {
        assert_eq!(latency(to, json!([2]), 0), latency(to, json!(null), 2 * to), "router {to}");
    }
}

#[test]
fn a_layer_has_as_many_channels_as_it_is_wide() {
    // One layer of `width` channels of B flits, whose credits are back after R cycles: width B / R.
    for (width, vcs) in [(1, 1), (1, 3), (2, 3), (3, 3)] {
        let value = json!({
            "topology": { "kind": "mesh", "dims": [2] },
            "routing": { "kind": "table", "layers": [], "layer_width": width },
            "router": { "links": {
                "endpoint": { "vcs": 4, "buffer": 16 }, "dim0": { "latency": 10, "vcs": vcs, "buffer": 2 },
            } },
            "traffic": { "load": 1, "packet_size": 1, "pattern": "shift" },
            "measure": { "warmup": 2000, "cycles": 20_000 },
        });
        let round_trip = 1 + 10 + 1 + 10;
        let expected = f64::from(2 * width) / f64::from(round_trip);
        assert_close(number(&run(&value), "/accepted_load"), expected, 0.003, &format!("{width} of {vcs}"));
    }
}

/// Hops of packets from router (0, 0) of a 4 x 4 HyperX to router (2, 0).
fn hops(routing: Value) -> f64 {
    let trace: Vec<[u32; 4]> = (0..4000).map(|packet| [10 * packet, 0, 2, 1]).collect();
    let value = json!({
        "topology": { "kind": "hyperx", "dims": [4, 4], "endpoints_per_router": 1 },
        "router": { "links": { "default": { "vcs": 2 } } },
        "routing": routing,
        "traffic": { "load": 0, "packet_size": 1, "trace": trace },
        "measure": { "warmup": 0, "cycles": 40_000, "count": "generated" },
    });
    number(&run(&value), "/hops_mean")
}

#[test]
fn a_valiant_route_that_passes_its_destination_may_end_there() {
    // Through (x, y): a hop each unless x = 0, y = 0, and back a hop each unless x = 2, y = 0. Over all 16 that is
    // (6 * 4 + 6 * 4) / 16 = 3. The first hop to x = 2 leads to the destination: 10 hops of these four become 4.
    let anywhere = json!({ "kind": "valiant", "stop": "anywhere" });
    assert_close(hops(anywhere.clone()), 48.0 / 16.0, 0.06, "goes on");
    assert_close(hops(with(anywhere, json!({ "passing": "ends" }))), 42.0 / 16.0, 0.06, "ends");
    // In the row alone: 1, 2, 1 and 2 hops.
    for passing in ["goes_on", "ends"] {
        let between = json!({ "kind": "valiant", "stop": "between", "passing": passing });
        assert_close(hops(between), 1.5, 0.04, passing);
    }
}

#[test]
fn a_long_transfer_holds_up_the_counters_of_short_ones_behind_it() {
    // Two endpoints of a router send to the next one; the crossbar takes a packet of 8 phits in 2 cycles, or as long as
    // it is still arriving. Endpoint 1 has two: the first crosses in cycles 0 to 7, as it arrives; the second has
    // arrived by then. Endpoint 0 has one that arrives from cycle 8 on, goes first (endpoint 1 was served last), and
    // crosses in cycles 8 to 15; it leaves the output to the other from cycle 10 on, which has crossed by cycle 12.
    let heads = |crossing: &str| -> Vec<f64> {
        let value = json!({
            "topology": { "kind": "dragonfly", "p": 2, "a": 2, "h": 1 },
            "router": {
                "speedup": 4, "clock": "link", "cut_through": "input", "output_buffer": 64,
                "allocator": { "kind": "separable_input_first", "arbiter": "least_recently_served" },
                "links": {
                    "endpoint": { "latency": 0, "injection_bandwidth": "infinite", "vcs": 1, "buffer": 64 },
                    "local": { "latency": 10, "vcs": 3, "buffer": 64 },
                    "global": { "latency": 10, "vcs": 2, "buffer": 64 },
                },
            },
            "routing": { "kind": "contention_base", "threshold": 9, "crossing": crossing },
            "traffic": {
                "load": 0, "packet_size": PACKET, "trace": [[0, 1, 2, PACKET], [1, 1, 2, PACKET], [8, 0, 2, PACKET]],
            },
            "measure": {
                "warmup": 0, "cycles": 30,
                "probes": [{ "kind": "counters", "every": 1, "router": 0, "by_index": true }],
            },
        });
        let table = run(&value).tables()["probes"].clone();
        let rows = table["index"].as_array().unwrap().iter().zip(table["mean"].as_array().unwrap());
        // Port 2 leads to the other router.
        let counts = rows.filter(|(index, _)| **index == 2).map(|(_, count)| count.as_f64().unwrap());
        counts.skip_while(|count| *count == 0.0).collect()
    };
    let expected = |parts: [(f64, usize); 3]| parts.map(|(heads, cycles)| vec![heads; cycles]).concat();
    let starts = |of: &[f64], with: &[f64]| of.starts_with(with) && of[with.len()..].iter().all(|count| *count == 0.0);
    let alone = heads("tail");
    assert!(starts(&alone, &expected([(1.0, 8), (2.0, 4), (1.0, 4)])), "{alone:?}");
    let in_turn = heads("fifo");
    assert!(starts(&in_turn, &expected([(1.0, 8), (2.0, 8), (0.0, 0)])), "{in_turn:?}");
}

/// By cycle, from 0 on: the number of steps that a crossbar has taken before it. The crossbar has `thousandths`
/// thousandths of the links' frequency. The speedup is added up in every cycle, and each whole number is a step.
fn steps_before(thousandths: u32, cycles: usize) -> Vec<u32> {
    let (mut saved, mut taken, mut before) = (0, 0, Vec::new());
    for _ in 0..cycles {
        before.push(taken);
        saved += thousandths;
        while saved >= 1000 {
            (saved, taken) = (saved - 1000, taken + 1);
        }
    }
    before
}

#[test]
fn a_fraction_of_a_speedup_is_a_step_more_in_some_cycles() {
    // A flit that arrives in cycle c is granted in the first step of the cycle in which its route has been computed. It
    // leaves when the last step of its latency is over: in the cycle after that step's cycle.
    for thousandths in [1000, 1250, 1500, 1700, 2500, 3333] {
        let before = steps_before(thousandths, 100);
        for (delay, steps) in [(0, 1), (0, 2), (0, 5), (1, 1), (2, 3)] {
            for cycle in 0..13 {
                let router = |speedup: Value| {
                    json!({
                        "switching": "wormhole", "clock": "crossbar", "speedup": speedup,
                        "latency": steps, "allocation_delay": delay, "links": { "endpoint": { "bandwidth": 1 } },
                    })
                };
                // Whatever is outside of the router takes a cycle to begin with.
                let trace = [[cycle, 0, 1, 1]];
                let outside = latency(&router(json!(1)), &trace) - f64::from(steps + delay);
                let arrival = cycle as usize + 1;
                let last = before[arrival] + delay + steps - 1;
                let leaves = before.iter().rposition(|&taken| taken <= last).unwrap() + 1;
                let found = latency(&router(json!(f64::from(thousandths) / 1000.0)), &trace);
                let expected = outside + (leaves - arrival) as f64;
                assert_eq!(found, expected, "{thousandths} {delay} {steps} {cycle}");
            }
        }
    }
}

#[test]
fn a_channel_that_rests_for_steps_carries_a_flit_in_so_many_of_a_fraction_too() {
    // A ring in which every router sends all it can to the next over one channel. It is given in one step, granted in
    // the next, and free after that: a packet of a flit in two steps, or in three with one for its routing.
    for speedup in [1.0, 1.25, 1.5, 1.7, 2.5] {
        for delay in [0, 1] {
            let value = json!({
                "topology": { "kind": "torus", "dims": [8] },
                "router": {
                    "switching": "wormhole", "vc_allocation": "stage", "clock": "crossbar", "speedup": speedup,
                    "allocation_delay": delay,
                    "links": { "endpoint": { "vcs": 1, "buffer": 16 }, "dim0": { "vcs": 2, "buffer": 16 } },
                },
                "traffic": { "load": 1, "packet_size": 1, "pattern": "neighbor", "process": "periodic" },
                "measure": { "warmup": 1000, "cycles": 10_000 },
            });
            let expected = f64::min(speedup / f64::from(2 + delay), 1.0);
            assert_close(number(&run(&value), "/accepted_load"), expected, 0.001, &format!("{speedup} {delay}"));
        }
    }
}

#[test]
fn a_fraction_of_a_speedup_shortens_transfers_to_whole_cycles() {
    // Four packets of eight phits for one output cross one after another, and the link takes each in a cycle.
    let trace = [0, 1, 2, 3].map(|from| [0, from, 5, PACKET]);
    for (speedup, crossing) in [(1.0, 8), (1.25, 7), (1.5, 6), (2.5, 4), (2.667, 3), (7.999, 2), (8.0, 1)] {
        let router = json!({ "speedup": speedup });
        let waits = f64::from(crossing + 2 * crossing + 3 * crossing) / 4.0;
        assert_eq!(latency(&router, &trace), latency(&router, &trace[..1]) + waits, "{speedup}");
    }
}

/// Two routers with `each` endpoints each, between which packets with flits of one phit go over `link`: the sum of the
/// latencies of the packets in `trace`.
fn sum_between(each: u32, router: Value, link: Value, trace: &[[u32; 4]]) -> f64 {
    let value = json!({
        "topology": { "kind": "mesh", "dims": [2], "endpoints_per_router": each },
        "router": with(json!({
            "switching": "wormhole", "vc_allocation": "stage", "injection_queue": "round_robin",
            "links": { "endpoint": { "vcs": 1, "buffer": 64 }, "dim0": link },
        }), router),
        "traffic": { "load": 0, "packet_size": 64, "trace": trace },
        "measure": { "warmup": 0, "cycles": 400, "count": "generated" },
    });
    number(&run(&value), "/latency_mean") * trace.len() as f64
}

/// Endpoint 2 holds the only channel to endpoint 3, both at router 1, for 40 flits. A flit from endpoint 0 waits for it
/// in channel 0 of the link. Ten cycles later, a flit comes from endpoint 1 for endpoint 2.
const BLOCKED: [[u32; 4]; 3] = [[0, 2, 3, 40], [5, 0, 3, 1], [15, 1, 2, 1]];

/// Latency of the flit that waits in channel 0, and of the flit that comes after it.
fn latencies_blocked(router: &Value, buffer: u32) -> (f64, f64) {
    let sum = |packets: usize| {
        let link = json!({ "vcs": 2, "buffer": buffer });
        sum_between(2, router.clone(), link, &BLOCKED[..packets])
    };
    (sum(2) - sum(1), sum(3) - sum(2))
}

/// Latency of the latter with nothing in front of it.
fn latency_alone(router: &Value) -> f64 {
    sum_between(2, router.clone(), json!({ "vcs": 2, "buffer": 8 }), &BLOCKED[2..])
}

#[test]
fn a_channel_without_room_may_count_as_taken() {
    for stage in ["stage", "speculative"] {
        let router = |eligible: &str| json!({ "vc_allocation": stage, "vc_eligible": eligible });
        let (first, second) = latencies_blocked(&router("free"), 1);
        // It gets channel 0, and waits for its credit. When the flit there is granted at t, the credit is under way at
        // t + 1 and here at t + 2. The flit is over there at t + 4, and granted a stage later, or at once if it
        // speculates.
        let later = if stage == "stage" { 5.0 } else { 4.0 };
        assert_eq!(second, first + later - 10.0, "{stage}");
        assert_eq!(latencies_blocked(&router("with_room"), 1), (first, latency_alone(&router("free"))), "{stage}");
    }
}

#[test]
fn a_channel_whose_buffer_is_empty_may_be_preferred() {
    for kind in ["separable_input_first", "separable_output_first", "wavefront"] {
        let router = |preferred: &str| {
            let mut allocator = json!({ "kind": kind });
            if kind == "separable_input_first" {
                allocator["among"] = json!("outputs");
            }
            json!({ "vc_allocator": allocator, "vc_preferred": preferred })
        };
        let (first, second) = latencies_blocked(&router("any"), 2);
        let alone = latency_alone(&router("any"));
        // Channel 0 has room for one more, which stands behind the flit there: at the front a cycle after that has been
        // granted, and granted after a stage.
        if kind != "wavefront" {
            assert_eq!(second, first + 2.0 - 10.0, "{kind}");
        }
        assert_eq!(latencies_blocked(&router("empty"), 2), (first, alone), "{kind}");
    }
}

#[test]
fn heads_have_their_turn_port_by_port_or_queue_by_queue() {
    // The channel is held by endpoint 2 until two packets wait at endpoints 0 and 1 each: the first, of 8 flits, in
    // queue 1, the second, of one, in queue 0. Port by port they go over the link in the order 1, 8, 1, 8, with a cycle
    // of rest before each: through after 1, 9, 10, 18 cycles and the rests. Queue by queue 1, 1, 8, 8: after 1, 2, 10,
    // 18.
    let trace = [[0, 2, 3, 64], [1, 0, 4, 8], [1, 0, 4, 1], [1, 1, 5, 8], [1, 1, 5, 1]];
    for allocator in [Value::Null, json!("islip"), json!("separable_output_first")] {
        let sum = |turns: &str| {
            let mut router = json!({ "vc_turns": turns, "links": { "endpoint": { "vcs": 2 } } });
            if !allocator.is_null() {
                router["vc_allocator"] = allocator.clone();
            }
            sum_between(3, router, json!({ "vcs": 1, "buffer": 64 }), &trace)
        };
        assert_eq!(sum("ports") - sum("queues"), f64::from(1 + 9 + 10 + 18 - (1 + 2 + 10 + 18)), "{allocator}");
    }
}

#[test]
fn a_packet_decided_about_when_it_is_sent_knows_the_queues_of_the_cycle_before() {
    // A packet is granted in cycle G, and its credit is back in cycle C: from then on nothing is in the queue to router
    // 1. Seven others are sent in one cycle S, and some of them take another way if they find it there. At the head of
    // their queues, where they come L cycles after S, they know of grants before S + L and credits up to then. When
    // they are sent, of both before S: they begin to know of the packet L cycles later, and cease to L + 1 cycles
    // later.
    let misrouted = |decide: &str, latency: u32, cycle: u32| {
        let mut trace = vec![[0, 0, 8, 16]];
        trace.extend((1..8).map(|from| [cycle, from, 8 + from, 1]));
        let value = json!({
            "topology": { "kind": "hyperx", "dims": [9], "endpoints_per_router": 8 },
            "router": { "links": {
                "endpoint": { "latency": latency }, "default": { "latency": 8, "vcs": 2, "buffer": 64 },
            } },
            "routing": {
                "kind": "ugal_l", "queue": "port", "cost": "queue", "threshold": 0, "decide": decide,
            },
            "traffic": { "load": 0, "packet_size": 16, "trace": trace },
            "measure": { "warmup": 0, "cycles": 400, "count": "generated" },
        });
        number(&run(&value), "/misrouted") > 0.0
    };
    let window = |decide: &str, latency: u32| {
        let found: Vec<u32> = (0..60).filter(|&cycle| misrouted(decide, latency, cycle)).collect();
        assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1), "{decide}: {found:?}");
        (found[0], found[found.len() - 1])
    };
    for latency in [1, 3] {
        let (first, last) = window("head", latency);
        assert!(first > 0 && last < 59);
        assert_eq!(window("sending", latency), (first + latency, last + latency + 1), "{latency}");
    }
}

#[test]
fn a_port_that_waits_for_no_tail_is_free_sooner() {
    let latency = |cut_through: &str| {
        let value = json!({
            "topology": { "kind": "torus", "dims": [4, 4] },
            "router": {
                "speedup": 2, "cut_through": cut_through,
                "links": { "default": { "latency": 2, "vcs": 4, "buffer": 64 } },
            },
            "traffic": { "load": 0.9, "packet_size": PACKET },
            "measure": { "warmup": 200, "cycles": 3000 },
        });
        number(&run(&value), "/latency_mean")
    };
    // The input and the output, the input alone, none.
    let [both, input, neither] = ["both", "input", "neither"].map(latency);
    assert!(neither + 0.1 < input && input + 0.1 < both, "{neither} {input} {both}");
}

#[test]
fn a_router_without_latency_takes_no_time() {
    // A packet of S phits waits a cycle after its generation, takes a cycle into its router and one out of the last. It
    // takes L over every link between routers, and R in every router. Its tail follows S cycles behind the head.
    for (switching, allocator) in
        [("virtual_cut_through", "islip"), ("virtual_cut_through", "ideal"), ("wormhole", "separable_input_first")]
    {
        for (hops, link) in [(0, 1), (1, 1), (2, 1), (3, 4)] {
            for router in [0, 1, 5] {
                let value = json!({
                    "topology": { "kind": "mesh", "dims": [4], "endpoints_per_router": 2 },
                    "router": {
                        "latency": router, "switching": switching, "flit_size": PACKET, "allocator": allocator,
                        "links": {
                            "endpoint": { "latency": 1, "vcs": 1, "buffer": 64 },
                            "dim0": { "latency": link, "vcs": 1, "buffer": PACKET },
                        },
                    },
                    "traffic": { "load": 0, "packet_size": PACKET, "trace": [[0, 0, 2 * hops + 1, PACKET]] },
                    "measure": { "warmup": 0, "cycles": 200, "count": "generated" },
                });
                let expected = 1 + 1 + hops * link + (hops + 1) * router + 1 + PACKET;
                let found = number(&run(&value), "/latency_mean");
                assert_eq!(found, f64::from(expected), "{switching} {allocator} {hops} {router}");
            }
        }
    }
}

#[test]
fn a_channel_of_a_shared_buffer_has_its_own_part_and_all_that_is_common() {
    // Four channels of two phits. With private buffers a channel may hold two; with one private phit for each, a
    // channel may hold five. A packet with flits of one phit crosses a long link in one channel, as far as this
    // channel's credits allow.
    let (flits, delay) = (40_usize, 1);
    for latency in [3, 10] {
        let found = |sharing: Value, buffer: u32| {
            let value = json!({
                "topology": { "kind": "mesh", "dims": [2] },
                "router": with(
                    json!({
                        "switching": "wormhole", "vc_allocation": "stage", "credit_delay": delay,
                        "links": {
                            "endpoint": { "vcs": 4, "buffer": 64 },
                            "dim0": { "latency": latency, "vcs": 4, "buffer": buffer },
                        },
                    }),
                    sharing,
                ),
                "traffic": { "load": 0, "packet_size": flits, "trace": [[0, 0, 1, flits]] },
                "measure": { "warmup": 0, "cycles": 2000, "count": "generated" },
            });
            number(&run(&value), "/latency_mean")
        };
        // The time at which the last flit leaves the far router, if `window` flits may be under way. Each flit follows
        // the one before it, and waits for the credit of the flit `window` before. The head waits for a channel.
        let leaves = |window: usize| {
            let (mut near, mut far) = (vec![0; flits], vec![0; flits]);
            for flit in 0..flits {
                let credit = if flit < window { 0 } else { far[flit - window] + 1 + latency + delay };
                near[flit] = if flit == 0 { 0 } else { credit.max(near[flit - 1] + 1) };
                let there = near[flit] + 1 + latency + i32::from(flit == 0);
                far[flit] = if flit == 0 { there } else { there.max(far[flit - 1] + 1) };
            }
            f64::from(far[flits - 1])
        };
        let wide = found(json!({}), 64);
        let shared = |private: u32, limit: &str, most: Value| {
            let sharing = json!({ "private": private, "limit": limit, "most": most });
            json!({ "sharing": sharing })
        };
        for (sharing, window) in [
            (json!({}), 2),
            (shared(2, "none", json!(null)), 2),
            (shared(1, "none", json!(null)), 5),
            (shared(1, "fixed", json!(3)), 3),
            (shared(1, "even", json!(null)), 5),
            (shared(1, "halved", json!(null)), 5),
        ] {
            let late = found(sharing.clone(), 2) - wide;
            assert_eq!(late, leaves(window) - leaves(flits), "{sharing} {latency}");
        }
    }
}

/// Phits per cycle on the link from one router to another, in a run with `measure.links`.
fn carried(outcome: &phit_engine::result::Outcome, from: u64, to: u64) -> f64 {
    let tables = outcome.tables();
    let links = &tables["links"];
    let column = |name: &str| links[name].as_array().expect("a column");
    let (froms, tos, far) = (column("router"), column("to"), format!("router {to}"));
    let place = (0..froms.len()).find(|&place| froms[place] == json!(from) && tos[place] == json!(far));
    column("utilisation")[place.expect("a link")].as_f64().expect("a number")
}

#[test]
fn o1turn_takes_either_order_of_dimensions() {
    // Router 0 is (0, 0), 1 is (1, 0), 2 is (0, 1), 3 is (1, 1). Half of the packets from 0 to 3 take either route, and
    // nothing takes another; within five standard deviations.
    let (load, cycles, size): (f64, f64, f64) = (0.5, 40_000.0, 2.0);
    let value = |routing: Value| {
        json!({
            "topology": { "kind": "mesh", "dims": [2, 2] },
            "router": { "links": { "default": { "vcs": 2, "buffer": 64 } } },
            "routing": routing,
            "traffic": {
                "load": load, "packet_size": 2,
                "pattern": {
                    "kind": "by_endpoint",
                    "parts": [
                        { "endpoints": [0], "pattern": { "kind": "shift", "offset": 3 } },
                        { "endpoints": [1, 2, 3] },
                    ],
                },
            },
            "measure": { "warmup": 0, "cycles": 40_000, "links": true },
        })
    };
    let packets = load * cycles / size;
    let bound = 5.0 * (packets * 0.25).sqrt() * size / cycles + 2.0 * size / cycles;
    let outcome = run(&value(json!("o1turn")));
    let total = carried(&outcome, 0, 1) + carried(&outcome, 0, 2);
    for (from, to) in [(0, 1), (1, 3), (0, 2), (2, 3)] {
        assert_close(carried(&outcome, from, to), total / 2.0, bound, &format!("{from} to {to}"));
    }
    for (from, to) in [(1, 0), (3, 1), (2, 0), (3, 2)] {
        assert_eq!(carried(&outcome, from, to), 0.0, "{from} to {to}");
    }
    let outcome = run(&value(json!("dimension_order")));
    assert_eq!(carried(&outcome, 0, 2), 0.0);
}

#[test]
fn by_occupancy_a_packet_turns_first_where_less_waits() {
    // A packet of endpoint 0 for the end of its row is under way to router 1. Then a packet of endpoint 1, at the same
    // router, is at the head of its queue, to go to the other corner, by its row or by its column: it takes the column.
    // When it is sent, the other packet is under way already, or has not reached the router.
    let phits = |routing: Value, after: u32| {
        let trace = (0..20).flat_map(|turn| [[100 * turn, 0, 4, PACKET], [100 * turn + after, 1, 8, PACKET]]);
        let value = json!({
            "topology": { "kind": "mesh", "dims": [3, 2], "endpoints_per_router": 2 },
            "router": {
                "links": {
                    "endpoint": { "buffer": 64, "latency": 20 },
                    "default": { "vcs": 2, "buffer": 64, "latency": 10 },
                },
            },
            "routing": routing,
            "traffic": { "load": 0, "packet_size": PACKET, "trace": trace.collect::<Vec<_>>() },
            "measure": { "warmup": 0, "cycles": 2000, "links": true },
        });
        let outcome = run(&value);
        [1, 3].map(|to| carried(&outcome, 0, to) * 2000.0)
    };
    let rule = |decide: &str| json!({ "kind": "o1turn", "choice": "occupancy", "decide": decide });
    let shared = [20.0 * f64::from(PACKET); 2];
    assert_eq!([24, 15].map(|after| phits(rule("head"), after)), [shared, shared]);
    assert_eq!(phits(rule("sending"), 24), shared);
    let coins = [phits(rule("sending"), 15), phits(json!("o1turn"), 24)];
    assert!(coins.iter().all(|[row, _]| *row > 22.0 * f64::from(PACKET)), "{coins:?}");
}

#[test]
fn who_may_take_either_half_of_a_ring_takes_both() {
    // A ring in which every router sends all it can to the next, in packets of L flits. A channel is given to the next
    // packet when the credits of the last are back: in a dateline's half a packet of L flits takes L - 1 + R cycles.
    // A packet that crosses neither the end nor the middle of the ring takes the other channel with the probability of
    // a coin, and packets sent there need not wait.
    let accepted = |rings: &str| {
        let value = json!({
            "topology": { "kind": "torus", "dims": [8] },
            "router": {
                "switching": "wormhole", "vc_reuse": "empty",
                "links": {
                    "endpoint": { "vcs": 8, "buffer": 8 },
                    "dim0": { "latency": 10, "vcs": 2, "buffer": 8 },
                },
            },
            "routing": { "kind": "dimension_order", "rings": rings },
            "traffic": { "load": 1, "packet_size": 4, "pattern": "shift", "process": "periodic" },
            "measure": { "warmup": 2000, "cycles": 20_000 },
        });
        number(&run(&value), "/accepted_load")
    };
    let one = 4.0 / (4.0 - 1.0 + 22.0);
    assert_close(accepted("dateline"), one, 0.003, "one channel");
    let both = accepted("balanced");
    assert!((1.15 * one..2.0 * one).contains(&both), "{both} {one}");
}

#[test]
fn a_stop_on_a_minimal_route_costs_no_hop() {
    // Bit complement: from (x, y) to the opposite corner, |7 - 2x| + |7 - 2y| hops, 4 + 4 in the mean.
    for (stop, expected) in [("minimal", Some(8.0)), ("anywhere", None)] {
        let outcome = run(&json!({
            "topology": { "kind": "mesh", "dims": [8, 8] },
            "router": { "links": { "default": { "vcs": 2, "buffer": 64 } } },
            "routing": { "kind": "valiant", "stop": stop },
            "traffic": {
                "load": 0, "packet_size": 1,
                "trace": (0..64 * 40).map(|turn| [4 * turn, turn % 64, 63 - turn % 64, 1]).collect::<Vec<_>>(),
            },
            "measure": { "warmup": 0, "cycles": 10_400 },
        }));
        let hops = number(&outcome, "/hops_mean");
        match expected {
            Some(expected) => {
                assert_close(hops, expected, 1e-9, stop);
                assert_eq!(number(&outcome, "/misrouted"), 0.0);
            }
            None => assert!(hops > 9.0, "{hops}"),
        }
    }
}

#[test]
fn a_packet_that_enters_a_ring_leaves_room_for_another() {
    // Every packet goes one hop, so all packets enter a ring. Of a buffer of B phits they have B - P, as if it had that
    // size and there were no bubble.
    let accepted = |topology: Value, routing: Value, buffer: u32| {
        number(
            &run(&json!({
                "topology": topology,
                "router": { "links": {
                    "endpoint": { "vcs": 1, "buffer": 64 },
                    "dim0": { "latency": 20, "vcs": 1, "buffer": buffer },
                } },
                "routing": routing,
                "traffic": { "load": 1, "packet_size": PACKET, "pattern": "shift", "process": "periodic" },
                "measure": { "warmup": 2000, "cycles": 20_000 },
            })),
            "/accepted_load",
        )
    };
    let ring = |buffer| {
        let bubble = json!({ "kind": "dimension_order", "rings": "bubble" });
        accepted(json!({ "kind": "torus", "dims": [4] }), bubble, buffer)
    };
    let pair = |buffer| accepted(json!({ "kind": "mesh", "dims": [2] }), json!("dimension_order"), buffer);
    for packets in 1..5 {
        let (bubble, plain) = (ring((packets + 1) * PACKET), pair(packets * PACKET));
        // The measured cycles begin somewhere between two packets.
        assert_close(bubble, plain, 1e-3, &format!("{packets} packets"));
        assert!(plain < 0.9, "{plain}");
    }
}

#[test]
fn rings_that_keep_a_bubble_move_on() {
    // One channel, buffers for two packets, more traffic than there is room for: without the bubble the packets of a
    // ring soon wait for one another.
    for (dims, sizes) in [(json!([4]), json!(8)), (json!([5, 4]), json!({ "kind": "uniform", "min": 1, "max": 8 }))] {
        let outcome = run(&json!({
            "topology": { "kind": "torus", "dims": dims },
            "router": { "links": {
                "endpoint": { "vcs": 1, "buffer": 32 },
                "default": { "latency": 2, "vcs": 1, "buffer": 16 },
            } },
            "routing": { "kind": "dimension_order", "rings": "bubble" },
            "traffic": { "load": 1, "packet_size": sizes },
            "measure": { "warmup": 1000, "cycles": 20_000 },
        }));
        assert!(number(&outcome, "/accepted_load") > 0.2);
    }
}

#[test]
fn adaptive_packets_take_all_minimal_ways() {
    // From one corner of a square to the other there are two routes, over links of half a phit per cycle. Heads that
    // request channels of both outputs send as much as the endpoint can, one phit per cycle. In dimension order it is
    // half.
    let accepted = |routing: &str, size: u32| {
        let outcome = run(&json!({
            "topology": { "kind": "mesh", "dims": [2, 2] },
            "router": {
                "switching": "wormhole", "vc_allocation": "stage", "vc_allocator": "islip", "output_buffer": 2,
                "links": {
                    "endpoint": { "vcs": 8, "buffer": 16, "bandwidth": 1 },
                    "default": { "vcs": 4, "buffer": 16, "bandwidth": 0.5 },
                },
            },
            "routing": routing,
            "traffic": {
                "load": 1, "packet_size": size, "process": "periodic",
                "pattern": {
                    "kind": "by_endpoint",
                    "parts": [
                        { "endpoints": [0], "pattern": { "kind": "shift", "offset": 3 } },
                        { "endpoints": [1, 2, 3] },
                    ],
                },
            },
            "measure": { "warmup": 1000, "cycles": 10_000, "links": true },
        }));
        [carried(&outcome, 0, 1), carried(&outcome, 0, 2)]
    };
    for size in [1, 4] {
        let ordered = accepted("dimension_order", size);
        assert_close(ordered[0], 1.0, 0.01, "the only way is full");
        assert_eq!(ordered[1], 0.0);
        let both = accepted("minimal_adaptive", size);
        assert!(both.iter().all(|used| *used > 0.95), "{size}: {both:?}");
    }
}
