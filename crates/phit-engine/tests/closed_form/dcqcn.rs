//! DCQCN at its fixed point: the share of marked packets, where equal flows share one link.
//!
//! Two models give it. The fluid model (Zhu, Ghobadi, Misra and Padhye, "ECN or delay", CoNEXT 2016) counts a
//! notification for every interval with a mark. That holds where the interval is short. The other model counts one
//! cycle of a flow, from one notification to the next: first the interval, in which the destination is silent, and then
//! the time until the next mark, at a constant rate and share.

use crate::common::{assert_close, run};
use serde_json::json;

/// Equal flows to one endpoint. Times are in cycles, and the link carries a phit in a cycle.
#[derive(Clone, Copy)]
struct Flows {
    count: u32,
    packet: f64,
    interval: u32,
    alpha_timer: u32,
    increase_timer: u32,
    /// Rise of the target, as a share of the link.
    additive: f64,
    kmax: u32,
}

const FAST_RECOVERY: u32 = 1;

impl Flows {
    /// Packets in a cycle of one flow.
    fn rate(self) -> f64 {
        1.0 / self.packet / f64::from(self.count)
    }

    /// Rise of the target, in packets per cycle.
    fn rise(self) -> f64 {
        self.additive / self.packet
    }

    /// The share of marked packets at which the fluid model keeps its rates: equations 5 to 7, without counters of
    /// bytes.
    fn fluid(self) -> f64 {
        root(|share| {
            let (rate, interval) = (self.rate(), f64::from(self.interval));
            let unmarked = |packets: f64| (1.0 - share).powf(packets);
            let notified = 1.0 - unmarked(interval * rate);
            let alpha = 1.0 - unmarked(f64::from(self.alpha_timer) * rate);
            let packets = f64::from(self.increase_timer) * rate;
            let rises = rate * share / (unmarked(-packets) - 1.0);
            let additive = unmarked(f64::from(FAST_RECOVERY) * packets) * rises;
            let gap = self.rise() * additive * interval / notified;
            gap / 2.0 * rises - rate * alpha / (2.0 * interval) * notified
        })
    }

    /// The share of marked packets at which a cycle ends with the rate with which it began.
    fn cycle(self) -> f64 {
        root(|share| {
            let (marks, interval) = (-(1.0 - share).ln() * self.rate(), f64::from(self.interval));
            // The probability that a cycle lasts so long.
            let lasts = |cycles: f64| (-marks * (cycles - interval).max(0.0)).exp();
            let times = |timer: u32| (1..).map(move |k| f64::from(k) * f64::from(timer));
            let falls: f64 = times(self.alpha_timer).map(lasts).take_while(|p| *p > 1e-12).sum();
            let lost = self.rate() / (1.0 + falls) / 2.0;
            let (mut gap, mut gained) = (lost, 0.0);
            for (k, lasts) in (1..).zip(times(self.increase_timer).map(lasts).take_while(|p| *p > 1e-12)) {
                gap += if k > FAST_RECOVERY { self.rise() } else { 0.0 };
                gained += lasts * gap / 2.0;
                gap /= 2.0;
            }
            gained - lost
        })
    }

    /// The share of marked packets in a run.
    fn measured(self) -> f64 {
        let sources: Vec<u32> = (0..self.count).collect();
        let target = json!({ "kind": "hotspot", "targets": [self.count], "share": 1.0 });
        let outcome = run(&json!({
            "topology": { "kind": "single", "endpoints": self.count + 1 },
            "router": { "links": { "default": { "vcs": 1, "buffer": 100_000, "latency": 1 } } },
            "congestion": {
                "kind": "dcqcn", "kmin": 50, "kmax": self.kmax, "pmax": 1.0, "gain": 1.0 / 256.0,
                "notification_interval": self.interval, "alpha_timer": self.alpha_timer,
                "increase_timer": self.increase_timer, "increase_phits": 10_000_000,
                "fast_recovery": FAST_RECOVERY, "additive": self.additive, "hyper": 0.0, "minimum": 0.0001,
            },
            "traffic": {
                "load": 1.0, "packet_size": self.packet as u32, "process": "periodic",
                "pattern": { "kind": "by_endpoint", "parts": [{ "endpoints": sources, "pattern": target }] },
            },
            "measure": { "warmup": 5_000_000, "cycles": 10_000_000, "histogram": false },
        }));
        let summary = outcome.summary();
        summary["congestion"]["marked"].as_f64().unwrap() / summary["packets"].as_f64().unwrap()
    }

    /// The share of marked packets in a run, told beside those of the models: the table of the guide.
    fn told(self) -> f64 {
        let [measured, fluid, cycle] = [self.measured(), self.fluid(), self.cycle()].map(|share| 100.0 * share);
        println!("silent for {} cycles: marked {measured:.2} %, fluid {fluid:.2} %, cycle {cycle:.2} %", self.interval);
        measured / 100.0
    }
}

/// Where a falling function of a share is zero.
fn root(balance: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (1e-6, 0.5);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        *if balance(middle) > 0.0 { &mut low } else { &mut high } = middle;
    }
    (low + high) / 2.0
}

const SHORT: Flows = Flows {
    count: 8,
    packet: 16.0,
    interval: 16,
    alpha_timer: 400,
    increase_timer: 2000,
    additive: 0.0005,
    kmax: 200_000,
};

#[test]
fn marks_are_those_of_the_fluid_model_where_every_mark_is_told() {
    let measured = SHORT.told();
    assert_close(measured / SHORT.fluid(), 1.0, 0.02, "share of marked packets");
}

#[test]
fn marks_are_those_of_a_cycle_where_the_destination_is_silent_for_long() {
    let long = Flows { interval: 2000, alpha_timer: 2200, ..SHORT };
    let measured = long.told();
    assert_close(measured / long.cycle(), 1.0, 0.02, "share of marked packets");
    // The fluid model counts one notification in every interval with a mark. A destination sends fewer: after each it
    // is silent for a whole interval, and then waits for a mark.
    let fluid = long.cycle() / long.fluid();
    assert!((1.38..1.46).contains(&fluid), "{fluid}");
}
