//! The log: dense, immutable, fenced, closed; who may write what; what must have been written first.

use super::facts::{Call, Facts, Fate, How, Log, MailAt, Party, RunAt, What, is_foreign, worker_of};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{Appended, Attempt, Body, RunLogEntry, RunStatus, RunView, Seq, Step};

/// `log-dense`: an accepted append stands one behind the last entry. `log-fenced`: it expected just that entry; if
/// it expected an earlier one, another append was accepted with the same expectation. `log-closed`: the log was not
/// closed. Needs the append as applied, or its reply where no applied facts are there.
pub fn entry_accepted(
    facts: &Facts,
    judge: &mut Judge<'_>,
    from: Party,
    run: RunAt,
    body: &Body,
    expected: Seq,
    appended: Appended,
) {
    let (name, log) = (facts.name(run), &facts.runs[run].log);
    let last = log.last();
    if expected < last {
        let kind = body.kind();
        judge.violated(
            Rule::LogFenced,
            name,
            format_args!("`{kind}` was accepted behind {expected}, which {last} follows already"),
        );
    } else if expected > last || appended.seq != last.next() {
        let seq = appended.seq;
        judge.violated(
            Rule::LogDense,
            name,
            format_args!("an append that expected {expected} was accepted as {seq} although the last entry was {last}"),
        );
    }
    if let Some(status) = log.closed {
        let (kind, status) = (body.kind(), status.as_str());
        judge.violated(
            Rule::LogClosed,
            name,
            format_args!("`{kind}` was accepted as {} although the log is closed as {status}", appended.seq),
        );
    }
    writer_allowed(facts, judge, from, run, body);
}

/// `log-dense` and `log-fenced` by replies alone: an accepted append stands one behind what it expected, and no other
/// one is known to stand there. (One whose reply was never seen, but that a reader saw, is this very one.)
pub fn told_accepted(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, expected: Seq, appended: Appended) {
    if appended.seq != expected.next() {
        judge.violated(
            Rule::LogDense,
            facts.name(run),
            format_args!("an append that expected {expected} was accepted as {}", appended.seq),
        );
    }
    if facts.runs[run].log.get(appended.seq).is_some_and(|entry| entry.from.is_some()) {
        judge.violated(
            Rule::LogFenced,
            facts.name(run),
            format_args!("two appends that expected {expected} were accepted"),
        );
    }
}

/// `attempts-rise`: a lease entry has a higher attempt than all before it, is `run.started` only as the first, and
/// names a lease that its writer was granted; any other entry of the run's own comes from the writer of the last
/// lease entry. After `orphans.resolved` the terminal entry may come from any holder, since such a lease writes no
/// lease entry. Entries that others than the holder may write are exempt (`child.completed`,
/// `run.cancel_requested`, and kinds that nobody knows). `lease-fenced`, in the log: a writer whose own lease is older than the last lease
/// entry is a former holder.
fn writer_allowed(facts: &Facts, judge: &mut Judge<'_>, from: Party, run: RunAt, body: &Body) {
    let (name, state) = (facts.name(run), &facts.runs[run]);
    let mark = state.log.lease;
    if let Some(entry) = body.lease_entry() {
        let attempt = entry.attempt;
        if let Some(mark) = mark.filter(|mark| mark.attempt >= attempt) {
            judge.violated(
                Rule::AttemptsRise,
                name,
                format_args!("a lease entry of attempt {attempt} follows one of attempt {}", mark.attempt),
            );
        }
        if matches!(body, Body::RunStarted(_)) != mark.is_none() {
            let kind = body.kind();
            judge.violated(Rule::AttemptsRise, name, format_args!("`{kind}` at the wrong lease, attempt {attempt}"));
        }
        let granted = |grant: &super::facts::Grant| Some(grant.worker) == worker_of(from);
        if !state.attempt(attempt).is_some_and(granted) {
            let writer = facts.party_name(from);
            judge.violated(
                Rule::AttemptsRise,
                name,
                format_args!("{writer} wrote the lease entry of attempt {attempt}, which it was never granted"),
            );
        }
        return;
    }
    let resolved = state.log.resolved && matches!(body, Body::Ended(_));
    if is_foreign(body) || resolved || mark.is_some_and(|mark| mark.from == Some(from)) {
        return;
    }
    let (writer, kind) = (facts.party_name(from), body.kind());
    let Some(mark) = mark else {
        return judge.violated(
            Rule::AttemptsRise,
            name,
            format_args!("{writer} wrote `{kind}` before any lease entry"),
        );
    };
    judge.violated(
        Rule::AttemptsRise,
        name,
        format_args!("{writer} wrote `{kind}` under the lease entry of attempt {} of another worker", mark.attempt),
    );
    let own = worker_of(from).and_then(|worker| state.grant_of(worker));
    if own.is_some_and(|own| own.attempt < mark.attempt) {
        judge.violated(
            Rule::LeaseFenced,
            name,
            format_args!("{writer} wrote `{kind}` after the entry of its successor, attempt {}", mark.attempt),
        );
    }
}

