//! What a log announces is done, and nothing is done in a run's name that its log does not announce.

use super::facts::{Call, Facts, Life, RunAt, What, worker_of};
use super::verdict::{Judge, Rule};
use super::{ask, children, pubsub};
use crate::kernel::Step;

/// `announced-done`, the way back, when a worker sends a cancel or a detach: see [`children::announced`].
pub fn sent(facts: &Facts, judge: &mut Judge<'_>, call: &Call) {
    if matches!(call.what, What::Cancel { .. } | What::Detach { .. }) {
        children::announced(facts, judge, call);
    }
}

/// `announced-done`, the way back: what a worker's delivery or signal is accepted with is announced in a log, as
/// applied. Whom a publication may go to is said by `fanout-once`, and what an answer may say by `ask-truth`.
pub fn accepted(facts: &Facts, judge: &mut Judge<'_>, call: &Call) {
    if worker_of(call.from).is_none() {
        return;
    }
    match &call.what {
        What::Deliver { to, mail, .. } => {
            let is_announced = facts.mails[*mail].announced.is_some() || pubsub::delivered(facts, judge, *to, *mail);
            if !is_announced {
                let sender = facts.party_name(call.from);
                judge.violated(
                    Rule::AnnouncedDone,
                    facts.mail_name(*mail),
                    format_args!("{sender} delivered it, but no log announces it"),
                );
            }
        }
        What::Signal { run, id, .. } => {
            let known = facts.runs[*run].signal(id).is_some_and(|signal| signal.announced.is_some());
            if !known && !id.starts_with("reply:") {
                let sender = facts.party_name(call.from);
                judge.violated(
                    Rule::AnnouncedDone,
                    facts.name(*run),
                    format_args!("{sender} sent it signal `{id}`, but no log announces it"),
                );
            }
        }
        _ => {}
    }
}

/// `announced-done`, once, after healing: every message was accepted by its address, a request for every signal was
/// applied, every child was created, and a cancel of every run came that a log announces to cancel. Exempt are
/// messages to types that are not registered, questions without an outcome, and what the last step of a halted run
/// announces.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter() {
        for signal in &run.signals {
            let owed = signal.announced.filter(|_| !signal.applied);
            if let Some(announcer) = owed.filter(|announcer| !facts.runs[*announcer].halted) {
                judge.violated(
                    Rule::AnnouncedDone,
                    facts.name(place),
                    format_args!("run {} announces signal `{}`, which never came", facts.name(announcer), signal.id),
                );
            }
        }
        cancels(facts, judge, place);
        let owed = run.kin.announced.filter(|_| run.status.is_none() || run.kin.swept);
        let step = run.kin.parent.map_or(Step(0), |(_, step)| step);
        if let Some(parent) = owed.filter(|parent| !is_excused(facts, *parent, step)) {
            judge.violated(
                Rule::AnnouncedDone,
                facts.name(place),
                format_args!("run {} announces it as its child, and it was never created", facts.name(parent)),
            );
        }
    }
    for (place, mail) in facts.mails.iter() {
        let owed = mail.announced.filter(|_| mail.life == Life::None && !mail.unknown);
        let owed = owed.filter(|(run, step)| !is_excused(facts, *run, *step) && !ask::is_open(facts, *run, *step));
        if let Some((run, _)) = owed {
            judge.violated(
                Rule::AnnouncedDone,
                facts.mail_name(place),
                format_args!("run {} announces it, and it was never accepted", facts.name(run)),
            );
        }
    }
}

/// Whether a step is the last one of a halted run: nothing may be done for it before somebody resumes it.
fn is_excused(facts: &Facts, run: RunAt, step: Step) -> bool {
    facts.runs[run].halted && facts.runs[run].log.steps.len() <= step.0 as usize + 1
}

fn cancels(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    if facts.runs[run].log.children.is_empty() {
        return;
    }
    for body in facts.runs[run].log.bodies() {
        let Some(child) = children::cancels(body) else { continue };
        let step = body.step().unwrap_or_default();
        let state = facts.known_run(child).map(|child| &facts.runs[child]);
        let is_done = state.is_some_and(|child| child.cancelled.is_some() || !child.is_live());
        if !is_done && !is_excused(facts, run, step) {
            judge.violated(
                Rule::AnnouncedDone,
                child,
                format_args!("run {} announces to cancel it, and nobody did", facts.name(run)),
            );
        }
    }
}
