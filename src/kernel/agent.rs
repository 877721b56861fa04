//! The minimum that the kernel says about agents and their context.

use super::{Name, RunId};

/// A check, or any other call of the context, found that the run is to end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run is to end: {reason}")]
pub struct Cancellation {
    /// The reason of the cancel, or `deadline exceeded`.
    pub reason: Name,
}

/// The kernel's slice of the context that an agent gets.
pub trait AgentRunContext {
    /// The run.
    fn run_id(&self) -> RunId;

    /// Whose run it is.
    fn tenant_id(&self) -> Option<Name>;

    /// The cooperative cancellation point.
    ///
    /// # Errors
    /// When the run was cancelled or its deadline is over.
    fn check(&self) -> Result<(), Cancellation>;
}
