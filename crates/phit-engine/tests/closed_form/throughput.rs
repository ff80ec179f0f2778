//! Throughput: the bounds of the channels, by counting, and how near a network comes to them.

use crate::common::{assert_close, number, run, with};
use serde_json::{Value, json};

fn accepted(value: &Value) -> f64 {
    number(&run(value), "/accepted_load")
}

/// Two routers with an endpoint each that send to one another as fast as the link lets them.
fn pair(router: Value, size: u32) -> Value {
    json!({
        "topology": { "kind": "mesh", "dims": [2] },
        "router": with(json!({ "links": { "endpoint": { "buffer": 64, "vcs": 1 } } }), router),
        "traffic": { "load": 1, "packet_size": size, "pattern": "shift" },
        "measure": { "warmup": 2000, "cycles": 20000 },
    })
}

#[test]
fn a_link_carries_its_buffer_once_per_credit_round_trip() {
    // From the grant that takes a credit: router latency R and link latency L to the next input, where the flit goes on
    // at once. Its S phits leave the buffer in S cycles. The credit returns after L, or after the latency of credits,
    // and can be used D later.
    for (r, l, back, d, switching, size, flit) in [
        (1, 10, None, 0, "virtual_cut_through", 1, 1),
        (1, 10, Some(1), 0, "virtual_cut_through", 1, 1),
        (1, 10, Some(0), 0, "wormhole", 1, 1),
        (1, 10, Some(25), 2, "virtual_cut_through", 1, 1),
        (3, 20, None, 2, "virtual_cut_through", 1, 1),
        (2, 15, None, 1, "virtual_cut_through", 8, 8),
        (2, 15, Some(3), 1, "store_and_forward", 8, 8),
        (2, 15, None, 0, "wormhole", 8, 1),
        (1, 20, Some(5), 3, "wormhole", 8, 4),
        (1, 20, None, 3, "wormhole", 40, 2),
    ] {
        for credit_release in ["allocation", "input", "output"] {
            for flits in [1, 2, 3] {
                let buffer = flits * flit;
                // Sent with the grant, with the first phit on the next link, R after the grant, or when the last phit
                // has left the buffer. It counts no sooner than in the cycle after the grant.
                let stays = match credit_release {
                    "allocation" => 0,
                    "input" => flit,
                    _ => r,
                };
                let waits = if switching == "store_and_forward" { size } else { 0 };
                let round_trip = r + l + waits + (stays + back.unwrap_or(l) + d).max(1);
                let value = pair(
                    json!({
                        "latency": r, "switching": switching, "flit_size": flit, "credit_release": credit_release,
                        "credit_delay": d,
                        "links": { "dim0": { "latency": l, "credit_latency": back, "vcs": 1, "buffer": buffer } },
                    }),
                    size,
                );
                let expected = f64::from(buffer) / f64::from(round_trip);
                let what = format!("{switching} of {size} phits, {flits} x {flit} phits, round trip {round_trip}");
                assert_close(accepted(&value), expected, 0.002, &what);
            }
        }
    }
}

#[test]
fn an_idle_endpoint_is_granted_the_next_packet_before_it_takes_the_first() {
    // A packet of P phits is granted in cycle t, and its endpoint takes it from t + R to t + R + P. The next packet of
    // its input has crossed no sooner than P / S later. If that is by t + R, the endpoint is never idle. If not, the
    // next grant is in t + R + P: one packet every P + R cycles.
    for (r, speedup) in [(1, 1), (3, 1), (8, 1), (3, 2), (4, 2), (5, 2), (1, 4), (2, 4)] {
        let size = 8;
        let value = |ejection: &str| {
            json!({
                "topology": { "kind": "single", "endpoints": 2 },
                "router": {
                    "latency": r, "speedup": speedup, "ejection": ejection,
                    "links": { "endpoint": { "latency": 1, "vcs": 1, "buffer": 400 } },
                },
                "traffic": {
                    "pattern": { "kind": "shift", "offset": 1 }, "process": "periodic", "load": 1.0,
                    "packet_size": size,
                },
                "measure": { "warmup": 2000, "cycles": 8000 },
            })
        };
        let expected = if size <= r * speedup { 1.0 } else { f64::from(size) / f64::from(size + r) };
        assert_close(accepted(&value("endpoint_idle")), expected, 0.002, &format!("latency {r}, speedup {speedup}"));
        assert_close(accepted(&value("output_free")), 1.0, 0.002, "the crossbar alone");
    }
}

