//! Conservation laws: what must hold of the state of a network between any two ticks, whatever has happened before.
//!
//! An audit looks at everything and changes nothing. It is for tests: it costs far more than the ticks between two audits.

use crate::engine::{NONE, Tick};
use crate::router::bits::bit;
use crate::router::config::Config;
use crate::router::packet::Packet;
use crate::router::partition::{Partition, TAIL_PENDING, kind, unpack_credit};
use crate::router::state::{BROKEN, Input, Queue, SINK};
use crate::router::wait_lists::Waits;
use crate::sim::Simulation;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The events of one partition that have been filed, in its wheel or its mail, and not handled.
#[derive(Default)]
struct Pending {
    /// Flits on their way to each queue: tick, and the packet if it is a head.
    arrivals: HashMap<u32, Vec<(Tick, Option<Packet>)>>,
    /// Phits of credit on their way to each channel.
    credits: HashMap<u32, u64>,
    /// When credits come to each sender, an output port or an endpoint.
    credit_times: HashMap<u32, Vec<Tick>>,
    /// Packets in the arena that are on their way to a queue or an endpoint.
    travelling: Vec<u32>,
    /// Phits of packets that have left the network but for their delivery.
    delivering: u64,
    /// Ticks of all other events, by kind and target.
    wakes: HashMap<(u32, u32), Vec<Tick>>,
}

impl Pending {
    fn of(partition: &Partition) -> Self {
        let mut pending = Self::default();
        partition.wheel.for_each(partition.now, |at, event| {
            let (what, target) = (event.target >> kind::SHIFT, event.target & kind::MASK);
            match what {
                kind::ARRIVAL => {
                    let head = (event.data != NONE).then(|| partition.packets[event.data]);
                    if head.is_some() {
                        pending.travelling.push(event.data);
                    }
                    pending.arrivals.entry(target).or_default().push((at, head));
                }
                kind::CREDIT => {
                    let (channel, phits) = credited(partition, target, event.data);
                    *pending.credits.entry(channel).or_default() += phits;
                    pending.credit_times.entry(target).or_default().push(at);
                    pending.wakes.entry((what, channel)).or_default().push(at);
                }
                kind::DELIVERY | kind::LOSS => {
                    pending.travelling.push(target);
                    pending.delivering += u64::from(partition.packets[target].size);
                }
                _ => pending.wakes.entry((what, target)).or_default().push(at),
            }
        });
        pending
    }

    fn wakes_at(&self, kind: u32, target: u32, at: Tick) -> bool {
        self.wakes.get(&(kind, target)).is_some_and(|ticks| ticks.iter().any(|&tick| tick <= at))
    }

    fn wakes_ever(&self, kind: u32, target: u32) -> bool {
        self.wakes.contains_key(&(kind, target))
    }
}

/// The channel for which a credit is, and its phits.
fn credited(sender: &Partition, target: u32, data: u32) -> (u32, u64) {
    let (vc, phits) = unpack_credit(data);
    let ports = sender.outputs.len() as u32;
    let first = if target < ports { sender.outputs[target].vc } else { sender.endpoints[target - ports].channel };
    (first + vc, phits as u64)
}

/// The first of the channels by which `sender` sends into `input`.
fn sending_channel(sender: &Partition, input: &Input) -> u32 {
    credited(sender, input.upstream, 0).0
}

/// Flits of the first packet of `queue` that have been granted.
fn sent(queue: &Queue) -> u16 {
    if queue.first == NONE || queue.sent == TAIL_PENDING { 0 } else { queue.sent }
}

/// Phits of the first `flits` flits of a packet.
fn phits(config: &Config, packet: &Packet, flits: u16) -> u64 {
    (0..flits).map(|flit| u64::from(config.flit_phits(packet.size, flit))).sum()
}

