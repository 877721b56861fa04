//! What a runtime asks of the machine under it. A real host and a simulated one stand here alike.

use std::future::Future;
use std::pin::Pin;

use super::{AgentId, RunId, Span, Step, Timestamp};

/// A future of one single-threaded executor.
pub type Task<T = ()> = Pin<Box<dyn Future<Output = T>>>;

/// The machine that a worker runs on.
pub trait Host {
    /// The machine's own clock: it may be off, and it may step. It serves only to stop early; every time in
    /// a log is the store's.
    fn now(&self) -> Timestamp;

    /// Sleeps for `span` of true time, however the clock steps.
    fn sleep(&self, span: Span) -> Task;

    /// Starts a task. It ends with its worker.
    fn spawn(&self, task: Task);

    /// Random bits for a step of a run. On a real host they are fresh each time.
    fn random(&self, run: RunId, step: Step) -> u128;
}

/// Where run ids come from. On a real host they rise with time within a process.
pub trait RunIds {
    /// The id of the run number `nth` (from 1) at `agent`.
    fn mint(&mut self, agent: &AgentId, nth: u32) -> RunId;
}
