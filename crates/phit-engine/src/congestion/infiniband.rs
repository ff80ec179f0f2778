//! InfiniBand's congestion control.

use super::{Congestion, CongestionContext, CongestionParams, Leaving, NotificationChannels, Notifications};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Congestion control of InfiniBand (InfiniBand Architecture Specification, volume 1, annex A10).
///
/// A switch marks packets that leave through a congested output (forward notification, FECN). `threshold` says which
/// backlog congests an output: more than (16 - `threshold`) sixteenths of the smallest input buffer of a virtual
/// channel in the network, and never with 0. The specification leaves the backlog of each number to the vendor. An
/// output that lacks credits for a further packet is a victim of congestion elsewhere. It marks packets only if
/// `victim_mask` includes it.
///
/// The destination of a marked packet notifies the source (backward notification, BECN). A notification raises the
/// index (CCTI) into the congestion control table (CCT) by `ccti_increase`, up to `ccti_limit`. Every `ccti_timer`
/// cycles all indices of an endpoint fall by 1, down to `ccti_min`. An entry of the table is a multiplier and a shift.
/// A packet that takes t cycles of the endpoint's link is followed by a pause of t * multiplier / 2^shift cycles. A
/// flow at entry m / 2^s thus sends 1 / (1 + m / 2^s) of its link's rate.
///
/// The table of the default is linear: entry i has multiplier i and shift 0. Fabrics have tables and timers of their
/// own, and the defaults here suit runs of some ten thousand cycles.
///
/// ```toml
/// [congestion]
/// kind = "infiniband"
/// threshold = 15
/// ccti_timer = "2 us"
/// multipliers = [0, 1, 2, 4, 8, 16, 32]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InfiniBand {
    /// Weight of congestion: 0 marks nothing, 15 marks at the smallest backlog.
    #[schemars(range(max = 15))]
    pub threshold: u8,
    /// Packets of a congested output that pass unmarked between two marked packets.
    pub marking_rate: u16,
    /// Smaller packets are not marked.
    #[schemars(extend("x-unit" = "phits"))]
    pub packet_size: u32,
    /// Outputs that mark packets although they lack credits.
    pub victim_mask: VictimMask,
    /// Entries by which a notification raises the index, at least 1.
    #[schemars(range(min = 1, max = 127))]
    pub ccti_increase: u8,
    /// Largest index.
    #[schemars(range(min = 1, max = 127))]
    pub ccti_limit: u8,
    /// Smallest index, less than `ccti_limit`.
    #[schemars(range(max = 126))]
    pub ccti_min: u8,
    /// Time after which the indices of an endpoint fall by 1.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub ccti_timer: u32,
    /// Multipliers of the table, by index, up to 128. Indices beyond the list have its last entry. Empty: entry i has
    /// multiplier i.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub multipliers: Vec<u16>,
    /// Shifts of the table, one for each multiplier. Empty: 0 for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub shifts: Vec<u8>,
    /// Packets that share an index.
    pub index_of: IndexOf,
    /// Size of a notification, no more than the largest packet.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub notification: u16,
    /// Virtual channels of notifications.
    pub channels: NotificationChannels,
}

/// Outputs that mark packets although they lack credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VictimMask {
    /// None.
    None,
    /// Outputs to endpoints: a slow endpoint is the root of the congestion before it.
    Endpoints,
    /// All.
    All,
}

/// Packets that share an index into the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexOf {
    /// All packets from one endpoint to one destination.
    QueuePair,
    /// All packets of an endpoint.
    ServiceLevel,
}

impl Default for InfiniBand {
    fn default() -> Self {
        Self {
            threshold: 15,
            marking_rate: 0,
            packet_size: 0,
            victim_mask: VictimMask::Endpoints,
            ccti_increase: 1,
            ccti_limit: 127,
            ccti_min: 0,
            ccti_timer: 1000,
            multipliers: Vec::new(),
            shifts: Vec::new(),
            index_of: IndexOf::QueuePair,
            notification: 1,
            channels: NotificationChannels::Shared,
        }
    }
}

/// Entries of a table.
const ENTRIES: usize = 128;

/// Largest multiplier and shift, which have 14 and 2 bits.
const MOST: (u16, u8) = ((1 << 14) - 1, 3);

impl InfiniBand {
    /// The table: multiplier and shift by index.
    fn table(&self) -> Vec<(u64, u32)> {
        let shift = |index: usize| self.shifts.get(index).copied().unwrap_or(0).into();
        let entry = |index: usize| match self.multipliers.len() {
            0 => (index as u64, 0),
            count => (self.multipliers[index.min(count - 1)].into(), shift(index.min(count - 1))),
        };
        (0..ENTRIES).map(entry).collect()
    }
}

impl CongestionParams for InfiniBand {
    fn notifications(&self) -> Option<Notifications> {
        Some(Notifications { phits: self.notification, channels: self.channels, by_head: false, beside: false })
    }

