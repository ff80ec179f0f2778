//! Buffers that the virtual channels of a port share.
//!
//! Behind an output (and behind an endpoint's link into its router) stands one memory. Each virtual channel has a
//! private part of it. The rest is common: any channel that needs room takes it there. The sender keeps the accounts,
//! because only the sender knows which flits are on their way. A channel's credits are the phits that it could send
//! now. They are written again for all channels of a port whenever one of them sends or gets credit back. Code that
//! reads credits therefore need not know that buffers are shared.
//!
//! If credit comes back to a packet that has nothing else left in the buffer, the room is kept for that packet until
//! its tail has been sent. Otherwise the packet could lose its last place to another channel.

use super::records::{Output, OutputTables, OutputVc};
use crate::engine::{Bytes, Table, bytes_of};
use crate::fabric::input_queued::options::config::Config;
use crate::fabric::input_queued::options::params::{HoldLimit, Sharing};
use crate::fabric::input_queued::options::settings::Settings;
use crate::packet::MOST_CLASSES;
use std::ops::Range;

/// The account of a memory that all channels of a port share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Pool {
    /// First channel.
    first: u32,
    /// Number of channels; 0 where nothing is shared.
    count: u32,
    /// Phits of the whole memory.
    size: i32,
    /// Phits of each channel's private part.
    private: i32,
    /// Phits beyond the private parts of the channels.
    common: i32,
    /// Phits taken of the common phits.
    taken: i32,
    /// Channels that packets hold, from the allocation of the channel until the packet's tail has been sent.
    open: i32,
}

/// A channel's share of the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    /// Phits sent whose credits are not back.
    held: i32,
    /// Phits charged to the channel: the phits held and the phits kept for its packet.
    charged: i32,
    /// Phits kept for its packet.
    kept: i32,
    /// True if a packet holds the channel.
    open: bool,
}

/// The shared buffers behind the outputs and endpoints of a partition.
#[derive(Debug)]
pub(crate) struct Pools {
    rule: Sharing,
    /// By output, then by endpoint.
    pools: Table<Pool>,
    /// By channel.
    parts: Table<Part>,
}

impl Bytes for Pools {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { pools, parts; rule })
    }
}

impl Pools {
    /// Accounts for the buffers behind `outputs` and behind endpoints, which are given by their first channels. All
    /// channels get their first credits here.
    pub(crate) fn new(
        rule: Sharing,
        config: &Config,
        (outputs, endpoints): (&[Output], &[u32]),
        channels: &mut [OutputVc],
    ) -> Self {
        let pool = |first: u32, count: u16, each: Option<u32>, own: Option<u32>| match each {
            None => Pool::default(),
            Some(each) => {
                let (count, private) = (i32::from(count), own.unwrap_or(rule.private).min(each) as i32);
                let size = count.saturating_mul(each as i32);
                Pool { first, count: count as u32, size, private, common: size - count * private, ..Pool::default() }
            }
        };
        let behind = |output: &Output| {
            let link = &config.links[output.class as usize];
            let each = if output.class == 0 { link.ejection_buffer } else { Some(link.buffer) };
            pool(output.vc, output.vcs, each, link.private)
        };
        let link = &config.links[0];
        let before = |first: &u32| pool(*first, link.queues, Some(link.buffer), link.private);
        let pools: Vec<Pool> = outputs.iter().map(behind).chain(endpoints.iter().map(before)).collect();
        let mut all = Self { rule, pools: pools.into(), parts: vec![Part::default(); channels.len()].into() };
        for place in 0..all.pools.len() as u32 {
            // An output that leads nowhere has no credits at all.
            let leads = outputs.get(place as usize).is_none_or(|output| channels[output.vc as usize].credits > 0);
            if leads {
                all.write(place, channels);
            } else {
                all.pools[place] = Pool::default();
            }
        }
        all
    }

    /// Most phits that a packet may hold in a channel of this pool.
    fn limit(&self, pool: &Pool) -> i32 {
        match self.rule.limit {
            HoldLimit::None => i32::MAX,
            HoldLimit::Fixed => self.rule.most.map_or(i32::MAX, |most| most as i32),
            HoldLimit::Even => pool.size / pool.open.max(1),
            HoldLimit::Halved => pool.size >> (pool.open.max(1) as u32).next_power_of_two().ilog2(),
        }
    }

