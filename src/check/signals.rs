//! Signals and timers: not lost, once, not early, not much too late, silent after the end.

use super::facts::{Facts, LENIENCE, Run, RunAt};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{
    Body, CallKind, ClaimWait, Claimed, Json, Name, RunStatus, Signalled, Step, Timestamp, Trigger, Wakeup,
};

/// `signal-not-lost`, at a signal as applied: it is buffered for a live run, a repeat only of an id that the run
/// accepted, dropped only for an ended run. `signal-once`: an id is buffered once.
pub fn signalled(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, id: &Name, told: Signalled) {
    let state = &facts.runs[run];
    let Some(status) = state.status else { return };
    let accepted = state.signal(id).is_some_and(|signal| signal.accepted.is_some());
    match told {
        Signalled::Buffered => {
            if accepted {
                judge.violated(
                    Rule::SignalOnce,
                    facts.name(run),
                    format_args!("signal `{id}` was accepted a second time"),
                );
            }
            if status.is_terminal() {
                judge.violated(
                    Rule::SignalNotLost,
                    facts.name(run),
                    format_args!("signal `{id}` was buffered although the run has ended"),
                );
            } else if status != RunStatus::Suspended {
                judge.reached(Sometimes::SignalBeforeSleep);
            }
        }
        Signalled::Repeated if accepted => judge.reached(Sometimes::SignalRepeated),
        Signalled::Ended if status.is_terminal() => {}
        Signalled::Repeated | Signalled::Ended => {
            let status = status.as_str();
            judge.violated(
                Rule::SignalNotLost,
                facts.name(run),
                format_args!(
                    "signal `{id}` was answered {told:?} although it was never accepted and the run is {status}"
                ),
            );
        }
    }
}

/// At a claim. `signal-once`: the first answer given to a step is its answer for ever; a signal is given to one step,
/// with the payload that was sent, the oldest of the name wanted. `signal-not-lost`: while a signal of the name is
/// buffered, the answer is neither none nor a time-out. `timer-not-early`: a time-out comes when the time is over.
pub fn claimed(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, wait: &ClaimWait, told: Option<&Claimed>) {
    let (name, state) = (facts.name(run), &facts.runs[run]);
    if state.status.is_some_and(RunStatus::is_terminal) {
        return;
    }
    if let Some(before) = state.claim(step) {
        if Some(before) != told && (told.is_some() || judge.applied) {
            judge.violated(Rule::SignalOnce, name, format_args!("step {step} was told {before:?} and then {told:?}"));
        }
        return;
    }
    let buffered = wait.signal.as_deref().and_then(|wanted| state.buffered(wanted));
    match told {
        Some(Claimed::Signal { id, name: signal, payload }) => {
            one_payload(facts, judge, run, step, id, payload);
            let oldest = buffered.is_none_or(|oldest| oldest.id == *id);
            if wait.signal.as_ref() != Some(signal) || !oldest {
                judge.violated(
                    Rule::SignalOnce,
                    name,
                    format_args!("step {step} was given signal `{id}`, which is not the oldest of its name"),
                );
            }
        }
        Some(Claimed::TimedOut) => {
            let over = wait.until.is_some_and(|until| until <= judge.at) && limit_over(state, step, judge.at);
            if !over {
                judge.violated(
                    Rule::TimerNotEarly,
                    name,
                    format_args!("step {step} was told that its time is over before {:?}", wait.until),
                );
            }
        }
        None => {}
    }
    if let Some(lost) = buffered.filter(|_| judge.applied && !matches!(told, Some(Claimed::Signal { .. }))) {
        judge.violated(
            Rule::SignalNotLost,
            name,
            format_args!("step {step} was told {told:?} although signal `{}` is buffered", lost.id),
        );
    }
}

fn one_payload(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, id: &Name, payload: &Json) {
    let name = facts.name(run);
    let signal = facts.runs[run].signal(id);
    let claimed = signal.and_then(|signal| signal.claimed);
    if let Some(other) = claimed.filter(|other| *other != step) {
        judge.violated(
            Rule::SignalOnce,
            name,
            format_args!("signal `{id}` was given to step {step} and to step {other}"),
        );
    }
    let sent = signal.filter(|signal| signal.accepted.is_some()).and_then(|signal| signal.payload.as_ref());
    if judge.applied && sent != Some(payload) {
        judge.violated(
            Rule::SignalOnce,
            name,
            format_args!("step {step} was given {payload:?} as signal `{id}`, accepted was {sent:?}"),
        );
    }
}

