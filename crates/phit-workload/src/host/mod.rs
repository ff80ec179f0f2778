//! The LogGOPS model of the hosts that execute a program: when a CPU is busy, when an interface is busy, and which
//! receive matches which message.
//!
//! T. Hoefler, T. Schneider and A. Lumsdaine, "LogGOPSim: Simulating Large-Scale Applications in the LogGOPS Model",
//! LSAP at HPDC 2010. A send takes the CPU for o + (s - 1)·O, and keeps its interface from sending for g + (s - 1)·G. A
//! message that arrives takes a CPU of its receiver for o + (s - 1)·max(O, G), even if no receive waits for it, and
//! keeps the interface from receiving for g + (s - 1)·G. A receive takes no time of its own. A send of more than S
//! bytes only ends when a receive has matched its message.
//!
//! With [`Rails`], the interfaces of a rank are its rails, and a message's rail is chosen when its send is performed.
//!
//! The carrier of the messages asks [`Hosts`] to perform due events one after another, in the order of time.

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

/// The host's time for a message, in units of time. L belongs to the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostParams {
    /// o: of a CPU, for each message sent or received.
    pub overhead: u64,
    /// g: between two messages of an interface.
    pub gap: u64,
    /// G: of the interface, for each byte after the first.
    pub gap_per_byte: u64,
    /// O: of the CPU, for each byte after the first.
    pub overhead_per_byte: u64,
    /// S, in bytes: a send of more bytes ends when a receive has matched its message. Any other send ends when it has
    /// left the CPU.
    pub eager: u64,
}

/// Time for all bytes except the first. A message without bytes is charged -1 byte, as in LogGOPSim: there, these
/// numbers wrap around, and their sums are right.
fn rest(bytes: u64, per_byte: u64) -> u64 {
    bytes.wrapping_sub(1).wrapping_mul(per_byte)
}

/// The result of receiving a message, see [`Hosts::take_at_once`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// The receive of this number has matched it, and has ended.
    Awaited(u32),
    /// It waits for its receive.
    Kept,
}

/// Most receives, or messages, of each rank that are prefetched.
const MOST_FETCHED: usize = 4;

/// The interface of operations that only wait for a CPU.
const NO_NIC: usize = usize::MAX;

/// The state of the hosts of all ranks, or of the ranks in a part of a network.
#[derive(Debug)]
pub struct Hosts {
    plan: Box<dyn Plan>,
    params: HostParams,
    /// Length of a calculation's unit of time.
    unit: u64,
    ranks: Ranks,
    /// Interfaces of a rank.
    nics: usize,
    rails: Option<Rails>,
    /// True in the simple case: messages take no CPU time, each rank has one CPU and one interface, and no lists of
    /// operations or activities are recorded.
    plain: bool,
    /// Operations performed.
    performed: u64,
    /// When the program has begun.
    origin: u64,
    /// True if the plan must learn of starts.
    starts: bool,
    /// True if messages are received without receives of the program.
    receives_all: bool,
    log: Option<Log>,
    /// Activities of all CPUs, in the order of recording.
    stretches: Option<Vec<Stretch>>,
    /// CPUs of a rank.
    cpus: usize,
    /// By place of the rank: when each CPU is free, when each interface can send again, and when each interface can
    /// receive again.
    free: Vec<u64>,
    /// By place of the rank.
    hosts: Vec<Host>,
    /// Receives, except the first of each rank.
    posted: Mailboxes<u32>,
    /// Messages that arrived before their receive, and when a CPU has received them.
    unexpected: Mailboxes<(Message, u64)>,
}

/// The remaining state of a rank's host, one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Host {
    usage: Usage,
    /// Number of messages that have taken a rail.
    turns: u32,
    posted: Posted,
    unexpected: Mailbox,
}

const _: () = assert!(size_of::<Host>() == 64);

