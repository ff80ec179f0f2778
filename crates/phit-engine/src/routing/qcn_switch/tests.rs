//! Feedback, probabilities and notifications by hand.

use super::ports::{Notice, Waiting};
use super::rule::Rule;
use super::{Below, Change, Comparison, Point, QcnSwitch};
use crate::routing::exits::tests::context;

/// With a set point of 80 and a weight of 1/2, 63 stands for 160. A queue of 120 that has not changed gives 40,
/// which is 15.75. One of 60 that was empty gives -20 + 30. 82.5 - 80 is 2 before it is scaled.
#[test]
fn feedback_is_the_excess_and_half_the_growth_in_six_bits() {
    let params = QcnSwitch::default();
    let cases = [(120, 120, 15), (120, 80, 23), (60, 0, 3), (80, 80, 0), (82, 81, 0), (83, 83, 1), (1000, 0, 63)];
    for (phits, before, feedback) in cases {
        assert_eq!(params.feedback(phits, before), feedback, "{phits} after {before}");
    }
}

/// Ports 1 to 3 of a router lead to the others of its group, 4 and 5 out of it.
fn rule(params: QcnSwitch) -> Rule {
    Rule::new(&params, &context())
}

fn probability(rule: &Rule, port: u16) -> f64 {
    let router = &rule.routers[5];
    router.ports[router.place(port).unwrap()].probability
}

#[test]
fn notifications_lower_the_probability_and_phits_raise_it() {
    let mut rule = rule(QcnSwitch { gain: 1.0 / 64.0, recovery: 24, ..QcnSwitch::default() });
    rule.reacts(5, 4, 32, 0);
    assert_eq!((probability(&rule, 4), probability(&rule, 5)), (0.5, 1.0));
    // The third packet is the 24th phit.
    (0..2).for_each(|_| rule.counts(5, 4, 8));
    assert_eq!(probability(&rule, 4), 0.5);
    rule.counts(5, 4, 8);
    assert_eq!(probability(&rule, 4), 0.51);
    // A notification starts the count again.
    rule.counts(5, 4, 16);
    rule.reacts(5, 4, 48, 0);
    rule.counts(5, 4, 16);
    assert_eq!(probability(&rule, 4), 0.51 * 0.25);
    rule.reacts(5, 4, 63, 0);
    assert_eq!(probability(&rule, 4), 0.01, "the minimum");
    (0..1000).for_each(|_| rule.counts(5, 4, 8));
    assert_eq!(probability(&rule, 4), 1.0, "the most");
}

#[test]
fn probabilities_change_by_sums_and_products() {
    let params = QcnSwitch { decrease_by: Change::Sum, increase_by: Change::Product, ..QcnSwitch::default() };
    let params = QcnSwitch { gain: 1.0 / 64.0, increase: 1.5, recovery: 8, ..params };
    let mut rule = rule(params);
    (0..2).for_each(|_| rule.reacts(5, 4, 16, 0));
    assert_eq!(probability(&rule, 4), 0.5);
    rule.counts(5, 4, 8);
    assert_eq!(probability(&rule, 4), 0.75);
}

/// Of five ports one has heard 20, which is 16 above the mean, then another one 30, which is 20 above it, or 24 if
/// the first is forgotten. 5 is below the mean of 5 and 30, unless these are forgotten, too.
#[test]
fn feedback_is_compared_with_the_mean_of_ports() {
    let cases = [
        (1000, Below::Keep, 0.6875, 0.75),
        (1000, Below::Raise, 0.6875, 0.76),
        (5, Below::Keep, 0.625, 0.703125),
        (0, Below::Keep, 0.6875, 0.75),
    ];
    for (memory, below, second, last) in cases {
        let compare = Some(Comparison { memory, below, ..Comparison::default() });
        let mut rule = rule(QcnSwitch { gain: 1.0 / 64.0, compare, ..QcnSwitch::default() });
        rule.reacts(5, 4, 20, 100);
        assert_eq!(probability(&rule, 4), 0.75, "{memory}");
        rule.reacts(5, 5, 30, 110);
        assert_eq!(probability(&rule, 5), second, "{memory}");
        rule.reacts(5, 4, 5, 120);
        assert_eq!(probability(&rule, 4), last, "{memory} {below:?}");
    }
}

#[test]
fn a_packet_counts_for_a_latency_after_it_has_left() {
    let mut rule = rule(QcnSwitch { point: Point::InputAndLink, ..QcnSwitch::default() });
    let router = &mut rule.routers[5];
    let place = router.place(4).unwrap();
    let port = &mut router.ports[place];
    let packet = Waiting { since: 50, queue: 0, phits: 8, source: 0, to: 1 };
    port.recent.push_back(packet);
    port.held.push(packet);
    assert_eq!((port.phits(150), port.phits(151)), (16, 8), "global links take 100 ticks");
}

#[test]
fn a_notification_survives_its_journey() {
    let notice = Notice { source: 0x0003_0007, feedback: 63 };
    assert_eq!(Notice::of(&notice.payload()), notice);
}
