//! Steps: how a call of the context gets its number, is found again in the log or announced in it, and ends.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::announced::{carry_out, is_reserved};
use super::call::SpawnTarget;
use super::fold::{StepRecord, is_refusal};
use super::pace::yield_once;
use super::seat::{Outcome, Seat};
use super::{Call, ReceivedSignal, StepError};
use crate::kernel::json::{first_64_bits, write_canonical, write_string};
use crate::kernel::{
    Body, CallKind, Digest, Effect, EffectId, Group, Json, Message, Name, Opening, Policy, RunId, Span, Step,
    Timestamp, Wait,
};

/// What a call gave to the agent.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Nothing,
    Value(Json),
    Time(Timestamp),
    Signal(Option<ReceivedSignal>),
    Mail(Vec<Message>),
}

/// Where a step stands when all that can be done for it in this lease is done.
pub(super) enum Finish {
    /// It has ended.
    Ended(Result<Given, StepError>),
    /// It waits for one of these.
    Waits(Vec<Wait>),
}

/// Whether a step stands in the log.
pub(super) enum Opened {
    /// It was announced now: nothing has been done for it yet.
    Now,
    /// It was announced before.
    Before,
    /// It cannot be announced yet: the run waits for one of these and then tries again.
    NotYet(Vec<Wait>),
}

impl Seat {
    /// Makes a single call.
    pub async fn one(&self, call: Call) -> Result<Given, StepError> {
        let begun = self.begin(1).await?;
        let finish = match self.open(begun.first, None, &call).await {
            Ok(Opened::NotYet(waits)) => Finish::Waits(waits),
            Ok(opened) => self.finish(begun.first, &call, matches!(opened, Opened::Now)).await,
            Err(error) => Finish::Ended(Err(error)),
        };
        match finish {
            Finish::Ended(result) => {
                begun.done();
                result
            }
            Finish::Waits(waits) => self.end(Outcome::Waits(waits)).await,
        }
    }

    /// Finds the entry that begins a step, or appends it.
    pub async fn open(&self, step: Step, group: Option<Group>, call: &Call) -> Result<Opened, StepError> {
        let run = self.hold.run();
        let opening = Opening { step, group, call: call.kind(), digest: call.digest(run, step) };
        if self.is_recorded(&opening).await {
            yield_once().await;
            return Ok(Opened::Before);
        }
        loop {
            self.check()?;
            let last = self.hold.log.borrow().last;
            let body = match self.announcement(opening, call).await {
                Ok(body) => Arc::new(body),
                Err(waits) => return Ok(Opened::NotYet(waits)),
            };
            // A request that may have been applied is told apart by its content: it is repeated as it is, until an entry
            // of somebody else shows that it never will be.
            while self.hold.log.borrow().last == last {
                self.check()?;
                if self.hold.append(&body).await.is_some() {
                    return Ok(Opened::Now);
                }
            }
        }
    }

    /// Whether the log holds the step. Another step in its place ends the agent.
    async fn is_recorded(&self, opening: &Opening) -> bool {
        let expected = match self.hold.log.borrow().steps.get(&opening.step) {
            None => return false,
            Some(record) if record.opening() == opening => return true,
            Some(record) => told(record.opening()),
        };
        self.end(Outcome::Diverged { step: opening.step, expected, actual: told(opening) }).await
    }

