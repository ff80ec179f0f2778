//! What a scenario asks of the router: its parameters and their checks, and what the kernel makes of them.

pub(crate) mod check;
pub(crate) mod choices;
pub(crate) mod config;
pub(crate) mod kernel;
pub(crate) mod pace;
pub(crate) mod params;
pub(crate) mod settings;
