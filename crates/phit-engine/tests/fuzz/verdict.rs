//! The criteria of a right answer.

use crate::files::{Kind, Program};
use phit_engine::engine::watched;
use phit_engine::error::ScenarioError;
use phit_engine::run::{self, Options, RunError, Simulation};
use phit_engine::scenario::Scenario;
use phit_engine::{effort, needs::Needs};
use serde_json::Value;
use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// The result of a case.
pub enum Verdict {
    Answered(&'static str),
    /// A wrong answer, and a text that distinguishes it from other ways to fail.
    Wrong {
        class: String,
        words: String,
    },
}

/// A wrong answer: its class, and its description.
pub type Judged = Result<&'static str, (String, String)>;

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the messages of panics, instead of printing them.
pub fn hear_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        PANIC.with_borrow_mut(|words| *words = format!("panic at {place}: {}", text.unwrap_or("")));
    }));
}

pub fn judge(case: impl FnOnce() -> Judged) -> Verdict {
    match catch_unwind(AssertUnwindSafe(case)) {
        Ok(Ok(how)) => Verdict::Answered(how),
        Ok(Err((class, words))) => Verdict::Wrong { class, words },
        Err(_) => {
            let words = PANIC.take();
            let class = words.split(": ").next().unwrap_or_default().to_owned();
            Verdict::Wrong { class, words }
        }
    }
}

fn wrong(class: &str, words: String) -> Judged {
    Err((class.to_owned(), format!("{class}: {}", words.chars().take(600).collect::<String>())))
}

/// A refusal names a key and is no longer than a message may be.
fn refused(document: &Value, error: &ScenarioError, how: &'static str) -> Judged {
    for one in error.clone().each() {
        let words = one.to_string();
        if one.path.is_empty() && document.is_object() {
            return wrong("a refusal names no key", words);
        }
        if words.chars().count() > 2500 {
            return wrong("a refusal is too long", words);
        }
        if one.expected.is_empty() {
            return wrong("a refusal says nothing", words);
        }
        let first = one.path.split(['.', '[']).next().unwrap_or_default();
        let known = phit_engine::scenario::SECTIONS.contains(&first) || document.get(first).is_some();
        if !known
            && document.is_object()
            && !document.as_object().is_some_and(|table| table.keys().any(|key| one.path.starts_with(key.as_str())))
        {
            return wrong("a refusal names a key that there is not", words);
        }
    }
    Ok(how)
}

/// Most bytes that a case may take.
const MEMORY: u64 = 24 << 20;

/// Most expected flit-hops of a case.
const HOPS: f64 = 20_000.0;

