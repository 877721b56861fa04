//! The temporal layer over the contracts: plan, schedule, execute, profile, reflect.
//!
//! It knows the kernel and the public face of the runtime, and cannot tell that it is simulated. Every decision is a pure
//! function of a user's trace log; civil time is `jiff`'s, from the bundled database of time zones.
//!
//! - [`plan`]: the `agent_plan` document, as data; [`settings`]: what holds for a user.
//! - [`token`]: tempo tokens; [`registry`]: the named windows; [`day`], [`zone`]: civil time.
//! - [`window`]: tokens as instants, blocked slots, alignment.
//! - [`document`]: what comes from outside, read and checked.

pub mod day;
pub mod document;
mod grammar;
mod instant;
pub mod plan;
pub mod registry;
pub mod settings;
pub mod token;
pub mod window;
mod word;
pub mod zone;

pub use day::{ClockTime, TimeOfDay, Weekday};
pub use document::{
    CalendarEvent, DOCUMENT_KINDS, DocumentError, ErrorEnvelope, ErrorKind, ExportFormat, ExportQuery, Feedback,
    GroupBy, MemoryTrace, TraceType, check, check_with, reward,
};
pub use instant::Moment;
pub use plan::*;
pub use registry::{DayWindow, Registry};
pub use settings::*;
pub use token::{Amount, Token, TokenError, Unit};
pub use window::{Calendar, alignment};
pub use zone::Zone;
