//! DCQCN: rates of flows that fall by notifications and rise by timers and bytes.

use super::pace::Pace;
use super::{Congestion, CongestionContext, CongestionParams, Leaving, NotificationChannels, Notifications};
use crate::engine::{Rng, Tick};
use crate::error::ScenarioError;
use crate::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// DCQCN (Zhu, Eran, Firestone, Guo, Lipshteyn, Liron, Padhye, Raindel, Yahia and Zhang, "Congestion control for
/// large-scale RDMA deployments", SIGCOMM 2015), over the flow control of the links.
///
/// An output marks packets at random: none up to a backlog of `kmin`, a share of `pmax` at `kmax`, linearly in between,
/// and all packets beyond `kmax`. The destination sends a notification (CNP) for a marked packet, at most one in
/// `notification_interval` cycles for each flow. A flow is all packets from one source to one destination.
///
/// A flow has a current rate, a target rate and a value alpha. A notification makes the current rate the target,
/// lowers the current rate by the share alpha / 2, and moves alpha towards 1 by the share `gain`. Every `alpha_timer`
/// cycles without a notification alpha falls by the share `gain`. The rate rises after every `increase_timer` cycles
/// and after every `increase_phits` phits. In the first `fast_recovery` rises since the notification, it goes half the
/// way to the target (fast recovery). Then the target also rises by `additive` (additive increase), and when timer and
/// phits have both had more rises than `fast_recovery`, by a growing multiple of `hyper` (hyper increase).
///
/// The defaults are those of the paper at 40 Gb/s with cycles of 1.6 ns and phits of 8 bytes. Zhu, Ghobadi, Misra and
/// Padhye, "ECN or delay", CoNEXT 2016, have them as a table.
///
/// ```toml
/// [congestion]
/// kind = "dcqcn"
/// kmin = "5 kB"
/// kmax = "200 kB"
/// pmax = 0.01
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dcqcn {
    /// Largest backlog of which no packet is marked.
    #[schemars(extend("x-unit" = "phits"))]
    pub kmin: u32,
    /// Smallest backlog of which every packet is marked, more than `kmin`.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub kmax: u32,
    /// Share of the packets that are marked just below `kmax`.
    #[schemars(range(min = 0, max = 1))]
    pub pmax: f64,
    /// Least time between two notifications about one flow.
    #[schemars(range(max = 100_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub notification_interval: u32,
    /// Share by which alpha moves.
    #[schemars(range(min = 0, max = 1))]
    pub gain: f64,
    /// Time without a notification after which alpha falls.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub alpha_timer: u32,
    /// Time after which the rate rises.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub increase_timer: u32,
    /// Phits of a flow after which its rate rises.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub increase_phits: u32,
    /// Rises of fast recovery: while both counts of rises since the last notification are no larger.
    #[schemars(range(min = 1, max = 100))]
    pub fast_recovery: u32,
    /// Rise of the target in additive increase, as a share of the rate of the endpoint's link.
    #[schemars(range(min = 0, max = 1))]
    pub additive: f64,
    /// Rise of the target in hyper increase, as a share of the rate of the endpoint's link.
    #[schemars(range(min = 0, max = 1))]
    pub hyper: f64,
    /// Smallest rate, as a share of the rate of the endpoint's link; more than 0.
    #[schemars(range(min = 0, max = 1))]
    pub minimum: f64,
    /// Size of a notification, no more than the largest packet.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub notification: u16,
    /// Virtual channels of notifications.
    pub channels: NotificationChannels,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Self {
            kmin: 625,
            kmax: 25_000,
            pmax: 0.01,
            notification_interval: 31_250,
            gain: 1.0 / 256.0,
            alpha_timer: 34_375,
            increase_timer: 34_375,
            increase_phits: 1_250_000,
            fast_recovery: 5,
            additive: 0.001,
            hyper: 0.01,
            minimum: 0.001,
            notification: 1,
            channels: NotificationChannels::Shared,
        }
    }
}

impl CongestionParams for Dcqcn {
    fn notifications(&self) -> Option<Notifications> {
        Some(Notifications { phits: self.notification, channels: self.channels, by_head: false, beside: false })
    }

