//! Conservation laws, in every tick of small random networks (see `verify::conservation`).

use crate::common::{CHOICES, random, simulation};
use phit_engine::run::Options;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_is_conserved_in_every_tick(
        choices in prop::collection::vec(0u32..720_720, CHOICES),
        partitions in 1usize..5,
    ) {
        let value = random(&choices);
        let mut simulation = simulation(&value, Options { threads: 1, partitions: Some(partitions) });
        for tick in 1..=400 {
            simulation.advance_to(tick);
            if let Err(wrong) = simulation.fabric().audit() {
                panic!("{wrong}\n{partitions} partitions of\n{value}");
            }
        }
    }
}
