//! Classes of packets: several streams of packets from every endpoint, each with a source queue of its own.

use super::{PacketSizeKind, Pattern, PatternKind, ProcessKind, Traffic, TrafficParams};
use crate::error::ScenarioError;
use crate::packet::MOST_TRAFFIC_CLASSES;
use crate::topology::{Topology, check_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A class of packets. Every endpoint generates packets of all classes, and has a source queue for each class. The
/// classes share the virtual channels of the network (Dally and Towles, *Principles and Practices of Interconnection
/// Networks*, section 15.1).
///
/// ```toml
/// [traffic]
/// load = 0.5
/// [[traffic.classes]]
/// name = "bulk"
/// weight = 4
/// packet_size = 16
/// [[traffic.classes]]
/// name = "control"
/// pattern = "transpose"
/// priority = 1
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct ClassParams {
    /// Name of the class in results; if left out, its number, from 0 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Share of `load`, relative to the sum of all classes' weights; zero or more.
    #[schemars(range(min = 0))]
    pub weight: f64,
    /// Packets of a class of higher priority leave their endpoint first. In the network they go first where an
    /// allocator has `priority = "class"`. Endpoints send packets of classes of equal priority flit by flit in turn.
    #[schemars(range(max = 255))]
    pub priority: u8,
    /// Destinations of the packets; if left out, the traffic's `pattern`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PatternKind>,
    /// Times of generation; if left out, the traffic's `process`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessKind>,
    /// Sizes of the packets; if left out, the traffic's `packet_size`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::packet_size::deserialize_some")]
    #[schemars(schema_with = "super::packet_size::schema")]
    pub packet_size: Option<PacketSizeKind>,
}

impl Default for ClassParams {
    fn default() -> Self {
        Self { name: None, weight: 1.0, priority: 0, pattern: None, process: None, packet_size: None }
    }
}

/// A pattern, and the weight of the packets that follow it.
pub(crate) type WeightedPattern = (f64, Arc<dyn Pattern>);

impl TrafficParams {
    /// The traffic of each class by itself; empty if there are no classes. The classes' loads add up to the total load.
    pub(crate) fn by_class(&self) -> impl Iterator<Item = Self> + '_ {
        let sum: f64 = self.classes.iter().map(|class| class.weight).sum();
        self.classes.iter().map(move |class| {
            let share = |load: f64| load * (class.weight / sum);
            let mut own = Self { classes: Vec::new(), load: share(self.load), ..self.clone() };
            own.changes.iter_mut().for_each(|change| change.load = change.load.map(share));
            if let Some(pattern) = &class.pattern {
                own.pattern = pattern.clone();
                // A change of the pattern concerns only classes without a pattern of their own.
                own.changes.iter_mut().for_each(|change| change.pattern = None);
                own.changes.retain(|change| change.load.is_some());
            }
            own.process = class.process.clone().unwrap_or(own.process);
            own.packet_size = class.packet_size.clone().unwrap_or(own.packet_size);
            own
        })
    }

    /// Weight and pattern of each class, or of all packets if there are no classes. Error paths are relative to the
    /// table.
    pub(crate) fn patterns(&self, topology: &dyn Topology, seed: u64) -> Result<Vec<WeightedPattern>, ScenarioError> {
        if self.classes.is_empty() {
            return Ok(vec![(1.0, self.pattern.build(topology, seed).map_err(|e| e.under("pattern"))?)]);
        }
        let built = |(number, class): (usize, &ClassParams)| {
            let (path, pattern) = match &class.pattern {
                Some(own) => (format!("classes[{number}].pattern"), own),
                None => ("pattern".to_owned(), &self.pattern),
            };
            let pattern = pattern.build(topology, class_seed(seed, number)).map_err(|e| e.under(&path))?;
            Ok((class.weight, pattern))
        };
        self.classes.iter().enumerate().map(built).collect()
    }

    /// The names of the classes, in their order.
    pub(crate) fn class_names(&self) -> Vec<String> {
        let name = |(number, class): (usize, &ClassParams)| class.name.clone().unwrap_or_else(|| number.to_string());
        self.classes.iter().enumerate().map(name).collect()
    }

    /// Checks the classes; error paths are relative to the table.
    pub(super) fn check_classes(&self) -> Result<(), ScenarioError> {
        if self.classes.is_empty() {
            return Ok(());
        }
        let beside = [
            ("trace", !self.trace.is_empty()),
            ("message", self.message.is_some()),
            ("requests", self.requests.is_some()),
        ];
        if let Some((key, _)) = beside.iter().find(|(_, given)| *given) {
            return Err(ScenarioError::missing(*key, "`classes` are of single packets; leave one of the two out"));
        }
        let count = self.classes.len();
        if count > MOST_TRAFFIC_CLASSES {
            let expected = format!("expected at most {MOST_TRAFFIC_CLASSES} classes");
            return Err(ScenarioError::new("classes", format!("{count} classes"), expected));
        }
        let names = self.class_names();
        for (number, class) in self.classes.iter().enumerate() {
            let path = format!("classes[{number}]");
            if !(class.weight.is_finite() && class.weight >= 0.0) {
                let expected = "expected a number, zero or more";
                return Err(ScenarioError::new(format!("{path}.weight"), class.weight, expected));
            }
            check_name(format!("{path}.name"), &names[number])?;
            if names[..number].contains(&names[number]) {
                let expected = "expected another name: a class before has it";
                return Err(ScenarioError::new(format!("{path}.name"), format!("{:?}", names[number]), expected));
            }
        }
        let sum: f64 = self.classes.iter().map(|class| class.weight).sum();
        if !(sum.is_finite() && sum > 0.0) {
            return Err(ScenarioError::missing(
                "classes",
                format!("expected weights with a positive sum, found {sum}"),
            ));
        }
        for (number, own) in self.by_class().enumerate() {
            own.packet_sizes().map_err(|e| e.under(&format!("classes[{number}]")))?;
        }
        Ok(())
    }
}

