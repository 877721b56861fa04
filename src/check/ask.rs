//! Questions and answers: an outcome is true, there is one, and no question stays without.

use super::facts::{Facts, MailAt, RunAt, reply_id};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{
    AskOutcome, Body, CallKind, Claimed, Json, Message, MessageId, Name, RunStatus, Seq, Signalled, Step, Timestamp,
};

/// `ask-truth`, at the answer to a question as applied: the asker's log holds the question, and what is told is the
/// earliest reply to it in the log of a run that received it, or else how that log ends.
pub fn answered(facts: &mut Facts, judge: &mut Judge<'_>, asker: RunAt, id: &Name, payload: &Json, told: Signalled) {
    if told == Signalled::Repeated {
        return;
    }
    let Some(correlation) = id.strip_prefix("reply:") else { return };
    let name = facts.name(asker);
    let Ok(outcome) = serde_json::from_value::<AskOutcome>((**payload).clone()) else {
        return judge.violated(Rule::AskTruth, name, format_args!("signal `{id}` is no outcome of a question"));
    };
    let asked = facts.runs[asker].log.bodies().find_map(|body| match body {
        Body::AskSent { to, message, .. } if message.correlation.as_deref() == Some(correlation) => {
            Some((to.clone(), Name::clone(&message.id)))
        }
        _ => None,
    });
    let Some((to, question)) = asked else {
        return judge.violated(Rule::AskTruth, name, format_args!("`{id}` answers a question that it never asked"));
    };
    let to = facts.agent_at(&to);
    let mail = facts.mail_at(to, &question);
    let known = &facts.mails[mail];
    if !known.receivers.iter().any(|target| is_true(facts, *target, &question, &outcome)) {
        judge.violated(
            Rule::AskTruth,
            name,
            format_args!("its question `{question}` was answered {outcome:?}, which no log of a receiver says"),
        );
    }
    if told == Signalled::Buffered
        && facts.runs[asker].claims.iter().any(|(step, _)| is_ask(facts, asker, *step, &question))
    {
        judge.reached(Sometimes::AnswerTooLate);
    }
}

fn is_ask(facts: &Facts, run: RunAt, step: Step, question: &MessageId) -> bool {
    let asks = |body: &Body| matches!(body, Body::AskSent { opening, message, .. } if opening.step == step && message.id == *question);
    facts.runs[run].log.bodies().any(asks)
}

/// Whether a log of a receiver says this outcome.
fn is_true(facts: &Facts, target: RunAt, question: &MessageId, outcome: &AskOutcome) -> bool {
    let (name, log) = (facts.name(target), &facts.runs[target].log);
    let mut entries = log.iter().enumerate();
    let reply = entries.find_map(|(seq, entry)| match &*entry.body {
        Body::ReplySent { question: answered, answer, .. } if answered.id == *question => Some((seq, answer)),
        _ => None,
    });
    let ends = |status: RunStatus, at: Seq| reply.is_none() && log.closed == Some(status) && log.last() == at;
    match outcome {
        AskOutcome::Replied { result, last_seq } if result.run_id == name => match reply {
            Some((seq, answer)) => {
                let said = result.output.as_ref() == Some(answer) || (result.output.is_none() && answer.is_null());
                result.status == RunStatus::Running && last_seq.index() == Some(seq) && said
            }
            None => {
                let is_end = |ending| super::children::says(ending, result, true);
                ends(RunStatus::Completed, *last_seq) && log.bodies().filter_map(Body::ending).any(is_end)
            }
        },
        AskOutcome::TargetFailed { last_seq } => ends(RunStatus::Failed, *last_seq),
        AskOutcome::TargetCancelled { last_seq } => ends(RunStatus::Cancelled, *last_seq),
        AskOutcome::Replied { .. } | AskOutcome::TimedOut { .. } => false,
    }
}

/// Whether a document tells this outcome.
fn is_told(document: &Json, outcome: &AskOutcome) -> bool {
    let told = serde_json::from_value::<AskOutcome>((**document).clone());
    told.is_ok_and(|told| match (&told, outcome) {
        (AskOutcome::Replied { result: told, last_seq: at }, AskOutcome::Replied { result, last_seq }) => {
            at == last_seq && super::children::same(told, result)
        }
        (told, outcome) => told == outcome,
    })
}

/// `ask-truth`, at a claim: a question is not told to be over while its answer is there.
pub fn claimed(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, told: Option<&Claimed>) {
    let state = &facts.runs[run];
    let asks = state.log.step(step).is_some_and(|mark| mark.call == Some(CallKind::Ask));
    if !asks || state.claim(step).is_some() || !matches!(told, Some(Claimed::TimedOut)) {
        return;
    }
    let answer = answer_to(facts, run, step).and_then(|answer| state.signal(&answer));
    if answer.is_some_and(|answer| answer.accepted.is_some() && answer.claimed.is_none()) {
        judge.violated(
            Rule::AskTruth,
            facts.name(run),
            format_args!("step {step} was told that its time is over, and its answer was there"),
        );
    }
}

/// The signal that answers the question of a step.
pub fn answer_to(facts: &Facts, run: RunAt, step: Step) -> Option<Name> {
    facts.runs[run].log.bodies().find_map(|body| match body {
        Body::AskSent { opening, message, .. } if opening.step == step => message.correlation.as_deref().map(reply_id),
        _ => None,
    })
}