#[test]
fn a_request_for_a_busy_endpoint_costs_its_input_the_cycle() {
    // Every endpoint has a queue for each other one. So an output that is free nearly always finds a packet, if outputs
    // choose first. If inputs propose first, they also propose packets for endpoints that are busy.
    let value = |allocator: Value, ejection: &str| {
        json!({
            "topology": { "kind": "single", "endpoints": 4 },
            "router": {
                "latency": 2, "speedup": 4, "ejection": ejection, "injection_queue": "destination",
                "output_buffer": 32, "cut_through": "input", "allocator": allocator,
                "links": { "endpoint": {
                    "latency": 0, "vcs": 4, "buffer": 80, "injection_bandwidth": "infinite",
                } },
            },
            "traffic": { "pattern": "uniform", "process": "bernoulli", "load": 1.0, "packet_size": 8 },
            "measure": { "warmup": 2000, "cycles": 10000 },
        })
    };
    let separable =
        |update: &str| json!({ "kind": "separable_input_first", "arbiter": "least_recently_served", "update": update });
    let outputs_choose = json!({ "kind": "separable_output_first" });
    let full = accepted(&value(outputs_choose, "endpoint_idle"));
    let wasted = accepted(&value(separable("request"), "endpoint_idle"));
    assert!(wasted < 0.99 * full, "{wasted} {full}");
    assert!(accepted(&value(separable("request"), "output_free")) > 1.01 * wasted);
}

#[test]
fn an_injection_queue_takes_its_room_once_per_credit_round_trip() {
    // A flit enters the router L after it was sent, is granted at once, and has left a cycle later. Its credit reaches
    // the endpoint after L, or after the latency of these credits, and then the next flit is sent. Routers use credits
    // D later. Endpoints do so only if their credits take as long as the credits that they return.
    for (l, own, d) in [(1, None, 0), (1, None, 3), (1, Some(2), 0), (1, Some(2), 3), (4, Some(0), 2), (3, Some(9), 1)]
    {
        for buffer in [1, 2] {
            let round_trip = l + 1 + own.unwrap_or(l + d);
            let value = json!({
                "topology": { "kind": "single", "endpoints": 2 },
                "router": {
                    "switching": "wormhole", "flit_size": 1, "credit_delay": d,
                    "links": { "endpoint": {
                        "latency": l, "injection_credit_latency": own, "vcs": 1, "buffer": buffer,
                    } },
                },
                "traffic": { "load": 1, "packet_size": 1, "pattern": "shift" },
                "measure": { "warmup": 500, "cycles": 5000 },
            });
            let expected = (f64::from(buffer) / f64::from(round_trip)).min(1.0);
            let what = format!("{buffer} phits, latency {l}, credits {own:?}, delay {d}");
            assert_close(accepted(&value), expected, 0.002, &what);
        }
    }
}

#[test]
fn a_link_with_room_for_the_round_trip_is_always_busy() {
    for (switching, flit) in [("virtual_cut_through", 1), ("wormhole", 2)] {
        let router = json!({
            "switching": switching, "flit_size": flit, "links": { "dim0": { "latency": 10, "vcs": 1, "buffer": 40 } },
        });
        let value = with(pair(router, 8), json!({ "traffic": { "process": "periodic" } }));
        assert_close(accepted(&value), 1.0, 0.002, switching);
    }
}

/// A Dragonfly with short links and deep buffers.
fn dragonfly(h: u32, routing: Value, load: f64) -> Value {
    json!({
        "topology": { "kind": "dragonfly", "p": h, "a": 2 * h, "h": h },
        "router": {
            "speedup": 2, "latency": 2,
            "links": {
                "endpoint": { "buffer": 64, "vcs": 3 },
                "local": { "latency": 2, "vcs": 4, "buffer": 64 },
                "global": { "latency": 8, "vcs": 2, "buffer": 128 },
            },
        },
        "routing": routing,
        "traffic": { "load": load, "packet_size": 4, "pattern": { "kind": "adversarial", "offset": 1 } },
        "measure": { "warmup": 4000, "cycles": 6000 },
    })
}

#[test]
fn minimal_routing_of_adversarial_traffic_has_one_global_link_per_group() {
    // a * p endpoints share the one link to the next group.
    for h in [1, 2, 3] {
        let bound = 1.0 / f64::from(2 * h * h);
        for load in [bound * 1.1, 0.8] {
            let measured = accepted(&dragonfly(h, json!("minimal"), load));
            assert!(
                measured <= bound * 1.005 && measured >= bound * 0.99,
                "h = {h}, load {load}: {measured} of {bound}"
            );
        }
        let below = accepted(&dragonfly(h, json!("minimal"), bound * 0.9));
        assert_close(below, bound * 0.9, bound * 0.03, "below saturation");
    }
}

