//! For any scenario or file of a program, the engine gives an answer: a result, or a refusal that names a key.
//!
//! Cases are drawn from a seed, one number each: documents that the schema allows, or nearly, and files with changes. A
//! failing case is reduced while it fails in the same way, and printed. `make test` draws some hundreds of cases. `make
//! fuzz MINUTES=n` draws for n minutes, with another seed each time (or with `SEED=n`).

#[path = "../common/mod.rs"]
mod common;
mod documents;
mod files;
#[path = "../identical/scenarios.rs"]
mod scenarios;
mod shrink;
mod verdict;

use cpu_time::ProcessTime;
use phit_engine::engine::Rng;
use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use verdict::{Verdict, judge};

/// Number of cases that `make test` draws.
const CASES: u64 = 400;

/// A case that takes longer hangs.
const HANG: Duration = Duration::from_secs(20);

/// A case.
enum Case {
    Scenario(serde_json::Value),
    Program(files::Program),
}

impl Case {
    /// Case `number` of a seed.
    fn draw(seed: u64, number: u64, corpus: &documents::Corpus, programs: &files::Corpus) -> Self {
        let mut rng = Rng::keyed(seed ^ number.rotate_left(32), number as u32);
        match rng.below(8) {
            0 => Self::Program(programs.draw(&mut rng)),
            _ => Self::Scenario(corpus.draw(&mut rng)),
        }
    }

    fn verdict(&self) -> Verdict {
        match self {
            Self::Scenario(document) => judge(|| verdict::of_scenario(document)),
            Self::Program(program) => judge(|| verdict::of_program(program)),
        }
    }

    /// The smallest case that fails in the same way, as text.
    fn smallest(&self, class: &str) -> String {
        let fails = |verdict: Verdict| matches!(verdict, Verdict::Wrong { class: other, .. } if other == class);
        match self {
            Self::Scenario(document) => {
                shrink::value(document, &|it| fails(judge(|| verdict::of_scenario(it)))).to_string()
            }
            Self::Program(program) => {
                let bytes = shrink::bytes(&program.bytes, &|bytes| {
                    let program = files::Program { kind: program.kind, bytes: bytes.to_vec() };
                    fails(judge(|| verdict::of_program(&program)))
                });
                format!("{:?}: {:?}", program.kind, String::from_utf8_lossy(&bytes))
            }
        }
    }
}

/// Ends the process with the number of a case that hangs.
fn watch(seed: u64) -> Arc<AtomicU64> {
    let at = Arc::new(AtomicU64::new(u64::MAX));
    let (watched, mut last, mut since) = (at.clone(), u64::MAX, ProcessTime::now());
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = watched.load(Ordering::Relaxed);
            // Processor time: other programs may be running, too.
            if now != last {
                (last, since) = (now, ProcessTime::now());
            } else if now != u64::MAX && since.elapsed() > HANG {
                let text = match Case::draw(seed, now, &documents::Corpus::new(), &files::Corpus::new()) {
                    Case::Scenario(document) => document.to_string(),
                    Case::Program(program) => format!("{:?}", String::from_utf8_lossy(&program.bytes)),
                };
                eprintln!("case {now} of seed {seed} takes more than {HANG:?}\n  {text}");
                std::process::exit(1);
            }
        }
    });
    at
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).and_then(|text| text.parse().ok())
}

#[test]
fn every_case_is_answered() {
    let minutes = number("PHIT_FUZZ_MINUTES");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = number("PHIT_FUZZ_SEED").unwrap_or(if minutes.is_some() { now } else { 1 });
    let (first, most) = (number("PHIT_FUZZ_CASE").unwrap_or(0), number("PHIT_FUZZ_CASES"));
    let (corpus, programs) = (documents::Corpus::new(), files::Corpus::new());
    let at = watch(seed);
    // If the process is aborted, this file remains. It is overwritten in place: a new file for every case would be most
    // of the work.
    let left = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz.case");
    let left = minutes.and_then(|_| std::fs::File::create(left).ok());
    let start = Instant::now();
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut wrong: BTreeMap<String, (u64, String)> = BTreeMap::new();
    verdict::hear_panics();
    let mut told = Instant::now();
    for case in first.. {
        let done = match (minutes, most) {
            (_, Some(most)) => case - first >= most,
            (Some(minutes), None) => start.elapsed() >= Duration::from_secs(60 * minutes),
            (None, None) => case >= CASES,
        };
        if done {
            break;
        }
        at.store(case, Ordering::Relaxed);
        let _ = left.as_ref().map(|mut file| {
            let words = format!("seed {seed}, case {case:<20}\n");
            file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(words.as_bytes()))
        });
        let drawn = Case::draw(seed, case, &corpus, &programs);
        match drawn.verdict() {
            Verdict::Answered(how) => *counts.entry(how).or_default() += 1,
            Verdict::Wrong { class, words } if !wrong.contains_key(&class) => {
                at.store(u64::MAX, Ordering::Relaxed);
                println!("seed {seed}, case {case}: {words}");
                let smallest = drawn.smallest(&class);
                println!("  {smallest}");
                wrong.insert(class, (1, format!("case {case}: {words}\n  {smallest}")));
            }
            Verdict::Wrong { class, .. } => wrong.entry(class).and_modify(|(count, _)| *count += 1).or_default().0 += 0,
        }
        if minutes.is_some() && told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            println!("{} cases, {} wrong: {counts:?}", case - first + 1, wrong.len());
        }
    }
    at.store(u64::MAX, Ordering::Relaxed);
    println!("seed {seed}: {counts:?} in {:.0?}", start.elapsed());
    let all: Vec<String> = wrong.values().map(|(count, words)| format!("{count} times: {words}")).collect();
    assert!(all.is_empty(), "seed {seed}: {} ways to fail\n{}", all.len(), all.join("\n"));
}