/// At an entry that begins a step. `step-once`: no entry before it begins that step. `cancel-cascade`: no request to
/// cancel stands before it.
pub fn step_begins(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, body: &Body) {
    if facts.runs[run].log.step(step).is_some() {
        let kind = body.kind();
        judge.violated(Rule::StepOnce, facts.name(run), format_args!("`{kind}` begins step {step}, which has begun"));
    }
    if facts.runs[run].log.cancelled {
        let kind = body.kind();
        judge.violated(
            Rule::CancelCascade,
            facts.name(run),
            format_args!("`{kind}` begins step {step} behind a request to cancel"),
        );
    }
}

/// `log-dense`, `log-tail`: as applied, a read gives every entry from its start to the end of the log, and a tail
/// that gives anything does so too.
pub fn read_applied(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, from: Seq, given: usize, tail: bool) {
    let last = facts.runs[run].log.last();
    let there = usize::try_from(last.get() + 1 - from.get().max(0)).unwrap_or(0);
    if given != there && !(tail && given == 0) {
        let rule = if tail { Rule::LogTail } else { Rule::LogDense };
        judge.violated(rule, facts.name(run), format_args!("a read from {from} gave {given} of {there} entries"));
    }
}

/// `log-dense`: `last_seq` tells the last entry there is, as applied.
pub fn last_seq(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, told: Seq) {
    let last = facts.runs[run].log.last();
    if told != last {
        judge.violated(Rule::LogDense, facts.name(run), format_args!("last_seq told {told}, the last entry is {last}"));
    }
}

/// `log-dense`: what a reader gets is numbered from its start without a gap. `log-immutable`: each entry is the one
/// that was accepted there, or that another reader saw there; with applied facts, one that was accepted at all.
pub fn entries_seen(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, from: Seq, entries: &[RunLogEntry], tail: bool) {
    let state = &facts.runs[run];
    for (place, entry) in (from.get().max(0)..).zip(entries) {
        if entry.seq.get() != place {
            let rule = if tail { Rule::LogTail } else { Rule::LogDense };
            judge.violated(
                rule,
                facts.name(run),
                format_args!("a read from {from} gave {} where {place} was due", entry.seq),
            );
            return;
        }
        match state.log.get(entry.seq) {
            Some(known) if known.ts == entry.ts && known.body == entry.body && Some(entry.run_id) == state.id => {}
            Some(known) => {
                let (seen, kind) = (entry.kind(), known.body.kind());
                judge.violated(
                    Rule::LogImmutable,
                    facts.name(run),
                    format_args!("{} was `{kind}` of {} and was read as `{seen}` of {}", entry.seq, known.ts, entry.ts),
                );
            }
            None if facts.applied => {
                let kind = entry.kind();
                judge.violated(
                    Rule::LogImmutable,
                    facts.name(run),
                    format_args!("{} was read as `{kind}` but never accepted", entry.seq),
                );
            }
            None => {}
        }
    }
}

/// `log-tail`: who tails a log goes on at one past the last entry that it saw, never further. Looks at calls alone.
pub fn tail_sent(facts: &Facts, judge: &mut Judge<'_>, from: Party, run: RunAt, start: Seq) {
    let known = facts.tails.iter().find(|(party, tailed, _)| *party == from && *tailed == run);
    if let Some((_, _, next)) = known.filter(|(_, _, next)| start > *next) {
        let who = facts.party_name(from);
        judge.violated(
            Rule::LogTail,
            facts.name(run),
            format_args!("{who} goes on at {start} although it saw nothing from {next} on"),
        );
    }
}

