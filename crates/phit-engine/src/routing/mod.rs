//! The routing mechanisms: the output port and virtual channel of a packet at the head of a queue.
//!
//! One file per mechanism; a new one comes here. What a mechanism is asked and what it sees is the seam
//! `fabric::seams::routing`.

mod acor;
mod bubble;
mod by_queue;
mod clos;
pub mod contention;
pub(crate) mod detours;
mod dfsssp;
mod dimension_order;
mod distances;
mod dragonfly_phases;
mod exits;
mod ftree;
mod ftree_adaptive;
mod group_links;
mod hop_count;
pub mod in_transit;
mod ladder;
mod lash;
mod layered;
mod min_cond;
mod minhop;
mod minimal;
mod minimal_adaptive;
mod o1turn;
mod oblivious;
mod olm;
mod par;
mod par_graph;
mod pb_acor;
mod piggyback;
mod polarized;
mod python;
mod qcn_switch;
mod source_adaptive;
mod spray;
mod src_adp;
mod table;
mod tpr;
mod ugal;
mod up_down;
mod valiant;

pub use crate::fabric::seams::routing::{
    Adaptive, Channels, Head, Injection, Legs, Payload, Proof, RouterView, Routes, Routing, RoutingContext,
    RoutingParams, See, Site, Standing, Step, View, Wants, minimal_hop,
};

/// Why iterations of a program cannot be compared: later iterations draw other numbers, in the same state.
const DRAWN_BY_CYCLE: &str = "random choices by the cycle of a packet's generation";

crate::registry::registry! {
    /// `[routing]`: the routing mechanism.
    pub enum RoutingKind: "routing" as RoutingParams {
        "minimal" => Minimal(minimal::Minimal),
        "valiant" => Valiant(valiant::Valiant),
        "oblivious" => Oblivious(oblivious::Oblivious),
        "acor" => Acor(acor::Acor),
        "ugal_l" => UgalL(ugal::UgalL),
        "ugal_g" => UgalG(ugal::UgalG),
        "dragonfly_phases" => DragonflyPhases(dragonfly_phases::DragonflyPhases),
        "par" => Par(par::Par),
        "par_graph" => ParGraph(par_graph::ParGraph),
        "polarized" => Polarized(polarized::Polarized),
        "piggyback" => Piggyback(piggyback::Piggyback),
        "src_adp" => SrcAdp(src_adp::SrcAdp),
        "pb_acor" => PbAcor(pb_acor::PbAcor),
        "min_cond" => MinCond(min_cond::MinCond),
        "qcn_switch" => QcnSwitch(qcn_switch::QcnSwitch),
        "olm" => Olm(olm::Olm),
        "contention_base" => ContentionBase(contention::Base),
        "contention_hybrid" => ContentionHybrid(contention::Hybrid),
        "contention_grid" => ContentionGrid(contention::Grid),
        "contention_graph" => ContentionGraph(contention::Graph),
        "ectn" => Ectn(contention::Ectn),
        "python_trigger" => PythonTrigger(python::PythonTrigger),
        "python_rule" => PythonRule(python::PythonRule),
        "tpr" => Tpr(tpr::Tpr),
        "clos" => Clos(clos::Clos),
        "dimension_order" => DimensionOrder(dimension_order::DimensionOrder),
        "minimal_adaptive" => MinimalAdaptive(minimal_adaptive::MinimalAdaptive),
        "o1turn" => O1turn(o1turn::O1turn),
        "spray" => Spray(spray::Spray),
        "abr" => Abr(bubble::Abr),
        "por" => Por(bubble::Por),
        "goal" => Goal(bubble::Goal),
        "outflank" => Outflank(bubble::Outflank),
        "table" => Table(table::Table),
        "minhop" => Minhop(minhop::Minhop),
        "up_down" => UpDown(up_down::UpDown),
        "ftree" => Ftree(ftree::Ftree),
        "ftree_adaptive" => FtreeAdaptive(ftree_adaptive::FtreeAdaptive),
        "dfsssp" => Dfsssp(dfsssp::Dfsssp),
        "lash" => Lash(lash::Lash),
    }
}

#[cfg(test)]
mod tests;
