//! One event: dispatched once to the checks that it concerns, and folded into the facts.

use std::sync::Arc;

use smallvec::SmallVec;

use super::coverage::Coverage;
use super::facts::{Call, Calls, ChangeAt, Facts, How, MailAt, PAUSE_MAX, Party, RunAt, What, WorkerAt, worker_of};
use super::scheduler::{leases, queue, tries};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Verdicts};
use super::{effects, inbox, liveness, log, signals, sleep};
use crate::history::{Actor, ActorChange, Answer, Asked, CallNo, Change, Event, Phase};
use crate::kernel::{
    Appended, Body, CallError, Created, Heartbeat, Lease, Performed, Received, Released, Reply, RunLogEntry, RunStatus,
    Seq, Signalled, Timestamp,
};

/// Takes one event.
pub(super) fn event(
    facts: &mut Facts,
    calls: &mut Calls,
    coverage: &mut Coverage,
    verdicts: &mut Verdicts,
    at: Timestamp,
    event: &Event,
) {
    let mut judge = Judge { at, applied: facts.applied, verdicts };
    match event {
        Event::Sent { call, from, asked } => {
            sent(facts, calls, coverage, &mut judge, *call, from, asked);
        }
        Event::Applied { call, answer, changes } => {
            applied(facts, calls, coverage, &mut judge, *call, answer, changes);
        }
        Event::Returned { call, outcome } => returned(facts, calls, &mut judge, *call, outcome),
        Event::Happened { effect, .. } => {
            let effect = facts.effect_at(*effect);
            effects::happened(facts, &mut judge, effect);
            facts.effects[effect].happened += 1;
        }
        Event::Entered { run, attempt, batch } => {
            let run = facts.run_at(*run);
            liveness::count(facts, &mut judge, run);
            inbox::entered(facts, &mut judge, run, batch);
            tries::entered(facts, &mut judge, run, *attempt);
        }
        Event::Gave { run, step, value, .. } => {
            let run = facts.run_at(*run);
            liveness::count(facts, &mut judge, run);
            effects::gave(facts, &mut judge, run, *step, value);
            inbox::gave(facts, &mut judge, run, *step, value);
            signals::gave(facts, &mut judge, run, *step, value);
        }
        Event::Actor { actor, change } => {
            if *change == ActorChange::Started {
                coverage.started();
            }
            actor_changed(facts, &mut judge, actor, *change);
        }
        Event::StoreReach { up } => {
            facts.store_up = *up;
            let deaf = at + facts.longest_poll + PAUSE_MAX;
            if *up {
                facts.workers.iter_mut().for_each(|worker| worker.deaf(deaf));
            }
            facts.follow_room(at, false);
        }
        Event::Deviation { kind, call, run, agent, .. } => {
            let named = run.map(|run| facts.run_at(run));
            let run = named.or_else(|| {
                let agent = facts.agent_at(agent.as_ref()?);
                facts.agents[agent].live
            });
            coverage.deviated(facts, *kind, *call, run);
        }
        Event::LetGo { .. } => {}
        Event::Phase(phase) => entered_phase(facts, &mut judge, *phase),
    }
}

fn actor_changed(facts: &mut Facts, judge: &mut Judge<'_>, actor: &Actor, change: ActorChange) {
    let Party::Worker(worker) = facts.party(actor) else { return };
    if change == ActorChange::Crashed {
        leases::crashed(facts, judge, worker);
    }
    let longest_poll = facts.longest_poll;
    facts.workers[worker].change(change, judge.at, longest_poll);
    facts.living.retain(|living| *living != worker);
    if facts.workers[worker].up {
        facts.living.push(worker);
    }
    facts.follow_room(judge.at, false);
}

fn entered_phase(facts: &mut Facts, judge: &mut Judge<'_>, phase: Phase) {
    match phase {
        Phase::Chaos => {}
        Phase::Healed => facts.phases.healed = true,
        // A world that was given up is not at rest.
        Phase::Quiescent if facts.phases.exhausted => {}
        Phase::Quiescent => {
            liveness::quiescent(facts, judge);
            if facts.phases.healed {
                queue::rest(facts, judge);
                tries::rest(facts, judge);
            }
        }
        Phase::Probing => facts.phases.probed_at = Some(judge.at),
        Phase::Exhausted => {
            facts.phases.exhausted = true;
            liveness::exhausted(judge);
        }
        Phase::Over => facts.phases.over = true,
    }
}

