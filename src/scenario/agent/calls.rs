//! The calls of the context that a script's steps are.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::values::wrong;
use super::{Player, Stage, document};
use crate::kernel::{AgentId, Json, RunHandle, RunId, TopicId};
use crate::runtime::{AgentError, Call, EffectCall, ModelCall, SpawnCall, StepError};
use crate::scenario::model::Alias;
use crate::scenario::script::{Address, Child, EffectStep, ModelStep, Op, Reference, SpawnStep, Target, Topic};

impl Player {
    /// Makes a call; what it gives, as a document.
    pub(super) async fn make(&self, call: Call) -> Result<Json, StepError> {
        let ctx = &self.ctx;
        Ok(match call {
            Call::Effect(effect) => ctx.effect(effect).await?,
            Call::Send { to, data } => Json::new(Value::from(&*ctx.send(to, data).await?)),
            Call::Signal { run, name, payload } => {
                ctx.signal(run, name, payload).await?;
                Json::null()
            }
            Call::Sleep(span) => {
                ctx.sleep(span).await?;
                Json::null()
            }
            Call::WaitSignal { name, limit } => document(&ctx.wait_signal(name, limit).await?),
            Call::Receive { max, limit } => document(&ctx.receive(max, limit).await?),
            Call::Model(model) => ctx.model(model).await?,
            Call::Spawn(spawn) => document(&ctx.spawn(spawn).await?),
            Call::Join { child, limit } => document(&ctx.join(&child, limit).await?),
            Call::Cancel { child, reason } => {
                ctx.cancel(&child, reason).await?;
                Json::null()
            }
            Call::ChildrenOf => document(&ctx.children_of().await?),
            Call::Status(handle) => document(&ctx.status(&handle).await?),
            Call::Ask { to, data, limit } => document(&ctx.ask(to, data, limit).await?),
            Call::Reply { question, answer } => {
                ctx.reply(&question, answer).await?;
                Json::null()
            }
            Call::Emit { topic, data } => Json::new(Value::from(&*ctx.emit(topic, data).await?)),
            Call::Follow(topic) => {
                ctx.follow(topic).await?;
                Json::null()
            }
            Call::Unfollow(topic) => {
                ctx.unfollow(topic).await?;
                Json::null()
            }
            Call::Version(change) => Json::new(ctx.version(change).await?.into()),
            Call::Now => Json::new(ctx.now().await?.to_string().into()),
            Call::Random => Json::new(ctx.random().await?.into()),
            Call::Uuid => Json::new(ctx.uuid().await?.into()),
            Call::Log(data) => {
                ctx.log(data).await?;
                Json::null()
            }
        })
    }

    /// The call that a step makes, its references filled in.
    pub(super) fn call(&self, op: &Op) -> Result<Call, AgentError> {
        Ok(match op {
            Op::Effect(effect) => Call::Effect(self.effect_call(effect)?),
            Op::Send { to, data } => Call::Send { to: self.address(to)?, data: self.fill(data)? },
            Op::Signal { name, to, data } => {
                Call::Signal { run: self.target(to)?, name: name.clone(), payload: self.fill(data)? }
            }
            Op::Model(model) => Call::Model(self.model_call(model)?),
            Op::Spawn(spawn) => Call::Spawn(self.spawn_call(spawn)?),
            Op::Join { child, limit } => Call::Join { child: self.handle(child)?, limit: *limit },
            Op::Cancel { child, reason } => Call::Cancel { child: self.handle(child)?, reason: reason.clone() },
            Op::ChildrenOf => Call::ChildrenOf,
            Op::Status(run) => Call::Status(self.handle(run)?),
            Op::Ask { to, data, limit } => Call::Ask { to: self.address(to)?, data: self.fill(data)?, limit: *limit },
            Op::Reply { question, data } => {
                Call::Reply { question: self.document(question, "a message")?, answer: self.fill(data)? }
            }
            Op::Emit { topic, data } => Call::Emit { topic: self.topic(topic)?, data: self.fill(data)? },
            Op::Follow(topic) => Call::Follow(self.topic(topic)?),
            Op::Unfollow(topic) => Call::Unfollow(self.topic(topic)?),
            Op::Sleep(span) => Call::Sleep(*span),
            Op::WaitSignal { name, limit } => Call::WaitSignal { name: name.clone(), limit: *limit },
            Op::Receive { max, limit } => Call::Receive { max: *max, limit: *limit },
            Op::Log(data) => Call::Log(self.fill(data)?),
            Op::Now => Call::Now,
            Op::Random => Call::Random,
            Op::Uuid => Call::Uuid,
            other => unreachable!("{other:?} is no single call"),
        })
    }