/// `cause-first`: when a worker sends the call, the run's log, as applied, holds the entry that allows it. Ack: a
/// terminal entry, not failed (and not cancelled where the policy makes dead letters of it). Nack, again: a
/// `run.retrying` of that number. Nack, dead: `run.failed`, or `run.cancelled` with that policy. Release, suspended:
/// the last entry of its lease is `run.suspended`, or `run.retrying` of this or an earlier lease. Halted: it is
/// `run.halted`. Ended: the terminal entry has that status. Giving back needs none.
pub fn caused(facts: &Facts, judge: &mut Judge<'_>, call: &Call) {
    if worker_of(call.from).is_none() {
        return;
    }
    match call.what {
        What::Ack { mail, run } => {
            let state = &facts.runs[run];
            let dead = state.policy.is_some_and(|policy| policy.dead_run_on_cancel);
            let allowed = match state.log.closed {
                Some(RunStatus::Completed) => true,
                Some(RunStatus::Cancelled) => !dead,
                _ => false,
            };
            if !allowed {
                settles_early(facts, judge, mail, run, "acks");
            }
        }
        What::Nack { mail, run, failure, fate } => {
            let log = &facts.runs[run].log;
            let dead = facts.runs[run].policy.is_none_or(|policy| policy.dead_run_on_cancel);
            let retried = || {
                let mut bodies = log.iter().rev().map(|entry| &*entry.body);
                bodies.any(|body| matches!(body, Body::RunRetrying { failure: number, .. } if *number == failure))
            };
            let buried = match log.closed {
                Some(RunStatus::Failed) => true,
                Some(RunStatus::Cancelled) => dead,
                _ => false,
            };
            let allowed = match fate {
                Fate::Again => retried(),
                Fate::Dead => buried,
                Fate::Ceiling => buried || retried(),
            };
            if !allowed {
                settles_early(facts, judge, mail, run, if fate == Fate::Again { "nacks" } else { "buries" });
            }
        }
        What::Release { run, attempt, how } if !may_release(&facts.runs[run].log, attempt, how) => {
            judge.violated(
                Rule::CauseFirst,
                facts.name(run),
                format_args!(
                    "{} releases it as {how:?} under attempt {attempt} without the entry that allows it",
                    facts.party_name(call.from)
                ),
            );
        }
        _ => {}
    }
}

/// `cause-first`, of entries, as applied. `run.cancel_requested` stands behind the sticky flag: a canceller that dies in
/// between has cancelled all the same, and nobody ends a run whose cancel nobody requested. A terminal entry stands
/// behind the first `msg.received`: else the mail that made the run makes another one after its end.
pub fn entry_caused(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, body: &Body) {
    let state = &facts.runs[run];
    let lacks = match body {
        Body::CancelRequested { .. } if state.cancelled.is_none() => "before a cancel of it was applied",
        Body::Ended(_) if !state.log.batch => "before it received its batch",
        _ => return,
    };
    judge.violated(Rule::CauseFirst, facts.name(run), format_args!("its log holds `{}` {lacks}", body.kind()));
}

#[cold]
fn settles_early(facts: &Facts, judge: &mut Judge<'_>, mail: MailAt, run: RunAt, verb: &str) {
    judge.violated(
        Rule::CauseFirst,
        facts.mail_name(mail),
        format_args!("run {} {verb} it, but its log holds no entry that allows it", facts.name(run)),
    );
}

fn may_release(log: &Log, attempt: Attempt, how: How) -> bool {
    match how {
        How::GivenBack => true,
        How::Ended(status) => log.closed == Some(status),
        How::Suspended => match log.own_last(attempt) {
            Some((Body::RunSuspended { .. }, under)) => under == Some(attempt),
            Some((Body::RunRetrying { .. }, _)) => true,
            _ => false,
        },
        How::Halted => {
            matches!(log.own_last(attempt), Some((Body::RunHalted { .. }, under)) if under == Some(attempt))
        }
    }
}

