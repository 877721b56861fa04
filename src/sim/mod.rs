//! The simulated world: virtual clock, executor, transport that bends calls, outside world.

pub mod faults;
pub mod schedule;

pub use faults::{FaultKind, FaultPlan, Faults, Tool};
pub use schedule::{Deviation, Fault, Point};
