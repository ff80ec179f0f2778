//! The scenario: the typed description of one run, its validation and its JSON Schema.
//!
//! This room is the lowest one that knows every kind of every concept. Come here for a new section or key of a
//! scenario, for a rule between several sections, and for the lists that a program prints (`catalogue`).

use crate::congestion::CongestionKind;
use crate::error::{self, Findings, ScenarioError};
use crate::foreign;
use crate::queueing::QueueingKind;
use crate::routing::RoutingKind;
use crate::schema::{self, parse};
use crate::topology::{Topology, TopologyKind};
use crate::traffic::{PlanesParams, TrafficParams};
use crate::workload::WorkloadParams;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

pub mod catalogue;
pub(crate) mod check;
mod document;
mod measure;
mod routers;
mod units;

pub use crate::measure::Precision;
pub use document::{numbers, schema};
pub use measure::{Count, MeasureParams, SeriesBy, Until, Warmup};
pub use routers::RouterKind;
pub use units::UnitsParams;

/// One run, completely described. Read it with [`Scenario::from_value`].
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: u64,
    /// Length of a cycle and size of a phit, if the scenario gives them or has quantities with units.
    pub units: Option<UnitsParams>,
    /// The network graph.
    pub topology: TopologyKind,
    /// Parallel networks, if there are several.
    pub planes: Option<PlanesParams>,
    /// Routers and links.
    pub router: RouterKind,
    /// Routing mechanism.
    pub routing: RoutingKind,
    /// Queue organisation of the input buffers.
    pub queueing: QueueingKind,
    /// Congestion control.
    pub congestion: CongestionKind,
    /// Offered traffic; empty with a workload.
    pub traffic: TrafficParams,
    /// The program that endpoints execute instead of random traffic.
    pub workload: Option<WorkloadParams>,
    /// The quantities to measure, and for how long.
    pub measure: MeasureParams,
}

/// The sections of a scenario, in the order of the documentation.
pub const SECTIONS: &[&str] = &[
    "seed",
    "units",
    "topology",
    "planes",
    "router",
    "routing",
    "queueing",
    "congestion",
    "traffic",
    "workload",
    "measure",
];

/// A scenario in the form of its document.
#[derive(Serialize)]
struct Shown<'a> {
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    units: &'a Option<UnitsParams>,
    topology: &'a TopologyKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    planes: &'a Option<PlanesParams>,
    #[serde(serialize_with = "routers::write")]
    router: &'a RouterKind,
    routing: &'a RoutingKind,
    queueing: &'a QueueingKind,
    #[serde(skip_serializing_if = "is_uncontrolled")]
    congestion: &'a CongestionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<&'a TrafficParams>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: &'a Option<WorkloadParams>,
    measure: Value,
}

/// True for no congestion control, which a document need not name.
fn is_uncontrolled(congestion: &&CongestionKind) -> bool {
    matches!(congestion, CongestionKind::None(_))
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { seed, units, topology, planes, router, routing, queueing, congestion, traffic, workload, measure } =
            self;
        let mut measure = json!(measure);
        if let (Some(_), Value::Object(table)) = (workload, &mut measure) {
            measure::OF_TRAFFIC.iter().for_each(|key| drop(table.shift_remove(*key)));
        }
        let traffic = workload.is_none().then_some(traffic);
        Shown {
            seed: *seed,
            units,
            topology,
            planes,
            router,
            routing,
            queueing,
            congestion,
            traffic,
            workload,
            measure,
        }
        .serialize(serializer)
    }
}

/// `[router]` with the settings that the routing mechanism needs, where the document leaves them open.
fn with_what_routing_needs<'a>(router: &'a Value, routing: Option<&RoutingKind>) -> Cow<'a, Value> {
    let mut router = Cow::Borrowed(router);
    let queued = router.get("kind").is_none_or(|kind| kind == "input_queued");
    if queued && routing.is_some_and(|routing| routing.params().alternatives()) {
        for (key, value) in NEEDED_BY_ALTERNATIVES {
            if router.is_object() && router.get(key).is_none() {
                router.to_mut()[key] = value.into();
            }
        }
    }
    router
}

/// Settings for heads that request channels of several outputs at once: only an allocation stage can answer them.
const NEEDED_BY_ALTERNATIVES: [(&str, &str); 2] =
    [("vc_allocation", "stage"), ("vc_allocator", "separable_input_first")];

