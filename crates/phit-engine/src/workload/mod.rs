//! Workloads: programs of operations that wait for one another, the hosts that execute them, and the endpoints of their
//! ranks.
//!
//! A program comes from one of the kinds in `programs/`, a file each. The network does not know which.

use crate::engine::Tick;
use crate::error::{Findings, ScenarioError};
use crate::schema;
use crate::topology::Topology;
use crate::traffic::Rates;
use phit_workload::host::HostParams;
use phit_workload::rails::{Choice, Rails};
use phit_workload::{Executable, Ranks};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::sync::Arc;

mod beside;
mod host;
mod placement;
mod programs;
mod reorder;
mod repeat;

pub use beside::Beside;
pub use host::{HostTable, RailsTable};
pub use placement::{Free, PlacementKind, PlacementParams};
pub use programs::{Called, Made, MadeJob, ProgramKind, ProgramParams, Site};
pub use reorder::{Memory, ReorderTable, Sharing};
pub use repeat::RepeatTable;

/// The slot of an endpoint that has no rank.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// The keys of a workload besides its program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct Around {
    /// Phits of the largest packet. Longer messages are sent in several packets, all of this size except the last.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub packet_size: u16,
    /// Phits of each packet that carry no bytes of its message; fewer than `packet_size`.
    #[schemars(extend("x-unit" = "phits"))]
    pub header: u16,
    /// Cycles in the program's unit of time for calculations.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub time_unit: u32,
    /// The host's time for a message.
    pub host: HostTable,
    /// The endpoint of each rank.
    pub placement: PlacementKind,
    /// Receivers that deliver packets in order. If left out, they count bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderTable>,
    /// Iterations of the program. If left out, there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatTable>,
}

impl Default for Around {
    fn default() -> Self {
        Self {
            packet_size: 8,
            header: 0,
            time_unit: 1,
            host: HostTable::default(),
            placement: PlacementKind::Linear(Default::default()),
            reorder: None,
            repeat: None,
        }
    }
}

/// Keys of [`Around`].
pub(crate) const AROUND: [&str; 7] = ["packet_size", "header", "time_unit", "host", "placement", "reorder", "repeat"];

/// `[workload]`: a program that the endpoints execute, instead of `[traffic]`.
///
/// ```toml
/// [workload]
/// kind = "collective"
/// collective = "all_reduce"
/// bytes = 65536
/// packet_size = 16
/// [workload.host]
/// overhead = 500
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadParams {
    /// The program.
    pub program: ProgramKind,
    /// The rest.
    pub around: Around,
}

impl WorkloadParams {
    /// Reads the table found at `path`. Checks everything that does not depend on the topology.
    pub fn from_value(path: &str, value: &Value) -> Result<Self, ScenarioError> {
        let Value::Object(table) = value else {
            return Err(ScenarioError::new(path, value, "expected a table with `kind`"));
        };
        let (around, own): (Map<_, _>, Map<_, _>) =
            table.clone().into_iter().partition(|(key, _)| AROUND.contains(&key.as_str()));
        let mut found = Findings::default();
        let program = found.take(ProgramKind::from_value(path, &Value::Object(own)));
        let around: Option<Around> = found.take(schema::parse(path, &Value::Object(around)));
        if let Some(around) = around.as_ref().filter(|around| around.header >= around.packet_size) {
            let expected = format!("expected fewer phits than a packet has, `packet_size` = {}", around.packet_size);
            found.add(ScenarioError::new(format!("{path}.header"), around.header, expected));
        }
        for (key, traffic) in program.iter().flat_map(|program| program.params().traffic()) {
            found.take(traffic.check().map_err(|error| error.under(&format!("{path}.{key}"))));
        }
        if let Some(repeat) = around.as_ref().and_then(|around| around.repeat) {
            found.take(repeat.check().map_err(|error| error.under(&format!("{path}.repeat"))));
        }
        found.into_result()?;
        match (program, around) {
            (Some(program), Some(around)) => Ok(Self { program, around }),
            _ => Err(ScenarioError::new(path, value, "expected a table with `kind`")),
        }
    }

    /// Phits of the largest packet, including traffic beside the program.
    pub fn largest_packet(&self) -> u16 {
        let traffic = self.program.params().traffic().into_iter();
        let largest = traffic.filter_map(|(_, traffic)| Some(traffic.packet_sizes().ok()?.1)).max();
        largest.unwrap_or(0).max(self.around.packet_size)
    }

