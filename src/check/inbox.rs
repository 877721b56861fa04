//! The inbox, judged per life of a message: a redrive begins a new one.

use super::facts::{AgentAt, Call, Facts, Life, Mail, MailAt, RunAt, What};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{Arrival, Body, CallKind, DeadLetterEntry, Drained, Json, Message, Received, Step};

/// `inbox-dedup`: an address accepts an id once. `inbox-no-loss`: it refuses only an id that it accepted before, as
/// applied.
pub fn delivered(facts: &Facts, judge: &mut Judge<'_>, mail: MailAt, accepted: bool) {
    let known = facts.mails[mail].life != Life::None;
    if accepted && known {
        judge.violated(Rule::InboxDedup, facts.mail_name(mail), format_args!("it was accepted a second time"));
    }
    if !accepted {
        if known {
            judge.reached(Sometimes::DuplicateSuppressed);
        } else {
            judge.violated(
                Rule::InboxNoLoss,
                facts.mail_name(mail),
                format_args!("it was taken for a repeat although it was never accepted"),
            );
        }
    }
}

/// `inbox-dedup`: a redrive takes place for a dead letter only, in the life that it names. `inbox-no-loss`: then it
/// does.
pub fn redriven(facts: &Facts, judge: &mut Judge<'_>, mail: MailAt, arrival: Arrival, done: bool) {
    let known = &facts.mails[mail];
    let right = known.life == Life::Dead && known.arrival == Some(arrival);
    if done && !right {
        judge.violated(
            Rule::InboxDedup,
            facts.mail_name(mail),
            format_args!("a redrive of life {arrival} brought it back while it was {:?}", known.life),
        );
    }
    if !done && right {
        judge.violated(
            Rule::InboxNoLoss,
            facts.mail_name(mail),
            format_args!("the dead letter of life {arrival} could not be brought back"),
        );
    }
    if done {
        judge.reached(Sometimes::Redriven);
    }
}

/// `inbox-dedup`: a message enters the mailbox by its first acceptance or by a redrive, as applied.
pub fn stored(facts: &Facts, judge: &mut Judge<'_>, mail: MailAt, call: &Call) {
    let known = &facts.mails[mail];
    let first = known.arrival.is_none();
    let again = matches!(call.what, What::Redrive { .. }) && known.life == Life::Dead;
    if !first && !again {
        judge.violated(
            Rule::InboxDedup,
            facts.mail_name(mail),
            format_args!("it entered the mailbox again while it was {:?}", known.life),
        );
    }
}

/// `inbox-fifo`: what a drain gives stands in the order of arrival for each sender, under the number that it arrived
/// under, and no earlier pending mail of that sender (after `after`) is left out before it. `inbox-attempts`: the counter is the greatest
/// failure noted in this life. `inbox-once`: only the live run of the address gets any, and only pending mail. As
/// applied; without applied facts, only the order within the answer.
pub fn drained(
    facts: &Facts,
    judge: &mut Judge<'_>,
    agent: AgentAt,
    run: RunAt,
    after: Option<Arrival>,
    given: &[Drained],
) {
    if !judge.applied {
        return in_order(facts, judge, agent, given);
    }
    let address = &facts.agents[agent];
    if let Some(first) = given.first().filter(|_| address.live != Some(run)) {
        judge.violated(
            Rule::InboxOnce,
            &first.received.message.id,
            format_args!("a drain gave it to run {}, which is not the live run of its address", facts.name(run)),
        );
    }
    let mails = address.pending.iter().map(|place| &facts.mails[*place]);
    let mut due = mails.filter(|mail| after.is_none_or(|after| mail.arrival.is_none_or(|arrival| arrival > after)));
    let expected = given.iter().all(|drained| {
        due.next().is_some_and(|mail| {
            mail.arrival == Some(drained.received.arrival)
                && mail.id.as_ref() == Some(&drained.received.message.id)
                && mail.attempts == drained.attempts
        })
    });
    if !expected {
        odd_drain(facts, judge, agent, after, given);
    }
}

/// Names what is wrong with a drain that is not simply the head of the mailbox, if anything is.
#[cold]
fn odd_drain(facts: &Facts, judge: &mut Judge<'_>, agent: AgentAt, after: Option<Arrival>, given: &[Drained]) {
    in_order(facts, judge, agent, given);
    let pending = &facts.agents[agent].pending;
    for (place, drained) in given.iter().enumerate() {
        let message = &drained.received.message;
        let found = pending.iter().find(|mail| facts.mails[**mail].id.as_ref() == Some(&message.id));
        let Some(mail) = found.copied() else {
            judge.violated(Rule::InboxOnce, &message.id, format_args!("a drain gave it although it is not pending"));
            continue;
        };
        let known = &facts.mails[mail];
        if known.arrival != Some(drained.received.arrival) {
            judge.violated(
                Rule::InboxFifo,
                facts.mail_name(mail),
                format_args!("it arrived as {:?} and is given as {}", known.arrival, drained.received.arrival),
            );
        }
        if known.attempts != drained.attempts {
            judge.violated(
                Rule::InboxAttempts,
                facts.mail_name(mail),
                format_args!("its counter is given as {}, noted were {}", drained.attempts, known.attempts),
            );
        }
        let skipped = pending.iter().map(|mail| &facts.mails[*mail]).find(|other| {
            other.sender == known.sender
                && other.arrival < known.arrival
                && other.arrival > after
                && given[..place].iter().all(|drained| other.id.as_ref() != Some(&drained.received.message.id))
        });
        if let Some(skipped) = skipped.and_then(|skipped| skipped.id.as_ref()) {
            judge.violated(
                Rule::InboxFifo,
                facts.mail_name(mail),
                format_args!("it is given before `{skipped}` of the same sender"),
            );
        }
    }
}

