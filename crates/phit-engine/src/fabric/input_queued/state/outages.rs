//! Outputs and endpoints that do not work.

use crate::traffic::Generated;

/// An output that does not work, and its state when it failed.
#[derive(Debug, Clone)]
pub(crate) struct Outage {
    /// The output.
    pub output: u32,
    /// Where it led, see [`Output::far_partition`](super::records::Output::far_partition).
    pub far_partition: u32,
    /// The router behind it.
    pub neighbour: u32,
    /// By channel, phits that have been lost.
    pub lost: Vec<i32>,
    /// By channel: its credits before the outage less its credits now, where they have been replaced.
    pub aside: Vec<i32>,
}

/// The outputs and endpoints of a partition that do not work.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    outputs: Vec<Outage>,
    /// Endpoints, and the first packet of each that has not been generated.
    endpoints: Vec<(u32, Option<Generated>)>,
}

impl Outages {
    /// An output stops working.
    pub(crate) fn begin(&mut self, outage: Outage) {
        self.outputs.push(outage);
    }

    /// `output` works again. Returns its outage, if it had one.
    pub(crate) fn end(&mut self, output: u32) -> Option<Outage> {
        let place = self.outputs.iter().position(|outage| outage.output == output)?;
        Some(self.outputs.swap_remove(place))
    }

    /// The outage of `output`, if it does not work.
    pub(crate) fn of(&self, output: u32) -> Option<&Outage> {
        self.outputs.iter().find(|outage| outage.output == output)
    }

    /// The outage of `output`, to be changed.
    pub(crate) fn of_mut(&mut self, output: u32) -> Option<&mut Outage> {
        self.outputs.iter_mut().find(|outage| outage.output == output)
    }

    /// Endpoint `e` stops working; `next` is the first packet that it has not generated.
    pub(crate) fn silence(&mut self, e: u32, next: Option<Generated>) {
        self.endpoints.push((e, next));
    }

    /// True if endpoint `e` does not work.
    pub(crate) fn is_silent(&self, e: u32) -> bool {
        self.endpoints.iter().any(|(silent, _)| *silent == e)
    }

    /// Endpoint `e` works again. Returns the first packet that it has not generated, if it was broken.
    pub(crate) fn speak(&mut self, e: u32) -> Option<Option<Generated>> {
        let place = self.endpoints.iter().position(|(silent, _)| *silent == e)?;
        Some(self.endpoints.swap_remove(place).1)
    }
}