    fn check(&self) -> Result<(), ScenarioError> {
        if self.ccti_min >= self.ccti_limit {
            let expected = format!("expected less than `ccti_limit` = {}", self.ccti_limit);
            return Err(ScenarioError::new("ccti_min", self.ccti_min, expected));
        }
        let (multipliers, shifts) = (self.multipliers.len(), self.shifts.len());
        if shifts > 0 && shifts != multipliers {
            let expected = format!("expected one for each of the {multipliers} multipliers, or none");
            return Err(ScenarioError::new("shifts", format!("{shifts} shifts"), expected));
        }
        if let Some(large) = self.multipliers.iter().find(|multiplier| **multiplier > MOST.0) {
            return Err(ScenarioError::new("multipliers", large, format!("expected at most {}", MOST.0)));
        }
        if let Some(large) = self.shifts.iter().find(|shift| **shift > MOST.1) {
            return Err(ScenarioError::new("shifts", large, format!("expected at most {}", MOST.1)));
        }
        Ok(())
    }

    fn build(&self, context: &CongestionContext) -> Option<Box<dyn Congestion>> {
        Some(Box::new(Rule::new(self.clone(), context)))
    }
}

/// An index into the table, and the last packet that it has governed.
#[derive(Debug, Clone, Copy)]
struct Index {
    /// Its value at tick `since`.
    value: u8,
    since: Tick,
    start: Tick,
    end: Tick,
}

impl Index {
    fn fresh(value: u8) -> Self {
        Self { value, since: 0, start: 0, end: 0 }
    }
}

struct Rule {
    table: Vec<(u64, u32)>,
    /// Least phits of a backlog that congests an output; `None` if nothing does.
    congested: Option<u32>,
    /// Unmarked packets since the last marked packet, by output.
    unmarked: Vec<u16>,
    /// Ticks of the timer's period.
    timer: Tick,
    indices: Vec<Index>,
    /// Place of its index, by flow.
    flows: Vec<u32>,
    params: InfiniBand,
}

impl Rule {
    fn new(params: InfiniBand, context: &CongestionContext) -> Self {
        let share = u64::from(context.buffer) * u64::from(16 - params.threshold) / 16;
        let shared = if params.index_of == IndexOf::ServiceLevel { context.endpoints } else { 0 };
        Self {
            table: params.table(),
            congested: (params.threshold > 0).then_some(share as u32 + 1),
            // The first packet of an output is marked.
            unmarked: vec![params.marking_rate; context.outputs as usize],
            timer: params.ccti_timer.saturating_mul(context.ticks_per_cycle),
            indices: vec![Index::fresh(params.ccti_min); shared as usize],
            flows: Vec::new(),
            params,
        }
    }

    /// The index of `flow` at tick `now`: it has fallen at every multiple of the timer's period.
    fn index(&mut self, flow: u32, now: Tick) -> &mut Index {
        let (timer, least) = (self.timer, self.params.ccti_min);
        let index = &mut self.indices[self.flows[flow as usize] as usize];
        let ended = now / timer - index.since / timer;
        index.value = index.value.saturating_sub(ended.min(255) as u8).max(least);
        index.since = now;
        index
    }
}

impl Congestion for Rule {
    fn leaves(&mut self, at: &Leaving) -> bool {
        let InfiniBand { packet_size, marking_rate, victim_mask, .. } = self.params;
        let masked = match victim_mask {
            VictimMask::None => false,
            VictimMask::Endpoints => at.class == 0,
            VictimMask::All => true,
        };
        let congested = self.congested.is_some_and(|least| at.backlog >= least);
        if !congested || !(at.has_room || masked) || u32::from(at.phits) < packet_size {
            return false;
        }
        let unmarked = &mut self.unmarked[at.output as usize];
        let marks = *unmarked >= marking_rate;
        *unmarked = if marks { 0 } else { *unmarked + 1 };
        marks
    }

    fn received(&mut self, _endpoint: u32, packet: &Packet, _now: Tick) -> bool {
        packet.is_marked()
    }

    fn begins(&mut self, _flow: u32, endpoint: u32) {
        let index = match self.params.index_of {
            IndexOf::ServiceLevel => endpoint,
            IndexOf::QueuePair => {
                self.indices.push(Index::fresh(self.params.ccti_min));
                self.indices.len() as u32 - 1
            }
        };
        self.flows.push(index);
    }

    fn notified(&mut self, flow: u32, now: Tick) {
        let InfiniBand { ccti_increase, ccti_limit, .. } = self.params;
        let index = self.index(flow, now);
        index.value = index.value.saturating_add(ccti_increase).min(ccti_limit);
    }

    fn sent(&mut self, flow: u32, _phits: u16, start: Tick, end: Tick) {
        let index = &mut self.indices[self.flows[flow as usize] as usize];
        (index.start, index.end) = (start, end);
    }

