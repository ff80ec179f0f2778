//! From the graphs of all ranks to a program.

use super::format::{self, Node, Value};
use super::json;
use crate::accelerator::AcceleratorParams;
use crate::collective::{Algorithm, Collective, Members};
use crate::compose::{Composer, Frontier};
use crate::error::{Error, quoted};
use crate::goal::GZIP;
use crate::program::{Operation, Program};
use crate::script::Costs;
use flate2::bufread::MultiGzDecoder;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// The dependencies of a node that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Dependencies {
    /// Dependencies on data only, like version 1 of the feeder. In traces of PyTorch, the other dependencies name the
    /// caller.
    #[default]
    Data,
    /// Dependencies on data and on control, like version 3 of the feeder.
    DataAndControl,
}

/// The order of a GPU's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Streams {
    /// The order of dependencies; beyond that, the order of ids, as soon as the accelerator is free.
    #[default]
    AsGiven,
    /// Operations of one stream (attribute `stream`) one after another, as on a GPU: by their start times, or by their
    /// ids if there are no times. Traces of PyTorch lack these dependencies (mlcommons/chakra, issue 215).
    InOrder,
}

/// The duration of calculations.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(inline)]
pub enum Compute {
    /// The duration in the trace.
    #[default]
    Duration,
    /// The roofline model of its operations and bytes, except on the CPU. An operation takes a nanosecond divided by
    /// `peak`, or the time to load its data at `bandwidth`, whichever is longer.
    Roofline {
        /// Operations in a nanosecond.
        peak: f64,
        /// Bytes in a nanosecond.
        #[schemars(extend("x-unit" = "bytes/nanosecond"))]
        bandwidth: f64,
    },
    /// The roofline model with the rates of an accelerator, by its name or with an efficiency.
    Accelerator(AcceleratorParams),
}

/// The duration of a load or a store.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Memory {
    /// Nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub latency: f64,
    /// Bytes in a nanosecond.
    #[schemars(extend("x-unit" = "bytes/nanosecond"))]
    pub bandwidth: f64,
}

/// Choices that a trace leaves open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Options {
    /// The dependencies that count.
    pub dependencies: Dependencies,
    /// Whether operations of one stream of a GPU wait for one another.
    pub streams: Streams,
    /// The duration of calculations.
    pub compute: Compute,
    /// The duration of loads and stores. If left out, they are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The algorithm of each collective; for collectives not listed here, the usual one.
    pub algorithms: BTreeMap<Collective, Algorithm>,
    /// Number of parts into which a collective is cut, sent one after another.
    #[schemars(range(min = 1))]
    pub chunks: u32,
    /// Time before a collective begins, and again after each step's messages have been received, in nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub delay: u64,
    /// Time for each byte that a collective combines, in nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub combine: f64,
    /// The ranks of each group that a collective may name. A collective without a group has all ranks.
    pub groups: BTreeMap<String, Vec<u32>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dependencies: Dependencies::default(),
            streams: Streams::default(),
            compute: Compute::default(),
            memory: None,
            algorithms: BTreeMap::new(),
            chunks: 1,
            delay: 0,
            combine: 0.0,
            groups: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Refuses rates that give no finite time.
    pub(super) fn check(&self) -> Result<(), Error> {
        let above = |key, rate: f64| match rate > 0.0 && rate.is_finite() {
            true => Ok(()),
            false => Err(Error::key(key, rate, "expected a number above 0")),
        };
        let time = |key, time: f64| match time >= 0.0 && time.is_finite() {
            true => Ok(()),
            false => Err(Error::key(key, time, "expected 0 or more")),
        };
        if self.chunks == 0 {
            return Err(Error::key("chunks", 0, "expected 1 or more"));
        }
        if let Compute::Roofline { peak, bandwidth } = self.compute {
            above("compute.roofline.peak", peak)?;
            above("compute.roofline.bandwidth", bandwidth)?;
        }
        if let Compute::Accelerator(accelerator) = self.compute {
            accelerator.roofline().map_err(|error| Error {
                key: match error.key {
                    Some("accelerator.peak") => Some("compute.accelerator.peak"),
                    Some("accelerator.bandwidth") => Some("compute.accelerator.bandwidth"),
                    _ => Some("compute.accelerator.efficiency"),
                },
                message: format!("compute.{}", error.message),
                ..error
            })?;
        }
        if let Some(Memory { latency, bandwidth }) = self.memory {
            time("memory.latency", latency)?;
            above("memory.bandwidth", bandwidth)?;
        }
        time("combine", self.combine)
    }
}

