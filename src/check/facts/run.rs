//! What is known of a run: its leases, its status, its signals.

use std::sync::Arc;

use super::kin::Kin;
use super::log::Log;
use super::{AgentAt, Fresh, RunAt, WorkerAt};
use crate::kernel::{Attempt, Claimed, Json, Name, Priority, RunId, RunRetryPolicy, RunStatus, Step, Timestamp, Wait};

/// A run.
#[derive(Default)]
pub struct Run {
    pub id: Option<RunId>,
    pub agent: Option<AgentAt>,
    pub policy: Option<RunRetryPolicy>,
    pub log: Log,
    /// `None` for a run that was never made, as far as is known.
    pub status: Option<RunStatus>,
    /// When it took this status.
    pub since: Timestamp,
    /// When it last became pending.
    pub queued: Timestamp,
    pub waits: Vec<Wait>,
    pub halted: bool,
    pub holder: Option<Holder>,
    /// When the lease ran out that was reclaimed last, until the next grant.
    pub expired: Option<Timestamp>,
    pub grants: Vec<Grant>,
    /// Leases in a row that ran out.
    pub reclaims: u32,
    /// When a cancel was first applied.
    pub cancelled: Option<Timestamp>,
    /// When a resume was last applied.
    pub resumed: Option<Timestamp>,
    pub deadline: Option<Timestamp>,
    /// Whether its last way into the queue was a time that fired.
    pub fired: bool,
    pub signals: Vec<Signal>,
    pub claims: Vec<(Step, Claimed)>,
    /// The instant of its last event, and how many there were at it.
    pub instant: (Timestamp, u32),
    /// Its place in a tree, and what that tree holds of it.
    pub kin: Kin,
}

/// Who holds a run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub worker: WorkerAt,
    pub attempt: Attempt,
    pub expires_at: Timestamp,
}

/// A lease that was granted.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub worker: WorkerAt,
    pub attempt: Attempt,
    pub granted_at: Timestamp,
    pub reclaims: u32,
    /// When its worker was told that it is lost.
    pub told_lost: Option<Timestamp>,
    /// When its worker was told that the deadline is over.
    pub told_deadline: Option<Timestamp>,
    /// The greatest step that its worker tried to begin.
    pub begun: Option<Step>,
    /// Whether the worker is done with it, as far as it shows.
    pub done: bool,
    /// Of its worker's grants in order, those up to here are known to overlap with this one or not.
    pub overlaps: usize,
}

/// A grant, as the order of the queue is judged by it.
#[derive(Clone, Debug)]
pub struct Turn {
    pub run: RunAt,
    pub at: Timestamp,
    /// When the run became pending.
    pub queued: Timestamp,
    pub tenant: Option<Name>,
    pub priority: Priority,
}

/// A signal that was announced to, or sent at, a run.
#[derive(Clone, Debug)]
pub struct Signal {
    pub id: Name,
    pub name: Option<Name>,
    pub payload: Option<Json>,
    /// The order in which it was buffered.
    pub accepted: Option<u32>,
    /// Whether a request for it was ever applied.
    pub applied: bool,
    pub claimed: Option<Step>,
    /// The run whose log announces it.
    pub announced: Option<RunAt>,
}

impl Run {
    /// Whether it exists, if only as a reservation, and has not ended.
    pub fn is_live(&self) -> bool {
        self.standing().is_some_and(|status| !status.is_terminal())
    }

    /// Its status as the store tells it: a reserved run is pending.
    pub fn standing(&self) -> Option<RunStatus> {
        self.status.or(self.kin.reserved.then_some(RunStatus::Pending))
    }

    /// The lease that `worker` was granted last.
    pub fn grant_of(&self, worker: WorkerAt) -> Option<&Grant> {
        self.grants.iter().rev().find(|grant| grant.worker == worker)
    }

    /// [`Run::grant_of`], to change.
    pub fn grant_of_mut(&mut self, worker: WorkerAt) -> Option<&mut Grant> {
        self.grants.iter_mut().rev().find(|grant| grant.worker == worker)
    }

    /// The lease of this worker and attempt.
    pub fn grant_mut(&mut self, worker: WorkerAt, attempt: Attempt) -> Option<&mut Grant> {
        self.grants.iter_mut().rev().find(|grant| grant.worker == worker && grant.attempt == attempt)
    }

    /// The lease of this attempt.
    pub fn attempt(&self, attempt: Attempt) -> Option<&Grant> {
        self.grants.iter().rev().find(|grant| grant.attempt == attempt)
    }

    /// The signal of this id.
    pub fn signal(&self, id: &str) -> Option<&Signal> {
        self.signals.iter().find(|signal| *signal.id == *id)
    }

    /// The signal of this id, made known if it was not.
    pub fn signal_mut(&mut self, id: &Name) -> &mut Signal {
        let place = self.signals.iter().position(|signal| signal.id == *id).unwrap_or_else(|| {
            self.signals.push(Signal {
                id: Arc::clone(id),
                name: None,
                payload: None,
                accepted: None,
                applied: false,
                claimed: None,
                announced: None,
            });
            self.signals.len() - 1
        });
        &mut self.signals[place]
    }

    /// The oldest buffered signal of this name.
    pub fn buffered(&self, name: &str) -> Option<&Signal> {
        self.signals
            .iter()
            .filter(|signal| signal.accepted.is_some() && signal.claimed.is_none())
            .filter(|signal| signal.name.as_deref() == Some(name))
            .min_by_key(|signal| signal.accepted)
    }

    /// How the wait of a step has ended, if it has.
    pub fn claim(&self, step: Step) -> Option<&Claimed> {
        self.claims.iter().find(|(claimer, _)| *claimer == step).map(|(_, claimed)| claimed)
    }

    /// The earliest time that it waits for.
    pub fn due(&self) -> Option<Timestamp> {
        let times = self.waits.iter().filter_map(|wait| match wait {
            Wait::Time(at) => Some(*at),
            _ => None,
        });
        times.min()
    }

    /// Leases in a row that have run out when it is granted now: a lease that ran out and was not reclaimed in a
    /// step of its own counts too.
    pub fn reclaims_due(&self) -> u32 {
        self.reclaims + u32::from(self.holder.is_some())
    }

    /// Takes another status.
    pub fn take(&mut self, status: RunStatus, at: Timestamp) {
        self.status = Some(status);
        self.since = at;
        if status == RunStatus::Pending {
            self.queued = at;
        }
    }
}

impl Fresh for Run {
    fn refresh(&mut self) {
        let Run { mut log, mut waits, mut grants, mut signals, mut claims, mut kin, .. } = std::mem::take(self);
        log.refresh();
        kin.refresh();
        waits.clear();
        grants.clear();
        signals.clear();
        claims.clear();
        *self = Run { log, waits, grants, signals, claims, kin, ..Run::default() };
    }
}