/// Time after which checks and builds are stopped, as by Ctrl-C: they must react.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn of_scenario(document: &Value) -> Judged {
    let scenario = match Scenario::from_value(document) {
        Ok(scenario) => scenario,
        Err(error) => return refused(document, &error, "refused when read"),
    };
    // With all defaults, and through a file.
    let text = scenario.to_value().to_string();
    let completed: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => return wrong("what is filled in is no document", error.to_string()),
    };
    match Scenario::from_value(&completed) {
        Ok(again) if again == scenario => {}
        Ok(again) => {
            return wrong("what is filled in means something else", format!("{}\n  {text}", again.to_value()));
        }
        Err(error) => return wrong("what is filled in is refused", error.to_string()),
    }
    if let Err(error) = too_large(&scenario) {
        return refused(document, &error, "too large");
    }
    let start = Instant::now();
    let patient = move || start.elapsed() < PATIENCE;
    let Ok(asked) = watched(Box::new(patient), || run::needs(&scenario)) else {
        return Ok("took long, and was stopped");
    };
    let needs: Needs = match asked {
        Ok(needs) => needs,
        Err(error) => return refused(document, &error, "refused when checked"),
    };
    if !needs.bytes().is_finite() || needs.bytes() < 0.0 {
        return wrong("needs are no number", format!("{:?}", needs.parts));
    }
    if needs.bytes() > MEMORY as f64 {
        return Ok("too large");
    }
    if scenario.workload.is_none() && scenario.measure.most_cycles() > 20_000 {
        return Ok("too long");
    }
    let Ok(hops) = watched(Box::new(patient), || effort::expected_hops(&scenario)) else {
        return Ok("took long, and was stopped");
    };
    match hops {
        Err(error) => return wrong("refused when its work was told", error.to_string()),
        Ok(hops) if !(0.0..=HOPS).contains(&hops) => {
            return if hops.is_finite() && hops >= 0.0 {
                Ok("too long")
            } else {
                wrong("work is no number", hops.to_string())
            };
        }
        Ok(_) => {}
    }
    let Ok(built) = watched(Box::new(patient), || Simulation::within(&scenario, Options::default(), Some(MEMORY)))
    else {
        return Ok("took long, and was stopped");
    };
    let built = match built {
        Ok(built) => built,
        // Functions compiled by the caller are only required when a scenario runs.
        Err(error) if !scenario.functions().is_empty() => return refused(document, &error, "without its function"),
        Err(error) => return wrong("refused when built", error.to_string()),
    };
    let since = Instant::now();
    let goes_on = move || since.elapsed() < PATIENCE;
    let Ok(ran) = watched(Box::new(goes_on), || built.run(&mut |_, _| goes_on())) else {
        return Ok("ran long, and was stopped");
    };
    match ran {
        Ok(outcome) => {
            let shown = serde_json::to_string(&outcome.summary()).is_ok();
            let _tables = outcome.tables();
            if shown { Ok("ran") } else { wrong("a summary is no document", String::new()) }
        }
        Err(RunError::Stopped(stopped)) => {
            drop(stopped.partial.map(|outcome| (outcome.summary(), outcome.tables())));
            Ok("ran long, and was stopped")
        }
        Err(RunError::Deadlock(_)) => Ok("came to a deadlock"),
        Err(RunError::Unfinished(_)) => Ok("a program without end"),
        Err(RunError::Scenario(error)) => wrong("refused when it ran", error.to_string()),
        Err(RunError::Parted(parted)) => wrong("parted from nobody", parted.to_string()),
    }
}

/// Refuses graphs that exceed a case's memory: like the engine's own refusal, but with a smaller limit.
fn too_large(scenario: &Scenario) -> Result<(), ScenarioError> {
    let bytes = scenario.topology.params().needs();
    match bytes > 16.0 * MEMORY as f64 {
        true => Err(ScenarioError::new("topology", bytes, "less")),
        false => Ok(()),
    }
}

pub fn of_program(program: &Program) -> Judged {
    let read = match program.kind {
        Kind::Goal => phit_workload::goal::read(&*program.bytes),
        Kind::Chakra => phit_workload::chakra::read([&*program.bytes], &Default::default()),
        Kind::Mpi => {
            // Such a program is read from files only, one for each rank.
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}-0.txt", std::process::id()));
            match fs::write(&file, &program.bytes) {
                Ok(()) => phit_workload::dumpi::read_files(&file, &Default::default()),
                Err(_) => return Ok("a file that could not be written"),
            }
        }
    };
    match read {
        Err(error) => {
            let words = error.to_string();
            match words.is_empty() || words.chars().count() > 2500 {
                true => wrong("a message of a wrong length", words),
                false => Ok("a file refused"),
            }
        }
        Ok(read) => {
            // Written and read again, it is equal.
            let mut text = Vec::new();
            if let Err(error) = read.each_rank(&mut phit_workload::goal::text::Writer::new(&mut text)) {
                return wrong("a program cannot be written", error.to_string());
            }
            match phit_workload::goal::read(&*text) {
                Ok(again) if again == read => Ok("a file read"),
                Ok(_) => wrong("a program is another when it is written and read", String::new()),
                Err(error) => wrong("a program that was written is refused", error.to_string()),
            }
        }
    }
}
