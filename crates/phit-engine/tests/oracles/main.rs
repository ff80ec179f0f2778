//! Answers that are possible, whatever options are combined.
//!
//! Scenarios are drawn from every kind, with some random options from the schema. Each is judged in three ways. Far
//! below saturation, everything arrives in about the time of an empty network. A network that is proved free of
//! deadlock has none. And more of a resource never carries less. `make test` draws some dozens of scenarios; `make fuzz
//! MINUTES=n` draws for n minutes.

#[path = "../common/mod.rs"]
mod common;
mod draw;
mod judge;
mod more;
#[path = "../fuzz/shrink.rs"]
#[allow(dead_code)]
mod shrink;

use draw::{Choice, Corpus};
use judge::Judged;
use phit_engine::engine::Rng;
use serde_json::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Phits per endpoint and cycle: far below what saturates any of the networks.
const LOAD: f64 = 0.05;

/// Most scenarios with which an option is tried until one is accepted.
const TRIES: usize = 60;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).and_then(|text| text.parse().ok())
}

/// The results of many cases.
#[derive(Default)]
struct Report {
    counts: BTreeMap<&'static str, u64>,
    wrong: BTreeMap<String, String>,
    accepted: BTreeSet<String>,
}

impl Report {
    /// Judges a case. A wrong case is reduced while it is wrong in the same way. True if it ran.
    fn judge(&mut self, document: &Value, judge: &dyn Fn(&Value) -> Judged) -> bool {
        match judge(document) {
            Ok(how) => {
                *self.counts.entry(how).or_default() += 1;
                how.starts_with("arrives") || how.starts_with("carries")
            }
            Err((class, words)) => {
                if let Entry::Vacant(first) = self.wrong.entry(class) {
                    let fails = |it: &Value| matches!(judge(it), Err((other, _)) if other == *first.key());
                    let smallest = shrink::value(document, &fails);
                    println!("{words}\n  {smallest}");
                    first.insert(format!("{words}\n  {smallest}"));
                }
                true
            }
        }
    }

    fn close(self, seed: u64) {
        println!("seed {seed}: {:?}", self.counts);
        let all: Vec<String> = self.wrong.into_values().collect();
        assert!(all.is_empty(), "seed {seed}: {} ways to be wrong\n{}", all.len(), all.join("\n"));
    }
}

/// Calls `case` with the random numbers of each case: `usual` cases in `make test`, or for the given time in `make
/// fuzz`.
fn draw_cases(usual: u64, mut case: impl FnMut(&mut Rng)) -> u64 {
    let minutes = number("PHIT_FUZZ_MINUTES");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = number("PHIT_FUZZ_SEED").unwrap_or(if minutes.is_some() { now } else { 1 });
    let most = number("PHIT_FUZZ_CASES").map_or(usual, |cases| cases / 10);
    let start = Instant::now();
    for number in 0.. {
        let done = match minutes {
            Some(minutes) => start.elapsed() >= Duration::from_secs(60 * minutes),
            None => number >= most,
        };
        if done {
            break;
        }
        case(&mut Rng::keyed(seed ^ number.rotate_left(32), number as u32));
    }
    seed
}

#[test]
fn what_is_sent_far_below_saturation_arrives_in_time() {
    let corpus = Corpus::new();
    let mut report = Report::default();
    let seed = draw_cases(150, |rng| {
        let (document, choices) = corpus.draw(rng);
        if report.judge(&document, &|it| judge::far_below_saturation(it, LOAD)) {
            report.accepted.extend(choices.iter().map(Choice::label));
        }
    });
    report.close(seed);
}

/// Every option, and each of its named values, is accepted somewhere, and the traffic with it arrives.
#[test]
fn every_option_is_judged() {
    // In `make test`, one option in sixteen is tested.
    let part = if number("PHIT_FUZZ_MINUTES").is_some() { 1 } else { 16 };
    let corpus = Corpus::new();
    let mut rng = Rng::keyed(1, 1);
    let mut by_label: BTreeMap<String, Vec<(usize, Choice)>> = BTreeMap::new();
    for (place, document) in corpus.documents().iter().enumerate() {
        for choice in draw::choices(document) {
            by_label.entry(choice.label()).or_default().push((place, choice));
        }
    }
    let mut report = Report::default();
    for (label, mut choices) in by_label.into_iter().step_by(part) {
        for _ in 0..TRIES.min(choices.len()) {
            let (place, choice) = choices.swap_remove(rng.below(choices.len() as u32) as usize);
            let mut document = corpus.documents()[place].clone();
            choice.set(&mut document);
            if report.judge(&document, &|it| judge::far_below_saturation(it, LOAD)) {
                report.accepted.insert(label.clone());
                break;
            }
        }
        if !report.accepted.contains(&label) {
            println!("never accepted alone: {label}");
        }
    }
    report.close(1);
}

#[test]
fn programs_end() {
    let corpus = Corpus::new();
    let mut report = Report::default();
    let seed = draw_cases(100, |rng| {
        report.judge(&corpus.draw_program(rng), &judge::program);
    });
    report.close(seed);
}

#[test]
fn more_of_something_never_carries_less() {
    let corpus = Corpus::new();
    let mut report = Report::default();
    let seed = draw_cases(60, |rng| {
        let (document, _) = corpus.draw(rng);
        let more = more::draw(rng);
        report.judge(&document, &|it| more.judge(it));
    });
    report.close(seed);
}
