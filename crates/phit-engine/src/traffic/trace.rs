//! Traces: lists of messages.

use super::Generated;
use super::processes::ProcessState;
use crate::error::ScenarioError;

/// A message of a trace: cycle of generation, source, destination, phits.
pub(super) type Message = [u32; 4];

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
    /// The messages of `list` for a network of `endpoints` endpoints. Error paths are relative to `traffic`.
    pub(super) fn new(list: &[Message], endpoints: u32, packet: u16) -> Result<Self, ScenarioError> {
        let shown = |message: &Message| format!("{message:?}");
        for (index, message @ &[cycle, source, destination, phits]) in list.iter().enumerate() {
            let refuse =
                |expected: String| Err(ScenarioError::new(format!("trace[{index}]"), shown(message), expected));
            if source >= endpoints || destination >= endpoints {
                return refuse(format!("expected endpoints of this topology: 0 to {}", endpoints.saturating_sub(1)));
            }
            if phits == 0 {
                return refuse("expected a message of at least 1 phit".into());
            }
            if list[..index].last().is_some_and(|before| before[0] > cycle) {
                return refuse(format!(
                    "messages must be in the order of their cycles; the one before is at {}",
                    list[index - 1][0]
                ));
            }
        }
        let mut by_source: Vec<&Message> = list.iter().collect();
        by_source.sort_by_key(|message| message[1]);
        let first = (0..=endpoints).map(|endpoint| by_source.partition_point(|message| message[1] < endpoint) as u32);
        Ok(Self {
            first: first.collect(),
            messages: by_source.iter().map(|message| (message[0], message[2], message[3])).collect(),
            packet: u32::from(packet),
        })
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

    #[test]
    fn messages_are_sent_in_packets_of_their_source() {
        let trace = Trace::new(&[[0, 1, 2, 10], [3, 0, 1, 4], [5, 1, 0, 4]], 3, 4).unwrap();
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
        let error = |list: &[Message]| Trace::new(list, 3, 4).unwrap_err().to_string();
        assert_eq!(error(&[[0, 1, 3, 1]]), "trace[0] = [0, 1, 3, 1]: expected endpoints of this topology: 0 to 2");
        assert_eq!(error(&[[0, 1, 2, 0]]), "trace[0] = [0, 1, 2, 0]: expected a message of at least 1 phit");
        assert!(
            error(&[[5, 0, 1, 1], [4, 0, 1, 1]]).starts_with("trace[1] = [4, 0, 1, 1]: messages must be in the order")
        );
    }
}
