//! Traces as JSON, in two forms. Chakra's jsonizer writes messages one after another, in the JSON form of protobuf:
//! whole numbers of 64 bits are texts, and types have names. Chakra's feeder reads one table with the list
//! `workload_graph`. Any other JSON is refused. Both forms are read a node at a time.

use super::format::{At, Attribute, Bools, Node, Sink, Value, Values};
use crate::error::{Error, quoted};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

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
pub(super) fn is_json(start: &[u8]) -> bool {
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
enum Whole {
    Number(u64),
    /// A text that is no such number.
    Other(String),
}

impl Default for Whole {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of 0 or more")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole::Number(number))
            }
            fn visit_str<E>(self, text: &str) -> Result<Whole, E> {
                Ok(text.parse().map_or_else(|_| Whole::Other(text.into()), Whole::Number))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

impl Whole {
    fn value(&self) -> Result<u64, Error> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Other(text) => Err(Error::new(format!("{}: expected a whole number of 0 or more", quoted(text)))),
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

/// Passes on the nodes of a file.
pub(super) fn nodes(input: impl BufRead, sink: &mut Sink<'_>) -> Result<(), Error> {
    let lines = Rc::new(Lines { now: Cell::new(1), start: Cell::new(None) });
    let mut messages = serde_json::Deserializer::from_reader(Counted { input, lines: lines.clone() });
    for number in 0u64.. {
        lines.start.set(None);
        match messages.end() {
            Ok(()) => break,
            Err(error) if error.is_io() => return Err(io::Error::from(error).into()),
            Err(_) => {}
        }
        let named = |error: Error| Error { message: format!("message {number}: {}", error.message), ..error };
        let wrong = |error: serde_json::Error, what| {
            let what = if error.is_data() { what } else { "no JSON" };
            named(Error::new(format!("{what} ({error})")).at(error.line() as u64))
        };
        if number > 0 {
            let text = NodeText::deserialize(&mut messages).map_err(|error| wrong(error, "no Chakra message"))?;
            let at = lines.at();
            node(text).map_err(named).and_then(|node| sink(node, at)).map_err(|error| at.mark(error))?;
            continue;
        }
        let mut first = First { table: serde_json::Map::new(), graph: None, failed: None, lines: &lines, sink };
        let read = first.deserialize(&mut messages);
        let First { table, graph, failed, .. } = first;
        match (read, failed, graph) {
            (_, Some(error), _) => return Err(lines.at().mark(error)),
            (Err(error), None, Some(None)) if error.is_data() => {
                return Err(Error::new(format!("{GRAPH}: expected a list of nodes")).at(error.line() as u64));
            }
            (Err(error), None, Some(Some(number))) if error.is_data() => {
                return Err(lines.at().mark(Error::new(format!("{GRAPH}[{number}]: expected a table"))));
            }
            (Err(error), None, None) if error.is_data() => {
                return Err(lines.at().mark(named(Error::new(format!("is no table; {FORMS}")))));
            }
            (Err(error), None, _) => return Err(wrong(error, "no JSON")),
            (Ok(()), None, Some(_)) => {
                lines.start.set(None);
                return match messages.end() {
                    Ok(()) => Ok(()),
                    Err(error) if error.is_io() => Err(io::Error::from(error).into()),
                    Err(_) => {
                        let message = "message 1: expected nothing after the table with `workload_graph`";
                        Err(lines.at().mark(Error::new(message)))
                    }
                };
            }
            (Ok(()), None, None) => {
                let at = lines.at();
                let first = first_message(table).map_err(|error| at.mark(named(error)))?;
                first.map_or(Ok(()), |node| sink(node, at)).map_err(|error| at.mark(error))?;
            }
        }
    }
    Ok(())
}

/// The line of a reader, and that on which a value begins.
#[derive(Debug)]
struct Lines {
    now: Cell<u64>,
    /// The line of the first byte, besides separators, that was read since this was `None`.
    start: Cell<Option<u64>>,
}

impl Lines {
    fn at(&self) -> At {
        At::Line(self.start.get().unwrap_or(self.now.get()))
    }
}

/// A reader that counts lines.
struct Counted<R> {
    input: R,
    lines: Rc<Lines>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        for byte in &buffer[..read] {
            match byte {
                b'\n' => self.lines.now.set(self.lines.now.get() + 1),
                b' ' | b'\t' | b'\r' | b',' => {}
                _ if self.lines.start.get().is_none() => self.lines.start.set(Some(self.lines.now.get())),
                _ => {}
            }
        }
        Ok(read)
    }
}

/// The list of nodes in the feeder's form.
const GRAPH: &str = "workload_graph";

/// Keys of the first message, the metadata; and keys of which every node has at least one.
const METADATA: [&str; 2] = ["version", "attr"];
const OF_NODES: [&str; 3] = ["id", "type", "durationMicros"];

/// Keys of a message whose values are stored.
const STORED: [&str; 11] = [
    "version",
    "attr",
    "id",
    "name",
    "type",
    "ctrlDeps",
    "dataDeps",
    "startTimeMicros",
    "durationMicros",
    "inputs",
    "outputs",
];

/// The first message: metadata, a node if the metadata was left out, or the feeder's table, whose nodes are passed on
/// while they are read.
struct First<'f, 's> {
    /// Its keys; values that have no meaning are null.
    table: serde_json::Map<String, Json>,
    /// Present once the list of nodes has begun, with the number of the node that is read.
    graph: Option<Option<u64>>,
    /// The error, if it is not one of JSON.
    failed: Option<Error>,
    lines: &'f Lines,
    sink: &'f mut Sink<'s>,
}

impl<'de> DeserializeSeed<'de> for &mut First<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(Table(self))
    }
}

