//! The parts that reservation protocols share: keys of their tables, the schedule of destinations, the time of a grant.

use crate::engine::Tick;
use crate::fabric::seams::reservation::{Expiry, InFlight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines the table of a reservation protocol: its own keys, followed by the keys that all of them have, and the
/// defaults of both. `deduction` documents which time is deducted.
macro_rules! reservation_protocol {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($own:tt)* }
        defaults { $($key:ident: $value:expr),+ $(,)? }
        deduction { $(#[$deducted:meta])+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($own)*
            /// Factor by which a reservation takes more of the destination's time than its data do, from 1 to 100.
            #[schemars(range(min = 1, max = 100))]
            pub overhead: f64,
            $(#[$deducted])+
            #[schemars(range(min = 0, max = 1))]
            pub deduction: f64,
            /// True: speculative packets have a queue for each output where granted packets have
            /// (`queueing.kind = "voqsw"`).
            pub sorted: bool,
            /// How an endpoint sends control packets.
            pub injection: $crate::congestion::reservations::ControlInjection,
            /// Size of packets without data, no more than the smallest packet.
            #[schemars(range(min = 1))]
            #[schemars(extend("x-unit" = "phits"))]
            pub control: u16,
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($key: $value,)+
                    deduction: 1.0,
                    sorted: false,
                    injection: $crate::congestion::reservations::ControlInjection::Link,
                    control: 1,
                }
            }
        }

        impl $name {
            /// The properties of a protocol that drops such packets, whose reservations go beside data, and which does
            /// not announce speculative packets.
            fn properties(
                &self,
                dropping: $crate::fabric::seams::reservation::Dropping,
            ) -> $crate::fabric::seams::reservation::Reservations {
                $crate::fabric::seams::reservation::Reservations {
                    control: self.control,
                    beside: self.injection == $crate::congestion::reservations::ControlInjection::Beside,
                    reservations_first: true,
                    announces: false,
                    sorted: self.sorted,
                    yields: false,
                    dropping,
                }
            }
        }
    };
}
pub(super) use reservation_protocol;

/// True if a value is the default, which a complete scenario leaves out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Which time of a speculative packet counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// The time in input queues, of all routers together.
    #[default]
    Queueing,
    /// All time since its head was sent.
    SinceSending,
}

/// How an endpoint sends control packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlInjection {
    /// Over the link that data take, before data.
    #[default]
    Link,
    /// Beside data: in one cycle, an endpoint sends a flit of data, a reservation and another control packet (the
    /// authors' program).
    Beside,
}

/// The rule by which routers drop speculative packets whose time is over.
pub(super) fn expiry(time_to_live: u32, expiry: Waits, in_flight: Option<InFlight>) -> Expiry {
    Expiry { time_to_live, since_sending: expiry == Waits::SinceSending, in_flight }
}

/// The reserved time of the destinations of a partition: a reservation begins where the last one ends.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    /// The tick from which on nothing is reserved, by endpoint of the partition.
    free: Vec<Tick>,
    /// Factor by which a reservation takes more time than its data do.
    overhead: f64,
    /// Ticks of a cycle.
    cycle: Tick,
}

impl Schedule {
    pub(super) fn new(endpoints: u32, overhead: f64, cycle: Tick) -> Self {
        Self { free: vec![0; endpoints as usize], overhead, cycle }
    }

    /// Reserves the time of `phits` at `endpoint`, from tick `now` on at the earliest. Returns its first tick.
    pub(super) fn reserve(&mut self, endpoint: u32, phits: u32, now: Tick) -> Tick {
        let cycles = (f64::from(phits) * self.overhead).ceil() as Tick;
        let free = &mut self.free[endpoint as usize];
        let start = (*free).max(now);
        *free = start.saturating_add(cycles.saturating_mul(self.cycle));
        start
    }

    pub(super) fn bytes(&self) -> usize {
        self.free.capacity() * size_of::<Tick>()
    }
}

/// The tick in which a source begins that has been granted the time from tick `start` on: earlier by the share
/// `deduction` of the ticks that the grant has taken, `latency`. `cycle` is the ticks of a cycle.
pub(super) fn begins(start: Tick, latency: Tick, deduction: f64, cycle: Tick) -> Tick {
    let cycles = (deduction * f64::from(latency / cycle)).ceil() as Tick;
    start.saturating_sub(cycles * cycle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Arrivals at 8, 9, 10 with n = 512: starts 8, 546, 1084", from the simulator of SRP's authors.
    #[test]
    fn reservations_are_granted_in_the_order_of_their_arrival() {
        let mut schedule = Schedule::new(1, 1.05, 1);
        assert_eq!([8, 9, 10].map(|now| schedule.reserve(0, 512, now)), [8, 546, 1084]);
    }

    /// "Start 143, latency 8: first granted head in 135", from the same simulator. Ticks are half a cycle in the second
    /// case, and half the latency counts.
    #[test]
    fn the_latency_of_the_grant_is_deducted() {
        assert_eq!(begins(143, 8, 1.0, 1), 135);
        assert_eq!(begins(143, 10, 0.5, 2), 137);
    }
}
