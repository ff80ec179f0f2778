//! The protobuf messages of Chakra execution traces, schema 0.0.4, limited to the fields in use.
//!
//! S. Sridharan et al., "Chakra: Advancing Performance Benchmarking and Co-design Using Standardized Execution Traces",
//! arXiv 2305.14516, 2023.

use crate::error::Error;
use prost::Message;
use prost::encoding::{DecodeContext, decode_key, skip_field};
use std::io::{BufRead, Read};
use std::ops::RangeInclusive;

/// The first message of a file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GlobalMetadata {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) attributes: Vec<Attribute>,
}

/// Every other message.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Node {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(int32, tag = "3")]
    pub(crate) kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub(crate) control: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub(crate) data: Vec<u64>,
    #[prost(uint64, tag = "6")]
    pub(crate) start_micros: u64,
    #[prost(uint64, tag = "7")]
    pub(crate) duration_micros: u64,
    #[prost(message, optional, tag = "8")]
    pub(crate) inputs: Option<Values>,
    #[prost(message, repeated, tag = "10")]
    pub(crate) attributes: Vec<Attribute>,
}

/// Inputs of a node, each list as text.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Values {
    #[prost(string, tag = "1")]
    pub(crate) values: String,
}

/// A named value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attribute {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(oneof = "Value", tags = "3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29, 31")]
    pub(crate) value: Option<Value>,
}

/// The type of a value depends on the writer of the file, so a number is accepted in any type.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Value {
    #[prost(double, tag = "3")]
    Double(f64),
    #[prost(float, tag = "5")]
    Float(f32),
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(string, tag = "29")]
    String(String),
    #[prost(bytes, tag = "31")]
    Bytes(Vec<u8>),
}

/// A list of booleans.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bools {
    #[prost(bool, repeated, tag = "1")]
    pub(crate) values: Vec<bool>,
}

impl Value {
    /// A nonnegative whole number, of any type.
    pub(crate) fn whole(&self) -> Option<u64> {
        match self {
            Self::Double(value) => (*value >= 0.0 && value.fract() == 0.0 && *value < 1e19).then_some(*value as u64),
            Self::Float(value) => (*value >= 0.0 && value.fract() == 0.0).then_some(*value as u64),
            Self::Int32(value) | Self::Sint32(value) | Self::Sfixed32(value) => u64::try_from(*value).ok(),
            Self::Int64(value) | Self::Sint64(value) | Self::Sfixed64(value) => u64::try_from(*value).ok(),
            Self::Uint32(value) | Self::Fixed32(value) => Some(u64::from(*value)),
            Self::Uint64(value) | Self::Fixed64(value) => Some(*value),
            Self::Bool(value) => Some(u64::from(*value)),
            Self::String(text) => text.parse().ok(),
            Self::Bools(_) | Self::Bytes(_) => None,
        }
    }
}

/// Where a node begins in its file, as far as the file's form tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// Bytes before it, uncompressed.
    Byte(u64),
    /// Its line, from 1.
    Line(u64),
}

impl At {
    /// An error with this place, unless it has one.
    pub(super) fn mark(self, error: Error) -> Error {
        match self {
            Self::Byte(byte) => Error { byte: error.byte.or(Some(byte)), ..error },
            Self::Line(line) => error.at(line),
        }
    }
}

/// Receives the nodes of a file, one by one.
pub(super) type Sink<'s> = dyn FnMut(Node, At) -> Result<(), Error> + 's;

/// Largest message that is read, in bytes: a larger length is an error.
const MOST: u64 = 1 << 28;

/// Passes on the nodes of a file: the messages after the metadata, each preceded by its length. One message is stored
/// at a time.
pub(super) fn nodes(mut input: impl BufRead, sink: &mut Sink<'_>) -> Result<(), Error> {
    let mut number = 0u64;
    let mut byte = 0u64;
    let mut buffer = vec![];
    let message_of = |number, byte, error: Error| {
        At::Byte(byte).mark(Error { message: format!("message {number}: {}", error.message), ..error })
    };
    while let Some((length, digits)) = length(&mut input).map_err(|error| message_of(number, byte, error))? {
        let failed = |message: String| message_of(number, byte, Error::new(message));
        if length > MOST {
            return Err(failed(format!("its length is {length} bytes, expected at most {MOST}")));
        }
        buffer.clear();
        let read = input.by_ref().take(length).read_to_end(&mut buffer);
        let read = read.map_err(|error| At::Byte(byte).mark(error.into()))? as u64;
        if read < length {
            return Err(failed(format!("it has {length} bytes, and the file {read} of them")));
        }
        let wrong = |error: prost::DecodeError| failed(format!("no Chakra message ({error})"));
        let known = if number == 0 { METADATA_FIELDS } else { NODE_FIELDS };
        if let Some(field) = unknown(&buffer, known).map_err(wrong)? {
            let what = if number == 0 { "metadata of a trace" } else { "a node" };
            return Err(failed(format!("is not {what}, which has no field {field}")));
        }
        match number {
            0 => drop(GlobalMetadata::decode(&buffer[..]).map_err(wrong)?),
            _ => {
                let node = Node::decode(&buffer[..]).map_err(wrong)?;
                sink(node, At::Byte(byte)).map_err(|error| At::Byte(byte).mark(error))?;
            }
        }
        number += 1;
        byte += digits + length;
    }
    match number {
        0 => Err(Error::new("the file is empty")),
        _ => Ok(()),
    }
}

/// Numbers of the fields in the schema. The decoder skips all others silently.
const METADATA_FIELDS: RangeInclusive<u32> = 1..=2;
const NODE_FIELDS: RangeInclusive<u32> = 1..=10;

/// The first field of a message that is not `known`.
fn unknown(mut message: &[u8], known: RangeInclusive<u32>) -> Result<Option<u32>, prost::DecodeError> {
    while !message.is_empty() {
        let (field, wire) = decode_key(&mut message)?;
        if !known.contains(&field) {
            return Ok(Some(field));
        }
        skip_field(wire, field, &mut message, DecodeContext::default())?;
    }
    Ok(None)
}

/// A number in base 128, the lowest digit first, and how many digits it has; `None` at the end of the file.
fn length(input: &mut impl BufRead) -> Result<Option<(u64, u64)>, Error> {
    let mut length = 0u64;
    for digit in 0..5 {
        let mut byte = [0];
        if input.read(&mut byte)? == 0 {
            return match digit {
                0 => Ok(None),
                _ => Err(Error::new("the file ends within its length")),
            };
        }
        length |= u64::from(byte[0] & 0x7f) << (7 * digit);
        if byte[0] & 0x80 == 0 {
            return Ok(Some((length, digit + 1)));
        }
    }
    Err(Error::new("no length stands before it"))
}
