//! FlexVC: hops take the channels that their place permits, by the rule of the router, and packets cannot wait for one
//! another for ever.

use crate::common::{number, run, run_with, scenario, simulation, with};
use phit_engine::run::{Options, verify};
use serde_json::{Value, json};

/// A Dragonfly of 72 endpoints with `vcs` local and global channels.
fn dragonfly(routing: Value, vcs: (u32, u32), load: f64) -> Value {
    json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "router": {
            "latency": 2, "speedup": 2, "output_buffer": 32,
            "links": {
                "endpoint": { "latency": 0, "vcs": 3, "buffer": 200 },
                "local": { "latency": 4, "vcs": vcs.0, "buffer": 16 },
                "global": { "latency": 20, "vcs": vcs.1, "buffer": 64 },
            },
        },
        "routing": routing,
        "traffic": { "load": load, "packet_size": 8 },
        "measure": { "warmup": 1000, "cycles": 3000 },
    })
}

fn flexible(base: Value, highest: &str) -> Value {
    with(base, json!({ "queueing": { "kind": "flexvc", "highest": highest } }))
}

#[test]
fn packets_can_always_wait_for_a_higher_channel() {
    let proved = |value: &Value| verify(&scenario(value)).unwrap()["proved"].clone();
    for (routing, vcs) in
        [("minimal", (2, 1)), ("minimal", (5, 4)), ("valiant", (4, 2)), ("acor", (7, 3)), ("piggyback", (4, 2))]
    {
        assert_eq!(proved(&flexible(dragonfly(json!(routing), vcs, 0.1), "position")), true, "{routing} {vcs:?}");
    }
    let to_group = |vcs| dragonfly(json!({ "kind": "valiant", "via": "group" }), vcs, 0.1);
    assert_eq!(proved(&flexible(to_group((3, 2)), "position")), true);
    assert_eq!(proved(&flexible(dragonfly(json!("minimal"), (4, 2), 0.1), "group")), true);
    // Which channels a detour takes depends on its destination, which the proof of its first half does not know.
    assert_eq!(proved(&flexible(to_group((6, 3)), "group")), Value::Null);
    // Too few channels: the last local hop would share a channel with the first.
    assert_eq!(proved(&flexible(dragonfly(json!("minimal"), (1, 1), 0.1), "position")), false);
}

#[test]
fn flexible_channels_carry_more_than_fixed_ones() {
    // Fixed channels use two local and one global of any number, so more of them change nothing.
    let saturated = |value: Value| run(&value).accepted_load();
    let minimal = |vcs| dragonfly(json!("minimal"), vcs, 1.0);
    let fixed = saturated(minimal((2, 1)));
    assert_eq!(fixed, saturated(minimal((4, 2))));
    let accepted: Vec<f64> = [(2, 1), (4, 2), (8, 4)].map(|vcs| saturated(flexible(minimal(vcs), "position"))).into();
    assert!(accepted[0] > fixed && accepted[1] > 1.05 * fixed && accepted[2] > accepted[1], "{fixed} {accepted:?}");
    // Half of the channels carry as much: Valiant routes with 8 and 4 fixed ones, and 4 and 2 flexible ones.
    let valiant = |vcs| with(dragonfly(json!("valiant"), vcs, 1.0), json!({ "traffic": { "pattern": "adversarial" } }));
    let (twice, half) = (saturated(valiant((8, 4))), saturated(flexible(valiant((4, 2)), "position")));
    assert!(half > 0.99 * twice, "{half} {twice}");
}

#[test]
fn results_do_not_depend_on_partitions() {
    for (routing, choice, highest) in [("minimal", "random", "position"), ("acor", "random", "position")] {
        let document = flexible(dragonfly(json!(routing), (6, 3), 0.8), highest);
        let document = with(document, json!({ "router": { "vc_choice": choice }, "measure": { "cycles": 500 } }));
        let whole = run(&document);
        let parts = run_with(&document, Options { threads: 2, partitions: Some(3) });
        for pointer in ["/latency_mean", "/accepted_load", "/packet_hops"] {
            assert_eq!(number(&whole, pointer), number(&parts, pointer), "{routing}");
        }
    }
}

#[test]
fn what_has_no_places_is_refused() {
    let refused = |value: Value, key: &str, words: &str| {
        let error = phit_engine::run::run(&scenario(&value), Options::default(), &mut |_, _| true).unwrap_err();
        assert!(error.to_string().contains(key) && error.to_string().contains(words), "{error}");
    };
    let flexvc = |routing: &str| flexible(dragonfly(json!(routing), (5, 2), 0.1), "position");
    refused(flexvc("olm"), "routing.kind", "follow from the places of hops");
    refused(flexvc("ugal_l"), "routing.kind", "follow from the places of hops");
    refused(flexvc("min_cond"), "routing.kind", "follow from the places of hops");
    let mesh =
        json!({ "topology": { "kind": "mesh", "dims": [3, 3] }, "queueing": "flexvc", "traffic": { "load": 0.1 } });
    refused(mesh, "queueing.kind", "dragonfly");
    let group = |vcs| flexible(dragonfly(json!("valiant"), vcs, 0.1), "group");
    refused(group((4, 2)), "queueing.highest", "no channel");
    let wormhole = json!({ "router": { "switching": "wormhole", "flit_size": 2 } });
    refused(with(flexvc("minimal"), wormhole.clone()), "queueing.kind", "whole packets");
    let wormhole = with(wormhole, json!({ "router": { "vc_choice": "random" } }));
    let plain = with(dragonfly(json!("minimal"), (2, 1), 0.1), wormhole);
    refused(plain, "router.vc_choice", "wormhole");
}

