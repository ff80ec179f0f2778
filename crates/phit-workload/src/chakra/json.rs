//! Traces as JSON, in two forms. Chakra's jsonizer writes messages one after another, in the JSON form of protobuf:
//! whole numbers of 64 bits are texts, and types have names. Chakra's feeder reads one table with the list
//! `workload_graph`. Any other JSON is refused.

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

/// True for the start of a JSON text. A protobuf message may begin with a bracket, but cannot continue like JSON.
pub(crate) fn is_json(start: &[u8]) -> bool {
    let mut bytes = start.iter().filter(|byte| !byte.is_ascii_whitespace());
    match bytes.next() {
        Some(b'{') => matches!(bytes.next(), Some(b'"' | b'}')),
        Some(b'[') => matches!(bytes.next(), Some(b'"' | b'{' | b'[' | b']')),
        _ => false,
    }
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

/// The nodes of a file.
pub(crate) fn nodes(input: impl BufRead) -> Result<Vec<Node>, Error> {
    let mut nodes = vec![];
    let mut whole = false;
    for (number, message) in serde_json::Deserializer::from_reader(input).into_iter::<Json>().enumerate() {
        let at = |error: Error| Error { message: format!("message {number}: {}", error.message), ..error };
        let message = message.map_err(|error| at(Error::new(format!("no JSON ({error})"))))?;
        match (number, message) {
            (_, _) if whole => return Err(at(Error::new("expected nothing after the table with `workload_graph`"))),
            (0, Json::Object(mut table)) if table.contains_key(GRAPH) => {
                nodes = graph(table.remove(GRAPH))?;
                whole = true;
            }
            (0, first) => nodes.extend(first_message(first)?),
            (_, message) => nodes.push(node(message).map_err(at)?),
        }
    }
    Ok(nodes)
}

/// The list of nodes in the feeder's form.
const GRAPH: &str = "workload_graph";

/// Keys of the first message, the metadata; and keys of which every node has at least one.
const METADATA: [&str; 2] = ["version", "attr"];
const OF_NODES: [&str; 3] = ["id", "type", "durationMicros"];

/// The first message holds metadata. It may be a node if the metadata was left out.
fn first_message(message: Json) -> Result<Option<Node>, Error> {
    let wrong = |what: &str| Err(Error::new(format!("message 0: {what}")));
    let Json::Object(table) = message else { return wrong(&format!("is no table; {FORMS}")) };
    let has = |key: &str| table.contains_key(key);
    if has("schema") && has("nodes") {
        return wrong(
            "is an execution trace of PyTorch, which does not say what GPUs do; expected it linked with the profiler's \
             trace and converted: chakra_trace_link, then chakra_converter PyTorch",
        );
    }
    if has("traceEvents") {
        return wrong(
            "is a trace of PyTorch's profiler; expected it linked with the execution trace and converted: \
             chakra_trace_link, then chakra_converter PyTorch",
        );
    }
    match table.keys().find(|key| !METADATA.contains(&key.as_str())) {
        None => Ok(None),
        Some(_) if OF_NODES.iter().any(|key| has(key)) => {
            let first = node(Json::Object(table));
            first.map(Some).map_err(|error| Error { message: format!("message 0: {}", error.message), ..error })
        }
        Some(key) => wrong(&format!("has the key {}; {FORMS}", quoted(key))),
    }
}

const FORMS: &str = "expected what chakra_jsonizer prints, which begins with a table with `version`, or a table with \
                     `workload_graph`";

/// Keys of a node in the feeder's form, besides keys that become attributes.
const FEEDER: [&str; 12] = [
    "Id",
    "Name",
    "NodeType",
    "data_deps",
    "dataDeps",
    "ctrl_deps",
    "ctrlDeps",
    "runtime",
    "duration_micros",
    "start_time_micros",
    "inputs",
    "outputs",
];

fn graph(list: Option<Json>) -> Result<Vec<Node>, Error> {
    let Some(Json::Array(list)) = list else { return Err(Error::new(format!("{GRAPH}: expected a list of nodes"))) };
    let numbered = list.into_iter().enumerate();
    numbered
        .map(|(number, value)| {
            let at = |error: Error| Error { message: format!("{GRAPH}[{number}]: {}", error.message), ..error };
            match value {
                Json::Object(table) => feeder_node(table).map_err(at),
                _ => Err(at(Error::new("expected a table"))),
            }
        })
        .collect()
}

/// `{"Id": 1, "NodeType": 4, "data_deps": [], "runtime": 250}`: a key without a field in the message becomes an
/// attribute, unless it may be meant as a dependency.
fn feeder_node(table: serde_json::Map<String, Json>) -> Result<Node, Error> {
    let number = |key: &str| -> Result<Option<u64>, Error> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let expected = || Error::new(format!("{key} = {value}: expected a whole number of 0 or more"));
        match value {
            Json::String(text) => text.parse().map(Some).map_err(|_| expected()),
            value => value.as_u64().map(Some).ok_or_else(expected),
        }
    };
    let needed = |key: &str| number(key)?.ok_or_else(|| Error::new(format!("has no {key}")));
    let list = |keys: [&str; 2]| -> Result<Vec<u64>, Error> {
        let Some((key, value)) = keys.iter().find_map(|key| Some((key, table.get(*key)?))) else { return Ok(vec![]) };
        let ids = value.as_array().map(|ids| ids.iter().map(Json::as_u64).collect::<Option<Vec<_>>>());
        ids.flatten().ok_or_else(|| Error::new(format!("{key}: expected a list of ids")))
    };
    let kind = match table.get("NodeType") {
        Some(Json::String(name)) => type_named(name)?,
        _ => i32::try_from(needed("NodeType")?).map_err(|_| Error::new("NodeType: expected 0 to 7"))?,
    };
    let mut attributes = vec![];
    for (key, value) in table.iter().filter(|(key, _)| !FEEDER.contains(&key.as_str())) {
        if key.to_ascii_lowercase().contains("dep") {
            return Err(Error::new(format!("has the key {}; expected data_deps or ctrl_deps", quoted(key))));
        }
        let value = match value {
            Json::Bool(value) => Some(Value::Bool(*value)),
            Json::Number(number) => Some(numeric(number)),
            Json::String(text) => Some(Value::String(text.clone())),
            // Lists have no meaning as attributes.
            Json::Array(_) | Json::Object(_) | Json::Null => None,
        };
        attributes.push(Attribute { name: key.clone(), value });
    }
    Ok(Node {
        id: needed("Id")?,
        name: table.get("Name").and_then(Json::as_str).unwrap_or_default().into(),
        kind,
        control: list(["ctrl_deps", "ctrlDeps"])?,
        data: list(["data_deps", "dataDeps"])?,
        start_micros: number("start_time_micros")?.unwrap_or(0),
        duration_micros: number("runtime")?.or(number("duration_micros")?).unwrap_or(0),
        inputs: None,
        attributes,
    })
}