fn sent(
    facts: &mut Facts,
    calls: &mut Calls,
    coverage: &mut Coverage,
    judge: &mut Judge<'_>,
    number: CallNo,
    from: &Actor,
    asked: &Asked,
) {
    let from = facts.party(from);
    let what = What::of(facts, asked);
    coverage.sent(facts, worker_of(from).is_some(), asked, &what);
    if let Some(run) = what.run() {
        liveness::count(facts, judge, run);
    }
    if let Party::Worker(worker) = from {
        sent_by_worker(facts, judge, worker, &what);
    }
    if let What::Tail { run, from: start } = what {
        log::tail_sent(facts, judge, from, run, start);
    }
    let call = Call { from, sent: judge.at, applied: 0, returned: false, what };
    log::caused(facts, judge, &call);
    calls.note(number, call);
}

fn sent_by_worker(facts: &mut Facts, judge: &mut Judge<'_>, worker: WorkerAt, what: &What) {
    if let Some(run) = what.held() {
        leases::silent(facts, judge, worker, run);
        if !matches!(what, What::Heartbeat { .. } | What::Release { .. }) {
            leases::works(facts, judge, worker, run);
        }
    }
    match what {
        What::Append { run, body, .. } => {
            if let Some(opening) = body.opening() {
                tries::begins(facts, judge, Party::Worker(worker), *run, opening);
            }
        }
        What::Perform { run, step, effect } => effects::performs(facts, judge, *run, *step, *effect),
        What::Ack { run, .. } | What::Release { run, .. } => leases::epilogue(facts, judge, worker, *run),
        What::Lease { wait, .. } => {
            facts.longest_poll = facts.longest_poll.max(*wait);
            facts.workers[worker].busy += 1;
            facts.follow_room(judge.at, false);
        }
        What::Register => {
            facts.workers[worker].busy += 1;
            facts.follow_room(judge.at, false);
        }
        _ => {}
    }
}

/// The call of this number, unless it was never sent, or is forgotten: then nothing can be judged any more.
fn known<'a>(facts: &mut Facts, calls: &'a mut Calls, number: CallNo) -> Option<&'a mut Call> {
    facts.lost_track |= calls.forgot(number);
    calls.get_mut(number)
}

fn applied(
    facts: &mut Facts,
    calls: &mut Calls,
    coverage: &mut Coverage,
    judge: &mut Judge<'_>,
    number: CallNo,
    answer: &Answer,
    changes: &[Change],
) {
    let Some(call) = known(facts, calls, number) else { return };
    call.applied += 1;
    if let Some(run) = call.what.run() {
        liveness::count(facts, judge, run);
    }
    let Answer::Store(reply) = answer else { return };
    facts.applied = true;
    judge.applied = true;
    if worker_of(call.from).is_some_and(|worker| !facts.workers[worker].up) {
        judge.reached(Sometimes::LandsAfterDeath);
    }
    coverage.applied(facts, &call.what, reply);
    before_changes(facts, judge, call, reply);
    for change in changes {
        changed(facts, judge, call, change);
    }
    after_changes(facts, judge, call, reply);
    // Of several runs that one poll grants, the first names the site.
    if let (What::Lease { .. }, Reply::Leases(leases)) = (&call.what, reply)
        && let Some(first) = leases.first()
    {
        let run = facts.run_at(first.key.run);
        coverage.granted(facts, run);
    }
}

