//! The congestion controls: which packets routers mark, what endpoints notify, and when a source may send.
//!
//! One file per mechanism; a new one comes here. The questions to a mechanism are the seam `fabric::seams::congestion`.

mod attempts;
mod dcqcn;
mod ecn;
mod infiniband;
mod lhrp;
mod none;
mod pace;
mod qcn;
mod reservations;
mod smsrp;
mod srp;

pub use crate::fabric::seams::congestion::{
    Congestion, CongestionContext, CongestionParams, DestinationTurns, Leaving, NotificationChannels, Notifications,
};

crate::registry::registry! {
    /// `[congestion]`: the congestion control.
    pub enum CongestionKind: "congestion control" as CongestionParams {
        "none" => None(none::None),
        "ecn" => Ecn(ecn::Ecn),
        "infiniband" => InfiniBand(infiniband::InfiniBand),
        "dcqcn" => Dcqcn(dcqcn::Dcqcn),
        "qcn" => Qcn(qcn::Qcn),
        "srp" => Srp(srp::Srp),
        "smsrp" => Smsrp(smsrp::Smsrp),
        "lhrp" => Lhrp(lhrp::Lhrp),
    }
}
