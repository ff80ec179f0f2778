//! The LogGOPS model of the hosts that execute a program: when a CPU is busy, when an interface is, and which receive
//! takes which message.
//!
//! T. Hoefler, T. Schneider and A. Lumsdaine, "LogGOPSim: Simulating Large-Scale Applications in the LogGOPS Model",
//! LSAP at HPDC 2010. A send takes the CPU for o + (s - 1)·O, and keeps its interface from sending for g + (s - 1)·G.
//! A message that arrives takes a CPU of its receiver for o + (s - 1)·max(O, G), whether or not it is waited for, and
//! keeps the interface from receiving for g + (s - 1)·G. A receive takes no time of its own. A send of more than S
//! bytes has only ended when a receive has taken its message.
//!
//! With [`Rails`] the interfaces of a rank are its rails, and which of them a message takes is chosen when its send is
//! performed.
//!
//! What carries the messages asks [`Hosts`] to perform what is due, one event after the other, in the order of time.

use crate::cache::fetch;
use crate::mailbox::{Mailbox, Mailboxes, Posted};
use crate::plan::{Exchange, Plan, Released, Which};
use crate::program::{Action, Operation, Transfer};
use crate::queue::Wait;
use crate::rails::{Choice, Rails};
use crate::ranks::Ranks;
use record::Log;
use std::collections::BTreeSet;

mod message;
mod record;

pub use message::{Effects, Left, Message, Ready, Taken};
pub use record::{Doing, Span, Stretch, Usage};

/// What a host takes for a message, in units of time. L is the network's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostParams {
    /// o: of a CPU, for each message that is sent or arrives.
    pub overhead: u64,
    /// g: between two messages of an interface.
    pub gap: u64,
    /// G: of the interface, for each byte after the first.
    pub gap_per_byte: u64,
    /// O: of the CPU, for each byte after the first.
    pub overhead_per_byte: u64,
    /// S, in bytes: a send of more has ended when a receive has taken its message, any other one when it has left the
    /// CPU.
    pub eager: u64,
}

/// Time for all bytes but the first. One of no bytes takes that of a byte less than none: in LogGOPSim these numbers
/// wrap around, and sums of them come out right.
fn rest(bytes: u64, per_byte: u64) -> u64 {
    bytes.wrapping_sub(1).wrapping_mul(per_byte)
}

/// What has become of a message that has been taken in, see [`Hosts::take_at_once`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// The receive of this number has taken it, and has ended.
    Awaited(u32),
    /// It waits for its receive.
    Kept,
}

/// For each rank so many receives, or messages, at most are brought into the cache ahead.
const MOST_FETCHED: usize = 4;

/// What waits for a CPU alone.
const NO_NIC: usize = usize::MAX;

/// The state of the hosts of all ranks, or of those of a part of a network.
#[derive(Debug)]
pub struct Hosts {
    plan: Box<dyn Plan>,
    params: HostParams,
    /// What a unit of time of a calculation takes.
    unit: u64,
    ranks: Ranks,
    /// Interfaces of a rank.
    nics: usize,
    rails: Option<Rails>,
    /// Messages take no time of a CPU, of which each rank has one beside one interface, and nobody wants to know what
    /// is done when.
    plain: bool,
    /// Operations performed.
    performed: u64,
    /// The plan wants to know of starts.
    starts: bool,
    log: Option<Log>,
    /// What all CPUs have done, as it comes.
    stretches: Option<Vec<Stretch>>,
    /// CPUs of a rank.
    cpus: usize,
    /// By place of the rank: when each of its CPUs is free, when each of its interfaces can send again, and when each
    /// can take another message.
    free: Vec<u64>,
    /// By place of the rank.
    hosts: Vec<Host>,
    /// Receives, but for the first of each rank.
    posted: Mailboxes<u32>,
    /// Messages that came before their receive, and when a CPU has taken them in.
    unexpected: Mailboxes<(Message, u64)>,
}

/// What else is known of the host of a rank: one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Host {
    usage: Usage,
    /// Messages that have taken a rail.
    turns: u32,
    posted: Posted,
    unexpected: Mailbox,
}

const _: () = assert!(size_of::<Host>() == 64);