    /// The part of `charged` phits of a channel of `pool` that exceeds its private part.
    fn beyond(pool: &Pool, charged: i32) -> i32 {
        (charged - pool.private).max(0)
    }

    /// Phits that `channel` of `pool` can send now.
    fn available(&self, pool: &Pool, channel: u32) -> i32 {
        let part = &self.parts[channel];
        let own = (pool.private - part.charged).max(0);
        (part.kept + own + pool.common - pool.taken).min(self.limit(pool).saturating_sub(part.held)).max(0)
    }

    /// Charges `phits` more to `channel`, or fewer.
    fn charge(&mut self, place: u32, channel: u32, phits: i32) {
        let pool = &mut self.pools[place];
        let before = Self::beyond(pool, self.parts[channel].charged);
        self.parts[channel].charged += phits;
        let after = Self::beyond(pool, self.parts[channel].charged);
        pool.taken += after - before;
    }

    /// A packet has got `channel`.
    fn open(&mut self, place: u32, channel: u32) {
        self.pools[place].open += i32::from(!std::mem::replace(&mut self.parts[channel].open, true));
    }

    /// A flit of `phits` has been sent in `channel`.
    fn sent(&mut self, place: u32, channel: u32, phits: i32, tail: bool) {
        self.open(place, channel);
        let part = &mut self.parts[channel];
        let kept = part.kept.min(phits);
        part.kept -= kept;
        part.held += phits;
        self.charge(place, channel, phits - kept);
        if tail {
            let kept = std::mem::take(&mut self.parts[channel].kept);
            self.charge(place, channel, -kept);
            self.parts[channel].open = false;
            self.pools[place].open -= 1;
        }
    }

    /// Credit for `phits` has come back to `channel`.
    fn returned(&mut self, place: u32, channel: u32, phits: i32) {
        let part = &mut self.parts[channel];
        part.held -= phits;
        match part.open && part.held == 0 {
            true => part.kept += phits,
            false => self.charge(place, channel, -phits),
        }
    }

    /// Writes the credits of all channels of a pool.
    fn write(&self, place: u32, channels: &mut [OutputVc]) {
        let pool = &self.pools[place];
        for channel in pool.first..pool.first + pool.count {
            channels[channel as usize].credits = self.available(pool, channel);
        }
    }

    /// Phits sent in `channel` whose credits are not back.
    pub(crate) fn held(&self, channel: u32) -> i32 {
        self.parts[channel].held
    }

    /// Checks the accounts of the pool at `place`, whose channels have these credits.
    pub(crate) fn audit(&self, place: u32, channels: &[OutputVc]) -> Result<(), String> {
        let pool = &self.pools[place];
        let parts = || (pool.first..pool.first + pool.count).map(|channel| (channel, self.parts[channel]));
        let taken: i32 = parts().map(|(_, part)| Self::beyond(pool, part.charged)).sum();
        let open: i32 = parts().map(|(_, part)| i32::from(part.open)).sum();
        let charges =
            parts().all(|(_, part)| part.charged == part.held + part.kept && part.held >= 0 && part.kept >= 0);
        let credits = parts().all(|(channel, _)| channels[channel as usize].credits == self.available(pool, channel));
        match (taken, open) == (pool.taken, pool.open) && taken <= pool.common && charges && credits {
            true => Ok(()),
            false => Err(format!("a shared buffer does not add up: {pool:?}, {:?}", parts().collect::<Vec<_>>())),
        }
    }

    /// The channels of the pool at `place`.
    fn channels(&self, place: u32) -> Range<u32> {
        let pool = &self.pools[place];
        pool.first..pool.first + pool.count
    }
}

impl Pools {
    /// A flit of `phits` has been sent into the buffer at `place`. Places count outputs first, then endpoints.
    #[cold]
    #[inline(never)]
    pub(crate) fn send(&mut self, (place, channel): (u32, u32), phits: u32, tail: bool, tables: &mut OutputTables) {
        if !self.channels(place).is_empty() {
            self.sent(place, channel, phits as i32, tail);
            self.write(place, &mut tables.channels);
            tables.charged[channel] = self.held(channel) as u32;
        }
    }