/// `status-follows-log`: only the listed transitions occur, each from the status that the run had, and a terminal
/// status is the one of the log's terminal entry, as applied.
pub fn moved(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, from: RunStatus, to: RunStatus) {
    use RunStatus::{Pending, Running, Suspended};
    let state = &facts.runs[run];
    let listed = match (from, to) {
        (Pending, Running) | (Running, Pending | Suspended) | (Suspended, Pending) => true,
        (Running, to) => to.is_terminal(),
        _ => false,
    };
    let known = state.status.is_none_or(|status| status == from);
    if !listed || !known {
        let was = state.status.map_or("unknown", RunStatus::as_str);
        judge.violated(
            Rule::StatusFollowsLog,
            facts.name(run),
            format_args!("it moved from {} to {} while it was {was}", from.as_str(), to.as_str()),
        );
    }
    if to.is_terminal() && state.log.closed != Some(to) {
        let closed = state.log.closed.map_or("open", RunStatus::as_str);
        judge.violated(
            Rule::StatusFollowsLog,
            facts.name(run),
            format_args!("its status became {} and its log is {closed}", to.as_str()),
        );
    }
}

/// `status-follows-log`: the status that a store tells is the one that the run has, as applied; a reserved run is told to
/// be one.
pub fn viewed(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, told: &RunView) {
    let state = &facts.runs[run];
    let Some(status) = state.standing() else { return };
    if status != told.status || state.kin.reserved != told.reserved {
        let (told, reserved) = (told.status.as_str(), told.reserved);
        judge.violated(
            Rule::StatusFollowsLog,
            facts.name(run),
            format_args!("its status was told as {told} (reserved: {reserved}), it is {}", status.as_str()),
        );
    }
}

/// `status-follows-log`, once, after healing: every closed log is released with its status.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter() {
        if let Some(status) = run.log.closed.filter(|status| run.status.is_some_and(|known| known != *status)) {
            let known = run.status.map_or("unknown", RunStatus::as_str);
            judge.violated(
                Rule::StatusFollowsLog,
                facts.name(place),
                format_args!("its log is closed as {} and its status is {known}", status.as_str()),
            );
        }
    }
}

/// `log-closed` and `attempts-rise` on a history without applied facts, over the entries that anybody saw.
pub fn finish_observed(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter() {
        let (mut closed, mut attempt) = (false, None);
        for entry in run.log.iter() {
            if closed {
                let kind = entry.body.kind();
                judge.violated(Rule::LogClosed, facts.name(place), format_args!("`{kind}` follows a terminal entry"));
            }
            closed |= entry.body.ending().is_some();
            if let Some(lease) = entry.body.lease_entry() {
                if attempt.is_some_and(|before| before >= lease.attempt) {
                    judge.violated(
                        Rule::AttemptsRise,
                        facts.name(place),
                        format_args!("a lease entry of attempt {} follows a later one", lease.attempt),
                    );
                }
                attempt = Some(lease.attempt);
            }
        }
    }
}

/// *Sometimes*, of an append that lost its race, and of a reader that finds its successor.
pub fn refused(facts: &Facts, judge: &mut Judge<'_>, from: Party, run: RunAt) {
    let state = &facts.runs[run];
    let own = worker_of(from).and_then(|worker| state.grant_of(worker));
    if own.is_some_and(|own| state.grants.last().is_some_and(|last| last.attempt > own.attempt)) {
        judge.reached(Sometimes::ZombieRefused);
    }
}

/// *Sometimes*: a worker whose own lease entry is not there reads one of a later attempt.
pub fn successor_read(facts: &Facts, judge: &mut Judge<'_>, from: Party, run: RunAt, entries: &[RunLogEntry]) {
    let Some(own) = worker_of(from).and_then(|worker| facts.runs[run].grant_of(worker)) else { return };
    let mut leases = entries.iter().filter_map(|entry| entry.body.lease_entry());
    let last = facts.runs[run].log.lease;
    if last.is_some_and(|last| last.attempt > own.attempt)
        && leases.clone().all(|lease| lease.attempt != own.attempt)
        && leases.any(|lease| lease.attempt > own.attempt)
    {
        judge.reached(Sometimes::SuccessorReadFirst);
    }
}
