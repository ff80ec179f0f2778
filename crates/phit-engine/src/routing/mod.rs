//! The routing mechanisms: the output port and virtual channel of a packet at the head of a queue.
//!
//! One file per mechanism. What a mechanism is asked and what it sees is the seam [`crate::fabric::seams::routing`].

pub mod bubble;
pub mod clos;
pub mod contention;
pub mod dimension_order;
mod group_links;
pub mod in_transit;
pub mod minimal;
pub mod olm;
pub mod par;
pub mod piggyback;
mod source_adaptive;
pub mod table;
pub mod tpr;
pub mod ugal;
pub mod valiant;

pub use crate::fabric::seams::routing::{
    Adaptive, Channels, Head, Injection, Legs, Payload, Proof, RouterView, Routes, Routing, RoutingContext,
    RoutingParams, See, Site, Standing, Step, View, Wants, minimal_hop,
};

crate::registry! {
    /// `[routing]`: the routing mechanism.
    pub enum RoutingKind: "routing" as RoutingParams {
        "minimal" => Minimal(minimal::Minimal),
        "valiant" => Valiant(valiant::Valiant),
        "ugal_l" => UgalL(ugal::UgalL),
        "ugal_g" => UgalG(ugal::UgalG),
        "par" => Par(par::Par),
        "piggyback" => Piggyback(piggyback::Piggyback),
        "olm" => Olm(olm::Olm),
        "contention_base" => ContentionBase(contention::base::Base),
        "contention_hybrid" => ContentionHybrid(contention::hybrid::Hybrid),
        "contention_grid" => ContentionGrid(contention::grid::Grid),
        "ectn" => Ectn(contention::ectn::Ectn),
        "tpr" => Tpr(tpr::Tpr),
        "clos" => Clos(clos::Clos),
        "dimension_order" => DimensionOrder(dimension_order::DimensionOrder),
        "abr" => Abr(bubble::abr::Abr),
        "por" => Por(bubble::por::Por),
        "goal" => Goal(bubble::goal::Goal),
        "outflank" => Outflank(bubble::outflank::Outflank),
        "table" => Table(table::Table),
    }
}

#[cfg(test)]
mod tests;