impl Hosts {
    /// The hosts of a program before it starts.
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
                && !plan.receives_all()
                && params == HostParams { gap: params.gap, eager: params.eager, ..HostParams::default() },
            performed: 0,
            origin: 0,
            starts: plan.hears_of_starts(),
            receives_all: plan.receives_all(),
            log: None,
            stretches: None,
            unit: 1,
            plan,
            params,
        }
    }

    /// These hosts with a unit of time for calculations that has `unit` of the hosts' units.
    pub fn with_unit(self, unit: u64) -> Self {
        Self { unit, ..self }
    }

    /// These hosts with several rails, whatever interfaces the program names. Each message takes one of them.
    pub fn with_rails(self, rails: Option<Rails>) -> Self {
        let Some(own) = rails else { return self };
        let nics = usize::from(own.count);
        Self { nics, rails, plain: false, free: vec![0; self.ranks.len() * (self.cpus + 2 * nics)], ..self }
    }

    /// These hosts with a list of all operations, see [`Self::spans`].
    pub fn with_spans(self) -> Self {
        Self { log: Some(Log::default()), plain: false, ..self }
    }

    /// These hosts with a list of the activities of CPUs, see [`Self::stretches`].
    pub fn with_stretches(self) -> Self {
        Self { stretches: Some(Vec::new()), plain: false, ..self }
    }

    /// These hosts with a plan that records its phases, see [`Plan::phases`].
    pub fn with_phases(mut self) -> Self {
        self.plan.note_phases();
        self
    }

    /// The program.
    pub fn plan(&self) -> &dyn Plan {
        &*self.plan
    }

    /// Starts the program of a rank.
    pub fn begin(&mut self, rank: u32, effects: &mut Effects) {
        let before = effects.released.len();
        self.plan.begin(rank, &mut effects.released);
        if self.origin > 0 {
            let own = &mut effects.released[before..];
            own.iter_mut().for_each(|released| released.earliest = released.earliest.saturating_add(self.origin));
        }
    }

    /// The program has ended, and `plan`, another run of it, begins at time `now`: [`Self::begin`] must be called for
    /// each rank. CPUs and interfaces stay as they are. Messages take rails as in the first run.
    pub fn begin_again(&mut self, plan: Box<dyn Plan>, now: u64) {
        self.plan = plan;
        self.origin = now;
        self.hosts.iter_mut().for_each(|host| host.turns = 0);
    }

    /// Adds the state that can affect another run of the program, when this run has ended and no message is under way.
    /// Times are relative to `now`.
    pub fn remember(&self, now: u64, mut add: impl FnMut(u64)) {
        for free in self.free.chunks(self.cpus + 2 * self.nics) {
            let (cpus, interfaces) = free.split_at(self.cpus);
            // The time of idle CPUs is counted when they get work. A CPU that has never worked stays so.
            cpus.iter().for_each(|&free| add(if free == 0 { u64::MAX } else { now.wrapping_sub(free) }));
            interfaces.iter().for_each(|&free| add(free.saturating_sub(now)));
        }
    }

    /// Performs an operation of a rank at time `now`, or returns the time until which its CPU or interface is busy.
    /// `queued` returns the amount yet to be sent over a rail of the rank.
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

    /// The rail of a message that is sent now.
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

    /// Receives a message that has arrived at time `now`, or returns the time until which its CPU or interface is busy.
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
        if self.receives_all {
            self.tell(message, end, effects);
            return Ok(());
        }
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

    /// Receives a message that has arrived at time `now` for the rank at `place`, in the simple case. Only operations
    /// of one step of a collective wait for it, nothing takes time, and no lists are recorded. Then this does the work
    /// of [`Self::arrive`] and [`Self::perform`] in one go. Otherwise it returns `None`, and nothing has happened.
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

    /// After [`Self::take_at_once`], when receive `number` has ended: the message that the rank at `place` sends next,
    /// and the number of the next receive if that ends at once, too. `None` if anything else follows. Then only the
    /// receive has ended, and the caller must call [`Self::ended`].
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
            // It arrived before now.
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

    /// A receive has ended at time `now` for which [`Self::exchange`] returned `None`.
    pub fn ended(&mut self, which: Which, now: u64, effects: &mut Effects) {
        self.done(which, now, effects);
    }

    fn tell(&self, message: Message, at: u64, effects: &mut Effects) {
        effects.matched = Some((message, at));
        if message.bytes > self.params.eager {
            effects.taken = Some(Taken { source: message.source, number: message.number, nic: message.nic });
        }
    }

    /// Tells a sender at time `now` that its message has been matched. The reply has been under way since `told`.
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

    /// Sorts the operations that an event has released into the order in which they are performed at equal times: by
    /// rank, sends before receives before calculations, after operations released earlier. Also computes the time from
    /// which each can be performed.
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
            // The rail of a message is not known before it is sent.
            if self.rails.is_none() && matches!(operation.action, Action::Send(_)) {
                *earliest = (*earliest).max(self.free[self.sending(place, operation.nic)]);
            }
        }
        *in_order = released.len();
    }

    /// Removes and returns the first of the sorted operations.
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

    /// The rails of each rank, if there are several.
    pub fn rails(&self) -> Option<Rails> {
        self.rails
    }

    /// The ranks of these hosts.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// The use of a rank's CPUs.
    pub fn usage_of(&self, rank: u32) -> Usage {
        self.hosts[self.ranks.place(rank)].usage
    }

    /// Number of operations that have been performed.
    pub fn performed(&self) -> u64 {
        self.performed
    }

    /// The operations that have been performed, in no particular order; none without [`Self::with_spans`].
    pub fn spans(&self) -> &[Span] {
        self.log.as_ref().map_or(&[], |log| &log.spans)
    }

    /// Activities of CPUs, in no particular order. The activities of each CPU follow each other without a gap. Empty
    /// without [`Self::with_stretches`].
    pub fn stretches(&self) -> &[Stretch] {
        self.stretches.as_deref().unwrap_or_default()
    }

    /// The unfinished part of the program.
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

    /// Brings the state of all ranks into the cache, if it is small.
    pub fn fetch(&self) {
        fetch(&self.free);
        fetch(&self.hosts);
        let most = MOST_FETCHED * self.hosts.len();
        self.posted.fetch(most);
        self.unexpected.fetch(most);
        self.plan.fetch();
    }

    /// Bytes of the state, without the program.
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

    /// Index of the time at which a CPU of the rank at `place` is free.
    fn cpu(&self, place: usize, cpu: u8) -> usize {
        place * (self.cpus + 2 * self.nics) + usize::from(cpu)
    }

    /// Index of the time at which an interface can send again.
    fn sending(&self, place: usize, nic: u8) -> usize {
        self.cpu(place, 0) + self.cpus + usize::from(nic)
    }

    /// Index of the time at which an interface can receive again.
    fn receiving(&self, place: usize, nic: u8) -> usize {
        self.sending(place, nic) + self.nics
    }

    /// An idle CPU gets work at `now`, which has been under way since `since`.
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
