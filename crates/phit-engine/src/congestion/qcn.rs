//! Quantized congestion notification: congestion points that sample, reaction points that limit rates.

use super::pace::Pace;
use super::{Congestion, CongestionContext, CongestionParams, Leaving, NotificationChannels, Notifications};
use crate::engine::{Rng, Tick};
use crate::error::ScenarioError;
use crate::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quantized congestion notification, QCN (IEEE 802.1Qau-2010, now in IEEE 802.1Q, clauses 30 to 33).
///
/// Every output is a *congestion point*, whose queue is its backlog. It samples one packet in about `sample_base`
/// phits. With q for the backlog and q' for the backlog at the sample before, its feedback is
/// Fb = -(q - `set_point`) - `weight` * (q - q'). If Fb is negative, the switch sends the source a notification with
/// |Fb| in six bits: 63 stands for (1 + 2 `weight`) * `set_point` and more. After a sample with the quantized feedback
/// f, the next sample follows after `sample_base` / (1 + f / 8) phits, the quotient f / 8 rounded down. A random factor
/// between 0.85 and 1.15 keeps congestion points apart.
///
/// Every flow, which is all packets from one source to one destination, has a *reaction point* with a current and a
/// target rate. A notification f makes the current rate the target, unless no phits have been counted since the
/// notification before. It lowers the current rate by the share f * `gain`, but to no less than the share
/// `min_decrease_factor`. Then the rate rises after every `byte_reset` phits and every `time_reset` cycles. In the
/// first `threshold` - 1 stages of both counts it goes half the way to the target (fast recovery). When one of the
/// counts has reached `threshold`, the target also rises by `active_increase`. When both have, it rises by a growing
/// multiple of `hyper_increase`, in half the phits and half the time.
///
/// The standard gives the defaults for links of 10 Gb/s. Here a cycle is 6.4 ns and a phit 8 bytes. On faster
/// links use the standard's times and sizes divided, or multiplied, by the ratio of the rates: rates here are shares of
/// the link. The standard also varies `byte_reset` and `time_reset` at random, and samples a packet when it enters the
/// queue. Here a packet is sampled when it leaves, since its output is not known before.
///
/// ```toml
/// [congestion]
/// kind = "qcn"
/// set_point = "26 kB"
/// sample_base = "150 kB"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Qcn {
    /// Backlog at which an output should stay (`cpQSp`, 26 kB).
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub set_point: u32,
    /// Weight of the backlog's change (`cpW`).
    #[schemars(range(min = 0, max = 1024))]
    pub weight: f64,
    /// Phits that leave an output between two samples, if it is not congested (`cpSampleBase`, 150 kB).
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub sample_base: u32,
    /// Share of the rate that a feedback of 1 takes away (`rpgGd`).
    #[schemars(range(min = 0, max = 1))]
    pub gain: f64,
    /// Smallest factor by which a notification changes a rate (`rpgMinDecFac`).
    #[schemars(range(min = 0, max = 1))]
    pub min_decrease_factor: f64,
    /// Phits of a flow after which its rate rises (`rpgByteReset`, 150 kB).
    #[schemars(range(min = 2))]
    #[schemars(extend("x-unit" = "phits"))]
    pub byte_reset: u32,
    /// Time after which a rate rises (`rpgTimeReset`, 15 ms).
    #[schemars(range(min = 2, max = 100_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub time_reset: u32,
    /// Stage from which on the target rises (`rpgThreshold`).
    #[schemars(range(min = 1, max = 100))]
    pub threshold: u32,
    /// Rise of the target in active increase, as a share of the rate of the endpoint's link (`rpgAiRate`, 5 Mb/s).
    #[schemars(range(min = 0, max = 1))]
    pub active_increase: f64,
    /// Rise of the target in hyper-active increase, likewise (`rpgHaiRate`, 50 Mb/s).
    #[schemars(range(min = 0, max = 1))]
    pub hyper_increase: f64,
    /// Smallest rate, likewise, at least 0.000001 (`rpgMinRate`, 10 Mb/s).
    #[schemars(range(min = 0, max = 1))]
    pub minimum: f64,
    /// Size of a notification. The default is the smallest Ethernet frame.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub notification: u16,
}

impl Default for Qcn {
    fn default() -> Self {
        Self {
            set_point: 3250,
            weight: 2.0,
            sample_base: 18_750,
            gain: 1.0 / 128.0,
            min_decrease_factor: 0.5,
            byte_reset: 18_750,
            time_reset: 2_343_750,
            threshold: 5,
            active_increase: 0.0005,
            hyper_increase: 0.005,
            minimum: 0.001,
            notification: 8,
        }
    }
}

/// The largest quantized feedback: all of six bits.
const MOST: f64 = 63.0;

