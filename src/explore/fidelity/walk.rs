//! What a replay may ask for: nothing but what the first step that is not done still needs, and then the next decision.

use std::fmt::Write as _;

use serde_json::json;

use super::prefix::{Prefix, in_words};
use super::rehearsal::Seen;
use crate::history::Asked;
use crate::kernel::{
    AskOutcome, Body, CallKind, ClaimWait, EffectId, Ending, Json, Name, Perform, Policy, Release, Request, RunId, Step,
};

/// Goes through what a replay asked for. Gives the entry that it would have decided on, if it came so far.
pub(super) fn walk<'s>(prefix: &Prefix, seen: &'s Seen) -> Result<Option<&'s Body>, String> {
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
        // Once it is decided how the run ends, no lease begins anything.
        if prefix.resolved.is_some() && !is_closed && matches!(body, Body::Ended(_)) {
            return Ok(false);
        }
        if body.lease_entry().is_some() && !self.has_lease_entry && !is_closed && prefix.resolved.is_none() {
            self.has_lease_entry = true;
            return Ok(true);
        }
        if !self.has_lease_entry || body.lease_entry().is_some() || is_closed {
            return Err(format!("it appended {} out of turn", entry_in_words(body)));
        }
        let recorded = match body {
            Body::MsgReceived { step: None, .. } => prefix.batch().filter(|_| !prefix.has_batch),
            // Going to sleep is no decision, as long as there is something to wait for.
            Body::RunSuspended { .. } if prefix.waits() => return Ok(true),
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
            Request::Ack { .. } | Request::ReturnUnit { .. } | Request::Put { .. } => has_ended,
            Request::Detach { run } => {
                let lets_go = prefix.resolved.as_ref().is_some_and(|(_, detach)| detach.contains(run));
                has_ended && lets_go && !prefix.cancelled && self.lives(*run)
            }
            Request::Nack { failure, message, .. } => {
                let parked = !self.has_lease_entry && prefix.parked == Some(*failure);
                (has_ended || parked) && prefix.mail.contains(message)
            }
            Request::Release { how: Release::Ended(status), .. } => {
                prefix.ending().is_some_and(|ending| ending.status() == *status)
            }
            Request::Cancel { run, .. } => self.may_cancel(*run),
            Request::Create { spec, .. } => self.may_create(spec.run),
            Request::Read { run, .. } if prefix.run() != Some(*run) => {
                has_ended || self.may_cancel(*run) || self.begins(CallKind::Status)
            }
            Request::Signal { .. } if has_ended && self.answers(request) => true,
            Request::Deliver { .. } if self.asks(request) => true,
            Request::Deliver { .. }
            | Request::Signal { .. }
            | Request::FollowersOf { .. }
            | Request::Follow { .. }
            | Request::Unfollow { .. } => self.carries_out(request),
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
            Request::Spend { key, .. } => {
                let step = prefix.open_effect(*key);
                step.is_some_and(|step| prefix.result(step).is_some()) && self.looked_up.contains(key)
            }
            Request::Reserve { step, .. } => *step == prefix.next_step() && self.begins(CallKind::Spawn),
            Request::Totals { .. } => self.begins(CallKind::Model),
            Request::Status { .. } => self.begins(CallKind::Status),
            Request::LastSeq { .. } => self.begins(CallKind::Status) || self.timed_out(),
            Request::Receiver { .. } | Request::RunOf { .. } | Request::Spec { .. } => self.timed_out(),
            _ => false,
        }
    }

    /// Whether the next step may be such a call: the log says so, or does not tell.
    fn begins(&self, call: CallKind) -> bool {
        self.has_lease_entry && self.prefix.told_next().is_none_or(|opening| opening.call == call)
    }

    /// Whether a question of the prefix is open that the log ends by its time.
    fn timed_out(&self) -> bool {
        let prefix = self.prefix;
        let ends_so = |step: &Step| match prefix.result(*step) {
            Some(Body::AskResolved { outcome, .. }) => matches!(**outcome, AskOutcome::TimedOut { .. }),
            _ => false,
        };
        prefix.begun().filter(|step| prefix.is_open(*step)).any(|step| ends_so(&step))
    }

    /// Whether a child is announced, and the prefix does not say how it ended.
    fn lives(&self, child: RunId) -> bool {
        self.prefix.children.get(&child).is_some_and(|(_, is_over)| !is_over)
    }

    /// Whether a child is to be cancelled: by a step that nothing shows as done, or by the end of the run.
    fn may_cancel(&self, child: RunId) -> bool {
        let prefix = self.prefix;
        let by_step = |step: Step| match prefix.opening(step).map(|entry| &*entry.body) {
            Some(Body::StepValue { opening, value }) => {
                opening.call == CallKind::Cancel
                    && value.get("run").and_then(|run| run.as_str()) == Some(&child.to_string())
            }
            _ => false,
        };
        let lets_go = prefix.resolved.as_ref().is_some_and(|(_, detach)| detach.contains(&child));
        let by_end = prefix.ending().is_some() && self.lives(child) && (prefix.cancelled || !lets_go);
        by_end || self.last_steps().any(by_step)
    }

    /// Whether a child may still have to be created: its announcement, or a cancel of it, is not shown as done; or the run
    /// has ended, and something is to become of it.
    fn may_create(&self, child: RunId) -> bool {
        let Some((step, _)) = self.prefix.children.get(&child) else { return false };
        self.prefix.is_last(*step) || self.may_cancel(child) || (self.prefix.ending().is_some() && self.lives(child))
    }

    /// The steps of the prefix that nothing shows as done, if it is for the kind of their call to be so.
    fn last_steps(&self) -> impl Iterator<Item = Step> {
        self.prefix.begun().rev().take_while(|step| self.prefix.is_last(*step))
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

    /// Whether a delivery brings, once, a question that has no outcome in the prefix.
    fn asks(&mut self, request: &Request) -> bool {
        let prefix = self.prefix;
        let is_it = |step: &Step| match (prefix.opening(*step).map(|entry| &*entry.body), request) {
            (Some(Body::AskSent { to, message, .. }), Request::Deliver { to: receiver, message: sent, .. }) => {
                (to, message) == (receiver, sent)
            }
            _ => false,
        };
        let open = prefix.begun().filter(|step| prefix.is_open(*step)).find(is_it);
        self.has_lease_entry && open.is_some_and(|step| self.once(step))
    }

    /// Whether a signal answers, behind the end of the run, a question that had no reply.
    fn answers(&self, request: &Request) -> bool {
        let Request::Signal { run, name, id, .. } = request else { return false };
        self.prefix.open_questions().any(|question| {
            let wanted = question.correlation.as_ref().map(|correlation| format!("reply:{correlation}"));
            question.reply_to == Some(*run) && wanted.as_deref() == Some(name) && name == id
        })
    }

    fn once(&mut self, step: Step) -> bool {
        let is_first = !self.done.contains(&step);
        if is_first {
            self.done.push(step);
        }
        is_first
    }

    /// Whether a request carries out, for the first time here, a step that was only announced.
    fn carries_out(&mut self, request: &Request) -> bool {
        let announced =
            self.last_steps().find(|step| !self.done.contains(step) && announces(self.prefix, *step, request));
        announced.is_some_and(|step| self.once(step))
    }
}

