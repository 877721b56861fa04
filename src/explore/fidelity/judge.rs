//! What a replay may ask for: nothing but what the first step that is not done still needs, and then the next decision.

use std::fmt::Write as _;

use serde_json::json;

use super::nature::Nature;
use super::prefix::{Next, Prefix, in_words};
use super::rehearsal::Seen;
use crate::history::Asked;
use crate::kernel::{
    Body, CallKind, ClaimWait, EffectId, Ending, Json, Name, Perform, Policy, Release, Request, RunId, Step,
};

/// Judges a replay that must follow its log. The error says what was wrong.
pub(super) fn follows(prefix: &Prefix, seen: &Seen, nature: Nature) -> Result<(), String> {
    let decision = walk(prefix, seen)?;
    if prefix.cancelled && !seen.entered.is_empty() {
        return Err("its agent was entered though the log holds a cancel".to_owned());
    }
    match decision {
        None if seen.endless => Err("it does not come to rest".to_owned()),
        None if !seen.died && !seen.awaits => Err("it stopped without a next step, a wait or an end".to_owned()),
        None => Ok(()),
        Some(body) => is_expected(prefix, body, nature),
    }
}

/// Judges the mail that a replay's agent was entered with.
pub(super) fn has_its_mail(prefix: &Prefix, seen: &Seen) -> Result<(), String> {
    let batch = match prefix.batch() {
        Some(Body::MsgReceived { messages, .. }) => messages.as_slice(),
        _ => &[],
    };
    match seen.entered.iter().find(|given| !batch.iter().map(|received| &received.message).eq(*given)) {
        Some(given) => Err(format!("its agent was entered with {} messages that are not its batch", given.len())),
        None => Ok(()),
    }
}

/// Judges a replay whose agent differs from its log at `step`: it must be halted there before it does anything.
pub(super) fn is_caught(prefix: &Prefix, seen: &Seen, step: Step) -> Result<(), String> {
    let carried_out = |asked: &Asked| match asked {
        Asked::Store(request) => matches!(
            request,
            Request::Append { .. }
                | Request::Nack { .. }
                | Request::Deliver { .. }
                | Request::Signal { .. }
                | Request::Get { .. }
        ),
        Asked::Outside(_) => false,
    };
    if let Some(acted) = seen.asked.iter().find(|asked| !carried_out(asked)) {
        return Err(format!("it {} before it was caught", told(acted)));
    }
    match walk(prefix, seen)? {
        Some(Body::RunHalted { step: at, .. }) if *at == step => Ok(()),
        Some(Body::RunHalted { step: at, .. }) => Err(format!("it was halted at step {at}")),
        Some(other) => Err(format!("it was not caught: it went on to {}", entry_in_words(other))),
        None => Err("it was not caught".to_owned()),
    }
}

/// Goes through what a replay asked for. Gives the entry that it would have decided on, if it came so far.
fn walk<'s>(prefix: &Prefix, seen: &'s Seen) -> Result<Option<&'s Body>, String> {
    let mut walk = Walk { prefix, has_lease_entry: false, looked_up: Vec::new(), done: Vec::new() };
    let mut decision = None;
    for asked in &seen.asked {
        match asked {
            Asked::Store(Request::Append { body, .. }) => {
                if !walk.appends(body)? {
                    decision.get_or_insert(&**body);
                }
            }
            Asked::Store(request) if walk.allows(request) => {}
            Asked::Outside(perform) if walk.allows_perform(perform) => {}
            other => return Err(format!("it {}", told(other))),
        }
    }
    Ok(decision)
}

struct Walk<'a> {
    prefix: &'a Prefix,
    has_lease_entry: bool,
    looked_up: Vec<EffectId>,
    /// Steps that were carried out.
    done: Vec<Step>,
}

