//! Requests to a language model: when their tokens were there.

use super::{NUMBERED, TIME};
use crate::measure::Reading;
use crate::measure::declare::{Cell, Cells, Column, NUMBER, Quantity, Table, WHOLE, When, list, unit};
use crate::workload::Workload;
use phit_workload::inference::Served;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The record of a request, with times in ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRow {
    /// Its job, if there are several.
    pub job: Option<Arc<str>>,
    /// The request.
    pub served: Served,
}

impl RequestRow {
    /// The record of a request, with the name of its job.
    pub fn new(served: Served, workload: &Workload) -> Self {
        Self { job: workload.job_of(served.rank).name.clone(), served }
    }

    /// When its last token was there.
    fn end(&self) -> Option<u64> {
        let Served { first, output, tokens, .. } = &self.served;
        match output {
            1 => *first,
            _ => tokens.get(*output as usize - 2).copied(),
        }
    }

    /// Times between its tokens.
    fn between(&self) -> impl Iterator<Item = u64> {
        let Served { first, tokens, .. } = &self.served;
        let mut before = first.unwrap_or(0);
        let known = if first.is_some() { &tokens[..] } else { &[] };
        known.iter().map(move |&token| token - std::mem::replace(&mut before, token))
    }

    /// From its arrival to its first token.
    fn first(&self) -> Option<u64> {
        Some(self.served.first? - self.served.arrival)
    }

    /// Mean time between its tokens.
    fn mean_between(&self) -> Option<f64> {
        let Served { first, tokens, .. } = &self.served;
        Some((tokens.last()? - (*first)?) as f64 / tokens.len() as f64)
    }
}

/// Sorts the records of several parts of the network, and joins those of a request.
pub(super) fn join(rows: &mut Vec<RequestRow>) {
    rows.sort_by(|a, b| (&a.job, a.served.request).cmp(&(&b.job, b.served.request)));
    let mut joined: Vec<RequestRow> = Vec::with_capacity(rows.len());
    for row in rows.drain(..) {
        match joined.last_mut() {
            Some(last) if last.job == row.job && last.served.request == row.served.request => {
                last.served.add(row.served);
            }
            _ => joined.push(row),
        }
    }
    *rows = joined;
}

/// A number that describes many times.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// The mean.
    Mean,
    /// The time that this many of 100 do not exceed.
    Percent(usize),
}

/// A number that describes the times, in the unit of `cycle` ticks.
fn described(mut times: Vec<u64>, of: Of, cycle: f64) -> Option<f64> {
    let last = times.len().checked_sub(1)?;
    let ticks = match of {
        Of::Mean => times.iter().map(|&time| u128::from(time)).sum::<u128>() as f64 / times.len() as f64,
        Of::Percent(percent) => {
            times.sort_unstable();
            times[(times.len() * percent).div_ceil(100).saturating_sub(1).min(last)] as f64
        }
    };
    Some(ticks / cycle)
}

impl Reading<'_> {
    fn requests(&self) -> Option<&[RequestRow]> {
        Some(&self.programs().requests[..]).filter(|rows| !rows.is_empty())
    }

    fn describe_requests(&self, of: Of, times: impl Fn(&RequestRow, &mut Vec<u64>)) -> Value {
        let mut all = Vec::new();
        self.requests().unwrap_or_default().iter().for_each(|row| times(row, &mut all));
        json!(described(all, of, f64::from(self.window.ticks_per_cycle)))
    }

    /// From the arrival of a request to its first token.
    fn first_tokens(&self, of: Of) -> Value {
        self.describe_requests(of, |row, all| all.extend(row.first()))
    }

    /// From a token to the next.
    fn between_tokens(&self, of: Of) -> Value {
        self.describe_requests(of, |row, all| all.extend(row.between()))
    }

    /// From the arrival of a request to its last token.
    fn request_times(&self, of: Of) -> Value {
        self.describe_requests(of, |row, all| all.extend(row.end().map(|end| end - row.served.arrival)))
    }

    /// Tokens that have been generated.
    fn generated_tokens(&self) -> Option<u64> {
        let of = |row: &RequestRow| u64::from(row.served.first.is_some()) + row.served.tokens.len() as u64;
        Some(self.requests()?.iter().map(of).sum())
    }

    /// Tokens in a second from the first arrival until the last token.
    fn tokens_per_second(&self) -> Option<f64> {
        let rows = self.requests()?;
        let begin = rows.iter().map(|row| row.served.arrival).min()?;
        let of = |row: &RequestRow| row.served.tokens.last().copied().max(row.served.first);
        let ticks = rows.iter().filter_map(of).max()?.checked_sub(begin).filter(|ticks| *ticks > 0)?;
        let seconds = ticks as f64 / f64::from(self.window.ticks_per_cycle) * self.cycle_seconds?;
        Some(self.generated_tokens()? as f64 / seconds)
    }

    fn of_requests<T: Serialize>(&self, value: impl Fn(&RequestRow) -> T) -> Cells {
        list(self.programs().requests.iter().map(value))
    }

    fn time_of_requests(&self, value: impl Fn(&RequestRow) -> Option<u64>) -> Cells {
        self.of_requests(|row| value(row).map(|ticks| self.in_cycles(ticks)))
    }
}

/// Condition of quantities that exist only for inference.
const SERVED: When = When::Some("of workloads with `kind = \"inference\"`");

const TOKENS: When = When::Recorded("of workloads with `kind = \"inference\"`, if some requests have several tokens");

