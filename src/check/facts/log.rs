//! A log as accepted, and its fold.

use std::sync::Arc;

use super::kin::Child;
use super::{EffectAt, MailAt, Party};
use crate::kernel::{
    Arrival, Attempt, Body, CallKind, EffectResult, EffectStatus, Ending, RunId, RunStatus, Seq, Span, Step, Timestamp,
};

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
    /// The children that it announces.
    pub children: Vec<Child>,
    /// The steps that wait for the end of a child.
    pub joins: Vec<(Step, RunId)>,
    /// Whether a model call was refused because a limit was reached.
    pub spent_refused: bool,
}

/// Whether others than the holder may append such an entry.
pub fn is_foreign(body: &Body) -> bool {
    matches!(body, Body::ChildCompleted { .. } | Body::CancelRequested { .. } | Body::Trace(_) | Body::Other { .. })
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

/// Whether what a model said is no JSON document, which is an error for who asked for one.
fn is_malformed(result: &EffectResult) -> bool {
    let text = result.value.get("text").and_then(serde_json::Value::as_str);
    result.artifact_ref.is_some()
        || text.is_none_or(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_err())
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
        self.fold_children(body);
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
            Body::ToolResult { step, result } => {
                let is_model = self.step(*step).is_some_and(|mark| mark.call == Some(CallKind::Model));
                self.erred |= result.status == EffectStatus::Error || (is_model && is_malformed(result));
            }
            Body::StepValue { opening, value } if opening.call != CallKind::Log => {
                let refused = value.get("refused").and_then(serde_json::Value::as_str);
                self.erred |= refused.is_some() || value.get("error").is_some();
                self.spent_refused |= refused == Some("BudgetExhausted");
            }
            _ => {}
        }
    }

    /// A join ends by its time, or with the end of its child, whichever stands first.
    fn fold_children(&mut self, body: &Body) {
        match body {
            Body::ChildSpawned { spec, .. } => {
                self.children.push(Child { run: spec.run, retention: spec.retention, completed: false });
            }
            Body::ChildCompleted { result, .. } => {
                let child = self.children.iter_mut().find(|child| child.run == result.run_id);
                child.into_iter().for_each(|child| child.completed = true);
                for (step, _) in self.joins.iter().filter(|(_, child)| *child == result.run_id) {
                    if let Some(mark) = self.steps.get_mut(step.0 as usize) {
                        mark.ended = true;
                    }
                }
            }
            Body::TimerSet { opening, child: Some(child), .. } => {
                self.joins.push((opening.step, *child));
                let completed = self.child(*child).is_some_and(|child| child.completed);
                if let Some(mark) = self.steps.get_mut(opening.step.0 as usize).filter(|_| completed) {
                    mark.ended = true;
                }
            }
            _ => {}
        }
    }

    /// The child of this id, as it is announced.
    pub fn child(&self, run: RunId) -> Option<&Child> {
        self.children.iter().find(|child| child.run == run)
    }

    /// The child whose end a step waits for.
    pub fn joined(&self, step: Step) -> Option<RunId> {
        self.joins.iter().find(|(join, _)| *join == step).map(|(_, child)| *child)
    }

    /// The entry that says how a child ended.
    pub fn completion(&self, child: RunId) -> Option<&Body> {
        let is_it = |body: &&Body| matches!(body, Body::ChildCompleted { result, .. } if result.run_id == child);
        self.bodies().find(is_it)
    }

    /// What `orphans.resolved` says: how the run will end, whom to cancel and whom to detach.
    pub fn decision(&self) -> Option<(&Ending, &[RunId], &[RunId])> {
        if !self.resolved {
            return None;
        }
        self.bodies().find_map(|body| match body {
            Body::OrphansResolved { ending, cancel, detach } => Some((ending, cancel.as_slice(), detach.as_slice())),
            _ => None,
        })
    }

    /// The entries' contents, in order.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.iter().map(|entry| &*entry.body)
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
            Body::AskSent { limit, .. } => Some(*limit),
            _ => None,
        };
        let mark = &mut self.steps[place];
        if mark.call.is_none() {
            // A wait that was refused is none.
            let ended = matches!((call, body), (CallKind::Join | CallKind::WaitSignal, Body::StepValue { .. }));
            *mark = StepMark { call: Some(call), ts, limit, effect: mark.effect, ended };
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

    /// Empties it and keeps the memory.
    pub fn refresh(&mut self) {
        let Log { mut entries, mut steps, mut received, mut open, mut children, mut joins, .. } = std::mem::take(self);
        entries.clear();
        steps.clear();
        received.clear();
        open.clear();
        children.clear();
        joins.clear();
        *self = Log { entries, steps, received, open, children, joins, ..Log::default() };
    }
}
