//! The speed of the engine: hops per CPU second and bytes per endpoint of warmed-up networks.
//!
//! `cargo bench -p phit-engine --bench engine -- --help` lists the options. Hops are counted and timed in several spans
//! of one run. The best span is least disturbed by other work of the machine.

mod cases;

use cases::{Case, cases};
use cpu_time::ProcessTime;
use phit_engine::run::{Options, Simulation};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

const HELP: &str = "\
Usage: cargo bench -p phit-engine --bench engine -- [OPTIONS]

  --case TEXT        only cases whose name contains TEXT; \"=NAME\" for one exactly
  --list             print the names of the cases
  --scenario         print the scenarios of the cases, one JSON document per line
  --json             print one JSON document per case and number of threads; resident_bytes is the growth of the
                     process's peak, so run one case only to learn what it takes
  --quick            a third of the time, for a first impression
  --threads N,M,...  numbers of threads, timed in turn [1]
  --partitions N     instead of the automatic choice
  --spans N          timed spans per run [7]
  --warmup CYCLES    cycles before the first span
  --cycles CYCLES    cycles per span";

struct Settings {
    case: Option<String>,
    list: bool,
    scenario: bool,
    json: bool,
    quick: bool,
    threads: Vec<usize>,
    partitions: Option<usize>,
    spans: u32,
    warmup: Option<u32>,
    cycles: Option<u32>,
}

impl Settings {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self {
            case: None,
            list: false,
            scenario: false,
            json: false,
            quick: false,
            threads: vec![1],
            partitions: None,
            spans: 7,
            warmup: None,
            cycles: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => {}
                "--list" => settings.list = true,
                "--scenario" => settings.scenario = true,
                "--json" => settings.json = true,
                "--quick" => settings.quick = true,
                "--case" => settings.case = Some(value()?),
                "--threads" => settings.threads = value()?.split(',').map(number).collect::<Result<_, _>>()?,
                "--partitions" => settings.partitions = Some(number(&value()?)?),
                "--spans" => settings.spans = number(&value()?)?,
                "--warmup" => settings.warmup = Some(number(&value()?)?),
                "--cycles" => settings.cycles = Some(number(&value()?)?),
                _ => return Err(HELP.into()),
            }
        }
        Ok(settings)
    }

    fn wants(&self, case: &Case) -> bool {
        let exactly = self.case.as_deref().and_then(|wanted| wanted.strip_prefix('='));
        match exactly {
            Some(name) => case.name == name,
            None => !case.by_name && self.case.as_deref().is_none_or(|wanted| case.name.contains(wanted)),
        }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

/// A warmed-up network and its measurements.
struct Bench {
    simulation: Simulation,
    threads: usize,
    hops: Vec<u64>,
    cpu: Vec<f64>,
    wall: Vec<f64>,
    /// CPU seconds that it took to build the network.
    build: f64,
}

impl Bench {
    fn new(scenario: &Scenario, options: Options, warmup: u32, measured: u32) -> Result<Self, String> {
        let start = ProcessTime::now();
        let mut simulation = Simulation::new(scenario, options).map_err(|e| e.to_string())?;
        let build = start.elapsed().as_secs_f64();
        let ticks = simulation.blueprint().links.ticks_per_cycle;
        simulation.advance_to(warmup * ticks);
        simulation.open_window(measured);
        Ok(Self { simulation, threads: options.threads, hops: vec![], cpu: vec![], wall: vec![], build })
    }

    fn hops(&self, flits: bool) -> u64 {
        self.simulation
            .fabric()
            .collectors()
            .iter()
            .map(|c| if flits { c.counters.work.flit_hops } else { c.counters.work.packet_hops })
            .sum()
    }

    fn time(&mut self, cycles: u32, flits: bool) {
        let end = self.simulation.now() + cycles * self.simulation.blueprint().links.ticks_per_cycle;
        let before = self.hops(flits);
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        self.simulation.advance_to(end);
        self.cpu.push(cpu.elapsed().as_secs_f64());
        self.wall.push(wall.elapsed().as_secs_f64());
        self.hops.push(self.hops(flits) - before);
    }

    /// Hops per CPU second of each span, in ascending order.
    fn rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.hops.iter().zip(&self.cpu).map(|(&hops, cpu)| hops as f64 / cpu).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }
}

