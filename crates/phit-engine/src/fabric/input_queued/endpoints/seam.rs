//! The seam of senders: what an endpoint sends next, whether there is room for it, and what follows when it is sent.
//!
//! A way of sending is a [`Sender`]: a file with its state and its rules, and a row of the table below. The stage
//! `cycle/sending.rs` asks it for the next flit of an endpoint, sends the flit, and tells the sender. Endpoints of
//! nearly all networks send the packets that they draw, one after another: for these the stage has a shorter way.

use super::admittance::Admittances;
use super::endpoint::{Endpoint, InTurn};
use super::exchange::Exchange;
use super::hosted::Hosted;
use super::repeats::{Repeats, lost_for_good};
use super::reserving::Reserving;
use super::room::Room;
use super::streams::Streams;
use super::throttle::Throttle;
use crate::engine::{Table, Tick};
use crate::fabric::input_queued::options::config::Config;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::post::office::PostOffice;
use crate::fabric::input_queued::state::lost::Kind;
use crate::fabric::input_queued::state::records::Queue;
use crate::fabric::input_queued::wiring::setup::Setup;
use crate::fabric::seams::congestion::CongestionParams;
use crate::fabric::sources::Sources;
use crate::measure::Collector;
use crate::topology::Topology;
use crate::traffic::{Generated, Traffic};

/// A flit to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flit {
    /// Its packet.
    pub packet: Generated,
    /// Phits.
    pub size: u32,
    /// Injection queue.
    pub lane: u16,
    /// Flits of the packet that have been sent before.
    pub before: u16,
    /// The note that the packet carries ([`Packet::misrouted`](crate::packet::Packet::misrouted)).
    pub mark: u8,
    /// In which of its sender's queues the packet stands.
    pub stream: u8,
}

/// What an endpoint does next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Next {
    /// It sends a flit.
    Send(Flit),
    /// It tries again in tick `at`, and, if it is `blocked`, when credits come.
    Wait { at: Option<Tick>, blocked: bool },
}

impl Next {
    /// It does nothing before something new comes up.
    pub(crate) const NOTHING: Self = Self::Wait { at: None, blocked: false };
}

/// What a sender may touch when it chooses for one endpoint.
pub(crate) struct Site<'a> {
    pub now: Tick,
    pub setup: &'a Setup,
    /// The endpoint.
    pub endpoint: &'a mut Endpoint,
    /// The room in its injection queues.
    pub room: Room<'a>,
    /// Input queues of the partition.
    pub queues: &'a Table<Queue>,
    /// Packets to be sent again, if endpoints do so.
    pub repeats: Option<&'a mut Repeats>,
    /// The programs of endpoints, if they execute any.
    pub hosted: Option<&'a mut Hosted>,
    pub collector: &'a mut Collector,
    pub post: &'a mut PostOffice,
    /// The endpoint works.
    pub works: bool,
}

impl Site<'_> {
    /// The first tick at which a packet can be sent: a packet generated in one cycle can be sent in the next.
    #[inline(always)]
    pub(crate) fn earliest(&self, packet: &Generated) -> Tick {
        (packet.cycle + 1) * self.setup.settings.ticks_per_cycle
    }

    /// Draws the endpoint's next packet from its traffic or its program.
    pub(crate) fn draw(&mut self) {
        let Self { setup: Setup { settings, traffic, .. }, endpoint, collector, .. } = self;
        if let Some(hosted) = &mut self.hosted {
            return hosted.draw(endpoint, settings, collector, self.post);
        }
        let sources = Sources { traffic, ticks_per_cycle: settings.ticks_per_cycle, cycles: settings.cycles };
        endpoint.next = sources.draw(endpoint.number, &mut endpoint.source, collector);
        if settings.serial {
            endpoint.follow_other_planes(traffic, settings);
        }
    }

    /// Endpoint `e` does not work: packets that it should have sent again by tick `until` are lost for good.
    pub(crate) fn give_up(&mut self, e: u32, until: Tick) {
        while let Some(again) = self.repeats.as_mut().and_then(|repeats| repeats.give_up(e, until)) {
            lost_for_good(self.endpoint, again.generated(), (self.now, &self.setup.settings), self.collector);
        }
    }

    /// Endpoint `e` has sent a flit of a packet again, of which `more` are to come.
    pub(crate) fn sent_again(&mut self, e: u32, kind: Kind, more: bool) {
        if let Some(again) = self.repeats.as_mut().and_then(|repeats| repeats.sent(e, kind, more)) {
            self.collector.counters.packets.sent_again(again.size);
        }
    }
}

