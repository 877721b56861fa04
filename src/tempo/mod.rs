//! The temporal layer over the contracts: plan, schedule, execute, profile, reflect.
//!
//! It knows the kernel and the public face of the runtime, and cannot tell that it is simulated. Every decision is a pure
//! function of a user's trace log; civil time is `jiff`'s, from the bundled database of time zones.
//!
//! - [`plan`]: the `agent_plan` document, as data; [`settings`]: what holds for a user.
//! - [`token`]: tempo tokens; [`registry`]: the named windows; [`day`], [`zone`]: civil time.
//! - [`window`]: tokens as instants, blocked slots, alignment.
//! - [`document`]: what comes from outside, read and checked.
//! - [`book`]: the fold of a trace log; `queue`, `reflect`: what follows from it; [`profiler`]: the fold of a run's log.
//! - [`planner`]: the task that does what follows; [`desk`]: what people do; [`port`], [`tools`], `memport`: what agents do.

pub mod book;
pub mod day;
pub mod desk;
pub mod document;
mod grammar;
mod instant;
mod memport;
pub mod plan;
pub mod planner;
pub mod port;
pub mod profiler;
mod queue;
mod reflect;
pub mod registry;
pub mod settings;
pub mod token;
pub mod tools;
pub mod window;
pub(crate) mod word;
pub mod zone;

pub use book::{Book, Closing, Dispatch, Instance, Planned, QueueState};
pub use day::{ClockTime, TimeOfDay, Weekday};
pub use desk::{Desk, Refusal};
pub use document::{
    CalendarEvent, DOCUMENT_KINDS, DocumentError, ErrorEnvelope, ErrorKind, ExportFormat, ExportQuery, Feedback,
    GroupBy, MemoryTrace, TraceType, check, check_with, reward,
};
pub use instant::Moment;
pub use plan::*;
pub use planner::Planner;
pub use port::Port;
pub use profiler::{Target, profile};
pub use registry::{DayWindow, Registry};
pub use settings::*;
pub use token::{Amount, Token, TokenError, Unit};
pub use tools::Temporal;
pub use window::{Calendar, alignment};
pub use zone::Zone;