impl Hosts {
    /// The hosts of a program before it begins.
    pub fn new(plan: Box<dyn Plan>, params: HostParams) -> Self {
        let ranks = plan.ranks().len();
        let (cpus, nics) = (plan.cpus(), plan.nics());
        Self {
            free: vec![0; ranks * (cpus + 2 * nics)],
            hosts: vec![Host::default(); ranks],
            posted: Mailboxes::default(),
            unexpected: Mailboxes::default(),
            ranks: plan.ranks().clone(),
            cpus,
            nics,
            rails: None,
            plain: (cpus, nics) == (1, 1)
                && !plan.hears_of_starts()
                && params == HostParams { gap: params.gap, eager: params.eager, ..HostParams::default() },
            performed: 0,
            starts: plan.hears_of_starts(),
            log: None,
            stretches: None,
            unit: 1,
            plan,
            params,
        }
    }

    /// The same where a unit of time of a calculation takes so many of those that the hosts count in.
    pub fn with_unit(self, unit: u64) -> Self {
        Self { unit, ..self }
    }

    /// The same with so many interfaces each, whatever the program says, of which each message takes one.
    pub fn with_rails(self, rails: Option<Rails>) -> Self {
        let Some(own) = rails else { return self };
        let nics = usize::from(own.count);
        Self { nics, rails, plain: false, free: vec![0; self.ranks.len() * (self.cpus + 2 * nics)], ..self }
    }

    /// The same with a list of all operations, see [`Self::spans`].
    pub fn with_spans(self) -> Self {
        Self { log: Some(Log::default()), plain: false, ..self }
    }

    /// The same with a list of what CPUs do, see [`Self::stretches`].
    pub fn with_stretches(self) -> Self {
        Self { stretches: Some(Vec::new()), plain: false, ..self }
    }

    /// The same with a plan that notes its phases, see [`Plan::phases`].
    pub fn with_phases(mut self) -> Self {
        self.plan.note_phases();
        self
    }

    /// The program.
    pub fn plan(&self) -> &dyn Plan {
        &*self.plan
    }

    /// Begins the program of a rank.
    pub fn begin(&mut self, rank: u32, effects: &mut Effects) {
        self.plan.begin(rank, &mut effects.released);
    }

    /// Performs an operation of a rank at time `now`, or says until when its CPU or interface is taken. `queued` says
    /// how much is yet to be sent over a rail of the rank.
    pub fn perform(
        &mut self,
        which: Which,
        mut operation: Operation,
        now: u64,
        queued: impl Fn(u8) -> u64,
        effects: &mut Effects,
    ) -> Result<(), Wait> {
        let (rank, number) = which;
        let place = self.ranks.place(rank);
        if let (Some(rails), Action::Send(transfer)) = (self.rails, operation.action) {
            operation.nic = self.rail(rails, (rank, place), operation.nic, transfer, now, queued);
        }
        match operation.action {
            Action::Calc(time) => {
                let cpu = self.cpu(place, operation.cpu);
                if self.free[cpu] > now {
                    return Err(Wait { until: self.free[cpu], need: (cpu, NO_NIC) });
                }
                let time = time.saturating_mul(self.unit);
                let end = now.saturating_add(time);
                self.idle((rank, place), operation.cpu, now, now);
                let usage = &mut self.hosts[place].usage;
                usage.calc = usage.calc.saturating_add(time);
                self.does(rank, operation.cpu, Doing::Calc, now, end);
                self.free[cpu] = end;
                self.started(which, operation, now, effects);
                self.done(which, end, effects);
            }
            Action::Send(transfer) => return self.send((which, place), operation, transfer, now, effects),
            Action::Recv(Transfer { peer, tag, .. }) => {
                self.started(which, operation, now, effects);
                let host = &mut self.hosts[place];
                match self.unexpected.take((&mut host.unexpected, place), (peer, tag)) {
                    Some((message, end)) => {
                        self.done(which, now.max(end), effects);
                        self.tell(message, now.max(end), effects);
                    }
                    None => self.posted.post((&mut host.posted, place), (peer, tag), number),
                }
            }
        }
        Ok(())
    }

    /// The rail that a message takes which is sent now.
    fn rail(
        &self,
        Rails { count, choice }: Rails,
        (rank, place): (u32, usize),
        named: u8,
        Transfer { peer, tag, .. }: Transfer,
        now: u64,
        queued: impl Fn(u8) -> u64,
    ) -> u8 {
        match choice {
            Choice::RoundRobin => (self.hosts[place].turns % u32::from(count)) as u8,
            Choice::Hash => Rails { count, choice }.hashed(rank, peer, tag),
            Choice::Program => named,
            Choice::LeastQueued => {
                let free = |rail| self.free[self.sending(place, rail)];
                (0..count).min_by_key(|&rail| (queued(rail), free(rail).max(now))).unwrap_or(0)
            }
        }
    }

