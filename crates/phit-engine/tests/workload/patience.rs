//! Programs that have much to do at one time are given up when they are not wanted any more.

use crate::{column, common, completion};
use phit_engine::engine::{GivenUp, watched};
use phit_engine::result::Outcome;
use phit_engine::run::{Options, RunError};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Half a million messages that are posted in cycle 0; a million chunks that are begun then; a million parts in which
/// most ranks have nothing to do.
#[test]
fn posting_listens() {
    let direct = json!({ "kind": "collective", "collective": "all_to_all", "algorithm": "direct", "bytes": 8 });
    let chunks = json!({ "kind": "collective", "collective": "all_reduce", "bytes": 900, "chunks": 1_000_000 });
    let times = json!({ "kind": "incast", "sources": 20, "bytes": 200, "times": 1_000_000 });
    for (router, threads, workload) in [
        (json!({ "kind": "ideal" }), 1, &direct),
        (json!({}), 1, &direct),
        (json!({}), 2, &direct),
        (json!({}), 1, &chunks),
        (json!({}), 1, &times),
    ] {
        let document = json!({
            "units": { "phit": "8 B" },
            "topology": { "kind": "mesh", "dims": [8], "endpoints_per_router": 90 },
            "router": router,
            "workload": workload,
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

/// The rows of a table, as texts of some of its columns, that have come by a cycle.
fn rows(tables: &Map<String, Value>, table: &str, columns: &[&str], time: &str, until: f64) -> BTreeSet<String> {
    let times = column(tables, table, time).iter().map(|value| value.as_f64());
    let row =
        |index: usize| columns.iter().map(|name| column(tables, table, name)[index].to_string()).collect::<Vec<_>>();
    let there = times.enumerate().filter(|(_, time)| time.is_some_and(|time| time <= until));
    there.map(|(index, _)| row(index).join(" ")).collect()
}

/// Phits that have come to endpoints.
fn phits(outcome: &Outcome) -> f64 {
    outcome.accepted_load() * f64::from(outcome.endpoints()) * common::number(outcome, "/cycles")
}

/// The results of a stopped program cover everything up to then in the whole run, and no more.
#[test]
fn a_stopped_program_tells_what_was_done_until_then() {
    let program = json!({ "kind": "collective", "collective": "all_to_all", "algorithm": "direct", "bytes": 4000 });
    let alone = json!({
        "units": { "phit": "8 B" },
        "topology": { "kind": "mesh", "dims": [4], "endpoints_per_router": 4 },
        "workload": program.clone(),
        "measure": { "messages": true, "operations": true, "tracks": true, "series": { "by": "window", "bin": 1 } },
    });
    let traffic = json!({ "traffic": { "pattern": "uniform", "load": 0.1, "packet_size": 8 }, "endpoints": 4 });
    let twelve = common::with(program, json!({ "ranks": 12 }));
    let jobs = json!({ "kind": "jobs", "job": [{ "name": "p", "program": twelve }, traffic] });
    for (document, partitions) in
        [(alone.clone(), 1), (alone.clone(), 2), (common::with(alone, json!({ "workload": jobs })), 2)]
    {
        let whole = common::run(&document);
        let stop = completion(&whole) as u32 / 2;
        let simulation = common::simulation(&document, Options { threads: 1, partitions: Some(partitions) });
        let Err(RunError::Stopped(stopped)) = simulation.run(&mut |done, _| done < stop) else { panic!("{document}") };
        let partial = stopped.partial.expect("it has run");
        let (until, tables, all) = (common::number(&partial, "/cycles"), partial.tables(), whole.tables());
        assert!(partial.stopped() && until >= f64::from(stop) && until < completion(&whole) as f64, "{until}");
        assert_eq!(partial.summary()["completion"], Value::Null);
        assert_eq!(partial.summary()["blocked"], Value::Null);
        assert_eq!(partial.summary()["converged"], json!(false));
        assert!(column(&tables, "ranks", "finish").iter().all(Value::is_null));
        // A message is there when its last phit is. Operations that have started are there, too, but have no end.
        for (table, columns, time) in [
            ("messages", &["source", "destination", "bytes", "posted", "first", "last"][..], "last"),
            ("operations", &["rank", "operation", "kind", "start", "end"], "end"),
        ] {
            let found = rows(&tables, table, columns, time, f64::INFINITY);
            let expected = rows(&all, table, columns, time, until - 1.0);
            assert!(expected.len() > 20 && expected.is_subset(&found), "{table}: {} rows", found.len());
            assert!(found.is_subset(&rows(&all, table, columns, time, f64::INFINITY)), "{table}");
            assert!(found.len() < rows(&all, table, columns, time, f64::INFINITY).len(), "{table}");
        }
        let series = |tables: &Map<String, Value>| {
            let bins = column(tables, "series", "accepted_load").iter().take(until as usize);
            bins.map(|bin| bin.as_f64().unwrap_or(0.0)).sum::<f64>() * f64::from(whole.endpoints())
        };
        assert!((series(&all) - phits(&partial)).abs() < 1e-6 * series(&all), "{document}");
        assert!((series(&tables) - phits(&partial)).abs() < 1e-6 * series(&all), "{document}");
    }
}
