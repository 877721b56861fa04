//! The simulated world: virtual clock, executor, transport that bends calls, outside world.
//!
//! - [`faults`], [`schedule`], [`site`]: what may deviate, what does, and how places are named;
//! - `decide`: the only room in which anything is random, drawn from seed and site alone; `swarm`: what a seed is
//!   bent on;
//! - `executor`: tasks and an agenda in virtual time; it knows nothing of networks;
//! - `core`, `transport`, `hold`, `outside`: workers, calls on their way or held back, the store behind them, and what
//!   really happened;
//! - `machine`: what a program sees; `world`: one world from its start to its end.
//!
//! It knows no runtime and no scenario: programs come as a [`Cast`], and who judges is a [`Watcher`].

mod core;
mod course;
mod decide;
mod executor;
pub mod faults;
mod hold;
mod machine;
mod outside;
pub mod schedule;
pub mod site;
mod swarm;
mod transport;
mod world;

pub use decide::EXHAUST_TIMER_LATE;
pub use faults::{FaultKind, FaultPlan, Faults, Model, Tool};
pub use machine::{Machine, worker_name};
pub use schedule::{Deviation, Fault, Point, Schedule, SiteListing};
pub use site::{SiteKey, kinds_at, run_id};
pub use world::{Cast, Program, Remains, Setup, Watcher, count_kinds, play};
