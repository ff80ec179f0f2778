//! Ranks in a grid, the first coordinate fastest.

use crate::error::Error;

/// A grid of so many ranks in each dimension.
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

    /// The next rank in a dimension, or the one before; beyond the edge if the grid is periodic.
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

/// Ranks of a grid; the largest number if there are more.
pub(crate) fn size(dims: &[u32]) -> u32 {
    dims.iter().fold(1u32, |size, dim| size.saturating_mul(*dim))
}

/// What holds for each dimension, given once for all or one by one.
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