fn type_named(name: &str) -> Result<i32, Error> {
    let kind = TYPES.iter().position(|known| *known == name).map(|kind| kind as i32);
    kind.ok_or_else(|| Error::new(format!("type {}: expected one of {}", quoted(name), TYPES.join(", "))))
}

fn numeric(number: &serde_json::Number) -> Value {
    match (number.as_u64(), number.as_i64()) {
        (Some(whole), _) => Value::Uint64(whole),
        (None, Some(whole)) => Value::Int64(whole),
        (None, None) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn node(message: Json) -> Result<Node, Error> {
    let text: NodeText =
        serde_json::from_value(message).map_err(|error| Error::new(format!("no Chakra message ({error})")))?;
    let all = |list: &[Whole]| list.iter().map(Whole::value).collect::<Result<Vec<_>, _>>();
    let kind = match &text.kind {
        Kind::Number(number) => *number,
        Kind::Name(name) => type_named(name)?,
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
            (kind, Json::Number(number)) if kind.ends_with("Val") => numeric(&number),
            // Numbers of 64 bits are texts. So are bytes, which are not used as numbers.
            (kind, Json::String(text)) if kind.ends_with("Val") => Value::String(text),
            // Lists of other values are not used.
            (kind, Json::Object(_)) if kind.ends_with("List") => Value::Bytes(vec![]),
            (kind, _) => return Err(wrong(&format!("has a value {} that is not known", quoted(kind)))),
        }),
    };
    Ok(Attribute { name, value })
}
