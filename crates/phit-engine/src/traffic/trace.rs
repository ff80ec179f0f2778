//! Traces: lists of messages.

use super::Generated;
use super::processes::ProcessState;
use crate::error::ScenarioError;
use crate::topology::{Lookup, Named, Topology};

/// A message of a trace: cycle of generation, source, destination, phits. Endpoints have their numbers or names.
pub(super) type Message = (u32, Named, Named, u32);

/// The messages of a trace by source, in the order of their cycles.
#[derive(Debug)]
pub(super) struct Trace {
    /// Index of the first message of each endpoint, and the number of all messages.
    first: Vec<u32>,
    /// Cycle, destination, phits.
    messages: Vec<(u32, u32, u32)>,
    /// Phits of a packet: longer messages are sent in several, generated in one cycle.
    packet: u32,
}

impl Trace {
    /// The messages of `list`. Error paths are relative to `traffic`.
    pub(super) fn new(list: &[Message], topology: &dyn Topology, packet: u16) -> Result<Self, ScenarioError> {
        let lookup = Lookup::new(topology);
        let mut by_source = Vec::with_capacity(list.len());
        let mut before = 0;
        for (index, message) in list.iter().enumerate() {
            let (cycle, source, destination, phits) = message;
            let refuse = |expected: String| {
                let value = format!("[{cycle}, {source}, {destination}, {phits}]");
                Err(ScenarioError::new(format!("trace[{index}]"), value, expected))
            };
            let from = lookup.endpoint(|| format!("trace[{index}][1]"), source)?;
            let to = lookup.endpoint(|| format!("trace[{index}][2]"), destination)?;
            if *phits == 0 {
                return refuse("expected a message of at least 1 phit".into());
            }
            if before > *cycle {
                return refuse(format!("messages must be in the order of their cycles; the one before is at {before}"));
            }
            before = *cycle;
            by_source.push((from, (*cycle, to, *phits)));
        }
        by_source.sort_by_key(|(source, _)| *source);
        let first = |endpoint| by_source.partition_point(|(source, _)| *source < endpoint) as u32;
        Ok(Self {
            first: (0..=topology.endpoints()).map(first).collect(),
            messages: by_source.iter().map(|(_, message)| *message).collect(),
            packet: u32::from(packet),
        })
    }

    /// No messages.
    pub(super) fn none(endpoints: u32, packet: u16) -> Self {
        Self { first: vec![0; endpoints as usize + 1], messages: Vec::new(), packet: u32::from(packet) }
    }

    /// Number of packets that `endpoint` sends in total.
    pub(super) fn packets(&self, endpoint: u32) -> u64 {
        let (first, end) = (self.first[endpoint as usize] as usize, self.first[endpoint as usize + 1] as usize);
        self.messages[first..end].iter().map(|&(_, _, phits)| u64::from(phits.div_ceil(self.packet))).sum()
    }

    /// Removes the rest of a message that has been sent in part, and returns its packets and phits.
    pub(super) fn rest(&self, endpoint: u32, state: &mut ProcessState) -> (u64, u64) {
        if state.mark == 0 {
            return (0, 0);
        }
        let (_, _, phits) = self.messages[self.first[endpoint as usize] as usize + state.cycle as usize];
        let left = phits - state.mark as u32;
        *state = ProcessState { cycle: state.cycle + 1, mark: 0 };
        (u64::from(left.div_ceil(self.packet)), left.into())
    }

    /// The next packet of `endpoint`. The state counts messages, and phits of the current one that have been sent.
    #[cold]
    #[inline(never)]
    pub(super) fn next(&self, endpoint: u32, state: &mut ProcessState) -> Option<Generated> {
        let (first, end) = (self.first[endpoint as usize], self.first[endpoint as usize + 1]);
        let at = u64::from(first) + state.cycle;
        if at >= u64::from(end) {
            return None;
        }
        let (cycle, destination, phits) = self.messages[at as usize];
        let left = phits - state.mark as u32;
        let size = left.min(self.packet);
        *state = match left - size {
            0 => ProcessState { cycle: state.cycle + 1, mark: 0 },
            _ => ProcessState { cycle: state.cycle, mark: state.mark + u64::from(size) },
        };
        Some(Generated { cycle, destination, size: size as u16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologyKind;
    use serde_json::json;

    fn trace(list: &[[u32; 4]]) -> Result<Trace, ScenarioError> {
        let switch = TopologyKind::from_value("topology", &json!({ "kind": "single", "endpoints": 3 })).unwrap();
        let messages: Vec<Message> =
            list.iter().map(|&[cycle, a, b, phits]| (cycle, a.into(), b.into(), phits)).collect();
        Trace::new(&messages, &*switch.build().unwrap(), 4)
    }

    #[test]
    fn messages_are_sent_in_packets_of_their_source() {
        let trace = trace(&[[0, 1, 2, 10], [3, 0, 1, 4], [5, 1, 0, 4]]).unwrap();
        let packets = |endpoint| {
            let mut state = ProcessState::default();
            std::iter::from_fn(|| trace.next(endpoint, &mut state))
                .map(|p| (p.cycle, p.destination, p.size))
                .collect::<Vec<_>>()
        };
        assert_eq!(packets(0), [(3, 1, 4)]);
        assert_eq!(packets(1), [(0, 2, 4), (0, 2, 4), (0, 2, 2), (5, 0, 4)]);
        assert_eq!(packets(2), []);
    }

    #[test]
    fn impossible_messages_are_refused() {
        let error = |list: &[[u32; 4]]| trace(list).unwrap_err().to_string();
        assert_eq!(error(&[[0, 1, 3, 1]]), "trace[0][2] = 3: expected an endpoint, 0 to 2");
        assert_eq!(error(&[[0, 1, 2, 0]]), "trace[0] = [0, 1, 2, 0]: expected a message of at least 1 phit");
        assert!(
            error(&[[5, 0, 1, 1], [4, 0, 1, 1]]).starts_with("trace[1] = [4, 0, 1, 1]: messages must be in the order")
        );
    }
}
