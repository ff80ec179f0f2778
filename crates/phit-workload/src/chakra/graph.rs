//! The nodes of a rank and their dependencies, some 100 bytes for each.

use super::format::{At, Node};
use super::options::{Dependencies, Options, Streams};
use super::pool::Pool;
use super::step::{ALL, Step, defined, named, stream};
use crate::compose::Frontier;
use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A node without what is not needed once it is known what it does.
#[derive(Debug)]
pub(super) struct Stored {
    id: u64,
    /// Its line or byte.
    place: u64,
    pub(super) step: Step,
    name: u32,
    kind: u8,
}

const _: () = assert!(size_of::<Stored>() == 48);

/// A list of nodes for each node, one after another.
#[derive(Debug, Default)]
struct Lists {
    /// Where the list of each node begins, and the end of the last one.
    first: Vec<u32>,
    all: Vec<u32>,
}

impl Lists {
    fn of(&self, node: u32) -> &[u32] {
        &self.all[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// Number of entries of each list.
    fn lengths(&self) -> Vec<u32> {
        self.first.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// For each node, the nodes whose lists name it, in their order.
    fn turned(&self) -> Self {
        let mut first = vec![0u32; self.first.len()];
        self.all.iter().for_each(|named| first[*named as usize + 1] += 1);
        for node in 1..first.len() {
            first[node] += first[node - 1];
        }
        let mut all = vec![0; self.all.len()];
        for node in 0..first.len() as u32 - 1 {
            for &named in self.of(node) {
                all[first[named as usize] as usize] = node;
                first[named as usize] += 1;
            }
        }
        // Each start has moved to the end of its list, which is the start of the next.
        first.rotate_right(1);
        first[0] = 0;
        Self { first, all }
    }
}

/// The operations with which a node ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The node has not been added.
    Open,
    /// One operation, as most nodes have.
    One(u32),
    /// So many operations, from an index of [`Graph::joined`].
    Several(u32, u32),
}

/// Nodes as they are read.
#[derive(Debug)]
pub(super) struct Reading<'o> {
    options: &'o Options,
    ranks: usize,
    nodes: Vec<Stored>,
    is_text: bool,
    /// Ids of the nodes that each one waits for.
    waits: Vec<u64>,
    /// Number of these, by node.
    counts: Vec<u32>,
    groups: BTreeMap<u32, Arc<[u32]>>,
    /// Stream, start time, id and number of each operation of a stream.
    streams: Vec<(u64, u64, u64, u32)>,
}

impl<'o> Reading<'o> {
    pub(super) fn new(options: &'o Options, ranks: usize) -> Self {
        Self {
            options,
            ranks,
            nodes: vec![],
            is_text: false,
            waits: vec![],
            counts: vec![],
            groups: BTreeMap::new(),
            streams: vec![],
        }
    }

    /// Adds a node.
    pub(super) fn node(&mut self, node: &Node, at: At, pool: &mut Pool) -> Result<(), Error> {
        let step = Step::new(node, self.ranks, self.options, pool)?;
        if self.nodes.len() >= u32::MAX as usize || self.waits.len() + node.data.len() >= u32::MAX as usize {
            return Err(Error::new("the file has more than 2^32 nodes or dependencies"));
        }
        let number = self.nodes.len() as u32;
        if node.kind == 1 {
            for (name, ranks) in defined(node)? {
                let group = if name.is_empty() { ALL } else { pool.groups.number(&name) };
                self.groups.insert(group, pool.list(ranks));
            }
        }
        if let Some(stream) = stream(node) {
            push(&mut self.streams, (stream, node.start_micros, node.id, number));
        }
        let control = match self.options.dependencies {
            Dependencies::Data => &[][..],
            Dependencies::DataAndControl => &node.control,
        };
        node.data.iter().chain(control).for_each(|id| push(&mut self.waits, *id));
        push(&mut self.counts, (node.data.len() + control.len()) as u32);
        let place = match at {
            At::Byte(place) | At::Line(place) => place,
        };
        self.is_text = matches!(at, At::Line(_));
        let name = if node.name.is_empty() { u32::MAX } else { pool.nodes.number(&node.name) };
        push(&mut self.nodes, Stored { id: node.id, place, step, name, kind: node.kind as u8 });
        Ok(())
    }

