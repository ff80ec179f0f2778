//! From the graphs of all ranks to a program.

use super::format;
use super::graph::{Graph, Loose, Reading};
use super::json;
use super::options::Options;
use super::pool::Pool;
use super::step::{ALL, COMMUNICATION, Call, Step};
use crate::collective::{Collective, Members};
use crate::compose::Composer;
use crate::error::{Error, quoted};
use crate::goal::GZIP;
use crate::program::Program;
use crate::script::Costs;
use flate2::bufread::MultiGzDecoder;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// Reads the traces of all ranks, in their order, compressed by gzip or not. The program's unit of time is a
/// nanosecond. Files are read a node at a time.
pub fn read<R: Read>(
    files: impl IntoIterator<Item = R, IntoIter: ExactSizeIterator>,
    options: &Options,
) -> Result<Program, Error> {
    Ok(built(&mut files.into_iter().map(Ok), options, false)?.program)
}

/// A program, and the nodes that its operations come from.
pub(super) struct Built {
    pub(super) program: Program,
    graphs: Vec<Graph>,
    pool: Pool,
    /// By rank: the first operation of each node with operations, and the node.
    origins: Vec<Vec<(u32, u32)>>,
}

impl Built {
    /// The node that an operation comes from, as errors name it.
    pub(super) fn place_of(&self, rank: u32, operation: u32) -> Option<String> {
        let origins = self.origins.get(rank as usize)?;
        let (_, node) = origins.get(origins.partition_point(|(first, _)| *first <= operation).checked_sub(1)?)?;
        Some(self.graphs[rank as usize].named(*node, &self.pool))
    }
}

/// Facts that a reader of the traces should know, by rank: operations of one stream without a fixed order. The nodes
/// of one rank are stored at a time.
pub(super) fn noted<R: Read>(
    files: &mut dyn ExactSizeIterator<Item = Result<R, Error>>,
    options: &Options,
) -> Result<Vec<String>, Error> {
    let (mut pairs, mut ranks, mut first) = (0, 0, None);
    let mut pool = Pool::default();
    each(files, options, &mut pool, |rank, graph, pool| {
        if let Some(Loose { pairs: own, before, after }) = graph.loose() {
            pairs += own;
            ranks += 1;
            first.get_or_insert_with(|| (rank, graph.named(before, pool), graph.named(after, pool)));
        }
    })?;
    let Some((rank, before, after)) = first else { return Ok(vec![]) };
    Ok(vec![format!(
        "operations of GPU streams that do not wait for the one before on their stream: {pairs}, on ranks: {ranks} \
         (first: rank {rank}, {after} after {before}); they can overtake each other, and streams = \"in_order\" \
         among the options keeps them in order"
    )])
}

/// The program, with its nodes if `traced`.
pub(super) fn built<R: Read>(
    files: &mut dyn ExactSizeIterator<Item = Result<R, Error>>,
    options: &Options,
    traced: bool,
) -> Result<Built, Error> {
    let mut pool = Pool::default();
    let mut graphs = vec![];
    each(files, options, &mut pool, |_, graph, _| graphs.push(graph))?;
    let groups = options.groups.iter().map(|(name, ranks)| {
        let group = if name.is_empty() { ALL } else { pool.groups.number(name) };
        (group, pool.list(ranks.clone()))
    });
    let groups = groups.collect();
    let ranks = graphs.len() as u32;
    let mut builder = Builder {
        composer: Composer::new(ranks),
        options,
        pool: &pool,
        all: (0..ranks).collect(),
        groups,
        meetings: BTreeMap::new(),
        origins: traced.then(|| vec![vec![]; graphs.len()]),
    };
    builder.build(&mut graphs)?;
    let Builder { composer, origins, .. } = builder;
    if !traced {
        graphs.clear();
    }
    Ok(Built { program: composer.finish(), graphs, pool, origins: origins.unwrap_or_default() })
}

/// Passes on the graph of each rank.
fn each<R: Read>(
    files: &mut dyn ExactSizeIterator<Item = Result<R, Error>>,
    options: &Options,
    pool: &mut Pool,
    mut found: impl FnMut(u32, Graph, &Pool),
) -> Result<(), Error> {
    options.check()?;
    let ranks = files.len();
    for (rank, file) in (0..).zip(files) {
        let graph = graph(file?, options, ranks, pool).map_err(|error| error.of(rank))?;
        found(rank, graph, pool);
    }
    Ok(())
}

/// Bytes of a file that are read at once.
const BLOCK: usize = 1 << 16;

/// The nodes of a file, from protobuf messages or JSON.
fn graph(file: impl Read, options: &Options, ranks: usize, pool: &mut Pool) -> Result<Graph, Error> {
    let mut reading = Reading::new(options, ranks);
    let mut input = BufReader::with_capacity(BLOCK, file);
    match input.fill_buf()?.starts_with(&GZIP) {
        true => nodes(BufReader::with_capacity(BLOCK, MultiGzDecoder::new(input)), &mut reading, pool)?,
        false => nodes(input, &mut reading, pool)?,
    }
    reading.finish(pool)
}