fn run(case: &Case, settings: &Settings) -> Result<(), String> {
    let idle = peak_resident_bytes();
    let cycles = settings.cycles.unwrap_or(if settings.quick { case.cycles / 2 } else { case.cycles });
    let spans = if settings.quick { settings.spans.div_ceil(2) } else { settings.spans };
    let warmup = settings.warmup.unwrap_or(case.warmup);
    let measured = (cycles * spans).max(1);
    let mut document = case.scenario.clone();
    document["measure"] = json!({ "warmup": warmup, "cycles": measured });
    let scenario = Scenario::from_value(&document).map_err(|e| format!("{}: {e}", case.name))?;
    if settings.scenario {
        println!("{document}");
        return Ok(());
    }

    let benches = settings
        .threads
        .iter()
        .map(|&threads| Bench::new(&scenario, Options { threads, partitions: settings.partitions }, warmup, measured));
    let mut benches = benches.collect::<Result<Vec<_>, _>>()?;
    for _ in 0..spans {
        benches.iter_mut().for_each(|bench| bench.time(cycles, case.flits));
    }
    for bench in benches {
        let endpoints = bench.simulation.blueprint().topology.endpoints();
        let delivered: u64 =
            bench.simulation.fabric().collectors().iter().map(|c| c.counters.load.delivered_phits).sum();
        let accepted = delivered as f64 / (f64::from(endpoints) * f64::from(measured));
        let bytes = bench.simulation.bytes() as f64 / f64::from(endpoints);
        let tables = bench.simulation.tables();
        let tables: Value = tables
            .into_iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(name, bytes)| (name.to_owned(), json!(bytes as f64 / f64::from(endpoints))))
            .collect();
        let rates = bench.rates();
        let (best, median) = (rates.last().copied(), rates.get(rates.len() / 2).copied());
        let partitions = bench.simulation.fabric().partitions();
        if settings.json {
            let record = json!({
                "case": case.name,
                "unit": if case.flits { "flit-hops" } else { "packet-hops" },
                "endpoints": endpoints,
                "threads": bench.threads,
                "partitions": partitions,
                "warmup": warmup,
                "cycles": cycles,
                "accepted_load": accepted,
                "hops": bench.hops,
                "build_seconds": bench.build,
                "cpu_seconds": bench.cpu,
                "wall_seconds": bench.wall,
                "best": best,
                "median": median,
                "bytes_per_endpoint": bytes,
                "tables": tables,
                "resident_bytes": peak_resident_bytes().zip(idle).map(|(peak, idle)| peak - idle),
            });
            println!("{record}");
        } else {
            println!(
                "{:<31} {:>7} {:>5} {:>9} {:>9.2} {:>9.2} {:>8.3} {:>8.0}",
                case.name,
                bench.threads,
                partitions,
                bench.hops.iter().sum::<u64>() / 1000,
                best.unwrap_or(0.0) / 1e6,
                median.unwrap_or(0.0) / 1e6,
                accepted,
                bytes,
            );
        }
    }
    Ok(())
}

/// The most memory that this process has had so far, where the operating system tells.
fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn bench() -> Result<(), String> {
    // `cargo test --all-targets` builds and starts benchmarks too: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let settings = Settings::parse(std::env::args().skip(1))?;
    let cases: Vec<Case> = cases().into_iter().filter(|case| settings.wants(case)).collect();
    if cases.is_empty() {
        return Err(format!("no case {}; see --list", settings.case.unwrap_or_default()));
    }
    if settings.list {
        cases.iter().for_each(|case| println!("{}", case.name));
        return Ok(());
    }
    if !settings.json && !settings.scenario {
        println!(
            "{:<31} {:>7} {:>5} {:>9} {:>9} {:>9} {:>8} {:>8}\n{:<31} {:>7} {:>5} {:>9} {:>19} {:>8} {:>8}",
            "",
            "",
            "parti-",
            "thousand",
            "best of",
            "median",
            "accepted",
            "bytes/",
            "case",
            "threads",
            "tions",
            "hops",
            "M hops/CPU second",
            "load",
            "endpoint",
        );
    }
    cases.iter().try_for_each(|case| run(case, &settings))
}

fn main() -> ExitCode {
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
