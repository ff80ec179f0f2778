//! Values for the whole measured time equal the sums of values for its parts: for every column of a table whose rows
//! are parts of the time.

use crate::common::{run, with};
use serde_json::{Value, json};

fn dragonfly(routing: &str) -> Value {
    json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "routing": routing,
        "router": { "links": {
            "local": { "latency": 2, "vcs": 4, "buffer": 32 },
            "global": { "latency": 5, "vcs": 2, "buffer": 32 },
        } },
        "traffic": { "load": 0.6, "packet_size": 8, "pattern": { "kind": "adversarial", "offset": 1 } },
        "measure": { "warmup": 0, "cycles": 600, "batches": 12 },
    })
}

fn column(table: &Value, name: &str) -> Vec<Option<f64>> {
    table[name].as_array().unwrap_or_else(|| panic!("{name}")).iter().map(Value::as_f64).collect()
}

/// Compares the columns of a table with the summary: sums, means per packet, means per row. Columns that are none of
/// these are named, so that a new one is not forgotten.
fn agrees(value: &Value, table: &str, known: &[&str]) {
    let outcome = run(value);
    let (summary, tables) = (Value::Object(outcome.summary()), outcome.tables());
    let table = &tables[table];
    let packets: Vec<f64> = column(table, "packets").into_iter().map(Option::unwrap_or_default).collect();
    let all: f64 = packets.iter().sum();
    assert!(all > 500.0, "{all} packets");
    assert_eq!(summary["packets"].as_f64(), Some(all));
    for name in table.as_object().unwrap().keys().filter(|name| !known.contains(&name.as_str())) {
        let values = column(table, name);
        let expected = summary[name].as_f64().unwrap_or_else(|| panic!("no {name} in the summary"));
        let sum: f64 = match name.as_str() {
            "packets" => packets.iter().sum(),
            "accepted_load" => values.iter().flatten().sum::<f64>() / values.len() as f64,
            _ => values.iter().zip(&packets).map(|(value, count)| value.unwrap_or(0.0) * count).sum::<f64>() / all,
        };
        assert!((sum - expected).abs() < 1e-9 * expected.abs().max(1e-3), "{name}: {sum}, {expected} in the summary");
    }
}

#[test]
fn batches_and_series_add_up_to_the_summary() {
    for routing in ["minimal", "valiant", "piggyback", "olm", "contention_base", "par"] {
        let value = match routing {
            "par" => with(dragonfly(routing), json!({ "router": { "links": { "local": { "vcs": 5 } } } })),
            _ => dragonfly(routing),
        };
        agrees(&value, "batches", &["batch"]);
        // Without a warm-up, the whole run is measured.
        let series = with(value, json!({ "measure": { "series": { "by": "window", "bin": 50 } } }));
        agrees(&series, "series", &["cycle", "lost"]);
        let lost = column(&run(&series).tables()["series"], "lost");
        assert!(lost.iter().all(|lost| *lost == Some(0.0)), "nothing fails in this network");
        let summary = run(&series).summary();
        let share = |name: &str| summary[name].as_f64().unwrap();
        assert!(routing != "minimal" || share("misrouted") == 0.0);
        assert!(!["valiant", "olm"].contains(&routing) || share("misrouted") > 0.0, "{routing}");
        assert!(share("misrouted_globally") <= share("misrouted") && share("misrouted") <= 1.0);
    }
}

#[test]
fn a_packet_to_its_own_router_goes_there_if_valiant_is_told_so() {
    let hops = |within: &str| {
        let value = with(
            dragonfly("valiant"),
            json!({
                "routing": { "kind": "valiant", "minimal_within": within },
                "traffic": { "pattern": null, "load": null, "trace": [[0, 0, 1, 8], [10, 9, 8, 8]] },
            }),
        );
        let mut value = value;
        value["traffic"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
        run(&value).summary()["hops_mean"].as_f64().unwrap()
    };
    assert_eq!((hops("router"), hops("group")), (0.0, 0.0));
    assert!(hops("nowhere") > 0.0);
}
