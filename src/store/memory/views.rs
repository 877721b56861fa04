//! What a report reads off a store: nothing here changes anything.

use super::Memory;
use super::scheduler::{Run, State};
use crate::kernel::{
    AgentId, Arrival, Attempt, DeadLetterEntry, EffectResult, Message, Name, RunId, RunLogEntry, RunSpec, RunStatus,
    RunView, Timestamp, Wait,
};

/// What is reported of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunReport<'a> {
    /// Its specification.
    pub spec: &'a RunSpec,
    /// Its status.
    pub status: RunStatus,
    /// The attempt of its last lease; `None` before the first.
    pub attempt: Option<Attempt>,
    /// Leases in a row that ran out.
    pub reclaims: u32,
    /// The reason of its cancel, once one was asked for.
    pub cancel_requested: Option<&'a Name>,
    /// When its last lease runs out, while it is running.
    pub expires_at: Option<Timestamp>,
    /// Its deadline, fixed at its first grant.
    pub deadline: Option<Timestamp>,
    /// When a time or its deadline wakes it, while it is suspended.
    pub due: Option<Timestamp>,
    /// Its wait list while it is suspended.
    pub waits: &'a [Wait],
    /// Whether a halt keeps it asleep.
    pub halted: bool,
}

impl<'a> RunReport<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let (waits, due, halted) = match &run.state {
            State::Suspended(sleep) => (sleep.waits.as_slice(), sleep.due, sleep.halted),
            _ => (&[][..], None, false),
        };
        let expires_at = if let State::Running { expires_at, .. } = &run.state { Some(*expires_at) } else { None };
        RunReport {
            spec: &run.spec,
            status: run.status(),
            attempt: run.attempt,
            reclaims: run.reclaims,
            cancel_requested: run.cancel.as_ref(),
            expires_at,
            deadline: run.deadline,
            due,
            waits,
            halted,
        }
    }

    /// What `status` answers.
    pub(super) fn view(self) -> RunView {
        RunView {
            agent: self.spec.agent.clone(),
            status: self.status,
            attempt: self.attempt,
            waits: self.waits.to_vec(),
            halted: self.halted,
            reserved: false,
        }
    }
}

/// Views.
impl Memory {
    /// Every run that was ever made, in that order.
    pub fn runs(&self) -> impl Iterator<Item = RunReport<'_>> {
        self.scheduler.all().map(RunReport::of)
    }

    /// One run.
    pub fn run(&self, run: RunId) -> Option<RunReport<'_>> {
        self.scheduler.get(run).map(RunReport::of)
    }

    /// The log of a run.
    pub fn log(&self, run: RunId) -> &[RunLogEntry] {
        self.logs.entries(run)
    }

    /// Every receipt of an effect, by effect id.
    pub fn receipts(&self) -> impl Iterator<Item = &EffectResult> {
        self.receipts.all()
    }

    /// Every dead letter, by address and arrival.
    pub fn dead_letters(&self) -> impl Iterator<Item = (&AgentId, DeadLetterEntry)> {
        self.inbox.all_dead()
    }

    /// Every message that is not settled, by address and arrival.
    pub fn pending_mail(&self) -> impl Iterator<Item = (&AgentId, Arrival, &Message)> {
        self.inbox.all_pending()
    }
}
