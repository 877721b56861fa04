//! *Sometimes*: where in its work a dying worker is.

use super::facts::{EffectAt, Facts, Life, MailAt, Run, WorkerAt};
use super::sometimes::Sometimes;
use super::temporal;
use super::verdict::Judge;
use crate::kernel::{Arrival, Body};

/// A worker dies: how far it is with each of the runs that it holds.
pub fn crashed(facts: &Facts, judge: &mut Judge<'_>, worker: WorkerAt) {
    let held = facts.runs.iter().filter(|(_, run)| run.holder.is_some_and(|holder| holder.worker == worker));
    for (_, run) in held {
        in_cycle(facts, judge, run);
        if run.log.closed.is_some() {
            in_epilogue(facts, judge, run);
        }
    }
    temporal::crashed(facts, judge, worker);
}

fn in_cycle(facts: &Facts, judge: &mut Judge<'_>, run: &Run) {
    let attempt = run.holder.map(|holder| holder.attempt);
    if run.log.lease.map(|lease| lease.attempt) != attempt {
        judge.reached(Sometimes::CrashBeforeLeaseEntry);
    } else if !run.log.batch {
        judge.reached(Sometimes::CrashBeforeBatch);
    }
    let is_recorded = |effect: &EffectAt| facts.effects[*effect].standing.is_some();
    if !run.log.open.is_empty() {
        judge.reached(Sometimes::CrashInIntent);
    }
    if run.log.open.iter().any(is_recorded) {
        judge.reached(Sometimes::CrashBeforeResult);
    }
    for child in run.kin.children.iter().map(|child| &facts.runs[*child].kin).filter(|child| child.reserved) {
        let announced = child.announced.is_some();
        judge.reached(if announced { Sometimes::CrashBeforeCreate } else { Sometimes::CrashBeforeAnnouncement });
    }
    match run.log.own_end() {
        Some(Body::OrphansResolved { .. }) => judge.reached(Sometimes::CrashAfterDecision),
        Some(Body::RunSuspended { .. } | Body::RunRetrying { .. }) => judge.reached(Sometimes::CrashBeforeRelease),
        _ => {}
    }
}

/// Between which calls of the epilogue, as far as the world tells.
fn in_epilogue(facts: &Facts, judge: &mut Judge<'_>, run: &Run) {
    judge.reached(Sometimes::CrashInEpilogue);
    if run.kin.unit {
        return judge.reached(Sometimes::CrashBeforeReturn);
    }
    if let Some((parent, id)) = run.kin.announced.zip(run.id) {
        let parent = &facts.runs[parent];
        let told = parent.log.child(id).is_some_and(|child| child.completed);
        if !told && parent.log.closed.is_none() {
            return judge.reached(Sometimes::CrashBeforeNotice);
        }
        let is_woken = |(child, _): &(_, _)| facts.runs[*child].id == Some(id);
        if told && !parent.kin.told_ends.iter().any(is_woken) {
            return judge.reached(Sometimes::CrashBeforeWake);
        }
    }
    let is_owed = |(mail, arrival): &(MailAt, Arrival)| {
        facts.mails[*mail].life == Life::Pending && facts.mails[*mail].arrival == Some(*arrival)
    };
    if run.log.received.iter().any(is_owed) {
        judge.reached(Sometimes::CrashBeforeSettling);
    }
}
