//! More of a resource never carries less.

use crate::draw::{Choice, one};
use crate::judge::{Judged, outcome};
use phit_engine::engine::Rng;
use phit_engine::run::Options;
use serde_json::{Value, json};

/// Options with a smaller and a larger value.
const OPTIONS: [(&str, u64, u64); 16] = [
    ("/router/allocation_rounds", 1, 2),
    ("/router/allocation_rounds", 1, 4),
    ("/router/allocator/iterations", 1, 3),
    ("/router/vc_allocator/iterations", 1, 3),
    ("/router/links/default/vcs", 4, 8),
    ("/router/links/endpoint/vcs", 2, 4),
    ("/router/links/default/buffer", 16, 32),
    ("/router/links/default/buffer", 32, 128),
    ("/router/links/endpoint/buffer", 16, 64),
    ("/router/output_buffer", 8, 32),
    ("/router/speedup", 1, 2),
    ("/router/input_speedup", 1, 2),
    ("/router/output_speedup", 1, 2),
    ("/router/links/default/bandwidth", 1, 2),
    ("/router/credit_delay", 5, 0),
    ("/planes/count", 1, 2),
];

/// Mechanisms whose routes do not depend on the state of the network. The others use occupancies, whose meaning changes
/// with the size of buffers.
const OBLIVIOUS: [&str; 7] = ["minimal", "dimension_order", "valiant", "up_down", "dfsssp", "lash", "goal"];

/// Least accepted load with the larger value, as a share of the accepted load with the smaller. At saturation, some per
/// cent are lost when arbiters fall into step, or when packets spread differently.
const LEAST: f64 = 0.85;

pub struct More {
    pointer: &'static str,
    values: [u64; 2],
    load: f64,
}

pub fn draw(rng: &mut Rng) -> More {
    let &(pointer, less, more) = one(rng, &OPTIONS);
    More { pointer, values: [less, more], load: *one(rng, &[0.1, 0.3, 0.5, 1.0]) }
}

impl More {
    pub fn judge(&self, document: &Value) -> Judged {
        let routing = &document["routing"];
        let kind = routing.get("kind").unwrap_or(routing).as_str().unwrap_or("minimal");
        if !OBLIVIOUS.contains(&kind) {
            return Ok("decides by occupancies");
        }
        let (mut accepted, mut offered) = ([0.0; 2], 0.0);
        for (accepted, value) in accepted.iter_mut().zip(self.values) {
            let mut document = document.clone();
            Choice { pointer: self.pointer.into(), name: String::new(), value: json!(value) }.set(&mut document);
            document["traffic"]["load"] = json!(self.load);
            // A share of a faster link would be more.
            document["traffic"]["load_unit"] = json!("phits");
            // At saturation sources that inject faster take the links from packets on their way, and the network
            // carries less, whatever it is made of.
            document["router"]["transit_priority"] = json!(true);
            if self.pointer.ends_with("/bandwidth") {
                // A link that is faster than the crossbar delays a packet until it can be sent without a gap. So its
                // head arrives later at the next router, and buffers are occupied longer.
                document["router"]["speedup"] = json!(2);
            }
            document["measure"] = json!({ "warmup": 300, "cycles": 600 });
            match outcome(&document, Options::default())? {
                Ok(outcome) => (*accepted, offered) = (outcome.accepted_load(), outcome.offered_load()),
                Err(how) => return Ok(how),
            }
        }
        let [few, many] = accepted;
        // Bursts that a short run offers by chance are no more than what was offered.
        match many >= LEAST * few.min(offered) {
            true => Ok("carries as much"),
            false => {
                let (pointer, [less, more]) = (self.pointer, self.values);
                let class = format!("less is accepted with more of {pointer}");
                Err((class.clone(), format!("{class}: {few:.4} at {less}, {many:.4} at {more}, of {}", self.load)))
            }
        }
    }
}