impl Scenario {
    /// Reads a scenario document. Keys that are left out or null take their defaults. `topology` is required, and
    /// either `traffic` or `workload`.
    pub fn from_value(value: &Value) -> Result<Self, ScenarioError> {
        let Value::Object(table) = value else {
            return Err(ScenarioError::new("", value, "expected a table with the sections of a scenario"));
        };
        let mut found = Findings::default();
        for key in table.keys().filter(|key| !SECTIONS.contains(&key.as_str())) {
            let error = ScenarioError::unknown(key.clone(), key, "section", SECTIONS.iter().copied());
            found.add(ScenarioError { value: None, ..error });
        }
        let mut left = without_nulls(value);
        let document = loop {
            let error = match units::resolve(&left) {
                Ok(document) => break document,
                Err(error) => error,
            };
            // Without the wrong quantities, the rest of the document can be read and checked as well.
            let keys: Vec<String> = error.clone().each().into_iter().map(|error| error.path).collect();
            // Plain numbers beside quantities ask for these units, too.
            let units = |key: &String| ["units.cycle", "units.phit"].contains(&key.as_str());
            if error.value.is_none() && keys.iter().all(units) {
                found.into_result()?;
                return Err(error);
            }
            if !keys.iter().all(|key| error::remove(left.to_mut(), key)) {
                return found.and(Err(error));
            }
            found.add(error);
        };
        let read = Self::sections(&document, &mut found);
        found.into_result().map_err(|error| as_given(error, value, &document))?;
        read.ok_or_else(|| ScenarioError::new("", value, "expected a table with the sections of a scenario"))
    }

    /// Reads every section of a document without units. `None` if a section cannot be read.
    fn sections(document: &Value, found: &mut Findings) -> Option<Self> {
        let empty = Value::Object(Default::default());
        let section = |name: &str| document.get(name).unwrap_or(&empty);
        let required = |name: &str, hint: &str| {
            let error = || ScenarioError::missing(name, format!("this section is required{hint}"));
            document.get(name).ok_or_else(error)
        };
        let seed = found.take(document.get("seed").map_or(Ok(1), |seed| parse("seed", seed)));
        let units = found.take(document.get("units").map(|units| parse("units", units)).transpose());
        let topology = required("topology", ", for example kind = \"dragonfly\"");
        let topology = found.take(topology.and_then(|table| TopologyKind::from_value("topology", table)));
        let planes = found.take(document.get("planes").map(|planes| parse("planes", planes)).transpose());
        let routing = match document.get("routing") {
            Some(routing) => found.take(RoutingKind::from_value("routing", routing)),
            None => Some(RoutingKind::Minimal(Default::default())),
        };
        let asked = with_what_routing_needs(section("router"), routing.as_ref());
        // The first reading finds the errors in the table as written. The second gives link classes the keys of
        // `default`: errors in inherited keys belong to `default` and were found already.
        let router = routers::read("router", &asked);
        let router = found.take(router.and_then(|_| routers::read("router", &inherit_links(&asked))));
        let queueing = match document.get("queueing") {
            Some(queueing) => found.take(QueueingKind::from_value("queueing", queueing)),
            None => Some(QueueingKind::VirtualChannels(Default::default())),
        };
        let congestion = match document.get("congestion") {
            Some(congestion) => found.take(CongestionKind::from_value("congestion", congestion)),
            None => Some(CongestionKind::None(Default::default())),
        };
        let workload = document.get("workload").map(|table| WorkloadParams::from_value("workload", table)).transpose();
        let workload = found.take(workload.and_then(|workload| match document.get("traffic") {
            Some(_) if workload.is_some() => Err(ScenarioError::missing(
                "traffic",
                "a [workload] sends its own messages; expected one of the two, or traffic as a job of kind = \"jobs\"",
            )),
            _ => Ok(workload),
        }));
        let traffic = match document.get("workload") {
            Some(_) => Some(TrafficParams::silent(1)),
            None => {
                let traffic = required("traffic", ", for example load = 0.3, or a [workload] in its place");
                found.take(traffic.and_then(|table| TrafficParams::from_value("traffic", table)))
            }
        };
        let measure = found.take(MeasureParams::from_value("measure", section("measure")));
        if let (Some(_), Some(table)) = (document.get("workload"), section("measure").as_object()) {
            for (key, value) in table.iter().filter(|(key, _)| measure::OF_TRAFFIC.contains(&key.as_str())) {
                let reason = "a run of a [workload] begins and ends with its program; leave it out";
                found.add(ScenarioError::new(format!("measure.{key}"), value, reason));
            }
        }
        let workload = workload?;
        let traffic = match &workload {
            Some(workload) => Some(TrafficParams::silent(workload.largest_packet())),
            None => traffic,
        };
        Some(Self {
            seed: seed?,
            units: units?,
            topology: topology?,
            planes: planes?,
            router: router?,
            routing: routing?,
            queueing: queueing?,
            congestion: congestion?,
            traffic: traffic?,
            workload,
            measure: measure?,
        })
    }

