//! What a report reads off a store: nothing here changes anything.

use super::Memory;
use super::scheduler::{Run, State};
use crate::kernel::{
    Account, AgentId, Arrival, Attempt, DeadLetterEntry, EffectResult, Message, Name, RunId, RunLogEntry, RunSpec,
    RunStatus, RunView, Timestamp, TopicId, Wait,
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
    /// Whether it is reserved for a parent that has not created it yet; its status is pending then.
    pub reserved: bool,
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
            reserved: matches!(run.state, State::Reserved),
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
            reserved: self.reserved,
        }
    }
}

/// Views.
impl Memory {
    /// Every run that was ever made or reserved, in that order.
    pub fn runs(&self) -> impl Iterator<Item = RunReport<'_>> {
        self.scheduler.all().map(RunReport::of)
    }

    /// One run.
    pub fn run(&self, run: RunId) -> Option<RunReport<'_>> {
        self.scheduler.get(run).map(RunReport::of)
    }

    /// Whether a run holds a unit of its tree's budget.
    pub fn holds_unit(&self, run: RunId) -> bool {
        self.scheduler.holds_unit(run)
    }

    /// What the tree of a run has spent, and what it may.
    pub fn account(&self, run: RunId) -> Account {
        let Some(root) = self.scheduler.root_of(run) else { return Account::default() };
        Account { spent: self.budget.spent(root.run), limits: root.settings.limits }
    }

    /// Who follows a topic, by address.
    pub fn followers_of(&self, topic: &TopicId) -> impl Iterator<Item = &AgentId> {
        self.follows.followers_of(topic)
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
