//! Requests, answers and faults in words.

use super::facts::Facts;
use crate::history::Asked;
use crate::kernel::{
    Body, Claimed, EffectResult, Ending, Heartbeat, Json, Release, Request, Span, Timestamp, TraceBody, Trigger, Wakeup,
};
use crate::report::counted;
use crate::sim::{Fault, Point};

/// A span as people say it: `45 s`, `19.999 s`, `200 ms`, `4 m 30 s`.
pub(crate) fn span(span: Span) -> String {
    let micros = span.as_micros();
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let seconds = micros / 1_000_000;
    let text = match micros {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{micros} us"),
        1_000..1_000_000 => format!("{} ms", decimal(micros, 1_000)),
        1_000_000..120_000_000 => format!("{} s", decimal(micros / 1_000, 1_000)),
        _ => {
            let units =
                [("d", seconds / 86_400), ("h", seconds / 3_600 % 24), ("m", seconds / 60 % 60), ("s", seconds % 60)];
            let told = units.iter().filter(|(_, count)| *count > 0).take(2);
            told.map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(" ")
        }
    };
    format!("{sign}{text}")
}

/// A span for a headline: from ten seconds on without the parts of one.
pub(super) fn about(length: Span) -> String {
    let whole = length.as_micros() / 1_000_000;
    if whole >= 10 { span(Span::from_secs(whole)) } else { span(Span::from_millis(length.as_millis())) }
}

/// `number` of the smaller of two units as a decimal number of the larger, which is `unit` times as large.
fn decimal(number: u64, unit: u64) -> String {
    match number % unit {
        0 => (number / unit).to_string(),
        part => format!("{}.{part:03}", number / unit).trim_end_matches('0').to_owned(),
    }
}

