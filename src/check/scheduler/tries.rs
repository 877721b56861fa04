//! Tries and their bounds: retries and their back-off, poison, deadlines.

use crate::check::facts::{Facts, Party, RunAt, worker_of};
use crate::check::sometimes::Sometimes;
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{Attempt, Deadline, Ending, FailureCode, Lease, Opening, Span, Timestamp};

/// `retry-policy`, at `run.retrying`: its number follows the last, is allowed, and its delay is the policy's.
pub fn retrying(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, failure: u32, delay: Span) {
    let (name, state) = (facts.name(run), &facts.runs[run]);
    if failure != state.log.retries + 1 {
        judge.violated(
            Rule::RetryPolicy,
            name,
            format_args!("failure {failure} is recorded after {} failures", state.log.retries),
        );
    }
    let Some(policy) = state.policy else { return };
    if failure > policy.max_retries {
        judge.violated(
            Rule::RetryPolicy,
            name,
            format_args!("it is tried again after failure {failure}, {} retries are allowed", policy.max_retries),
        );
    }
    let pause = policy.pause_before(failure);
    if delay != pause {
        judge.violated(
            Rule::RetryPolicy,
            name,
            format_args!("retry {failure} is put off by {delay}, the policy says {pause}"),
        );
    }
}

/// `retry-policy`, at a lease entry: where the log waits for a retry, the lease was granted when the back-off was over,
/// or after a cancel, or after the deadline.
pub fn resumed(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, attempt: Attempt) {
    let state = &facts.runs[run];
    let (Some(retry), Some(grant)) = (state.log.retry, state.attempt(attempt)) else { return };
    judge.reached(Sometimes::Retried);
    let excused = state.cancelled.is_some()
        || state.log.cancelled
        || state.deadline.is_some_and(|deadline| deadline <= grant.granted_at);
    if grant.granted_at < retry.due && !excused {
        judge.violated(
            Rule::RetryPolicy,
            facts.name(run),
            format_args!("retry {} began at {}, before it was due at {}", retry.failure, grant.granted_at, retry.due),
        );
    }
}

/// At a terminal entry. `retry-policy`: an agent that failed, and to whom no recorded error was given, had all its
/// retries. `poison-bounded`: a poisoned run lost more leases in a row than allowed. `deadline-kept`: a run that failed
/// by its deadline had one, and it was over.
pub fn ended(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, ending: &Ending) {
    let (name, state) = (facts.name(run), &facts.runs[run]);
    let Ending::Failed { code, .. } = ending else { return };
    match code {
        FailureCode::AgentCrashed => {
            let allowed = state.policy.map_or(0, |policy| policy.max_retries);
            if state.log.retries < allowed && !state.log.erred {
                judge.violated(
                    Rule::RetryPolicy,
                    name,
                    format_args!("it failed after {} of {allowed} retries", state.log.retries),
                );
            }
        }
        FailureCode::BudgetExhausted if !state.log.spent_refused => judge.violated(
            Rule::RetryPolicy,
            name,
            format_args!("it failed because its budget is spent, and no step of it was refused for that"),
        ),
        FailureCode::Poisoned => {
            judge.reached(Sometimes::Poisoned);
            let reclaims = state.grants.iter().map(|grant| grant.reclaims).max().unwrap_or(0);
            if reclaims <= facts.limits.max_lost_leases {
                judge.violated(
                    Rule::PoisonBounded,
                    name,
                    format_args!("it was ended as poisoned after {reclaims} lost leases in a row"),
                );
            }
        }
        FailureCode::DeadlineExceeded => {
            judge.reached(Sometimes::DeadlinePassed);
            if state.deadline.is_none_or(|deadline| deadline > judge.at) {
                judge.violated(
                    Rule::DeadlineKept,
                    name,
                    format_args!("it failed by its deadline, which is {:?}", state.deadline),
                );
            }
        }
        _ => {}
    }
}

/// At a grant. `poison-bounded`: the lease tells how many leases in a row ran out, as they did. `deadline-kept`: it tells
/// when the run must have ended.
pub fn granted(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, lease: &Lease, reclaims: u32) {
    if lease.reclaims != reclaims {
        judge.violated(
            Rule::PoisonBounded,
            facts.name(run),
            format_args!("attempt {} tells {} lost leases, it were {reclaims}", lease.key.attempt, lease.reclaims),
        );
    }
    let deadline = deadline(facts, run, lease);
    if deadline.is_some() && deadline != lease.deadline {
        judge.violated(
            Rule::DeadlineKept,
            facts.name(run),
            format_args!("attempt {} tells deadline {:?}, it is {deadline:?}", lease.key.attempt, lease.deadline),
        );
    }
}

