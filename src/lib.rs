//! A deterministic simulation testbed for durable agent runtimes.
#![deny(missing_docs)]

pub mod check;
pub mod explore;
pub mod history;
pub mod kernel;
pub mod runtime;
pub mod scenario;
pub mod sim;
pub mod store;

pub use explore::suite::suite;
