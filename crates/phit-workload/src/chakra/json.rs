//! Traces as JSON, as Chakra's own converter writes them: the messages one after the other, in the JSON form of
//! protobuf, in which whole numbers of 64 bits are texts and types go by their names.

use super::format::{Attribute, Bools, Node, Value, Values};
use crate::error::{Error, quoted};
use serde::Deserialize;
use serde_json::Value as Json;
use std::io::BufRead;

/// Names of the types of nodes.
const TYPES: [&str; 8] = [
    "INVALID_NODE",
    "METADATA_NODE",
    "MEM_LOAD_NODE",
    "MEM_STORE_NODE",
    "COMP_NODE",
    "COMM_SEND_NODE",
    "COMM_RECV_NODE",
    "COMM_COLL_NODE",
];

/// True of the first bytes of a JSON text; those of a protobuf message may begin with a brace, but not go on like this.
pub(crate) fn is_json(start: &[u8]) -> bool {
    let mut bytes = start.iter().filter(|byte| !byte.is_ascii_whitespace());
    bytes.next() == Some(&b'{') && matches!(bytes.next(), Some(b'"' | b'}'))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NodeText {
    #[serde(default)]
    id: Whole,
    #[serde(default)]
    name: String,
    #[serde(default, rename = "type")]
    kind: Kind,
    #[serde(default)]
    ctrl_deps: Vec<Whole>,
    #[serde(default)]
    data_deps: Vec<Whole>,
    #[serde(default)]
    start_time_micros: Whole,
    #[serde(default)]
    duration_micros: Whole,
    #[serde(default)]
    inputs: Option<Lists>,
    #[serde(default, rename = "outputs")]
    _outputs: Option<Lists>,
    #[serde(default)]
    attr: Vec<serde_json::Map<String, Json>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    #[serde(default)]
    values: String,
    #[serde(default, rename = "shapes")]
    _shapes: String,
    #[serde(default, rename = "types")]
    _types: String,
}

/// A number, or its text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Whole {
    Number(u64),
    Text(String),
}

impl Default for Whole {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl Whole {
    fn value(&self) -> Result<u64, Error> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Text(text) => {
                text.parse().map_err(|_| Error::new(format!("{}: expected a whole number of 0 or more", quoted(text))))
            }
        }
    }
}

/// A type by its name or number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kind {
    Number(i32),
    Name(String),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// The nodes of a file: after the metadata, each message as an object.
pub(crate) fn nodes(input: impl BufRead) -> Result<Vec<Node>, Error> {
    let mut nodes = vec![];
    for (number, message) in serde_json::Deserializer::from_reader(input).into_iter::<Json>().enumerate() {
        let at = |error: Error| Error { message: format!("message {number}: {}", error.message), ..error };
        let message = message.map_err(|error| at(Error::new(format!("no JSON ({error})"))))?;
        if number > 0 {
            nodes.push(node(message).map_err(at)?);
        }
    }
    Ok(nodes)
}

fn node(message: Json) -> Result<Node, Error> {
    let text: NodeText =
        serde_json::from_value(message).map_err(|error| Error::new(format!("no Chakra message ({error})")))?;
    let all = |list: &[Whole]| list.iter().map(Whole::value).collect::<Result<Vec<_>, _>>();
    let kind = match &text.kind {
        Kind::Number(number) => *number,
        Kind::Name(name) => TYPES
            .iter()
            .position(|known| known == name)
            .map(|kind| kind as i32)
            .ok_or_else(|| Error::new(format!("type {}: expected one of {}", quoted(name), TYPES.join(", "))))?,
    };
    Ok(Node {
        id: text.id.value()?,
        name: text.name,
        kind,
        control: all(&text.ctrl_deps)?,
        data: all(&text.data_deps)?,
        start_micros: text.start_time_micros.value()?,
        duration_micros: text.duration_micros.value()?,
        inputs: text.inputs.map(|lists| Values { values: lists.values }),
        attributes: text.attr.into_iter().map(attribute).collect::<Result<_, _>>()?,
    })
}

/// `{"name": "comm_size", "int64Val": "1048576"}`.
fn attribute(mut table: serde_json::Map<String, Json>) -> Result<Attribute, Error> {
    let name = match table.remove("name") {
        Some(Json::String(name)) => name,
        _ => return Err(Error::new("an attribute has no name")),
    };
    table.remove("docString");
    let wrong = |what: &str| Error::new(format!("attribute {}: {what}", quoted(&name)));
    let mut values = table.into_iter();
    let value = match (values.next(), values.next()) {
        (None, _) => None,
        (Some(_), Some(_)) => return Err(wrong("has several values")),
        (Some((kind, value)), None) => Some(match (kind.as_str(), value) {
            ("stringVal", Json::String(text)) => Value::String(text),
            ("boolVal", Json::Bool(value)) => Value::Bool(value),
            ("boolList", list) => {
                let values = list.get("values").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
                Value::Bools(Bools { values: values.iter().map(|value| value == &Json::Bool(true)).collect() })
            }
            (kind, Json::Number(number)) if kind.ends_with("Val") => match (number.as_u64(), number.as_i64()) {
                (Some(whole), _) => Value::Uint64(whole),
                (None, Some(whole)) => Value::Int64(whole),
                (None, None) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            // 64 bits are a text; so are bytes, which stand for no number.
            (kind, Json::String(text)) if kind.ends_with("Val") => Value::String(text),
            // Lists of anything else are not looked at.
            (kind, Json::Object(_)) if kind.ends_with("List") => Value::Bytes(vec![]),
            (kind, _) => return Err(wrong(&format!("has a value {} that is not known", quoted(kind)))),
        }),
    };
    Ok(Attribute { name, value })
}
