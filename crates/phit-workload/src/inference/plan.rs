//! The ranks while they serve requests: what goes through the model next is decided when it is known what has arrived.
//!
//! The first rank of a group decides. It writes the pass into the group's log, and then sends each other rank a
//! message. A rank that receives the message of a pass reads the log. What it reads has been written before the message
//! was sent, so it does not depend on the parts of the network that ranks are in. A decision takes place in the event
//! of an operation without duration, when everything before it has happened.

use super::InferenceParams;
use super::load::Request;
use super::passes::{Batch, Pass, Passes};
use crate::error::Error;
use crate::plan::{Executable, Plan, Released};
use crate::program::Operation;
use crate::ranks::Ranks;
use crate::source::Setting;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of the messages with which a group agrees.
const WORD: u64 = 64;

/// The CPU of messages.
const COMMUNICATION: u8 = 1;

/// Tag of the messages that announce a pass. Smaller tags are those of requests.
const ANNOUNCE: u32 = 1 << 24;

/// First tag of the all-reduces: one for each lane.
const FIRST_LANE: u32 = ANNOUNCE + 1;

/// A request that has been served, at least in part, with times in the hosts' unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// A rank that knows about it.
    pub rank: u32,
    /// Its number, in the order of arrival.
    pub request: u32,
    /// When it arrived.
    pub arrival: u64,
    /// Tokens of its prompt.
    pub prompt: u32,
    /// Tokens to be generated.
    pub output: u32,
    /// Number of its prefill group, and of its decode group.
    pub groups: (u32, u32),
    /// When its prompt entered the model.
    pub started: Option<u64>,
    /// When its first token was there.
    pub first: Option<u64>,
    /// When all of its keys and values had arrived at the decode group.
    pub there: Option<u64>,
    /// When each further token was there.
    pub tokens: Vec<u64>,
}

impl Served {
    /// Adds what another part of the network knows about the request.
    pub fn add(&mut self, part: Self) {
        self.started = self.started.or(part.started);
        self.first = self.first.or(part.first);
        self.there = self.there.or(part.there);
        if self.tokens.is_empty() {
            self.tokens = part.tokens;
        }
    }
}

/// A group of ranks.
#[derive(Debug)]
struct Group {
    /// Its first rank.
    first: u32,
    tensor: u32,
    /// Its number among the groups of its kind.
    number: u32,
    decodes: bool,
    /// The requests that it serves, in the order of arrival.
    requests: Vec<u32>,
    log: Mutex<Log>,
}

/// The passes of a group that not all of its ranks have begun.
#[derive(Debug, Default)]
struct Log {
    /// Passes before the first one here.
    forgotten: u64,
    passes: VecDeque<(Arc<Pass>, u32)>,
}

impl Group {
    /// Writes down the next pass, which `others` ranks will read.
    fn write(&self, pass: Arc<Pass>, others: u32) {
        if others > 0 {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.passes.push_back((pass, others));
        }
    }

    /// The pass of this number. A rank reads each pass once, in order.
    fn read(&self, number: u64) -> Option<Arc<Pass>> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let place = number.checked_sub(log.forgotten)? as usize;
        let (pass, readers) = log.passes.get_mut(place)?;
        *readers -= 1;
        let pass = pass.clone();
        while log.passes.front().is_some_and(|(_, readers)| *readers == 0) {
            log.passes.pop_front();
            log.forgotten += 1;
        }
        Some(pass)
    }
}

/// Requests, and the groups of ranks that serve them. It can be run once.
#[derive(Debug)]
pub struct Serving {
    requests: Vec<Request>,
    /// Times of arrival, in the hosts' unit.
    arrivals: Vec<u64>,
    groups: Vec<Group>,
    /// By rank: its group.
    of_rank: Vec<u32>,
    passes: Passes,
    decode_batch: u32,
    prefill_batch: u32,
    cache_tokens: Option<u64>,
}

