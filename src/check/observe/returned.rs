//! What callers heard: what a worker learns by it, and, where no applied facts are there, all that is known.

use super::applied::entry;
use super::known;
use crate::check::facts::{Call, Calls, Facts, PAUSE_MAX, Party, RunAt, What, WorkerAt};
use crate::check::scheduler::leases;
use crate::check::sometimes::Sometimes;
use crate::check::verdict::Judge;
use crate::check::{effects, inbox, liveness, log, pubsub, signals, spend};
use crate::history::{Answer, CallNo};
use crate::kernel::{CallError, Heartbeat, Performed, Released, Reply, Reserved, Seq, Timestamp};

/// A caller has the outcome of its call.
pub(super) fn returned(
    facts: &mut Facts,
    calls: &mut Calls,
    judge: &mut Judge<'_>,
    number: CallNo,
    outcome: &Result<Answer, CallError>,
) {
    let Some(call) = known(facts, calls, number) else { return };
    call.returned = true;
    if let Some(run) = call.what.run() {
        liveness::count(facts, judge, run);
    }
    if let What::Perform { effect, .. } = call.what {
        let seen = matches!(outcome, Ok(Answer::Outside(Performed::Done(_))));
        if !seen && facts.effects[effect].happened > 0 {
            judge.reached(Sometimes::HappenedUnseen);
        }
    }
    if let Party::Worker(worker) = call.from {
        told_worker(facts, judge.at, judge, worker, &call.what, outcome.as_ref().ok());
    }
    if let What::Deliver { mail, .. } = call.what {
        pubsub::returned(facts, judge, call, mail);
    }
    let Ok(Answer::Store(reply)) = outcome else { return };
    if let (What::Read { run, from } | What::Tail { run, from }, Reply::Entries(entries)) = (&call.what, reply) {
        let tail = matches!(call.what, What::Tail { .. });
        log::entries_seen(facts, judge, *run, *from, entries, tail);
        log::successor_read(facts, judge, call.from, *run, entries);
        let next = entries.last().map_or(*from, |entry| entry.seq.next());
        saw(facts, call.from, *run, *from, next, tail);
    }
    if let (What::Append { run, .. }, Reply::Appended(appended)) = (&call.what, reply) {
        saw(facts, call.from, *run, appended.seq, appended.seq.next(), false);
    }
    if !facts.applied {
        told(facts, judge, call, reply);
    }
}

/// Somebody knows the entries of a log from `start` to before `next`: who tails it goes on behind the last entry that it
/// knows without a gap, be it by a tail, by a read, or because it is its own.
fn saw(facts: &mut Facts, from: Party, run: RunAt, start: Seq, next: Seq, tail: bool) {
    match facts.tails.iter_mut().find(|(party, tailed, _)| *party == from && *tailed == run) {
        Some((_, _, known)) if tail || start <= *known => *known = next.max(*known),
        Some(_) => {}
        None if tail => facts.tails.push((from, run, next)),
        None => {}
    }
}

/// What a worker learns from an outcome about its leases and its polls.
fn told_worker(
    facts: &mut Facts,
    at: Timestamp,
    judge: &mut Judge<'_>,
    worker: WorkerAt,
    what: &What,
    answer: Option<&Answer>,
) {
    match (what, answer) {
        (What::Lease { .. }, answer) => {
            let state = &mut facts.workers[worker];
            state.busy = state.busy.saturating_sub(1);
            let unheard = std::mem::take(&mut state.unheard);
            if let Some(Answer::Store(Reply::Leases(granted))) = answer {
                leases::heard(facts, worker, granted);
                facts.follow_room(at, true);
            } else {
                state.deaf(at + PAUSE_MAX);
                for (run, attempt) in unheard {
                    judge.reached(Sometimes::GrantLost);
                    facts.done(worker, run, attempt);
                }
                facts.follow_room(at, false);
            }
        }
        (What::Register { .. }, answer) => {
            let state = &mut facts.workers[worker];
            state.busy = state.busy.saturating_sub(1);
            if answer.is_none() {
                state.deaf(at + PAUSE_MAX);
            }
            facts.follow_room(at, false);
        }
        (What::Heartbeat { run, attempt }, Some(Answer::Store(Reply::Heartbeat(Heartbeat::DeadlinePassed(_))))) => {
            if let Some(grant) = facts.runs[*run].grant_mut(worker, *attempt) {
                grant.told_deadline = grant.told_deadline.or(Some(at));
            }
        }
        (What::Heartbeat { run, attempt }, Some(Answer::Store(Reply::Heartbeat(Heartbeat::Lost))))
        | (What::Release { run, attempt, .. }, Some(Answer::Store(Reply::Released(Released::Lost))))
        | (What::Reserve { run, attempt, .. }, Some(Answer::Store(Reply::Reserved(Reserved::Lost)))) => {
            if let Some(grant) = facts.runs[*run].grant_mut(worker, *attempt) {
                grant.told_lost = grant.told_lost.or(Some(at));
            }
            facts.done(worker, *run, *attempt);
            facts.follow_room(at, false);
        }
        (What::Release { run, attempt, .. }, Some(Answer::Store(Reply::Released(Released::Released)))) => {
            facts.done(worker, *run, *attempt);
            facts.follow_room(at, false);
        }
        (What::Spend { run, .. } | What::Totals { run }, Some(Answer::Store(Reply::Account(account)))) => {
            spend::heard(facts, worker, *run, account);
        }
        _ => {}
    }
}

/// The observed view, where no applied facts are there: an answer is all that is known.
fn told(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, reply: &Reply) {
    match (&call.what, reply) {
        (What::Append { run, body, expected }, Reply::Appended(appended)) => {
            log::told_accepted(facts, judge, *run, *expected, *appended);
            if facts.runs[*run].log.get(appended.seq).is_none() {
                entry(facts, judge, *run, appended.ts, body, Some(call.from));
                facts.accept(*run, appended.seq, appended.ts, body, Some(call.from));
            }
        }
        (What::Read { run, .. } | What::Tail { run, .. }, Reply::Entries(entries)) => {
            for seen in entries.iter() {
                if facts.runs[*run].log.get(seen.seq).is_none() {
                    entry(facts, judge, *run, seen.ts, &seen.body, None);
                    facts.accept(*run, seen.seq, seen.ts, &seen.body, None);
                }
            }
        }
        (What::Lookup { effect }, Reply::Looked(Some(standing))) => {
            effects::recorded(facts, judge, *effect, standing, standing);
            facts.recorded(*effect, standing);
        }
        (What::Record { effect, result }, Reply::Standing(standing)) => {
            effects::recorded(facts, judge, *effect, result, standing);
            facts.recorded(*effect, standing);
        }
        (What::Deliver { mail, notify, .. }, Reply::Accepted(accepted)) => {
            inbox::delivered(facts, judge, *mail, *accepted);
            facts.delivered(*mail, *accepted, *notify);
        }
        (What::Drain { agent, run, after }, Reply::Drained(given)) => {
            inbox::drained(facts, judge, *agent, *run, *after, given);
        }
        (What::Claim { run, step, wait }, Reply::Claimed(Some(told))) => {
            signals::claimed(facts, judge, *run, *step, wait, Some(told));
            facts.claimed(*run, *step, told);
        }
        (What::Lease { capacity, .. }, Reply::Leases(granted)) => {
            if let Party::Worker(worker) = call.from {
                leases::polled(facts, judge, worker, *capacity, granted);
                for lease in granted {
                    let run = facts.run_at(lease.key.run);
                    facts.grant(worker, run, lease, judge.at);
                }
            }
        }
        _ => {}
    }
}