/// The packets of a queue in order, or what is wrong with its list.
fn members(partition: &Partition, queue: &Queue) -> Result<Vec<u32>, String> {
    let mut list = Vec::new();
    if queue.first == NONE {
        return match queue.last {
            NONE => Ok(list),
            last => Err(format!("is empty but ends with packet {last}")),
        };
    }
    let mut at = queue.first;
    loop {
        list.push(at);
        if at == queue.last {
            return Ok(list);
        }
        if list.len() > partition.packets.live() as usize {
            return Err("goes round in a circle".into());
        }
        at = partition.packets[at].next;
    }
}

/// What stands in a queue and what is on its way to it.
struct Load {
    /// Phits in the queue.
    inside: u64,
    /// Phits on the link before it.
    coming: u64,
    /// Flits of the last packet on the link or in the queue that are still to be sent upstream: how many have been sent,
    /// if any are missing.
    unfinished: Option<u16>,
}

impl Load {
    fn of(partition: &Partition, pending: &Pending, index: u32, packets: &[u32]) -> Result<Self, String> {
        let config = &*partition.config;
        let queue = &partition.queues[index];
        let mut inside = 0;
        for (place, &packet) in packets.iter().enumerate() {
            let packet = &partition.packets[packet];
            let arrived = if place + 1 == packets.len() { queue.arrived } else { packet.flits };
            let sent = if place == 0 { sent(queue) } else { 0 };
            if arrived == 0 || arrived > packet.flits || sent > arrived || sent >= packet.flits {
                return Err(format!("holds a packet of {} flits: {arrived} arrived, {sent} sent", packet.flits));
            }
            inside += phits(config, packet, arrived) - phits(config, packet, sent);
        }
        let mut last = packets.last().map(|&packet| (partition.packets[packet], queue.arrived));
        let mut coming = 0;
        let mut arrivals = pending.arrivals.get(&index).cloned().unwrap_or_default();
        arrivals.sort_by_key(|(at, _)| *at);
        for (_, head) in arrivals {
            let (packet, flit) = match (head, last) {
                (Some(_), Some((packet, count))) if count < packet.flits => {
                    return Err(format!("gets a head between flits {count} and {} of another packet", packet.flits));
                }
                (Some(packet), _) => (packet, 0),
                (None, Some((packet, count))) if count < packet.flits => (packet, count),
                (None, _) => return Err("gets a flit without a head".into()),
            };
            coming += u64::from(config.flit_phits(packet.size, flit));
            last = Some((packet, flit + 1));
        }
        let unfinished = last.and_then(|(packet, count)| (count < packet.flits).then_some(count));
        Ok(Self { inside, coming, unfinished })
    }
}

