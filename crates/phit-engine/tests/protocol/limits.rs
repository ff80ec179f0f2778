//! Values that do not fit in the engine's counters are refused, and do not wrap around.

use phit_engine::run::{Options, Simulation};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

fn refusal(value: Value) -> String {
    let built = Scenario::from_value(&value).and_then(|scenario| Simulation::new(&scenario, Options::default()));
    built.err().map_or("accepted".into(), |error| error.to_string())
}

#[test]
fn an_output_buffer_of_more_flits_than_are_counted() {
    let with = |phits: Value| {
        json!({
            "topology": { "kind": "single", "endpoints": 2 },
            "router": { "output_buffer": phits },
            "traffic": { "load": 0.1 },
        })
    };
    assert_eq!(
        refusal(with(json!(70_000))),
        "router.output_buffer = 70000: expected a whole number of phits, at most 65534, or \"infinite\""
    );
    assert_eq!(refusal(with(json!(65_534))), "accepted");
    assert_eq!(refusal(with(json!("infinite"))), "accepted");
}

#[test]
fn more_hops_in_a_dimension_than_are_counted() {
    let with = |kind: &str, side: u32, routing: &str| {
        json!({
            "topology": { "kind": kind, "dims": [side] },
            "router": { "links": { "default": { "vcs": 4 } } },
            "routing": routing,
            "traffic": { "load": 0.1 },
        })
    };
    for (kind, side, routing) in [("mesh", 256, "minimal"), ("torus", 511, "minimal"), ("mesh", 128, "valiant")] {
        assert_eq!(refusal(with(kind, side, routing)), "accepted");
        let refused = refusal(with(kind, side + 1, routing));
        assert!(
            refused.starts_with(&format!("topology.dims[0] = {}: routes of up to 256 hops", side + 1)),
            "{refused}"
        );
    }
    assert_eq!(refusal(with("hyperx", 300, "valiant")), "accepted");
}

#[test]
fn shared_buffers_that_could_block_a_channel_or_be_misread() {
    let with = |router: Value, more: Value| {
        let mut value = json!({
            "topology": { "kind": "mesh", "dims": [4, 4] },
            "router": {
                "switching": "wormhole", "flit_size": 2, "vc_allocation": "stage",
                "links": { "default": { "vcs": 4, "buffer": 4 } },
            },
            "traffic": { "load": 0.1, "packet_size": 4 },
        });
        for (key, of) in [("router", router), ("", more)] {
            let at = if key.is_empty() { &mut value } else { &mut value[key] };
            of.as_object().unwrap().iter().for_each(|(key, of)| at[key] = of.clone());
        }
        refusal(value)
    };
    let sharing = |sharing: Value| with(json!({ "sharing": sharing }), json!({}));
    assert_eq!(sharing(json!({ "private": 2 })), "accepted");
    assert_eq!(
        sharing(json!({})),
        "router.sharing.private = 1: expected at least 2, the phits of a flit: a channel must be able to go on"
    );
    assert_eq!(
        sharing(json!({ "private": 5 })),
        "router.sharing.private = 5: expected at most 4, the share of a channel in class \"endpoint\""
    );
    assert_eq!(
        sharing(json!({ "private": 2, "most": 3 })),
        "router.sharing.most: expected a number of phits with limit = \"fixed\", and with it alone"
    );
    let paths = with(json!({ "sharing": { "private": 2 }, "output_speedup": 2 }), json!({}));
    assert_eq!(paths, "router.output_speedup = 2: expected 1 with router.sharing: two flits could take the same place");
    let whole = |sharing: Value| {
        let router = json!({ "switching": "virtual_cut_through", "vc_allocation": "with_switch", "sharing": sharing });
        with(router, json!({}))
    };
    assert_eq!(whole(json!({ "private": 0 })), "accepted");
    let even = whole(json!({ "private": 2, "limit": "even" }));
    assert!(even.starts_with("router.sharing.limit = \"even\": expected \"none\""), "{even}");
    let reading =
        with(json!({ "sharing": { "private": 2 } }), json!({ "routing": { "kind": "ugal_l", "queue": "share" } }));
    assert!(reading.starts_with("routing.kind = \"ugal_l\": with router.sharing"), "{reading}");
    assert!(reading.contains("minimal") && reading.contains("valiant") && !reading.contains("piggyback"), "{reading}");
}

#[test]
fn next_hop_queueing_without_knowing_the_next_hop_or_with_too_few_channels() {
    let with = |routing: Value, vcs: u32, more: Value| {
        let mut value = json!({
            "topology": { "kind": "torus", "dims": [4, 4] },
            "router": { "links": { "default": { "vcs": vcs } } },
            "routing": routing,
            "queueing": "noq",
            "traffic": { "load": 0.1 },
        });
        more.as_object().unwrap().iter().for_each(|(key, of)| value[key] = of.clone());
        refusal(value)
    };
    assert_eq!(with(json!("dimension_order"), 10, json!({})), "accepted");
    assert_eq!(
        with(json!("dimension_order"), 9, json!({})),
        "router.links.dim0.vcs = 9: expected at least 10 with queueing.kind = \"noq\": one for each of 5 outputs"
    );
    assert_eq!(
        with(json!("valiant"), 20, json!({})),
        "routing.kind = \"valiant\": with queueing.kind = \"noq\" it must be known which hop a packet will take at \
         the next router; it is with: minimal, dimension_order"
    );
    let broken = json!({
        "kind": "hyperx", "dims": [3, 2], "parallel": [2, 2],
        "faults": { "later": [{ "cycle": 9, "links": [[1, 2]] }] },
    });
    let refused = with(json!("minimal"), 20, json!({ "topology": broken }));
    assert!(refused.starts_with("topology.faults: expected none with queueing.kind = \"noq\""), "{refused}");
    let answered = with(json!("minimal"), 20, json!({ "traffic": { "load": 0.1, "requests": {} } }));
    assert!(answered.starts_with("queueing.kind = \"noq\": endpoints with requests choose"), "{answered}");
}

