//! The scripted agent.

use super::model::Alias;
use crate::kernel::{Attempt, Json, Message, RunId, Step};

/// What a scripted agent asks of, and tells to, the world around the worker it runs on.
pub trait Stage {
    /// The agent is entered with this batch.
    fn entered(&self, run: RunId, attempt: Attempt, batch: &[Message]);

    /// A call of the context gave this to the agent: a value, or an error as `{"error": code}`.
    fn gave(&self, run: RunId, attempt: Attempt, step: Step, value: &Json);

    /// Kills the worker at once, or marks it as dead; the agent then awaits for ever.
    fn die(&self);

    /// The id of the run of this name.
    fn run_id(&self, alias: &Alias) -> RunId;
}