/// Checks a network between two ticks, and says what is wrong first:
///
/// * of every virtual channel's buffer, the sender's credits, the phits on the link, the phits in the queue and the credits
///   on their way back add up to its size, and no part is negative;
/// * phits injected are phits delivered, in queues, on links or being ejected;
/// * queues are consistent lists, every packet of the arena is in exactly one place, flits of two packets never mix in
///   a virtual channel;
/// * a virtual channel is held by the one queue whose packet is in it, until the packet's tail has been granted;
/// * output buffers hold what was put into them and no more than they can, and endpoints no more than they have room for;
/// * credits that wait for their turn come one in a cycle;
/// * what a managed queue organisation keeps agrees with the queues, and at both ends of a link if no message is on its way;
/// * whoever could move is awake or about to be woken.
pub fn audit(simulation: &Simulation) -> Result<(), String> {
    let (partitions, inboxes) = simulation.parts();
    let mut pending: Vec<Pending> = partitions.iter().map(Pending::of).collect();
    inboxes.for_each(|to, mail| {
        let pending = &mut pending[to];
        for (&(at, queue), packet) in mail.heads.iter().zip(&mail.packets) {
            pending.arrivals.entry(queue).or_default().push((at, Some(*packet)));
        }
        for (at, event) in &mail.events {
            let (what, target) = (event.target >> kind::SHIFT, event.target & kind::MASK);
            match what {
                kind::ARRIVAL => pending.arrivals.entry(target).or_default().push((*at, None)),
                _ => {
                    let (channel, phits) = credited(&partitions[to], target, event.data);
                    *pending.credits.entry(channel).or_default() += phits;
                    pending.credit_times.entry(target).or_default().push(*at);
                    pending.wakes.entry((what, channel)).or_default().push(*at);
                }
            }
        }
    });
    let (mut injected, mut delivered, mut held) = (0, 0, 0);
    for partition in partitions {
        let pending_here = &pending[partition.index as usize];
        injected += partition.endpoints.iter().map(|e| e.phits).sum::<u64>();
        delivered += partition.collector.total.phits + partition.collector.lost_phits;
        held += pending_here.delivering;
        held += buffers(partitions, &pending, partition)?;
        packets(partition, pending_here)?;
        channels(partition)?;
        outputs(partition)?;
        ejections(partition, pending_here)?;
        turns(partition, pending_here)?;
        managed(partition)?;
        awake(partition, pending_here)?;
    }
    let mut on_the_way = partitions.iter().any(|partition| partition.messages.iter().any(Option::is_some));
    inboxes.for_each(|_, mail| on_the_way |= !mail.messages.is_empty());
    if !on_the_way {
        agreement(partitions)?;
    }
    match injected == delivered + held {
        true => Ok(()),
        false => Err(format!("{injected} phits injected, but {delivered} delivered and {held} held")),
    }
}

/// The name of a queue for people.
fn name(partition: &Partition, queue: u32) -> String {
    let input = &partition.inputs[partition.queues[queue].port];
    let router = partition.routers.start + input.router;
    format!("queue {} of input {} of router {router} at tick {}", queue - input.queues, input.number, partition.now)
}

/// Checks queues against their senders' credits. Returns the phits in queues and on links, and those that have been ejected
/// of packets not delivered yet.
fn buffers(partitions: &[Partition], pending: &[Pending], here: &Partition) -> Result<u64, String> {
    let config = &*here.config;
    let mut held = 0;
    for input in here.inputs.iter() {
        let capacity = i64::from(config.links[input.class as usize].buffer);
        let division = config.division;
        // Phits in the queues that share a buffer with the one at hand and come after it.
        let mut others = 0;
        for lane in (0..u32::from(input.count)).rev() {
            let index = input.queues + lane;
            let queue = &here.queues[index];
            let wrong = |what: String| format!("{}: {what}", name(here, index));
            let packets = members(here, queue).map_err(wrong)?;
            let load = Load::of(here, &pending[here.index as usize], index, &packets).map_err(wrong)?;
            held += load.inside + load.coming;
            if sent(queue) > 0 && here.outputs[queue.output].far_partition == SINK {
                held += phits(config, &here.packets[queue.first], sent(queue));
            }
            if input.upstream == NONE {
                continue;
            }
            let sender = &partitions[input.upstream_partition as usize];
            // What is lost on a broken link keeps its credits.
            if sender.outputs.get(input.upstream as usize).is_some_and(|output| output.far_partition == BROKEN) {
                continue;
            }
            let channel = sending_channel(sender, input) + lane;
            let vc = &sender.channels[channel];
            let back = pending[input.upstream_partition as usize].credits.get(&channel).copied().unwrap_or(0);
            let sum = i64::from(vc.credits) + (load.coming + load.inside + others + back) as i64;
            if division.shared && lane % division.queues > 0 {
                if load.coming > 0 || vc.credits != 0 || back > 0 {
                    return Err(wrong("packets come into a queue that others share their room with".into()));
                }
                others += load.inside;
                continue;
            }
            others = 0;
            if vc.credits < 0 || sum != capacity {
                return Err(wrong(format!(
                    "{} credits, {} phits coming, {} in the queue (and what shares its room), {back} phits of credit on their way back: not {capacity}",
                    vc.credits, load.coming, load.inside
                )));
            }
            let sender_sent = if input.class == 0 {
                let endpoint = &sender.endpoints[input.upstream - sender.outputs.len() as u32];
                (endpoint.sent > 0 && u32::from(endpoint.lane) == lane).then_some(endpoint.sent)
            } else {
                let owner = sender.owner(channel);
                let sent = (owner != NONE).then(|| sent(&sender.queues[owner]));
                sent.filter(|&flits| flits > 0)
            };
            if load.unfinished != sender_sent {
                return Err(wrong(format!("{:?} flits came, but {sender_sent:?} were sent", load.unfinished)));
            }
        }
    }
    Ok(held)
}

