//! Explicit congestion notification with delays between packets.

use super::reservations::{ControlInjection, is_default};
use super::{
    Congestion, CongestionContext, CongestionParams, DestinationTurns, Leaving, NotificationChannels, Notifications,
};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Explicit congestion notification with inter-packet delays, as built for the comparison in Jiang, Becker,
/// Michelogiannakis and Dally, "Network congestion avoidance through speculative reservation", HPCA 2012.
///
/// An output is congested while the phits that wait for it in the router exceed `threshold`, and it is a root while its
/// virtual channel lacks fewer credits than `root_threshold`. A packet is marked when it leaves through an output that
/// is congested and a root. The destination notifies the source as soon as the head of a marked packet has arrived.
/// Each flow, which is all packets from one source to one destination, has a delay that counts steps of `delay` cycles.
/// A notification adds `increase` steps, up to `limit`. Every `timer` cycles one step is taken away. The head of a
/// packet of the flow is sent this delay after the tail of the packet before, or later.
///
/// The defaults are the settings of that comparison, but for `threshold` and `root_threshold`, which depend on the
/// buffers: the comparison has 500 and 64 with buffers of 512 phits.
///
/// ```toml
/// [congestion]
/// kind = "ecn"
/// threshold = 500
/// root_threshold = 64
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ecn {
    /// An output is congested from this backlog on.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub threshold: u32,
    /// A congested output stays congested down to `threshold` less this, and becomes congested at `threshold` plus
    /// this.
    #[schemars(extend("x-unit" = "phits"))]
    pub hysteresis: u32,
    /// An output is a root while it lacks credits for fewer phits than this.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub root_threshold: u32,
    /// A root stays a root up to `root_threshold` plus this, and becomes a root below `root_threshold` less this.
    #[schemars(extend("x-unit" = "phits"))]
    pub root_hysteresis: u32,
    /// Steps that a notification adds to a flow's delay.
    #[schemars(range(min = 1))]
    pub increase: u32,
    /// True: a notification doubles a delay that is not zero.
    pub doubling: bool,
    /// Most steps of a delay, at most 1000000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: u32,
    /// Length of a step, at most 1000.
    #[schemars(range(min = 1, max = 1000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub delay: u32,
    /// Time after which a delay loses a step.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub timer: u32,
    /// Size of a notification, no more than the largest packet.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub notification: u16,
    /// Virtual channels of notifications.
    pub channels: NotificationChannels,
    /// How an endpoint sends notifications.
    #[serde(skip_serializing_if = "is_default")]
    pub injection: ControlInjection,
    /// The order in which an endpoint sends to its destinations.
    #[serde(skip_serializing_if = "is_default")]
    pub turns: DestinationTurns,
    /// Which time after a tail counts as delay.
    #[serde(skip_serializing_if = "is_default")]
    pub counting: DelayCounting,
}

/// Which time after the tail of a packet counts as delay of the next packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayCounting {
    /// All time. A packet whose flow has been silent for its delay is sent at once.
    #[default]
    SinceTail,
    /// The time in which the flow has a delay (the authors' program). A flow without delay that is notified waits its
    /// whole delay, even if it has been silent for long.
    WhileDelayed,
}

impl Default for Ecn {
    fn default() -> Self {
        Self {
            threshold: 64,
            hysteresis: 0,
            root_threshold: 64,
            root_hysteresis: 8,
            increase: 16,
            doubling: false,
            limit: 640,
            delay: 16,
            timer: 600,
            notification: 1,
            channels: NotificationChannels::Shared,
            injection: ControlInjection::Link,
            turns: DestinationTurns::LongestWaiting,
            counting: DelayCounting::SinceTail,
        }
    }
}

impl CongestionParams for Ecn {
    fn notifications(&self) -> Option<Notifications> {
        let beside = self.injection == ControlInjection::Beside;
        Some(Notifications { phits: self.notification, channels: self.channels, by_head: true, beside })
    }

