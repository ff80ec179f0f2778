//! The requests: when they arrive, and how long they are.

use super::InferenceParams;
use crate::error::Error;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(inline)]
pub enum Arrivals {
    /// At random: the times between two are independent and exponential.
    Poisson {
        /// Requests in a second.
        #[schemars(extend("exclusiveMinimum" = 0))]
        #[schemars(extend("x-unit" = "requests/second"))]
        rate: f64,
    },
    /// At equal intervals, the first at time 0.
    Fixed {
        /// Time between two.
        #[schemars(range(min = 0))]
        #[schemars(extend("x-unit" = "nanoseconds"))]
        interval: f64,
    },
}

/// Numbers of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(inline)]
pub enum Lengths {
    /// All requests have the same number of tokens.
    Fixed {
        /// Tokens.
        #[schemars(range(min = 1))]
        tokens: u32,
    },
    /// A number is drawn for each request; every one from `least` to `most` is equally likely.
    Uniform {
        /// The smallest number.
        #[schemars(range(min = 1))]
        least: u32,
        /// The largest number.
        #[schemars(range(min = 1))]
        most: u32,
    },
    /// Geometric: after each token the end is equally likely.
    Geometric {
        /// Mean number of tokens, at least 1.
        #[schemars(range(min = 1))]
        mean: f64,
    },
    /// Log-normal, rounded, at least 1.
    Lognormal {
        /// Mean number of tokens before rounding.
        #[schemars(extend("exclusiveMinimum" = 0))]
        mean: f64,
        /// Standard deviation of the number's logarithm.
        #[schemars(range(min = 0))]
        sigma: f64,
    },
}

/// Most tokens of a prompt or of an output.
const MOST: u32 = 100_000_000;

/// Most tokens that are generated in all: the time of each is recorded.
const MOST_TOKENS: u64 = 1 << 28;

/// A request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    /// When it arrives, in nanoseconds.
    pub arrival: f64,
    /// Tokens of its prompt.
    pub prompt: u32,
    /// Tokens to be generated.
    pub output: u32,
}

impl Lengths {
    fn check(self, key: &'static str) -> Result<(), Error> {
        let wrong = |value: f64, expected: &str| Err(Error::key(key, value, expected));
        match self {
            Self::Fixed { tokens } if !(1..=MOST).contains(&tokens) => {
                wrong(tokens.into(), "expected `tokens` from 1 to 100000000")
            }
            Self::Uniform { least, most } if least == 0 || least > most || most > MOST => {
                wrong(most.into(), "expected `most` from `least` to 100000000, and `least` of 1 or more")
            }
            Self::Geometric { mean } if !(mean >= 1.0 && mean <= f64::from(MOST)) => {
                wrong(mean, "expected a `mean` from 1 to 100000000")
            }
            Self::Lognormal { mean, .. } if !(mean > 0.0 && mean <= f64::from(MOST)) => {
                wrong(mean, "expected a `mean` above 0, at most 100000000")
            }
            Self::Lognormal { sigma, .. } if !(0.0..=10.0).contains(&sigma) => {
                wrong(sigma, "expected a `sigma` from 0 to 10")
            }
            _ => Ok(()),
        }
    }

    fn draw(self, random: &mut Random) -> u32 {
        let rounded = |tokens: f64| tokens.round().clamp(1.0, f64::from(MOST)) as u32;
        match self {
            Self::Fixed { tokens } => tokens,
            Self::Uniform { least, most } => least + (random.unit() * f64::from(most - least + 1)) as u32,
            Self::Geometric { mean } if mean <= 1.0 => 1,
            Self::Geometric { mean } => {
                let more = libm::log(random.unit_above()) / libm::log1p(-1.0 / mean);
                rounded(1.0 + more.floor())
            }
            Self::Lognormal { mean, sigma } => {
                rounded(libm::exp(libm::log(mean) - sigma * sigma / 2.0 + sigma * random.normal()))
            }
        }
    }
}

/// Random numbers, equal on every platform.
struct Random(SplitMix64);

