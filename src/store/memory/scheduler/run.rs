//! What the scheduler keeps of one run. What belongs to a status is kept in it, and gone with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kernel::{
    Attempt, LeaseKey, Name, RunId, RunSpec, RunStatus, Timestamp, Trigger, Version, Wait, Wakeup, WorkerId,
};

/// The number of a run in its store: earlier made, lower number. All order is taken from it, never from ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunNo(pub u32);

/// A run, for as long as the store stands: an ended one stays as its tombstone.
#[derive(Clone, Debug)]
pub struct Run {
    pub spec: Arc<RunSpec>,
    pub state: State,
    /// The attempt of its last lease.
    pub attempt: Option<Attempt>,
    /// Fixed at the first grant.
    pub deadline: Option<Timestamp>,
    /// Sticky: the reason of the first cancel.
    pub cancel: Option<Name>,
    /// Leases in a row that ran out.
    pub reclaims: u32,
    /// Ends of children that were told and that no wait has used yet.
    pub children: BTreeMap<RunId, Wakeup>,
}

/// The status of a run with what belongs to it.
#[derive(Clone, Debug)]
pub enum State {
    /// Its parent holds its address, and has not created it yet.
    Reserved,
    Pending {
        /// What made it pending, and what came for its wait list since.
        woken_by: Vec<Trigger>,
        /// The wait list that it slept over: further triggers of it are merged.
        waits: Vec<Wait>,
    },
    Running {
        worker: WorkerId,
        expires_at: Timestamp,
        /// The version of its agent that was registered at the grant.
        version: Version,
        /// Whether a resume came since the grant.
        resumed: bool,
        /// Wake-ups, the ends of children apart, that were told since the grant.
        told: Vec<Wakeup>,
    },
    Suspended(Sleep),
    Ended(RunStatus),
}

/// What a sleeping run waits for.
#[derive(Clone, Debug)]
pub struct Sleep {
    pub waits: Vec<Wait>,
    /// Its times, and when each fires.
    pub times: Vec<(Timestamp, Timestamp)>,
    /// Whether it was halted: then only cancel, deadline and resume wake it.
    pub halted: bool,
    /// When a time or its deadline wakes it: its place in the order of sleepers.
    pub due: Option<Timestamp>,
}

impl Run {
    /// A run that was never leased.
    pub fn new(spec: RunSpec, state: State) -> Self {
        Run {
            spec: spec.into(),
            state,
            attempt: None,
            deadline: None,
            cancel: None,
            reclaims: 0,
            children: BTreeMap::new(),
        }
    }

    pub fn status(&self) -> RunStatus {
        match &self.state {
            State::Reserved | State::Pending { .. } => RunStatus::Pending,
            State::Running { .. } => RunStatus::Running,
            State::Suspended(_) => RunStatus::Suspended,
            State::Ended(status) => *status,
        }
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// Whether the lease is the one under which the run is held. Its expiry does not matter: until somebody
    /// reclaims it, nobody else holds the run.
    pub fn is_held_under(&self, key: &LeaseKey) -> bool {
        matches!(&self.state, State::Running { worker, .. } if *worker == key.worker)
            && self.attempt == Some(key.attempt)
    }

    /// Whether its deadline is over.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

/// Whether a wake-up that was told, and not found among mail, signals and times, answers a wait. A time comes
/// by the clock alone.
pub(super) fn answers(told: &Wakeup, wait: &Wait) -> bool {
    match (told, wait) {
        (Wakeup::Message { .. }, Wait::Message { .. }) => true,
        (Wakeup::Signal { signal, .. }, Wait::Signal(name)) => signal == name,
        (Wakeup::ChildDone { child_run, .. }, Wait::Child(run)) => child_run == run,
        _ => false,
    }
}

/// Whether `trigger` is one of `wait`: a wait is told of once.
pub(super) fn is_trigger_of(trigger: &Trigger, wait: &Wait) -> bool {
    match (trigger, wait) {
        (Trigger::Wakeup(Wakeup::Timer { at }), Wait::Time(until)) => at == until,
        (Trigger::Wakeup(wakeup), wait) => answers(wakeup, wait),
        _ => false,
    }
}
