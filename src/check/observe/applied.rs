//! What a request did, as applied: what it must agree with before and after, and its changes.

use std::sync::Arc;

use smallvec::SmallVec;

use super::known;
use crate::check::coverage::Coverage;
use crate::check::facts::{Call, Calls, ChangeAt, Facts, How, MailAt, Party, RunAt, What, WorkerAt, worker_of};
use crate::check::scheduler::{leases, queue, tries};
use crate::check::sometimes::Sometimes;
use crate::check::verdict::Judge;
use crate::check::{
    announced, ask, children, effects, inbox, liveness, log, pubsub, signals, sleep, spend, supervisor, temporal,
};
use crate::history::{Answer, CallNo, Change};
use crate::kernel::{
    Appended, Attempt, Body, Created, Heartbeat, Lease, Received, Released, Reply, RunStatus, Seq, Signalled, Timestamp,
};

/// A request took effect.
pub(super) fn applied(
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
    pubsub::followed(facts, judge, call, changes);
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
        (What::Append { run, body, .. }, Reply::Conflict(_)) => {
            log::refused(facts, judge, call.from, *run);
            temporal::refused(facts, judge, call.from, *run, body);
        }
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
        (What::Status { run }, Reply::View(Some(view))) => log::viewed(facts, judge, *run, view),
        (What::Queue, Reply::Queue(told)) => queue::told(judge, told),
        (What::Signal { run, name, id, payload }, Reply::Signalled(told)) => {
            signals::signalled(facts, judge, *run, id, *told);
            if *told == Signalled::Buffered {
                announced::accepted(facts, judge, call);
            }
            ask::answered(facts, judge, *run, id, payload, *told);
            facts.signalled(*run, id, name, payload, *told);
        }
        (What::Claim { run, step, wait }, Reply::Claimed(told)) => {
            signals::claimed(facts, judge, *run, *step, wait, told.as_ref());
            ask::claimed(facts, judge, *run, *step, told.as_ref());
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
        (_, reply) => {
            before_mail_changes(facts, judge, call, reply);
            before_tree_changes(facts, judge, call, reply);
        }
    }
}