    fn send(
        &mut self,
        ((rank, number), place): (Which, usize),
        operation: Operation,
        Transfer { bytes, peer, tag }: Transfer,
        now: u64,
        effects: &mut Effects,
    ) -> Result<(), Wait> {
        let HostParams { overhead, gap, gap_per_byte, overhead_per_byte, eager } = self.params;
        let Operation { cpu, nic, .. } = operation;
        let (own_cpu, own_nic) = (self.cpu(place, cpu), self.sending(place, nic));
        let until = self.free[own_cpu].max(self.free[own_nic]);
        if until > now {
            return Err(Wait { until, need: (own_cpu, own_nic) });
        }
        let end = now.wrapping_add(overhead).wrapping_add(rest(bytes, overhead_per_byte));
        self.idle((rank, place), cpu, now, now);
        let host = &mut self.hosts[place];
        host.usage.overhead = host.usage.overhead.saturating_add(end.saturating_sub(now));
        host.turns = host.turns.wrapping_add(1);
        self.does(rank, cpu, Doing::Send, now, end);
        self.free[own_cpu] = end;
        self.free[own_nic] = now.wrapping_add(gap).wrapping_add(rest(bytes, gap_per_byte));
        let left = now.saturating_add(overhead);
        let message = Message { source: rank, destination: peer, number, bytes, tag, cpu, nic, left, mark: 0 };
        effects.sent = Some((message, left));
        self.started((rank, number), operation, now, effects);
        if bytes <= eager {
            self.done((rank, number), end, effects);
        }
        Ok(())
    }

    /// Takes in a message that has arrived at time `now`, or says until when its CPU or interface is taken.
    pub fn arrive(&mut self, message: Message, now: u64, effects: &mut Effects) -> Result<(), Wait> {
        let HostParams { overhead, gap, gap_per_byte, overhead_per_byte, .. } = self.params;
        let Message { source, destination: rank, bytes, tag, cpu, nic, left, .. } = message;
        let place = self.ranks.place(rank);
        let (own_cpu, own_nic) = (self.cpu(place, cpu), self.receiving(place, nic));
        let until = self.free[own_cpu].max(self.free[own_nic]);
        if until > now {
            return Err(Wait { until, need: (own_cpu, own_nic) });
        }
        let rest_of_it = rest(bytes, overhead_per_byte).max(rest(bytes, gap_per_byte));
        let end = now.wrapping_add(overhead).wrapping_add(rest_of_it);
        self.idle((rank, place), cpu, left, now);
        let usage = &mut self.hosts[place].usage;
        usage.overhead = usage.overhead.saturating_add(end.saturating_sub(now));
        self.does(rank, cpu, Doing::Receive, now, end);
        self.free[own_cpu] = end;
        self.free[own_nic] = now.wrapping_add(gap).wrapping_add(rest(bytes, gap_per_byte));
        let host = &mut self.hosts[place];
        match self.posted.claim((&mut host.posted, place), (source, tag)) {
            Some(number) => {
                self.done((rank, number), end, effects);
                self.tell(message, end, effects);
            }
            None => self.unexpected.put((&mut host.unexpected, place), (source, tag), (message, end)),
        }
        Ok(())
    }

    /// Takes in a message that has arrived at time `now` for the rank at `place`, and that no operation waits behind
    /// but those of one step of a collective, if nothing about it takes time, and nobody wants to know what is done:
    /// what
    /// [`Self::arrive`] and [`Self::perform`] do, in one go. `None` if it is otherwise; nothing has happened then.
    #[inline]
    pub fn take_at_once(&mut self, message: &Message, place: usize, now: u64) -> Option<Arrived> {
        let &Message { source, bytes, tag, left, .. } = message;
        if !self.plain || bytes > self.params.eager {
            return None;
        }
        let [cpu, _, receiving] = self.free.get_mut(3 * place..3 * place + 3)? else { return None };
        if (*cpu).max(*receiving) > now {
            return None;
        }
        let host = &mut self.hosts[place];
        let arrived = match host.posted.claim_only((source, tag)).ok()? {
            Some(number) => Arrived::Awaited(number),
            None => {
                self.unexpected.put((&mut host.unexpected, place), (source, tag), (*message, now));
                Arrived::Kept
            }
        };
        let coming = now - left.clamp(*cpu, now);
        let usage = &mut host.usage;
        usage.blocked = usage.blocked.saturating_add(coming);
        usage.waiting = usage.waiting.saturating_add(now - *cpu - coming);
        (*cpu, *receiving) = (now, now.wrapping_add(self.params.gap));
        Some(arrived)
    }