    /// The broken bounds of the schema. A program may have set parameters that no document could hold.
    pub(crate) fn broken(&self, path: &str) -> Vec<ScenarioError> {
        let mut broken = self.program.broken(path);
        broken.extend(schema::check::<Around>(path, &json!(self.around)));
        broken
    }

    /// The workload on the endpoints of a topology, in ticks instead of cycles. Error paths start with `workload`.
    pub(crate) fn build(
        &self,
        topology: &dyn Topology,
        seed: u64,
        ticks_per_cycle: Tick,
        (rates, bisection): (&Rates, Option<f64>),
        units: Units,
    ) -> Result<Workload, ScenarioError> {
        let Around { packet_size, header, time_unit, ref host, ref placement, ref reorder, repeat } = self.around;
        let free: Vec<u32> = (0..topology.endpoints()).collect();
        let Units { phit, nanosecond } = units;
        let nanosecond = nanosecond.map(|(over, under)| (over, under.saturating_mul(time_unit.into())));
        let (job, free) = (0, &free[..]);
        let chosen = host.rails();
        let rails = chosen.map_or(1, |rails| rails.count.into());
        let unit = u64::from(time_unit) * u64::from(ticks_per_cycle);
        let site =
            Site { topology, seed, ticks_per_cycle, rates, bisection, nanosecond, unit, free, job, placement, rails };
        let Made { program, endpoints, jobs, traffic } = self.program.make(&site).map_err(|e| e.under("workload"))?;
        fits(chosen, &program)?;
        let mut slots = vec![NO_SLOT; topology.endpoints() as usize];
        for (slot, &endpoint) in (0..).zip(&endpoints) {
            slots[endpoint as usize] = slot;
        }
        let tick = u64::from(ticks_per_cycle);
        let mut owners = vec![NO_SLOT; topology.endpoints() as usize];
        let mut places = vec![(0, 0); if traffic.is_empty() { 0 } else { owners.len() }];
        for (slot, &endpoint) in (0..).zip(&endpoints) {
            owners[endpoint as usize] = place_of(&jobs, slot / rails) as u32;
        }
        for (which, beside) in (0..).zip(&traffic) {
            for (place, &endpoint) in (0..).zip(&*beside.endpoints) {
                owners[endpoint as usize] = beside.job;
                places[endpoint as usize] = (which, place);
            }
        }
        Ok(Workload {
            jobs,
            traffic,
            owners: owners.into(),
            places: places.into(),
            program,
            hosts: host.in_ticks(tick),
            unit,
            rails: chosen,
            endpoints: endpoints.into(),
            slots: slots.into(),
            packets: Packets { payload: packet_size - header, header, phit },
            reorder: reorder.as_ref().map(ReorderTable::memory),
            timeout: reorder.as_ref().and_then(|reorder| reorder.timeout),
            repeat,
        })
    }
}

impl Serialize for WorkloadParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (program, around) = (self.program.to_value(), json!(self.around));
        let tables = [program, around];
        let entries = tables.iter().filter_map(Value::as_object).flatten();
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in entries {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl JsonSchema for WorkloadParams {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "workload_table".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ProgramKind::json_schema(generator).to_value();
        let around = Around::json_schema(generator).to_value();
        let common = around.get("properties").and_then(Value::as_object);
        for kind in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::Object(own)) = kind.get_mut("properties") {
                own.extend(common.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        // The common keys of all kinds also stand by themselves, for lists of keys.
        if let (Value::Object(table), Some(common)) = (&mut schema, common) {
            let about = "`[workload]`: a program that the endpoints execute, in place of `[traffic]`. Besides the keys \
                         of its kind:";
            table.insert("description".into(), about.into());
            table.insert("properties".into(), common.clone().into());
        }
        Schema::try_from(schema).unwrap_or_default()
    }
}

/// Size of a phit and length of a cycle, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Units {
    /// Bits of a phit, as a fraction.
    pub phit: Option<(u128, u128)>,
    /// Cycles in a nanosecond, as a fraction.
    pub nanosecond: Option<(u128, u128)>,
}

