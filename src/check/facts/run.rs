//! What is known of a run: its log as accepted, its leases, its status, its signals.

use std::sync::Arc;

use super::{AgentAt, EffectAt, Fresh, MailAt, Party, RunAt, WorkerAt};
use crate::kernel::{
    Arrival, Attempt, Body, CallKind, Claimed, Json, Name, Priority, RunId, RunRetryPolicy, RunStatus, Seq, Span, Step,
    Timestamp, Wait,
};

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

/// An accepted entry.
#[derive(Clone, Debug)]
pub struct Entry {
    pub ts: Timestamp,
    pub body: Arc<Body>,
    pub from: Option<Party>,
}

/// The last lease entry of a log.
#[derive(Clone, Copy, Debug)]
pub struct LeaseMark {
    pub attempt: Attempt,
    pub from: Option<Party>,
    pub ts: Timestamp,
}

/// The last `run.retrying` of a log.
#[derive(Clone, Copy, Debug)]
pub struct RetryMark {
    pub failure: u32,
    pub due: Timestamp,
}

/// How a step began.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepMark {
    pub call: Option<CallKind>,
    pub ts: Timestamp,
    pub limit: Option<Span>,
    pub effect: Option<EffectAt>,
    /// Whether the log holds the entry that ends it.
    pub ended: bool,
}

/// What the last entry of a run's own is, as far as phases ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Own {
    #[default]
    Other,
    /// `run.resumed`.
    Resumed,
    /// `run.suspended` or `run.halted`.
    Rests,
}

/// A log as accepted, and its fold.
#[derive(Default)]
pub struct Log {
    entries: Vec<Option<Entry>>,
    pub closed: Option<RunStatus>,
    pub lease: Option<LeaseMark>,
    /// Whether the last entry of its own is a `run.retrying`: it is done with at the next lease entry.
    pub retry: Option<RetryMark>,
    pub retries: u32,
    pub last_own: Own,
    /// Whether it holds `orphans.resolved`.
    pub resolved: bool,
    pub cancelled: bool,
    /// Whether it holds the first `msg.received`: the batch of the run.
    pub batch: bool,
    /// Whether a step was answered with an error that is recorded.
    pub erred: bool,
    pub steps: Vec<StepMark>,
    pub received: Vec<(MailAt, Arrival)>,
    /// Intents without a result.
    pub open: Vec<EffectAt>,
}

/// Whether others than the holder may append such an entry.
pub fn is_foreign(body: &Body) -> bool {
    matches!(body, Body::ChildCompleted { .. } | Body::CancelRequested { .. } | Body::Other { .. })
}

/// The step that such an entry ends.
fn step_ended_by(body: &Body) -> Option<Step> {
    match body {
        Body::ToolResult { step, .. }
        | Body::TimerFired { step }
        | Body::SignalReceived { step, .. }
        | Body::AskResolved { step, .. } => Some(*step),
        Body::MsgReceived { step, .. } => *step,
        _ => None,
    }
}

impl Log {
    /// The last sequence number.
    pub fn last(&self) -> Seq {
        Seq::new(self.entries.len() as i64 - 1).unwrap_or(Seq::EMPTY)
    }

    /// The entry at a place.
    pub fn get(&self, seq: Seq) -> Option<&Entry> {
        self.entries.get(seq.index()?)?.as_ref()
    }

    /// All entries that are known, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Puts an entry at its place, if that is free and not absurdly far away.
    pub fn put(&mut self, seq: Seq, entry: Entry) -> bool {
        let Some(place) = seq.index().filter(|place| *place < self.entries.len() + (1 << 16)) else { return false };
        if place >= self.entries.len() {
            self.entries.resize(place + 1, None);
        }
        let free = self.entries[place].is_none();
        if free {
            self.entries[place] = Some(entry);
        }
        free
    }

    /// How the step began, if it is known.
    pub fn step(&self, step: Step) -> Option<&StepMark> {
        self.steps.get(step.0 as usize).filter(|mark| mark.call.is_some())
    }

