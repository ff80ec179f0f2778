//! The options of a router: a scenario's parameters, their checks, and the settings of the kernel.

pub(crate) mod check;
pub(crate) mod choices;
pub(crate) mod config;
pub(crate) mod headroom;
pub(crate) mod kernel;
pub(crate) mod pace;
pub(crate) mod params;
pub(crate) mod settings;