/// Every packet of the arena is in a queue or on its way to a queue or an endpoint.
fn packets(partition: &Partition, pending: &Pending) -> Result<(), String> {
    let mut seen: HashSet<u32> = pending.travelling.iter().copied().collect();
    let mut twice = (seen.len() != pending.travelling.len()).then_some("travels twice");
    for (index, queue) in partition.queues.iter().enumerate() {
        for (place, packet) in members(partition, queue)?.into_iter().enumerate() {
            // Under wormhole switching the front packet may have its head elsewhere in the same partition.
            let straddles = place == 0 && sent(queue) > 0;
            if !seen.insert(packet) && !straddles && !tail_behind(partition, packet, index as u32) {
                twice = Some("stands in two queues");
            }
        }
    }
    if let Some(what) = twice {
        return Err(format!("a packet {what} at tick {}", partition.now));
    }
    match seen.len() == partition.packets.live() as usize {
        true => Ok(()),
        false => Err(format!(
            "{} packets in the arena at tick {}, but {} in queues and on links",
            partition.packets.live(),
            partition.now,
            seen.len()
        )),
    }
}

/// True if some other queue is still sending `packet`, which stands in queue `index`.
fn tail_behind(partition: &Partition, packet: u32, index: u32) -> bool {
    let sending = |(at, queue): (usize, &Queue)| at as u32 != index && queue.first == packet && sent(queue) > 0;
    partition.queues.iter().enumerate().any(sending)
}

/// Virtual channels are held by those whose packets are in them.
fn channels(partition: &Partition) -> Result<(), String> {
    let count = partition.outputs.iter().map(|output| output.vcs as usize).sum::<usize>();
    for index in 0..count {
        let owner = partition.owner(index as u32);
        if owner == NONE {
            continue;
        }
        let queue = &partition.queues[owner];
        let wrong = |what: &str| Err(format!("{} holds a channel {what}", name(partition, owner)));
        if queue.first == NONE || queue.sent == TAIL_PENDING || queue.output == NONE || queue.vcs != 0 {
            return wrong("without a packet for it");
        }
        if partition.outputs[queue.output].vc as usize + queue.vc as usize != index {
            return wrong("that it does not use");
        }
    }
    for (index, queue) in partition.queues.iter().enumerate() {
        let multi = queue.first != NONE
            && (partition.packets[queue.first].flits > 1 || partition.vc_allocator.is_some())
            && queue.sent != TAIL_PENDING;
        if multi && queue.output != NONE && queue.vcs == 0 {
            let channel = partition.outputs[queue.output].vc + u32::from(queue.vc);
            if partition.owner(channel) != index as u32 {
                return Err(format!("{} sends into a channel that it does not hold", name(partition, index as u32)));
            }
        }
    }
    Ok(())
}

/// The flits in the ring of an output buffer: start of transmission and size.
fn ring(partition: &Partition, output: u32) -> impl Iterator<Item = (Tick, u32)> + '_ {
    let record = &partition.outputs[output];
    let (first, size) = (u32::from(record.ring_first), partition.ring.max(1));
    let base = output * partition.ring;
    (0..u32::from(record.ring_count)).map(move |place| {
        let place = base + (first + place) % size;
        (partition.rings[place], u32::from(partition.ring_phits[place]))
    })
}