fn before_mail_changes(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, reply: &Reply) {
    match (&call.what, reply) {
        (What::Deliver { mail, notify, .. }, Reply::Accepted(accepted)) => {
            inbox::delivered(facts, judge, *mail, *accepted);
            if *accepted {
                announced::accepted(facts, judge, call);
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

fn before_tree_changes(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, reply: &Reply) {
    match (&call.what, reply) {
        (what @ What::Register { .. }, _) => supervisor::registers(facts, what),
        (What::Reserve { run, step, .. }, Reply::Reserved(told)) => {
            supervisor::reserves(facts, judge, call, told);
            facts.refused(*run, *step, told);
        }
        (What::Create { .. }, Reply::Created(told)) => supervisor::creates(facts, judge, call, *told),
        (What::Wake { run, child: Some(child) }, _) => facts.runs[*run].kin.told_ends.push((*child, judge.at)),
        (What::FollowersOf { topic }, Reply::Agents(told)) => pubsub::followers(facts, judge, *topic, told),
        (What::Following { agent }, Reply::Topics(told)) => pubsub::following(facts, judge, *agent, told),
        _ => {}
    }
}

fn heartbeat(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, run: RunAt, attempt: Attempt, told: &Heartbeat) {
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
            if facts.runs[*run].status.is_some_and(RunStatus::is_terminal) {
                released_as_ended(facts, judge, *run);
            }
        }
        (What::Create { run, agent, .. }, Reply::Created(Created::Created)) if facts.runs[*run].status.is_none() => {
            facts.made(*run, *agent, judge.at);
        }
        (
            what @ (What::Signal { run, .. } | What::Cancel { run } | What::Resume { run } | What::Wake { run, .. }),
            _,
        ) => {
            queue::awake(facts, judge, *run, what);
        }
        (What::Detach { run }, _) => supervisor::detached(facts, judge, *run),
        (_, Reply::Account(told)) => spend::told(facts, judge, call, told),
        (what @ What::Deliver { to, .. }, Reply::Accepted(_)) => {
            if let Some(run) = facts.agents[*to].live {
                queue::awake(facts, judge, run, what);
            }
        }
        _ => {}
    }
}

fn released_as_ended(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt) {
    let swept = facts.runs[run].kin.children.iter().filter(|child| facts.runs[**child].kin.swept);
    for place in std::iter::once(&run).chain(swept) {
        if let Some(agent) = facts.runs[*place].agent {
            inbox::left_over(facts, judge, agent);
        }
    }
    supervisor::released(facts, judge, run);
    children::released(facts, judge, run);
    ask::released(facts, judge, run);
    pubsub::all_done(facts, judge, run);
}

fn polled(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, worker: WorkerAt, capacity: u32, granted: &[Lease]) {
    leases::polled(facts, judge, worker, capacity, granted);
    for lease in granted {
        let run = facts.run_at(lease.key.run);
        queue::waited(facts, judge, run);
        queue::in_turn(facts, judge, run, lease);
        leases::granted(facts, judge, worker, run, lease);
        supervisor::granted(facts, judge, run);
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
        (at, change) => tree_changed(facts, judge, call, at, change),
    }
}

fn tree_changed(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, at: ChangeAt, change: &Change) {
    match (at, change) {
        (ChangeAt::Reserved { run, agent, parent, tree }, Change::Reserved { step, .. }) => {
            supervisor::reserved(facts, judge, run, agent, parent, *step, tree);
            facts.reserved(run, agent, parent, *step, tree);
        }
        (ChangeAt::Unit { run }, Change::Swept { .. }) => {
            supervisor::swept(facts, judge, run, &call.what);
            facts.swept(run, judge.at);
        }
        (ChangeAt::Unit { run }, Change::Returned { .. }) => {
            supervisor::returned(facts, judge, run, &call.what);
            facts.hold_unit(run, false);
        }
        (ChangeAt::Replanted { run, tree }, Change::Replanted { .. }) => {
            supervisor::replanted(facts, judge, run, tree, &call.what);
            facts.replant(run, tree);
        }
        (ChangeAt::Spent { tree, effect }, Change::Spent { amounts, .. }) => {
            spend::spent(facts, judge, call, tree, effect, *amounts);
        }
        // Folded and judged with its request, see `pubsub::followed`.
        (ChangeAt::Relation, Change::Following { .. }) => {}
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
    entry(facts, judge, run, appended.ts, body, Some(from));
    facts.accept(run, appended.seq, appended.ts, body, Some(from));
}

/// What an entry must agree with, before it is folded in.
pub(super) fn entry(
    facts: &mut Facts,
    judge: &mut Judge<'_>,
    run: RunAt,
    ts: Timestamp,
    body: &Body,
    from: Option<Party>,
) {
    if let Some(opening) = body.opening() {
        log::step_begins(facts, judge, run, opening.step, body);
    }
    pubsub::goes_on(facts, judge, run, body);
    children::decides(facts, judge, run, body);
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
            spend::logged(facts, judge, run, *step, effect, result);
            temporal::result(facts, judge, run, *step, result);
        }
        Body::SignalReceived { step, id, payload, .. } => {
            signals::signal_logged(facts, judge, run, *step, id, payload);
        }
        Body::TimerFired { step } => {
            signals::fired_logged(facts, judge, run, *step, ts);
            children::timed_out(facts, judge, run, *step);
        }
        Body::RunRetrying { failure, delay, .. } => tries::retrying(facts, judge, run, *failure, *delay),
        Body::RunHalted { .. } => judge.reached(Sometimes::Halted),
        Body::Ended(ending) => {
            effects::ended(facts, judge, run, body);
            inbox::ended(facts, judge, run);
            tries::ended(facts, judge, run, ending);
            temporal::ended(facts, judge, run, ending.status());
        }
        body => entry_to_others(facts, judge, run, ts, body, from),
    }
}

/// What an entry must agree with that concerns other runs than its own.
fn entry_to_others(
    facts: &mut Facts,
    judge: &mut Judge<'_>,
    run: RunAt,
    ts: Timestamp,
    body: &Body,
    from: Option<Party>,
) {
    match body {
        Body::ChildSpawned { opening, spec, .. } => {
            supervisor::answered(facts, judge, run, opening.step, Some(spec));
        }
        Body::SpawnDenied { opening, .. } => supervisor::answered(facts, judge, run, opening.step, None),
        Body::ChildCompleted { result, result_ref } => {
            children::completed(facts, judge, from, run, result, result_ref.is_none());
        }
        Body::AskResolved { step, outcome } => ask::resolved(facts, judge, run, *step, ts, outcome),
        Body::AskSent { opening, message, .. } => ask::asks(facts, judge, run, opening.step, message),
        Body::ReplySent { opening, question, .. } => ask::replies(facts, judge, run, opening.step, question),
        Body::Trace(trace) => temporal::entry(facts, judge, run, ts, trace, from),
        Body::StepValue { opening, value } => {
            children::peeked(facts, judge, run, opening, value);
            spend::refused(facts, judge, from, run, opening, value);
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