    fn effect_call(&self, effect: &EffectStep) -> Result<EffectCall, AgentError> {
        let call = EffectCall::new(effect.kind.clone(), self.fill(&effect.args)?);
        Ok(call.policy(effect.policy).tries(effect.tries, effect.pause).limit(effect.limit))
    }

    fn model_call(&self, model: &ModelStep) -> Result<ModelCall, AgentError> {
        let call = ModelCall::new(model.model.clone(), self.fill(&model.args)?);
        let call = call.tries(model.tries, model.pause).limit(model.limit);
        Ok(if model.json { call.json() } else { call })
    }

    fn spawn_call(&self, spawn: &SpawnStep) -> Result<SpawnCall, AgentError> {
        let data = self.fill(&spawn.data)?;
        let call = match &spawn.child {
            Child::At(address) => SpawnCall::at(self.address(address)?, data),
            Child::OfType(kind) => SpawnCall::of_type(kind, data).expect("a type of the scenario is an agent type"),
        };
        Ok(call.supervision(spawn.supervision.clone()))
    }

    fn address(&self, to: &Address) -> Result<AgentId, AgentError> {
        match to {
            Address::Fixed(agent) => Ok(agent.clone()),
            Address::Reference(reference) => self.parsed(reference, "an agent's address"),
        }
    }

    fn topic(&self, topic: &Topic) -> Result<TopicId, AgentError> {
        match topic {
            Topic::Fixed(topic) => Ok(topic.clone()),
            Topic::Reference(reference) => self.parsed(reference, "a topic"),
        }
    }

    /// The id of a run, which a reference may give alone or in a handle.
    fn target(&self, to: &Target) -> Result<RunId, AgentError> {
        match to {
            Target::Alias(alias) => Ok(self.stage.run_id(alias)),
            Target::Reference(reference) if self.need(reference)?.is_object() => {
                self.document::<RunHandle>(reference, "the handle of a run").map(|handle| handle.run_id)
            }
            Target::Reference(reference) => self.parsed(reference, "a run's id"),
        }
    }

    fn handle(&self, run: &Target) -> Result<RunHandle, AgentError> {
        match run {
            Target::Alias(alias) => {
                let agent_id = address_of(alias, &*self.stage);
                Ok(RunHandle { run_id: self.stage.run_id(alias), agent_id, parent_run: None })
            }
            Target::Reference(reference) => self.document(reference, "the handle of a run"),
        }
    }

    /// What a reference leads to, read from its text.
    fn parsed<T: FromStr>(&self, reference: &Reference, wanted: &str) -> Result<T, AgentError> {
        let value = self.need(reference)?;
        value.as_str().and_then(|text| text.parse().ok()).ok_or_else(|| wrong(reference, wanted))
    }

    /// What a reference leads to, read from its document.
    fn document<T: DeserializeOwned>(&self, reference: &Reference, wanted: &str) -> Result<T, AgentError> {
        let value = self.need(reference)?;
        serde_json::from_value((*value).clone()).map_err(|_| wrong(reference, wanted))
    }
}

/// The address of the run of this name. That of a child spawned by type has its parent's id in it: `helper/boss#1.0#1`
/// lives at `helper/<id of boss#1>.0`.
fn address_of(alias: &Alias, stage: &dyn Stage) -> AgentId {
    let parent = alias.agent.key().rsplit_once('.').and_then(|(parent, step)| Some((parent.parse().ok()?, step)));
    let spawned = parent.map(|(parent, step)| format!("{}.{step}", stage.run_id(&parent)));
    let address = spawned.and_then(|key| AgentId::new(alias.agent.kind(), &key).ok());
    address.unwrap_or_else(|| alias.agent.clone())
}