    fn check(&self) -> Result<(), ScenarioError> {
        if self.kmax <= self.kmin {
            return Err(ScenarioError::new("kmax", self.kmax, format!("expected more than `kmin` = {}", self.kmin)));
        }
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

/// The limiter of a flow (reaction point).
#[derive(Debug, Clone)]
struct Limiter {
    /// Phits per tick of the endpoint's link.
    line: f64,
    /// Current and target rate, in phits per tick.
    current: f64,
    target: f64,
    alpha: f64,
    /// Ticks at which alpha falls and the rate rises next.
    falls: Tick,
    rises: Tick,
    /// Rises since the last notification, by the timer and by phits.
    risen: [u32; 2],
    /// Phits since the last rise by phits.
    phits: u32,
    pace: Pace,
}

/// Notifications about a flow (notification point).
#[derive(Debug, Clone, Copy)]
struct Notified {
    /// Endpoint of the partition, and source.
    of: (u32, u32),
    at: Tick,
}

struct Rule {
    params: Dcqcn,
    seed: u64,
    /// Ticks of the three times.
    alpha_timer: Tick,
    increase_timer: Tick,
    interval: Tick,
    /// Phits per tick of the links of endpoints.
    rates: Vec<f64>,
    /// Random numbers of outputs, from their first draw on.
    rngs: Vec<Option<Rng>>,
    limiters: Vec<Limiter>,
    notified: Vec<Notified>,
}

/// The rate from which on a flow is not limited, as a share of its link's.
const FULL: f64 = 0.99999;

impl Limiter {
    fn is_full(&self) -> bool {
        self.current >= FULL * self.line
    }

    /// The rate rises once more, by the timer (0) or by phits (1).
    fn rise(&mut self, by: usize, params: &Dcqcn) {
        self.risen[by] += 1;
        let (most, least) = (self.risen[0].max(self.risen[1]), self.risen[0].min(self.risen[1]));
        if least > params.fast_recovery {
            self.target += f64::from(least - params.fast_recovery) * params.hyper * self.line;
        } else if most > params.fast_recovery {
            self.target += params.additive * self.line;
        }
        self.target = self.target.min(self.line);
        self.current = (self.current + self.target) / 2.0;
        if self.is_full() {
            self.current = self.line;
        }
    }
}

/// `base` to the power of `exponent`, by multiplications alone: the same on every machine.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

impl Rule {
    fn new(params: Dcqcn, context: &CongestionContext) -> Self {
        let ticks = |cycles: u32| cycles.saturating_mul(context.ticks_per_cycle).max(1);
        Self {
            seed: context.seed,
            alpha_timer: ticks(params.alpha_timer),
            increase_timer: ticks(params.increase_timer),
            interval: params.notification_interval.saturating_mul(context.ticks_per_cycle),
            rates: context.rates.clone(),
            rngs: (0..context.outputs).map(|_| None).collect(),
            limiters: Vec::new(),
            notified: Vec::new(),
            params,
        }
    }

    /// The limiter of `flow` at tick `now`, after everything that its timers have done.
    fn at(&mut self, flow: u32, now: Tick) -> &mut Limiter {
        let (alpha_timer, increase_timer) = (self.alpha_timer, self.increase_timer);
        let limiter = &mut self.limiters[flow as usize];
        while !limiter.is_full() && limiter.rises <= now {
            limiter.rises = limiter.rises.saturating_add(increase_timer);
            limiter.rise(0, &self.params);
        }
        if limiter.falls <= now {
            let falls = (now - limiter.falls) / alpha_timer + 1;
            limiter.falls = limiter.falls.saturating_add(falls.saturating_mul(alpha_timer));
            limiter.alpha *= power(1.0 - self.params.gain, falls);
        }
        limiter
    }
}

impl Congestion for Rule {
    fn leaves(&mut self, at: &Leaving) -> bool {
        let Dcqcn { kmin, kmax, pmax, .. } = self.params;
        if at.backlog <= kmin {
            return false;
        }
        if at.backlog >= kmax {
            return true;
        }
        let share = pmax * f64::from(at.backlog - kmin) / f64::from(kmax - kmin);
        let key = self.seed ^ u64::from(at.port) << 48;
        let rng = self.rngs[at.output as usize].get_or_insert_with(|| Rng::keyed(key, at.router));
        rng.unit() < share
    }

    fn received(&mut self, endpoint: u32, packet: &Packet, now: Tick) -> bool {
        if !packet.is_marked() {
            return false;
        }
        let of = (endpoint, packet.source);
        match self.notified.binary_search_by_key(&of, |notified| notified.of) {
            Err(place) => self.notified.insert(place, Notified { of, at: now }),
            Ok(place) => {
                let last = &mut self.notified[place].at;
                if now - *last < self.interval {
                    return false;
                }
                *last = now;
            }
        }
        true
    }

    fn begins(&mut self, _flow: u32, endpoint: u32) {
        let line = self.rates[endpoint as usize];
        self.limiters.push(Limiter {
            line,
            current: line,
            target: line,
            alpha: 1.0,
            falls: Tick::MAX,
            rises: Tick::MAX,
            risen: [0, 0],
            phits: 0,
            pace: Pace::default(),
        });
    }

    fn notified(&mut self, flow: u32, now: Tick) {
        let (falls, rises) = (now.saturating_add(self.alpha_timer), now.saturating_add(self.increase_timer));
        let (gain, minimum) = (self.params.gain, self.params.minimum);
        let limiter = self.at(flow, now);
        limiter.target = limiter.current;
        limiter.current = (limiter.current * (1.0 - limiter.alpha / 2.0)).max(minimum * limiter.line);
        limiter.alpha = (1.0 - gain) * limiter.alpha + gain;
        (limiter.falls, limiter.rises) = (falls, rises);
        (limiter.risen, limiter.phits) = ([0, 0], 0);
    }

    fn sent(&mut self, flow: u32, phits: u16, start: Tick, _end: Tick) {
        let each = self.params.increase_phits;
        let limiter = self.at(flow, start);
        limiter.pace.sent(phits, start, limiter.current);
        let mut rises = 0;
        if !limiter.is_full() {
            limiter.phits += u32::from(phits);
            rises = limiter.phits / each;
            limiter.phits %= each;
        }
        for _ in 0..rises {
            let limiter = &mut self.limiters[flow as usize];
            limiter.rise(1, &self.params);
        }
    }

    fn ready(&mut self, flow: u32, now: Tick) -> Tick {
        let limiter = self.at(flow, now);
        if limiter.is_full() {
            return now;
        }
        limiter.pace.due(limiter.current).min(limiter.rises)
    }

    fn bytes(&self) -> usize {
        self.rates.capacity() * 8
            + self.rngs.capacity() * size_of::<Option<Rng>>()
            + self.limiters.capacity() * size_of::<Limiter>()
            + self.notified.capacity() * size_of::<Notified>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(params: Dcqcn) -> Rule {
        let context =
            CongestionContext { outputs: 1, endpoints: 1, buffer: 100, ticks_per_cycle: 1, rates: vec![1.0], seed: 1 };
        let mut rule = Rule::new(params, &context);
        rule.begins(0, 0);
        rule
    }

    fn small() -> Dcqcn {
        Dcqcn {
            kmin: 10,
            kmax: 110,
            pmax: 0.5,
            gain: 0.25,
            notification_interval: 50,
            alpha_timer: 100,
            increase_timer: 100,
            increase_phits: 1_000_000,
            fast_recovery: 3,
            additive: 0.125,
            hyper: 0.25,
            ..Dcqcn::default()
        }
    }

    /// The first notification halves the rate, since alpha is 1. Three rises go half the way to the old rate. Then the
    /// target is at the line, and cannot rise.
    #[test]
    fn a_rate_halves_and_recovers_by_halves_of_the_gap() {
        let mut rule = rule(small());
        rule.notified(0, 1000);
        let rates: Vec<f64> = [1000, 1099, 1100, 1200, 1300, 1400].map(|now| rule.at(0, now).current).into();
        assert_eq!(rates, [0.5, 0.5, 0.75, 0.875, 0.9375, 0.96875]);
    }

    /// Two notifications at once: target 1/2, rate 1/4. After three halves of the gap, the target rises by 1/8 in each
    /// period.
    #[test]
    fn additive_increase_follows_fast_recovery() {
        let mut rule = rule(small());
        rule.notified(0, 0);
        rule.notified(0, 0);
        let rates = [0, 100, 200, 300, 400, 500].map(|now| rule.at(0, now).current);
        // 0.46875 to 0.625 and 0.546875 to 0.75.
        assert_eq!(rates, [0.25, 0.375, 0.4375, 0.46875, 0.546875, 0.6484375]);
    }

    /// With both counts beyond fast recovery the target rises by 1, 2, ... times the step.
    #[test]
    fn hyper_increase_follows_when_timer_and_phits_have_both_risen() {
        let mut rule = rule(Dcqcn { hyper: 0.0625, increase_phits: 10, ..small() });
        (0..6).for_each(|_| rule.notified(0, 0));
        assert_eq!(rule.limiters[0].current, 1.0 / 64.0);
        let params = rule.params.clone();
        let limiter = &mut rule.limiters[0];
        (limiter.risen, limiter.target) = ([4, 3], 0.25);
        limiter.current = 0.25;
        limiter.rise(1, &params);
        assert_eq!((limiter.target, limiter.current), (0.3125, 0.28125));
        limiter.rise(0, &params);
        assert_eq!(limiter.target, 0.375, "phits have risen once beyond fast recovery");
        limiter.rise(1, &params);
        assert_eq!(limiter.target, 0.5, "both have risen twice");
    }

    #[test]
    fn alpha_falls_by_its_gain_and_rises_with_notifications() {
        let mut rule = rule(small());
        rule.notified(0, 0);
        let alphas = [99, 100, 299, 300].map(|now| rule.at(0, now).alpha);
        assert_eq!(alphas, [1.0, 0.75, 0.5625, 0.421875]);
        rule.notified(0, 310);
        assert_eq!(rule.at(0, 310).alpha, 0.75 * 0.421875 + 0.25);
    }

    /// At half of the line packets of 8 phits start every 16 ticks, and at a third every 24.
    #[test]
    fn packets_start_at_the_rate_of_the_flow() {
        let mut rule = rule(Dcqcn { increase_timer: 1_000_000, ..small() });
        rule.notified(0, 0);
        let mut starts = vec![100];
        for (rate, count) in [(0.5, 3), (1.0 / 3.0, 3), (0.3, 3)] {
            rule.limiters[0].current = rate;
            for _ in 0..count {
                let start = *starts.last().unwrap();
                rule.sent(0, 8, start, start + 8);
                starts.push(rule.ready(0, start + 8));
            }
        }
        let gaps: Vec<u32> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // 26 2/3 ticks each at a rate of 0.3.
        assert_eq!(gaps, [16, 16, 16, 24, 24, 24, 27, 27, 26]);
    }

    #[test]
    fn a_flow_is_notified_once_in_an_interval() {
        let mut rule = rule(small());
        let packet = |source: u32| Packet { misrouted: crate::packet::MARKED, ..Packet::new(source, 0) };
        let told = [10, 59, 60, 100, 110].map(|now| rule.received(0, &packet(4), now));
        assert_eq!(told, [true, false, true, false, true]);
        assert!(rule.received(0, &packet(5), 111));
        assert!(!rule.received(0, &Packet::new(6, 0), 111), "not marked");
    }

    #[test]
    fn marks_rise_linearly_between_the_thresholds() {
        let mut rule = rule(small());
        let packet = Packet::new(0, 1);
        let mut share = |backlog| {
            let at = Leaving {
                output: 0,
                router: 3,
                port: 0,
                class: 1,
                phits: packet.size,
                backlog,
                outstanding: 0,
                has_room: true,
            };
            f64::from((0..10_000).map(|_| u32::from(rule.leaves(&at))).sum::<u32>()) / 10_000.0
        };
        // A standard deviation is at most 0.005.
        for (backlog, expected) in [(10, 0.0), (30, 0.1), (60, 0.25), (109, 0.495), (110, 1.0)] {
            let share = share(backlog);
            assert!((share - expected).abs() < 0.02, "{backlog}: {share}");
        }
    }
}