impl Serving {
    /// The program of these parameters. A unit of time of its calculations has `unit` of the hosts' units.
    pub fn new(params: &InferenceParams, setting: &Setting, unit: u64) -> Result<Self, Error> {
        let ranks = params.ranks()?;
        let passes = Passes::new(params, setting)?;
        let requests = params.load(setting.seed)?;
        if requests.len() >= ANNOUNCE as usize {
            return Err(Error::key("trace", requests.len(), format!("expected fewer than {ANNOUNCE} requests")));
        }
        let InferenceParams { prefill, decode, .. } = params;
        let (mut groups, mut of_rank) = (Vec::new(), Vec::with_capacity(ranks as usize));
        for (decodes, count, tensor) in [(false, prefill.groups, prefill.tensor), (true, decode.groups, decode.tensor)]
        {
            for number in 0..count {
                let first = of_rank.len() as u32;
                of_rank.extend((0..tensor).map(|_| groups.len() as u32));
                let here = |request: &u32| {
                    // Requests of one token end with the prefill pass.
                    request % count == number && (!decodes || requests[*request as usize].output > 1)
                };
                let own = (0..requests.len() as u32).filter(here).collect();
                groups.push(Group { first, tensor, number, decodes, requests: own, log: Mutex::default() });
            }
        }
        let arrivals = requests.iter().map(|request| setting.time(request.arrival).saturating_mul(unit)).collect();
        Ok(Self {
            requests,
            arrivals,
            groups,
            of_rank,
            passes,
            decode_batch: decode.batch,
            prefill_batch: prefill.batch,
            cache_tokens: decode.cache_tokens,
        })
    }

    fn group(&self, rank: u32) -> &Group {
        &self.groups[self.of_rank[rank as usize] as usize]
    }

    /// The prefill group and the decode group of a request.
    fn groups_of(&self, request: u32) -> (&Group, &Group) {
        let prefills = self.groups.iter().filter(|group| !group.decodes).count() as u32;
        let decodes = self.groups.len() as u32 - prefills;
        let of = |number: u32| &self.groups[number as usize];
        (of(request % prefills), of(prefills + request % decodes))
    }

    /// Bytes of the keys and values of a request that member `from` of its prefill group sends to member `to` of its
    /// decode group. Members share the bytes of a request equally, in order.
    fn part(&self, request: u32, from: u32, to: u32) -> u64 {
        let (prefill, decode) = self.groups_of(request);
        let all = u128::from(self.passes.cache(self.requests[request as usize].prompt));
        let cut = |number: u32, of: u32| (all * u128::from(number) / u128::from(of)) as u64;
        let start = cut(from, prefill.tensor).max(cut(to, decode.tensor));
        cut(from + 1, prefill.tensor).min(cut(to + 1, decode.tensor)).saturating_sub(start)
    }

    /// The record of a request before anything has happened.
    fn waiting(&self, request: u32) -> Served {
        let Request { prompt, output, .. } = self.requests[request as usize];
        let (prefill, decode) = self.groups_of(request);
        Served {
            rank: prefill.first,
            request,
            arrival: self.arrivals[request as usize],
            prompt,
            output,
            groups: (prefill.number, decode.number),
            started: None,
            first: None,
            there: None,
            tokens: Vec::new(),
        }
    }
}

/// Bytes of a request's state at its groups, and of its record.
const OF_REQUEST: usize = 400;

impl Executable for Serving {
    fn ranks(&self) -> u32 {
        self.of_rank.len() as u32
    }

    fn operations(&self) -> Option<u64> {
        None
    }

    fn plan(self: Arc<Self>, ranks: Ranks) -> Box<dyn Plan> {
        let states = ranks.iter().map(|rank| State::new(rank, &self)).collect();
        Box::new(Servers { serving: self, ranks, states })
    }

    fn bytes(&self) -> usize {
        self.requests.len() * (size_of::<Request>() + size_of::<u64>()) + self.of_rank.len() * size_of::<u32>()
    }

    fn state(&self) -> f64 {
        (self.of_rank.len() * size_of::<State>() + self.requests.len() * OF_REQUEST) as f64
    }

    fn every_size(&self, _fits: &dyn Fn(u64) -> bool) -> bool {
        false
    }
}

