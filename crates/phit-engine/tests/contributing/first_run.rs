use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::json;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let document = json!({
        "topology": { "kind": "single", "endpoints": 8 },
        "traffic": { "load": 0.3, "packet_size": 8 },
        "measure": { "warmup": 200, "cycles": 20_000 },
    });
    let scenario = Scenario::from_value(&document)?;
    let outcome = run::run(&scenario, Options::default(), &mut |_done, _planned| true)?;
    assert!((outcome.accepted_load() - 0.3).abs() < 0.02);
    Ok(())
}