struct Table<'t, 'f, 's>(&'t mut First<'f, 's>);

impl<'de> Visitor<'de> for Table<'_, '_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(first) = self;
        while let Some(key) = map.next_key::<String>()? {
            if key == GRAPH {
                first.graph = Some(None);
                map.next_value_seed(List(first))?;
                continue;
            }
            let value = match STORED.contains(&key.as_str()) {
                true => map.next_value()?,
                false => {
                    first.table.insert(key.clone(), Json::Null);
                    if let Some(what) = other_trace(&first.table) {
                        first.failed = Some(Error::new(format!("message 0: {what}")));
                        return Err(A::Error::custom(what));
                    }
                    map.next_value::<IgnoredAny>()?;
                    Json::Null
                }
            };
            first.table.insert(key, value);
        }
        Ok(())
    }
}

struct List<'t, 'f, 's>(&'t mut First<'f, 's>);

impl<'de> DeserializeSeed<'de> for List<'_, '_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self(first) = self;
        for number in 0u64.. {
            first.graph = Some(Some(number));
            first.lines.start.set(None);
            let Some(table) = list.next_element::<serde_json::Map<String, Json>>()? else { break };
            let at = first.lines.at();
            let named = |error: Error| Error { message: format!("{GRAPH}[{number}]: {}", error.message), ..error };
            let passed = feeder_node(table).map_err(named).and_then(|node| (first.sink)(node, at));
            if let Err(error) = passed {
                first.failed = Some(at.mark(error));
                return Err(A::Error::custom(""));
            }
        }
        Ok(())
    }
}

/// What a table is, if it is a trace of another kind.
fn other_trace(table: &serde_json::Map<String, Json>) -> Option<&'static str> {
    let has = |key: &str| table.contains_key(key);
    match () {
        () if has("schema") && has("nodes") => Some(
            "is an execution trace of PyTorch, which does not say what GPUs do; expected it linked with the profiler's \
             trace and converted: chakra_trace_link, then chakra_converter PyTorch",
        ),
        () if has("traceEvents") => Some(
            "is a trace of PyTorch's profiler; expected it linked with the execution trace and converted: \
             chakra_trace_link, then chakra_converter PyTorch",
        ),
        () => None,
    }
}

/// The first message holds metadata. It may be a node if the metadata was left out.
fn first_message(table: serde_json::Map<String, Json>) -> Result<Option<Node>, Error> {
    match table.keys().find(|key| !METADATA.contains(&key.as_str())) {
        None => Ok(None),
        Some(_) if OF_NODES.iter().any(|key| table.contains_key(*key)) => {
            let text = serde_json::from_value(Json::Object(table));
            node(text.map_err(|error| Error::new(format!("no Chakra message ({error})")))?).map(Some)
        }
        Some(key) => Err(Error::new(format!("has the key {}; {FORMS}", quoted(key)))),
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

fn node(text: NodeText) -> Result<Node, Error> {
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
