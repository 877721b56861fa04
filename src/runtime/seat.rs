//! Where an agent sits while it runs: what its calls share, and how its run may end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future;
use std::rc::Rc;

use super::hold::Hold;
use super::{AgentError, StepError};
use crate::kernel::{FailureCode, Json, Name, Step, Version, Wait};

/// How an agent left its seat.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was not run: the run is to end.
    Barred,
    /// It returned.
    Returned(Result<Json, AgentError>),
    /// It panicked, with this message.
    Panicked(String),
    /// It waits for one of these.
    Waits(Vec<Wait>),
    /// It does not follow its log.
    Diverged { step: Step, expected: Name, actual: Name },
    /// It broke the rules of its context.
    Misused(FailureCode),
    /// The worker stops.
    GivenBack,
}

/// After so many refusals by a check, an agent that still goes on is not asked any more.
const RAISED_MAX: u32 = 1_000;

/// What the calls of one entry into an agent share.
pub(super) struct Seat {
    pub hold: Rc<Hold>,
    next: Cell<Step>,
    open: Cell<bool>,
    raised: Cell<u32>,
    outcome: RefCell<Option<Outcome>>,
    /// The version of the agent's code.
    pub version: Version,
    /// Which changes of the code the run takes part in, as far as the agent has asked.
    pub changes: RefCell<BTreeMap<Name, bool>>,
    /// Whether the agent is being dropped.
    left: Cell<bool>,
}

impl Seat {
    pub fn new(hold: Rc<Hold>, version: Version) -> Self {
        Seat {
            hold,
            next: Cell::new(Step(0)),
            open: Cell::new(false),
            raised: Cell::new(0),
            outcome: RefCell::new(None),
            version,
            changes: RefCell::new(BTreeMap::new()),
            left: Cell::new(false),
        }
    }

    /// The number of the next step.
    pub fn next(&self) -> Step {
        self.next.get()
    }

    /// Whether a check has raised the end of the run.
    pub fn has_raised(&self) -> bool {
        self.raised.get() > 0
    }

    /// The outcome that a call recorded, if one did.
    pub fn take_outcome(&self) -> Option<Outcome> {
        self.outcome.borrow_mut().take()
    }

    /// From here on the agent is being dropped, by no fault of its own.
    pub fn leave(&self) {
        self.left.set(true);
    }

    /// Fails once the run is to end.
    pub fn check(&self) -> Result<(), StepError> {
        let error = match self.hold.cancel() {
            Some(reason) => StepError::Cancelled { reason },
            None if self.hold.deadline_over() => StepError::DeadlineExceeded,
            None => return Ok(()),
        };
        self.raised.set(self.raised.get() + 1);
        Err(error)
    }

    /// Records how the agent ends here, and never returns: the agent is dropped.
    pub async fn end<T>(&self, outcome: Outcome) -> T {
        self.outcome.borrow_mut().get_or_insert(outcome);
        future::pending().await
    }

    /// The agent broke a rule: that comes before whatever else it does. The first rule broken counts.
    fn misused(&self, code: FailureCode) {
        let mut outcome = self.outcome.borrow_mut();
        if !matches!(*outcome, Some(Outcome::Misused(_))) {
            *outcome = Some(Outcome::Misused(code));
        }
    }

    /// The step border, where a stop and a cancel are looked for.
    pub async fn border(&self) -> Result<(), StepError> {
        if self.left.get() || self.outcome.borrow().is_some() {
            return future::pending().await;
        }
        if self.open.get() {
            self.misused(FailureCode::OverlappingSteps);
            return Err(StepError::Overlapping);
        }
        if self.hold.floor.is_stopping() {
            return self.end(Outcome::GivenBack).await;
        }
        if self.raised.get() > RAISED_MAX {
            return self.end(Outcome::Barred).await;
        }
        self.check()
    }

    /// Begins `count` steps.
    pub async fn begin(&self, count: u32) -> Result<Begun<'_>, StepError> {
        self.border().await?;
        let first = self.next.get();
        self.next.set(Step(first.0 + count));
        self.open.set(true);
        Ok(Begun { seat: self, first, done: false })
    }
}

/// Open steps. To drop them before they are done is a misuse by the agent.
pub(super) struct Begun<'a> {
    seat: &'a Seat,
    pub first: Step,
    done: bool,
}

impl Begun<'_> {
    /// The steps have ended.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.seat.open.set(false);
        if !self.done && !self.seat.left.get() {
            self.seat.misused(FailureCode::AbandonedStep);
        }
    }
}