/// What a request does that is not told as a change, where it comes before the changes.
fn before_changes(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, reply: &Reply) {
    match (&call.what, reply) {
        (What::Append { run, body, expected }, Reply::Appended(appended)) => {
            appended_entry(facts, judge, call.from, *run, body, *expected, *appended);
        }
        (What::Append { run, .. }, Reply::Conflict(_)) => log::refused(facts, judge, call.from, *run),
        (What::Read { run, from }, Reply::Entries(entries)) => {
            log::read_applied(facts, judge, *run, *from, entries.len(), false);
        }
        (What::Tail { run, from }, Reply::Entries(entries)) => {
            log::read_applied(facts, judge, *run, *from, entries.len(), true);
        }
        (What::LastSeq { run }, Reply::LastSeq(seq)) => log::last_seq(facts, judge, *run, *seq),
        (What::Lookup { effect }, Reply::Looked(told)) => effects::looked_up(facts, judge, *effect, told.as_ref()),
        (What::Record { effect, result }, Reply::Standing(standing)) => {
            effects::recorded(facts, judge, *effect, result, standing);
            facts.recorded(*effect, standing);
        }
        (What::Heartbeat { run, attempt }, Reply::Heartbeat(told)) => {
            heartbeat(facts, judge, call, *run, *attempt, told);
        }
        (What::Release { run, attempt, .. }, Reply::Released(told)) => {
            leases::answered(facts, judge, call, *run, *attempt, *told == Released::Lost);
        }
        (What::Status { run }, Reply::View(Some(view))) => log::viewed(facts, judge, *run, view.status),
        (What::Queue, Reply::Queue(told)) => queue::told(judge, told),
        (What::Signal { run, name, id, payload }, Reply::Signalled(told)) => {
            signals::signalled(facts, judge, *run, id, *told);
            if *told == Signalled::Buffered {
                log::announced(facts, judge, call);
            }
            facts.signalled(*run, id, name, payload, *told);
        }
        (What::Claim { run, step, wait }, Reply::Claimed(told)) => {
            signals::claimed(facts, judge, *run, *step, wait, told.as_ref());
            if let Some(told) = told {
                facts.claimed(*run, *step, told);
            }
        }
        (What::Cancel { run }, _) => {
            queue::cancelled(facts, judge, *run);
            let state = &mut facts.runs[*run];
            state.cancelled = state.cancelled.or(state.is_live().then_some(judge.at));
        }
        (What::Resume { run }, _) => facts.runs[*run].resumed = Some(judge.at),
        (_, reply) => before_mail_changes(facts, judge, call, reply),
    }
}

fn before_mail_changes(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, reply: &Reply) {
    match (&call.what, reply) {
        (What::Deliver { mail, notify, .. }, Reply::Accepted(accepted)) => {
            inbox::delivered(facts, judge, *mail, *accepted);
            if *accepted {
                log::announced(facts, judge, call);
            }
            facts.delivered(*mail, *accepted, *notify);
        }
        (What::Deliver { mail, .. }, Reply::UnknownAgent(_)) => facts.mails[*mail].unknown = true,
        (What::Drain { agent, run, after }, Reply::Drained(given)) => {
            inbox::drained(facts, judge, *agent, *run, *after, given);
        }
        (What::Nack { mail, run, failure, .. }, Reply::Done) if inbox::counts(facts, *mail, *run) => {
            inbox::nacked(facts, judge, *mail, *run, *failure);
            let attempts = &mut facts.mails[*mail].attempts;
            *attempts = (*attempts).max(*failure);
        }
        (What::Redrive { mail, arrival }, Reply::Accepted(done)) => {
            inbox::redriven(facts, judge, *mail, *arrival, *done);
            if *done {
                facts.mails[*mail].notified = true;
            }
        }
        (What::DeadLetters { agent }, Reply::DeadLetters(letters)) => {
            inbox::told_dead(facts, judge, *agent, letters);
        }
        (What::Create { boot: Some(boot), .. }, Reply::Created(Created::Created)) => {
            facts.delivered(*boot, true, true);
        }
        _ => {}
    }
}

fn heartbeat(
    facts: &mut Facts,
    judge: &mut Judge<'_>,
    call: &Call,
    run: RunAt,
    attempt: crate::kernel::Attempt,
    told: &Heartbeat,
) {
    leases::answered(facts, judge, call, run, attempt, *told == Heartbeat::Lost);
    if let Heartbeat::Healthy(term) | Heartbeat::CancelRequested(term, _) | Heartbeat::DeadlinePassed(term) = told {
        if facts.runs[run].holder.is_some_and(|holder| holder.expires_at < judge.at) {
            judge.reached(Sometimes::LateRenewal);
        }
        leases::informed(facts, judge, run, told);
        facts.renew(run, worker_of(call.from), attempt, *term);
    }
}

