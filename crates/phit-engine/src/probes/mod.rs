//! The probes: observations of a network while it runs, besides the delivered packets.
//!
//! One file per probe; a new one comes here. The view and the records of a probe are the seam `fabric::seams::probe`.

mod arrivals;
mod buffers;
mod counters;
mod fullest_buffers;
mod ports;
mod python;
mod queueing;
mod trees;

pub use crate::fabric::seams::probe::{LooksAt, Observation, ProbeParams};

crate::registry::registry! {
    /// An entry of `measure.probes`.
    pub enum ProbeKind: "probe" as ProbeParams {
        "counters" => Counters(counters::CountersProbe),
        "buffers" => Buffers(buffers::BuffersProbe),
        "fullest_buffers" => FullestBuffers(fullest_buffers::FullestBuffersProbe),
        "arrivals" => Arrivals(arrivals::ArrivalsProbe),
        "ports" => Ports(ports::PortsProbe),
        "queueing" => Queueing(queueing::QueueingProbe),
        "trees" => Trees(trees::TreesProbe),
        "python_probe" => Python(python::PythonProbe),
    }
}
