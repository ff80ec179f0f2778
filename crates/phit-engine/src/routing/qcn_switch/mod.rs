//! QCN-Switch: minimal routing that is left with a probability for each output, which congestion notifications lower.

mod ports;
mod rule;
mod sampling;
#[cfg(test)]
mod tests;

use super::{Routing, RoutingContext, RoutingParams, exits};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::measure::Observable;
use crate::topology::{Leg, Topology};
use rule::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The queue that a congestion point samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// All virtual channels of an input port.
    #[default]
    Input,
    /// All virtual channels of an input port, where a packet counts until a latency of the link has passed since it
    /// left: as long as the sender, too, counts it. This is what FOGSim sees a latency earlier, since its buffers hold
    /// packets from the start of their transmission. A link in use has a long queue even if no packet waits.
    InputAndLink,
    /// The output buffer of a port. A router that is the source's own changes its probability without a notification.
    Output,
}

/// How a probability changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// By a difference.
    Sum,
    /// By a factor.
    Product,
}

/// What a notification does whose feedback is not above that of other ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Below {
    /// It changes nothing.
    #[default]
    Keep,
    /// It raises the probability by a step of recovery (as FOGSim).
    Raise,
}

/// Feedback is compared with the mean over the ports of the router to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Comparison {
    /// A notification whose feedback exceeds the mean by no more than this is treated as `below` says.
    #[schemars(range(max = 63))]
    pub keep: u8,
    /// A notification lowers the probability if its feedback exceeds the mean by more than this. At least `keep`.
    #[schemars(range(max = 63))]
    pub lower: u8,
    /// What a notification does whose feedback is not above that of other ports.
    pub below: Below,
    /// Cycles for which the latest feedback of a port counts in the mean; 0: for ever (as FOGSim).
    #[schemars(extend("x-unit" = "cycles"))]
    pub memory: u32,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { keep: 0, lower: 0, below: Below::Keep, memory: 1000 }
    }
}

/// QCN-Switch: every output has a probability of routing minimally, which congestion notifications lower (Benito,
/// Fuentes, Vallejo and Beivide, "Non-minimal adaptive routing based on explicit congestion notifications", CCPE 31(2),
/// 2019; details as in FOGSim, version 5).
///
/// Each port to another router is a *congestion point*. It samples its queue after `sample_base` cycles, less one for
/// each packet that has come over its link. With q for the queue and q' for the queue at the sample before, the
/// feedback is (q - `set_point`) + `weight` * (q - q'), in six bits: 63 stands for (1 + 2 `weight`) * `set_point` and
/// more. If it is positive, the router notifies, with probability `notify`, the source of a random packet of the queue.
///
/// The notification goes minimally to the source's router and ends at the source. It takes the time of links and
/// routers. It goes before data and waits in no queue of data. In the source's router it lowers the probability of the
/// port by which it has come, which leads to the congested port. The probability rises by a step for every `recovery`
/// phits that leave through the port.
///
/// A packet to another group leaves its minimal route with the probability 1 - P when it comes to the front of its
/// injection queue, where P is that of its minimal output. The detour is that of `min_cond`: over link number j of the
/// router for the packets of port j. Fits topologies in which links join groups of routers, or routers, directly. Where
/// several minimal links lead to a group, notifications come back by any of them.
///
/// Virtual channels rise along a route. A Dragonfly needs 3 local and 2 global ones. A step of every cycle visits all
/// routers.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [router]
/// output_buffer = 32
///
/// [routing]
/// kind = "qcn_switch"
/// point = "output"
/// set_point = 20
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QcnSwitch {
    /// The queue that is sampled.
    pub point: Point,
    /// Phits at which a queue should stay.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub set_point: u32,
    /// Weight of the queue's change.
    #[schemars(range(min = 0, max = 1024))]
    pub weight: f64,
    /// Cycles and packets between two samples.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub sample_base: u32,
    /// Probability that a sample with positive feedback makes a notification.
    #[schemars(range(min = 0, max = 1))]
    pub notify: f64,
    /// A router that notifies a packet's source also lowers its own probability towards the destination, if that is in
    /// another group.
    pub own: bool,
    /// How a notification lowers a probability P: to P * (1 - `gain` * feedback), or to P - `gain` * feedback.
    pub decrease_by: Change,
    /// Decrease for each unit of the feedback.
    #[schemars(range(min = 0, max = 1))]
    pub gain: f64,
    /// How recovery raises a probability P: to P + `increase`, or to P * `increase`.
    pub increase_by: Change,
    /// A step of recovery: up to 1 for a sum, at least 1 for a product.
    #[schemars(range(min = 0, max = 100))]
    pub increase: f64,
    /// Phits through a port for each step of recovery.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub recovery: u32,
    /// Smallest probability.
    #[schemars(range(min = 0, max = 1))]
    pub minimum: f64,
    /// Feedback is compared with that of other ports before it changes a probability. Left out: all of it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<Comparison>,
    /// Probabilities are rounded down to whole percent when a packet is routed (as FOGSim).
    pub whole_percent: bool,
    /// Size of a notification.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub notification: u16,
}

