//! The queue organisations: the division of an input port's buffers into queues, and the choice of a packet's queue.
//!
//! One file per organisation, or a small folder; a new one comes here. The questions to an organisation are the seam
//! `fabric::seams::queueing`.

mod dbbm;
mod fbicm;
mod flexvc;
mod noq;
mod virtual_channels;
mod voqnet;
mod voqsw;

pub use crate::fabric::seams::queueing::{
    Branch, Division, Fit, Lanes, Manager, Place, PortPlace, QueueSite, Queueing, QueueingContext, QueueingParams,
    Widening,
};

crate::registry::registry! {
    /// `[queueing]`: the queue organisation.
    pub enum QueueingKind: "queueing" as QueueingParams {
        "virtual_channels" => VirtualChannels(virtual_channels::VirtualChannels),
        "dbbm" => Dbbm(dbbm::Dbbm),
        "noq" => Noq(noq::Noq),
        "voqsw" => VoqSw(voqsw::VoqSw),
        "voqnet" => VoqNet(voqnet::VoqNet),
        "flexvc" => FlexVc(flexvc::FlexVc),
        "fbicm" => Fbicm(fbicm::Fbicm),
    }
}