/// `signal-once`, at what a wait for a signal gave to the agent: the signal that its step's `signal.received` says, or
/// nothing after its `timer.fired`.
pub fn gave(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, value: &Json) {
    let log = &facts.runs[run].log;
    let waits = log.step(step).is_some_and(|mark| mark.call == Some(CallKind::WaitSignal));
    if !judge.applied || !waits || value.get("error").is_some() {
        return;
    }
    let right = match log.end_of(step) {
        Some(Body::SignalReceived { id, payload, .. }) => {
            value.get("id").and_then(|id| id.as_str()) == Some(id) && value.get("payload") == Some(payload)
        }
        Some(Body::TimerFired { .. }) => value.is_null(),
        _ => false,
    };
    if !right {
        judge.violated(
            Rule::SignalOnce,
            facts.name(run),
            format_args!("step {step} gave {value:?}, which the log does not say"),
        );
    }
}

/// Whether the limit that a step's `timer.set` states is over; true where the log does not tell.
fn limit_over(run: &Run, step: Step, at: Timestamp) -> bool {
    run.log.step(step).is_none_or(|mark| mark.limit.is_some_and(|limit| mark.ts + limit <= at))
}

/// `signal-once`, at a `signal.received`: it says what the claim of its step was told.
pub fn signal_logged(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, id: &Name, payload: &Json) {
    let told = facts.runs[run].claim(step);
    let same = match told {
        Some(Claimed::Signal { id: known, payload: sent, .. }) => known == id && sent == payload,
        Some(Claimed::TimedOut) => false,
        None => !judge.applied,
    };
    if !same {
        judge.violated(
            Rule::SignalOnce,
            facts.name(run),
            format_args!("step {step} logs signal `{id}`, its claim was told {told:?}"),
        );
    }
}

/// `timer-not-early`, at a `timer.fired`: the limit of the step's `timer.set` is over by the times of the two entries.
/// `signal-once`: the claim of its step was told no signal.
pub fn fired_logged(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, ts: Timestamp) {
    let state = &facts.runs[run];
    if !limit_over(state, step, ts) {
        judge.violated(
            Rule::TimerNotEarly,
            facts.name(run),
            format_args!("step {step} logs the end of its time at {ts}, before it was over"),
        );
    }
    if let Some(told @ Claimed::Signal { .. }) = state.claim(step) {
        judge.violated(
            Rule::SignalOnce,
            facts.name(run),
            format_args!("step {step} logs the end of its time, its claim was told {told:?}"),
        );
    }
}

/// When a run becomes pending by a time. `timer-not-early`: the time of the trigger is there; of a retry the earliest
/// of the wait list; of a deadline the deadline. `timer-late-bounded`: from a time (and the jitter) on, there was never
/// more than a poll (and some lenience) of unbroken time in which a worker with room polled. `timer-silent`: the run
/// has not ended, and no cancel was applied while it slept.
pub fn fired(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, from: RunStatus, trigger: &Trigger) {
    let (name, state, at) = (facts.name(run), &facts.runs[run], judge.at);
    let asleep = from == RunStatus::Suspended;
    let due = match trigger {
        Trigger::Wakeup(Wakeup::Timer { at }) => Some(*at),
        Trigger::Retry if asleep => state.due(),
        Trigger::Deadline => state.deadline,
        _ => return,
    };
    if due.is_some_and(|due| due > at) {
        judge.violated(Rule::TimerNotEarly, name, format_args!("it was woken by {trigger:?} at {at}"));
    }
    let ended = state.status.is_some_and(RunStatus::is_terminal) || state.log.closed.is_some();
    if ended || (asleep && state.cancelled.is_some_and(|cancelled| cancelled >= state.since)) {
        judge.violated(Rule::TimerSilent, name, format_args!("{trigger:?} woke it after its end or cancel"));
    }
    if let Some(due) = due.filter(|_| asleep) {
        late(facts, judge, run, due.max(state.since));
    }
}

/// `timer-late-bounded` for a time of a sleeping run that has not come up yet, or comes up now.
pub fn late(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, due: Timestamp) {
    let from = due + facts.limits.timer_jitter;
    let bound = facts.limits.poll + LENIENCE;
    if judge.at.since(from) > bound && facts.room.longest(from, judge.at) > bound {
        judge.violated(
            Rule::TimerLateBounded,
            facts.name(run),
            format_args!("its time {due} was over, workers with room polled, and still it sleeps"),
        );
    }
}
