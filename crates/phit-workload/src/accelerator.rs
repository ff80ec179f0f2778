//! The roofline of an accelerator: how long it takes for operations and bytes.

use crate::error::Error;
use crate::model::Model;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// An accelerator, by its name or by its rates. Rates given beside a name replace those of the named accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct AcceleratorParams {
    /// An accelerator. Without it, `peak` and `bandwidth` are required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Accelerator>,
    /// Operations in a nanosecond at most: 1000 are 1 TFLOP/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "operations/nanosecond"))]
    pub peak: Option<f64>,
    /// Bytes that memory delivers in a nanosecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "bytes/nanosecond"))]
    pub bandwidth: Option<f64>,
    /// Share of the peak that calculations reach; 1 if left out.
    #[serde(default, deserialize_with = "share", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub efficiency: Option<f64>,
}

/// Accelerators with the dense 16-bit peak and the memory bandwidth of their data sheets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Accelerator {
    /// NVIDIA V100 SXM2: 125 TFLOP/s, 900 GB/s.
    V100,
    /// NVIDIA A100 80GB SXM: 312 TFLOP/s, 2,039 GB/s.
    A100,
    /// NVIDIA H100 SXM: 989.4 TFLOP/s, 3,350 GB/s.
    H100,
    /// NVIDIA H200 SXM: 989.4 TFLOP/s, 4,800 GB/s.
    H200,
    /// AMD Instinct MI300X: 1,307.4 TFLOP/s, 5,300 GB/s.
    Mi300x,
}

impl Accelerator {
    /// Every accelerator.
    pub const ALL: [Self; 5] = [Self::V100, Self::A100, Self::H100, Self::H200, Self::Mi300x];

    /// Operations and bytes of memory in a nanosecond.
    fn rates(self) -> (f64, f64) {
        match self {
            Self::V100 => (125e3, 900.0),
            Self::A100 => (312e3, 2039.0),
            Self::H100 => (989.4e3, 3350.0),
            Self::H200 => (989.4e3, 4800.0),
            Self::Mi300x => (1307.4e3, 5300.0),
        }
    }
}

/// Reads a share, which is above 0.
fn share<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    match Option::deserialize(from)? {
        Some(share) if !(share > 0.0 && share <= 1.0) => Err(D::Error::custom("expected a number above 0, at most 1")),
        share => Ok(share),
    }
}

/// The rates of an accelerator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    /// Operations in a nanosecond.
    pub peak: f64,
    /// Bytes in a nanosecond.
    pub bandwidth: f64,
}

impl AcceleratorParams {
    /// The rates that calculations reach.
    pub fn roofline(&self) -> Result<Roofline, Error> {
        let named = self.name.map(Accelerator::rates);
        let rate = |key: &'static str, given: Option<f64>, named: Option<f64>| match given.or(named) {
            None => Err(Error { key: Some(key), ..Error::new(format!("{key}: required without `accelerator.name`")) }),
            Some(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
            Some(rate) => Err(Error::key(key, rate, "expected a number above 0")),
        };
        let peak = rate("accelerator.peak", self.peak, named.map(|(peak, _)| peak))?;
        let bandwidth = rate("accelerator.bandwidth", self.bandwidth, named.map(|(_, bandwidth)| bandwidth))?;
        let efficiency = self.efficiency.unwrap_or(1.0);
        if !(efficiency > 0.0 && efficiency <= 1.0) {
            return Err(Error::key("accelerator.efficiency", efficiency, "expected a number above 0, at most 1"));
        }
        Ok(Roofline { peak: peak * efficiency, bandwidth })
    }
}

/// A layer of a model on one of the accelerators that share it.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// The model.
    pub model: &'a Model,
    /// The accelerator.
    pub roof: Roofline,
    /// Accelerators that share each layer.
    pub tensor: u32,
    /// Accelerators that share the experts of each layer.
    pub expert: u32,
}

/// Tokens that go through a layer together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tokens {
    /// Their number.
    pub count: f64,
    /// Tokens that each of them attends to; the mean.
    pub context: f64,
    /// Earlier tokens, whose keys and values are loaded from memory.
    pub cached: f64,
    /// Experts that are loaded on each accelerator at most; all of its experts if left out.
    pub experts: Option<u64>,
}

impl Layer<'_> {
    /// Nanoseconds of attention, and of the block after it.
    pub fn blocks(&self, &Tokens { count, context, cached, experts }: &Tokens) -> [f64; 2] {
        let &Self { model, roof, tensor, expert } = self;
        let ranks = f64::from(tensor);
        // A block loads its parameters and its input, and stores its output.
        let moved = |parameters: u64| model.bytes(parameters) as f64 / ranks + 2.0 * count * model.token_bytes() as f64;
        let active = if model.experts == 0 { 1 } else { model.active_experts };
        let attention = count * model.attention_operations(context) / ranks;
        let block = count * f64::from(active) * model.block_operations() / ranks;
        let of_block = match model.experts {
            0 => model.block(),
            _ => {
                let own = u64::from(model.experts / expert.max(1));
                experts.map_or(own, |most| most.min(own)) * model.block()
            }
        };
        let keys_and_values = cached * model.cache_bytes() as f64 / f64::from(model.layers) / ranks;
        [
            roof.nanoseconds(attention, moved(model.attention()) + keys_and_values),
            roof.nanoseconds(block, moved(of_block)),
        ]
    }
}

impl Roofline {
    /// Nanoseconds for operations that load and store these bytes: the longer of calculation and memory.
    pub fn nanoseconds(&self, operations: f64, bytes: f64) -> f64 {
        (operations / self.peak).max(bytes / self.bandwidth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_the_longer_of_calculation_and_memory() {
        let h100 = AcceleratorParams { name: Some(Accelerator::H100), ..AcceleratorParams::default() };
        let roof = h100.roofline().unwrap();
        // A TFLOP takes 1.0107 ms; 3.35 GB take 1 ms.
        assert!((roof.nanoseconds(1e12, 0.0) - 1_010_714.0).abs() < 1.0);
        assert_eq!(roof.nanoseconds(1e9, 3.35e9), 1e6);
        // Half the peak takes twice the time, of calculations alone.
        let half = AcceleratorParams { efficiency: Some(0.5), ..h100 }.roofline().unwrap();
        assert_eq!(half.nanoseconds(1e12, 0.0), 2.0 * roof.nanoseconds(1e12, 0.0));
        assert_eq!(half.nanoseconds(0.0, 1e9), roof.nanoseconds(0.0, 1e9));
        for named in Accelerator::ALL {
            let (peak, bandwidth) = named.rates();
            assert!(peak > bandwidth, "{named:?}");
        }
        let error = |params: AcceleratorParams| params.roofline().unwrap_err().to_string();
        let none = AcceleratorParams::default();
        assert_eq!(error(none), "accelerator.peak: required without `accelerator.name`");
        assert_eq!(
            error(AcceleratorParams { efficiency: Some(1.5), ..h100 }),
            "accelerator.efficiency = 1.5: expected a number above 0, at most 1"
        );
        assert_eq!(
            error(AcceleratorParams { peak: Some(0.0), ..h100 }),
            "accelerator.peak = 0: expected a number above 0"
        );
    }
}