fn nodes(mut input: impl BufRead, reading: &mut Reading<'_>, pool: &mut Pool) -> Result<(), Error> {
    let is_json = json::is_json(input.fill_buf()?);
    let mut sink = |node: format::Node, at| reading.node(&node, at, pool);
    if is_json { json::nodes(input, &mut sink) } else { format::nodes(input, &mut sink) }
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
    pool: &'o Pool,
    /// All ranks.
    all: Arc<[u32]>,
    /// Groups of the options.
    groups: BTreeMap<u32, Arc<[u32]>>,
    /// By group, and number within the group.
    meetings: BTreeMap<(u32, u32), Meeting>,
    /// See [`Built`].
    origins: Option<Vec<Vec<(u32, u32)>>>,
}

impl Builder<'_> {
    fn build(&mut self, graphs: &mut [Graph]) -> Result<(), Error> {
        for (rank, graph) in (0..).zip(&mut *graphs) {
            graph.begin();
            self.composer.reserve(rank, graph.nodes.len());
        }
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for rank in 0..graphs.len() {
                while let Some(number) = graphs[rank].next() {
                    moved = true;
                    self.add(rank as u32, number, graphs).map_err(|error| error.of(rank as u32))?;
                }
            }
        }
        if let Some(((group, _), meeting)) = self.meetings.first_key_value() {
            let (&rank, &number) = meeting.came.first_key_value().unwrap_or((&0, &0));
            let absent = meeting.ranks.iter().find(|rank| !meeting.came.contains_key(rank));
            let who = absent.map_or("others".into(), |rank| format!("rank {rank}"));
            let group = if *group == ALL { "all ranks".into() } else { format!("group {}", self.name(*group)) };
            let message = format!("{who} of {group} never comes to it");
            return Err(graphs[rank as usize].wrong(number, message, self.pool).of(rank));
        }
        for (rank, graph) in (0..).zip(&*graphs) {
            if let Some(number) = graph.left() {
                return Err(graph.wrong(number, "waits for itself, by way of others", self.pool).of(rank));
            }
        }
        Ok(())
    }

    fn name(&self, group: u32) -> String {
        quoted(self.pool.groups.name(group))
    }

    /// Adds a node whose dependencies have been added.
    fn add(&mut self, rank: u32, number: u32, graphs: &mut [Graph]) -> Result<(), Error> {
        let graph = &mut graphs[rank as usize];
        let step = graph.nodes[number as usize].step;
        if let Step::Meet(call) = step {
            return self.meet(rank, number, call, graphs);
        }
        let frontier = graph.frontier(number);
        match step.operation() {
            None => graph.end(number, &frontier),
            Some(operation) => {
                self.note(rank, number);
                self.composer.set_frontier(rank, frontier);
                self.composer.one(rank, operation);
                graph.end(number, self.composer.frontier(rank))
            }
        }
    }

    /// The next operations of a rank come from a node.
    fn note(&mut self, rank: u32, number: u32) {
        if let Some(origins) = &mut self.origins {
            origins[rank as usize].push((self.composer.operations(rank), number));
        }
    }

    /// A rank has arrived at a collective. The last one adds it for all ranks.
    fn meet(&mut self, rank: u32, number: u32, call: Call, graphs: &mut [Graph]) -> Result<(), Error> {
        let graph = &graphs[rank as usize];
        let wrong = |message: String| graph.wrong(number, message, self.pool);
        let Call { bytes, root, group, place, collective } = call;
        let ranks = match graph.groups.get(&group).or_else(|| self.groups.get(&group)) {
            Some(ranks) => ranks,
            None if group == ALL => &self.all,
            None => return Err(wrong(format!("names group {}, which is not defined", self.name(group)))),
        };
        if !Arc::ptr_eq(ranks, &self.all) {
            if let Some(rank) = ranks.iter().find(|rank| **rank as usize >= graphs.len()) {
                return Err(wrong(format!("names a group with rank {rank}, expected 0 to {}", graphs.len() - 1)));
            }
            if !ranks.contains(&rank) {
                let name = if group == ALL { quoted("") } else { self.name(group) };
                return Err(wrong(format!("names group {name}, to which its rank does not belong")));
            }
        }
        let call = (collective, bytes, root);
        let key = (group, place);
        let meeting =
            self.meetings.entry(key).or_insert_with(|| Meeting { ranks: ranks.clone(), call, came: BTreeMap::new() });
        if meeting.call != call {
            let (other, others, _) = meeting.call;
            let (first, _) = meeting.came.first_key_value().unwrap_or((&0, &0));
            let message =
                format!("is {collective} of {bytes} bytes, and for rank {first} it is {other} of {others} bytes");
            return Err(wrong(message));
        }
        meeting.came.insert(rank, number);
        if meeting.came.len() < meeting.ranks.len() {
            return Ok(());
        }
        let Some(meeting) = self.meetings.remove(&key) else { return Ok(()) };
        let held = self.hold(&meeting, graphs);
        held.map_err(|error| graphs[rank as usize].wrong(number, error.message, self.pool))
    }

    fn hold(&mut self, meeting: &Meeting, graphs: &mut [Graph]) -> Result<(), Error> {
        let (collective, bytes, root) = meeting.call;
        let algorithm = self.options.algorithms.get(&collective).copied();
        let algorithm = algorithm.unwrap_or(collective.usual());
        for (&rank, &number) in &meeting.came {
            self.note(rank, number);
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
            graphs[rank as usize].end(number, self.composer.frontier(rank))?;
        }
        Ok(())
    }
}