/// What an operation of a rank is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The first rank decides what goes into the next pass.
    Decide,
    /// A calculation of the pass.
    Calc,
    /// A message of a lane of the pass's all-reduce.
    Exchange(u32),
    /// The pass ends.
    End,
    /// Another rank learns of the next pass.
    Hear,
    /// A part of the keys and values of a request arrives, or the news that they have arrived at another rank.
    Arrive(u32),
    /// A message that nothing waits for.
    Send,
}

/// A rank that is served by a plan.
#[derive(Debug)]
struct State {
    rank: u32,
    /// Operations by number.
    open: Vec<Option<(Purpose, u8)>>,
    free: Vec<u32>,
    /// The pass under way, the number of its exchange, and for each lane the next step and its open messages.
    pass: Option<Arc<Pass>>,
    exchange: usize,
    lanes: Vec<(u32, u32)>,
    lanes_left: u32,
    /// When the messages of this exchange have ended.
    time: u64,
    /// Passes that this rank has heard of and those that it has begun.
    heard: u64,
    begun: u64,
    /// For each request that this rank waits for: parts that have not arrived, in the order of the group's requests.
    parts: Vec<u32>,
    leader: Option<Leader>,
}

/// The first rank of a group.
#[derive(Debug, Default)]
struct Leader {
    /// Nothing to do until something arrives.
    idle: bool,
    /// Requests that have entered the model, in prefill groups; that have ended, in decode groups.
    done: usize,
    /// Requests whose keys and values have arrived, in the order of arrival.
    ready: VecDeque<u32>,
    /// Requests in the decode pass, with the tokens that they have.
    active: Vec<(u32, u32)>,
    /// Tokens that the keys and values of these may have.
    room: u64,
    /// Records of the group's requests.
    served: Vec<Served>,
}

impl State {
    fn new(rank: u32, serving: &Serving) -> Self {
        let group = serving.group(rank);
        let member = rank - group.first;
        let leads = member == 0;
        let parts_of = |&request: &u32| {
            let (prefill, _) = serving.groups_of(request);
            let parts = (0..prefill.tensor).filter(|from| serving.part(request, *from, member) > 0).count() as u32;
            if leads { parts + group.tensor - 1 } else { parts }
        };
        let served = || group.requests.iter().map(|request| serving.waiting(*request)).collect();
        Self {
            rank,
            open: Vec::new(),
            free: Vec::new(),
            pass: None,
            exchange: 0,
            lanes: Vec::new(),
            lanes_left: 0,
            time: 0,
            heard: 0,
            begun: 0,
            parts: if group.decodes { group.requests.iter().map(parts_of).collect() } else { Vec::new() },
            leader: leads.then(|| Leader { served: served(), ..Leader::default() }),
        }
    }
}

/// A rank at work.
struct At<'a> {
    serving: &'a Serving,
    group: &'a Group,
    state: &'a mut State,
    released: &'a mut Vec<Released>,
}