/// The endpoints of a partition, as a sender is made for them.
pub(crate) struct SenderContext<'a> {
    pub config: &'a Config,
    pub traffic: &'a Traffic,
    pub topology: &'a dyn Topology,
    pub congestion: &'a dyn CongestionParams,
    /// Input queues and outputs of the partition.
    pub queues: u32,
    pub outputs: u32,
    /// In the order of their numbers.
    pub endpoints: &'a [Endpoint],
    /// The scenario's seed.
    pub seed: u64,
    /// The partition is built only to count its bytes: tables that grow with the network are left out.
    pub sample: bool,
}

/// A way of sending: the packets that the endpoints of a partition have, and the order in which they send them.
pub(crate) trait Sender: Sized {
    /// The sender for these endpoints, if they send in this way.
    fn new(context: &SenderContext<'_>) -> Option<Self>;

    /// What endpoint `e` does next.
    fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next;

    /// Endpoint `e` has sent `flit`. [`Endpoint::sent`] is the number of its packet's flits that have been sent, 0
    /// after the last.
    fn sent(&mut self, _e: u32, _flit: &Flit, _at: &mut Site<'_>) {}

    /// Draws the first packets of endpoint `e`, or the next one where it has none.
    fn draw(&mut self, _e: u32, at: &mut Site<'_>) {
        at.draw();
    }

    /// Endpoint `e` has failed: whatever waits there is dropped.
    fn fail(&mut self, _e: u32, _at: &mut Site<'_>) {}

    /// Packets that have been generated and not been sent, with their classes.
    fn drawn(&self, endpoints: &Table<Endpoint>) -> Vec<(usize, Generated)> {
        endpoints.iter().filter_map(|endpoint| Some((0, endpoint.next?))).collect()
    }

    /// Packets and phits generated in the measured time, at its end. Packets that have not been drawn count, too.
    fn generated(&self, endpoints: &Table<Endpoint>, sources: &Sources<'_>, collector: &mut Collector) -> (u64, u64) {
        let senders = endpoints.iter().map(|endpoint| (endpoint.number, &endpoint.source, endpoint.next));
        sources.close(senders, collector)
    }

    /// The measured time is over.
    fn close(&mut self, _endpoints: &Table<Endpoint>, _collector: &mut Collector) {}

    /// Flits that endpoint `e` has sent into injection queue `lane` of a packet of which some are missing.
    fn unfinished(&self, _e: u32, endpoint: &Endpoint, lane: u32) -> Option<u16> {
        (endpoint.sent > 0 && u32::from(endpoint.lane) == lane).then_some(endpoint.sent)
    }

    /// True if endpoint `e` has packets beside the drawn one, to be sent now or later.
    fn has_packets(&self, _e: u32) -> bool {
        false
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        0
    }
}

/// Makes the enum of senders from the rows of the table, and calls each method of [`Sender`] for the row at hand.
macro_rules! senders {
    ($($(#[doc = $doc:literal])+ $name:ident($state:ty) in $table:literal;)+) => {
        /// How the endpoints of a partition send.
        pub(crate) enum Sending {
            $($(#[doc = $doc])+ $name(Box<$state>),)*
        }

        impl Sending {
            /// The first row that sends for these endpoints.
            pub(crate) fn new(context: &SenderContext<'_>) -> Self {
                $(if let Some(sender) = <$state as Sender>::new(context) {
                    return Self::$name(Box::new(sender));
                })*
                unreachable!("the last row sends for all endpoints")
            }

            /// [`Sender::next`].
            pub(crate) fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next {
                match self {
                    $(Self::$name(sender) => sender.next::<K>(e, at),)*
                }
            }

            /// [`Sender::sent`].
            pub(crate) fn sent(&mut self, e: u32, flit: &Flit, at: &mut Site<'_>) {
                match self {
                    $(Self::$name(sender) => sender.sent(e, flit, at),)*
                }
            }

            /// [`Sender::draw`].
            pub(crate) fn draw(&mut self, e: u32, at: &mut Site<'_>) {
                match self {
                    $(Self::$name(sender) => sender.draw(e, at),)*
                }
            }

            /// [`Sender::fail`].
            pub(crate) fn fail(&mut self, e: u32, at: &mut Site<'_>) {
                match self {
                    $(Self::$name(sender) => sender.fail(e, at),)*
                }
            }

            /// [`Sender::drawn`].
            pub(crate) fn drawn(&self, endpoints: &Table<Endpoint>) -> Vec<(usize, Generated)> {
                match self {
                    $(Self::$name(sender) => sender.drawn(endpoints),)*
                }
            }

            /// [`Sender::generated`].
            pub(crate) fn generated(
                &self,
                endpoints: &Table<Endpoint>,
                sources: &Sources<'_>,
                collector: &mut Collector,
            ) -> (u64, u64) {
                match self {
                    $(Self::$name(sender) => sender.generated(endpoints, sources, collector),)*
                }
            }

            /// [`Sender::close`].
            pub(crate) fn close(&mut self, endpoints: &Table<Endpoint>, collector: &mut Collector) {
                match self {
                    $(Self::$name(sender) => sender.close(endpoints, collector),)*
                }
            }

            /// [`Sender::unfinished`].
            pub(crate) fn unfinished(&self, e: u32, endpoint: &Endpoint, lane: u32) -> Option<u16> {
                match self {
                    $(Self::$name(sender) => sender.unfinished(e, endpoint, lane),)*
                }
            }

            /// [`Sender::has_packets`].
            pub(crate) fn has_packets(&self, e: u32) -> bool {
                match self {
                    $(Self::$name(sender) => sender.has_packets(e),)*
                }
            }

            /// Bytes by table.
            pub(crate) fn tables(&self) -> Vec<(&'static str, usize)> {
                match self {
                    $(Self::$name(sender) => [($table, sender.bytes())].into(),)*
                }
            }
        }
    };
}

senders! {
    /// From a queue for each destination.
    Admitted(Admittances) in "admittances";

    /// Requests, and replies to those of others.
    Exchanging(Exchange) in "exchange";

    /// From a queue for each destination, when the congestion control lets them.
    Throttled(Throttle) in "throttle";

    /// From a queue for each destination, when the destination has granted it, or speculatively.
    Reserved(Reserving) in "reserving";

    /// Packets of several classes.
    Classed(Streams) in "streams";

    /// The packets that they draw, one after another.
    InTurn(InTurn) in "in_turn";
}

impl Sending {
    /// The requests and replies, if packets are such.
    #[inline]
    pub(crate) fn exchange(&self) -> Option<&Exchange> {
        if let Self::Exchanging(exchange) = self { Some(exchange) } else { None }
    }

    /// The packets of several classes, if they are such.
    #[inline]
    pub(crate) fn streams(&self) -> Option<&Streams> {
        if let Self::Classed(streams) = self { Some(streams) } else { None }
    }

    /// The congestion control, if there is one.
    pub(crate) fn throttle(&self) -> Option<&Throttle> {
        if let Self::Throttled(throttle) = self { Some(throttle) } else { None }
    }

    /// The reservation protocol, if there is one.
    pub(crate) fn reserving(&self) -> Option<&Reserving> {
        if let Self::Reserved(reserving) = self { Some(reserving) } else { None }
    }

    /// The reservation protocol, to note what becomes of packets.
    pub(crate) fn reserving_mut(&mut self) -> Option<&mut Reserving> {
        if let Self::Reserved(reserving) = self { Some(reserving) } else { None }
    }

    /// The admittance queues, if there are any.
    pub(crate) fn admittances(&self) -> Option<&Admittances> {
        if let Self::Admitted(admittances) = self { Some(admittances) } else { None }
    }
}