/// Least and greatest random factor of a sampling interval.
const JITTER: (f64, f64) = (0.85, 1.15);

impl CongestionParams for Qcn {
    fn notifications(&self) -> Option<Notifications> {
        Some(Notifications {
            phits: self.notification,
            channels: NotificationChannels::Shared,
            by_head: false,
            beside: false,
        })
    }

    fn routers_notify(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), ScenarioError> {
        // A smaller rate would need a time beyond the end of any run for a packet.
        if self.minimum < 1e-6 {
            return Err(ScenarioError::new("minimum", self.minimum, "expected at least 0.000001"));
        }
        Ok(())
    }

    fn build(&self, context: &CongestionContext) -> Option<Box<dyn Congestion>> {
        Some(Box::new(Rule::new(self.clone(), context)))
    }
}

impl Qcn {
    /// The quantized feedback of a congestion point: 0 if it need not notify.
    fn quantized(&self, backlog: u32, before: u32) -> u8 {
        let offset = f64::from(self.set_point) - f64::from(backlog);
        let delta = f64::from(backlog) - f64::from(before);
        let feedback = offset - self.weight * delta;
        let most = f64::from(self.set_point) * (1.0 + 2.0 * self.weight);
        if feedback >= 0.0 { 0 } else { ((-feedback).min(most) * MOST / most) as u8 }
    }

    /// Phits between a sample with the given quantized feedback and the next, before the random factor.
    fn interval(&self, quantized: u8) -> f64 {
        f64::from(self.sample_base) / f64::from(1 + quantized / 8)
    }
}

/// An output (congestion point).
#[derive(Debug)]
struct Point {
    rng: Rng,
    /// Backlog at the last sample.
    before: u32,
    /// Phits until the next sample.
    left: f64,
}

/// A reaction point counts phits, and time, up to its next rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Phits,
    Time,
}

/// The rate of a flow (reaction point).
#[derive(Debug, Clone)]
struct Reaction {
    /// Phits per tick of the endpoint's link.
    line: f64,
    /// Current and target rate, in phits per tick. The flow is not limited while the current rate is the link's.
    current: f64,
    target: f64,
    /// Rises since the last notification, by phits and by time.
    stages: [u32; 2],
    /// Phits until the next rise by phits.
    phits: i64,
    /// Tick of the next rise by time.
    rises: Tick,
    pace: Pace,
}

/// The rate from which on a flow is not limited, as a share of its link's.
const FULL: f64 = 0.99999;

impl Reaction {
    fn is_limited(&self) -> bool {
        self.current < self.line
    }

    /// A notification has come in tick `now`.
    fn falls(&mut self, feedback: u8, now: Tick, params: &Qcn, time_reset: Tick) {
        if !self.is_limited() || self.stages[Count::Phits as usize] > 0 {
            self.target = self.current;
            self.phits = params.byte_reset.into();
        }
        self.stages = [0, 0];
        self.rises = now.saturating_add(time_reset);
        let factor = (1.0 - params.gain * f64::from(feedback)).max(params.min_decrease_factor);
        self.current = (self.current * factor).max(params.minimum * self.line);
    }

    /// One of the counts is complete: the rate rises by a stage.
    fn rises(&mut self, by: Count, params: &Qcn, time_reset: Tick) {
        self.stages[by as usize] += 1;
        let (most, least) = (self.stages[0].max(self.stages[1]), self.stages[0].min(self.stages[1]));
        let hyper = least >= params.threshold;
        let shorter = if hyper { 2 } else { 1 };
        match by {
            Count::Phits => self.phits += i64::from(params.byte_reset / shorter),
            Count::Time => self.rises = self.rises.saturating_add(time_reset / shorter),
        }
        let increase = match () {
            () if hyper => f64::from(least - params.threshold + 1) * params.hyper_increase,
            () if most >= params.threshold => params.active_increase,
            () => 0.0,
        };
        let first = self.stages.contains(&1);
        match first && self.target > 10.0 * self.current {
            true => self.target /= 8.0,
            false => self.target = (self.target + increase * self.line).min(self.line),
        }
        self.current = (self.current + self.target) / 2.0;
        if self.current >= FULL * self.line {
            self.current = self.line;
        }
    }
}

struct Rule {
    params: Qcn,
    seed: u64,
    time_reset: Tick,
    /// Phits per tick of the links of endpoints.
    rates: Vec<f64>,
    /// Outputs, from their first packet on.
    points: Vec<Option<Point>>,
    flows: Vec<Reaction>,
}

impl Rule {
    fn new(params: Qcn, context: &CongestionContext) -> Self {
        Self {
            seed: context.seed,
            time_reset: params.time_reset.saturating_mul(context.ticks_per_cycle),
            rates: context.rates.clone(),
            points: (0..context.outputs).map(|_| None).collect(),
            flows: Vec::new(),
            params,
        }
    }

