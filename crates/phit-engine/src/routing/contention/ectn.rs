//! ECtN: explicit contention notification (Fuentes et al., IPDPS 2015, section III-D).

use super::base::{Base, Contention, Statistics};
use super::counters::Counters;
use super::crossing::{Alone, Crossing, InTurn, Leave};
use super::{CONTENTION, Comparison, Limit, Threshold};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Changes, Proof};
use crate::measure::Observable;
use crate::packet::Packet;
use crate::routing::group_links::GroupLinks;
use crate::routing::in_transit::{self, Candidate, Draw, GLOBAL, InTransit, Misrouting, Trigger};
use crate::routing::{Payload, RouterView, Routing, RoutingContext, RoutingParams, See, Site, Wants};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which counters filter the global links that a packet may take that leaves its minimal route at its source router.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// The combined counters of the links, if a combined counter triggered (the paper's text, section IV-A).
    #[default]
    Combined,
    /// The contention counters of the ports, whatever triggered (FOGSim, and so the paper's figures).
    Local,
}

/// Content of the broadcasts of a partial array, and when they take place (section VI-B).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Updates {
    /// Every period, and nothing: as in the paper's evaluation.
    #[default]
    Free,
    /// Every period, all counters.
    Full,
    /// Every period, the counters that are not zero, each with an identifier.
    Nonempty,
    /// Every period, the counters that have changed since they were last sent, each with an identifier.
    Incremental,
    /// Incremental, and between two periods the counters that have changed abruptly.
    Asynchronous,
}

/// In-transit adaptive routing by contention counters that the routers of a group share. A packet is misrouted at
/// injection when too many heads of the whole group want its minimal global link (Fuentes et al., IPDPS 2015, section
/// III-D).
///
/// Every router counts, in its *partial* array, the heads at its injection and global ports that want each global link
/// of the group. It broadcasts the array in its group every `period` cycles. Its *combined* array is the sum of its own
/// array and of those that it has received last. After injection, packets follow the rule of Base. For a Dragonfly.
///
/// A Dragonfly needs local virtual channels 0 to 2 and global ones 0 and 1.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "ectn"
/// threshold = 4
/// period = 100
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ectn {
    /// Heads that an output may have waiting for it before packets leave it.
    pub threshold: Threshold,
    /// Heads of the group that a global link may have waiting for it before packets avoid it; `"auto"`: twice the mean
    /// number of queues that are counted per global link.
    pub combined_threshold: Threshold,
    /// Whether the thresholds themselves trigger.
    pub comparison: Comparison,
    /// Effect of a contention counter over its threshold.
    pub trigger: Statistics,
    /// Until when a head that is crossing the crossbar is counted.
    #[serde(skip_serializing_if = "Crossing::is_tail")]
    pub crossing: Crossing,
    /// The ports among which another output is drawn.
    #[serde(skip_serializing_if = "Draw::is_of_valid")]
    pub draw: Draw,
    /// Where packets leave their minimal route, and in which channels.
    #[serde(skip_serializing_if = "Misrouting::is_usual")]
    pub misrouting: Misrouting,
    /// Which counters filter the links that a packet may take instead.
    pub candidates: Candidates,
    /// Cycles between two broadcasts.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub period: u32,
    /// What broadcasts cost.
    pub updates: Updates,
    /// Bits per counter; counters that are sent at a cost saturate.
    #[schemars(range(min = 1, max = 16))]
    pub counter_bits: u32,
    /// Bits per phit.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-unit" = "bits"))]
    pub phit_bits: u32,
    /// With asynchronous updates: cycles between two looks for abrupt changes; a divisor of the period.
    #[schemars(extend("x-unit" = "cycles"))]
    pub check_period: u32,
    /// With asynchronous updates: the least change that is abrupt, in heads.
    #[schemars(range(min = 1))]
    pub abrupt: u16,
}

impl Default for Ectn {
    fn default() -> Self {
        Self {
            threshold: Threshold::Auto,
            combined_threshold: Threshold::Auto,
            comparison: Comparison::default(),
            trigger: Statistics::default(),
            crossing: Crossing::default(),
            draw: Draw::default(),
            misrouting: Misrouting::default(),
            candidates: Candidates::default(),
            period: 100,
            updates: Updates::default(),
            counter_bits: 4,
            phit_bits: 80,
            check_period: 10,
            abrupt: 3,
        }
    }
}

