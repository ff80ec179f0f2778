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
mod same;
#[path = "../fuzz/shrink.rs"]
#[allow(dead_code)]
mod shrink;
mod stems;

use draw::{Choice, Corpus};
use judge::Judged;
use phit_engine::engine::Rng;
use serde_json::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Phits per endpoint and cycle: far below what saturates any of the networks.
const LOAD: f64 = 0.05;

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

    /// Judges a case that cannot be made smaller.
    fn judge_whole(&mut self, document: &Value, judge: &dyn Fn(&Value) -> Judged) {
        match judge(document) {
            Ok(how) => *self.counts.entry(how).or_default() += 1,
            Err((class, words)) => drop(self.wrong.entry(class).or_insert(format!("{words}\n  {document}"))),
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

/// Every option is accepted in some scenario, each of its names too, and what is sent with it arrives: an option that
/// no scenario here can have would never be judged.
#[test]
fn every_option_is_judged() {
    // In `make test`, one option in sixteen is tested.
    let part = if number("PHIT_FUZZ_MINUTES").is_some() { 1 } else { 16 };
    let corpus = Corpus::new();
    let documents: Vec<&Value> = corpus.documents().iter().chain(corpus.programs()).collect();
    let mut rng = Rng::keyed(1, 1);
    let mut by_label: BTreeMap<String, Vec<(usize, Choice)>> = BTreeMap::new();
    let mut stated: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, document) in documents.iter().enumerate() {
        for choice in draw::choices(document) {
            by_label.entry(choice.label()).or_default().push((place, choice));
        }
        for label in draw::present(document) {
            by_label.entry(label.clone()).or_default();
            stated.entry(label).or_default().push(place);
        }
    }
    let mut report = Report::default();
    let mut never = Vec::new();
    for (label, mut choices) in by_label.into_iter().step_by(part) {
        let mut judge = |document: &Value| {
            report.judge(document, &|it| match it.get("workload") {
                Some(_) => judge::program(it),
                None => judge::far_below_saturation(it, LOAD),
            })
        };
        let mut accepted = false;
        let mut refused = String::new();
        // Those first whose table is there.
        let mut tried = Vec::new();
        while !choices.is_empty() {
            tried.push(choices.swap_remove(rng.below(choices.len() as u32) as usize));
        }
        let table = |choice: &Choice| choice.pointer.rfind('/').map_or(0, |end| end);
        tried.sort_by_key(|(place, choice)| documents[*place].pointer(&choice.pointer[..table(choice)]).is_none());
        for (place, choice) in tried {
            let mut document = documents[place].clone();
            choice.set(&mut document);
            accepted = judge(&document);
            if accepted {
                break;
            }
            refused = judge::refusal(&document, LOAD).unwrap_or(refused);
        }
        // Some options have values that only a scenario as a whole makes possible.
        let mut stated = stated.get(&label).into_iter().flatten();
        if !accepted && !stated.any(|&place| judge(documents[place])) {
            never.push(format!("{label}: {refused}"));
        }
    }
    report.close(1);
    assert!(never.is_empty(), "options that no scenario of `stems` or of `kinds` can have:\n{}", never.join("\n"));
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

#[test]
fn another_seed_gives_the_same_means() {
    let corpus = Corpus::new();
    let mut report = Report::default();
    let seed = draw_cases(60, |rng| {
        let (document, _) = corpus.draw(rng);
        report.judge(&document, &|it| same::seeds(it, LOAD));
    });
    report.close(seed);
}

#[test]
fn numbers_of_routers_and_endpoints_do_not_matter() {
    let mut report = Report::default();
    let seed = draw_cases(150, |rng| match rng.below(4) {
        0 => {
            let (document, order) = same::drawn(rng);
            report.judge(&document, &|it| same::numbers_of_a_graph(it, &order, LOAD));
        }
        _ => {
            let (document, order) = same::traced(rng);
            report.judge(&document, &|it| same::numbers_of_a_tree(it, &order));
        }
    });
    report.close(seed);
}

#[test]
fn numbers_of_ranks_do_not_matter() {
    let mut report = Report::default();
    let seed = draw_cases(100, |rng| {
        let (program, order) = same::program(rng);
        let first = program.scenario(&(0..order.len() as u32).collect::<Vec<_>>());
        report.judge_whole(&first, &|_| program.judge(&order));
    });
    report.close(seed);
}
