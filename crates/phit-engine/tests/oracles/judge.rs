//! Whether an answer is possible.

use phit_engine::engine::watched;
use phit_engine::result::Outcome;
use phit_engine::run::{self, Options, RunError, Simulation};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A wrong answer: its class, and its description.
pub type Wrong = (String, String);

/// The class of a case that is not wrong.
pub type Judged = Result<&'static str, Wrong>;

/// Cycles in which packets are generated.
const CYCLES: u32 = 300;

/// Cycles within which any network is empty again after these.
const DRAIN: u32 = 1_000_000;

/// A case that takes longer is not judged.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most bytes that a case may take.
const MEMORY: u64 = 32 << 20;

/// Largest utilisation of a link for which waiting is judged: above, waiting has no simple bound.
const BUSY: f64 = 0.6;

/// Factor by which two mean latencies of some hundred packets differ by chance, because packets take different routes.
const CHANCE: f64 = 1.1;

pub fn wrong(class: &str, words: String) -> Wrong {
    (class.to_owned(), format!("{class}: {}", words.chars().take(900).collect::<String>()))
}

/// The document with traffic at a load until a cycle, and enough time for all of it to arrive.
fn ending(document: &Value, load: f64, cycles: u32) -> Value {
    let mut document = document.clone();
    document["traffic"]["load"] = json!(load);
    document["traffic"]["changes"] = json!([{ "cycle": cycles, "load": 0 }]);
    document["measure"] = json!({ "warmup": 0, "cycles": cycles, "count": "generated", "max_drain": DRAIN });
    document
}

/// Runs a document, if it is valid. A deadlock is wrong if `verify` proves that there is none.
pub fn outcome(document: &Value, options: Options) -> Result<Result<Outcome, &'static str>, Wrong> {
    let Ok(scenario) = Scenario::from_value(document) else { return Ok(Err("refused when read")) };
    let start = Instant::now();
    let patient = move || start.elapsed() < PATIENCE;
    let built = match watched(Box::new(patient), || Simulation::within(&scenario, options, Some(MEMORY))) {
        Ok(Ok(built)) => built,
        Ok(Err(_)) => return Ok(Err("refused when checked")),
        Err(_) => return Ok(Err("took long")),
    };
    match watched(Box::new(patient), || built.run(&mut |_, _| patient())) {
        Err(_) | Ok(Err(RunError::Stopped(_))) => Ok(Err("took long")),
        Ok(Ok(outcome)) => Ok(Ok(outcome)),
        Ok(Err(RunError::Deadlock(words))) => match run::verify(&scenario) {
            Ok(report) if report["proved"] == true => Err(wrong("a deadlock that is proved impossible", words)),
            _ => Ok(Err("a deadlock without a proof that there is none")),
        },
        Ok(Err(error)) => Err(wrong("refused when it ran", error.to_string())),
    }
}

/// Why a document is refused at the load of [`far_below_saturation`], if it is.
pub fn refusal(document: &Value, load: f64) -> Option<String> {
    let document = if document.get("workload").is_some() { document.clone() } else { ending(document, load, CYCLES) };
    match Scenario::from_value(&document) {
        Err(error) => Some(error.to_string()),
        Ok(scenario) => {
            Simulation::within(&scenario, Options::default(), Some(MEMORY)).err().map(|error| error.to_string())
        }
    }
}

/// Runs a document whose traffic ends: every packet arrives, or is lost over what broke.
pub fn arrives(document: &Value, options: Options) -> Result<Result<Outcome, &'static str>, Wrong> {
    let outcome = match outcome(document, options)? {
        Ok(outcome) => outcome,
        Err(how) => return Ok(Err(how)),
    };
    let flow = &outcome.collector().counters.flow;
    let (generated, gone) = (flow.generated_packets, flow.generated_delivered + flow.generated_lost);
    match generated == gone {
        true => Ok(Ok(outcome)),
        false => Err(wrong("packets that never arrive", format!("{gone} of {generated} have arrived"))),
    }
}

/// Threads and partitions, others for other documents, but for one document always the same.
fn divided(document: &Value) -> Options {
    let all = [(1, Some(3)), (2, None), (2, Some(5)), (3, None), (3, Some(3)), (1, Some(2))];
    let (threads, partitions) = all[document.to_string().len() % all.len()];
    Options { threads, partitions }
}

/// Refuses another result than that of one thread and partition.
fn alike(whole: &Outcome, parted: &Outcome, Options { threads, partitions }: Options) -> Result<(), Wrong> {
    let differing = |key: &&String| whole.summary().get(*key) != parted.summary().get(*key);
    let keys: Vec<String> = whole.summary().keys().filter(differing).cloned().collect();
    match keys.is_empty() && whole.tables() == parted.tables() {
        true => Ok(()),
        false => Err(wrong(
            "another result with other threads or partitions",
            format!("{threads} threads, {partitions:?} partitions: {keys:?} differ"),
        )),
    }
}