/// The CPUs of a rank for the nodes of its host processor, of its accelerator, and of communication.
const HOST: u8 = 0;
const ACCELERATOR: u8 = 1;
const COMMUNICATION: u8 = 2;

/// Types of nodes.
const NAMES: [&str; 8] =
    ["invalid", "metadata", "memory load", "memory store", "computation", "send", "receive", "collective"];

/// Types of collectives.
const COLLECTIVES: [&str; 10] = [
    "all_reduce",
    "reduce",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
    "reduce_scatter",
    "reduce_scatter_block",
    "barrier",
];

/// Reads the traces of all ranks, in their order, compressed by gzip or not. The program's unit of time is a
/// nanosecond.
pub fn read<R: Read>(files: impl IntoIterator<Item = R>, options: &Options) -> Result<Program, Error> {
    noted(files, options).map(Noted::into_program)
}

/// A program, and the nodes that its operations come from.
pub(super) struct Noted {
    program: Program,
    graphs: Vec<Graph>,
    /// By rank: the first operation of each node with operations, and the node.
    origins: Vec<Vec<(u32, u32)>>,
}

impl Noted {
    /// The program alone.
    pub(super) fn into_program(self) -> Program {
        self.program
    }

    /// Facts that a reader of the traces should know, by rank: operations of one stream without a fixed order.
    pub(super) fn notes(&self) -> Vec<String> {
        let loose: Vec<(usize, Loose)> =
            self.graphs.iter().enumerate().filter_map(|(rank, graph)| Some((rank, graph.loose()?))).collect();
        let Some((rank, Loose { before, after, .. })) = loose.first() else { return vec![] };
        let (pairs, ranks) = (loose.iter().map(|(_, loose)| loose.pairs).sum::<u64>(), loose.len());
        let [before, after] = [before, after].map(|node| named(&self.graphs[*rank].nodes[*node as usize]));
        vec![format!(
            "operations of GPU streams that do not wait for the one before on their stream: {pairs}, on ranks: {ranks} \
             (first: rank {rank}, {after} after {before}); they can overtake each other, and streams = \"in_order\" \
             among the options keeps them in order"
        )]
    }

    /// The node that an operation comes from, as errors name it.
    pub(super) fn place_of(&self, rank: u32, operation: u32) -> Option<String> {
        let origins = self.origins.get(rank as usize)?;
        let (_, node) = origins.get(origins.partition_point(|(first, _)| *first <= operation).checked_sub(1)?)?;
        Some(named(&self.graphs[rank as usize].nodes[*node as usize]))
    }
}

/// [`read`] with the nodes.
pub(super) fn noted<R: Read>(files: impl IntoIterator<Item = R>, options: &Options) -> Result<Noted, Error> {
    options.check()?;
    let mut graphs = vec![];
    for (rank, file) in (0..).zip(files) {
        let mut input = BufReader::new(file);
        let graph = input.fill_buf().map(|start| start.starts_with(&GZIP)).map_err(Error::from).and_then(|zipped| {
            let nodes = match zipped {
                true => nodes(BufReader::new(MultiGzDecoder::new(input))),
                false => nodes(input),
            };
            Graph::new(nodes?, options)
        });
        graphs.push(graph.map_err(|error| error.of(rank))?);
    }
    let ranks = graphs.len();
    let composer = Composer::new(ranks as u32);
    let mut builder = Builder { composer, options, meetings: BTreeMap::new(), origins: vec![vec![]; ranks] };
    builder.build(&mut graphs)?;
    let Builder { composer, origins, .. } = builder;
    Ok(Noted { program: composer.finish(), graphs, origins })
}