#[test]
fn valiant_routing_of_adversarial_traffic_takes_two_global_links() {
    // A link from group x to y carries the first half of the routes from x via y, and the second half of the routes via
    // x to y. This is twice load * a * p / (a * h), so at most 1/2 goes through with p = h.
    for via in ["router", "group"] {
        let measured = accepted(&dragonfly(2, json!({ "kind": "valiant", "via": via }), 0.9));
        assert!(measured <= 0.5 * 1.005 && measured > 0.42, "{via}: {measured}");
        let below = accepted(&dragonfly(2, json!({ "kind": "valiant", "via": via }), 0.35));
        assert_close(below, 0.35, 0.012, via);
    }
}

/// A grid with deep buffers and two allocations per cycle, so that matching is no bottleneck. Transit goes first,
/// because otherwise overloaded rings starve: an arbiter that gives injection half of every link throttles the packets
/// that have come furthest.
fn grid(kind: &str, dims: &[u32], pattern: Value, load: f64) -> Value {
    json!({
        "topology": { "kind": kind, "dims": dims },
        "router": {
            "speedup": 2, "clock": "crossbar", "transit_priority": true,
            "links": { "default": { "vcs": 8, "buffer": 32 } },
        },
        "traffic": { "load": load, "pattern": pattern },
        "measure": { "warmup": 4000, "cycles": 6000 },
    })
}

fn uniform() -> Value {
    json!({ "kind": "uniform", "include_self": true })
}

/// No link carries more than a phit per cycle.
#[track_caller]
fn assert_links_within(value: &Value) {
    let outcome = run(value);
    for (class, used) in outcome.summary()["link_utilisation"].as_object().unwrap() {
        let max = used["max"].as_f64().unwrap();
        // Phits are counted when they are granted: a few more or less at the ends of the window.
        assert!(max <= 1.01, "{class}: {max}\n{value}");
    }
}

#[test]
fn uniform_traffic_on_a_torus_saturates_at_8_over_k() {
    // Half of the packets cross any bisection; 4/k of the channels per endpoint do, k even: load * k / 8 <= 1.
    for dims in [&[16][..], &[12, 3], &[10, 10]] {
        let bound = 8.0 / f64::from(dims[0]);
        // The more endpoints, the fewer cycles for as many packets.
        let measure = if dims.len() == 1 { json!({}) } else { json!({ "warmup": 2500, "cycles": 3000 }) };
        let at = |load| accepted(&with(grid("torus", dims, uniform(), load), json!({ "measure": measure })));
        let over = at((bound * 1.3).min(1.0));
        assert!(over <= bound * 1.01 && over >= bound * 0.85, "{dims:?}: {over} of {bound}");
        let load = bound * 0.85;
        assert_close(at(load), load, load * 0.02, "85% of the bound");
    }
    assert_links_within(&grid("torus", &[16], uniform(), 1.0));
}

#[test]
fn uniform_traffic_on_a_mesh_saturates_at_4_over_k() {
    // The middle channels of a line of k carry load * k / 4 each, k even.
    for dims in [&[8][..], &[6, 6], &[12, 3]] {
        let bound = 4.0 / f64::from(dims[0]);
        let load = bound * 0.85;
        assert_close(accepted(&grid("mesh", dims, uniform(), load)), load, load * 0.02, "85% of the bound");
        // Beyond the bound, the sources in the middle lose first, so the accepted load is no longer uniform; but it
        // cannot all be accepted.
        let load = bound * 1.1;
        let over = accepted(&grid("mesh", dims, uniform(), load));
        assert!(over < load * 0.985, "{dims:?}: {over} of {load}");
    }
    assert_links_within(&grid("mesh", &[8], uniform(), 1.0));
}

#[test]
fn tornado_traffic_on_a_ring_uses_one_direction() {
    // Every packet goes ceil(k/2) - 1 hops the same way: that many packets share each channel.
    for k in [5u32, 8, 9] {
        let bound = 1.0 / f64::from(k.div_ceil(2) - 1);
        let over = accepted(&grid("torus", &[k], json!("tornado"), 1.0));
        assert!(over <= bound * 1.005 && over >= bound * 0.85, "k = {k}: {over} of {bound}");
        let load = bound * 0.85;
        assert_close(accepted(&grid("torus", &[k], json!("tornado"), load)), load, load * 0.03, "85% of the bound");
    }
}

#[test]
fn endpoints_of_one_destination_share_its_ejection_link() {
    // Everybody sends to endpoint 0, which takes one phit per cycle.
    let value = json!({
        "topology": { "kind": "single", "endpoints": 5 },
        "traffic": { "load": 0.5, "pattern": { "kind": "hotspot", "targets": [0], "share": 1.0 } },
        "measure": { "warmup": 1000, "cycles": 5000, "endpoints": true },
    });
    let outcome = run(&value);
    let loads = outcome.tables()["endpoints"]["accepted_load"].clone();
    assert_close(loads[0].as_f64().unwrap(), 1.0, 0.001, "the target");
}