/// The traffic of all classes.
#[derive(Debug)]
pub struct Classes {
    /// Traffic by class.
    pub traffic: Vec<Traffic>,
    /// Rank by class; the lowest rank goes first.
    pub ranks: Vec<u8>,
}

impl Classes {
    /// Fits the classes to a topology, see [`Traffic::build`]; `None` if there are none. Error paths are relative to
    /// the table.
    pub(super) fn build(
        params: &TrafficParams,
        of_class: impl Fn(&TrafficParams, u64) -> Result<Traffic, ScenarioError>,
        seed: u64,
    ) -> Result<Option<Self>, ScenarioError> {
        if params.classes.is_empty() {
            return Ok(None);
        }
        let own = |(number, own): (usize, TrafficParams)| {
            let path = |e: ScenarioError| {
                let of_class = params.classes[number].has(&e.path);
                if of_class { e.under(&format!("classes[{number}]")) } else { e }
            };
            of_class(&own, class_seed(seed, number)).map_err(path)
        };
        let traffic = params.by_class().enumerate().map(own).collect::<Result<_, _>>()?;
        let ranks = params.classes.iter().map(|class| u8::MAX - class.priority).collect();
        Ok(Some(Self { traffic, ranks }))
    }

    /// The seed of a class's patterns and sources. It differs between classes, so classes with equal patterns draw
    /// different packets.
    pub fn seed(&self, seed: u64, class: usize) -> u64 {
        class_seed(seed, class)
    }

    /// Mean phits of a packet, over the packets that all classes generate at the initial loads.
    pub(super) fn mean_packet_size(&self) -> f64 {
        let of = |traffic: &Traffic| (traffic.expected_load(0), traffic.mean_packet_size());
        let (load, packets) = self
            .traffic
            .iter()
            .map(of)
            .fold((0.0, 0.0), |(load, packets), (own, size)| (load + own, packets + own / size));
        if packets > 0.0 { load / packets } else { self.traffic[0].mean_packet_size() }
    }
}

fn class_seed(seed: u64, class: usize) -> u64 {
    seed ^ (class as u64) << 32
}

impl ClassParams {
    /// True if the key at `path` belongs to this class, and is not inherited from the traffic.
    fn has(&self, path: &str) -> bool {
        let given = [
            ("pattern", self.pattern.is_some()),
            ("process", self.process.is_some()),
            ("packet_size", self.packet_size.is_some()),
        ];
        given.iter().any(|(key, given)| *given && path.starts_with(key))
    }
}