/// Requests and replies over `vcs` channels, of which `replies` are for replies alone.
fn answered(vcs: (u32, u32), replies: (u32, u32), load: f64) -> Value {
    let (local, global) = replies;
    let queueing = json!({ "kind": "flexvc", "replies": { "local": local, "global": global } });
    let traffic = json!({ "requests": { "virtual_networks": false } });
    with(dragonfly(json!("minimal"), vcs, load), json!({ "queueing": queueing, "traffic": traffic }))
}

#[test]
fn replies_take_the_channels_of_requests_and_their_own() {
    assert_eq!(verify(&scenario(&answered((5, 3), (3, 2), 0.1))).unwrap()["proved"], true);
    let room =
        json!({ "traffic": { "requests": { "room": 80 } }, "router": { "links": { "endpoint": { "vcs": 4 } } } });
    assert_eq!(verify(&scenario(&with(answered((5, 3), (3, 2), 0.1), room))).unwrap()["proved"], Value::Null);
    // More channels for both carry more. If one of them is for replies alone, requests have less room.
    let saturated = |vcs, replies| run(&answered(vcs, replies, 1.0)).accepted_load();
    let [few, more, parted] =
        [((4, 2), (2, 1)), ((6, 3), (2, 1)), ((6, 3), (3, 1))].map(|(vcs, own)| saturated(vcs, own));
    assert!(more > 1.05 * few && parted < 0.99 * more, "{few} {more} {parted}");
    let document = with(answered((5, 3), (3, 2), 0.8), json!({ "measure": { "warmup": 200, "cycles": 300 } }));
    let whole = run(&document);
    let parts = run_with(&document, Options { threads: 2, partitions: Some(3) });
    assert_eq!(number(&whole, "/latency_mean"), number(&parts, "/latency_mean"));
}

#[test]
fn channels_of_replies_that_do_not_fit_are_refused() {
    let refused = |value: Value, words: &str| {
        let error = phit_engine::run::run(&scenario(&value), Options::default(), &mut |_, _| true).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(answered((5, 3), (4, 2), 0.1), "queueing.replies = { local = 4, global = 2 }: expected at least 2 local");
    refused(answered((5, 3), (1, 1), 0.1), "queueing.replies = { local = 1, global = 1 }: ");
    let apart = json!({ "traffic": { "requests": { "virtual_networks": true } } });
    refused(with(answered((6, 4), (3, 2), 0.1), apart), "traffic.requests.virtual_networks = true: expected false");
    let mut silent = answered((5, 3), (3, 2), 0.1);
    silent["traffic"].as_object_mut().unwrap().remove("requests");
    refused(silent, "queueing.replies: expected traffic.requests");
    refused(with(answered((8, 4), (4, 2), 0.1), json!({ "routing": "piggyback" })), "routing.kind = \"piggyback\"");
}

#[test]
fn channels_of_whole_packets_share_a_buffer() {
    // As much memory in all: 4 local channels of two packets each, and 2 global ones of eight.
    let sharing = |local: u32, global: u32| {
        let links = json!({ "global": { "private": global }, "endpoint": { "private": 200 } });
        let router = json!({ "sharing": { "private": local }, "links": links });
        with(dragonfly(json!("valiant"), (4, 2), 0.9), json!({ "router": router, "measure": { "cycles": 1000 } }))
    };
    let proved = |value: &Value| verify(&scenario(value)).unwrap()["proved"].clone();
    assert_eq!(proved(&sharing(8, 8)), true);
    assert_eq!(proved(&sharing(7, 8)), Value::Null);
    assert_eq!(proved(&sharing(8, 0)), Value::Null);
    for document in [sharing(8, 8), sharing(0, 0)] {
        let mut simulation = simulation(&document, Options { threads: 1, partitions: Some(2) });
        for end in (1..800).step_by(3) {
            simulation.advance_to(end);
            simulation.fabric().audit().unwrap();
        }
    }
    // With everything private it is the network without a common part.
    let own = run(&with(dragonfly(json!("valiant"), (4, 2), 0.9), json!({ "measure": { "cycles": 1000 } })));
    assert_eq!(own.accepted_load(), run(&sharing(16, 64)).accepted_load());
    // A common part changes who waits.
    assert_ne!(own.accepted_load(), run(&sharing(8, 8)).accepted_load());
}