    /// The graph of all nodes.
    pub(super) fn finish(mut self, pool: &Pool) -> Result<Graph, Error> {
        self.nodes.shrink_to_fit();
        let Self { options, nodes, is_text, waits, counts, groups, streams, .. } = self;
        let mut graph = Graph {
            nodes,
            is_text,
            before: Lists::default(),
            after: Lists::default(),
            waiting: vec![],
            ready: BTreeSet::new(),
            ends: vec![],
            joined: vec![],
            groups,
            streams: in_order(streams),
        };
        let known = Known::new(&graph.nodes);
        if let Some(node) = known.twice(&graph.nodes) {
            return Err(graph
                .at(node)
                .mark(Error::new(format!("two nodes have the id {}", graph.nodes[node as usize].id))));
        }
        let mut previous = vec![];
        if options.streams == Streams::InOrder {
            previous.resize(graph.nodes.len(), u32::MAX);
            for pair in graph.streams.iter().flat_map(|stream| stream.windows(2)) {
                previous[pair[1] as usize] = pair[0];
            }
        }
        let mut first = Vec::with_capacity(graph.nodes.len() + 1);
        let mut all: Vec<u32> = Vec::with_capacity(waits.len() + previous.len());
        let mut ids = &waits[..];
        let mut own = vec![];
        for (number, count) in (0..).zip(counts) {
            let (now, later) = ids.split_at(count as usize);
            ids = later;
            own.clear();
            for id in now {
                let missing = || graph.wrong(number, format!("waits for node {id}, which is missing"), pool);
                own.push(known.number(&graph.nodes, *id).ok_or_else(missing)?);
            }
            own.extend(previous.get(number as usize).filter(|previous| **previous != u32::MAX));
            own.sort_unstable();
            own.dedup();
            first.push(all.len() as u32);
            all.extend(&own);
        }
        first.push(all.len() as u32);
        drop((waits, previous));
        all.shrink_to_fit();
        graph.number_collectives(&known);
        graph.before = Lists { first, all };
        Ok(graph)
    }
}

/// Adds to a list that grows by a quarter: one that doubles would often have twice the memory that it needs.
fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 4).max(64));
    }
    list.push(value);
}

/// The nodes of each stream, by their start times, or by their ids if some of them have no time.
fn in_order(mut operations: Vec<(u64, u64, u64, u32)>) -> Vec<Vec<u32>> {
    operations.sort_unstable();
    let streams = operations.chunk_by_mut(|one, other| one.0 == other.0);
    streams
        .map(|stream| {
            if stream.iter().any(|(_, start, ..)| *start == 0) {
                stream.sort_unstable_by_key(|(_, _, id, number)| (*id, *number));
            }
            stream.iter().map(|(.., number)| *number).collect()
        })
        .collect()
}

/// Finds nodes by their ids. In most traces ids grow, and nodes stand in their order. Otherwise a list is sorted.
struct Known {
    sorted: Option<Vec<u32>>,
}

impl Known {
    fn new(nodes: &[Stored]) -> Self {
        let sorted = (!nodes.is_sorted_by_key(|node| node.id)).then(|| {
            let mut numbers: Vec<u32> = (0..nodes.len() as u32).collect();
            numbers.sort_unstable_by_key(|number| (nodes[*number as usize].id, *number));
            numbers
        });
        Self { sorted }
    }

    /// All nodes by their ids.
    fn in_order(&self, nodes: &[Stored]) -> impl Iterator<Item = u32> {
        let sorted = self.sorted.as_deref();
        (0..nodes.len() as u32).map(move |place| sorted.map_or(place, |sorted| sorted[place as usize]))
    }

    /// A node with the id of one before it.
    fn twice(&self, nodes: &[Stored]) -> Option<u32> {
        let mut last = None;
        self.in_order(nodes).find(|number| {
            let id = nodes[*number as usize].id;
            last.replace(id) == Some(id)
        })
    }

    fn number(&self, nodes: &[Stored], id: u64) -> Option<u32> {
        match &self.sorted {
            None => nodes.binary_search_by_key(&id, |node| node.id).ok().map(|number| number as u32),
            Some(sorted) => {
                let place = sorted.binary_search_by_key(&id, |number| nodes[*number as usize].id).ok()?;
                Some(sorted[place])
            }
        }
    }
}

/// The nodes of a rank.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Stored>,
    /// True if places are lines, not bytes.
    is_text: bool,
    /// Nodes that each one waits for.
    before: Lists,
    /// Nodes that wait for each one.
    after: Lists,
    /// Number of nodes that each one still waits for.
    waiting: Vec<u32>,
    /// Nodes that wait for nothing, by their ids.
    ready: BTreeSet<(u64, u32)>,
    ends: Vec<End>,
    /// See [`End::Several`].
    joined: Vec<u32>,
    /// Groups that the rank's metadata defines.
    pub(super) groups: BTreeMap<u32, Arc<[u32]>>,
    /// The nodes of each stream, in its order.
    streams: Vec<Vec<u32>>,
}