fn in_order(facts: &Facts, judge: &mut Judge<'_>, agent: AgentAt, given: &[Drained]) {
    for (place, later) in given.iter().enumerate() {
        let earlier = given[..place].iter().rev().find(|drained| {
            drained.received.message.sender == later.received.message.sender
                && drained.received.arrival >= later.received.arrival
        });
        if let Some(earlier) = earlier {
            let address = facts.agents[agent].id.as_ref();
            judge.violated(
                Rule::InboxFifo,
                format_args!("{} {}", address.expect("a place is made with its id"), later.received.message.id),
                format_args!("it is given after `{}`, which arrived later", earlier.received.message.id),
            );
        }
    }
}

/// At a `msg.received`. `inbox-once`: the message is pending in the life named, and stands in no earlier entry of this
/// log. `inbox-fifo`: per sender the arrivals rise over all the entries of the log.
pub fn received(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, agent: AgentAt, messages: &[(MailAt, &Received)]) {
    let before = &facts.runs[run].log.received;
    for (place, (mail, received)) in messages.iter().enumerate() {
        let known = &facts.mails[*mail];
        let arrival = received.arrival;
        let mut earlier = before.iter().copied().chain(messages[..place].iter().map(|(mail, it)| (*mail, it.arrival)));
        if known.agent != Some(agent) || known.life != Life::Pending || known.arrival != Some(arrival) {
            judge.violated(
                Rule::InboxOnce,
                facts.mail_name(*mail),
                format_args!(
                    "run {} received its life {arrival} while it was {:?} in life {:?}",
                    facts.name(run),
                    known.life,
                    known.arrival
                ),
            );
        }
        if earlier.clone().any(|(other, at)| (other, at) == (*mail, arrival)) {
            judge.violated(
                Rule::InboxOnce,
                facts.mail_name(*mail),
                format_args!("run {} received it twice", facts.name(run)),
            );
        } else if earlier.any(|(other, at)| at > arrival && facts.mails[other].sender == known.sender) {
            judge.violated(
                Rule::InboxFifo,
                facts.mail_name(*mail),
                format_args!("run {} received it after later mail of its sender", facts.name(run)),
            );
        }
    }
}

/// `inbox-once`, at a terminal entry: no other run closed its log over the same life.
pub fn ended(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    for (mail, arrival) in &facts.runs[run].log.received {
        let known = &facts.mails[*mail];
        let other = known.ended_by.filter(|other| *other != run && known.arrival == Some(*arrival));
        if let Some(other) = other {
            judge.violated(
                Rule::InboxOnce,
                facts.mail_name(*mail),
                format_args!("run {} ended over it, and run {} before", facts.name(run), facts.name(other)),
            );
        }
    }
}

/// Whether the life that a message is in was received by a run, as its log says.
fn in_hand(facts: &Facts, mail: MailAt, run: RunAt) -> bool {
    let known: &Mail = &facts.mails[mail];
    facts.runs[run].log.received.iter().any(|(place, at)| *place == mail && known.arrival == Some(*at))
}

/// `inbox-attempts`, at a nack as applied: the failure is one that the log records (for a dead letter the last one may
/// be the end itself), and no greater than `max_retries` + 1.
pub fn nacked(facts: &Facts, judge: &mut Judge<'_>, mail: MailAt, run: RunAt, failure: u32) {
    let state = &facts.runs[run];
    let recorded = state.log.retries + u32::from(state.log.closed.is_some());
    let allowed = state.policy.map_or(u32::MAX, |policy| policy.max_retries.saturating_add(1));
    if failure > recorded || failure > allowed {
        judge.violated(
            Rule::InboxAttempts,
            facts.mail_name(mail),
            format_args!("run {} nacks failure {failure} of {recorded} recorded, {allowed} allowed", facts.name(run)),
        );
    }
}

/// `inbox-attempts`, at a lease entry that ends the wait for a retry: over the run's mail of the present life that failure
/// is noted.
pub fn retried(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    let log = &facts.runs[run].log;
    let Some(retry) = log.retry else { return };
    for (mail, arrival) in &log.received {
        let known = &facts.mails[*mail];
        let held = known.life == Life::Pending && known.arrival == Some(*arrival);
        if held && known.attempts < retry.failure {
            judge.violated(
                Rule::InboxAttempts,
                facts.mail_name(*mail),
                format_args!(
                    "run {} goes on after failure {}, and only {} are noted over it",
                    facts.name(run),
                    retry.failure,
                    known.attempts
                ),
            );
        }
    }
}