    /// The entry that begins the step, as is to be decided from the log as it is now; or what has to be waited for first.
    async fn announcement(&self, opening: Opening, call: &Call) -> Result<Body, Vec<Wait>> {
        let run = self.hold.run();
        let id = || Name::from(format!("{run}.{}", opening.step));
        let random = || self.hold.floor.host.random(run, opening.step);
        let message = |data: &Json| {
            let sender = self.hold.lease.spec.agent.clone();
            Message { id: id(), sender, data: data.clone(), correlation: None, reply_to: None }
        };
        let value = match call {
            Call::Effect(effect) => {
                let (id, kind, spec) = (EffectId(opening.digest.0), effect.kind.clone(), effect.args.clone());
                return Ok(Body::ToolCalled { opening, effect: Effect { id, kind, spec }, policy: effect.policy });
            }
            Call::Model(model) => match self.limit_reached().await {
                Some(limit) => json!({ "refused": "BudgetExhausted", "limit": limit }),
                None => {
                    let (id, kind, spec) = (EffectId(opening.digest.0), model.model.clone(), model.args.clone());
                    let effect = Effect { id, kind, spec };
                    return Ok(Body::ToolCalled { opening, effect, policy: Policy::Repeatable });
                }
            },
            Call::Send { to, data } => {
                return Ok(Body::MessageSent { opening, to: to.clone(), message: message(data) });
            }
            Call::Emit { topic, data } => {
                return Ok(Body::TopicPublished { opening, topic: topic.clone(), message: message(data) });
            }
            Call::Ask { to, data, limit } => {
                let message = Message { correlation: Some(id()), reply_to: Some(run), ..message(data) };
                return Ok(Body::AskSent { opening, to: to.clone(), message, limit: *limit });
            }
            Call::Reply { question, answer } => match self.question(&question.id) {
                Some(question) => return Ok(Body::ReplySent { opening, question, answer: answer.clone() }),
                None => json!({ "refused": "NotAQuestion", "message": &*question.id }),
            },
            Call::Spawn(spawn) => return self.announce_child(opening, spawn, message(&spawn.boot)).await,
            Call::Join { child, .. } | Call::Cancel { child, .. } if !self.is_parent_of(child.run_id) => {
                json!({ "refused": "NotAChild", "run": child.run_id })
            }
            Call::Join { child, limit } => {
                return Ok(Body::TimerSet { opening, limit: *limit, child: Some(child.run_id) });
            }
            Call::Cancel { child, reason } => json!({ "run": child.run_id, "reason": &**reason }),
            Call::ChildrenOf => self.children(),
            Call::Status(handle) => self.peek(handle.run_id).await,
            Call::Sleep(span) => return Ok(Body::TimerSet { opening, limit: Some(*span), child: None }),
            Call::Signal { name, .. } | Call::WaitSignal { name, .. } if is_reserved(name) => {
                json!({ "refused": "ReservedName", "name": &**name })
            }
            Call::WaitSignal { limit, .. } | Call::Receive { limit, .. } => {
                return Ok(Body::TimerSet { opening, limit: *limit, child: None });
            }
            Call::Signal { run, name, payload } => {
                json!({ "run": run.to_string(), "name": &**name, "payload": &**payload, "id": &*id() })
            }
            Call::Follow(topic) | Call::Unfollow(topic) => json!({ "topic": topic }),
            Call::Now => Value::Null,
            Call::Random => json!(low_64_bits(random())),
            Call::Uuid => json!(uuid_v4(random())),
            Call::Version(_) => json!(self.version),
            Call::Log(data) => return Ok(Body::StepValue { opening, value: data.clone() }),
        };
        Ok(Body::StepValue { opening, value: Json::new(value) })
    }

    /// Does what a step that stands in the log still needs.
    pub async fn finish(&self, step: Step, call: &Call, fresh: bool) -> Finish {
        if let Err(refused) = self.refusal(step) {
            return Finish::Ended(Err(refused));
        }
        match call {
            Call::Effect(effect) => Finish::Ended(self.finish_effect(step, effect.limit, fresh).await),
            Call::Model(model) => Finish::Ended(self.finish_model(step, model, fresh).await),
            Call::Sleep(_) | Call::WaitSignal { .. } | Call::Receive { .. } => self.finish_wait(step, call).await,
            Call::Join { child, .. } => self.finish_join(step, child.run_id).await,
            Call::Ask { .. } => self.finish_ask(step).await,
            Call::Spawn(_)
            | Call::Send { .. }
            | Call::Emit { .. }
            | Call::Reply { .. }
            | Call::Signal { .. }
            | Call::Follow(_)
            | Call::Unfollow(_)
            | Call::Cancel { .. } => {
                carry_out(&self.hold, step).await;
                Finish::Ended(Ok(self.given(step)))
            }
            Call::Now
            | Call::Random
            | Call::Uuid
            | Call::Log(_)
            | Call::Version(_)
            | Call::ChildrenOf
            | Call::Status(_) => Finish::Ended(Ok(self.given(step))),
        }
    }

    /// The refusal that a step was recorded with, if it was.
    fn refusal(&self, step: Step) -> Result<(), StepError> {
        let log = self.hold.log.borrow();
        let (value, call) = match &*log.steps[&step].body {
            Body::SpawnDenied { agent, reason, .. } => {
                return Err(StepError::SpawnDenied { agent: agent.clone(), reason: reason.clone() });
            }
            Body::StepValue { opening, value } if opening.call != CallKind::Log && is_refusal(value) => {
                (value, opening.call)
            }
            _ => return Ok(()),
        };
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let run = || text("run").parse().unwrap_or(self.hold.run());
        Err(match call {
            CallKind::Model => StepError::BudgetExhausted { limit: text("limit").into() },
            CallKind::Reply => StepError::NotAQuestion { message: text("message").into() },
            CallKind::Status => StepError::UnknownRun { run: run() },
            CallKind::Signal | CallKind::WaitSignal => StepError::ReservedName { name: text("name").into() },
            _ => StepError::NotAChild { run: run() },
        })
    }

