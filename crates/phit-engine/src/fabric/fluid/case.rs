//! Flows over given routes, from a document: the form of the reference data in `tests/reference/fluid`.

use super::flows::Key;
use super::{Flows, Hop, Rule};
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// Links, and flows over them.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// The links.
    pub links: Vec<CaseLink>,
    /// The flows.
    pub flows: Vec<CaseFlow>,
}

/// A link in one direction.
#[derive(Debug, Clone, Deserialize)]
pub struct CaseLink {
    /// Its number.
    pub id: u64,
    /// Bytes per nanosecond, above 0.
    pub capacity: f64,
    /// Nanoseconds from one end to the other.
    #[serde(default)]
    pub latency: f64,
}

/// A flow.
#[derive(Debug, Clone, Deserialize)]
pub struct CaseFlow {
    /// Its number.
    pub id: u64,
    /// Its links, in order; each once.
    pub route: Vec<u64>,
    /// Nanoseconds before which it is not ready.
    #[serde(default)]
    pub start: f64,
    /// Bytes.
    pub size: f64,
    /// Flows that must have ended before it is ready.
    #[serde(default)]
    pub after: Vec<u64>,
    /// Nanoseconds from ready to the first byte.
    #[serde(default)]
    pub delay: f64,
}

/// An error of a case: where, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} = {value}: {expected}")]
pub struct CaseError {
    path: String,
    value: String,
    expected: String,
}

/// The results of a case, by place of the flow in the document.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// When each flow ends, in nanoseconds.
    pub ends: Vec<f64>,
    /// Number of times at which something happened.
    pub events: u64,
}

fn refuse<T>(path: String, value: impl ToString, expected: &str) -> Result<T, CaseError> {
    Err(CaseError { path, value: value.to_string(), expected: expected.to_owned() })
}

/// A case whose numbers have been checked.
struct Checked {
    rates: Vec<f64>,
    hops: Vec<Arc<[Hop]>>,
    latencies: Vec<f64>,
    /// By flow: the flows that wait for it, and the number for which it waits.
    then: Vec<Vec<u32>>,
    waits: Vec<u32>,
}

impl Case {
    fn check(&self) -> Result<Checked, CaseError> {
        let mut places = BTreeMap::new();
        for (place, link) in (0u32..).zip(&self.links) {
            let path = |key: &str| format!("links[{place}].{key}");
            if !(link.capacity > 0.0 && link.capacity.is_finite()) {
                return refuse(path("capacity"), link.capacity, "expected bytes per nanosecond, above 0");
            }
            if !(link.latency >= 0.0 && link.latency.is_finite()) {
                return refuse(path("latency"), link.latency, "expected nanoseconds, 0 or more");
            }
            if places.insert(link.id, place).is_some() {
                return refuse(path("id"), link.id, "expected a number that no other link has");
            }
        }
        let mut numbers = BTreeMap::new();
        for (place, flow) in (0u32..).zip(&self.flows) {
            let path = |key: &str| format!("flows[{place}].{key}");
            for (key, value) in [("size", flow.size), ("start", flow.start), ("delay", flow.delay)] {
                if !(value >= 0.0 && value.is_finite()) {
                    return refuse(path(key), value, "expected 0 or more");
                }
            }
            if numbers.insert(flow.id, place).is_some() {
                return refuse(path("id"), flow.id, "expected a number that no other flow has");
            }
        }
        let (mut hops, mut latencies) = (Vec::new(), Vec::new());
        let (mut then, mut waits) = (vec![Vec::new(); self.flows.len()], Vec::new());
        for (place, flow) in (0u32..).zip(&self.flows) {
            let path = |key: &str, at: usize| format!("flows[{place}].{key}[{at}]");
            if flow.route.is_empty() {
                return refuse(format!("flows[{place}].route"), "[]", "expected a link or more");
            }
            let (mut route, mut latency) = (Vec::new(), 0.0);
            for (at, id) in flow.route.iter().enumerate() {
                let Some(&link) = places.get(id) else { return refuse(path("route", at), id, "there is no such link") };
                if route.contains(&link) {
                    return refuse(path("route", at), id, "expected a route that takes no link twice");
                }
                route.push(link);
                latency += self.links[link as usize].latency;
            }
            hops.push(Hop::route(&route));
            latencies.push(latency);
            waits.push(flow.after.len() as u32);
            for (at, id) in flow.after.iter().enumerate() {
                let Some(&before) = numbers.get(id) else {
                    return refuse(path("after", at), id, "there is no such flow");
                };
                then[before as usize].push(place);
            }
        }
        Ok(Checked { rates: self.links.iter().map(|link| link.capacity).collect(), hops, latencies, then, waits })
    }

    /// Runs all flows.
    pub fn solve(&self, rule: Rule) -> Result<Solved, CaseError> {
        let Checked { rates, hops, latencies, then, mut waits } = self.check()?;
        let mut flows = Flows::new(rates, rule);
        let mut due: BinaryHeap<Reverse<(Key, u32)>> = BinaryHeap::new();
        // The last end of the flows that each waits for.
        let mut ready: Vec<f64> = self.flows.iter().map(|flow| flow.start).collect();
        let begins = |flow: u32, ready: f64| ready + self.flows[flow as usize].delay + latencies[flow as usize];
        for flow in 0..self.flows.len() as u32 {
            if waits[flow as usize] == 0 {
                due.push(Reverse((Key(begins(flow, ready[flow as usize])), flow)));
            }
        }
        let (mut ends, mut left, mut events) = (vec![f64::NAN; self.flows.len()], self.flows.len(), 0);
        let mut ended = Vec::new();
        loop {
            let first = due.peek().map(|Reverse((Key(time), _))| *time);
            let Some(now) = first.into_iter().chain(flows.next_end()).reduce(f64::min) else { break };
            events += 1;
            flows.advance(now, &mut ended);
            loop {
                while let Some(flow) = ended.pop() {
                    ends[flow as usize] = now;
                    left -= 1;
                    for &next in &then[flow as usize] {
                        let at = &mut ready[next as usize];
                        *at = at.max(now);
                        waits[next as usize] -= 1;
                        if waits[next as usize] == 0 {
                            due.push(Reverse((Key(begins(next, *at)), next)));
                        }
                    }
                }
                while let Some(&Reverse((Key(time), flow))) = due.peek()
                    && time <= now
                {
                    due.pop();
                    match self.flows[flow as usize].size {
                        0.0 => ended.push(flow),
                        size => drop(flows.begin(hops[flow as usize].clone(), size, flow)),
                    }
                }
                if ended.is_empty() {
                    break;
                }
            }
        }
        match left {
            0 => Ok(Solved { ends, events }),
            _ => {
                let never = ends.iter().position(|end| end.is_nan()).unwrap_or(0);
                let after = format!("{:?}", self.flows[never].after);
                refuse(format!("flows[{never}].after"), after, "waits for itself, directly or through other flows")
            }
        }
    }

    /// The rates of all flows if all are active at once, whatever their sizes.
    pub fn rates(&self, rule: Rule) -> Result<Vec<f64>, CaseError> {
        let Checked { rates, hops, .. } = self.check()?;
        let mut flows = Flows::new(rates, rule);
        let numbers: Vec<u32> = (0..).zip(hops).map(|(place, hops)| flows.begin(hops, 1.0, place)).collect();
        Ok(numbers.into_iter().map(|number| flows.rate_of(number)).collect())
    }
}