/// Template: a time of requests.
const SPAN: Quantity = Quantity { unit: unit::CYCLES, time: true, there: SERVED, ..NUMBER };

pub(super) const COUNTS: [Quantity; 3] = [
    Quantity {
        name: "requests_done",
        words: "requests done",
        about: "Requests whose tokens have all been generated.",
        rank: Some(26),
        there: SERVED,
        value: |at| json!(at.requests().map(|rows| rows.iter().filter(|row| row.end().is_some()).count())),
        ..WHOLE
    },
    Quantity {
        name: "tokens_generated",
        words: "tokens generated",
        about: "Tokens that have been generated.",
        there: SERVED,
        value: |at| json!(at.generated_tokens()),
        ..WHOLE
    },
    Quantity {
        name: "tokens_per_second",
        words: "tokens per second",
        unit: "tokens/s",
        about: "Tokens generated in a second, from the first arrival of a request until the last token.",
        heading: Some("tokens/s"),
        rank: Some(27),
        there: SERVED,
        value: |at| json!(at.tokens_per_second()),
        ..NUMBER
    },
];

/// Times of requests: of each, the mean, the median, and what 99 of 100 do not exceed. A line has the key, the words,
/// the rank of the mean, when the others are there, the function that computes them, and what the times are.
macro_rules! spans {
    ($($key:literal, $words:literal, $rank:expr, $there:expr, $of:ident, $about:literal;)*) => {
        [$(
            Quantity {
                name: concat!($key, "_mean"),
                words: concat!("mean ", $words),
                about: concat!($about, "; mean."),
                rank: $rank,
                value: |at| at.$of(Of::Mean),
                ..SPAN
            },
            Quantity {
                name: concat!($key, "_p50"),
                words: concat!("median ", $words),
                about: concat!($about, "; median."),
                there: $there,
                value: |at| at.$of(Of::Percent(50)),
                ..SPAN
            },
            Quantity {
                name: concat!($key, "_p99"),
                words: concat!($words, ", 99 %"),
                about: concat!($about, "; 99 of 100 are at most as long."),
                there: $there,
                value: |at| at.$of(Of::Percent(99)),
                ..SPAN
            },
        )*]
    };
}

pub(super) const SPANS: [Quantity; 9] = spans! {
    "time_to_first_token", "time to the first token", Some(28), SERVED, first_tokens,
        "Cycles from the arrival of a request until its first token was there";
    "time_between_tokens", "time between tokens", Some(29), TOKENS, between_tokens,
        "Cycles from a token of a request to its next one, over all tokens of all requests, with the transfer of keys \
         and values";
    "request_time", "time of a request", None, SERVED, request_times,
        "Cycles from the arrival of a request until its last token was there";
};

pub(super) const TABLE: Table = Table {
    name: "requests",
    about: "One row for each request to a language model.",
    there: SERVED,
    asked: |at| at.requests().is_some(),
    columns: &[
        Column {
            name: "request",
            words: "request",
            about: "Number of the request, in the order of arrival.",
            values: |at| at.of_requests(|row| row.served.request),
            ..NUMBERED
        },
        Column {
            name: "job",
            words: "job",
            unit: unit::NONE,
            about: "Job of the request; `null` if there is only one program.",
            cell: Cell::Text,
            values: |at| at.of_requests(|row| row.job.clone()),
        },
        Column {
            name: "prefill",
            words: "prefill group",
            about: "Number of the group that read the prompt.",
            values: |at| at.of_requests(|row| row.served.groups.0),
            ..NUMBERED
        },
        Column {
            name: "decode",
            words: "decode group",
            about: "Number of the group that generated the tokens after the first.",
            values: |at| at.of_requests(|row| row.served.groups.1),
            ..NUMBERED
        },
        Column {
            name: "prompt",
            words: "prompt",
            unit: "tokens",
            about: "Tokens of the prompt.",
            values: |at| at.of_requests(|row| row.served.prompt),
            ..NUMBERED
        },
        Column {
            name: "output",
            words: "output",
            unit: "tokens",
            about: "Tokens to be generated.",
            values: |at| at.of_requests(|row| row.served.output),
            ..NUMBERED
        },
        Column {
            name: "arrival",
            words: "arrival",
            about: "When the request arrived.",
            values: |at| at.time_of_requests(|row| Some(row.served.arrival)),
            ..TIME
        },
        Column {
            name: "started",
            words: "start",
            about: "When its prompt entered the model.",
            values: |at| at.time_of_requests(|row| row.served.started),
            ..TIME
        },
        Column {
            name: "first_token",
            words: "first token",
            about: "When its first token was there.",
            values: |at| at.time_of_requests(|row| row.served.first),
            ..TIME
        },
        Column {
            name: "cache_there",
            words: "keys and values there",
            about: "When its decode group had all of its keys and values; `null` for a request of one token.",
            values: |at| at.time_of_requests(|row| row.served.there),
            ..TIME
        },
        Column {
            name: "end",
            words: "end",
            about: "When its last token was there.",
            values: |at| at.time_of_requests(RequestRow::end),
            ..TIME
        },
        Column {
            name: "between_tokens",
            words: "mean time between tokens",
            about: "Mean time between its tokens; `null` for a request of one token.",
            values: |at| {
                let cycle = f64::from(at.window.ticks_per_cycle);
                at.of_requests(|row| row.mean_between().map(|ticks| ticks / cycle))
            },
            ..TIME
        },
    ],
};
