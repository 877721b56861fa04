//! L0, the contracts: plain data and traits. No clock, no randomness, no I/O; nothing of the crate is
//! imported here.
//!
//! - [`time`], [`id`], [`json`]: the scalars.
//! - [`effect`], [`message`], [`run`], [`entry`]: the value types, serialised as the requirement page names them.
//! - [`trace`]: what the trace log of a user says.
//! - [`request`]: the contracts as data, one request and one reply per method.
//! - [`contract`]: the contracts as typed methods over a [`Store`].
//! - [`host`]: what a runtime asks of the machine under it.

pub mod agent;
pub mod contract;
pub mod effect;
pub mod entry;
pub mod host;
pub mod id;
pub mod json;
pub mod message;
pub mod request;
pub mod run;
pub mod time;
pub mod trace;

pub use agent::*;
pub use contract::*;
pub use effect::*;
pub use entry::*;
pub use host::*;
pub use id::*;
pub use json::{Json, canonical};
pub use message::*;
pub use request::*;
pub use run::*;
pub use time::{Span, TimeError, Timestamp};
pub use trace::*;