    /// The reaction point of `flow` at tick `now`, after everything that its timer has done.
    fn at(&mut self, flow: u32, now: Tick) -> &mut Reaction {
        let reaction = &mut self.flows[flow as usize];
        while reaction.is_limited() && reaction.rises <= now {
            reaction.rises(Count::Time, &self.params, self.time_reset);
        }
        reaction
    }
}

/// A random sampling interval around `mean`.
fn around(mean: f64, rng: &mut Rng) -> f64 {
    mean * (JITTER.0 + (JITTER.1 - JITTER.0) * rng.unit())
}

impl Congestion for Rule {
    fn leaves(&mut self, _at: &Leaving) -> bool {
        false
    }

    fn feedback(&mut self, at: &Leaving) -> Option<u8> {
        let (params, key) = (&self.params, self.seed ^ u64::from(at.port) << 48);
        let point = self.points[at.output as usize].get_or_insert_with(|| {
            let mut rng = Rng::keyed(key, at.router);
            Point { before: 0, left: around(params.interval(0), &mut rng), rng }
        });
        point.left -= f64::from(at.phits);
        if point.left > 0.0 {
            return None;
        }
        let quantized = params.quantized(at.backlog, point.before);
        point.before = at.backlog;
        point.left = around(params.interval(quantized), &mut point.rng);
        (quantized > 0).then_some(quantized)
    }

    fn received(&mut self, _endpoint: u32, _packet: &Packet, _now: Tick) -> bool {
        false
    }

    fn begins(&mut self, _flow: u32, endpoint: u32) {
        let line = self.rates[endpoint as usize];
        self.flows.push(Reaction {
            line,
            current: line,
            target: line,
            stages: [0, 0],
            phits: 0,
            rises: Tick::MAX,
            pace: Pace::default(),
        });
    }

    fn notified(&mut self, _flow: u32, _now: Tick) {}

    fn fed_back(&mut self, flow: u32, feedback: u8, now: Tick) {
        self.at(flow, now);
        self.flows[flow as usize].falls(feedback, now, &self.params, self.time_reset);
    }

    fn sent(&mut self, flow: u32, phits: u16, start: Tick, _end: Tick) {
        let reaction = self.at(flow, start);
        reaction.pace.sent(phits, start, reaction.current);
        if reaction.is_limited() {
            reaction.phits -= i64::from(phits);
        }
        let reaction = &mut self.flows[flow as usize];
        while reaction.is_limited() && reaction.phits <= 0 {
            reaction.rises(Count::Phits, &self.params, self.time_reset);
        }
    }

    fn ready(&mut self, flow: u32, now: Tick) -> Tick {
        let reaction = self.at(flow, now);
        match reaction.is_limited() {
            true => reaction.pace.due(reaction.current).min(reaction.rises),
            false => now,
        }
    }