    fn turns(&self) -> DestinationTurns {
        self.turns
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let pairs = [
            ("hysteresis", self.hysteresis, "threshold", self.threshold),
            ("root_hysteresis", self.root_hysteresis, "root_threshold", self.root_threshold),
        ];
        for (key, value, other, most) in pairs {
            if value >= most {
                return Err(ScenarioError::new(key, value, format!("expected less than `{other}` = {most}")));
            }
        }
        Ok(())
    }

    fn build(&self, context: &CongestionContext) -> Option<Box<dyn Congestion>> {
        let outputs = vec![State::default(); context.outputs as usize];
        Some(Box::new(Rule { params: self.clone(), cycle: context.ticks_per_cycle, outputs, flows: Vec::new() }))
    }
}

/// The state of an output when a packet last left through it.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    congested: bool,
    root: bool,
}

/// The delay of a flow.
#[derive(Debug, Clone, Copy, Default)]
struct Delay {
    /// Steps at tick `since`.
    steps: u32,
    /// Start of the timer's present period.
    since: Tick,
    /// The tick of the last tail, or a later tick from which on the delay of the next head counts.
    tail: Tick,
    /// The tick in which the last delay ended.
    ended: Tick,
}

struct Rule {
    params: Ecn,
    /// Ticks of a cycle.
    cycle: Tick,
    outputs: Vec<State>,
    flows: Vec<Delay>,
}

impl Rule {
    /// The delay of `flow` at tick `now`, after all periods of the timer that have ended.
    fn at(&mut self, flow: u32, now: Tick) -> &mut Delay {
        let timer = self.params.timer * self.cycle;
        let delay = &mut self.flows[flow as usize];
        let ended = (now - delay.since) / timer;
        if (1..=ended).contains(&delay.steps) {
            delay.ended = delay.since + delay.steps * timer;
        }
        delay.steps = delay.steps.saturating_sub(ended);
        delay.since += ended * timer;
        delay
    }
}

impl Congestion for Rule {
    fn leaves(&mut self, at: &Leaving) -> bool {
        let Ecn { threshold, hysteresis, root_threshold, root_hysteresis, .. } = self.params;
        let state = &mut self.outputs[at.output as usize];
        let onset = if state.congested { threshold - hysteresis } else { threshold + hysteresis };
        state.congested = at.backlog >= onset;
        let end = if state.root { root_threshold + root_hysteresis } else { root_threshold - root_hysteresis };
        state.root = at.outstanding < end;
        state.congested && state.root
    }

    fn received(&mut self, _endpoint: u32, packet: &Packet, _now: Tick) -> bool {
        packet.is_marked()
    }

    fn begins(&mut self, _flow: u32, _endpoint: u32) {
        self.flows.push(Delay::default());
    }

    fn notified(&mut self, flow: u32, now: Tick) {
        let Ecn { increase, doubling, limit, counting, .. } = self.params;
        let delay = self.at(flow, now);
        if delay.steps == 0 {
            // The timer rests while there is no delay.
            delay.since = now;
            if counting == DelayCounting::WhileDelayed {
                delay.tail += now.saturating_sub(delay.tail.max(delay.ended));
            }
        }
        let added = if doubling && delay.steps > 0 { delay.steps } else { increase };
        delay.steps = delay.steps.saturating_add(added).min(limit);
    }

    fn sent(&mut self, flow: u32, _phits: u16, _start: Tick, end: Tick) {
        self.flows[flow as usize].tail = end.saturating_sub(self.cycle);
    }

    fn ready(&mut self, flow: u32, now: Tick) -> Tick {
        let (step, timer) = (self.params.delay * self.cycle, self.params.timer * self.cycle);
        let &mut Delay { steps, since, tail, .. } = self.at(flow, now);
        match steps {
            0 => now,
            _ => tail.saturating_add(steps.saturating_mul(step)).min(since + timer),
        }
    }

