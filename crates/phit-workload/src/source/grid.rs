//! Ranks in a grid, the first coordinate fastest.

use crate::error::Error;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// A grid with this number of ranks in each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    dims: Vec<u32>,
}

impl Grid {
    pub(crate) fn new(dims: &[u32]) -> Result<Self, Error> {
        if dims.is_empty() || size(dims) == 0 {
            return Err(Error::key("dims", format!("{dims:?}"), "expected one number or more, each 1 or more"));
        }
        Ok(Self { dims: dims.to_vec() })
    }

    /// The coordinate of a rank in a dimension.
    pub(crate) fn coordinate(&self, rank: u32, dim: usize) -> u32 {
        rank / self.stride(dim) % self.dims[dim]
    }

    /// The next rank in a dimension, or the rank before; beyond the edge only if the grid is periodic.
    pub(crate) fn neighbour(&self, rank: u32, dim: usize, up: bool, periodic: bool) -> Option<u32> {
        let (size, stride, own) = (self.dims[dim], self.stride(dim), self.coordinate(rank, dim));
        let other = match (up, own) {
            (true, own) if own + 1 < size => own + 1,
            (false, own) if own > 0 => own - 1,
            _ if !periodic || size == 1 => return None,
            (true, _) => 0,
            (false, _) => size - 1,
        };
        Some(rank - own * stride + other * stride)
    }

    fn stride(&self, dim: usize) -> u32 {
        self.dims[..dim].iter().product()
    }
}

/// Number of ranks of a grid; the largest number if it overflows.
pub(crate) fn size(dims: &[u32]) -> u32 {
    dims.iter().fold(1u32, |size, dim| size.saturating_mul(*dim))
}

/// A value for each dimension, given once for all or one by one.
pub(crate) fn for_each(key: &'static str, values: &[u64], dims: &[u32]) -> Result<Vec<u64>, Error> {
    match values {
        [one] => Ok(vec![*one; dims.len()]),
        _ if values.len() == dims.len() => Ok(values.to_vec()),
        _ => {
            let expected = format!("expected one number, or one for each of the {} dimensions", dims.len());
            Err(Error::key(key, format!("{values:?}"), expected))
        }
    }
}

/// Reads one number, or a list with a number for each dimension.
pub(crate) fn one_or_each<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u64>, D::Error> {
    struct Numbers;
    impl<'de> Visitor<'de> for Numbers {
        type Value = Vec<u64>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number, or a list of one for each dimension")
        }
        fn visit_u64<E: serde::de::Error>(self, one: u64) -> Result<Vec<u64>, E> {
            Ok(vec![one])
        }
        fn visit_i64<E: serde::de::Error>(self, one: i64) -> Result<Vec<u64>, E> {
            let number = u64::try_from(one).map(|one| vec![one]);
            number.map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(one), &self))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, row: A) -> Result<Vec<u64>, A::Error> {
            Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(row))
        }
    }
    d.deserialize_any(Numbers)
}

/// The schema for [`one_or_each`] in bytes.
pub(crate) fn one_or_each_schema(_: &mut SchemaGenerator) -> Schema {
    let number = || json_schema!({ "type": "integer", "minimum": 0, "x-unit": "bytes" });
    json_schema!({ "anyOf": [number(), { "type": "array", "items": number(), "minItems": 1 }], "x-unit": "bytes" })
}