    /// Folds an entry, all but its mail and effects.
    pub fn fold(&mut self, ts: Timestamp, body: &Body, from: Option<Party>) {
        if let Some(opening) = body.opening() {
            self.begin(opening.step, opening.call, ts, body);
        }
        if !is_foreign(body) {
            self.retry = None;
            self.last_own = match body {
                Body::RunResumed(_) => Own::Resumed,
                Body::RunSuspended { .. } | Body::RunHalted { .. } => Own::Rests,
                _ => Own::Other,
            };
        }
        if let Some(mark) = step_ended_by(body).and_then(|step| self.steps.get_mut(step.0 as usize)) {
            mark.ended = true;
        }
        match body {
            Body::RunStarted(entry) | Body::RunResumed(entry) => {
                self.lease = Some(LeaseMark { attempt: entry.attempt, from, ts });
            }
            Body::RunRetrying { failure, delay, .. } => {
                self.retries += 1;
                self.retry = Some(RetryMark { failure: *failure, due: ts + *delay });
            }
            Body::OrphansResolved { .. } => self.resolved = true,
            Body::CancelRequested { .. } => self.cancelled = true,
            Body::MsgReceived { step: None, .. } => self.batch = true,
            Body::Ended(ending) => self.closed = Some(self.closed.unwrap_or(ending.status())),
            Body::TimerFired { .. } | Body::SpawnDenied { .. } => self.erred = true,
            Body::ToolResult { result, .. } => self.erred |= result.status == crate::kernel::EffectStatus::Error,
            Body::StepValue { value, .. } => self.erred |= value.get("error").is_some(),
            _ => {}
        }
    }

    fn begin(&mut self, step: Step, call: CallKind, ts: Timestamp, body: &Body) {
        let place = step.0 as usize;
        if place > self.steps.len() + (1 << 16) {
            return;
        }
        if place >= self.steps.len() {
            self.steps.resize(place + 1, StepMark::default());
        }
        let limit = match body {
            Body::TimerSet { limit, .. } => *limit,
            _ => None,
        };
        let mark = &mut self.steps[place];
        if mark.call.is_none() {
            *mark = StepMark { call: Some(call), ts, limit, effect: mark.effect, ended: false };
        }
    }

    /// The entry that ended a step.
    pub fn end_of(&self, step: Step) -> Option<&Body> {
        self.step(step).filter(|mark| mark.ended)?;
        self.iter().rev().map(|entry| &*entry.body).find(|body| step_ended_by(body) == Some(step))
    }

    /// The last entry of the run's own that stands before any lease entry of a higher attempt than `attempt`,
    /// and the attempt of the lease entry that it stands under.
    pub fn own_last(&self, attempt: Attempt) -> Option<(&Body, Option<Attempt>)> {
        let mut last = None;
        for entry in self.iter().rev() {
            match entry.body.lease_entry() {
                Some(lease) if lease.attempt > attempt => last = None,
                Some(lease) => return Some((last.unwrap_or(&entry.body), Some(lease.attempt))),
                None if last.is_none() && !is_foreign(&entry.body) => last = Some(&entry.body),
                None => {}
            }
        }
        last.map(|body| (body, None))
    }

    /// The last entry of the run's own.
    pub fn own_end(&self) -> Option<&Body> {
        self.iter().rev().map(|entry| &*entry.body).find(|body| !is_foreign(body))
    }

    fn refresh(&mut self) {
        let Log { mut entries, mut steps, mut received, mut open, .. } = std::mem::take(self);
        entries.clear();
        steps.clear();
        received.clear();
        open.clear();
        *self = Log { entries, steps, received, open, ..Log::default() };
    }
}

impl Run {
    /// Whether it exists and has not ended.
    pub fn is_live(&self) -> bool {
        self.status.is_some_and(|status| !status.is_terminal())
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
        let Run { mut log, mut waits, mut grants, mut signals, mut claims, .. } = std::mem::take(self);
        log.refresh();
        waits.clear();
        grants.clear();
        signals.clear();
        claims.clear();
        *self = Run { log, waits, grants, signals, claims, ..Run::default() };
    }
}
