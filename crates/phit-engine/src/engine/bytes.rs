//! Bytes of tables.

use super::table::Table;

use std::collections::VecDeque;

/// A value that holds memory besides its own size.
pub(crate) trait Bytes {
    /// Bytes of memory in use.
    fn bytes(&self) -> usize;
}

impl<T> Bytes for Vec<T> {
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T> Bytes for VecDeque<T> {
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T: Bytes, const N: usize> Bytes for [T; N] {
    fn bytes(&self) -> usize {
        self.iter().map(Bytes::bytes).sum()
    }
}

impl<T> Bytes for Table<T> {
    fn bytes(&self) -> usize {
        Table::bytes(self)
    }
}

/// Adds up the bytes of the fields of a structure. It lists all fields: those that hold memory, and after the semicolon
/// those that hold none or share it. A field in neither list does not compile.
macro_rules! bytes_of {
    ($this:expr, $type:ident { $($counted:ident),+ $(,)?; $($other:ident),* $(,)? }) => {{
        let $type { $($counted,)+ $($other: _,)* } = $this;
        0 $(+ $counted.bytes())+
    }};
}
pub(crate) use bytes_of;

/// `bytes_of` table by table: pairs of the name and the bytes of every field that holds memory.
macro_rules! tables_of {
    ($this:expr, $type:ident { $($counted:ident),+ $(,)?; $($other:ident),* $(,)? }) => {{
        let $type { $($counted,)+ $($other: _,)* } = $this;
        vec![$((stringify!($counted), $counted.bytes())),+]
    }};
}
pub(crate) use tables_of;