#[test]
fn dimension_order_that_a_network_has_not() {
    let with = |topology: Value, routing: Value| {
        refusal(json!({
            "topology": topology,
            "router": { "links": { "default": { "vcs": 4 } } },
            "routing": routing,
            "traffic": { "load": 0.1 },
        }))
    };
    let (mesh, torus) = (json!({ "kind": "mesh", "dims": [4, 4] }), json!({ "kind": "torus", "dims": [4, 4] }));
    let bubble = json!({ "kind": "dimension_order", "rings": "bubble" });
    assert_eq!(with(torus.clone(), bubble.clone()), "accepted");
    assert_eq!(
        with(mesh.clone(), bubble.clone()),
        "routing.rings = \"bubble\": needs a torus: elsewhere there are no rings"
    );
    let router = |router: Value| {
        refusal(json!({
            "topology": torus, "router": router, "routing": bubble, "traffic": { "load": 0.1, "packet_size": 8 },
        }))
    };
    for (settings, expected) in [
        (
            json!({ "switching": "wormhole" }),
            "router.switching = \"wormhole\": routing \"dimension_order\" leaves room",
        ),
        (json!({ "output_speedup": 2 }), "router.output_speedup = 2: expected 1 with routing \"dimension_order\""),
        (json!({ "allocator": "ideal" }), "router.allocator: expected one that grants an output to one packet with"),
        (json!({ "links": { "default": { "buffer": 15 } } }), "router.links.default.buffer = 15: "),
    ] {
        let refused = router(settings);
        assert!(refused.starts_with(expected), "{refused}");
    }
    let balanced = json!({ "kind": "dimension_order", "rings": "balanced" });
    assert_eq!(with(torus.clone(), balanced.clone()), "accepted");
    assert_eq!(
        with(mesh.clone(), balanced),
        "routing.rings = \"balanced\": needs a torus: elsewhere there are no rings"
    );
    let romm = json!({ "kind": "valiant", "stop": "minimal" });
    assert_eq!(with(mesh, romm.clone()), "accepted");
    for other in [torus, json!({ "kind": "hyperx", "dims": [4, 4] })] {
        assert_eq!(with(other, romm.clone()), "routing.stop = \"minimal\": needs a mesh and via = \"router\"");
    }
    assert_eq!(
        with(json!({ "kind": "single", "endpoints": 4 }), json!("o1turn")),
        "routing.kind = \"o1turn\": needs a topology with dimensions: mesh, torus or hyperx"
    );
    assert_eq!(
        with(json!({ "kind": "mesh", "dims": [2, 2] }), json!({ "kind": "o1turn", "decide": "sending" })),
        "routing.decide = \"sending\": needs choice = \"occupancy\""
    );
}

#[test]
fn heads_that_ask_for_several_outputs_where_they_cannot() {
    let with = |topology: Value, router: Value, queueing: &str| {
        let mut router = router;
        router["links"] = json!({ "default": { "vcs": 4 }, "endpoint": { "vcs": 1 } });
        refusal(json!({
            "topology": topology, "router": router, "routing": "minimal_adaptive", "queueing": queueing,
            "traffic": { "load": 0.1 },
        }))
    };
    let mesh = json!({ "kind": "mesh", "dims": [4, 4] });
    let stage = json!({ "vc_allocation": "stage", "vc_allocator": "islip" });
    // Missing settings are chosen.
    for router in [stage.clone(), json!({}), json!({ "vc_allocation": "stage" })] {
        assert_eq!(with(mesh.clone(), router, "virtual_channels"), "accepted");
    }
    for (router, queueing, expected) in [
        (
            json!({ "vc_allocation": "with_switch" }),
            "virtual_channels",
            "router.vc_allocation = \"with_switch\": expected \"stage\"",
        ),
        (stage.clone(), "dbbm", "queueing.kind = \"dbbm\": expected \"virtual_channels\" with routing"),
    ] {
        let refused = with(mesh.clone(), router, queueing);
        assert!(refused.starts_with(expected), "{refused}");
    }
    let preferring = json!({ "vc_allocation": "stage", "vc_allocator": "islip", "vc_preferred": "empty" });
    let refused = with(mesh, preferring, "virtual_channels");
    assert!(refused.starts_with("router.vc_preferred = \"empty\": expected \"any\" with routing"), "{refused}");
    assert_eq!(
        with(json!({ "kind": "torus", "dims": [4, 4] }), stage, "virtual_channels"),
        "routing.kind = \"minimal_adaptive\": needs a mesh or hyperx"
    );
}