impl Default for QcnSwitch {
    fn default() -> Self {
        Self {
            point: Point::Input,
            set_point: 80,
            weight: 0.5,
            sample_base: 50,
            notify: 1.0,
            own: false,
            decrease_by: Change::Product,
            gain: 1.0 / 128.0,
            increase_by: Change::Sum,
            increase: 0.01,
            recovery: 800,
            minimum: 0.01,
            compare: None,
            whole_percent: false,
            notification: 8,
        }
    }
}

/// The largest feedback: all of six bits.
const MOST: f64 = 63.0;

/// Observable: the probabilities of outputs.
const PROBABILITY: Observable = Observable {
    name: "minimal_probability",
    words: "probability of routing minimally",
    unit: "percent",
    about: "The probability with which a packet for an output to another router is routed minimally, in percent.",
};

impl RoutingParams for QcnSwitch {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        exits::check("qcn_switch", topology)?;
        let expected = match self.increase_by {
            Change::Sum if self.increase > 1.0 => "expected 1 or less, with increase_by = \"sum\"",
            Change::Product if self.increase < 1.0 => "expected 1 or more, with increase_by = \"product\"",
            _ => return self.check_comparison(),
        };
        Err(ScenarioError::new("increase", self.increase, expected))
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(Leg { index: 0, of: 2, to_group: true })
    }
    fn proof(&self) -> Proof {
        Proof::legs_or_direct(Legs::ToGroup)
    }
    fn reads_buffers(&self) -> bool {
        false
    }
    fn sends_messages(&self) -> bool {
        true
    }
    fn samples_output_buffers(&self) -> bool {
        self.point == Point::Output
    }
    fn observables(&self) -> &'static [Observable] {
        &[PROBABILITY]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule::new(self, context))
    }
}

impl QcnSwitch {
    fn check_comparison(&self) -> Result<(), ScenarioError> {
        let Some(Comparison { keep, lower, .. }) = self.compare else { return Ok(()) };
        match lower < keep {
            true => Err(ScenarioError::new("compare.lower", lower, format!("expected at least keep, {keep}"))),
            false => Ok(()),
        }
    }

    /// The feedback of a queue of `phits` which was `before` at the last sample; 0 if there is nothing to notify.
    fn feedback(&self, phits: u32, before: u32) -> u8 {
        let (q, before, set_point) = (f64::from(phits), f64::from(before), f64::from(self.set_point));
        let most = set_point * (1.0 + 2.0 * self.weight);
        let feedback = ((q - set_point) + self.weight * (q - before)).trunc().clamp(0.0, most);
        (feedback * MOST / most) as u8
    }

    fn raised(&self, probability: f64) -> f64 {
        let raised = match self.increase_by {
            Change::Sum => probability + self.increase,
            Change::Product => probability * self.increase,
        };
        raised.min(1.0)
    }

    fn lowered(&self, probability: f64, feedback: f64) -> f64 {
        let lowered = match self.decrease_by {
            Change::Sum => probability - self.gain * feedback,
            Change::Product => probability * (1.0 - self.gain * feedback),
        };
        lowered.max(self.minimum)
    }
}