/// A workload that fits a topology.
#[derive(Debug)]
pub struct Workload {
    /// The parts of the program.
    pub jobs: Vec<MadeJob>,
    /// The traffic beside it.
    pub traffic: Vec<Beside>,
    /// The job of every endpoint, `NO_SLOT` if it has none.
    pub owners: Arc<[u32]>,
    /// For every endpoint with traffic: which traffic, and the endpoint's number there. Empty if there is no traffic.
    places: Arc<[(u32, u32)]>,
    /// The program of the ranks.
    pub program: Arc<dyn Executable>,
    /// Hosts' times for a message, in ticks.
    pub hosts: HostParams,
    /// Ticks in a unit of time of the program's calculations.
    pub unit: u64,
    /// Several interfaces of each rank.
    pub rails: Option<Rails>,
    /// The endpoints of all ranks, by rank and rail. Each entry is a slot: one rail of one rank.
    pub endpoints: Arc<[u32]>,
    /// The slot of every endpoint, `NO_SLOT` if it has none.
    pub slots: Arc<[u32]>,
    /// How messages are cut into packets.
    pub packets: Packets,
    /// The memory of receivers that deliver packets in order.
    pub reorder: Option<Memory>,
    /// Cycles from the refusal of a packet by such a receiver until its source sends it again.
    pub timeout: Option<u32>,
    /// The iterations of the program.
    pub repeat: Option<RepeatTable>,
}

impl Workload {
    /// Endpoints of a rank.
    pub fn each(&self) -> u32 {
        self.rails.map_or(1, |rails| rails.count.into())
    }

    /// The slot of an interface of a rank. Without rails all of a rank's interfaces are at its one endpoint.
    pub fn slot(&self, rank: u32, nic: u8) -> u32 {
        self.rails.map_or(rank, |rails| rank * u32::from(rails.count) + u32::from(nic))
    }

    /// Phits of the smallest and of the largest packet; the latter is given. Kernels are faster if all packets have one
    /// size.
    pub fn packet_sizes(&self, largest: u16) -> (u16, u16) {
        let full = self.packets.full();
        let alike = full == largest
            && self.traffic.iter().all(|beside| beside.packet_sizes() == (full, full))
            && self.program.every_size(&|bytes| self.packets.cut(bytes).1 == full);
        (if alike { largest } else { 1 }, largest)
    }

    /// The endpoint of an interface of a rank.
    pub fn endpoint(&self, rank: u32, nic: u8) -> u32 {
        self.endpoints[self.slot(rank, nic) as usize]
    }

    /// The job of a rank.
    pub fn job_of(&self, rank: u32) -> &MadeJob {
        &self.jobs[place_of(&self.jobs, rank)]
    }

    /// The traffic of an endpoint without rank, and the endpoint's number there.
    pub fn beside(&self, endpoint: u32) -> Option<(&Beside, u32)> {
        let &(which, place) = self.places.get(endpoint as usize)?;
        let beside = self.traffic.get(which as usize)?;
        (beside.endpoints.get(place as usize) == Some(&endpoint)).then_some((beside, place))
    }

    /// The position of an operation in the source of the program, if known: `rank 3, line 7`.
    pub fn place_of(&self, rank: u32, number: u32) -> String {
        let job = self.job_of(rank);
        let own = rank - job.first;
        let of = job.name.as_ref().map_or(String::new(), |name| format!("job {name}, "));
        match job.source.as_ref().and_then(|source| source.place_of(own, number)) {
            Some(place) => format!("{of}rank {rank}, {place}"),
            None => format!("{of}rank {rank}, operation {number}"),
        }
    }
}

/// Refuses a program that names interfaces which its ranks do not have.
fn fits(rails: Option<Rails>, program: &Arc<dyn Executable>) -> Result<(), ScenarioError> {
    let Some(Rails { count, choice: Choice::Program }) = rails else { return Ok(()) };
    let named = program.clone().plan(Ranks::some(Vec::new(), program.ranks())).nics();
    if named > usize::from(count) {
        let expected = format!("expected at least {named}: so many interfaces are named by the program");
        return Err(ScenarioError::new("workload.host.rails.count", count, expected));
    }
    Ok(())
}

/// The job of `rank` in `jobs`: the last one with ranks that begins at or before it.
fn place_of(jobs: &[MadeJob], rank: u32) -> usize {
    let before = jobs.partition_point(|job| job.first <= rank);
    jobs[..before].iter().rposition(|job| job.source.is_some()).unwrap_or(0)
}

/// How messages are cut into packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Phits of a packet that carry bytes.
    pub payload: u16,
    /// Phits of a packet that carry no bytes.
    pub header: u16,
    /// Bits of a phit, as a fraction; `None` if the scenario does not give it.
    pub phit: Option<(u128, u128)>,
}

impl Packets {
    /// Phits that the bytes of a message take.
    pub fn phits(&self, bytes: u64) -> u64 {
        let (over, under) = self.phit.unwrap_or((8, 1));
        let bits = u128::from(bytes) * 8 * under;
        // A 64-bit division takes a fraction of the time of a 128-bit one.
        match (u64::try_from(bits), u64::try_from(over)) {
            (Ok(bits), Ok(over)) => bits.div_ceil(over),
            _ => bits.div_ceil(over) as u64,
        }
    }

