//! A scenario and a seed give one result: however often it is run, on however many threads and partitions.

use crate::common::{CHOICES, random, run_with};
use phit_engine::run::Options;
use proptest::prelude::*;
use serde_json::{Value, json};

fn result(value: &Value, threads: usize, partitions: Option<usize>) -> Value {
    let outcome = run_with(value, Options { threads, partitions });
    json!({ "summary": outcome.summary(), "tables": outcome.tables() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn threads_and_partitions_change_nothing(choices in prop::collection::vec(0u32..720_720, CHOICES)) {
        let value = random(&choices);
        let first = result(&value, 1, None);
        // A few partitions, and one for each router. Threads, which know nothing of the network and wait for one
        // another more than they work, for half of the networks.
        let turn = choices[CHOICES - 1] as usize % 6;
        let alone = [Some([2, 3, 5][turn % 3]), Some(1000)].map(|partitions| (1, partitions));
        let threaded = [(2, None), (3, Some(3)), (2, Some(5))].get(turn).copied();
        for (threads, partitions) in alone.into_iter().chain(threaded) {
            let again = result(&value, threads, partitions);
            if first != again {
                panic!("{threads} threads, {partitions:?} partitions\n{value}\n{first}\n{again}");
            }
        }
    }
}

#[test]
fn seeds_differ() {
    let mut value = random(&[0; CHOICES]);
    let first = result(&value, 1, None);
    value["seed"] = json!(2);
    let second = result(&value, 1, None);
    assert_ne!(first["summary"]["packets"], second["summary"]["packets"]);
    assert_ne!(first["tables"]["batches"], second["tables"]["batches"]);
}