/// What a request does that is not told as a change, where it comes after the changes; and what must hold then.
fn after_changes(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, reply: &Reply) {
    match (&call.what, reply) {
        (What::Lease { capacity, .. }, Reply::Leases(granted)) => {
            if let Party::Worker(worker) = call.from {
                polled(facts, judge, call, worker, *capacity, granted);
            }
        }
        (what @ What::Release { run, attempt, how }, Reply::Released(Released::Released)) => {
            if matches!(how, How::Suspended | How::Halted) {
                tries::laid_down(facts, judge, *run, *attempt);
            }
            facts.released(*run, worker_of(call.from), *attempt, *how, judge.at);
            queue::awake(facts, judge, *run, what);
            let ended = facts.runs[*run].status.is_some_and(RunStatus::is_terminal);
            if let Some(agent) = facts.runs[*run].agent.filter(|_| ended) {
                inbox::left_over(facts, judge, agent);
            }
        }
        (What::Create { run, agent, .. }, Reply::Created(Created::Created)) if facts.runs[*run].status.is_none() => {
            facts.made(*run, *agent, judge.at);
        }
        (what @ (What::Signal { run, .. } | What::Cancel { run } | What::Resume { run }), _) => {
            queue::awake(facts, judge, *run, what);
        }
        (what @ What::Deliver { to, .. }, Reply::Accepted(_)) => {
            if let Some(run) = facts.agents[*to].live {
                queue::awake(facts, judge, run, what);
            }
        }
        _ => {}
    }
}

fn polled(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, worker: WorkerAt, capacity: u32, granted: &[Lease]) {
    leases::polled(facts, judge, worker, capacity, granted);
    for lease in granted {
        let run = facts.run_at(lease.key.run);
        queue::waited(facts, judge, run);
        queue::in_turn(facts, judge, run, lease);
        leases::granted(facts, judge, worker, run, lease);
        let reclaims = facts.runs[run].reclaims_due();
        tries::granted(facts, judge, run, lease, reclaims);
        facts.grant(worker, run, lease, judge.at);
        if call.returned {
            judge.reached(Sometimes::GrantLost);
            facts.runs[run].grants.iter_mut().rev().take(1).for_each(|grant| grant.done = true);
        } else {
            let worker = &mut facts.workers[worker];
            worker.taken += 1;
            worker.unheard.push((run, lease.key.attempt));
        }
    }
}

fn changed(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, change: &Change) {
    match (facts.places(change), change) {
        (ChangeAt::Made { run, agent }, _) => {
            leases::made(facts, judge, agent, run);
            facts.made(run, agent, judge.at);
        }
        (ChangeAt::Moved { run }, Change::Moved { from, to, trigger, waits, .. }) => {
            log::moved(facts, judge, run, *from, *to);
            if *from == RunStatus::Running {
                leases::left_running(facts, judge, call, run);
            }
            match to {
                RunStatus::Pending => {
                    queue::queued(facts, judge, run, *from);
                    if *from == RunStatus::Suspended {
                        sleep::wakes(facts, judge, run, &call.what);
                    }
                    if let Some(trigger) = trigger {
                        signals::fired(facts, judge, run, *from, trigger);
                    }
                    queue::woken(facts, judge, run, &call.what);
                }
                RunStatus::Running => queue::waited(facts, judge, run),
                RunStatus::Suspended => sleep::falls_asleep(facts, judge, run, &call.what, waits),
                _ => {}
            }
            facts.moved(run, *to, waits, &call.what, judge.at);
            facts.runs[run].fired = *to == RunStatus::Pending && queue::is_time(trigger.as_ref());
        }
        (ChangeAt::Mail { agent, mail }, Change::Stored { arrival, .. }) => {
            inbox::stored(facts, judge, mail, call);
            facts.stored(agent, mail, *arrival);
        }
        (ChangeAt::Mail { agent, mail }, Change::Settled { dead, .. }) => {
            inbox::settled(facts, judge, mail, *dead, call);
            facts.settled(agent, mail, *dead);
        }
        _ => unreachable!("a change and its places are of one kind"),
    }
}