    /// Packets of a message, and phits of the last one.
    pub fn cut(&self, bytes: u64) -> (u64, u16) {
        let (phits, payload) = (self.phits(bytes), u64::from(self.payload));
        let packets = phits.div_ceil(payload).max(1);
        let last = phits - (packets - 1) * payload;
        (packets, (last as u16 + self.header).max(1))
    }

    /// Phits of a full packet.
    pub fn full(&self) -> u16 {
        self.payload + self.header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologyKind;

    fn read(value: Value) -> Result<WorkloadParams, ScenarioError> {
        WorkloadParams::from_value("workload", &value)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let params = read(json!({ "kind": "collective", "collective": "barrier", "host": { "gap": 3 } })).unwrap();
        let complete = json!(params);
        assert_eq!(read(complete.clone()).unwrap(), params);
        assert_eq!((&complete["packet_size"], &complete["host"]["gap"]), (&json!(8), &json!(3)));
        assert_eq!(complete["placement"], json!({ "kind": "linear", "first": 0 }));
    }

    #[test]
    fn messages_are_cut_into_packets() {
        // Phits of 2 bytes, of which packets carry 6.
        let packets = Packets { payload: 6, header: 2, phit: Some((16, 1)) };
        let cut = [(0, (1, 2)), (1, (1, 3)), (12, (1, 8)), (13, (2, 3)), (36, (3, 8))];
        for (bytes, expected) in cut {
            assert_eq!(packets.cut(bytes), expected, "{bytes} bytes");
        }
        assert_eq!(Packets { header: 0, ..packets }.cut(0), (1, 1), "a packet has a phit");
        assert_eq!(packets.full(), 8);
    }

    #[test]
    fn packets_are_of_one_size_where_messages_fill_them() {
        let topology = TopologyKind::from_value("topology", &json!({ "kind": "single", "endpoints": 8 })).unwrap();
        let topology = topology.params().build().unwrap();
        let sizes = |workload: Value| {
            let params = read(workload).unwrap();
            let units = Units { phit: Some((8, 1)), ..Units::default() };
            let made = params.build(&*topology, 1, 1, (&Rates::alike((1.0, 1.0)), None), units).unwrap();
            made.packet_sizes(params.largest_packet())
        };
        let ring = |bytes: u64| json!({ "kind": "collective", "collective": "all_reduce", "bytes": bytes });
        assert_eq!(sizes(ring(8 * 24)), (8, 8));
        assert_eq!(sizes(ring(8 * 24 + 1)), (1, 8));
        let goal = |sends: &str| {
            let goal = format!("num_ranks 2\nrank 0 {{\n{sends}\n}}\nrank 1 {{\n}}\n");
            json!({ "kind": "program", "goal": goal })
        };
        assert_eq!(sizes(goal("send 8b to 1\nsend 800b to 1")), (8, 8));
        assert_eq!(sizes(goal("send 8b to 1\nsend 12b to 1")), (1, 8));
        // Packets of traffic beside the program count, too.
        let beside = |size: u16| {
            let program = json!({ "kind": "collective", "collective": "all_reduce", "bytes": 64, "ranks": 4 });
            let traffic = json!({ "load": 0.1, "packet_size": size });
            json!({ "kind": "jobs", "job": [{ "name": "a", "program": program }, { "name": "b", "traffic": traffic }] })
        };
        assert_eq!([sizes(beside(8)), sizes(beside(4)), sizes(beside(9))], [(8, 8), (1, 8), (1, 9)]);
    }

    #[test]
    fn errors_name_key_value_and_expectation() {
        let cases = [
            (json!({ "kind": "gaol" }), "workload.kind = \"gaol\": unknown workload"),
            (json!({ "kind": "goal" }), "workload.file: this key is required"),
            (json!({ "kind": "goal", "file": "x", "packet_size": 0 }), "workload.packet_size = 0: expected"),
            (
                json!({ "kind": "goal", "file": "x", "packet_size": 4, "header": 4 }),
                "workload.header = 4: expected fewer phits than a packet has, `packet_size` = 4",
            ),
            (json!({ "kind": "goal", "file": "x", "host": { "ovrhead": 4 } }), "did you mean \"overhead\"?"),
            (json!({ "kind": "collective", "collective": "all_reduc" }), "did you mean \"all_reduce\"?"),
            (json!({ "kind": "goal", "file": "x", "placement": "liner" }), "did you mean \"linear\"?"),
        ];
        for (value, expected) in cases {
            let error = read(value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
        }
    }
}
