//! Steps: how a call of the context gets its number, is found again in the log or announced in it, and ends.

use serde_json::json;

use std::fmt::Write as _;
use std::sync::Arc;

use super::context::SpawnTarget;
use super::pace::yield_once;
use super::seat::{Outcome, Seat};
use super::{Call, ReceivedSignal, StepError, epilogue};
use crate::kernel::json::{first_64_bits, write_canonical, write_string};
use crate::kernel::{
    Body, CallKind, Digest, Effect, EffectId, Group, Json, Message, Name, Opening, RunId, Span, Step, Timestamp, Wait,
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

impl Seat {
    /// Makes a single call.
    pub async fn one(&self, call: Call) -> Result<Given, StepError> {
        let begun = self.begin(1).await?;
        let finish = match self.open(begun.first, None, &call).await {
            Ok(fresh) => self.finish(begun.first, &call, fresh).await,
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

    /// Finds the entry that begins a step, or appends it. True when it was appended now: nothing has been done
    /// for the step yet.
    pub async fn open(&self, step: Step, group: Option<Group>, call: &Call) -> Result<bool, StepError> {
        let run = self.hold.run();
        let opening = Opening { step, group, call: call.kind(), digest: call.digest(run, step) };
        if self.is_recorded(&opening).await {
            yield_once().await;
            return Ok(false);
        }
        let body = Arc::new(self.announcement(opening, call));
        loop {
            self.check()?;
            if self.hold.append(&body).await.is_some() {
                return Ok(true);
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

    /// The entry that begins the step.
    fn announcement(&self, opening: Opening, call: &Call) -> Body {
        let run = self.hold.run();
        let id = || Name::from(format!("{run}.{}", opening.step));
        let random = || self.hold.floor.host.random(run, opening.step);
        let value = match call {
            Call::Effect(effect) => {
                let (id, kind, spec) = (EffectId(opening.digest.0), effect.kind.clone(), effect.args.clone());
                return Body::ToolCalled { opening, effect: Effect { id, kind, spec }, policy: effect.policy };
            }
            Call::Send { to, data } => {
                let sender = self.hold.lease.spec.agent.clone();
                let message = Message { id: id(), sender, data: data.clone(), correlation: None, reply_to: None };
                return Body::MessageSent { opening, to: to.clone(), message };
            }
            Call::Sleep(span) => return Body::TimerSet { opening, limit: Some(*span), child: None },
            Call::WaitSignal { limit, .. } | Call::Receive { limit, .. } => {
                return Body::TimerSet { opening, limit: *limit, child: None };
            }
            Call::Signal { run, name, payload } => {
                Json::new(json!({ "run": run.to_string(), "name": &**name, "payload": &**payload, "id": &*id() }))
            }
            Call::Now => Json::null(),
            Call::Model(_)
            | Call::Spawn(_)
            | Call::Join { .. }
            | Call::Cancel { .. }
            | Call::ChildrenOf
            | Call::Status(_)
            | Call::Ask { .. }
            | Call::Reply { .. }
            | Call::Emit { .. }
            | Call::Follow(_)
            | Call::Unfollow(_) => Json::null(),
            Call::Random => Json::new(json!(low_64_bits(random()))),
            Call::Uuid => Json::new(json!(uuid_v4(random()))),
            Call::Log(data) => data.clone(),
        };
        Body::StepValue { opening, value }
    }

    /// Does what a step that stands in the log still needs.
    pub async fn finish(&self, step: Step, call: &Call, fresh: bool) -> Finish {
        match call {
            Call::Effect(effect) => Finish::Ended(self.finish_effect(step, effect, fresh).await),
            Call::Sleep(_) | Call::WaitSignal { .. } | Call::Receive { .. } => self.finish_wait(step, call).await,
            Call::Send { .. } | Call::Signal { .. } => {
                epilogue::carry_out(&self.hold, step).await;
                Finish::Ended(Ok(self.given(step)))
            }
            _ => Finish::Ended(Ok(self.given(step))),
        }
    }

    /// What the log says that a step gave, effects apart.
    pub fn given(&self, step: Step) -> Given {
        let log = self.hold.log.borrow();
        let record = &log.steps[&step];
        match (&*record.body, record.result.as_deref()) {
            (Body::StepValue { opening, value }, _) => match opening.call {
                CallKind::Now => Given::Time(record.ts),
                CallKind::Random | CallKind::Uuid => Given::Value(value.clone()),
                _ => Given::Nothing,
            },
            (Body::MessageSent { message, .. }, _) => Given::Value(Json::new(json!(&*message.id))),
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

    /// Appends the entry that ends a step, unless the log holds one.
    pub async fn end_step(&self, step: Step, body: Body) {
        let body = Arc::new(body);
        while self.hold.log.borrow().result(step).is_none() {
            self.hold.append(&body).await;
        }
    }
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
                    SpawnTarget::OfType(kind) => text.string("child_type", kind),
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
