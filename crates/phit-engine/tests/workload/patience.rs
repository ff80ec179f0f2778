//! Programs that have much to do at one time are given up when they are not wanted any more.

use crate::common;
use phit_engine::engine::{GivenUp, watched};
use phit_engine::run::Options;
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;

/// Half a million messages that are posted in cycle 0.
#[test]
fn posting_listens() {
    for (router, threads) in [(json!({ "kind": "ideal" }), 1), (json!({}), 1), (json!({}), 2)] {
        let document = json!({
            "units": { "phit": "8 B" },
            "topology": { "kind": "mesh", "dims": [8], "endpoints_per_router": 90 },
            "router": router,
            "workload": { "kind": "collective", "collective": "all_to_all", "algorithm": "direct", "bytes": 8 },
        });
        let simulation = common::simulation(&document, Options { threads, partitions: Some(threads) });
        let asked = Rc::new(Cell::new(0));
        let count = asked.clone();
        let go_on = move || {
            count.set(count.get() + 1);
            false
        };
        // The run itself is told to go on.
        let done = watched(Box::new(go_on), || simulation.run(&mut |_, _| true));
        assert!(matches!(done, Err(GivenUp)), "{document}");
        assert_eq!(asked.get(), 1, "{document}");
    }
}
