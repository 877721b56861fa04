//! The temporal layer over the contracts: plan, schedule, execute, profile, reflect.
//!
//! It knows the kernel and the public face of the runtime, and cannot tell that it is simulated. Every decision is a pure
//! function of a user's trace log; civil time is `jiff`'s, from the bundled database of time zones.
//!
//! - [`plan`]: the `agent_plan` document, as data; [`settings`]: what holds for a user.

pub mod plan;
pub mod settings;

pub use plan::*;
pub use settings::*;
