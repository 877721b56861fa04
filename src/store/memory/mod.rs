//! The reference store: a pure state machine.
use crate::history::Change;
use crate::kernel::*;
/// Settings.
#[derive(Clone, Debug, Default)]
pub struct Config {}
/// Surroundings.
pub trait Surroundings: RunIds {
    /// x
    fn timer_late(&mut self, _run: RunId, _at: Timestamp) -> Span {
        Span::ZERO
    }
    /// x
    fn lease_span(&mut self, _run: RunId, _attempt: Attempt, asked: Span) -> Span {
        asked
    }
}
/// Memory.
pub struct Memory {}
impl Memory {
    /// x
    pub fn new(_config: Config) -> Memory {
        Memory {}
    }
    /// x
    pub fn apply(
        &mut self,
        _now: Timestamp,
        _request: &Request,
        _s: &mut dyn Surroundings,
        _c: &mut Vec<Change>,
    ) -> Reply {
        Reply::Done
    }
    /// x
    pub fn grantable_at(&self, _now: Timestamp) -> Option<Timestamp> {
        None
    }
}
