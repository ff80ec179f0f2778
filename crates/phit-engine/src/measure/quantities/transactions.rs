//! Requests and their replies.

use super::Counts;
use crate::engine::Tick;
use crate::measure::declare::{NUMBER, Quantity, WHOLE, When, ratio, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Counts of requests and replies, made by the endpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transactions {
    /// Requests generated since the start of the run.
    pub requests: u64,
    /// Replies received since the start of the run.
    pub replies: u64,
    /// Requests given up: they or their replies were lost more often than may be repeated.
    pub given_up: u64,
    /// Replies received in the measured time.
    pub recorded: u64,
    /// Sum of their round trips in ticks, from the generation of the request.
    pub round_trip: u64,
    /// Most outstanding requests of an endpoint at one time.
    pub most: u64,
    /// Endpoints that have finished: all their requests are answered, and they generate no more.
    pub done: u64,
    /// Cycle in which the latest of them finished.
    pub last: u32,
}

impl Transactions {
    /// An endpoint has generated a request, and now has `under_way` outstanding requests.
    pub fn requested(&mut self, under_way: u64) {
        self.requests += 1;
        self.most = self.most.max(under_way);
    }

    /// A reply arrives, `ticks` after the generation of its request. `recorded`: it arrives in the measured time.
    /// `done`: it is the last of its endpoint, in this cycle.
    pub fn answered(&mut self, ticks: Tick, recorded: bool, done: Option<u32>) {
        self.replies += 1;
        if recorded {
            self.recorded += 1;
            self.round_trip += u64::from(ticks);
        }
        self.ends(done);
    }

    /// An endpoint gives up a request; `done` as in [`Self::answered`].
    pub fn given_up(&mut self, done: Option<u32>) {
        self.given_up += 1;
        self.ends(done);
    }

    fn ends(&mut self, done: Option<u32>) {
        if let Some(cycle) = done {
            self.done += 1;
            self.last = self.last.max(cycle);
        }
    }
}

/// Condition of quantities that exist only for requests.
const REQUESTS: When = When::Some("of traffic whose packets are requests");

impl Counts for Transactions {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "requests",
            words: "requests",
            about: "Requests generated since the start of the run.",
            there: REQUESTS,
            value: |at| json!(at.requests.then_some(at.counters.transactions.requests)),
            ..WHOLE
        },
        Quantity {
            name: "replies",
            words: "replies",
            about: "Replies that have reached the endpoints that asked, since the start of the run.",
            there: REQUESTS,
            value: |at| json!(at.requests.then_some(at.counters.transactions.replies)),
            ..WHOLE
        },
        Quantity {
            name: "requests_given_up",
            words: "requests given up",
            about: "Requests that will have no reply: the request or the reply was lost more often than it may be sent \
                    again, since the start of the run.",
            there: When::Some("of traffic whose requests were given up"),
            value: |at| {
                let given_up = at.counters.transactions.given_up;
                json!((given_up > 0).then_some(given_up))
            },
            ..WHOLE
        },
        Quantity {
            name: "transaction_rate",
            words: "answered requests",
            unit: "1/(endpoint·cycle)",
            about: "Replies that reached the endpoints that asked, in the measured time.",
            rank: Some(19),
            steady: true,
            there: REQUESTS,
            value: |at| json!(at.requests.then(|| at.counters.transactions.recorded as f64 / at.endpoint_cycles())),
            ..NUMBER
        },
        Quantity {
            name: "round_trip_mean",
            words: "mean round trip",
            unit: unit::CYCLES,
            about: "Mean time from the generation of a request to the last phit of its reply, for replies that arrived \
                    in the measured time.",
            rank: Some(20),
            heading: Some("round trip"),
            time: true,
            diverges: true,
            steady: true,
            there: When::Some("of traffic whose requests were answered in the measured time"),
            value: |at| {
                let of = &at.counters.transactions;
                let cycle = f64::from(at.window.ticks_per_cycle);
                json!(ratio(of.round_trip, of.recorded).map(|ticks| ticks / cycle))
            },
            ..NUMBER
        },
        Quantity {
            name: "outstanding_max",
            words: "most outstanding requests",
            about: "Most requests without a reply that an endpoint had at any time of the run, sent or about to be \
                    sent.",
            there: REQUESTS,
            value: |at| json!(at.requests.then_some(at.counters.transactions.most)),
            ..WHOLE
        },
        Quantity {
            name: "requests_completion",
            words: "completion of all requests",
            unit: unit::CYCLES,
            about: "Cycles until the last reply arrived, if `traffic.requests.count` limits the requests and all were \
                    answered.",
            time: true,
            there: When::Some("of traffic with a number of requests that have all been answered"),
            value: |at| {
                let of = &at.counters.transactions;
                json!((of.done > 0 && of.requests == of.replies).then_some(of.last))
            },
            ..WHOLE
        },
    ];

    fn merge(&mut self, other: &Self) {
        let &Self { requests, replies, given_up, recorded, round_trip, most, done, last } = other;
        self.requests += requests;
        self.replies += replies;
        self.given_up += given_up;
        self.recorded += recorded;
        self.round_trip += round_trip;
        self.most = self.most.max(most);
        self.done += done;
        self.last = self.last.max(last);
    }
}
