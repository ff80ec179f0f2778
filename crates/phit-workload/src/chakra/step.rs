//! What a node does, found as soon as it is read, so that its attributes need not be stored.

use super::format::{Node, Value};
use super::options::{Compute, Options};
use super::pool::Pool;
use crate::collective::Collective;
use crate::error::{Error, quoted};
use crate::program::Operation;
use std::collections::BTreeMap;

/// The CPUs of a rank for the nodes of its host processor, of its accelerator, and of communication.
const HOST: u8 = 0;
const ACCELERATOR: u8 = 1;
pub(super) const COMMUNICATION: u8 = 2;

/// Types of nodes.
pub(super) const NAMES: [&str; 8] =
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

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// It takes no time: nodes that wait for it wait for the same operations.
    Nothing,
    /// Computes for so many nanoseconds on a CPU.
    Calc { time: u64, cpu: u8 },
    /// Sends to a rank.
    Send { bytes: u64, peer: u32, tag: u32 },
    /// Receives from a rank.
    Recv { bytes: u64, peer: u32, tag: u32 },
    /// Takes part in a collective of a group, as its `place`th one.
    Meet(Call),
}

const _: () = assert!(size_of::<Step>() == 24);

/// A collective as one of its ranks sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Call {
    pub(super) bytes: u64,
    pub(super) root: u32,
    /// The number of the group's name; [`ALL`] for all ranks.
    pub(super) group: u32,
    /// Its number among the collectives of the group, by their ids.
    pub(super) place: u32,
    pub(super) collective: Collective,
}

/// As a group: all ranks.
pub(super) const ALL: u32 = u32::MAX;

impl Step {
    /// What `node` does in a program of `ranks` ranks.
    pub(super) fn new(node: &Node, ranks: usize, options: &Options, pool: &mut Pool) -> Result<Self, Error> {
        let on_host = is_on_host(node);
        let cpu = if on_host { HOST } else { ACCELERATOR };
        Ok(match node.kind {
            0 | 1 => Self::Nothing,
            2 | 3 => {
                let memory = options.memory.ok_or_else(|| wrong(node, "needs the times of a memory"))?;
                let bytes = needed(node, "tensor_size")?;
                Self::Calc { time: (memory.latency + bytes as f64 / memory.bandwidth) as u64, cpu }
            }
            4 => Self::Calc { time: time(node, options, on_host)?, cpu },
            5 => message(node, ranks, "comm_dst", |bytes, peer, tag| Self::Send { bytes, peer, tag })?,
            6 => message(node, ranks, "comm_src", |bytes, peer, tag| Self::Recv { bytes, peer, tag })?,
            7 if is_launch(node) => Self::Calc { time: time(node, options, on_host)?, cpu },
            7 => Self::Meet(called(node, pool)?),
            kind => return Err(wrong(node, format!("is of type {kind}, expected 0 to {}", NAMES.len() - 1))),
        })
    }

    /// The operation, unless there is none or one for each message of a collective.
    pub(super) fn operation(&self) -> Option<Operation> {
        match *self {
            Self::Nothing | Self::Meet(_) => None,
            Self::Calc { time, cpu } => Some(Operation::calc(time).on(cpu)),
            Self::Send { bytes, peer, tag } => Some(Operation::send(bytes, peer, tag).on(COMMUNICATION)),
            Self::Recv { bytes, peer, tag } => Some(Operation::recv(bytes, peer, tag).on(COMMUNICATION)),
        }
    }
}

/// The stream of an operation of the accelerator.
pub(super) fn stream(node: &Node) -> Option<u64> {
    match node.kind >= 2 && !is_on_host(node) {
        true => attribute(node, "stream").and_then(Value::whole),
        false => None,
    }
}

/// The groups that a node of metadata defines: `[{"pg_name": "1", "ranks": [0, 1]}]`, between two additional characters
/// on each side.
pub(super) fn defined(node: &Node) -> Result<BTreeMap<String, Vec<u32>>, Error> {
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

/// An error about a node.
pub(super) fn wrong(node: &Node, message: impl Into<String>) -> Error {
    Error::new(format!("{}: {}", named(node.id, node.kind, &node.name), message.into()))
}

/// `node 7 (send "ncclSend")`.
pub(super) fn named(id: u64, kind: i32, name: &str) -> String {
    let kind = NAMES.get(kind as usize).copied().unwrap_or("node");
    let name = if name.is_empty() { String::new() } else { format!(" {}", quoted(name)) };
    format!("node {id} ({kind}{name})")
}

fn attribute<'n>(node: &'n Node, name: &str) -> Option<&'n Value> {
    node.attributes.iter().find(|attribute| attribute.name == name).and_then(|attribute| attribute.value.as_ref())
}

fn needed(node: &Node, name: &str) -> Result<u64, Error> {
    let Some(value) = attribute(node, name) else { return Err(wrong(node, format!("has no {name}"))) };
    value.whole().ok_or_else(|| wrong(node, format!("{name} is no whole number of 0 or more")))
}

fn is_on_host(node: &Node) -> bool {
    attribute(node, "is_cpu_op").is_some_and(|value| value.whole() == Some(1))
}

/// True for the host's call that launches a collective. Another node, which describes the collective, names it as a
/// dependency. In traces of PyTorch, both nodes have one type.
fn is_launch(node: &Node) -> bool {
    is_on_host(node) && attribute(node, "comm_type").is_none()
}

fn time(node: &Node, options: &Options, on_host: bool) -> Result<u64, Error> {
    let rates = match options.compute {
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

fn message(node: &Node, ranks: usize, peer: &str, step: fn(u64, u32, u32) -> Step) -> Result<Step, Error> {
    let rank = needed(node, peer)?;
    let found = u32::try_from(rank).ok().filter(|rank| (*rank as usize) < ranks);
    let rank = found.ok_or_else(|| wrong(node, format!("{peer} = {rank}, expected 0 to {}", ranks - 1)))?;
    let tag = attribute(node, "comm_tag").and_then(Value::whole).unwrap_or(0);
    let tag = u32::try_from(tag).map_err(|_| wrong(node, format!("comm_tag = {tag}, expected below 2^32")))?;
    // Tags of the trace differ from tags of collectives.
    let tag = tag.checked_add(1 << 31).ok_or_else(|| wrong(node, format!("comm_tag = {tag}, expected below 2^31")))?;
    Ok(step(needed(node, "comm_size")?, rank, tag))
}

/// The collective of a node; its place in its group is found once all nodes of the rank are known.
fn called(node: &Node, pool: &mut Pool) -> Result<Call, Error> {
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
    let group = match attribute(node, "pg_name") {
        Some(Value::String(name)) if name != "0" => name.clone(),
        Some(value) => value.whole().filter(|number| *number != 0).map(|number| number.to_string()).unwrap_or_default(),
        None => String::new(),
    };
    let group = if group.is_empty() { ALL } else { pool.groups.number(&group) };
    Ok(Call { bytes, root: root as u32, group, place: 0, collective })
}