/// Operations of a stream that do not wait for the operation before.
pub(super) struct Loose {
    /// Number of such operations, at least.
    pub(super) pairs: u64,
    /// The first of them, and the operation before it.
    pub(super) before: u32,
    pub(super) after: u32,
}

/// Most dependencies that are followed to check whether operations of a stream are in order. Enough for millions of
/// operations with near dependencies, in at most some seconds.
const MOST_FOLLOWED: u64 = 50_000_000;

impl Graph {
    /// Makes the tables with which nodes are added one after another. Streams are not needed any more.
    pub(super) fn begin(&mut self) {
        self.streams = vec![];
        self.after = self.before.turned();
        self.waiting = self.before.lengths();
        self.ends = vec![End::Open; self.nodes.len()];
        let ready = (0..).zip(&self.nodes).filter(|(number, _)| self.waiting[*number as usize] == 0);
        self.ready = ready.map(|(number, node)| (node.id, number)).collect();
    }

    /// The next node whose dependencies have all been added.
    pub(super) fn next(&mut self) -> Option<u32> {
        self.ready.pop_first().map(|(_, number)| number)
    }

    /// A node that has not been added.
    pub(super) fn left(&self) -> Option<u32> {
        self.ends.iter().position(|end| matches!(end, End::Open)).map(|number| number as u32)
    }

    /// The operations that a node waits for.
    pub(super) fn frontier(&self, number: u32) -> Frontier {
        let mut frontier: Frontier = vec![];
        for before in self.before.of(number) {
            match self.ends[*before as usize] {
                End::Open => {}
                End::One(operation) => frontier.push(operation),
                End::Several(first, count) => {
                    frontier.extend(&self.joined[first as usize..first as usize + count as usize]);
                }
            }
        }
        frontier.sort_unstable();
        frontier.dedup();
        frontier
    }

    /// A node has been added, and ends with these operations.
    pub(super) fn end(&mut self, number: u32, frontier: &[u32]) -> Result<(), Error> {
        self.ends[number as usize] = match *frontier {
            [operation] => End::One(operation),
            _ => {
                let first = u32::try_from(self.joined.len());
                let first = first.map_err(|_| Error::new("its nodes without time join more than 2^32 operations"))?;
                self.joined.extend(frontier);
                End::Several(first, frontier.len() as u32)
            }
        };
        for &after in self.after.of(number) {
            self.waiting[after as usize] -= 1;
            if self.waiting[after as usize] == 0 {
                self.ready.insert((self.nodes[after as usize].id, after));
            }
        }
        Ok(())
    }

    /// Operations of a stream that do not wait for the operation before, neither directly nor through others.
    pub(super) fn loose(&self) -> Option<Loose> {
        let place = self.places_in_order();
        let mut found: Option<Loose> = None;
        let mut followed = 0;
        let mut seen = vec![u32::MAX; self.nodes.len()];
        for pair in self.streams.iter().flat_map(|stream| stream.windows(2)) {
            let (before, after) = (pair[0], pair[1]);
            let mut open = vec![after];
            let mut reached = false;
            while let Some(node) = open.pop() {
                for &earlier in self.before.of(node) {
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
        let mut waiting = self.before.lengths();
        let after = self.before.turned();
        let mut place = vec![u32::MAX; self.nodes.len()];
        let mut ready: Vec<u32> = (0..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
        let mut next = 0;
        while let Some(node) = ready.pop() {
            place[node as usize] = next;
            next += 1;
            for &after in after.of(node) {
                waiting[after as usize] -= 1;
                if waiting[after as usize] == 0 {
                    ready.push(after);
                }
            }
        }
        place
    }

    /// Numbers the collectives of each group, by their ids.
    fn number_collectives(&mut self, known: &Known) {
        let mut next: BTreeMap<u32, u32> = BTreeMap::new();
        for number in 0..self.nodes.len() {
            let number = known.sorted.as_ref().map_or(number, |sorted| sorted[number] as usize);
            if let Step::Meet(call) = &mut self.nodes[number].step {
                let place = next.entry(call.group).or_default();
                call.place = *place;
                *place += 1;
            }
        }
    }

    /// `node 7 (send "ncclSend")`.
    pub(super) fn named(&self, number: u32, pool: &Pool) -> String {
        let node = &self.nodes[number as usize];
        named(node.id, node.kind.into(), pool.nodes.name(node.name))
    }

    /// An error about a node.
    pub(super) fn wrong(&self, number: u32, message: impl Into<String>, pool: &Pool) -> Error {
        self.at(number).mark(Error::new(format!("{}: {}", self.named(number, pool), message.into())))
    }

    fn at(&self, number: u32) -> At {
        let place = self.nodes[number as usize].place;
        if self.is_text { At::Line(place) } else { At::Byte(place) }
    }
}