impl Walk<'_> {
    /// Whether an append belongs to what the prefix has begun; false for the next decision.
    fn appends(&mut self, body: &Body) -> Result<bool, String> {
        let prefix = self.prefix;
        let is_closed = prefix.ending().is_some();
        if body.lease_entry().is_some() && !self.has_lease_entry && !is_closed {
            self.has_lease_entry = true;
            return Ok(true);
        }
        if !self.has_lease_entry || body.lease_entry().is_some() || is_closed {
            return Err(format!("it appended {} out of turn", entry_in_words(body)));
        }
        let recorded = match body {
            Body::MsgReceived { step: None, .. } => prefix.batch().filter(|_| !prefix.has_batch),
            body if body.opening().is_none() => match body.step() {
                Some(step) => prefix.result(step).filter(|_| prefix.is_open(step)),
                None => return Ok(false),
            },
            _ => return Ok(false),
        };
        if recorded == Some(body) {
            return Ok(true);
        }
        Err(format!("it appended {} that the log does not hold there", entry_in_words(body)))
    }

    /// Whether a request belongs to what the prefix has begun and does not show as done.
    fn allows(&mut self, request: &Request) -> bool {
        let prefix = self.prefix;
        let has_ended = prefix.ending().is_some();
        match request {
            Request::Get { .. } => true,
            Request::Ack { .. } => has_ended,
            Request::Nack { failure, message, .. } => {
                let parked = !self.has_lease_entry && prefix.parked == Some(*failure);
                (has_ended || parked) && prefix.mail.contains(message)
            }
            Request::Release { how: Release::Ended(status), .. } => {
                prefix.ending().is_some_and(|ending| ending.status() == *status)
            }
            Request::Deliver { .. } | Request::Signal { .. } => self.carries_out(request),
            _ if !self.has_lease_entry => false,
            Request::Drain { .. } => !prefix.has_batch || prefix.open_receives().next().is_some(),
            Request::Claim { step, wait, .. } => prefix.is_open(*step) && is_wait_of(prefix, *step, wait),
            Request::Lookup { effect } => {
                self.looked_up.push(*effect);
                prefix.open_effect(*effect).is_some()
            }
            Request::Record { result } => {
                let policy = self.undecided(result.effect_id);
                result.is_in_doubt() && (policy == Some(Policy::AtMostOnce) || (policy.is_some() && prefix.cancelled))
            }
            _ => false,
        }
    }

    /// The policy of an effect of which log and journal say nothing but that it was intended.
    fn undecided(&self, effect: EffectId) -> Option<Policy> {
        let step = self.prefix.open_effect(effect)?;
        if self.prefix.result(step).is_some() || !self.looked_up.contains(&effect) {
            return None;
        }
        match &*self.prefix.opening(step)?.body {
            Body::ToolCalled { policy, .. } => Some(*policy),
            _ => None,
        }
    }

    fn allows_perform(&self, perform: &Perform) -> bool {
        let policy = self.undecided(perform.effect.id);
        let opening = self.prefix.opening(perform.step).map(|entry| &*entry.body);
        let is_recorded = matches!(opening, Some(Body::ToolCalled { effect, .. }) if *effect == perform.effect);
        is_recorded && policy.is_some_and(|policy| policy != Policy::AtMostOnce) && !self.prefix.cancelled
    }

    /// Whether a request carries out, for the first time here, a step that was only announced.
    fn carries_out(&mut self, request: &Request) -> bool {
        let prefix = self.prefix;
        let announces = |step: &Step| match (prefix.opening(*step).map(|entry| &*entry.body), request) {
            (Some(Body::MessageSent { to, message, .. }), Request::Deliver { to: receiver, message: sent, .. }) => {
                (to, message) == (receiver, sent)
            }
            (Some(Body::StepValue { opening, value }), Request::Signal { run, name, payload, id }) => {
                opening.call == CallKind::Signal && is_signal(value, *run, name, payload, id)
            }
            _ => false,
        };
        let announced = prefix.begun().rev().take_while(|step| prefix.is_last(*step)).find(announces);
        match announced {
            Some(step) if !self.done.contains(&step) => {
                self.done.push(step);
                true
            }
            _ => false,
        }
    }
}

fn is_signal(value: &Json, run: RunId, name: &Name, payload: &Json, id: &Name) -> bool {
    **value == json!({ "run": run.to_string(), "name": **name, "payload": **payload, "id": **id })
}

/// Whether a claim asks for the wait that the log began, to the same instant.
fn is_wait_of(prefix: &Prefix, step: Step, wait: &ClaimWait) -> bool {
    let Some(entry) = prefix.opening(step) else { return false };
    match &*entry.body {
        Body::TimerSet { limit, .. } => wait.until == limit.map(|limit| entry.ts + limit),
        _ => false,
    }
}

/// Compares a decision with the next one of the log.
fn is_expected(prefix: &Prefix, decision: &Body, nature: Nature) -> Result<(), String> {
    if prefix.cancelled {
        return match decision {
            Body::Ended(_) => Ok(()),
            other => Err(format!("the log holds a cancel, and it went on to {}", entry_in_words(other))),
        };
    }
    if nature.fickle || prefix.changed {
        return Ok(());
    }
    if let Body::RunHalted { step, expected, actual } = decision {
        return Err(format!("its own agent was halted at step {step}: the log has {expected}, it took {actual}"));
    }
    let Next::Decided(places) = prefix.next() else { return Ok(()) };
    let mut decided = places.iter().map(|place| prefix.body(*place));
    let is_stumble = |body: &Body| matches!(body, Body::RunRetrying { .. } | Body::Ended(_));
    if decided.clone().any(|body| is_same(body, decision) || (nature.stumbles && is_stumble(body))) {
        return Ok(());
    }
    let wanted = decided.next().map(entry_in_words).unwrap_or_default();
    Err(format!("it went on to {}, where the log went on to {wanted}", entry_in_words(decision)))
}

/// Whether two entries are the same decision; a random value is drawn anew until it is recorded.
fn is_same(one: &Body, other: &Body) -> bool {
    match (one.opening(), other.opening()) {
        (Some(begun), Some(wanted)) if matches!(begun.call, CallKind::Random | CallKind::Uuid) => begun == wanted,
        _ => one == other,
    }
}

fn entry_in_words(body: &Body) -> String {
    let mut text = body.kind().to_owned();
    if let Some(opening) = body.opening() {
        let _ = write!(text, ": {}", in_words(opening));
    } else if let Some(step) = body.step() {
        let _ = write!(text, " of step {step}");
    }
    match body {
        Body::Ended(Ending::Completed { output, .. }) => drop(write!(text, " with {}", **output)),
        Body::Ended(Ending::Failed { error, .. }) => drop(write!(text, ": {error}")),
        _ => {}
    }
    text
}

fn told(asked: &Asked) -> String {
    match asked {
        Asked::Outside(perform) => {
            format!("asked the outside for `{}` (step {}) again", perform.effect.kind, perform.step)
        }
        Asked::Store(Request::Append { body, .. }) => format!("appended {}", entry_in_words(body)),
        Asked::Store(request) => format!("called {}", request.method()),
    }
}
