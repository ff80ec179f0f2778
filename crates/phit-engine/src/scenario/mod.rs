//! What is simulated: the typed description of one run, its validation and its JSON Schema.

use crate::error::{ScenarioError, parse};
use crate::queueing::QueueingKind;
use crate::routing::RoutingKind;
use crate::topology::TopologyKind;
use crate::traffic::TrafficParams;
use serde::Serialize;
use serde_json::Value;

pub mod catalogue;
pub mod check;
pub mod measure;
pub mod routers;
pub mod units;

pub use measure::MeasureParams;
pub use routers::RouterKind;
pub use units::UnitsParams;

/// One run, completely described. Read it with [`Scenario::from_value`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: u64,
    /// What cycles and phits stand for, if the scenario says so or has quantities with units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<UnitsParams>,
    /// The network graph.
    pub topology: TopologyKind,
    /// Routers and links.
    #[serde(serialize_with = "routers::write")]
    pub router: RouterKind,
    /// Routing mechanism.
    pub routing: RoutingKind,
    /// Queue organisation of the input buffers.
    pub queueing: QueueingKind,
    /// Offered traffic.
    pub traffic: TrafficParams,
    /// What is measured and for how long.
    pub measure: MeasureParams,
}

/// The sections of a scenario, in the order of the documentation.
pub const SECTIONS: &[&str] = &["seed", "units", "topology", "router", "routing", "queueing", "traffic", "measure"];

impl Scenario {
    /// Reads a scenario document. Keys left out take their defaults; `topology` and `traffic` must be there.
    pub fn from_value(value: &Value) -> Result<Self, ScenarioError> {
        let Value::Object(table) = value else {
            return Err(ScenarioError::new("", value, "expected a table with the sections of a scenario"));
        };
        if let Some(key) = table.keys().find(|k| !SECTIONS.contains(&k.as_str())) {
            let mut error = ScenarioError::unknown(key.clone(), key, "section", SECTIONS.iter().copied());
            error.value = None;
            return Err(error);
        }
        let document = units::resolve(value)?;
        let table = document.as_object().unwrap_or(table);
        let empty = Value::Object(Default::default());
        let section = |name: &str| table.get(name).unwrap_or(&empty);
        let required = |name: &str, hint: &str| {
            table.get(name).ok_or_else(|| ScenarioError::missing(name, format!("this section is required{hint}")))
        };
        Ok(Self {
            seed: match table.get("seed") {
                Some(seed) => parse("seed", seed)?,
                None => 1,
            },
            units: table.get("units").map(|units| parse("units", units)).transpose()?,
            topology: TopologyKind::from_value(
                "topology",
                required("topology", ", for example kind = \"dragonfly\"")?,
            )?,
            router: routers::read("router", &inherit_links(section("router")))?,
            routing: match table.get("routing") {
                Some(routing) => RoutingKind::from_value("routing", routing)?,
                None => RoutingKind::Minimal(Default::default()),
            },
            queueing: match table.get("queueing") {
                Some(queueing) => QueueingKind::from_value("queueing", queueing)?,
                None => QueueingKind::VirtualChannels(Default::default()),
            },
            traffic: TrafficParams::from_value("traffic", required("traffic", ", for example load = 0.3")?)?,
            measure: MeasureParams::from_value("measure", section("measure"))?,
        })
    }

    /// The document with every default filled in.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

/// The `[router]` table in which every link class has taken the keys that it lacks from the class `default`.
fn inherit_links(router: &Value) -> Value {
    let mut router = router.clone();
    let Some(links) = router.get_mut("links").and_then(Value::as_object_mut) else { return router };
    let Some(default) = links.get("default").and_then(Value::as_object).cloned() else { return router };
    for (_, class) in links.iter_mut().filter(|(name, _)| *name != "default") {
        if let Some(class) = class.as_object_mut() {
            for (key, value) in &default {
                class.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    router
}
