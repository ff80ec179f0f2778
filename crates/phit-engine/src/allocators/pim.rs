//! Parallel iterative matching: outputs and inputs draw lots.

use super::partners::Partners;
use super::{Allocator, AllocatorContext, AllocatorParams, Best, Request, Round};
use crate::engine::{Memory, NONE, Rng, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The candidates of a lottery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lots {
    /// The requests: each wins with equal probability.
    #[default]
    Requests,
    /// All inputs or outputs of the router: the first requesting one from the drawn one on wins (BookSim). A longer gap
    /// before a port makes it win more often. Ports that compete for several others more often win several at once.
    Places,
}

impl Lots {
    fn among_requests(&self) -> bool {
        *self == Self::Requests
    }
}

/// Parallel iterative matching (Anderson et al., ACM Transactions on Computer Systems 11(4), 1993). Every free output
/// grants one of the free inputs that want it, at random. Then every input accepts one of its grants, at random. If
/// several queues of one input want an output, one of them requests it, in turn.
///
/// ```toml
/// [router.allocator]
/// kind = "pim"
/// iterations = 2
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pim {
    /// Iterations per tick, at least 1.
    #[schemars(range(min = 1))]
    pub iterations: u8,
    /// The candidates of the lotteries.
    #[serde(skip_serializing_if = "Lots::among_requests")]
    pub lots: Lots,
}

impl Default for Pim {
    fn default() -> Self {
        Self { iterations: 1, lots: Lots::default() }
    }
}

impl AllocatorParams for Pim {
    fn considers_all(&self) -> bool {
        true
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        Box::new(Rule {
            iterations: self.iterations.max(1),
            partners: Partners::new(context.ports, context.radix, context.queues),
            best: Best::new(context.radix),
            granted: Vec::new(),
            wheel: (!self.lots.among_requests()).then(|| Wheel::new(context.radix)),
        })
    }
}

struct Rule {
    iterations: u8,
    partners: Partners,
    best: Best,
    /// Places of the requests that outputs grant in an iteration.
    granted: Vec<u32>,
    /// The draws, for lotteries among places.
    wheel: Option<Wheel>,
}

/// By output, or by input: a place that is drawn once in a phase.
struct Wheel {
    drawn: Vec<u32>,
    touched: Vec<u32>,
}

impl Wheel {
    /// For routers with at most `radix` ports.
    fn new(radix: u32) -> Self {
        Self { drawn: vec![NONE; radix as usize], touched: Vec::new() }
    }

    /// Distance of `place` from the place drawn for `slot`.
    fn turn(&mut self, slot: u32, place: u32, rng: &mut Rng) -> u64 {
        let radix = self.drawn.len() as u32;
        let drawn = &mut self.drawn[slot as usize];
        if *drawn == NONE {
            *drawn = rng.below(radix);
            self.touched.push(slot);
        }
        u64::from(if place < *drawn { place + radix - *drawn } else { place - *drawn })
    }

    /// Draws again in the next phase.
    fn end(&mut self) {
        self.touched.drain(..).for_each(|slot| self.drawn[slot as usize] = NONE);
    }
}

/// The lot of `place` for `slot`.
fn lot(wheel: &mut Option<Wheel>, slot: u32, place: u32, rng: &mut Rng) -> u64 {
    match wheel {
        None => rng.bits() >> 2,
        Some(wheel) => wheel.turn(slot, place, rng),
    }
}

impl Allocator for Rule {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        self.partners.fill(&round, requests);
        for _ in 0..self.iterations {
            // The smallest of the numbers drawn for all requests.
            for &place in self.partners.asking() {
                let request = &requests[place as usize];
                let output = request.output - round.first_port;
                let free = self.partners.inputs[usize::from(request.input)] == NONE
                    && self.partners.outputs[output as usize] == NONE;
                if free {
                    let lot = lot(&mut self.wheel, output, request.input.into(), round.rng);
                    self.best.offer(output, lot | u64::from(request.class) << 62, place);
                }
            }
            self.wheel.iter_mut().for_each(Wheel::end);
            let granted = &mut self.granted;
            self.best.drain(|_, place| granted.push(place));
            if self.granted.is_empty() {
                break;
            }
            for place in self.granted.drain(..) {
                let request = &requests[place as usize];
                let (input, output) = (request.input.into(), request.output - round.first_port);
                self.best.offer(input, lot(&mut self.wheel, input, output, round.rng), place);
            }
            self.wheel.iter_mut().for_each(Wheel::end);
            let partners = &mut self.partners;
            self.best.drain(|input, place| partners.pair(input, requests[place as usize].output - round.first_port));
        }
        self.partners.grant(round.first_port, requests, grants);
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        self.partners.serve(first_port, request);
    }

    /// A round draws lots for all requests.
    fn grants_apart(&self) -> bool {
        false
    }

    fn remember(&self, memory: &mut Memory) {
        self.partners.remember(memory);
    }

    fn bytes(&self) -> usize {
        let wheel = self.wheel.as_ref().map_or(0, |wheel| 4 * (wheel.drawn.capacity() + wheel.touched.capacity()));
        self.partners.bytes() + self.best.bytes() + 4 * self.granted.capacity() + wheel
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    /// The share of rounds in which the first of inputs 0 and 1 of eight wins the only output.
    fn share_of_the_first(lots: Lots) -> f64 {
        let mut rule = Pim { iterations: 1, lots }.build(&AllocatorContext { ports: 8, radix: 8, queues: 1 });
        let request = |input: u16| Request {
            queue: input.into(),
            port: input.into(),
            output: 5,
            router: 0,
            birth: 0,
            input,
            lane: 0,
            vc: 0,
            size: 1,
            class: 0,
            granted: false,
        };
        let (requests, mut rng) = ([request(0), request(1)], Rng::new(1, Stream::Router, 0));
        let mut first = 0;
        for now in 0..8000 {
            let mut grants = Vec::new();
            rule.allocate(Round { first_port: 0, now, rng: &mut rng }, &requests, &mut grants);
            assert_eq!(grants.len(), 1);
            first += u32::from(grants == [0]);
        }
        f64::from(first) / 8000.0
    }

    #[test]
    fn who_follows_a_gap_wins_more_lots_among_places() {
        // Five standard deviations. From one of eight places, input 1 is the first requesting input.
        assert!((share_of_the_first(Lots::Requests) - 0.5).abs() < 0.028);
        assert!((share_of_the_first(Lots::Places) - 0.875).abs() < 0.019);
    }
}