impl At<'_> {
    fn release(&mut self, purpose: Purpose, operation: Operation, earliest: u64) {
        let State { rank, open, free, .. } = &mut *self.state;
        let number = free.pop().unwrap_or_else(|| {
            open.push(None);
            open.len() as u32 - 1
        });
        open[number as usize] = Some((purpose, operation.cpu));
        self.released.push(Released { rank: *rank, number, operation, earliest });
    }

    fn send(&mut self, purpose: Purpose, (bytes, peer, tag): (u64, u32, u32), time: u64) {
        self.release(purpose, Operation::send(bytes, peer, tag).on(COMMUNICATION), time);
    }

    fn receive(&mut self, purpose: Purpose, (bytes, peer, tag): (u64, u32, u32), time: u64) {
        self.release(purpose, Operation::recv(bytes, peer, tag).on(COMMUNICATION), time);
    }

    /// In an event at `time`, when everything before has happened.
    fn later(&mut self, purpose: Purpose, time: u64) {
        self.release(purpose, Operation::calc(0), time);
    }

    fn member(&self) -> u32 {
        self.state.rank - self.group.first
    }

    fn begin(&mut self) {
        let (serving, group, member) = (self.serving, self.group, self.member());
        if group.decodes {
            for &request in &group.requests {
                let (prefill, _) = serving.groups_of(request);
                for from in 0..prefill.tensor {
                    let bytes = serving.part(request, from, member);
                    if bytes > 0 {
                        self.receive(Purpose::Arrive(request), (bytes, prefill.first + from, request), 0);
                    }
                }
                if member == 0 {
                    for other in 1..group.tensor {
                        self.receive(Purpose::Arrive(request), (WORD, group.first + other, request), 0);
                    }
                }
            }
            let nothing: Vec<u32> = group.requests.iter().copied().filter(|&r| self.is_there(r)).collect();
            nothing.into_iter().for_each(|request| self.all_arrived(request, 0));
        }
        match member {
            0 => self.later(Purpose::Decide, 0),
            _ => self.receive(Purpose::Hear, (WORD, group.first, ANNOUNCE), 0),
        }
    }

    /// The place of a request among those of the group.
    fn place(&self, request: u32) -> usize {
        self.group.requests.binary_search(&request).unwrap_or(0)
    }

    /// True if nothing of a request has yet to arrive.
    fn is_there(&self, request: u32) -> bool {
        self.state.parts.get(self.place(request)) == Some(&0)
    }

    /// All that this rank waits for of a request has arrived.
    fn all_arrived(&mut self, request: u32, time: u64) {
        let place = self.place(request);
        let first = self.group.first;
        match &mut self.state.leader {
            None => self.send(Purpose::Send, (WORD, first, request), time),
            Some(leader) => {
                leader.ready.push_back(request);
                leader.served[place].there = Some(time);
                if std::mem::take(&mut leader.idle) {
                    self.later(Purpose::Decide, time);
                }
            }
        }
    }

    /// The first rank decides at `now` what goes into the next pass.
    fn decide(&mut self, now: u64) {
        let next = if self.group.decodes { self.next_decode() } else { self.next_prefill(now) };
        let Some(pass) = next else { return };
        let pass = Arc::new(pass);
        let others = 1..self.group.tensor;
        self.group.write(pass.clone(), others.len() as u32);
        for other in others {
            self.send(Purpose::Send, (WORD, self.group.first + other, ANNOUNCE), now);
        }
        self.enter(pass, now);
    }

    /// The next prefill pass, or the end; `None` if the next request has not arrived.
    fn next_prefill(&mut self, now: u64) -> Option<Pass> {
        let Self { serving, group, state, .. } = self;
        let leader = state.leader.as_mut()?;
        let Some(&next) = group.requests.get(leader.done) else { return Some(Pass::end()) };
        let arrival = serving.arrivals[next as usize];
        if arrival > now {
            self.later(Purpose::Decide, arrival);
            return None;
        }
        let waiting = group.requests[leader.done..].iter().take_while(|&&r| serving.arrivals[r as usize] <= now);
        let requests: Vec<u32> = waiting.take(serving.prefill_batch as usize).copied().collect();
        let mut batch = Batch { requests: requests.len() as u32, ..Batch::default() };
        for (place, &request) in (leader.done..).zip(&requests) {
            let prompt = serving.requests[request as usize].prompt;
            batch.tokens += u64::from(prompt);
            batch.attended += f64::from(prompt) * f64::from(prompt);
            leader.served[place].started = Some(now);
        }
        leader.done += requests.len();
        Some(serving.passes.pass(requests, batch, group.tensor))
    }

    /// The next decode pass, or the end; `None` if nothing has arrived.
    fn next_decode(&mut self) -> Option<Pass> {
        let Self { serving, group, state, .. } = self;
        let leader = state.leader.as_mut()?;
        let whole = |request: u32| {
            let Request { prompt, output, .. } = serving.requests[request as usize];
            u64::from(prompt) + u64::from(output)
        };
        while leader.active.len() < serving.decode_batch as usize
            && let Some(&request) = leader.ready.front()
            && serving.cache_tokens.is_none_or(|room| leader.room + whole(request) <= room)
        {
            leader.ready.pop_front();
            leader.room += whole(request);
            leader.active.push((request, 1));
        }
        if leader.active.is_empty() {
            leader.idle = leader.done < group.requests.len();
            return (!leader.idle).then(Pass::end);
        }
        let mut batch = Batch { requests: leader.active.len() as u32, ..Batch::default() };
        for &(request, tokens) in &leader.active {
            // The latest token attends to the prompt, the tokens before and itself.
            let context = u64::from(serving.requests[request as usize].prompt) + u64::from(tokens);
            batch.tokens += 1;
            batch.attended += context as f64;
            batch.cached += context;
        }
        let requests = leader.active.iter().map(|(request, _)| *request).collect();
        Some(serving.passes.pass(requests, batch, group.tensor))
    }

    /// The rank begins a pass.
    fn enter(&mut self, pass: Arc<Pass>, time: u64) {
        let Some(&first) = pass.times.first() else { return };
        self.state.begun += 1;
        self.state.exchange = 0;
        self.state.pass = Some(pass);
        self.release(Purpose::Calc, Operation::calc(first), time);
    }

    /// A calculation of the pass ends at `time`.
    fn calculated(&mut self, time: u64) {
        let steps = self.state.pass.as_ref().and_then(|pass| pass.steps.clone());
        let Some(steps) = steps else { return self.later(Purpose::End, time) };
        let lanes = steps.lanes();
        self.state.lanes.clear();
        self.state.lanes.resize(lanes as usize, (0, 0));
        self.state.lanes_left = lanes;
        self.state.time = time;
        (0..lanes).for_each(|lane| self.go_on(lane, time));
    }

    /// The messages of a lane's step have ended.
    fn go_on(&mut self, lane: u32, time: u64) {
        let Some(pass) = self.state.pass.clone() else { return };
        let Some(steps) = &pass.steps else { return };
        let (member, first) = (self.member(), self.group.first);
        loop {
            let (next, open) = &mut self.state.lanes[lane as usize];
            let Some(step) = steps.step(member, lane, *next) else { break };
            *next += 1;
            *open = (step.sends.len() + step.receives.len()) as u32;
            if *open == 0 {
                continue;
            }
            for part in &step.sends {
                self.send(Purpose::Exchange(lane), (part.bytes, first + part.peer, FIRST_LANE + lane), time);
            }
            for part in &step.receives {
                self.receive(Purpose::Exchange(lane), (part.bytes, first + part.peer, FIRST_LANE + lane), time);
            }
            return;
        }
        self.state.lanes_left -= 1;
        if self.state.lanes_left > 0 {
            return;
        }
        self.state.exchange += 1;
        let time = self.state.time;
        match pass.times.get(self.state.exchange) {
            Some(&calc) => self.release(Purpose::Calc, Operation::calc(calc), time),
            None => self.later(Purpose::End, time),
        }
    }

    /// The pass ends at `now`.
    fn end(&mut self, now: u64) {
        let Some(pass) = self.state.pass.take() else { return };
        let (serving, group, member) = (self.serving, self.group, self.member());
        if !group.decodes {
            for &request in &pass.requests {
                let (_, decode) = serving.groups_of(request);
                if serving.requests[request as usize].output == 1 {
                    continue;
                }
                for to in 0..decode.tensor {
                    let bytes = serving.part(request, member, to);
                    if bytes > 0 {
                        self.send(Purpose::Send, (bytes, decode.first + to, request), now);
                    }
                }
            }
        }
        let Self { state, .. } = self;
        match &mut state.leader {
            Some(leader) if group.decodes => {
                for (request, tokens) in &mut leader.active {
                    *tokens += 1;
                    let place = group.requests.binary_search(request).unwrap_or(0);
                    leader.served[place].tokens.push(now);
                }
                let Leader { active, done, room, .. } = leader;
                active.retain(|&(request, tokens)| {
                    let Request { prompt, output, .. } = serving.requests[request as usize];
                    if tokens == output {
                        *done += 1;
                        *room -= u64::from(prompt) + u64::from(output);
                    }
                    tokens < output
                });
                self.decide(now);
            }
            Some(leader) => {
                for request in &pass.requests {
                    let place = group.requests.binary_search(request).unwrap_or(0);
                    leader.served[place].first = Some(now);
                }
                self.decide(now);
            }
            None => self.follow(now),
        }
    }

    /// A rank that follows begins the next pass, if it has heard of it and has ended the one before.
    fn follow(&mut self, now: u64) {
        if self.state.pass.is_some() || self.state.begun == self.state.heard {
            return;
        }
        let Some(pass) = self.group.read(self.state.begun) else { return };
        if !pass.times.is_empty() {
            // There will be another one.
            self.receive(Purpose::Hear, (WORD, self.group.first, ANNOUNCE), now);
        }
        self.enter(pass, now);
    }

    /// An operation has ended, or will end, at `time`.
    fn done(&mut self, number: u32, time: u64) {
        let Some((purpose, _)) = self.state.open[number as usize].take() else { return };
        self.state.free.push(number);
        match purpose {
            Purpose::Decide => self.decide(time),
            Purpose::Calc => self.calculated(time),
            Purpose::Exchange(lane) => {
                self.state.time = self.state.time.max(time);
                let (_, open) = &mut self.state.lanes[lane as usize];
                *open -= 1;
                if *open == 0 {
                    let time = self.state.time;
                    self.go_on(lane, time);
                }
            }
            Purpose::End => self.end(time),
            Purpose::Hear => {
                self.state.heard += 1;
                self.follow(time);
            }
            Purpose::Arrive(request) => {
                let place = self.place(request);
                self.state.parts[place] -= 1;
                if self.state.parts[place] == 0 {
                    self.all_arrived(request, time);
                }
            }
            Purpose::Send => {}
        }
    }
}