/// Observable: the partial counters of routers.
const PARTIAL: Observable = Observable {
    name: "partial",
    words: "partial counter",
    unit: "heads",
    about: "Heads of a router that want a global link of the group, for each global link of the group.",
};

/// Observable: the counters that the routers of a group have received from each other.
const COMBINED: Observable = Observable {
    name: "combined",
    words: "combined counter",
    unit: "heads",
    about: "Heads of all routers of the group that want a global link of the group, as last told.",
};

impl RoutingParams for Ectn {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if self.updates == Updates::Asynchronous
            && (self.check_period < 1 || !self.period.is_multiple_of(self.check_period))
        {
            let expected = format!("expected a divisor of the period, {}", self.period);
            return Err(ScenarioError::new("check_period", self.check_period, expected));
        }
        in_transit::check("ectn", topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        self.misrouting.vcs_needed()
    }
    fn proof(&self) -> Proof {
        self.misrouting.proof()
    }
    fn sends_messages(&self) -> bool {
        true
    }
    fn loads_links(&self) -> bool {
        self.updates != Updates::Free
    }
    fn observables(&self) -> &'static [Observable] {
        &[CONTENTION, PARTIAL, COMBINED]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        match self.crossing {
            Crossing::Tail => {
                Box::new(InTransit::new(Notified::<Alone>::new(self, context), context).by(self.draw, self.misrouting))
            }
            Crossing::Fifo => {
                Box::new(InTransit::new(Notified::<InTurn>::new(self, context), context).by(self.draw, self.misrouting))
            }
        }
    }
}

/// The partial and combined arrays of the routers of a partition.
struct Group<L> {
    links: GroupLinks,
    /// Ticks between two broadcasts.
    period: Tick,
    limit: Limit,
    partial: Counters,
    transfers: L,
    /// Sum of the partial arrays received from the other routers of the group.
    received: Vec<u16>,
    /// The last broadcast received over each local port.
    last: Vec<Option<Payload>>,
    /// The last broadcast of each router, which the other routers of its group know.
    sent: Vec<Payload>,
    /// The broadcast of a router that has never sent one.
    nothing: Payload,
    /// By router: its partial array has changed since it was last looked at, and since it was last sent in full.
    changed: Vec<Changed>,
    /// By router and link of its group, the output of packets that leave the group over that link; without entries
    /// where there may be several.
    towards: Vec<u16>,
}

/// Since when a partial array has changed.
#[derive(Debug, Clone, Copy, Default)]
struct Changed {
    since_look: bool,
    since_period: bool,
}

impl<L: Leave> Group<L> {
    fn new(params: &Ectn, context: &RoutingContext) -> Self {
        let topology = &*context.topology;
        let first = context.routers.first();
        let links = GroupLinks::new(context);
        let (local, global) = (links.local.len(), links.global.len());
        let threshold = match params.combined_threshold {
            Threshold::Heads(heads) => Threshold::Heads(heads),
            // All routers of the group: their injection and global queues, over its links.
            Threshold::Auto => {
                let nodes = usize::from(topology.ports(first)) - local - global;
                let per_class = |class: u8| usize::from(context.queues[usize::from(class)]);
                let queues = nodes * per_class(0) + global * per_class(GLOBAL);
                Threshold::Heads((2 * queues).div_ceil(global) as u16)
            }
        };
        let count = context.routers.len();
        let partial = Counters::new(context, links.count);
        let nothing = Broadcast { number: 0, changed: &[], counters: &vec![0; links.count] }.payload();
        Self {
            limit: Limit::new(threshold, params.comparison, context),
            transfers: L::new(&partial),
            partial,
            received: vec![0; count * links.count],
            last: vec![None; count * local],
            sent: vec![nothing.clone(); count],
            nothing,
            changed: vec![Changed::default(); count],
            towards: links.towards(context),
            links,
            period: params.period * context.ticks_per_cycle,
        }
    }

    /// The combined counter of a link, as the router knows it.
    #[inline]
    fn combined(&self, at: &RouterView<'_>, link: u16) -> u16 {
        self.partial.of(at, link) + self.received[at.local as usize * self.links.count + usize::from(link)]
    }

    /// True if heads at input `port` are counted: those that come from endpoints and other groups.
    #[inline(always)]
    fn counts(&self, port: u16) -> bool {
        !self.links.local.contains(&port)
    }