    /// What the log says that a step gave: not of effects, joins and refusals.
    pub fn given(&self, step: Step) -> Given {
        let log = self.hold.log.borrow();
        let record = &log.steps[&step];
        match (&*record.body, record.result.as_deref()) {
            (Body::StepValue { opening, value }, _) => match opening.call {
                CallKind::Now => Given::Time(record.ts),
                CallKind::Random | CallKind::Uuid | CallKind::ChildrenOf | CallKind::Status => {
                    Given::Value(value.clone())
                }
                CallKind::Version => Given::Value(Json::new(json!(true))),
                _ => Given::Nothing,
            },
            (Body::MessageSent { message, .. } | Body::TopicPublished { message, .. }, _) => {
                Given::Value(Json::new(json!(&*message.id)))
            }
            (Body::ChildSpawned { .. }, _) => {
                let handle = log.children[&step].handle(self.hold.run());
                Given::Value(document(&handle))
            }
            (_, Some(Body::AskResolved { outcome, .. })) => Given::Value(document(outcome)),
            (_, Some(Body::MsgReceived { messages, .. })) => {
                Given::Mail(messages.iter().map(|received| received.message.clone()).collect())
            }
            (_, Some(Body::SignalReceived { name, id, payload, .. })) => {
                let (id, name, payload) = (id.clone(), name.clone(), payload.clone());
                Given::Signal(Some(ReceivedSignal { id, name, payload }))
            }
            (body, _) => match body.opening().map(|opening| opening.call) {
                Some(CallKind::WaitSignal) => Given::Signal(None),
                Some(CallKind::Receive) => Given::Mail(Vec::new()),
                _ => Given::Nothing,
            },
        }
    }

    /// Whether the run takes the branch of a change of its agent's code. The first answer is kept for this entry into the
    /// agent; every other entry finds it again at the same place of the log.
    pub async fn takes(&self, change: Name) -> Result<bool, StepError> {
        let known = self.changes.borrow().get(&change).copied();
        if let Some(known) = known {
            return self.border().await.map(|()| known);
        }
        let call = Call::Version(change.clone());
        let step = self.next();
        let digest = call.digest(self.hold.run(), step);
        let is_of_old = {
            let log = self.hold.log.borrow();
            let recorded = log.steps.get(&step).map(StepRecord::opening);
            recorded.is_some_and(|opening| (opening.call, opening.digest) != (CallKind::Version, digest))
        };
        if is_of_old {
            self.border().await?;
        } else {
            self.one(call).await?;
        }
        self.changes.borrow_mut().insert(change, !is_of_old);
        Ok(!is_of_old)
    }

    /// Appends the entry that ends a step, unless the log holds one.
    pub async fn end_step(&self, step: Step, body: Body) {
        let body = Arc::new(body);
        while self.hold.log.borrow().result(step).is_none() {
            self.hold.append(&body).await;
        }
    }
}

/// A piece of plain data as a document.
pub(super) fn document(value: &impl serde::Serialize) -> Json {
    Json::new(serde_json::to_value(value).expect("plain data is a document"))
}

/// A step in words, for the record of a divergence.
fn told(opening: &Opening) -> Name {
    let mut text = format!("{} {}", opening.call.as_str(), opening.digest);
    if let Some(group) = opening.group {
        write!(text, " in a group of {} from step {}", group.size, group.first).expect("a String takes all text");
    }
    text.into()
}

fn low_64_bits(bits: u128) -> u64 {
    u64::try_from(bits & u128::from(u64::MAX)).expect("masked to 64 bits")
}

