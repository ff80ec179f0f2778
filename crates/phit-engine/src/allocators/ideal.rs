//! No contention inside the router: an output-queued switch.

use super::{Allocator, AllocatorContext, AllocatorParams, Request, Round};
use crate::engine::{Memory, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Grants every request at once: no input or output is ever busy, and packets queue at the outputs only. With an
/// infinite output buffer, this is the output-queued switch of Karol, Hluchyj and Morgan (1987).
///
/// ```toml
/// [router.allocator]
/// kind = "ideal"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ideal {}

impl AllocatorParams for Ideal {
    fn matches(&self) -> bool {
        false
    }

    fn build(&self, _: &AllocatorContext) -> Box<dyn Allocator> {
        Box::new(Rule)
    }
}

struct Rule;

impl Allocator for Rule {
    fn allocate(&mut self, _: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        grants.extend(0..requests.len() as u32);
    }

    fn grant_alone(&mut self, _: u32, _: Tick, _: &Request) {}

    fn remember(&self, _memory: &mut Memory) {}

    fn ideal(&self) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        0
    }
}