/// The nodes of a file, from protobuf messages or JSON.
fn nodes(mut input: impl BufRead) -> Result<Vec<Node>, Error> {
    if json::is_json(input.fill_buf()?) { json::nodes(input) } else { format::nodes(input) }
}

/// The nodes of a rank.
#[derive(Debug)]
struct Graph {
    nodes: Vec<Node>,
    /// Nodes that each one waits for.
    before: Vec<Vec<u32>>,
    /// Nodes that wait for each one.
    after: Vec<Vec<u32>>,
    /// Number of nodes that each one still waits for.
    waiting: Vec<u32>,
    /// Nodes that wait for nothing, by their ids.
    ready: BTreeSet<(u64, u32)>,
    /// The operations with which each node ends, once it has been added.
    ends: Vec<Option<Frontier>>,
    /// Groups that the rank's metadata defines.
    groups: BTreeMap<String, Vec<u32>>,
    /// The number of each collective among the collectives of its group.
    places: FxHashMap<u32, u32>,
    /// The nodes of each stream, in its order.
    streams: Vec<Vec<u32>>,
}

/// Operations of a stream that do not wait for the operation before.
struct Loose {
    /// Number of such operations, at least.
    pairs: u64,
    /// The first of them, and the operation before it.
    before: u32,
    after: u32,
}

/// Most dependencies that are followed to check whether operations of a stream are in order. Enough for millions of
/// operations with near dependencies, in at most some seconds.
const MOST_FOLLOWED: u64 = 50_000_000;

impl Graph {
    fn new(nodes: Vec<Node>, options: &Options) -> Result<Self, Error> {
        let mut by_id: FxHashMap<u64, u32> = FxHashMap::default();
        for (number, node) in (0..).zip(&nodes) {
            if by_id.insert(node.id, number).is_some() {
                return Err(Error::new(format!("two nodes have the id {}", node.id)));
            }
        }
        let mut before: Vec<BTreeSet<u32>> = vec![];
        let mut after = vec![vec![]; nodes.len()];
        for node in &nodes {
            let control = match options.dependencies {
                Dependencies::Data => &[][..],
                Dependencies::DataAndControl => &node.control,
            };
            let mut own = BTreeSet::new();
            for id in node.data.iter().chain(control) {
                let other =
                    by_id.get(id).ok_or_else(|| wrong(node, format!("waits for node {id}, which is missing")))?;
                own.insert(*other);
            }
            before.push(own);
        }
        let streams = streams(&nodes);
        if options.streams == Streams::InOrder {
            for pair in streams.iter().flat_map(|stream| stream.windows(2)) {
                before[pair[1] as usize].insert(pair[0]);
            }
        }
        for (number, own) in (0u32..).zip(&before) {
            own.iter().for_each(|other| after[*other as usize].push(number));
        }
        let before: Vec<Vec<u32>> = before.into_iter().map(|own| own.into_iter().collect()).collect();
        let waiting: Vec<u32> = before.iter().map(|before| before.len() as u32).collect();
        let ready = (0..).zip(&nodes).filter(|(number, _)| waiting[*number as usize] == 0);
        let mut groups = options.groups.clone();
        for node in nodes.iter().filter(|node| node.kind == 1) {
            groups.extend(defined(node)?);
        }
        let mut graph = Self {
            ready: ready.map(|(number, node)| (node.id, number)).collect(),
            ends: vec![None; nodes.len()],
            places: FxHashMap::default(),
            before,
            after,
            waiting,
            groups,
            streams,
            nodes,
        };
        graph.count_collectives()?;
        Ok(graph)
    }