/// Judges a scenario at a load far below saturation: everything arrives, in about the time that an empty network takes,
/// and the same on any number of partitions.
pub fn far_below_saturation(document: &Value, load: f64) -> Judged {
    let judged = ending(document, load, CYCLES);
    let measured = match arrives(&judged, Options::default())? {
        Ok(measured) => measured,
        Err(how) => return Ok(how),
    };
    let divided = divided(document);
    let parted = match arrives(&judged, divided)? {
        Ok(parted) => parted,
        Err(how) => return Ok(how),
    };
    alike(&measured, &parted, divided)?;
    if document.pointer("/traffic/process/kind").or(document.pointer("/traffic/process")) == Some(&json!("on_off")) {
        // Packets of a burst wait for each other.
        return Ok("arrives");
    }
    let sparse = match arrives(&ending(document, load / 10.0, 10 * CYCLES), Options::default())? {
        Ok(sparse) => sparse,
        Err(how) => return Ok(how),
    };
    let (Some(latency), Some(empty)) = (measured.latency_mean(), sparse.latency_mean()) else {
        return Ok("nothing sent");
    };
    match waiting(&measured, empty) {
        None => Ok("arrives at links that are busy"),
        Some(waiting) if latency <= CHANCE * empty + 2.0 + waiting => Ok("arrives in time"),
        Some(waiting) => {
            let words = format!("{latency:.1} cycles, {empty:.1} at a tenth of the load, and {waiting:.1} of waiting");
            Err(wrong("latency far above that of an empty network", words))
        }
    }
}

/// Cycles that packets may wait in total, computed from the links' utilisation. A link of utilisation r that takes s
/// cycles for a packet adds r s / (1 - r) on average. This is twice the wait for Poisson arrivals with a constant
/// service time (Pollaczek and Khinchine). `None` if some link was too busy for this bound.
///
/// With atomic reuse, a link takes a packet's virtual channel back only when all credits have returned. It is busy
/// until then, which is less than the time of a packet through an empty network.
fn waiting(outcome: &Outcome, empty: f64) -> Option<f64> {
    let (summary, scenario) = (outcome.summary(), outcome.scenario().to_value());
    let links = &scenario["router"]["links"];
    let rate = |class: &str, key: &str| {
        let of = |class: &str| links.get(class).and_then(|link| link.get(key)?.as_f64());
        of(class).or_else(|| of("default"))
    };
    let largest = largest(&scenario["traffic"]["packet_size"]);
    let atomic = scenario["router"]["vc_reuse"] == "empty";
    // A packet-level node serves one packet after another.
    let node = scenario["router"]["node"]["answer"].as_f64().unwrap_or(0.0);
    let mut all = Vec::new();
    for (class, used) in summary.get("link_utilisation").and_then(Value::as_object).into_iter().flatten() {
        let bandwidth = rate(class, "bandwidth").unwrap_or(1.0);
        let used = used["max"].as_f64().unwrap_or(0.0);
        all.push((used * (1.0 + node), largest / bandwidth + node));
    }
    let injected = rate("endpoint", "injection_bandwidth").or(rate("endpoint", "bandwidth")).unwrap_or(1.0);
    all.push((outcome.offered_load() / injected, largest / injected));
    if let Some(crossbar) = scenario["router"]["crossbar_bandwidth"].as_f64() {
        // Its ports carry what the busiest link does.
        let busiest = summary.get("link_utilisation").and_then(Value::as_object).into_iter().flatten();
        let phits =
            busiest.map(|(class, used)| used["max"].as_f64().unwrap_or(0.0) * rate(class, "bandwidth").unwrap_or(1.0));
        all.push((phits.fold(0.0, f64::max) / crossbar, largest / crossbar));
    }
    let hops = summary.get("hops_mean").and_then(Value::as_f64).unwrap_or(0.0) + 2.0;
    let mut most = 0.0f64;
    for (used, service) in all {
        let (used, service) = match atomic {
            true => (used * (1.0 + empty / service), service + empty),
            false => (used, service),
        };
        if used > BUSY {
            return None;
        }
        most = most.max(used * service / (1.0 - used));
    }
    Some(hops * most)
}

/// The largest packet size in a table of sizes.
fn largest(sizes: &Value) -> f64 {
    match sizes {
        Value::Object(table) => {
            table.iter().filter(|(key, _)| *key != "weights").map(|(_, it)| largest(it)).fold(1.0, f64::max)
        }
        Value::Array(list) => list.iter().map(largest).fold(1.0, f64::max),
        other => other.as_f64().unwrap_or(1.0),
    }
}

/// Judges a program. It ends, but not before the links of endpoints can have carried their data. Results are equal on
/// any number of partitions.
pub fn program(document: &Value) -> Judged {
    let measured = match outcome(document, Options::default())? {
        Ok(measured) => measured,
        Err(how) => return Ok(how),
    };
    let divided = divided(document);
    if let Ok(parted) = outcome(document, divided)? {
        alike(&measured, &parted, divided)?;
    }
    let summary = measured.summary();
    let used = summary["link_utilisation"]["endpoint"]["max"].as_f64().unwrap_or(0.0);
    match summary["completion"].as_u64() > Some(0) {
        false => Err(wrong("a program without an end", String::new())),
        true if used > 1.0 + 1e-9 => Err(wrong("an endpoint's link that carries more than it can", used.to_string())),
        true => Ok("arrives"),
    }
}