/// Random bits in the layout of a UUID of version 4.
fn uuid_v4(bits: u128) -> String {
    let bits = (bits & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

impl Call {
    /// Which call it is.
    pub(super) const fn kind(&self) -> CallKind {
        match self {
            Call::Effect(_) => CallKind::Effect,
            Call::Send { .. } => CallKind::Send,
            Call::Signal { .. } => CallKind::Signal,
            Call::Sleep(_) => CallKind::Sleep,
            Call::WaitSignal { .. } => CallKind::WaitSignal,
            Call::Receive { .. } => CallKind::Receive,
            Call::Model(_) => CallKind::Model,
            Call::Spawn(_) => CallKind::Spawn,
            Call::Join { .. } => CallKind::Join,
            Call::Cancel { .. } => CallKind::Cancel,
            Call::ChildrenOf => CallKind::ChildrenOf,
            Call::Status(_) => CallKind::Status,
            Call::Ask { .. } => CallKind::Ask,
            Call::Reply { .. } => CallKind::Reply,
            Call::Emit { .. } => CallKind::Emit,
            Call::Follow(_) => CallKind::Follow,
            Call::Unfollow(_) => CallKind::Unfollow,
            Call::Now => CallKind::Now,
            Call::Random => CallKind::Random,
            Call::Uuid => CallKind::Uuid,
            Call::Log(_) => CallKind::Log,
            Call::Version(_) => CallKind::Version,
        }
    }

    /// The digest of its arguments; of an effect the effect's id.
    pub(super) fn digest(&self, run: RunId, step: Step) -> Digest {
        let mut text = Arguments::new();
        match self {
            Call::Effect(effect) => return Digest(Effect::make_id(run, step, &effect.kind, &effect.args).0),
            Call::Send { to, data } => {
                text.json("data", data);
                text.string("to", to.as_str());
            }
            Call::Signal { run, name, payload } => {
                text.string("name", name);
                text.json("payload", payload);
                text.string("run", &run.to_string());
            }
            Call::Sleep(span) => text.limit(Some(*span)),
            Call::WaitSignal { name, limit } => {
                text.limit(*limit);
                text.string("name", name);
            }
            Call::Receive { max, limit } => {
                text.limit(*limit);
                text.json("max", &json!(max));
            }
            Call::Model(model) => return Digest(Effect::make_id(run, step, &model.model, &model.args).0),
            Call::Spawn(spawn) => {
                text.json("boot", &spawn.boot);
                match &spawn.target {
                    SpawnTarget::At(agent) => text.string("child", agent.as_str()),
                    SpawnTarget::OfType(agent) => text.string("child_type", agent.kind()),
                }
                text.plain("supervision", &spawn.supervision);
            }
            Call::Join { child, limit } => {
                text.string("child", &child.run_id.to_string());
                text.limit(*limit);
            }
            Call::Cancel { child, reason } => {
                text.string("child", &child.run_id.to_string());
                text.string("reason", reason);
            }
            Call::Status(handle) => text.string("run", &handle.run_id.to_string()),
            Call::Ask { to, data, limit } => {
                text.json("data", data);
                text.limit(Some(*limit));
                text.string("to", to.as_str());
            }
            Call::Reply { question, answer } => {
                text.json("answer", answer);
                text.string("question", &question.id);
            }
            Call::Emit { topic, data } => {
                text.json("data", data);
                text.string("topic", topic.as_str());
            }
            Call::Follow(topic) | Call::Unfollow(topic) => text.string("topic", topic.as_str()),
            Call::Now | Call::Random | Call::Uuid | Call::ChildrenOf => {}
            Call::Log(data) => text.json("data", data),
            Call::Version(change) => text.string("change", change),
        }
        text.digest()
    }
}

/// The canonical text of a call's arguments, as it is written member by member.
struct Arguments(String);

impl Arguments {
    fn new() -> Self {
        Arguments(String::from("{"))
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        write_string(key, &mut self.0);
        self.0.push(':');
    }

    fn json(&mut self, key: &str, value: &serde_json::Value) {
        self.key(key);
        write_canonical(value, &mut self.0);
    }

    /// A piece of plain data, as it is serialised.
    fn plain(&mut self, key: &str, value: &impl serde::Serialize) {
        self.json(key, &serde_json::to_value(value).expect("plain data is a document"));
    }

    fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        write_string(value, &mut self.0);
    }

    fn limit(&mut self, limit: Option<Span>) {
        match limit {
            Some(limit) => self.string("limit", &limit.to_string()),
            None => self.json("limit", &serde_json::Value::Null),
        }
    }

    fn digest(mut self) -> Digest {
        self.0.push('}');
        Digest(first_64_bits(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_the_layout_of_version_4() {
        assert_eq!(uuid_v4(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid_v4(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn the_digest_is_that_of_the_canonical_arguments_and_differs_with_each() {
        let run = RunId::from_parts(1, 2);
        let send = |to: &str, data| Call::Send { to: to.parse().unwrap(), data: Json::new(data) };
        let digest = |call: Call| call.digest(run, Step(0)).0;
        let arguments = Json::new(json!({"to": "a", "data": {"x": 1}}));
        assert_eq!(digest(send("a", json!({"x": 1}))), arguments.digest());
        assert_ne!(digest(send("b", json!({"x": 1}))), arguments.digest());
        assert_ne!(digest(send("a", json!({"x": 2}))), arguments.digest());
        let limit = |secs| digest(Call::Receive { max: 1, limit: Some(Span::from_secs(secs)) });
        assert_ne!(limit(1), limit(2));
        assert_ne!(digest(Call::Receive { max: 1, limit: None }), digest(Call::Receive { max: 2, limit: None }));
    }
}