    #[inline]
    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &Packet) {
        if !self.counts(port) {
            return;
        }
        if let Some(link) = self.links.minimal(at, packet) {
            self.partial.arrived(at, port, queue, link);
            self.counted(at, link, self.combined(at, link));
        }
    }

    #[inline]
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        if !self.counts(port) {
            return;
        }
        let Some(link) = self.partial.gone(at, port, queue) else { return };
        for _ in 0..self.transfers.ended(&self.partial, at, (port, queue), link) {
            self.partial.fewer(at, link);
            self.counted(at, link, self.combined(at, link) + 1);
        }
    }

    /// The counters of `link` have changed by one: the combined one from `higher` to one less, or back.
    #[inline]
    fn counted(&mut self, at: &mut Site<'_>, link: u16, higher: u16) {
        self.changed[at.local as usize] = Changed { since_look: true, since_period: true };
        if self.limit.was_crossed(higher) {
            self.tell(at, link);
        }
    }

    /// Heads that would leave the group over `link` must be asked again.
    fn tell(&self, at: &mut Site<'_>, link: u16) {
        match self.towards.get(at.local as usize * self.links.count + usize::from(link)) {
            Some(&port) => at.wake(port),
            None => at.wake_all(),
        }
    }

    #[inline(always)]
    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop) {
        if self.counts(port) {
            self.transfers.began(&self.partial, at, (port, queue), hop);
        }
    }

    /// The broadcast of another router has come over `port`.
    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        let local = &self.links.local;
        let place = self.links.index(at.router) * local.len() + usize::from(port - local.start);
        let old = self.last[place].replace(payload.clone());
        let old = old.unwrap_or_else(|| self.nothing.clone());
        let (new, old) = (Broadcast::of(payload), Broadcast::of(&old));
        let all = 0..new.counters.len() as u16;
        let (some, all) = match new.follows(&old) {
            true => (new.changed, 0..0),
            // A link that was broken has carried none.
            false => (&[][..], all),
        };
        for link in some.iter().copied().chain(all) {
            let was = self.combined(at, link);
            let (new, old) = (new.counters[usize::from(link)], old.counters[usize::from(link)]);
            let received = &mut self.received[at.local as usize * self.links.count + usize::from(link)];
            *received = *received + new - old;
            let is = self.combined(at, link);
            if (was.min(is) + 1..=was.max(is)).any(|count| self.limit.was_crossed(count)) {
                self.tell(at, link);
            }
        }
    }

    /// True if the partial array of router number `local` of the partition has changed since it was last looked at, or
    /// since the last period if one begins.
    #[inline]
    fn has_changed(&self, local: u32, now: Tick) -> bool {
        let Changed { since_look, since_period } = self.changed[local as usize];
        (since_look || since_period) && if now.is_multiple_of(self.period) { since_period } else { since_look }
    }

    /// Broadcasts the partial array and charges the link. Between two periods, it sends only abrupt changes.
    fn broadcast(&mut self, at: &mut Site<'_>, params: &Ectn) {
        let index = at.local as usize;
        let between = !at.now.is_multiple_of(self.period);
        let since_period = between && self.changed[index].since_period;
        self.changed[index] = Changed { since_look: false, since_period };
        let most = if params.updates == Updates::Free { u16::MAX } else { ((1u32 << params.counter_bits) - 1) as u16 };
        let latest = Broadcast::of(&self.sent[index]);
        let known = latest.counters;
        let counted = self.partial.all(at.router).iter().map(|&count| count.min(most));
        let array: Vec<u16> = counted
            .zip(known.iter())
            .map(|(count, &known)| if between && count.abs_diff(known) < params.abrupt { known } else { count })
            .collect();
        let pairs = array.iter().zip(known);
        let links: Vec<u16> = (0..).zip(pairs).filter(|(_, (new, old))| new != old).map(|(link, _)| link).collect();
        let changed = links.len() as u32;
        let identified = |counters: u32| {
            let identifier = usize::BITS - (self.links.count - 1).leading_zeros();
            (counters * (identifier + params.counter_bits)).div_ceil(params.phit_bits)
        };
        let phits = match params.updates {
            Updates::Free => 0,
            Updates::Full => (self.links.count as u32 * params.counter_bits).div_ceil(params.phit_bits),
            // The first array without counters above zero must be sent, too.
            Updates::Nonempty => identified(array.iter().filter(|&&count| count > 0).count() as u32).max(1),
            Updates::Incremental | Updates::Asynchronous => identified(changed),
        };
        if changed == 0 && params.updates != Updates::Full {
            return;
        }
        let payload = Broadcast { number: latest.number + 1, changed: &links, counters: &array }.payload();
        for port in self.links.local.clone() {
            at.send(port, payload.clone(), phits);
        }
        self.sent[index] = payload;
    }
}