    /// Operations of a stream that do not wait for the operation before, neither directly nor through others.
    fn loose(&self) -> Option<Loose> {
        let place = self.places_in_order();
        let mut found: Option<Loose> = None;
        let mut followed = 0;
        let mut seen = vec![u32::MAX; self.nodes.len()];
        for pair in self.streams.iter().flat_map(|stream| stream.windows(2)) {
            let (before, after) = (pair[0], pair[1]);
            let mut open = vec![after];
            let mut reached = false;
            while let Some(node) = open.pop() {
                for &earlier in &self.before[node as usize] {
                    followed += 1;
                    reached |= earlier == before;
                    // Nodes before the wanted one cannot wait for it.
                    if place[earlier as usize] > place[before as usize] && seen[earlier as usize] != after {
                        seen[earlier as usize] = after;
                        open.push(earlier);
                    }
                }
                if reached {
                    break;
                }
            }
            if !reached {
                found.get_or_insert(Loose { pairs: 0, before, after }).pairs += 1;
            }
            if followed > MOST_FOLLOWED {
                break;
            }
        }
        found
    }

    /// The index of each node in an order in which all nodes wait for earlier ones only.
    fn places_in_order(&self) -> Vec<u32> {
        let mut waiting: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let mut place = vec![u32::MAX; self.nodes.len()];
        let mut ready: Vec<u32> = (0..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
        let mut next = 0;
        while let Some(node) = ready.pop() {
            place[node as usize] = next;
            next += 1;
            for &after in &self.after[node as usize] {
                waiting[after as usize] -= 1;
                if waiting[after as usize] == 0 {
                    ready.push(after);
                }
            }
        }
        place
    }

    fn count_collectives(&mut self) -> Result<(), Error> {
        let collectives = (0..).zip(&self.nodes).filter(|(_, node)| node.kind == 7 && !is_launch(node));
        let mut collectives: Vec<(u64, u32)> = collectives.map(|(number, node)| (node.id, number)).collect();
        collectives.sort_unstable();
        let mut next: BTreeMap<String, u32> = BTreeMap::new();
        for (_, number) in collectives {
            let place = next.entry(group(&self.nodes[number as usize])).or_default();
            self.places.insert(number, *place);
            *place += 1;
        }
        Ok(())
    }

    /// The operations that a node waits for.
    fn frontier(&self, number: u32) -> Frontier {
        let ends = self.before[number as usize].iter().filter_map(|before| self.ends[*before as usize].as_ref());
        let mut frontier: Frontier = ends.flatten().copied().collect();
        frontier.sort_unstable();
        frontier.dedup();
        frontier
    }

    fn end(&mut self, number: u32, frontier: Frontier) {
        self.ends[number as usize] = Some(frontier);
        for &after in &self.after[number as usize] {
            self.waiting[after as usize] -= 1;
            if self.waiting[after as usize] == 0 {
                self.ready.insert((self.nodes[after as usize].id, after));
            }
        }
    }
}

/// A collective at which some of its ranks have arrived, with the node of each.
#[derive(Debug)]
struct Meeting {
    ranks: Arc<[u32]>,
    /// Kind, bytes and root, as the first node gives them.
    call: (Collective, u64, u32),
    came: BTreeMap<u32, u32>,
}

struct Builder<'o> {
    composer: Composer,
    options: &'o Options,
    /// By group, and number within the group.
    meetings: BTreeMap<(String, u32), Meeting>,
    /// See [`Noted`].
    origins: Vec<Vec<(u32, u32)>>,
}

