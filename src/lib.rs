//! A deterministic simulation testbed for durable agent runtimes.
#![deny(missing_docs)]

pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod explore;
pub mod history;
pub mod kernel;
pub mod report;
pub mod runtime;
pub mod scenario;
pub mod sim;
pub mod store;
pub mod suite;
pub mod tempo;

#[cfg(feature = "proptest")]
pub use explore::strategy::schedules;
pub use suite::suite;