    fn ready(&mut self, flow: u32, now: Tick) -> Tick {
        let least = self.params.ccti_min;
        let &mut Index { value, start, end, .. } = self.index(flow, now);
        let (multiplier, shift) = self.table[usize::from(value)];
        let pause = (u64::from(end - start) * multiplier) >> shift;
        let allowed = (u64::from(end) + pause).min(Tick::MAX.into()) as Tick;
        // The index falls at the end of the timer's period.
        let falls = (now / self.timer).saturating_add(1).saturating_mul(self.timer);
        if value > least { allowed.min(falls) } else { allowed }
    }

    fn bytes(&self) -> usize {
        self.table.capacity() * size_of::<(u64, u32)>()
            + self.unmarked.capacity() * 2
            + self.indices.capacity() * size_of::<Index>()
            + self.flows.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(params: InfiniBand) -> Rule {
        let context = CongestionContext {
            outputs: 1,
            endpoints: 2,
            buffer: 160,
            ticks_per_cycle: 1,
            rates: vec![1.0; 2],
            seed: 1,
        };
        let mut rule = Rule::new(params, &context);
        rule.begins(0, 0);
        rule.begins(1, 0);
        rule.begins(2, 1);
        rule
    }

    fn leaves(rule: &mut Rule, backlog: u32, size: u16, class: u8, has_room: bool) -> bool {
        let packet = Packet { size, ..Packet::new(0, 1) };
        rule.leaves(&Leaving {
            output: 0,
            router: 0,
            port: 0,
            class,
            phits: packet.size,
            backlog,
            outstanding: 0,
            has_room,
        })
    }

    #[test]
    fn thresholds_are_sixteenths_of_a_buffer() {
        for (threshold, last) in [(15, 10), (8, 80), (1, 150)] {
            let mut rule = rule(InfiniBand { threshold, ..InfiniBand::default() });
            assert_eq!([last, last + 1].map(|backlog| leaves(&mut rule, backlog, 1, 1, true)), [false, true]);
        }
        assert!(!leaves(&mut rule(InfiniBand { threshold: 0, ..InfiniBand::default() }), u32::MAX, 1, 1, true));
    }

    #[test]
    fn one_of_a_number_of_large_packets_is_marked() {
        let mut rule = rule(InfiniBand { marking_rate: 2, packet_size: 8, ..InfiniBand::default() });
        let marks: Vec<bool> = (0..7).map(|_| leaves(&mut rule, 100, 8, 1, true)).collect();
        assert_eq!(marks, [true, false, false, true, false, false, true]);
        assert!((0..9).all(|_| !leaves(&mut rule, 100, 7, 1, true)));
    }

    #[test]
    fn outputs_without_credits_mark_where_the_mask_has_them() {
        for (victim_mask, marks) in
            [(VictimMask::None, [false, false]), (VictimMask::Endpoints, [true, false]), (VictimMask::All, [true; 2])]
        {
            let mut rule = rule(InfiniBand { victim_mask, ..InfiniBand::default() });
            assert_eq!([0, 1].map(|class| leaves(&mut rule, 100, 1, class, false)), marks);
        }
    }

    #[test]
    fn indices_rise_by_notifications_and_fall_by_the_timer() {
        let params =
            InfiniBand { ccti_increase: 4, ccti_limit: 10, ccti_min: 2, ccti_timer: 100, ..InfiniBand::default() };
        let mut rule = rule(params);
        let mut values = Vec::new();
        for now in [10, 20, 30] {
            rule.notified(0, now);
            values.push(rule.index(0, now).value);
        }
        assert_eq!(values, [6, 10, 10]);
        assert_eq!([99, 100, 250, 799, 800, 2000].map(|now| rule.index(0, now).value), [10, 9, 8, 3, 2, 2]);
    }

    /// A packet of 8 cycles at entry 3 / 2^1 is followed by 12 cycles; at the last entry, 5, by 40.
    #[test]
    fn a_pause_is_the_time_of_the_packet_times_the_entry() {
        let params = InfiniBand {
            multipliers: vec![0, 3, 5],
            shifts: vec![0, 1, 0],
            ccti_timer: 10_000,
            ..InfiniBand::default()
        };
        let mut rule = rule(params);
        rule.sent(0, 8, 100, 108);
        let mut pauses = vec![rule.ready(0, 108) - 108];
        for _ in 0..4 {
            rule.notified(0, 108);
            pauses.push(rule.ready(0, 108) - 108);
        }
        assert_eq!(pauses, [0, 12, 40, 40, 40]);
        assert_eq!(rule.ready(1, 108), 0, "another queue pair");
    }

    #[test]
    fn all_flows_of_a_service_level_share_an_index() {
        let params = InfiniBand { index_of: IndexOf::ServiceLevel, ..InfiniBand::default() };
        let mut rule = rule(params);
        rule.notified(0, 108);
        rule.sent(1, 8, 100, 108);
        assert_eq!([0, 1, 2].map(|flow| rule.ready(flow, 108)), [116, 116, 0]);
    }
}