/// Of an endpoint's buffer, the credits for it and those on their way back add up to its size.
fn ejections(partition: &Partition, pending: &Pending) -> Result<(), String> {
    let Some(capacity) = partition.config.links[0].ejection_buffer else { return Ok(()) };
    for output in partition.outputs.iter().filter(|output| output.class == 0) {
        for channel in output.vc..output.vc + u32::from(output.vcs) {
            let credits = i64::from(partition.channels[channel].credits);
            let back = pending.credits.get(&channel).map_or(0, |&phits| phits as i64);
            if credits < 0 || credits + back != i64::from(capacity) {
                let router = partition.routers.start + output.router;
                return Err(format!(
                    "an endpoint of router {router}: {credits} credits, {back} on their way back: not {capacity}"
                ));
            }
        }
    }
    Ok(())
}

/// No sender gets two credits in one cycle where each waits for its turn.
fn turns(partition: &Partition, pending: &Pending) -> Result<(), String> {
    let cycle = partition.config.ticks_per_cycle;
    // An endpoint's credits go out as its flits come in.
    let from_routers = |target: u32| partition.outputs.get(target as usize).is_none_or(|output| output.class != 0);
    for (target, times) in pending.credit_times.iter().filter(|(target, _)| from_routers(**target)) {
        let mut times = times.clone();
        times.sort_unstable();
        let crowded = times.windows(2).find(|pair| pair[1] - pair[0] < cycle);
        if let Some(pair) = crowded.filter(|_| partition.config.credits_in_turn) {
            return Err(format!("sender {target} of partition {}: credits in ticks {pair:?}", partition.index));
        }
    }
    Ok(())
}

/// Output buffers hold what was put into them.
fn outputs(partition: &Partition) -> Result<(), String> {
    let Some(capacity) = partition.config.output_buffer else { return Ok(()) };
    for (index, output) in partition.outputs.iter().enumerate() {
        let sum: u32 = ring(partition, index as u32).map(|(_, size)| size).sum();
        if sum != output.held || sum > capacity {
            return Err(format!(
                "output {index} of partition {} at tick {}: {sum} phits in the buffer, {} counted, room for {capacity}",
                partition.index, partition.now, output.held
            ));
        }
        if !ring(partition, index as u32).map(|(start, _)| start).is_sorted() {
            return Err(format!("output {index} of partition {}: flits out of order", partition.index));
        }
    }
    Ok(())
}

/// When no message is on its way, both ends of a link know the same of the flows that are isolated behind it: virtual channel and
/// line, destinations, and whether they are held back.
fn agreement(partitions: &[Partition]) -> Result<(), String> {
    type Known = BTreeMap<(u8, u8), (Vec<u32>, bool)>;
    let known = |partition: &Partition, port: u32, input: bool| -> Known {
        let mut known = Known::new();
        if let Some(manager) = &partition.manager {
            manager.trees(port, &mut |branch| {
                if branch.input == input && branch.mapped {
                    known.insert((branch.vc, branch.line), (branch.destinations.to_vec(), branch.stopped));
                }
            });
        }
        known
    };
    for here in partitions {
        for (port, input) in here.inputs.iter().enumerate().filter(|(_, input)| input.upstream != NONE) {
            let sender = &partitions[input.upstream_partition as usize];
            if input.class == 0 || input.upstream as usize >= sender.outputs.len() {
                continue;
            }
            let (told, heard) = (known(here, port as u32, true), known(sender, input.upstream, false));
            if told != heard {
                let router = here.routers.start + input.router;
                let (input, now) = (input.number, here.now);
                return Err(format!(
                    "input {input} of router {router} at tick {now} has told {told:?}, its sender knows {heard:?}"
                ));
            }
        }
    }
    Ok(())
}

