//! How evenly endpoints are served.

use super::Counts;
use crate::measure::declare::{Cell, Column, ENDPOINT_NAME, NUMBER, Part, Quantity, Shape, Table, When, list, unit};
use crate::measure::{Fairness, Reading};
use crate::topology::Peer;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Has no counters: a load is a difference of the kernel's counts for an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints;

impl Reading<'_> {
    /// The injected load of each endpoint.
    fn injected_loads(&self) -> impl Iterator<Item = f64> + '_ {
        let loads = self.before.injected.iter().zip(&self.after.injected).zip(0..);
        loads.map(move |((before, after), endpoint)| {
            self.load((self.injection)(endpoint), (*before, *after)) / self.window.load.of(endpoint)
        })
    }

    /// The injected load of the endpoints of each router that has any, together.
    fn injected_by_router(&self) -> Vec<f64> {
        let mut loads: Vec<Option<f64>> = vec![None; self.topology.routers() as usize];
        for (load, endpoint) in self.injected_loads().zip(0..) {
            *loads[self.topology.attachment(endpoint).0 as usize].get_or_insert(0.0) += load;
        }
        loads.into_iter().flatten().collect()
    }

    /// The load delivered to each endpoint.
    fn ejected_loads(&self) -> Vec<f64> {
        if let (Some(before), Some(after)) = (&self.before.ejected, &self.after.ejected) {
            let load = |((before, after), endpoint): ((&u64, &u64), u32)| {
                self.load((self.ejection)(endpoint), (*before, *after)) / self.window.load.of(endpoint)
            };
            return before.iter().zip(after).zip(0..).map(load).collect();
        }
        let mut loads = vec![0.0; self.topology.endpoints() as usize];
        for ((router, port), (before, after)) in self.ports() {
            if let Peer::Endpoint(endpoint) = self.topology.port(router % self.topology.routers(), port).peer {
                let rate = (self.rate)(router % self.topology.routers(), port);
                loads[endpoint as usize] += self.load(rate, (*before, *after)) / self.window.load.of(endpoint);
            }
        }
        loads
    }
}

/// The spread over endpoints.
const FAIRNESS: Quantity = Quantity {
    name: "fairness",
    words: "spread of the injected loads",
    about: "How evenly endpoints could send: the loads that each of them injected in the measured time.",
    shape: Shape::Parts(&[
        Part {
            name: "min",
            words: "smallest injected load of an endpoint",
            unit: unit::LOAD,
            about: "The smallest load of an endpoint.",
        },
        Part {
            name: "max",
            words: "largest injected load of an endpoint",
            unit: unit::LOAD,
            about: "The largest load of an endpoint.",
        },
        Part {
            name: "jain",
            words: "Jain's index of the injected loads",
            unit: unit::NONE,
            about: "Jain's index: 1 if all loads are equal, 1/n if one of n endpoints has everything.",
        },
    ]),
    there: When::Some("of networks with endpoints"),
    value: |at| {
        let fairness = Fairness::of(at.injected_loads());
        json!(fairness.map(|f| json!({ "min": f.min, "max": f.max, "jain": f.jain })))
    },
    ..NUMBER
};

/// The spread over routers.
const UNFAIRNESS: Quantity = Quantity {
    name: "unfairness",
    words: "spread of the injected loads of routers",
    about: "How unevenly routers' endpoints could send in the measured time: the standard deviation of the loads \
            injected at each router with endpoints, over their mean.",
    there: When::Some("of networks with endpoints"),
    value: |at| json!(spread(&at.injected_by_router())),
    ..NUMBER
};

/// The standard deviation of `loads` over their mean; 0 if all are 0, `None` if there are none.
fn spread(loads: &[f64]) -> Option<f64> {
    let count = loads.len() as f64;
    let mean = loads.iter().sum::<f64>() / count;
    let variance = loads.iter().map(|load| (load - mean).powi(2)).sum::<f64>() / count;
    (!loads.is_empty()).then(|| if mean > 0.0 { variance.sqrt() / mean } else { 0.0 })
}

impl Counts for Endpoints {
    const QUANTITIES: &'static [Quantity] = &[FAIRNESS, UNFAIRNESS];

    const TABLES: &'static [Table] = &[Table {
        name: "endpoints",
        about: "One row for each endpoint.",
        there: When::Some("with `measure.endpoints`"),
        asked: |at| at.endpoints,
        columns: &[
            Column {
                name: "endpoint",
                words: "endpoint",
                unit: unit::NONE,
                about: "Number of the endpoint.",
                cell: Cell::Whole,
                values: |at| list(0..at.topology.endpoints()),
            },
            Column { values: |at| at.endpoint_names(0..at.topology.endpoints()), ..ENDPOINT_NAME },
            Column {
                name: "injected_load",
                words: "injected load",
                unit: unit::LOAD,
                about: "Phits that it sent into the network in the measured time, as they were on its link.",
                cell: Cell::Number,
                values: |at| list(at.injected_loads()),
            },
            Column {
                name: "accepted_load",
                words: "accepted load",
                unit: unit::LOAD,
                about: "Phits delivered to it in the measured time, as they were on its link.",
                cell: Cell::Number,
                values: |at| list(at.ejected_loads()),
            },
        ],
    }];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_by_hand() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[0.0; 3]), Some(0.0));
        assert_eq!(spread(&[0.5; 3]), Some(0.0));
        // Mean 2, deviations 1, 1, 0, 0.
        assert_eq!(spread(&[1.0, 3.0, 2.0, 2.0]), Some(0.5_f64.sqrt() / 2.0));
    }
}