/// When a run must have ended by what its specification says: the sooner of its own deadline, counted from its first
/// grant, and its parent's.
fn deadline(facts: &Facts, run: RunAt, lease: &Lease) -> Option<Timestamp> {
    let first = facts.runs[run].grants.first().map_or(lease.granted_at, |first| first.granted_at);
    let own = lease.spec.settings.deadline.map(|own| match own {
        Deadline::At(at) => at,
        Deadline::After(span) => first + span,
    });
    own.into_iter().chain(lease.spec.parent_deadline).min()
}

/// `poison-bounded`, when an agent is entered: its run did not lose more leases in a row than allowed. `deadline-kept`:
/// the deadline was not over at the grant.
pub fn entered(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, attempt: Attempt) {
    let state = &facts.runs[run];
    let Some(grant) = state.attempt(attempt) else { return };
    if grant.reclaims > facts.limits.max_lost_leases {
        judge.violated(
            Rule::PoisonBounded,
            facts.name(run),
            format_args!("its agent is entered at attempt {attempt} after {} lost leases in a row", grant.reclaims),
        );
    }
    if let Some(deadline) = state.deadline.filter(|deadline| *deadline < grant.granted_at) {
        judge.violated(
            Rule::DeadlineKept,
            facts.name(run),
            format_args!("its agent is entered at attempt {attempt}, granted after its deadline {deadline}"),
        );
    }
}

/// `deadline-kept`, when a worker tries to begin a step that it did not try before: it does not know that the deadline
/// is over, from the grant, from the time of its lease entry, or from a heartbeat that was answered earlier than the
/// present instant (and than its waking from a pause).
pub fn begins(facts: &mut Facts, judge: &mut Judge<'_>, from: Party, run: RunAt, opening: &Opening) {
    let Some(worker) = worker_of(from) else { return };
    let resumed = facts.workers[worker].resumed_at;
    let state = &mut facts.runs[run];
    let (deadline, mark) = (state.deadline, state.log.lease);
    let Some(grant) = state.grant_of_mut(worker) else { return };
    if grant.begun.is_some_and(|begun| begun >= opening.step) {
        return;
    }
    grant.begun = Some(opening.step);
    let entry_ts = mark.filter(|mark| mark.attempt == grant.attempt).map(|mark| mark.ts);
    let by_clock = |time: Timestamp| deadline.is_some_and(|deadline| time > deadline);
    let by_heartbeat = grant.told_deadline.is_some_and(|told| judge.at > told && judge.at > resumed);
    if by_clock(grant.granted_at) || entry_ts.is_some_and(by_clock) || by_heartbeat {
        let (attempt, step) = (grant.attempt, opening.step);
        judge.violated(
            Rule::DeadlineKept,
            facts.name(run),
            format_args!(
                "step {step} begins under attempt {attempt} though its worker knows that the deadline is over"
            ),
        );
    }
}

/// When a lease gives its run up to sleep, as applied: it was not granted after the run's deadline (`deadline-kept`) or
/// after a cancel of it (`wake-not-lost`), for such a lease brings the run to its end.
pub fn laid_down(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, attempt: Attempt) {
    let state = &facts.runs[run];
    let Some(granted_at) = state.attempt(attempt).map(|grant| grant.granted_at) else { return };
    if let Some(deadline) = state.deadline.filter(|deadline| *deadline < granted_at) {
        judge.violated(
            Rule::DeadlineKept,
            facts.name(run),
            format_args!("attempt {attempt}, granted after its deadline {deadline}, lays it down to sleep"),
        );
    }
    if let Some(cancelled) = state.cancelled.filter(|cancelled| *cancelled < granted_at) {
        judge.violated(
            Rule::WakeNotLost,
            facts.name(run),
            format_args!("attempt {attempt}, granted after its cancel at {cancelled}, lays it down to sleep"),
        );
    }
}

/// `deadline-kept`, where the healed world is at rest: no run lives past its deadline.
pub fn rest(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter().filter(|(_, run)| run.is_live()) {
        if let Some(deadline) = run.deadline.filter(|deadline| *deadline < judge.at) {
            judge.violated(
                Rule::DeadlineKept,
                facts.name(place),
                format_args!("the world is at rest and it lives past its deadline {deadline}"),
            );
        }
    }
}
