//! Programs on networks that carry whole messages, event by event.

use crate::host::{Effects, HostParams, Hosts, Left, Message, Ready, Span, Stretch, Usage};
use crate::network::{Hop, Network};
use crate::plan::{Phase, Plan};
use crate::program::Operation;
use crate::queue::Queue;
use crate::rails::InOrder;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// An operation of `rank` is due, which has this number.
    Operation { rank: u32, number: u32, operation: Operation },
    /// A message arrives.
    Message(Message),
    /// A message arrived at this time. It is handled after the messages before it.
    InTurn(Message, u64),
    /// A message under way, after `hops` hops.
    Hop { message: Message, hops: u32 },
}

/// The results of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Finish {
    /// When each rank has finished.
    pub ranks: Vec<u64>,
    /// The use of each rank's CPUs.
    pub usage: Vec<Usage>,
    /// The unfinished part, if the program did not reach its end.
    pub left: Left,
    /// Messages in the order of arrival, if they are asked for.
    pub messages: Vec<Carried>,
    /// Operations, if they are asked for.
    pub operations: Vec<Span>,
    /// Activities of CPUs, if they are asked for.
    pub stretches: Vec<Stretch>,
    /// The phases that each rank has ended, if they are asked for.
    pub phases: Vec<Vec<Phase>>,
    /// Number of events.
    pub events: u64,
}

impl Finish {
    /// When the last rank has finished.
    pub fn completion(&self) -> u64 {
        self.ranks.iter().copied().max().unwrap_or(0)
    }
}

/// A message that has been carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// The message.
    pub message: Message,
    /// When it arrived.
    pub arrived: u64,
    /// When a receive matched it.
    pub matched: Option<u64>,
}

/// The lists that a run is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// A list of all messages.
    pub messages: bool,
    /// A list of all operations.
    pub operations: bool,
    /// A list of the activities of CPUs.
    pub tracks: bool,
    /// The times at which ranks ended the phases of the program.
    pub phases: bool,
}

impl Asked {
    /// The hosts, prepared to record these lists.
    pub fn of(self, hosts: Hosts) -> Hosts {
        let hosts = if self.operations { hosts.with_spans() } else { hosts };
        let hosts = if self.tracks { hosts.with_stretches() } else { hosts };
        if self.phases { hosts.with_phases() } else { hosts }
    }
}

/// Executes a program over a network.
pub fn run(plan: Box<dyn Plan>, params: HostParams, network: impl Network) -> Finish {
    run_hosts(Hosts::new(plan, params), Asked::default(), network)
}

/// Executes the program of `hosts`, which has not started, over a network.
pub fn run_hosts(hosts: Hosts, asked: Asked, mut network: impl Network) -> Finish {
    let mut hosts = asked.of(hosts);
    let mut queue = Queue::default();
    let mut effects = Effects::default();
    let mut messages: Vec<Carried> = Vec::new();
    let mut order = (hosts.rails().is_some() || network.overtakes()).then(Order::default);
    let mut arrived = Vec::new();
    let ranks = hosts.ranks().clone();
    for rank in ranks.iter() {
        hosts.begin(rank, &mut effects);
    }
    settle(&hosts, &mut effects, &mut queue, &mut network, &mut order, 0);
    let mut events = 0;
    loop {
        let within = network.next();
        let Some((due, event)) = queue.take(within.unwrap_or(u64::MAX)) else {
            let Some(now) = within else { break };
            network.advance(now, &mut arrived);
            arrived.drain(..).for_each(|(time, message)| queue.add(time, Event::Message(message)));
            continue;
        };
        let now = due.time;
        let outcome = match event {
            Event::Operation { rank, number, operation } => {
                let queued = |rail| network.queued(rank, rail, now);
                hosts.perform((rank, number), operation, now, queued, &mut effects)
            }
            Event::Message(message) if order.is_some() => {
                if let Some(order) = &mut order {
                    let ready = |(message, came)| queue.add(now, Event::InTurn(message, came));
                    order.messages.come(&message, (message, now), ready);
                }
                Ok(())
            }
            Event::Message(mut message) | Event::InTurn(mut message, _) => {
                message.mark = messages.len() as u32;
                let outcome = hosts.arrive(message, now, &mut effects);
                if asked.messages && outcome.is_ok() {
                    let arrived = if let Event::InTurn(_, came) = event { came } else { now };
                    messages.push(Carried { message, arrived, matched: None });
                }
                outcome
            }
            Event::Hop { message, hops } => {
                go_on(message, hops, now, &mut queue, &mut network);
                Ok(())
            }
        };
        match outcome {
            Err(wait) => queue.defer(due, event, wait),
            Ok(()) => {
                events += 1;
                queue.end(due);
                if let Some((message, at)) = effects.matched.take()
                    && asked.messages
                {
                    messages[message.mark as usize].matched = Some(at);
                }
                if let Some(taken) = effects.taken.take() {
                    hosts.taken(taken, now, now, &mut effects);
                }
                settle(&hosts, &mut effects, &mut queue, &mut network, &mut order, now);
            }
        }
    }
    Finish {
        ranks: ranks.iter().map(|rank| hosts.finish(rank)).collect(),
        usage: ranks.iter().map(|rank| hosts.usage_of(rank)).collect(),
        left: hosts.left(),
        messages,
        operations: hosts.spans().to_vec(),
        stretches: hosts.stretches().to_vec(),
        phases: ranks.iter().map(|rank| hosts.plan().phases(rank)).collect(),
        events,
    }
}

/// Messages that may overtake one another, on several rails or within the network.
#[derive(Default)]
struct Order {
    /// Messages in order, with the time at which each arrived.
    messages: InOrder<(Message, u64)>,
    /// Number of messages sent.
    sent: u32,
}

impl Order {
    /// Marks a message that is sent.
    fn mark(&mut self, message: &mut Message) {
        message.mark = self.sent;
        self.sent += 1;
        self.messages.sent(message);
    }
}

/// Queues the consequences of an event at `now`.
fn settle(
    hosts: &Hosts,
    effects: &mut Effects,
    queue: &mut Queue<Event>,
    network: &mut impl Network,
    order: &mut Option<Order>,
    now: u64,
) {
    if let Some((mut message, time)) = effects.sent.take() {
        order.iter_mut().for_each(|order| order.mark(&mut message));
        match time == now || network.is_ideal() {
            true => go_on(message, 0, time, queue, network),
            false => queue.add(time, Event::Hop { message, hops: 0 }),
        }
    }
    hosts.order(effects);
    while let Some(Ready { rank, number, operation, at }) = Hosts::next_ready(effects) {
        queue.add(at, Event::Operation { rank, number, operation });
    }
}

fn go_on(message: Message, hops: u32, now: u64, queue: &mut Queue<Event>, network: &mut impl Network) {
    match network.hop(&message, hops, now) {
        Hop::Arrives(time) => queue.add(time, Event::Message(message)),
        Hop::Next(time) => queue.add(time, Event::Hop { message, hops: hops + 1 }),
        Hop::UnderWay => {}
    }
}