/// The message of a router to the others of its group.
struct Broadcast<'a> {
    /// Broadcasts of the router so far, this one included.
    number: u32,
    /// Links whose counters have changed since the previous broadcast.
    changed: &'a [u16],
    /// The partial array.
    counters: &'a [u16],
}

impl<'a> Broadcast<'a> {
    /// What `payload` says.
    fn of(payload: &'a [u16]) -> Self {
        let (head, rest) = payload.split_at(3);
        let (changed, counters) = rest.split_at(head[2].into());
        Self { number: u32::from(head[0]) << 16 | u32::from(head[1]), changed, counters }
    }

    fn payload(&self) -> Payload {
        let head = [(self.number >> 16) as u16, self.number as u16, self.changed.len() as u16];
        [&head, self.changed, self.counters].concat().into()
    }

    /// True if there was no other between `before` and this one.
    fn follows(&self, before: &Self) -> bool {
        self.number == before.number + 1
    }
}

struct Notified<L> {
    contention: Contention<L>,
    group: Group<L>,
    params: Ectn,
}

impl<L: Leave> Notified<L> {
    fn new(params: &Ectn, context: &RoutingContext) -> Self {
        let &Ectn { threshold, comparison, trigger, crossing, .. } = params;
        let base =
            Base { threshold, comparison, trigger, crossing, draw: Draw::Valid, misrouting: Misrouting::default() };
        Self { contention: Contention::new(&base, context), group: Group::new(params, context), params: params.clone() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Contention,
    Notification,
}

impl<L: Leave> Trigger for Notified<L> {
    type Reason = Reason;

    fn wants(&self) -> Wants {
        let period = match self.params.updates {
            Updates::Asynchronous => self.params.check_period,
            _ => self.params.period,
        };
        Wants { period, ..self.contention.wants() }
    }

    fn fired_by(&self) -> Changes {
        Changes::ANNOUNCED
    }

    fn admitted_by(&self) -> Changes {
        Changes::ANNOUNCED
    }

    #[inline]
    fn minimal_port(&self, view: &RouterView<'_>, port: u16, queue: u16, packet: &Packet) -> u16 {
        self.contention.minimal_port(view, port, queue, packet)
    }

    #[inline]
    fn fires(&self, view: &RouterView<'_>, head: &Candidate<'_>) -> Option<Reason> {
        if head.leaves_group_from_source {
            let link = self.group.partial.wanted(view, head.port, head.queue);
            let contended = |link| self.group.limit.is_over(self.group.combined(view, link));
            if link.is_some_and(contended) {
                return Some(Reason::Notification);
            }
        }
        self.contention.fires(view, head).map(|()| Reason::Contention)
    }

    #[inline]
    fn admits(&self, view: &RouterView<'_>, head: &Candidate<'_>, reason: Reason, other: (Hop, u32)) -> bool {
        match (reason, self.params.candidates) {
            (Reason::Notification, Candidates::Combined) => {
                let link = self.group.links.number(view.router, other.0.port);
                self.group.limit.is_under(self.group.combined(view, link))
            }
            _ => self.contention.admits(view, head, (), other),
        }
    }

    #[inline]
    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &Packet) {
        self.contention.head_arrived(at, port, queue, packet);
        self.group.head_arrived(at, port, queue, packet);
    }

    #[inline]
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        self.contention.tail_left(at, port, queue);
        self.group.tail_left(at, port, queue);
    }

    #[inline(always)]
    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop) {
        self.contention.departs(at, port, queue, hop);
        self.group.departs(at, port, queue, hop);
    }

    fn period(&mut self, at: &mut Site<'_>) {
        self.group.broadcast(at, &self.params);
    }

    #[inline]
    fn awaits_period(&self, local: u32, now: Tick) -> bool {
        self.params.updates == Updates::Full || self.group.has_changed(local, now)
    }

    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        self.group.hear(at, port, payload);
    }

    fn observe(&self, router: u32, see: See<'_>) {
        self.contention.observe(router, see);
        let Group { links, partial, received, .. } = &self.group;
        let own = partial.all(router);
        for (link, count) in (0..).zip(own) {
            see(&PARTIAL, Some(link), (*count).into());
        }
        for (link, (own, others)) in (0..).zip(own.iter().zip(&received[links.of(router)])) {
            see(&COMBINED, Some(link), (own + others).into());
        }
    }
}