    /// The network graph of this scenario. A program may have set parameters directly, so they are checked against the
    /// bounds of their schemas.
    pub fn network(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let mut found = Findings::default();
        let mut check = |broken: Vec<ScenarioError>| broken.into_iter().for_each(|error| found.add(error));
        check(self.router.broken("router"));
        check(self.routing.broken("routing"));
        check(self.queueing.broken("queueing"));
        check(self.congestion.broken("congestion"));
        check(schema::check::<MeasureParams>("measure", &json!(self.measure)));
        // A trace has no bounds to check, and it may be long.
        let traffic = TrafficParams { trace: Vec::new(), ..self.traffic.clone() };
        check(schema::check::<TrafficParams>("traffic", &json!(traffic)));
        if let Some(planes) = &self.planes {
            check(schema::check::<PlanesParams>("planes", &json!(planes)));
        }
        if let Some(workload) = &self.workload {
            check(workload.broken("workload"));
        }
        found.into_result()?;
        self.topology.build()
    }

    /// Number of parallel networks.
    pub fn plane_count(&self) -> u32 {
        self.planes.as_ref().map_or(1, |planes| planes.count)
    }

    /// Number of parallel networks into which an endpoint injects at the same time.
    pub fn planes_at_once(&self) -> u32 {
        if self.planes.as_ref().is_some_and(PlanesParams::is_serial) { 1 } else { self.plane_count() }
    }

    /// The functions that the caller compiles ([`foreign`]), with the paths of the tables that name them.
    pub fn functions(&self) -> Vec<(String, foreign::Name)> {
        let mut found = Vec::new();
        let mut look = |path: &str, value: Value| foreign::names(path, &value, &mut found);
        look("routing", self.routing.to_value());
        match &self.workload {
            Some(workload) => look("workload", json!(workload)),
            None => {
                look("traffic.pattern", self.traffic.pattern.to_value());
                look("traffic.changes", json!(self.traffic.changes));
            }
        }
        look("measure.probes", json!(self.measure.probes));
        found
    }

    /// Refuses a scenario that names a function which no caller has registered.
    pub(crate) fn registered(&self) -> Result<(), ScenarioError> {
        match self.functions().into_iter().find(|(_, name)| foreign::find(name).is_none()) {
            None => Ok(()),
            Some((path, name)) => Err(ScenarioError::new(
                error::join(&path, "function"),
                format!("{:?}", name.function),
                "this function is not registered for this run; expected the name of a registered function",
            )),
        }
    }

    /// The document with every default filled in.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

/// `error` with the quantities that the user wrote, where the engine saw their numbers.
fn as_given(mut error: ScenarioError, given: &Value, numbers: &Value) -> ScenarioError {
    error.others = error.others.into_iter().map(|other| as_given(other, given, numbers)).collect();
    if let (Some(quantity @ Value::String(_)), Some(number @ Value::Number(_))) =
        (error::at(given, &error.path), error::at(numbers, &error.path))
    {
        error.value = Some(quantity.to_string());
        error.expected = format!("comes to {number}; {}", error.expected);
    }
    error
}

/// `value` without null keys, in all its tables. TOML cannot write nulls, and a document must mean the same after it is
/// read, completed and written.
fn without_nulls(value: &Value) -> Cow<'_, Value> {
    fn any(value: &Value) -> bool {
        match value {
            Value::Object(table) => table.values().any(|inner| inner.is_null() || any(inner)),
            Value::Array(list) => list.iter().any(any),
            _ => false,
        }
    }
    fn take_out(value: &mut Value) {
        match value {
            Value::Object(table) => {
                table.retain(|_, inner| !inner.is_null());
                table.values_mut().for_each(take_out);
            }
            Value::Array(list) => list.iter_mut().for_each(take_out),
            _ => {}
        }
    }
    let mut value = Cow::Borrowed(value);
    if any(&value) {
        take_out(value.to_mut());
    }
    value
}

/// The `[router]` table after every link class has taken its missing keys from the class `default`.
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