/// A time as seconds after the start: `+45.036 s`.
pub(super) fn clock(facts: &Facts<'_>, at: Timestamp) -> String {
    let micros = facts.since_start(at).as_micros();
    let sign = if micros < 0 { '-' } else { '+' };
    let millis = micros.unsigned_abs() / 1_000;
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    match seconds {
        0..600 => format!("{sign}{seconds}.{millis:03} s"),
        _ => format!("{sign}{}:{:02}:{:02}.{millis:03}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

/// So many letters of an error a line of the story shows at most.
const ERROR_LETTERS_MOST: usize = 100;

/// Why a run was given up or is tried again, where an entry says so.
pub(super) fn error_of(facts: &Facts<'_>, body: &Body) -> Option<String> {
    let error = match body {
        Body::RunRetrying { error, .. } | Body::Ended(Ending::Failed { error, .. }) => error,
        _ => return None,
    };
    let told = one_line(&facts.named(error), ERROR_LETTERS_MOST);
    (!told.is_empty()).then_some(told)
}

/// A text on one line: its white space as single spaces, nothing that a terminal takes for a command, and no more than so many
/// letters, the last of them `…` where there were more.
pub(super) fn one_line(text: &str, letters_most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = line.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    if line.chars().count() <= letters_most {
        return plain.collect();
    }
    let kept: String = plain.take(letters_most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// What a call is about, as a noun: `stripe.charge`, `the entry tool.result`, `the ack of order-1`.
pub(super) fn noun(facts: &Facts<'_>, asked: &Asked) -> String {
    let request = match asked {
        Asked::Outside(perform) => return format!("the request for {}", facts.effect(perform.effect.id)),
        Asked::Store(request) => request,
    };
    match request {
        Request::Append { body, .. } => format!("the entry {}", entry(facts, body)),
        Request::Read { .. } | Request::Tail { .. } => "a read of the log".to_owned(),
        Request::Lookup { effect } => format!("the look-up of {}", facts.effect(*effect)),
        Request::Record { result } => format!("the record of {}", facts.effect(result.effect_id)),
        Request::Deliver { message, .. } => format!("the delivery of {}", facts.message(&message.id)),
        Request::Drain { .. } => "a drain of the mailbox".to_owned(),
        Request::Ack { message, .. } => format!("the ack of {}", facts.message(message)),
        Request::Nack { message, .. } => format!("the nack of {}", facts.message(message)),
        Request::Redrive { message, .. } => format!("the redrive of {}", facts.message(message)),
        Request::Lease { .. } => "a lease poll".to_owned(),
        Request::Heartbeat { lease } => format!("a heartbeat for lease {}", lease.attempt),
        Request::Release { lease, how } => format!("the release of {} ({})", facts.run(lease.run), release(how)),
        Request::Signal { name, run, .. } => format!("signal {name} to {}", facts.run(*run)),
        Request::Timer { step, .. } => format!("the timer of step {step}"),
        Request::Claim { step, .. } => format!("the claim of step {step}"),
        Request::Cancel { run, .. } => format!("the cancel of {}", facts.run(*run)),
        Request::Resume { run } => format!("the resume of {}", facts.run(*run)),
        Request::Wake { run, .. } => format!("the wake-up of {}", facts.run(*run)),
        Request::Create { spec, .. } => format!("the making of {}", facts.run(spec.run)),
        Request::Status { run } => format!("the status of {}", facts.run(*run)),
        Request::Reserve { agent, .. } => format!("the reservation of {}", facts.agent(agent)),
        Request::ReturnUnit { run } => format!("the return of the unit of {}", facts.run(*run)),
        Request::Detach { run } => format!("the detachment of {}", facts.run(*run)),
        Request::Spend { key, .. } => format!("the spending for {}", facts.effect(*key)),
        Request::Follow { subscription, .. } => format!("the follow of {}", subscription.topic),
        Request::Unfollow { subscription, .. } => format!("the unfollow of {}", subscription.topic),
        Request::FollowersOf { topic } => format!("the look at the followers of {topic}"),
        other => format!("a call of {}", other.method()),
    }
}

/// An entry, with what it is about.
pub(super) fn entry(facts: &Facts<'_>, body: &Body) -> String {
    let kind = body.kind();
    match body {
        Body::ToolCalled { effect, .. } => format!("{kind} {}", facts.effect(effect.id)),
        Body::ToolResult { result, .. } => {
            let status = match (result.is_in_doubt(), result.is_refused()) {
                (true, _) => "in doubt",
                (_, true) => "refused",
                _ => "done",
            };
            format!("{kind} {} ({status})", facts.effect(result.effect_id))
        }
        Body::RunStarted(lease) | Body::RunResumed(lease) => format!("{kind} (lease {})", lease.attempt),
        Body::MessageSent { message, .. } => format!("{kind} {}", facts.message(&message.id)),
        Body::ChildSpawned { spec, .. } => format!("{kind} {}", facts.run(spec.run)),
        Body::SpawnDenied { agent, .. } => format!("{kind} {}", facts.agent(agent)),
        Body::ChildCompleted { result, .. } => {
            format!("{kind} {} ({})", facts.run(result.run_id), result.status.as_str())
        }
        Body::TopicPublished { topic, .. } => format!("{kind} {topic}"),
        Body::AskSent { to, .. } => format!("{kind} to {}", facts.agent(to)),
        Body::ReplySent { question, .. } => format!("{kind} to {}", facts.message(&question.id)),
        Body::AskResolved { outcome, .. } => format!("{kind} ({})", outcome.kind()),
        Body::OrphansResolved { ending, cancel, detach } => {
            let status = ending.status().as_str();
            format!("{kind} ({status}; {} to cancel, {} to detach)", cancel.len(), detach.len())
        }
        Body::SignalReceived { name, .. } => format!("{kind} {name}"),
        Body::Trace(trace) => trace_entry(facts, trace),
        Body::RunRetrying { failure, .. } => format!("{kind} (failure {failure})"),
        Body::Ended(Ending::Failed { code, .. }) => format!("{kind} ({})", code.as_str()),
        Body::MsgReceived { messages, .. } => {
            let ids: Vec<String> = messages.iter().map(|received| facts.message(&received.message.id)).collect();
            if ids.is_empty() { format!("{kind} (nothing)") } else { format!("{kind} {}", some(&ids)) }
        }
        _ => kind.to_owned(),
    }
}

/// An entry of a trace log, with what it is about.
fn trace_entry(facts: &Facts<'_>, trace: &TraceBody) -> String {
    let (kind, subject) = (trace.kind(), trace.subject());
    match trace {
        TraceBody::PlanApproved { by, .. } | TraceBody::PlanEdited { by, .. } => format!("{kind} {subject} (by {by})"),
        TraceBody::PlanRejected { by, reason, .. } => format!("{kind} {subject} (by {by}: {reason})"),
        TraceBody::PlanDispatched { due, .. } => format!("{kind} {subject} (due {})", clock(facts, *due)),
        TraceBody::PlanClosed { profile, reason, .. } => {
            let status = profile.execution_result.status.as_str();
            match (reason, profile.executed_at) {
                (Some(reason), _) => format!("{kind} {subject} ({status}: {reason})"),
                (None, Some(_)) => format!("{kind} {subject} ({status}, {})", profile.tempo_alignment.as_str()),
                (None, None) => format!("{kind} {subject} ({status})"),
            }
        }
        TraceBody::PlanFeedback { score, .. } => format!("{kind} {subject} (score {})", score.get()),
        TraceBody::MemoryCommitted { run, traces } => {
            format!("{kind} of {} ({})", facts.run(*run), counted(traces.len() as u64, "draft", "drafts"))
        }
        _ if subject.is_empty() => kind.to_owned(),
        _ => format!("{kind} {subject}"),
    }
}

/// The first few of a list, and how many more.
pub(super) fn some(list: &[String]) -> String {
    const NAMED_MOST: usize = 3;
    match list.len().checked_sub(NAMED_MOST).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", list[..NAMED_MOST].join(", ")),
        None => list.join(", "),
    }
}

pub(super) fn release(how: &Release) -> &'static str {
    match how {
        Release::Suspended(_) => "asleep",
        Release::Halted => "halted",
        Release::Pending => "given back",
        Release::Ended(status) => status.as_str(),
    }
}

/// A result, in short.
pub(super) fn result(result: &EffectResult) -> String {
    if result.is_in_doubt() {
        "in doubt".to_owned()
    } else if result.is_refused() {
        "refused".to_owned()
    } else {
        format!("done, {}", short(&result.value))
    }
}

/// A value, cut off.
pub(super) fn short(value: &Json) -> String {
    const LETTERS_MOST: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(LETTERS_MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn claimed(claimed: Option<&Claimed>) -> String {
    match claimed {
        None => "nothing yet".to_owned(),
        Some(Claimed::TimedOut) => "that the time was over".to_owned(),
        Some(Claimed::Signal { name, id, .. }) => format!("signal {name} ({id})"),
    }
}

pub(super) fn heartbeat(facts: &Facts<'_>, told: &Heartbeat, lease: &str) -> (String, bool) {
    match told {
        Heartbeat::Healthy(term) => (format!("renewed {lease} until {}", clock(facts, term.expires_at)), false),
        Heartbeat::CancelRequested(_, reason) => (format!("was told that a cancel was asked for ({reason})"), true),
        Heartbeat::DeadlinePassed(_) => ("was told that the deadline is over".to_owned(), true),
        Heartbeat::Lost => (format!("was told that it had lost {lease}"), true),
    }
}

pub(super) fn trigger(trigger: &Trigger) -> String {
    match trigger {
        Trigger::Wakeup(Wakeup::Message { .. }) => "mail came".to_owned(),
        Trigger::Wakeup(Wakeup::Timer { .. }) => "its time came".to_owned(),
        Trigger::Wakeup(Wakeup::Signal { signal, .. }) => format!("signal {signal} came"),
        Trigger::Wakeup(Wakeup::ChildDone { .. }) => "its child ended".to_owned(),
        Trigger::Cancel => "a cancel was asked for".to_owned(),
        Trigger::Deadline => "its deadline passed".to_owned(),
        Trigger::Retry => "its back-off was over".to_owned(),
        Trigger::Reclaim => "its last lease ran out".to_owned(),
        Trigger::Resume => "it was resumed".to_owned(),
    }
}

/// What a site's call is, as a noun: from the words of the site.
pub(crate) fn site_noun(site: &str) -> String {
    let mut parts = site.split(" / ").skip(1).filter(|part| !part.starts_with("lease ") && !part.starts_with("try "));
    let Some(what) = parts.next() else { return site.to_owned() };
    let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
    let before_step = rest.split(" step ").next().unwrap_or(rest);
    let first = rest.split(' ').next().unwrap_or(rest);
    match verb {
        "perform" => format!("the request for {before_step}"),
        "append" => format!("the entry {rest}"),
        "record" => format!("the record of {before_step}"),
        "lookup" => format!("the look-up of {before_step}"),
        "ack" | "nack" | "redrive" => format!("the {verb} of {first}"),
        "deliver" => format!("the delivery of {first}"),
        "drain" => "a drain of the mailbox".to_owned(),
        "read" | "tail" => "a read of the log".to_owned(),
        "heartbeat" => "a heartbeat".to_owned(),
        "release" => format!("the release ({rest})"),
        "granted" => "the grant".to_owned(),
        "claim" | "timer" if !rest.is_empty() => format!("the {verb} of {rest}"),
        "return_unit" => format!("the return of the unit of {rest}"),
        "reserve" => format!("the reservation of {before_step}"),
        "spend" => format!("the spending for {before_step}"),
        "cancel" | "resume" | "wake" | "create" | "register" | "status" | "detach" | "follow" | "unfollow" => {
            format!("the {verb} of {rest}")
        }
        _ => format!("`{what}`"),
    }
}

/// What a site's call is, as a noun, with the step of its effect where the run has several of one tool.
fn noun_at(facts: &Facts<'_>, site: &str) -> String {
    let noun = site_noun(site);
    let of_effect = facts.effect_at(site).and_then(|effect| {
        let before = noun.strip_suffix(&*facts.effects.get(&effect)?.kind)?;
        Some(format!("{before}{}", facts.effect(effect)))
    });
    of_effect.unwrap_or(noun)
}

/// What a fault at a site did, after the name of whom it befell: `died right after the record of stripe.charge`.
pub(super) fn befell(facts: &Facts<'_>, fault: &Fault, site: &str) -> String {
    let noun = noun_at(facts, site);
    match fault {
        Fault::Crash { point: Point::Before, .. } => format!("died just before {noun}"),
        Fault::Crash { point: Point::Flight(_), .. } => format!("died with {noun} on its way"),
        Fault::Crash { point: Point::After, .. } => format!("died right after {noun} was applied"),
        Fault::Pause { point: Point::Before, lasts } => format!("froze for {} just before {noun}", span(*lasts)),
        Fault::Pause { lasts, .. } => format!("froze for {} right after {noun} was sent", span(*lasts)),
        Fault::Partition { point: Point::Before, lasts } => {
            format!("was cut off for {}, and {noun} was lost", span(*lasts))
        }
        Fault::Partition { lasts, .. } => format!("was cut off for {} right after {noun} was sent", span(*lasts)),
        Fault::LostRequest => format!("lost {noun} on its way"),
        Fault::LostReply => format!("never saw the reply to {noun}"),
        Fault::StoreError => format!("was told that the store does not take {noun}"),
        Fault::Outage { lasts } => format!("found the store out of reach for {} from {noun} on", span(*lasts)),
        Fault::StoreRestart { lasts } => format!("met a restart of the store ({}) at {noun}", span(*lasts)),
        Fault::Duplicate { after } => format!("had {noun} arrive again {} later", span(*after)),
        Fault::DelayRequest { by } => format!("had {noun} held up for {}", span(*by)),
        Fault::DelayReply { by } => format!("had the reply to {noun} held up for {}", span(*by)),
        Fault::ShortLease { to } => format!("had its lease granted or renewed for {} only", span(*to)),
        Fault::TimerLate { by } => format!("was woken {} late", span(*by)),
        Fault::ClockSkew { by } | Fault::ClockStep { by } if by.as_micros() < 0 => {
            let how = if matches!(fault, Fault::ClockSkew { .. }) { "had a clock" } else { "had its clock put" };
            format!("{how} {} behind", span(by.times(-1)))
        }
        Fault::ClockSkew { by } => format!("had a clock {} ahead", span(*by)),
        Fault::ClockStep { by } => format!("had its clock put {} ahead at {noun}", span(*by)),
        Fault::Stop { .. } => format!("was asked to stop at {noun}"),
        Fault::ToolSlow { takes } => format!("waited {} for the answer to {noun}", span(*takes)),
        Fault::ToolRefuses { after: None } => format!("was refused {noun}"),
        Fault::ToolRefuses { after: Some(after) } => format!("was refused {noun}, for {} at least", span(*after)),
        Fault::ToolUnknown { after: Some(_), .. } => format!("got an answer to {noun} that broke off"),
        Fault::ToolUnknown { happened: true, .. } => format!("got no clear answer to {noun}, which took hold"),
        Fault::ToolUnknown { happened: false, .. } => {
            format!("got no clear answer to {noun}, which did not take hold")
        }
        Fault::ToolMalformed => format!("got an answer to {noun} that was cut off in the middle"),
        Fault::Hold { until: Some(until), .. } => {
            format!("had {noun} held back until {} was done", noun_at(facts, until))
        }
        Fault::Hold { until: None, most: Some(most) } => format!("had {noun} held back for {}", span(*most)),
        Fault::Hold { until: None, most: None } => format!("had {noun} held back"),
        Fault::Slow { factor } => format!("was {factor} times slower throughout"),
    }
}

/// What else is to be known of a fault, for the list of deviations.
pub(super) fn aftermath(fault: &Fault) -> Option<String> {
    match fault {
        Fault::Crash { point: Point::Flight(lands), restart } => {
            Some(format!("it landed {} after it was sent; back after {}", span(*lands), span(*restart)))
        }
        Fault::Crash { point: Point::After, restart } => Some(format!("reply unseen; back after {}", span(*restart))),
        Fault::Crash { restart, .. } | Fault::Stop { restart } => Some(format!("back after {}", span(*restart))),
        _ => None,
    }
}