/// Whether a step of the prefix announces this request.
fn announces(prefix: &Prefix, step: Step, request: &Request) -> bool {
    let Some(entry) = prefix.opening(step) else { return false };
    match (&*entry.body, request) {
        (Body::MessageSent { to, message, .. }, Request::Deliver { to: receiver, message: sent, .. }) => {
            (to, message) == (receiver, sent)
        }
        (Body::TopicPublished { topic, .. }, Request::FollowersOf { topic: asked }) => topic == asked,
        (Body::ReplySent { question, answer, .. }, Request::Signal { run, name, payload, id }) => {
            let correlation = question.correlation.as_ref().map(|correlation| format!("reply:{correlation}"));
            let told = payload.get("result").and_then(|result| result.get("output"));
            let at = payload.get("last_seq").and_then(|seq| seq.as_i64());
            question.reply_to == Some(*run)
                && correlation.as_deref() == Some(name)
                && name == id
                && told.unwrap_or(&serde_json::Value::Null) == &**answer
                && at == Some(entry.seq.get())
        }
        (Body::StepValue { opening, value }, Request::Signal { run, name, payload, id }) => {
            opening.call == CallKind::Signal && is_signal(value, *run, name, payload, id)
        }
        (Body::StepValue { opening, value }, Request::Follow { subscription, stamp }) => {
            let is_its_own = opening.call == CallKind::Follow && (stamp.ts, stamp.step) == (entry.ts, step);
            is_its_own && **value == json!({ "topic": subscription.topic })
        }
        (Body::StepValue { opening, value }, Request::Unfollow { subscription, stamp }) => {
            let is_its_own = opening.call == CallKind::Unfollow && (stamp.ts, stamp.step) == (entry.ts, step);
            is_its_own && **value == json!({ "topic": subscription.topic })
        }
        _ => false,
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
        Body::AskSent { message, limit, .. } => {
            let wanted = message.correlation.as_ref().map(|correlation| format!("reply:{correlation}"));
            wait.until == Some(entry.ts + *limit) && wait.signal.as_deref() == wanted.as_deref()
        }
        _ => false,
    }
}

/// An entry in words.
pub(super) fn entry_in_words(body: &Body) -> String {
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

/// A request in words.
pub(super) fn told(asked: &Asked) -> String {
    match asked {
        Asked::Outside(perform) => {
            format!("asked the outside for `{}` (step {}) again", perform.effect.kind, perform.step)
        }
        Asked::Store(Request::Append { body, .. }) => format!("appended {}", entry_in_words(body)),
        Asked::Store(request) => format!("called {}", request.method()),
    }
}