impl Builder<'_> {
    fn build(&mut self, graphs: &mut [Graph]) -> Result<(), Error> {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for rank in 0..graphs.len() {
                while let Some((_, number)) = graphs[rank].ready.pop_first() {
                    moved = true;
                    self.add(rank as u32, number, graphs).map_err(|error| error.of(rank as u32))?;
                }
            }
        }
        if let Some(((group, _), meeting)) = self.meetings.first_key_value() {
            let (&rank, &number) = meeting.came.first_key_value().unwrap_or((&0, &0));
            let absent = meeting.ranks.iter().find(|rank| !meeting.came.contains_key(rank));
            let node = &graphs[rank as usize].nodes[number as usize];
            let who = absent.map_or("others".into(), |rank| format!("rank {rank}"));
            let group = if group.is_empty() { "all ranks".into() } else { format!("group {}", quoted(group)) };
            return Err(wrong(node, format!("{who} of {group} never comes to it")).of(rank));
        }
        for (rank, graph) in (0..).zip(&*graphs) {
            if let Some(number) = graph.ends.iter().position(Option::is_none) {
                return Err(wrong(&graph.nodes[number], "waits for itself, by way of others").of(rank));
            }
        }
        Ok(())
    }

    /// Adds a node whose dependencies have been added.
    fn add(&mut self, rank: u32, number: u32, graphs: &mut [Graph]) -> Result<(), Error> {
        let ranks = graphs.len();
        let graph = &mut graphs[rank as usize];
        let node = &graph.nodes[number as usize];
        let on_host = attribute(node, "is_cpu_op").is_some_and(|value| value.whole() == Some(1));
        let cpu = if on_host { HOST } else { ACCELERATOR };
        let operation = match node.kind {
            0 | 1 => None,
            2 | 3 => {
                let memory = self.options.memory.ok_or_else(|| wrong(node, "needs the times of a memory"))?;
                let bytes = needed(node, "tensor_size")?;
                Some(Operation::calc((memory.latency + bytes as f64 / memory.bandwidth) as u64).on(cpu))
            }
            4 => Some(Operation::calc(self.time(node, on_host)?).on(cpu)),
            5 => Some(self.message(node, ranks, "comm_dst", Operation::send)?),
            6 => Some(self.message(node, ranks, "comm_src", Operation::recv)?),
            7 if is_launch(node) => Some(Operation::calc(self.time(node, on_host)?).on(cpu)),
            7 => return self.meet(rank, number, graphs),
            kind => return Err(wrong(node, format!("is of type {kind}, expected 0 to {}", NAMES.len() - 1))),
        };
        let frontier = graph.frontier(number);
        let end = match operation {
            // It takes no time: nodes that wait for it wait for the same operations.
            None => frontier,
            Some(operation) => {
                self.origins[rank as usize].push((self.composer.operations(rank), number));
                self.composer.set_frontier(rank, frontier);
                self.composer.one(rank, operation);
                self.composer.frontier(rank).clone()
            }
        };
        graph.end(number, end);
        Ok(())
    }

    fn time(&self, node: &Node, on_host: bool) -> Result<u64, Error> {
        let rates = match self.options.compute {
            _ if on_host => None,
            Compute::Duration => None,
            Compute::Roofline { peak, bandwidth } => Some((peak, bandwidth)),
            Compute::Accelerator(accelerator) => accelerator.roofline().ok().map(|roof| (roof.peak, roof.bandwidth)),
        };
        match rates {
            Some((peak, bandwidth)) => {
                let (operations, bytes) = (needed(node, "num_ops")? as f64, needed(node, "tensor_size")? as f64);
                let rate = if bytes == 0.0 { peak } else { peak.min(bandwidth * operations / bytes) };
                Ok(if operations == 0.0 { 0 } else { (operations / rate) as u64 })
            }
            None => node.duration_micros.checked_mul(1000).ok_or_else(|| wrong(node, "takes more than 2^64 ns")),
        }
    }

    fn message(
        &self,
        node: &Node,
        ranks: usize,
        peer: &str,
        operation: fn(u64, u32, u32) -> Operation,
    ) -> Result<Operation, Error> {
        let rank = needed(node, peer)?;
        let found = u32::try_from(rank).ok().filter(|rank| (*rank as usize) < ranks);
        let rank = found.ok_or_else(|| wrong(node, format!("{peer} = {rank}, expected 0 to {}", ranks - 1)))?;
        let tag = attribute(node, "comm_tag").and_then(Value::whole).unwrap_or(0);
        let tag = u32::try_from(tag).map_err(|_| wrong(node, format!("comm_tag = {tag}, expected below 2^32")))?;
        // Tags of the trace differ from tags of collectives.
        let tag =
            tag.checked_add(1 << 31).ok_or_else(|| wrong(node, format!("comm_tag = {tag}, expected below 2^31")))?;
        Ok(operation(needed(node, "comm_size")?, rank, tag).on(COMMUNICATION))
    }

    /// A rank has arrived at a collective. The last one adds it for all ranks.
    fn meet(&mut self, rank: u32, number: u32, graphs: &mut [Graph]) -> Result<(), Error> {
        let graph = &graphs[rank as usize];
        let node = &graph.nodes[number as usize];
        let name = group(node);
        let ranks: Arc<[u32]> = match graph.groups.get(&name) {
            Some(ranks) => ranks.as_slice().into(),
            None if name.is_empty() => (0..graphs.len() as u32).collect(),
            None => return Err(wrong(node, format!("names group {}, which is not defined", quoted(&name)))),
        };
        if let Some(rank) = ranks.iter().find(|rank| **rank as usize >= graphs.len()) {
            return Err(wrong(node, format!("names a group with rank {rank}, expected 0 to {}", graphs.len() - 1)));
        }
        if !ranks.contains(&rank) {
            return Err(wrong(node, format!("names group {}, to which its rank does not belong", quoted(&name))));
        }
        let call = called(node)?;
        let key = (name, graph.places[&number]);
        let meeting = self.meetings.entry(key.clone()).or_insert(Meeting { ranks, call, came: BTreeMap::new() });
        if meeting.call != call {
            let (what, bytes, _) = call;
            let (other, others, _) = meeting.call;
            let (first, _) = meeting.came.first_key_value().unwrap_or((&0, &0));
            let message = format!("is {what} of {bytes} bytes, and for rank {first} it is {other} of {others} bytes");
            return Err(wrong(node, message));
        }
        meeting.came.insert(rank, number);
        if meeting.came.len() < meeting.ranks.len() {
            return Ok(());
        }
        let Some(meeting) = self.meetings.remove(&key) else { return Ok(()) };
        self.hold(&meeting, graphs).map_err(|error| wrong(&graphs[rank as usize].nodes[number as usize], error.message))
    }

    fn hold(&mut self, meeting: &Meeting, graphs: &mut [Graph]) -> Result<(), Error> {
        let (collective, bytes, root) = meeting.call;
        let algorithm = self.options.algorithms.get(&collective).copied();
        let algorithm = algorithm.unwrap_or(collective.usual());
        for (&rank, &number) in &meeting.came {
            self.origins[rank as usize].push((self.composer.operations(rank), number));
            self.composer.set_frontier(rank, graphs[rank as usize].frontier(number));
        }
        let costs = Costs { start: self.options.delay, step: self.options.delay, combine: self.options.combine };
        let members = meeting.ranks.len() as u32;
        let chunks = u64::from(self.options.chunks).min(bytes.max(1));
        for chunk in 0..chunks {
            let size = bytes / chunks + u64::from(chunk < bytes % chunks);
            // A trace gives the data of a rank for all other ranks together.
            let size = if collective == Collective::AllToAll { size / u64::from(members) } else { size };
            let call = Members { root, ..Members::new(collective, algorithm, members, size) };
            self.composer.collective_on(COMMUNICATION, &meeting.ranks, &call.steps()?, costs);
        }
        for (&rank, &number) in &meeting.came {
            let end = self.composer.frontier(rank).clone();
            graphs[rank as usize].end(number, end);
        }
        Ok(())
    }
}

