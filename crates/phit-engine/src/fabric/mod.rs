//! What carries packets between endpoints.

pub mod input_queued;
pub mod packet_node;
pub mod seams;
