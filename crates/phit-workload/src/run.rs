//! Programs on networks that carry whole messages, event by event.

use crate::host::{Effects, HostParams, Hosts, Left, Message, Ready, Span, Stretch, Usage};
use crate::inference::Served;
use crate::network::{Hop, Network};
use crate::plan::{Phase, Plan, Which};
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
    /// Requests to a language model.
    pub served: Vec<Served>,
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
pub fn run_hosts(hosts: Hosts, asked: Asked, network: impl Network) -> Finish {
    let mut running = Running::new(hosts, asked, network);
    running.go_on(u64::MAX);
    running.finish().0
}

/// A program under way over a network.
pub struct Running<N> {
    hosts: Hosts,
    asked: Asked,
    network: N,
    queue: Queue<Event>,
    effects: Effects,
    messages: Vec<Carried>,
    order: Option<Order>,
    arrived: Vec<(u64, Message)>,
    events: u64,
    /// Messages that have arrived, with their times, if a caller sends them.
    told: Option<Vec<(u64, Message)>>,
}

/// Events of one call of [`Running::go_on_for_caller`]; the caller may want to stop the run.
const MOST_EVENTS: u32 = 1 << 14;

impl<N: Network> Running<N> {
    /// Starts the program of `hosts`, which has not started, over a network.
    pub fn new(hosts: Hosts, asked: Asked, network: N) -> Self {
        let mut hosts = asked.of(hosts);
        let mut effects = Effects::default();
        let ranks = hosts.ranks().clone();
        ranks.iter().for_each(|rank| hosts.begin(rank, &mut effects));
        let order = (hosts.rails().is_some() || network.overtakes()).then(Order::default);
        let (queue, messages, arrived, told) = (Queue::default(), Vec::new(), Vec::new(), None);
        let mut running = Self { hosts, asked, network, queue, effects, messages, order, arrived, events: 0, told };
        running.settle(0);
        running
    }

    /// This program with its messages sent by a caller, see [`Self::call`].
    pub fn with_caller(self) -> Self {
        Self { told: Some(Vec::new()), ..self }
    }

    /// A caller sends: an operation of `rank` is due at time `at`. Everything before that time may have been done, but
    /// nothing after it.
    pub fn call(&mut self, (rank, number): Which, operation: Operation, at: u64) {
        self.queue.add(at, Event::Operation { rank, number, operation });
    }

    /// The messages of a caller that have arrived, with their times.
    pub fn told(&mut self) -> &mut Vec<(u64, Message)> {
        self.told.get_or_insert_default()
    }

    /// When something happens next, or an earlier time.
    pub fn next_time(&mut self) -> Option<u64> {
        self.network.next().into_iter().chain(self.queue.next()).min()
    }

    /// Does everything that is due by `until`.
    pub fn go_on(&mut self, until: u64) {
        while self.step(until) {}
    }

    /// [`Self::go_on`] for a caller, and at most some work. With `first`, it stops when the first message has arrived,
    /// so that an answer comes before everything else that is due at that time, as the answer of a program does.
    /// Returns the time that has been reached, `None` if not even one time is complete.
    pub fn go_on_for_caller(&mut self, until: u64, first: bool) -> Option<u64> {
        for _ in 0..MOST_EVENTS {
            if !self.step(until) {
                return Some(until);
            }
            if first && let Some((time, _)) = self.told.as_ref().and_then(|told| told.first()) {
                return Some(*time);
            }
        }
        match self.next_time() {
            Some(next) => next.checked_sub(1).map(|before| before.min(until)),
            None => Some(until),
        }
    }

    /// Handles the next event, if it is due by `until`. False if there is none.
    #[inline]
    fn step(&mut self, until: u64) -> bool {
        let Self { hosts, asked, network, queue, effects, messages, order, arrived, .. } = self;
        let within = network.next();
        let Some((due, event)) = queue.take(within.unwrap_or(u64::MAX).min(until)) else {
            let Some(now) = within.filter(|now| *now <= until) else { return false };
            network.advance(now, arrived);
            arrived.drain(..).for_each(|(time, message)| queue.add(time, Event::Message(message)));
            return true;
        };
        let now = due.time;
        let outcome = match event {
            Event::Operation { rank, number, operation } => {
                let queued = |rail| network.queued(rank, rail, now);
                hosts.perform((rank, number), operation, now, queued, effects)
            }
            Event::Message(message) if order.is_some() => {
                if let Some(order) = order {
                    let ready = |(message, came)| queue.add(now, Event::InTurn(message, came));
                    order.messages.come(&message, (message, now), ready);
                }
                Ok(())
            }
            Event::Message(mut message) | Event::InTurn(mut message, _) => {
                message.mark = messages.len() as u32;
                let outcome = hosts.arrive(message, now, effects);
                if asked.messages && outcome.is_ok() {
                    let arrived = if let Event::InTurn(_, came) = event { came } else { now };
                    messages.push(Carried { message, arrived, matched: None });
                }
                if let (Some(told), Ok(())) = (&mut self.told, outcome) {
                    told.push((now, message));
                }
                outcome
            }
            Event::Hop { message, hops } => {
                go_on(message, hops, now, queue, network);
                Ok(())
            }
        };
        match outcome {
            Err(wait) => queue.defer(due, event, wait),
            Ok(()) => {
                self.events += 1;
                queue.end(due);
                if let Some((message, at)) = effects.matched.take()
                    && asked.messages
                {
                    messages[message.mark as usize].matched = Some(at);
                }
                if let Some(taken) = effects.taken.take() {
                    hosts.taken(taken, now, now, effects);
                }
                self.settle(now);
            }
        }
        true
    }

    /// Queues the consequences of an event at `now`.
    #[inline]
    fn settle(&mut self, now: u64) {
        let Self { hosts, effects, queue, network, order, .. } = self;
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

    /// The results, and the network.
    pub fn finish(self) -> (Finish, N) {
        let Self { hosts, network, messages, events, .. } = self;
        let ranks = hosts.ranks();
        let finish = Finish {
            ranks: ranks.iter().map(|rank| hosts.finish(rank)).collect(),
            usage: ranks.iter().map(|rank| hosts.usage_of(rank)).collect(),
            left: hosts.left(),
            messages,
            operations: hosts.spans().to_vec(),
            stretches: hosts.stretches().to_vec(),
            phases: ranks.iter().map(|rank| hosts.plan().phases(rank)).collect(),
            served: hosts.plan().served(),
            events,
        };
        (finish, network)
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

fn go_on(message: Message, hops: u32, now: u64, queue: &mut Queue<Event>, network: &mut impl Network) {
    match network.hop(&message, hops, now) {
        Hop::Arrives(time) => queue.add(time, Event::Message(message)),
        Hop::Next(time) => queue.add(time, Event::Hop { message, hops: hops + 1 }),
        Hop::UnderWay => {}
    }
}
