//! The allocators: the choice of the requests that win the crossbar in a tick.
//!
//! One file per allocator; a new one comes here. The questions to an allocator are the seam `fabric::seams::allocator`.

mod ideal;
mod islip;
mod loa;
mod maximum;
mod pairs;
mod partners;
mod pim;
mod priority;
mod separable;
mod separable_output_first;
mod sequential;
mod wavefront;

pub(crate) use crate::fabric::seams::allocator::Best;
pub use crate::fabric::seams::allocator::{
    Allocator, AllocatorContext, AllocatorParams, InTurn, Request, Round, Scratch,
};

crate::registry::registry! {
    /// `[router.allocator]`: the crossbar allocator.
    pub enum AllocatorKind: "allocator" as AllocatorParams {
        "separable_input_first" => SeparableInputFirst(separable::SeparableInputFirst),
        "separable_output_first" => SeparableOutputFirst(separable_output_first::SeparableOutputFirst),
        "islip" => Islip(islip::Islip),
        "pim" => Pim(pim::Pim),
        "wavefront" => Wavefront(wavefront::Wavefront),
        "lonely_output" => LonelyOutput(loa::LonelyOutput),
        "sequential" => Sequential(sequential::Sequential),
        "maximum_matching" => MaximumMatching(maximum::MaximumMatching),
        "ideal" => Ideal(ideal::Ideal),
    }
}

impl Default for AllocatorKind {
    fn default() -> Self {
        Self::SeparableInputFirst(separable::SeparableInputFirst::default())
    }
}