/// What the manager of a queue organisation keeps agrees with the queues.
fn managed(partition: &Partition) -> Result<(), String> {
    let Some(manager) = &partition.manager else { return Ok(()) };
    for (port, input) in partition.inputs.iter().enumerate() {
        let held = |lane: u16| -> u32 {
            let queue = &partition.queues[input.queues + u32::from(lane)];
            let list = members(partition, queue).unwrap_or_default();
            list.iter().map(|&packet| u32::from(partition.packets[packet].size)).sum()
        };
        manager.audit(port as u32, &held).map_err(|what| {
            let router = partition.routers.start + input.router;
            format!("input {} of router {router} at tick {}: {what}", input.number, partition.now)
        })?;
    }
    Ok(())
}

/// Every queue whose front could move is ready, or something will make it so in time.
fn awake(partition: &Partition, pending: &Pending) -> Result<(), String> {
    let now = partition.now;
    let listed = listed(partition)?;
    for (index, queue) in partition.queues.iter().enumerate() {
        let input = &partition.inputs[queue.port];
        let ports = partition.first_port[input.router + 1] - partition.first_port[input.router];
        if queue.first == NONE {
            continue;
        }
        let index = index as u32;
        let wrong = |what: &str| Err(format!("{} {what}", name(partition, index)));
        if queue.sent == TAIL_PENDING {
            if !pending.wakes_ever(kind::TAIL, index) {
                return wrong("waits for a tail for ever");
            }
            continue;
        }
        let packet = &partition.packets[queue.first];
        let available = if queue.first == queue.last { queue.arrived } else { packet.flits };
        if queue.sent >= available || pending.wakes_ever(kind::READY, index) {
            continue;
        }
        if partition.held.get(index as usize) == Some(&true) {
            continue;
        }
        if partition.candidates.contains(index) {
            continue;
        }
        if let Some(&what) = listed.get(&index) {
            in_list(partition, pending, queue, what).map_err(|wrong| format!("{} {wrong}", name(partition, index)))?;
            continue;
        }
        let lane = bit(index - input.queues);
        if input.ready & lane != 0 {
            if !pending.wakes_ever(kind::INPUT, queue.port) {
                return wrong("waits for its port, which will not wake it");
            }
            continue;
        }
        let at_port = bit(input.number.into());
        if input.asleep & lane == 0 {
            return wrong("has been forgotten");
        }
        if queue.output == NONE {
            let first = partition.first_port[input.router];
            if (0..ports).all(|port| partition.outputs[first + port].waiters & at_port == 0) {
                return wrong("sleeps without a decision, and no output knows");
            }
            continue;
        }
        let output = &partition.outputs[queue.output];
        if output.waiters & at_port == 0 {
            return wrong("sleeps, but its output does not know");
        }
        let size = partition.config.flit_phits(packet.size, queue.sent);
        if could_move(partition, queue, size) && !woken(partition, pending, queue.output, now) {
            return wrong("sleeps, but could move");
        }
        let blocked_by_output = output.busy > now || no_room(partition, queue.output, size);
        if has_channel(partition, queue, size)
            && blocked_by_output
            && !pending.wakes_ever(kind::OUTPUT, queue.output)
            && !woken(partition, pending, queue.output, now)
        {
            return wrong("waits for an output that will not wake it");
        }
    }
    Ok(())
}

/// What each queue waits for that stands in a list; nothing may stand in two.
fn listed(partition: &Partition) -> Result<HashMap<u32, Waits>, String> {
    let mut listed = HashMap::new();
    let mut twice = None;
    partition.lists.for_each(|queue, what| {
        if let Some(other) = listed.insert(queue, what) {
            twice = Some(format!("{} waits for {other:?} and for {what:?}", name(partition, queue)));
        }
    });
    twice.map_or(Ok(listed), Err)
}