#[test]
fn offered_load_is_right_even_in_saturation() {
    // Generation does not stop where the source queue grows: 6000 cycles of 64 endpoints; standard error of a Bernoulli
    // source of 4-phit packets is at most 4 * sqrt(64 * 6000 / 4) / (64 * 6000) = 0.003.
    for load in [0.1, 0.5, 0.9] {
        let mut value = grid("torus", &[8, 8], json!("tornado"), load);
        value["traffic"]["packet_size"] = json!(4);
        let outcome = run(&value);
        assert_close(number(&outcome, "/offered_load"), load, 0.012, "offered");
        assert!(number(&outcome, "/accepted_load") < 0.34);
    }
}

#[test]
fn a_finite_output_buffer_is_used_once_per_crossing() {
    // Room is taken with the grant and is free in the tick after the flit has started on the link, R + 1 cycles later:
    // B flits of one phit per R + 1 cycles, if the link takes as many.
    for latency in [1, 3, 8] {
        for buffer in [1, 2, 3, 5, 20] {
            let value = json!({
                "topology": { "kind": "single", "endpoints": 4 },
                "router": { "latency": latency, "output_buffer": buffer },
                "traffic": { "load": 1, "pattern": { "kind": "shift", "offset": 1 } },
                "measure": { "warmup": 1000, "cycles": 18000 },
            });
            let expected = (f64::from(buffer) / f64::from(latency + 1)).min(1.0);
            assert_close(accepted(&value), expected, 0.002, &format!("{buffer} phits, latency {latency}"));
        }
    }
}

#[test]
fn the_crossbar_carries_its_speedup() {
    // Links of 8 phits per cycle at both sides: inputs and outputs of the crossbar are what limits. A hot spot's own
    // packets go elsewhere, so that two outputs' worth is carried then.
    for speedup in [1, 2, 3] {
        for clock in ["link", "crossbar"] {
            for (pattern, receivers) in [
                (json!({ "kind": "shift", "offset": 1 }), 5.0),
                (json!({ "kind": "hotspot", "targets": [0], "share": 1 }), 2.0),
            ] {
                let value = json!({
                    "topology": { "kind": "single", "endpoints": 5 },
                    "router": {
                        "speedup": speedup, "clock": clock, "crossbar_bandwidth": 1,
                        "links": { "endpoint": { "bandwidth": 8, "buffer": 96 } },
                    },
                    "traffic": {
                        "load": 4, "load_unit": "phits", "packet_size": 12, "pattern": pattern, "process": "periodic",
                    },
                    "measure": { "warmup": 1000, "cycles": 6000 },
                });
                let expected = f64::from(speedup) * receivers / 5.0;
                assert_close(
                    accepted(&value),
                    expected,
                    0.01,
                    &format!("speedup {speedup}, {clock}, {receivers} outputs"),
                );
            }
        }
    }
}

#[test]
fn an_endpoint_takes_its_buffer_once_per_credit_round_trip() {
    // Router latency R and ejection latency E to the endpoint, S cycles until the tail has arrived, one to consume it,
    // the link's latency L back, and D until the credit is used.
    for (r, e, l, d, size) in [(1, 0, 1, 0, 1), (2, 3, 5, 1, 1), (1, 2, 4, 0, 6)] {
        for packets in [1, 2, 20] {
            let value = json!({
                "topology": { "kind": "single", "endpoints": 4 },
                "router": { "latency": r, "credit_delay": d, "links": { "endpoint": {
                    "latency": l, "ejection_latency": e, "ejection_buffer": packets * size, "vcs": 1, "buffer": 200,
                } } },
                "traffic": { "load": 1, "process": "periodic", "packet_size": size,
                    "pattern": { "kind": "shift", "offset": 1 } },
                "measure": { "warmup": 1000, "cycles": 18000 },
            });
            let round_trip = r + e + size + 1 + l + d;
            let expected = (f64::from(packets * size) / f64::from(round_trip)).min(1.0);
            assert_close(accepted(&value), expected, 0.003, &format!("{packets} x {size} phits, {round_trip} cycles"));
        }
    }
}

#[test]
fn credits_in_turn_matter_where_buffers_empty_faster_than_links_fill_them() {
    // Uniform traffic on a mesh near saturation. At the links' own speed an input never has two credits in one cycle.
    let hops = |speedup: u32, channel: &str| {
        let router = json!({ "speedup": speedup, "clock": "crossbar", "credit_channel": channel,
            "links": { "default": { "buffer": 6, "vcs": 2 } } });
        let value = with(grid("mesh", &[4, 4], json!("uniform"), 0.9), json!({ "router": router }));
        number(&run(&value), "/accepted_load")
    };
    assert_eq!(hops(1, "unlimited"), hops(1, "one_per_cycle"));
    assert!(hops(4, "unlimited") > hops(4, "one_per_cycle"));
}