/// An append that was accepted, as applied.
fn appended_entry(
    facts: &mut Facts,
    judge: &mut Judge<'_>,
    from: Party,
    run: RunAt,
    body: &Arc<Body>,
    expected: Seq,
    appended: Appended,
) {
    log::entry_accepted(facts, judge, from, run, body, expected, appended);
    log::entry_caused(facts, judge, run, body);
    entry(facts, judge, run, appended.ts, body);
    facts.accept(run, appended.seq, appended.ts, body, Some(from));
}

/// What an entry must agree with, before it is folded in.
fn entry(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt, ts: Timestamp, body: &Body) {
    if let Some(opening) = body.opening() {
        log::step_begins(facts, judge, run, opening.step, body);
    }
    match body {
        Body::RunSuspended { waits, .. } => sleep::lies_down(facts, judge, run, waits),
        Body::RunStarted(lease) | Body::RunResumed(lease) => {
            tries::resumed(facts, judge, run, lease.attempt);
            inbox::retried(facts, judge, run);
        }
        Body::MsgReceived { messages, .. } => received(facts, judge, run, messages),
        Body::ToolCalled { opening, effect, policy } => {
            let effect = facts.effect_at(effect.id);
            effects::intended(facts, judge, run, opening, effect, *policy);
        }
        Body::ToolResult { step, result } => {
            let effect = facts.effect_at(result.effect_id);
            effects::logged(facts, judge, run, *step, effect, result);
        }
        Body::SignalReceived { step, id, payload, .. } => {
            signals::signal_logged(facts, judge, run, *step, id, payload);
        }
        Body::TimerFired { step } => signals::fired_logged(facts, judge, run, *step, ts),
        Body::RunRetrying { failure, delay, .. } => tries::retrying(facts, judge, run, *failure, *delay),
        Body::RunHalted { .. } => judge.reached(Sometimes::Halted),
        Body::Ended(ending) => {
            effects::ended(facts, judge, run, body);
            inbox::ended(facts, judge, run);
            tries::ended(facts, judge, run, ending);
        }
        _ => {}
    }
}

fn received(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt, messages: &[Received]) {
    let Some(agent) = facts.runs[run].agent else { return };
    let places: SmallVec<[(MailAt, &Received); 8]> =
        messages.iter().map(|received| (facts.mail_at(agent, &received.message.id), received)).collect();
    inbox::received(facts, judge, run, agent, &places);
}

fn returned(
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
    let Ok(Answer::Store(reply)) = outcome else { return };
    if let (What::Read { run, from } | What::Tail { run, from }, Reply::Entries(entries)) = (&call.what, reply) {
        let tail = matches!(call.what, What::Tail { .. });
        log::entries_seen(facts, judge, *run, *from, entries, tail);
        log::successor_read(facts, judge, call.from, *run, entries);
        if tail {
            tailed(facts, call.from, *run, *from, entries);
        }
    }
    if !facts.applied {
        told(facts, judge, call, reply);
    }
}

fn tailed(facts: &mut Facts, from: Party, run: RunAt, start: Seq, entries: &[RunLogEntry]) {
    let next = entries.last().map_or(start, |entry| entry.seq.next());
    match facts.tails.iter_mut().find(|(party, tailed, _)| *party == from && *tailed == run) {
        Some((_, _, known)) => *known = next.max(*known),
        None => facts.tails.push((from, run, next)),
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
        (What::Register, answer) => {
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
        | (What::Release { run, attempt, .. }, Some(Answer::Store(Reply::Released(Released::Lost)))) => {
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
        _ => {}
    }
}

/// The observed view, where no applied facts are there: an answer is all that is known.
fn told(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, reply: &Reply) {
    match (&call.what, reply) {
        (What::Append { run, body, expected }, Reply::Appended(appended)) => {
            log::told_accepted(facts, judge, *run, *expected, *appended);
            if facts.runs[*run].log.get(appended.seq).is_none() {
                entry(facts, judge, *run, appended.ts, body);
                facts.accept(*run, appended.seq, appended.ts, body, Some(call.from));
            }
        }
        (What::Read { run, .. } | What::Tail { run, .. }, Reply::Entries(entries)) => {
            for seen in entries.iter() {
                if facts.runs[*run].log.get(seen.seq).is_none() {
                    entry(facts, judge, *run, seen.ts, &seen.body);
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