/// The ranks of a part of the network.
#[derive(Debug)]
struct Servers {
    serving: Arc<Serving>,
    ranks: Ranks,
    /// By place of the rank.
    states: Vec<State>,
}

impl Servers {
    fn at(&mut self, rank: u32, released: &mut Vec<Released>, work: impl FnOnce(&mut At<'_>)) {
        let Self { serving, ranks, states } = self;
        let state = &mut states[ranks.place(rank)];
        work(&mut At { serving, group: serving.group(rank), state, released });
    }
}

impl Plan for Servers {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn cpus(&self) -> usize {
        usize::from(COMMUNICATION) + 1
    }

    fn nics(&self) -> usize {
        1
    }

    fn begin(&mut self, rank: u32, released: &mut Vec<Released>) {
        self.at(rank, released, |at| at.begin());
    }

    fn cpu_of(&self, rank: u32, number: u32) -> u8 {
        self.states[self.ranks.place(rank)].open[number as usize].map_or(0, |(_, cpu)| cpu)
    }

    fn hears_of_starts(&self) -> bool {
        false
    }

    fn started(&mut self, _rank: u32, _number: u32, _time: u64, _released: &mut Vec<Released>) {}

    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>) {
        self.at(rank, released, |at| at.done(number, time));
    }

    fn unperformed(&self, rank: u32) -> Vec<u32> {
        let open = &self.states[self.ranks.place(rank)].open;
        (0..).zip(open).filter(|(_, open)| open.is_some()).map(|(number, _)| number).collect()
    }

    fn served(&self) -> Vec<Served> {
        let leaders = self.states.iter().filter_map(|state| state.leader.as_ref());
        leaders.flat_map(|leader| leader.served.iter().cloned()).collect()
    }

    fn bytes(&self) -> usize {
        let of = |state: &State| {
            let served = state.leader.iter().flat_map(|leader| &leader.served);
            let tokens: usize = served.map(|one| size_of::<Served>() + one.tokens.capacity() * size_of::<u64>()).sum();
            let open = state.open.capacity() * size_of::<Option<(Purpose, u8)>>();
            tokens + open + state.parts.capacity() * size_of::<u32>()
        };
        self.states.capacity() * size_of::<State>() + self.states.iter().map(of).sum::<usize>()
    }
}