    fn bytes(&self) -> usize {
        self.outputs.capacity() * size_of::<State>() + self.flows.capacity() * size_of::<Delay>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(params: Ecn) -> Rule {
        let outputs = vec![State::default(); 1];
        let mut rule = Rule { params, cycle: 1, outputs, flows: Vec::new() };
        rule.begins(0, 0);
        rule
    }

    /// The notifications and the steps of the delay at source 0, in cycles of BookSim's branch `hotspot_reservation`
    /// with two sources, packets of 32 flits and the parameters below.
    #[test]
    fn delays_rise_and_decay_in_the_cycles_of_the_authors_simulator() {
        let mut rule = rule(Ecn { increase: 2, limit: 6, timer: 200, ..Ecn::default() });
        for (cycle, steps) in [(145, 2), (209, 4), (273, 6)] {
            rule.notified(0, cycle);
            assert_eq!(rule.flows[0].steps, steps, "cycle {cycle}");
        }
        for (cycle, steps) in [(345, 5), (545, 4), (745, 3), (945, 2), (1145, 1), (1345, 0)] {
            assert_eq!(rule.at(0, cycle - 1).steps, steps + 1, "before cycle {cycle}");
            assert_eq!(rule.at(0, cycle).steps, steps, "cycle {cycle}");
        }
        // The next period begins with the next notification.
        rule.notified(0, 1481);
        assert_eq!((rule.at(0, 1680).steps, rule.at(0, 1681).steps), (2, 1));
    }

    /// "Tail 159, head 191" with a delay of 2 steps of 16 cycles; a packet each 111 cycles with 5 steps.
    #[test]
    fn a_head_follows_the_tail_before_it_after_the_delay() {
        let mut rule = rule(Ecn { increase: 2, timer: 600, ..Ecn::default() });
        rule.notified(0, 130);
        rule.sent(0, 32, 128, 160);
        assert_eq!(rule.ready(0, 160), 191);
        let mut rule = super::tests::rule(Ecn { increase: 5, timer: 1_000_000, ..Ecn::default() });
        rule.notified(0, 0);
        rule.sent(0, 32, 0, 32);
        assert_eq!(rule.ready(0, 32), 111);
    }

    /// A notification long after the last tail: the flow waits from then on, or not at all. Time without delay does not
    /// count.
    #[test]
    fn a_silent_flow_waits_only_if_time_without_delay_does_not_count() {
        for (counting, first, second) in
            [(DelayCounting::SinceTail, 219, 219), (DelayCounting::WhileDelayed, 1020, 2020)]
        {
            let mut rule = rule(Ecn { increase: 2, timer: 20, delay: 30, counting, ..Ecn::default() });
            rule.sent(0, 32, 128, 160);
            rule.notified(0, 1000);
            assert_eq!(rule.ready(0, 1000), first, "{counting:?}");
            assert_eq!(rule.ready(0, 1040), 1040, "{counting:?}: the delay is over");
            // 40 cycles with a delay have passed since the tail.
            rule.notified(0, 2000);
            assert_eq!(rule.ready(0, 2000), second, "{counting:?}");
        }
    }

    #[test]
    fn a_delay_that_doubles_begins_with_the_increase() {
        let mut rule = rule(Ecn { increase: 3, doubling: true, limit: 20, ..Ecn::default() });
        let steps: Vec<u32> = (0..5)
            .map(|cycle| {
                rule.notified(0, cycle);
                rule.flows[0].steps
            })
            .collect();
        assert_eq!(steps, [3, 6, 12, 20, 20]);
    }

    #[test]
    fn hysteresis_keeps_the_state_of_an_output() {
        let mut rule =
            rule(Ecn { threshold: 100, hysteresis: 10, root_threshold: 50, root_hysteresis: 5, ..Ecn::default() });
        let packet = Packet::new(0, 1);
        let mut leaves = |backlog, outstanding| {
            let at = Leaving {
                output: 0,
                router: 0,
                port: 0,
                class: 1,
                phits: packet.size,
                backlog,
                outstanding,
                has_room: true,
            };
            rule.leaves(&at)
        };
        let seen = [(105, 0), (110, 0), (95, 54), (90, 55), (200, 46), (200, 44), (89, 0), (109, 0), (110, 0)];
        let marks = seen.map(|(backlog, outstanding)| leaves(backlog, outstanding));
        assert_eq!(marks, [false, true, true, false, false, true, false, false, true]);
    }
}