/// The nodes of each stream of a rank's accelerator, in the order of their start times, or of their ids if some have no
/// time.
fn streams(nodes: &[Node]) -> Vec<Vec<u32>> {
    let mut streams: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (number, node) in (0..).zip(nodes).filter(|(_, node)| node.kind >= 2) {
        let on_host = attribute(node, "is_cpu_op").is_some_and(|value| value.whole() == Some(1));
        if let (false, Some(stream)) = (on_host, attribute(node, "stream").and_then(Value::whole)) {
            streams.entry(stream).or_default().push(number);
        }
    }
    let mut streams: Vec<Vec<u32>> = streams.into_values().collect();
    for stream in &mut streams {
        let timed = stream.iter().all(|number| nodes[*number as usize].start_micros > 0);
        stream.sort_by_key(|number| {
            let node = &nodes[*number as usize];
            (if timed { node.start_micros } else { 0 }, node.id)
        });
    }
    streams
}

fn wrong(node: &Node, message: impl Into<String>) -> Error {
    Error::new(format!("{}: {}", named(node), message.into()))
}

/// `node 7 (send "ncclSend")`.
fn named(node: &Node) -> String {
    let kind = NAMES.get(node.kind as usize).copied().unwrap_or("node");
    let name = if node.name.is_empty() { String::new() } else { format!(" {}", quoted(&node.name)) };
    format!("node {} ({kind}{name})", node.id)
}

