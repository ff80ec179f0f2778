//! Programs by name: collectives, patterns of communication and training steps, each a table of parameters.
//!
//! A source is one file: the parameters, which are also the keys of a scenario, and the script made from them. A line
//! in [`SourceKind`] registers it.

mod calc;
mod collective;
mod fft;
mod grid;
mod halo;
mod incast;
mod permutation;
mod routed;
mod sequence;
mod sweep;
mod training;

pub use calc::CalcParams;
pub use collective::CollectiveParams;
pub use fft::FftParams;
pub use halo::HaloParams;
pub use incast::IncastParams;
pub use permutation::{Order, PermutationParams};
pub use sequence::SequenceParams;
pub use sweep::SweepParams;
pub use training::{Schedule, TrainingParams};

use crate::error::Error;
use crate::script::{Calc, Script, Scripts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;

/// The context in which a source is built.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setting {
    /// Number of ranks.
    pub ranks: u32,
    /// Sizes of the network's groups of consecutive ranks; empty if it has none.
    pub groups: Vec<u32>,
    /// Seed of random choices.
    pub seed: u64,
    /// Units of time in a nanosecond, as a fraction. If left out, a unit of time is a nanosecond.
    pub nanosecond: Option<(u128, u128)>,
}

impl Setting {
    /// A time in units of time, rounded to the nearest.
    pub(crate) fn time(&self, nanoseconds: f64) -> u64 {
        let (over, under) = self.nanosecond.unwrap_or((1, 1));
        (nanoseconds * over as f64 / under as f64).round() as u64
    }
}

/// Parameters of a program.
pub trait Source: Debug {
    /// The number of ranks that they imply; `None` if any number will do.
    fn ranks(&self) -> Option<u32> {
        None
    }

    /// True if it fits any number of ranks and asks for none: in a sequence it takes the ranks of the other steps.
    fn fits_all(&self) -> bool {
        false
    }

    /// True if some of its times are nanoseconds, so that the length of a unit of time must be known.
    fn counts_nanoseconds(&self) -> bool {
        false
    }

    /// The scripts of the ranks, one after another.
    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error>;
}

/// Most ranks of a generated program: each rank has tables.
const MOST_RANKS: u32 = 1 << 26;

/// The scripts of a source, for the number of ranks that it implies, or for `ranks`.
/// Its times are nanoseconds.
pub fn scripts(source: &dyn Source, ranks: Option<u32>, groups: &[u32], seed: u64) -> Result<Scripts, Error> {
    timed_scripts(source, ranks, groups, seed, None)
}

/// [`scripts`] with units of time in a nanosecond, as a fraction, see [`Setting`].
pub fn timed_scripts(
    source: &dyn Source,
    ranks: Option<u32>,
    groups: &[u32],
    seed: u64,
    nanosecond: Option<(u128, u128)>,
) -> Result<Scripts, Error> {
    let count = match (source.ranks(), ranks) {
        (Some(implied), Some(ranks)) if implied > ranks => {
            return Err(Error::new(format!("has {implied} ranks, expected at most {ranks}")));
        }
        (Some(implied), _) => implied,
        (None, Some(ranks)) => ranks,
        (None, None) => return Err(Error { key: Some("ranks"), ..Error::new("ranks: a number of ranks is required") }),
    };
    if count == 0 {
        return Err(Error::key("ranks", 0, "expected 1 rank or more"));
    }
    if count > MOST_RANKS {
        return Err(Error::key("ranks", count, format!("expected at most {MOST_RANKS} ranks")));
    }
    // Groups with more ranks than there are mean nothing.
    let fits = groups.iter().map(|size| u64::from(*size)).sum::<u64>() == u64::from(count);
    let groups = if fits { groups.to_vec() } else { vec![] };
    Ok(Scripts::new(count, source.scripts(&Setting { ranks: count, groups, seed, nanosecond })?))
}

macro_rules! sources {
    ($($(#[$meta:meta])* $name:literal => $variant:ident($params:ty)),+ $(,)?) => {
        /// A source by its name.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum SourceKind {
            $(#[doc = concat!("`kind = \"", $name, "\"`")] #[serde(rename = $name)] $variant($params),)+
        }

        impl SourceKind {
            /// Names accepted as `kind`.
            pub const KINDS: &'static [&'static str] = &[$($name),+];

            /// The parameters.
            pub fn source(&self) -> &dyn Source {
                match self {
                    $(Self::$variant(params) => params,)+
                }
            }

            /// `(kind, schema)` of every source.
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($name, schemars::schema_for!($params))),+]
            }
        }
    };
}

sources! {
    "collective" => Collective(CollectiveParams),
    "training" => Training(TrainingParams),
    "halo" => Halo(HaloParams),
    "sweep" => Sweep(SweepParams),
    "fft" => Fft(FftParams),
    "incast" => Incast(IncastParams),
    "permutation" => Permutation(PermutationParams),
    "calc" => Calc(CalcParams),
    "sequence" => Sequence(SequenceParams),
}

/// The default number of repetitions.
fn once() -> u32 {
    1
}

/// Scripts repeated `times` times.
fn repeated(scripts: Vec<Arc<dyn Script>>, times: u32) -> Result<Vec<Arc<dyn Script>>, Error> {
    const MOST: usize = 1_000_000;
    let count = scripts.len().saturating_mul(times as usize);
    if count > MOST {
        return Err(Error::key("times", times, format!("expected at most {MOST} parts in all, not {count}")));
    }
    Ok((0..times).flat_map(|_| scripts.iter().cloned()).collect())
}

/// A script after a calculation, if that takes any time; both repeated `times` times.
fn after_calc(calc: u64, script: impl Script + 'static, times: u32) -> Result<Vec<Arc<dyn Script>>, Error> {
    let before = (calc > 0).then(|| Arc::new(Calc(calc)) as Arc<dyn Script>);
    repeated(before.into_iter().chain([Arc::new(script) as Arc<dyn Script>]).collect(), times)
}

#[cfg(test)]
mod tests;
