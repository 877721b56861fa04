//! The temporal layer: plans, profiles and memory, judged from trace logs and the logs of runs alone.
//!
//! Every figure is recomputed here. Civil time is not: a window, a day and a due time are judged by what the entries say,
//! within bounds that hold in every time zone.

mod cadence;
mod document;
mod links;
mod memory;
mod plans;
mod profiles;
mod rest;
mod sometimes;
mod tries;

pub use plans::created;
pub use rest::finish;
pub use sometimes::{crashed, ended, refused};

use std::sync::Arc;

use super::facts::{Facts, Party, RunAt, WorkerAt};
use super::scheduler::leases;
use super::verdict::Judge;
use crate::kernel::{Body, EffectResult, Occurrence, Seq, Step, Timestamp, TraceBody};

/// An entry of a trace log, before it is folded in.
pub fn entry(
    facts: &mut Facts,
    judge: &mut Judge<'_>,
    stream: RunAt,
    ts: Timestamp,
    body: &TraceBody,
    from: Option<Party>,
) {
    let entry = Entry { stream, ts, from };
    plans::transition(facts, judge, &entry, body);
    match body {
        TraceBody::PlanProposed { uid, by, .. } => {
            links::unique(facts, judge, stream, uid);
            plans::proposed(facts, judge, &entry, uid, by);
        }
        TraceBody::PlanDispatched { occurrence, .. } => {
            plans::dispatched(facts, judge, &entry, body);
            cadence::dispatched(facts, judge, &entry, body);
            plans::once(facts, judge, stream, occurrence, true);
        }
        TraceBody::PlanClosed { occurrence, .. } => {
            plans::once(facts, judge, stream, occurrence, false);
            profiles::closed(facts, judge, &entry, body);
        }
        TraceBody::PlanFeedback { .. } => profiles::feedback(facts, judge, &entry, body),
        TraceBody::TraceAdded { uid, .. } => links::unique(facts, judge, stream, uid),
        TraceBody::MemoryCommitted { run, traces } => memory::committed(facts, judge, &entry, *run, traces),
        _ => {}
    }
    sometimes::entry(facts, judge, &entry, body);
}

/// An entry that is judged.
pub struct Entry {
    /// The user's stream.
    pub stream: RunAt,
    pub ts: Timestamp,
    pub from: Option<Party>,
}

impl Entry {
    /// An occurrence's name for people: with its user, where that is known.
    fn name(&self, facts: &Facts, occurrence: &Occurrence) -> String {
        self.subject(facts, &occurrence.to_string())
    }

    fn subject(&self, facts: &Facts, what: &str) -> String {
        subject(facts, self.stream, what)
    }
}

/// A name for people: of whom, and what.
fn subject(facts: &Facts, stream: RunAt, what: &str) -> String {
    match facts.traces.user(stream) {
        Some(user) => format!("{user} {what}"),
        None => what.to_owned(),
    }
}

/// Somebody tries to append an entry to a trace log.
pub fn tried(facts: &mut Facts, judge: &mut Judge<'_>, stream: RunAt, expected: Seq, body: &Arc<Body>) {
    let Body::Trace(trace) = &**body else { return };
    if let TraceBody::PlanClosed { occurrence, .. } = &**trace {
        profiles::tried(facts, judge, stream, expected, occurrence, body);
    }
}

/// A worker tries to append an entry to a trace log: drafts are committed by who holds their run, so `lease-told` and
/// `lease-capacity` hold for that call as for those that name the run.
pub fn tried_by_worker(facts: &mut Facts, judge: &mut Judge<'_>, worker: WorkerAt, body: &Body) {
    let Body::Trace(trace) = body else { return };
    if let TraceBody::MemoryCommitted { run, .. } = &**trace {
        let run = facts.run_at(*run);
        leases::silent(facts, judge, worker, run);
        leases::works(facts, judge, worker, run);
        leases::epilogue(facts, judge, worker, run);
    }
}

/// A step of a run has a result.
pub fn result(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, result: &EffectResult) {
    if !facts.traces.pulls.is_empty() {
        memory::pulled(facts, judge, run, step, result);
    }
}