    /// Credit has come back for the buffer at `place`.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_back(&mut self, (place, channel): (u32, u32), phits: i32, tables: &mut OutputTables) {
        if !self.channels(place).is_empty() {
            self.returned(place, channel, phits);
            self.write(place, &mut tables.channels);
            tables.charged[channel] = self.held(channel) as u32;
        }
    }

    /// A head has got virtual channel `vc` of an output, and holds it.
    #[cold]
    pub(crate) fn hold(&mut self, output: u32, vc: u16, tables: &mut OutputTables) {
        if !self.channels(output).is_empty() {
            self.open(output, tables.outputs[output].vc + u32::from(vc));
            self.write(output, &mut tables.channels);
        }
    }
}

/// True if `channel` of an output of `class`, which no packet holds, may be given to a packet.
#[inline]
pub(crate) fn reusable(
    settings: &Settings,
    pools: Option<&Pools>,
    channels: &Table<OutputVc>,
    channel: u32,
    class: u8,
) -> bool {
    let full = settings.full[class as usize % MOST_CLASSES];
    !settings.choices.reuse_when_empty || is_empty(pools, channels, channel, full)
}

/// True if the buffer of `channel` is empty. If buffers are not shared, an empty one has `full` credits.
#[inline]
pub(crate) fn is_empty(pools: Option<&Pools>, channels: &Table<OutputVc>, channel: u32, full: i32) -> bool {
    match pools {
        Some(pools) => pools.held(channel) == 0,
        None => channels[channel].credits >= full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One memory for four channels of two phits each: one phit is private to each channel.
    fn pools(limit: HoldLimit, most: Option<u32>) -> (Pools, Vec<OutputVc>) {
        let rule = Sharing { private: 1, limit, most };
        let pool = Pool { count: 4, size: 8, private: 1, common: 4, ..Pool::default() };
        let pools = Pools { rule, pools: vec![pool].into(), parts: vec![Part::default(); 4].into() };
        let mut channels = vec![OutputVc { credits: 0 }; 4];
        pools.write(0, &mut channels);
        (pools, channels)
    }

    fn credits(pools: &Pools, channels: &mut [OutputVc]) -> Vec<i32> {
        pools.write(0, channels);
        pools.audit(0, channels).unwrap();
        channels.iter().map(|channel| channel.credits).collect()
    }

    #[test]
    fn a_channel_takes_what_is_common_and_leaves_others_their_own() {
        let (mut pools, mut channels) = pools(HoldLimit::None, None);
        assert_eq!(credits(&pools, &mut channels), [5; 4]);
        (0..5).for_each(|_| pools.sent(0, 0, 1, false));
        assert_eq!(credits(&pools, &mut channels), [0, 1, 1, 1]);
        pools.returned(0, 0, 1);
        assert_eq!(credits(&pools, &mut channels), [1, 2, 2, 2]);
    }

    #[test]
    fn a_packet_keeps_its_last_place_until_its_tail() {
        let (mut pools, mut channels) = pools(HoldLimit::None, None);
        pools.sent(0, 0, 1, false);
        pools.returned(0, 0, 1);
        // The kept place is the channel's private phit: other channels could not have it anyway.
        assert_eq!(credits(&pools, &mut channels), [5, 5, 5, 5]);
        (0..4).for_each(|_| pools.sent(0, 1, 1, true));
        pools.sent(0, 1, 1, true);
        assert_eq!(credits(&pools, &mut channels), [1, 0, 1, 1]);
        pools.sent(0, 0, 1, true);
        assert_eq!(credits(&pools, &mut channels), [0, 0, 1, 1]);
    }

    #[test]
    fn limits_hold_channels_back() {
        let (mut fixed, mut channels) = pools(HoldLimit::Fixed, Some(3));
        (0..2).for_each(|_| fixed.sent(0, 0, 1, false));
        assert_eq!(credits(&fixed, &mut channels), [1, 3, 3, 3]);
        let (mut even, mut channels) = pools(HoldLimit::Even, None);
        (0..3).for_each(|channel| even.open(0, channel));
        assert_eq!(credits(&even, &mut channels), [2; 4]);
        let (mut halved, mut channels) = pools(HoldLimit::Halved, None);
        (0..3).for_each(|channel| halved.open(0, channel));
        assert_eq!(credits(&halved, &mut channels), [2; 4]);
        halved.sent(0, 2, 1, true);
        // Two packets are left, and all four common phits are free.
        assert_eq!(credits(&halved, &mut channels), [4, 4, 3, 4]);
    }
}