impl Random {
    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in (0, 1].
    fn unit_above(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// Normal with mean 0 and variance 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit_above()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }
}

impl InferenceParams {
    /// The requests, in the order of arrival.
    pub(super) fn load(&self, seed: u64) -> Result<Vec<Request>, Error> {
        let requests = if self.trace.is_empty() { self.drawn(seed)? } else { self.listed()? };
        let tokens: u64 = requests.iter().map(|request| u64::from(request.output)).sum();
        if tokens > MOST_TOKENS {
            return Err(Error::key(
                "output",
                tokens,
                format!("expected at most {MOST_TOKENS} generated tokens in all"),
            ));
        }
        if let Some(room) = self.decode.cache_tokens {
            let tokens = |request: &Request| u64::from(request.prompt) + u64::from(request.output);
            if let Some(most) = requests.iter().map(tokens).max().filter(|most| *most > room) {
                let expected = format!("expected {most} or more, the tokens of the longest request");
                return Err(Error::key("decode.cache_tokens", room, expected));
            }
        }
        Ok(requests)
    }

    fn listed(&self) -> Result<Vec<Request>, Error> {
        for (key, given) in [
            ("requests", self.requests.is_some()),
            ("arrivals", self.arrivals.is_some()),
            ("prompt", self.prompt.is_some()),
            ("output", self.output.is_some()),
        ] {
            if given {
                let message = format!("{key}: the requests are those of `trace`; leave it out");
                return Err(Error { key: Some(key), ..Error::new(message) });
            }
        }
        let mut before = 0.0;
        let mut requests = Vec::with_capacity(self.trace.len());
        for (number, &(arrival, prompt, output)) in self.trace.iter().enumerate() {
            let wrong = |expected: &str| Err(Error::key("trace", format!("[{number}]"), expected));
            if !(arrival.is_finite() && arrival >= before) {
                return wrong("expected a time of arrival of 0 or more, not before that of the request before");
            }
            if !(1..=MOST).contains(&prompt) || !(1..=MOST).contains(&output) {
                return wrong("expected a prompt and an output of 1 to 100000000 tokens");
            }
            before = arrival;
            requests.push(Request { arrival, prompt, output });
        }
        Ok(requests)
    }

    fn drawn(&self, seed: u64) -> Result<Vec<Request>, Error> {
        let needs =
            |key: &'static str| Error { key: Some(key), ..Error::new(format!("{key}: required without a `trace`")) };
        let count = self.requests.ok_or_else(|| needs("requests"))?;
        if !(1..=1_000_000).contains(&count) {
            return Err(Error::key("requests", count, "expected 1 to 1000000"));
        }
        let arrivals = self.arrivals.ok_or_else(|| needs("arrivals"))?;
        match arrivals {
            Arrivals::Poisson { rate } if !(rate > 0.0 && rate.is_finite()) => {
                return Err(Error::key("arrivals", rate, "expected a `rate` above 0"));
            }
            Arrivals::Fixed { interval } if !(interval >= 0.0 && interval.is_finite()) => {
                return Err(Error::key("arrivals", interval, "expected an `interval` of 0 or more"));
            }
            _ => {}
        }
        let prompt = self.prompt.ok_or_else(|| needs("prompt"))?;
        let output = self.output.ok_or_else(|| needs("output"))?;
        prompt.check("prompt")?;
        output.check("output")?;
        // Times and lengths have streams of their own: other arrivals leave the lengths as they are.
        let stream = |number: u64| Random(SplitMix64::seed_from_u64(seed ^ number << 56));
        let [mut times, mut prompts, mut outputs] = [1, 2, 3].map(stream);
        let mut now = 0.0;
        let mut one = |number: u32| {
            match arrivals {
                Arrivals::Poisson { rate } => now -= libm::log(times.unit_above()) * 1e9 / rate,
                Arrivals::Fixed { interval } => now = f64::from(number) * interval,
            }
            Request { arrival: now, prompt: prompt.draw(&mut prompts), output: output.draw(&mut outputs) }
        };
        Ok((0..count).map(&mut one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(lengths: Lengths) -> f64 {
        let mut random = Random(SplitMix64::seed_from_u64(5));
        (0..40_000).map(|_| f64::from(lengths.draw(&mut random))).sum::<f64>() / 40_000.0
    }

    #[test]
    fn lengths_have_their_means() {
        assert_eq!(mean(Lengths::Fixed { tokens: 7 }), 7.0);
        for (lengths, expected, error) in [
            (Lengths::Uniform { least: 10, most: 30 }, 20.0, 0.1),
            (Lengths::Geometric { mean: 50.0 }, 50.0, 1.0),
            (Lengths::Geometric { mean: 1.0 }, 1.0, 0.0),
            (Lengths::Lognormal { mean: 500.0, sigma: 0.8 }, 500.0, 8.0),
        ] {
            let found = mean(lengths);
            assert!((found - expected).abs() <= error, "{lengths:?}: {found}");
        }
    }
}