fn attribute<'n>(node: &'n Node, name: &str) -> Option<&'n Value> {
    node.attributes.iter().find(|attribute| attribute.name == name).and_then(|attribute| attribute.value.as_ref())
}

fn needed(node: &Node, name: &str) -> Result<u64, Error> {
    let Some(value) = attribute(node, name) else { return Err(wrong(node, format!("has no {name}"))) };
    value.whole().ok_or_else(|| wrong(node, format!("{name} is no whole number of 0 or more")))
}

/// True for the host's call that launches a collective. Another node, which describes the collective, names it as a
/// dependency. In traces of PyTorch, both nodes have one type.
fn is_launch(node: &Node) -> bool {
    let on_host = attribute(node, "is_cpu_op").is_some_and(|value| value.whole() == Some(1));
    on_host && attribute(node, "comm_type").is_none()
}

/// The name of the group of a collective; empty for all ranks.
fn group(node: &Node) -> String {
    match attribute(node, "pg_name") {
        Some(Value::String(name)) if name != "0" => name.clone(),
        Some(value) => value.whole().filter(|number| *number != 0).map(|number| number.to_string()).unwrap_or_default(),
        None => String::new(),
    }
}

/// Kind, bytes and root of a collective.
fn called(node: &Node) -> Result<(Collective, u64, u32), Error> {
    let kind = needed(node, "comm_type")?;
    let Some(name) = COLLECTIVES.get(kind as usize) else {
        return Err(wrong(node, format!("comm_type = {kind}, expected 0 to {}", COLLECTIVES.len() - 1)));
    };
    let name = if *name == "reduce_scatter_block" { "reduce_scatter" } else { name };
    let Some(collective) = Collective::all().find(|collective| collective.name() == name) else {
        return Err(wrong(node, format!("is a {name}, which is not supported")));
    };
    let bytes = match collective {
        Collective::Barrier => 1,
        _ => needed(node, "comm_size")?,
    };
    let root = attribute(node, "root").or(attribute(node, "comm_src")).and_then(Value::whole).unwrap_or(0);
    Ok((collective, bytes, root as u32))
}

/// The groups that a node of metadata defines: `[{"pg_name": "1", "ranks": [0, 1]}]`, between two additional characters
/// on each side.
fn defined(node: &Node) -> Result<BTreeMap<String, Vec<u32>>, Error> {
    let text = node.inputs.as_ref().map_or("", |inputs| inputs.values.as_str());
    if !text.contains("pg_name") {
        return Ok(BTreeMap::new());
    }
    let inner = text.get(2..text.len().saturating_sub(2)).unwrap_or("");
    let list: Vec<Group> =
        serde_json::from_str(inner).map_err(|error| wrong(node, format!("its list of groups is no JSON ({error})")))?;
    Ok(list.into_iter().map(|Group { pg_name, ranks }| (pg_name, ranks)).collect())
}

/// A group in the metadata.
#[derive(serde::Deserialize)]
struct Group {
    pg_name: String,
    ranks: Vec<u32>,
}