    /// After [`Self::take_at_once`]: the message that the rank at `place` sends when its receive `number` has ended,
    /// and the number of the next receive if that ends at once, too. `None` if something else comes of it than that;
    /// nothing has happened then but the end of the receive, of which [`Self::ended`] has to be told.
    #[inline]
    pub fn exchange(
        &mut self,
        (rank, place): (u32, usize),
        number: u32,
        now: u64,
        effects: &mut Effects,
    ) -> Option<(Message, Option<u32>)> {
        let sending = 3 * place + 1;
        if self.free[sending] > now {
            return None;
        }
        let exchange = self.plan.exchange((rank, place), number, now, self.params.eager)?;
        let Exchange { sent, send, awaited, receive } = exchange;
        self.performed += 2;
        self.free[sending] = now.wrapping_add(self.params.gap);
        let Transfer { bytes, peer, tag } = send;
        let message =
            Message { source: rank, destination: peer, number: sent, bytes, tag, cpu: 0, nic: 0, left: now, mark: 0 };
        let host = &mut self.hosts[place];
        let key = (receive.peer, receive.tag);
        match self.unexpected.take((&mut host.unexpected, place), key) {
            // It has come before now.
            Some((there, _)) => {
                self.tell(there, now, effects);
                Some((message, Some(awaited)))
            }
            None => {
                self.posted.post((&mut host.posted, place), key, awaited);
                Some((message, None))
            }
        }
    }

    /// A receive has ended at time `now`, of which [`Self::exchange`] makes nothing.
    pub fn ended(&mut self, which: Which, now: u64, effects: &mut Effects) {
        self.done(which, now, effects);
    }

    fn tell(&self, message: Message, at: u64, effects: &mut Effects) {
        effects.matched = Some((message, at));
        if message.bytes > self.params.eager {
            effects.taken = Some(Taken { source: message.source, number: message.number, nic: message.nic });
        }
    }

    /// Tells a sender at time `now` that its message has been taken; the word has been on its way since `told`.
    pub fn taken(&mut self, taken: Taken, told: u64, now: u64, effects: &mut Effects) {
        let Taken { source: rank, number, nic } = taken;
        let place = self.ranks.place(rank);
        let cpu = self.plan.cpu_of(rank, number);
        self.idle((rank, place), cpu, told, now);
        for one in [self.cpu(place, cpu), self.sending(place, nic)] {
            self.free[one] = self.free[one].max(now);
        }
        self.done((rank, number), now, effects);
    }

    /// Puts the operations that an event has released in the order in which they are performed if their times are
    /// equal: by rank, sends before receives before calculations; behind those that were released before. From when on
    /// they can be performed is seen now.
    #[inline]
    pub fn order(&self, effects: &mut Effects) {
        let Effects { released, in_order, .. } = effects;
        let new = &mut released[*in_order..];
        if new.is_empty() {
            return;
        }
        let order = |released: &Released| {
            let kind = match released.operation.action {
                Action::Send(_) => 0,
                Action::Recv(_) => 1,
                Action::Calc(_) => 2,
            };
            (released.rank, kind)
        };
        if !new.is_sorted_by_key(order) {
            new.sort_by_key(order);
        }
        for Released { rank, operation, earliest, .. } in &mut *new {
            let place = self.ranks.place(*rank);
            *earliest = (*earliest).max(self.free[self.cpu(place, operation.cpu)]);
            // Which rail a message takes is not known before.
            if self.rails.is_none() && matches!(operation.action, Action::Send(_)) {
                *earliest = (*earliest).max(self.free[self.sending(place, operation.nic)]);
            }
        }
        *in_order = released.len();
    }

    /// The first of the operations that have been put in order, which is taken out.
    #[inline]
    pub fn next_ready(effects: &mut Effects) -> Option<Ready> {
        let Effects { released, taken_out, in_order, .. } = effects;
        if *taken_out == *in_order {
            return None;
        }
        let Released { rank, number, operation, earliest } = released[*taken_out];
        *taken_out += 1;
        if *taken_out == released.len() {
            released.clear();
            (*taken_out, *in_order) = (0, 0);
        }
        Some(Ready { rank, number, operation, at: earliest })
    }

    /// The time at which the last CPU of a rank is free.
    pub fn finish(&self, rank: u32) -> u64 {
        let first = self.cpu(self.ranks.place(rank), 0);
        self.free[first..first + self.cpus].iter().copied().max().unwrap_or(0)
    }

    /// Several interfaces of each rank.
    pub fn rails(&self) -> Option<Rails> {
        self.rails
    }

