//! Runs a JSON scenario given on standard input and prints the summary with its speed.
use phit_engine::measure::Cost;
use phit_engine::{run, scenario::Scenario};
use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let arg = |n: usize| std::env::args().nth(n).and_then(|a| a.parse::<usize>().ok());
    let value = serde_json::from_str(&text).unwrap();
    let scenario = Scenario::from_value(&value).unwrap_or_else(|e| panic!("{e}"));
    let options = run::Options { threads: arg(1).unwrap_or(1), partitions: arg(2) };
    let start = std::time::Instant::now();
    let outcome = run::run(&scenario, options, &mut |_, _| true).unwrap_or_else(|e| panic!("{e}"));
    let seconds = start.elapsed().as_secs_f64();
    println!("{}", serde_json::to_string_pretty(&outcome.summary()).unwrap());
    eprintln!(
        "{:.3} s, {:.2} M packet-hops/s, {:.2} M flit-hops/s, {} partitions, {} bytes/endpoint",
        seconds,
        outcome.collector().counters.work.packet_hops as f64 / seconds / 1e6,
        outcome.collector().counters.work.flit_hops as f64 / seconds / 1e6,
        outcome.execution(Cost::default())["partitions"],
        outcome.bytes() / outcome.endpoints() as usize,
    );
}