/// Whether a nack counts: it comes from a run that holds the message in its present life.
pub fn counts(facts: &Facts, mail: MailAt, run: RunAt) -> bool {
    facts.mails[mail].life == Life::Pending && in_hand(facts, mail, run)
}

/// `inbox-settled-once`, as applied: a message is settled once in each life, by a run whose log received that life.
pub fn settled(facts: &Facts, judge: &mut Judge<'_>, mail: MailAt, dead: bool, call: &Call) {
    let known = &facts.mails[mail];
    let as_what = if dead { "a dead letter" } else { "acked" };
    if known.life != Life::Pending {
        judge.violated(
            Rule::InboxSettledOnce,
            facts.mail_name(mail),
            format_args!("it was settled as {as_what} while it was {:?}", known.life),
        );
    }
    let (What::Ack { run, .. } | What::Nack { run, .. }) = call.what else { return };
    if known.life == Life::Pending && !in_hand(facts, mail, run) {
        judge.violated(
            Rule::InboxSettledOnce,
            facts.mail_name(mail),
            format_args!("run {} settled life {:?}, which it never received", facts.name(run), known.arrival),
        );
    }
    if dead {
        judge.reached(Sometimes::DeadLetter);
    }
}

/// Of dead letters as they are told, as applied. `inbox-attempts`: the counter is the greatest failure noted in that
/// life. `inbox-no-loss`: none is missing.
pub fn told_dead(facts: &mut Facts, judge: &mut Judge<'_>, agent: AgentAt, letters: &[DeadLetterEntry]) {
    for letter in letters {
        let mail = facts.mail_at(agent, &letter.message.id);
        let known = &facts.mails[mail];
        if known.arrival == Some(letter.arrival) && known.attempts != letter.attempts {
            judge.violated(
                Rule::InboxAttempts,
                facts.mail_name(mail),
                format_args!("its counter is told as {}, noted were {}", letter.attempts, known.attempts),
            );
        }
    }
    for (mail, known) in facts.mails.iter() {
        let told = || letters.iter().any(|letter| Some(&letter.message.id) == known.id.as_ref());
        if known.agent == Some(agent) && known.life == Life::Dead && !told() {
            judge.violated(
                Rule::InboxNoLoss,
                facts.mail_name(mail),
                format_args!("it is not among the dead letters of its address, as which it was settled"),
            );
        }
    }
}

/// `mail-given`, when an agent is entered: its batch is what the first `msg.received` of the log holds.
pub fn entered(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, batch: &[Message]) {
    let first = facts.runs[run].log.iter().find_map(|entry| match &*entry.body {
        Body::MsgReceived { step: None, messages } => Some(messages),
        _ => None,
    });
    let recorded = first.map_or(&[][..], Vec::as_slice);
    if recorded.iter().map(|received| &received.message).ne(batch) {
        let ids: Vec<_> = recorded.iter().map(|received| &*received.message.id).collect();
        judge.violated(
            Rule::MailGiven,
            facts.name(run),
            format_args!("its agent is entered with {} messages, its log says {ids:?}", batch.len()),
        );
    }
}

/// `mail-given`, at what a `receive` gave: the messages of its step's `msg.received`, in that order; none after its
/// `timer.fired`.
pub fn gave(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, value: &Json) {
    let log = &facts.runs[run].log;
    let receives = log.step(step).is_some_and(|mark| mark.call == Some(CallKind::Receive));
    let Some(given) = value.as_array().filter(|_| receives) else { return };
    let recorded = match log.end_of(step) {
        Some(Body::MsgReceived { messages, .. }) => messages.as_slice(),
        _ => &[],
    };
    let id = |message: &serde_json::Value| message.get("id").and_then(|id| id.as_str().map(str::to_owned));
    if given.iter().map(id).ne(recorded.iter().map(|received| Some(received.message.id.to_string()))) {
        judge.violated(
            Rule::MailGiven,
            facts.name(run),
            format_args!("step {step} gave {} messages, the log says {}", given.len(), recorded.len()),
        );
    }
}

/// `inbox-no-loss`: when a run is released as ended, mail still pending at its address has a new run in the same step.
/// (Mail that nobody was to be notified of may wait.)
pub fn left_over(facts: &Facts, judge: &mut Judge<'_>, agent: AgentAt) {
    let address = &facts.agents[agent];
    if address.pending.is_empty() {
        return;
    }
    if address.live.is_some() {
        return judge.reached(Sometimes::LeftOverMail);
    }
    unserved(facts, judge, agent);
}

fn unserved(facts: &Facts, judge: &mut Judge<'_>, agent: AgentAt) {
    for mail in facts.agents[agent].pending.iter().filter(|mail| facts.mails[**mail].notified) {
        judge.violated(
            Rule::InboxNoLoss,
            facts.mail_name(*mail),
            format_args!("it is pending and its address has no live run"),
        );
    }
}

/// `inbox-no-loss`, once, after healing: every accepted message is settled, or its address has a live run.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, agent) in facts.agents.iter() {
        if agent.live.is_none() {
            unserved(facts, judge, place);
        }
    }
}