/// At an `ask.resolved`, as applied. `ask-once`: it ends a question that is open. `ask-truth`: it says what the claim of
/// its step was told; a time-out, when the time was over, and of the agent that was asked.
pub fn resolved(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, ts: Timestamp, outcome: &AskOutcome) {
    let (name, state) = (facts.name(run), &facts.runs[run]);
    let mark = state.log.step(step).filter(|mark| mark.call == Some(CallKind::Ask) && !mark.ended);
    let Some(mark) = mark else {
        return judge.violated(
            Rule::AskOnce,
            name,
            format_args!("step {step} logs {outcome:?}, and it has no question that is open"),
        );
    };
    let asked = state.log.bodies().find_map(|body| match body {
        Body::AskSent { opening, to, .. } if opening.step == step => Some(to),
        _ => None,
    });
    let right = match (outcome, state.claim(step)) {
        (AskOutcome::TimedOut { handle, .. }, Some(Claimed::TimedOut)) => {
            mark.limit.is_none_or(|limit| mark.ts + limit <= ts)
                && handle.as_ref().is_none_or(|handle| asked == Some(&handle.agent_id))
        }
        (AskOutcome::TimedOut { .. }, _) | (_, Some(Claimed::TimedOut) | None) => false,
        (outcome, Some(Claimed::Signal { payload, .. })) => is_told(payload, outcome),
    };
    if !right {
        judge.violated(
            Rule::AskTruth,
            name,
            format_args!("step {step} logs {outcome:?}, its claim was told {:?}", state.claim(step)),
        );
    }
    judge.reached(match outcome {
        AskOutcome::Replied { result, .. } if result.status == RunStatus::Running => Sometimes::AskReplied,
        AskOutcome::Replied { .. } => Sometimes::AskAnsweredByEnd,
        AskOutcome::TimedOut { .. } => Sometimes::AskTimedOut,
        AskOutcome::TargetFailed { .. } => Sometimes::AskTargetFailed,
        AskOutcome::TargetCancelled { .. } => Sometimes::AskTargetCancelled,
    });
}

/// `ask-truth`, at what a question gave to the agent: the outcome that its log says.
pub fn gave(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, value: &Json) {
    let log = &facts.runs[run].log;
    let asks = log.step(step).is_some_and(|mark| mark.call == Some(CallKind::Ask));
    if !judge.applied || !asks || value.get("error").is_some() {
        return;
    }
    let right = match log.end_of(step) {
        Some(Body::AskResolved { outcome, .. }) => is_told(value, outcome),
        _ => false,
    };
    if !right {
        judge.violated(
            Rule::AskTruth,
            facts.name(run),
            format_args!("step {step} gave {value:?}, which the log does not say"),
        );
    }
}

/// `ask-once`, at an `ask.sent`: its answer will have a name of its own. Two questions under one name would have one answer,
/// which may come to the later one although it was given to the earlier.
pub fn asks(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, question: &Message) {
    let before = facts.runs[run].log.bodies().find_map(|body| match body {
        Body::AskSent { opening, message, .. } if message.correlation == question.correlation => Some(opening.step),
        _ => None,
    });
    if let Some(before) = before {
        judge.violated(
            Rule::AskOnce,
            facts.name(run),
            format_args!("step {step} asks so that the answer to step {before} is its answer as well"),
        );
    }
}

/// `ask-once`, at a `reply.sent`: it answers a question that the log received, and answers it first.
pub fn replies(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, question: &Message) {
    let Some(agent) = facts.runs[run].agent else { return };
    let mail = facts.mail_at(agent, &question.id);
    let (name, log) = (facts.name(run), &facts.runs[run].log);
    let known = log.received.iter().any(|(received, _)| *received == mail) && facts.mails[mail].question.is_some();
    if !known || reply_to(facts, run, mail).is_some() {
        let fault = if known { "was answered before" } else { "it never received" };
        judge.violated(
            Rule::AskOnce,
            name,
            format_args!("step {step} answers `{}`, a question that {fault}", question.id),
        );
    }
}

/// The step by which a run replied to a question.
fn reply_to(facts: &Facts, run: RunAt, mail: MailAt) -> Option<Step> {
    let id = facts.mails[mail].id.as_ref()?;
    facts.runs[run].log.bodies().find_map(|body| match body {
        Body::ReplySent { opening, question, .. } if question.id == *id => Some(opening.step),
        _ => None,
    })
}

/// `announced-done`, when a run was released as ended, as applied: each question that it received was answered, by a
/// reply or by its end.
pub fn released(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    for (mail, _) in &facts.runs[run].log.received {
        let Some((correlation, asker)) = &facts.mails[*mail].question else { continue };
        let asker = facts.known_run(*asker).map(|asker| &facts.runs[asker]);
        // Who asks under no run that there is hears nothing.
        let Some(asker) = asker.filter(|asker| asker.status.is_some()) else { continue };
        if !asker.signal(&reply_id(correlation)).is_some_and(|answer| answer.applied) {
            judge.violated(
                Rule::AnnouncedDone,
                facts.mail_name(*mail),
                format_args!("run {} was released as ended and did not answer it", facts.name(run)),
            );
        }
    }
}

/// Whether a message is the question of a step that has no outcome: it need not have been accepted.
pub fn is_open(facts: &Facts, run: RunAt, step: Step) -> bool {
    facts.runs[run].log.step(step).is_some_and(|mark| mark.call == Some(CallKind::Ask) && !mark.ended)
}
