//! `[router]`: the kernels that a scenario chooses from.
//!
//! A table without `kind` is the input-queued router, or the packet-level node if it has a table `node`. A result shows
//! the same table for both spellings, without `kind` for these two.

use crate::allocators::AllocatorKind;
use crate::error::{ScenarioError, join};
use crate::fabric::FabricParams;
use crate::fabric::fluid::Fluid;
use crate::fabric::ideal::Ideal;
use crate::fabric::input_queued::{RouterParams, Switching};
use crate::fabric::packet_node::{NodeParams, PacketNode, Stated};
use crate::schema::parse;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// The input-queued router with one of the registered allocators.
type InputQueued = RouterParams<AllocatorKind>;

crate::registry::registry! {
    /// `[router]`: the kernel that moves packets between links.
    // A scenario has exactly one router, so a box would save nothing.
    #[allow(clippy::large_enum_variant)]
    pub enum RouterKind: "router" as FabricParams {
        "input_queued" => InputQueued(InputQueued),
        "packet_node" => PacketNode(PacketNode),
        "ideal" => Ideal(Ideal),
        "fluid" => Fluid(Fluid),
    }
}

/// Reads the table found at `path`.
pub(super) fn read(path: &str, value: &Value) -> Result<RouterKind, ScenarioError> {
    let Value::Object(table) = value else { return parse::<InputQueued>(path, value).map(RouterKind::InputQueued) };
    match table.get("kind").map(|kind| kind.as_str()) {
        None if table.contains_key("node") => node(path, table),
        None => parse(path, value).map(RouterKind::InputQueued),
        Some(Some("packet_node")) => node(path, table),
        Some(_) => RouterKind::from_value(path, value),
    }
}

/// The packet-level node. Its result also shows the defaults of the input-queued router, so those values are accepted
/// here.
fn node(path: &str, table: &Map<String, Value>) -> Result<RouterKind, ScenarioError> {
    let mut others = table.clone();
    let (links, node) = (others.shift_remove("links"), others.shift_remove("node"));
    others.shift_remove("kind");
    let others: InputQueued = parse(path, &Value::Object(others))?;
    let stated = others.switching == Switching::StoreAndForward;
    let plain =
        InputQueued { switching: if stated { others.switching } else { Default::default() }, ..Default::default() };
    let (Value::Object(given), Value::Object(read)) = (json!(others), json!(plain)) else {
        unreachable!("parameters are tables")
    };
    if let Some((key, value)) = given.iter().find(|(key, value)| read.get(*key) != Some(value)) {
        return Err(ScenarioError::new(join(path, key), value, "has no effect with router.node; leave it out"));
    }
    Ok(RouterKind::PacketNode(PacketNode {
        switching: stated.then_some(Stated::StoreAndForward),
        links: links.map_or_else(|| Ok(Default::default()), |links| parse(&join(path, "links"), &links))?,
        node: node.map_or_else(|| Ok(NodeParams::default()), |node| parse(&join(path, "node"), &node))?,
    }))
}

/// The table that [`read`] reads, with every default filled in.
pub(super) fn write<S: Serializer>(router: &RouterKind, serializer: S) -> Result<S::Ok, S::Error> {
    match router {
        RouterKind::InputQueued(params) => params.serialize(serializer),
        RouterKind::PacketNode(PacketNode { switching, links, node }) => {
            let switching = switching.map_or(Switching::default(), |_| Switching::StoreAndForward);
            let mut table = json!(InputQueued { switching, links: links.clone(), ..Default::default() });
            table["node"] = json!(node);
            table.serialize(serializer)
        }
        RouterKind::Ideal(_) | RouterKind::Fluid(_) | RouterKind::Custom(_) => router.serialize(serializer),
    }
}

/// The schema of the table: the keys of all kinds.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let mut all = InputQueued::json_schema(generator);
    let others = [
        ("packet_node", PacketNode::json_schema(generator)),
        ("ideal", Ideal::json_schema(generator)),
        ("fluid", Fluid::json_schema(generator)),
    ];
    let keys = |(kind, schema): &(&'static str, Schema)| {
        let keys = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        keys.into_iter().map(|(key, schema)| (*kind, key, schema)).collect::<Vec<_>>()
    };
    if let Some(Value::Object(properties)) = all.get_mut("properties") {
        for (kind, key, schema) in others.iter().flat_map(keys) {
            match properties.get_mut(&key) {
                None => drop(properties.insert(key, schema)),
                // A choice of words under a key that another kind has, too: either may stand there.
                Some(known) if schema.get("oneOf").is_some() && known.get("oneOf") != schema.get("oneOf") => {
                    let first = std::mem::take(known);
                    let of = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
                    let [one, other] = [&first, &schema].map(|schema| of(schema).unwrap_or_default());
                    let description = format!("{one} With `kind = \"{kind}\"`: {other}");
                    *known = json!({ "anyOf": [first, schema], "description": description });
                }
                Some(_) => {}
            }
        }
        let kind = json!({
            "description": "What stands where the links meet. If left out: the input-queued router, or, with a table \
                            `node`, the packet-level node.",
            "enum": RouterKind::KINDS,
        });
        properties.insert("kind".into(), kind);
    }
    all
}