    /// Whose hosts they are.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// What the CPUs of a rank have done.
    pub fn usage_of(&self, rank: u32) -> Usage {
        self.hosts[self.ranks.place(rank)].usage
    }

    /// Operations that have been performed.
    pub fn performed(&self) -> u64 {
        self.performed
    }

    /// The operations that have been performed, in no particular order; none without [`Self::with_spans`].
    pub fn spans(&self) -> &[Span] {
        self.log.as_ref().map_or(&[], |log| &log.spans)
    }

    /// What CPUs have done, in no particular order; of each the times follow one another without a gap. Nothing without
    /// [`Self::with_stretches`].
    pub fn stretches(&self) -> &[Stretch] {
        self.stretches.as_deref().unwrap_or_default()
    }

    /// What is left.
    pub fn left(&self) -> Left {
        let mut left = Left::default();
        for (place, (host, rank)) in self.hosts.iter().zip(self.ranks.iter()).enumerate() {
            let posted = || self.posted.all(host.posted, place);
            let waiting: BTreeSet<u32> = posted().collect();
            left.messages.extend(self.unexpected.iter(host.unexpected, place).map(|(message, _)| *message));
            let never = self.plan.unperformed(rank).into_iter().filter(|number| !waiting.contains(number));
            left.never.extend(never.map(|number| (rank, number)));
            left.receives.extend(posted().map(|number| (rank, number)));
        }
        left
    }

    /// Brings what is known of all ranks into the cache, if there is little of it.
    pub fn fetch(&self) {
        fetch(&self.free);
        fetch(&self.hosts);
        let most = MOST_FETCHED * self.hosts.len();
        self.posted.fetch(most);
        self.unexpected.fetch(most);
        self.plan.fetch();
    }

    /// Bytes of the state, without the program's.
    pub fn bytes(&self) -> usize {
        let Self { plan, log, stretches, free, hosts, posted, unexpected, .. } = self;
        plan.bytes()
            + free.capacity() * size_of::<u64>()
            + hosts.capacity() * size_of::<Host>()
            + posted.bytes()
            + unexpected.bytes()
            + log.as_ref().map_or(0, |log| log.spans.capacity() * size_of::<Span>())
            + stretches.as_ref().map_or(0, |list| list.capacity() * size_of::<Stretch>())
    }

    /// Where it stands when a CPU of the rank at `place` is free.
    fn cpu(&self, place: usize, cpu: u8) -> usize {
        place * (self.cpus + 2 * self.nics) + usize::from(cpu)
    }

    /// Where it stands when an interface can send again.
    fn sending(&self, place: usize, nic: u8) -> usize {
        self.cpu(place, 0) + self.cpus + usize::from(nic)
    }

    /// Where it stands when an interface can take another message.
    fn receiving(&self, place: usize, nic: u8) -> usize {
        self.sending(place, nic) + self.nics
    }

    /// A CPU that has had nothing to do gets something at `now`, which has been on its way since `since`.
    fn idle(&mut self, (rank, place): (u32, usize), cpu: u8, since: u64, now: u64) {
        let free = self.free[self.cpu(place, cpu)];
        if free >= now {
            return;
        }
        let coming = now - since.clamp(free, now);
        let usage = &mut self.hosts[place].usage;
        usage.blocked = usage.blocked.saturating_add(coming);
        usage.waiting = usage.waiting.saturating_add(now - free - coming);
        if self.stretches.is_some() {
            self.does(rank, cpu, Doing::Waiting, free, now - coming);
            self.does(rank, cpu, Doing::Blocked, now - coming, now);
        }
    }

    fn does(&mut self, rank: u32, cpu: u8, doing: Doing, start: u64, end: u64) {
        if let Some(stretches) = &mut self.stretches
            && start < end
        {
            stretches.push(Stretch { rank, cpu, doing, start, end });
        }
    }

    fn started(&mut self, (rank, number): Which, operation: Operation, now: u64, effects: &mut Effects) {
        self.performed += 1;
        if let Some(Log { spans, open }) = &mut self.log {
            open.insert((rank, number), spans.len());
            spans.push(Span { rank, number, operation, start: now, end: None });
        }
        if self.starts {
            self.plan.started(rank, number, now, &mut effects.released);
        }
    }

    fn done(&mut self, (rank, number): Which, end: u64, effects: &mut Effects) {
        if let Some(Log { spans, open }) = &mut self.log
            && let Some(place) = open.remove(&(rank, number))
        {
            spans[place].end = Some(end);
        }
        self.plan.done(rank, number, end, &mut effects.released);
    }
}