    fn bytes(&self) -> usize {
        self.rates.capacity() * 8
            + self.points.capacity() * size_of::<Option<Point>>()
            + self.flows.capacity() * size_of::<Reaction>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(params: Qcn) -> Rule {
        let context =
            CongestionContext { outputs: 1, endpoints: 1, buffer: 100, ticks_per_cycle: 1, rates: vec![1.0], seed: 1 };
        let mut rule = Rule::new(params, &context);
        rule.begins(0, 0);
        rule
    }

    fn small() -> Qcn {
        Qcn { byte_reset: 1000, time_reset: 100, threshold: 3, active_increase: 0.125, ..Qcn::default() }
    }

    fn leaving(phits: u16, backlog: u32) -> Leaving {
        Leaving { output: 0, router: 3, port: 0, class: 1, phits, backlog, outstanding: 0, has_room: true }
    }

    /// With a set point of 100 and a weight of 2, 63 stands for 500. A backlog of 150 that has not changed gives 50,
    /// which is 6.3. One of 200 that was 150 gives 100 + 2 * 50 = 200, which is 25.2.
    #[test]
    fn feedback_is_the_excess_and_twice_the_growth_in_six_bits() {
        let params = Qcn { set_point: 100, ..Qcn::default() };
        let cases = [
            (150, 150, 6),
            (200, 150, 25),
            (100, 100, 0),
            (107, 107, 0),
            (108, 108, 1),
            (60, 0, 10),
            (150, 200, 0),
            (600, 600, 63),
            (5000, 0, 63),
        ];
        for (backlog, before, quantized) in cases {
            assert_eq!(params.quantized(backlog, before), quantized, "{backlog} after {before}");
        }
    }

    /// The standard's table: 150 kB up to 7, 75 from 8, 50 from 16, 37.5 from 24, 30 from 32, 25 from 40, 21.5 from 48
    /// and 18.5 from 56 on. The last two are rounded there.
    #[test]
    fn intervals_are_those_of_the_standard() {
        let params = Qcn { sample_base: 150_000, ..Qcn::default() };
        for (row, expected) in [150.0, 75.0, 50.0, 37.5, 30.0, 25.0, 21.5, 18.5].into_iter().enumerate() {
            for quantized in [8 * row, 8 * row + 7] {
                let interval = params.interval(quantized as u8) / 1000.0;
                assert!((interval - expected).abs() < 0.26, "{quantized}: {interval} and not {expected}");
            }
        }
    }

    /// Packets of 10 phits, intervals of 1000 phits below the set point and of 125 at the largest feedback: all
    /// samples lie in their random interval. Their mean is the interval, up to half a packet.
    #[test]
    fn an_output_samples_one_packet_in_its_interval() {
        let mut rule = rule(Qcn { set_point: 10, sample_base: 1000, ..Qcn::default() });
        let mut gaps = Vec::new();
        let mut since = 0;
        for _ in 0..50_000 {
            since += 10;
            if rule.feedback(&leaving(10, 10_000)).is_some() {
                gaps.push(f64::from(since));
                since = 0;
            }
        }
        // The first sample comes before any feedback.
        let gaps = &gaps[1..];
        assert!(gaps.iter().all(|gap| (100.0..=150.0).contains(gap)), "{gaps:?}");
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 130.0).abs() < 1.0, "{mean}");
        assert!((0..10_000).all(|_| rule.feedback(&leaving(10, 5)).is_none()), "below the set point");
    }

    /// 32 / 128 is a quarter. Stages 1 and 2 go half the way to the old rate; the target, at the line, cannot rise.
    #[test]
    fn a_rate_falls_by_the_feedback_and_recovers_by_halves() {
        let mut rule = rule(small());
        rule.fed_back(0, 32, 1000);
        let rates: Vec<f64> = [1000, 1099, 1100, 1200].map(|now| rule.at(0, now).current).into();
        assert_eq!(rates, [0.75, 0.75, 0.875, 0.9375]);
        let mut lowest = super::tests::rule(Qcn { gain: 1.0, minimum: 0.25, ..small() });
        (0..3).for_each(|_| lowest.fed_back(0, 63, 0));
        assert_eq!(lowest.flows[0].current, 0.25, "half, and half of it, and no less than the minimum");
    }

    /// A second notification before the first rise by phits keeps the target, one after it does not.
    #[test]
    fn the_target_is_the_rate_before_a_notification_if_phits_have_been_counted() {
        let mut rule = rule(Qcn { time_reset: 1_000_000, ..small() });
        rule.fed_back(0, 64 / 2, 0);
        rule.fed_back(0, 64 / 2, 1);
        assert_eq!((rule.flows[0].target, rule.flows[0].current), (1.0, 0.5625));
        rule.sent(0, 1000, 10, 1010);
        assert_eq!(rule.flows[0].current, 0.78125);
        rule.fed_back(0, 64 / 2, 3000);
        assert_eq!((rule.flows[0].target, rule.flows[0].current), (0.78125, 0.5859375));
    }

    /// From stage 3 on the target rises by 1/8. Both counts at 3 and more: by 1, 2 ... times the step, in half the
    /// time.
    #[test]
    fn active_and_hyper_active_increase_follow_fast_recovery() {
        let params = Qcn { hyper_increase: 0.0625, ..small() };
        let mut reaction = Reaction {
            line: 1.0,
            current: 0.25,
            target: 0.25,
            stages: [0, 0],
            phits: 1000,
            rises: 100,
            pace: Pace::default(),
        };
        let mut targets = Vec::new();
        for by in [Count::Time, Count::Time, Count::Time, Count::Phits, Count::Phits] {
            reaction.rises(by, &params, 100);
            targets.push(reaction.target);
        }
        assert_eq!(targets, [0.25, 0.25, 0.375, 0.5, 0.625]);
        assert_eq!((reaction.rises, reaction.phits), (400, 3000));
        reaction.rises(Count::Phits, &params, 100);
        assert_eq!((reaction.target, reaction.phits), (0.6875, 3500), "once the step");
        reaction.rises(Count::Time, &params, 100);
        assert_eq!((reaction.target, reaction.rises), (0.75, 450), "once the step");
        reaction.rises(Count::Phits, &params, 100);
        assert_eq!(reaction.target, 0.875, "twice the step");
    }

    /// A target of more than ten times the rate falls to an eighth in the first stage.
    #[test]
    fn a_far_target_comes_nearer_in_the_first_stage() {
        let mut rule = rule(Qcn { min_decrease_factor: 0.0, gain: 1.0, minimum: 0.0625, ..small() });
        rule.fed_back(0, 1, 0);
        let reaction = rule.at(0, 100).clone();
        assert_eq!((reaction.target, reaction.current), (0.125, 0.09375));
    }
}
