//! L1. The machine under test: a worker that leases runs, replays their logs and drives their agents.
//!
//! It knows the kernel only, and cannot tell whether its store, its host and the outside world are real.
//!
//! - [`agent`]: what an agent is, and the errors it can meet; [`context`]: what it sees; [`call`]: its calls as data.
//! - [`worker`]: the poll loop; `hold`: one lease, its heartbeats and its calls; `fold`: what a log says.
//! - `cycle`: one lease from its read to its release; `ending`: what follows from what the agent did;
//!   `epilogue`: what is left to do behind a closed log.
//! - `step`, `effect`, `wait`, `child`, `ask`, `group`: the calls of an agent; `announced`: what they announce is carried
//!   out; `cascade`: the cancel of a tree; `foreign`: entries in
//!   logs of others; [`fanout`]: how a publication reaches its followers.
//! - [`client`]: calls from outside, without a lease.

pub mod agent;
mod announced;
mod ask;
pub mod call;
mod cascade;
mod child;
pub mod client;
pub mod context;
mod cycle;
mod drive;
mod effect;
mod ending;
mod epilogue;
pub mod fanout;
mod fold;
mod foreign;
mod group;
mod hold;
mod pace;
mod seat;
mod step;
mod wait;
pub mod worker;

#[cfg(test)]
mod tests;

pub use agent::{Agent, AgentError, Agents, Registration, StepError};
pub use call::{Call, EffectCall, ModelCall, ReceivedSignal, SpawnCall};
pub use client::Client;
pub use context::Context;
pub use fanout::Push;
pub use hold::repeat_on;
pub use pace::Pauses;
pub use worker::{Settings, Stopper, Worker};