/// A queue in the list of `what` cannot move yet, and will be woken when that has changed.
fn in_list(partition: &Partition, pending: &Pending, queue: &Queue, what: Waits) -> Result<(), &'static str> {
    let now = partition.now;
    let size = u32::from(partition.packets[queue.first].size);
    let outputs = &partition.outputs;
    match what {
        Waits::Input(port) if port != queue.port => Err("waits for another port"),
        Waits::Input(port) if !pending.wakes_ever(kind::INPUT, port) => {
            Err("waits for its port, which will not wake it")
        }
        Waits::Input(_) => Ok(()),
        Waits::Output(output) if output != queue.output => Err("waits for another output"),
        Waits::Output(output) => {
            let moves = could_move(partition, queue, size) && !woken(partition, pending, output, now);
            let time_alone = has_channel(partition, queue, size) && !pending.wakes_ever(kind::OUTPUT, output);
            if moves || time_alone { Err("waits for room, but could move or will not be woken") } else { Ok(()) }
        }
        Waits::Crossbar(port, number) => {
            let input = &partition.inputs[port];
            let own = partition.first_port[input.router] + number;
            if port != queue.port || own != queue.output {
                return Err("waits for another way through the crossbar");
            }
            let free = input.busy <= now && outputs[own].busy <= now;
            let marked = input.asleep & bit(number) != 0 && outputs[own].waiters & bit(input.number.into()) != 0;
            match free {
                _ if !marked => Err("waits for the crossbar, but not all know"),
                true if !pending.wakes_at(kind::INPUT, port, now) && !pending.wakes_at(kind::OUTPUT, own, now) => {
                    Err("waits for the crossbar, which is free")
                }
                false if !pending.wakes_ever(kind::INPUT, port) && !pending.wakes_ever(kind::OUTPUT, own) => {
                    Err("waits for the crossbar, and nobody will wake it")
                }
                _ => Ok(()),
            }
        }
        Waits::Channel(channel) => {
            let own = queue.vcs == 1 && channel == partition.outputs[queue.output].vc + u32::from(queue.vc);
            let enough = partition.channels[channel].credits >= size as i32;
            match (own, enough && !pending.wakes_at(kind::CREDIT, channel, now)) {
                (false, _) => Err("waits for another channel"),
                (_, true) => Err("waits for credits that it has"),
                _ => Ok(()),
            }
        }
    }
}

/// True if those who wait for `output` are woken in tick `now`, which has not begun.
fn woken(partition: &Partition, pending: &Pending, output: u32, now: Tick) -> bool {
    let record = &partition.outputs[output];
    pending.wakes_at(kind::OUTPUT, output, now)
        || (0..u32::from(record.vcs)).any(|vc| pending.wakes_at(kind::CREDIT, record.vc + vc, now))
}

fn no_room(partition: &Partition, output: u32, size: u32) -> bool {
    let kept = ring(partition, output).filter(|(start, _)| *start >= partition.now).map(|(_, size)| size);
    partition.config.output_buffer.is_some_and(|capacity| kept.sum::<u32>() + size > capacity)
}

/// True if some permitted channel of the front of `queue` is free and has room for its next flit.
fn has_channel(partition: &Partition, queue: &Queue, size: u32) -> bool {
    let first = partition.outputs[queue.output].vc + u32::from(queue.vc);
    let channel = |vc: u32| &partition.channels[first + vc];
    let free = |vc: u32| partition.owner(first + vc) == NONE;
    match queue.vcs {
        0 => channel(0).credits >= size as i32,
        // In a stage of its own the channel alone is asked for, whatever its credits.
        vcs if partition.vc_allocator.is_some() => (0..u32::from(vcs)).any(free),
        vcs => (0..u32::from(vcs)).any(|vc| channel(vc).credits >= size as i32 && free(vc)),
    }
}

fn could_move(partition: &Partition, queue: &Queue, size: u32) -> bool {
    let free = partition.outputs[queue.output].busy <= partition.now && !no_room(partition, queue.output, size);
    let asks = queue.vcs != 0 && partition.vc_allocator.is_some();
    has_channel(partition, queue, size) && (free || asks)
}
