//! The scripted agent: an interpreter over the runtime's public face. It keeps nothing of its own: every lease
//! plays the script from its beginning, and the run's log gives the answers.

use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::model::Alias;
use super::script::{Address, EffectStep, Node, Op, Reference, Script, Slot, Source, Target, Template, Test, While};
use crate::kernel::{AgentId, Attempt, Effect, Json, Message, RunId, Step, Task};
use crate::runtime::{Agent, AgentError, Call, Context, EffectCall, StepError};

/// What a scripted agent asks of, and tells to, the world around the worker it runs on.
pub trait Stage {
    /// The agent is entered with this batch.
    fn entered(&self, run: RunId, attempt: Attempt, batch: &[Message]);

    /// A call of the context gave this to the agent: a value, or an error as `{"error": code}`.
    fn gave(&self, run: RunId, attempt: Attempt, step: Step, value: &Json);

    /// Kills the worker at once, or marks it as dead; the agent then awaits for ever.
    fn die(&self);

    /// The id of the run of this name.
    fn run_id(&self, alias: &Alias) -> RunId;
}

/// The agent that does what `script` says, on `stage`.
pub fn scripted(script: Arc<Script>, stage: Rc<dyn Stage>) -> Rc<dyn Agent> {
    Rc::new(Scripted { script, stage })
}

struct Scripted {
    script: Arc<Script>,
    stage: Rc<dyn Stage>,
}

impl Agent for Scripted {
    fn run(&self, ctx: Context, inbox: Vec<Message>) -> Task<Result<Json, AgentError>> {
        let script = self.script.clone();
        let inbox_json = if script.reads_inbox { document(&inbox) } else { Json::null() };
        let (run, attempt) = (ctx.run_id(), ctx.attempt());
        let slots = vec![Json::null(); script.slots];
        let mut player = Player { ctx, run, attempt, stage: self.stage.clone(), slots, inbox: inbox_json };
        Box::pin(async move {
            player.stage.entered(run, attempt, &inbox);
            drop(inbox);
            let output = player.steps(&script.steps).await?;
            Ok(output.unwrap_or_else(Json::null))
        })
    }
}

/// One play of a script.
struct Player {
    ctx: Context,
    run: RunId,
    attempt: Attempt,
    stage: Rc<dyn Stage>,
    slots: Vec<Json>,
    inbox: Json,
}

/// The output of a script that has completed, or nothing yet.
type Played = Result<Option<Json>, AgentError>;

fn document<T: serde::Serialize>(value: &T) -> Json {
    Json::new(serde_json::to_value(value).expect("messages and signals are documents"))
}

impl Player {
    async fn steps(&mut self, block: &[Node]) -> Played {
        for node in block {
            let output = match self.node(node).await {
                Err(AgentError::Step(error)) => self.recover(node, error).await?,
                other => other?,
            };
            if output.is_some() {
                return Ok(output);
            }
        }
        Ok(None)
    }

    /// Steps within a step. Apart, so that a flat script needs one allocation for all of its steps.
    fn nested<'a>(&'a mut self, block: &'a [Node]) -> Pin<Box<dyn Future<Output = Played> + 'a>> {
        Box::pin(self.steps(block))
    }

    async fn node(&mut self, node: &Node) -> Played {
        match &node.op {
            Op::Check => self.ctx.check().map(|()| None).map_err(AgentError::Step),
            Op::Complete(output) => self.fill(output).map(Some),
            Op::Fail { error, when } if self.is_time(*when) => Err(AgentError::Own(error.to_string())),
            Op::Die(when) if self.is_time(*when) => {
                self.stage.die();
                pending().await
            }
            // The panic of an agent is the runtime's to catch; the hook that prints panics is left out.
            Op::Panic(when) if self.is_time(*when) => std::panic::resume_unwind(Box::new("scripted panic")),
            Op::Fail { .. } | Op::Die(_) | Op::Panic(_) => Ok(None),
            Op::If { .. } | Op::Repeat { .. } | Op::ForEach { .. } | Op::ByAttempt(_) => self.flow(&node.op).await,
            Op::All(members) => self.group(members, node.save).await,
            op => self.single(op, node.save).await,
        }
    }

    /// What the script does about an error of a step.
    async fn recover(&mut self, node: &Node, error: StepError) -> Played {
        let code = error.code();
        let branch = node.on_error.as_ref().and_then(|branches| {
            let case = branches.cases.iter().find(|(wanted, _)| wanted.as_str() == code);
            case.map(|(_, block)| block).or(branches.otherwise.as_ref())
        });
        let Some(block) = branch else { return Err(AgentError::Step(error)) };
        self.save(node.save, || told(&error));
        self.nested(block).await
    }

    async fn flow(&mut self, op: &Op) -> Played {
        match op {
            Op::If { value, test, then, otherwise } => {
                let holds = holds(test, self.find(value).as_deref().unwrap_or(&Value::Null));
                self.nested(if holds { then } else { otherwise }).await
            }
            Op::Repeat { times, index, block } => {
                for round in 0..*times {
                    self.slots[*index] = Json::new(round.into());
                    if let Some(output) = self.nested(block).await? {
                        return Ok(Some(output));
                    }
                }
                Ok(None)
            }
            Op::ForEach { list, item, index, block } => {
                let items = self.need(list)?;
                let Value::Array(items) = &*items else { return Err(wrong(list, "a list")) };
                for (round, each) in items.iter().enumerate() {
                    self.slots[*index] = Json::new(round.into());
                    self.slots[*item] = Json::new(each.clone());
                    if let Some(output) = self.nested(block).await? {
                        return Ok(Some(output));
                    }
                }
                Ok(None)
            }
            Op::ByAttempt(ways) => {
                let way = (self.attempt.0 as usize).min(ways.len() - 1);
                self.nested(&ways[way]).await
            }
            other => unreachable!("{other:?} is no flow"),
        }
    }

    /// A single call of the context.
    async fn single(&mut self, op: &Op, save: Option<Slot>) -> Played {
        let call = self.call(op)?;
        let first = self.ctx.steps_taken();
        let result = self.make(call).await;
        // A call with several tries has taken several steps; the last gave the result. One that was barred
        // has taken none.
        let step = Step(self.ctx.steps_taken().0.saturating_sub(1)).max(first);
        let value = match result {
            Ok(value) => value,
            Err(error) => {
                self.stage.gave(self.run, self.attempt, step, &told(&error));
                return Err(AgentError::Step(error));
            }
        };
        self.stage.gave(self.run, self.attempt, step, &value);
        self.save(save, || value);
        Ok(None)
    }

    async fn make(&self, call: Call) -> Result<Json, StepError> {
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

    async fn group(&mut self, members: &[Node], save: Option<Slot>) -> Played {
        let calls = members.iter().map(|member| self.call(&member.op)).collect::<Result<Vec<_>, _>>()?;
        let first = self.ctx.steps_taken();
        match self.ctx.all(calls).await {
            Ok(values) => {
                for (step, value) in (first.0..).map(Step).zip(&values) {
                    self.stage.gave(self.run, self.attempt, step, value);
                }
                self.save(save, || Json::new(values.iter().map(|value| (**value).clone()).collect()));
                Ok(None)
            }
            Err(error) => {
                let step = self.member_of(&error, first, members).unwrap_or(first);
                self.stage.gave(self.run, self.attempt, step, &told(&error));
                Err(AgentError::Step(error))
            }
        }
    }

    /// The step of the group's member that raised an error about its effect.
    fn member_of(&self, error: &StepError, first: Step, members: &[Node]) -> Option<Step> {
        let (StepError::Refused { effect_id, .. } | StepError::InDoubt { effect_id }) = error else { return None };
        let mut steps = (first.0..).map(Step).zip(members);
        let raised = steps.find(|(step, member)| match &member.op {
            Op::Effect(effect) => {
                let args = self.fill(&effect.args);
                args.is_ok_and(|args| Effect::make_id(self.run, *step, &effect.kind, &args) == *effect_id)
            }
            _ => false,
        });
        raised.map(|(step, _)| step)
    }

    /// The call that a step makes, its references filled in.
    fn call(&self, op: &Op) -> Result<Call, AgentError> {
        Ok(match op {
            Op::Effect(effect) => Call::Effect(self.effect_call(effect)?),
            Op::Send { to, data } => Call::Send { to: self.address(to)?, data: self.fill(data)? },
            Op::Signal { name, to, data } => {
                Call::Signal { run: self.target(to)?, name: name.clone(), payload: self.fill(data)? }
            }
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

    fn address(&self, to: &Address) -> Result<AgentId, AgentError> {
        match to {
            Address::Fixed(agent) => Ok(agent.clone()),
            Address::Reference(reference) => {
                let value = self.need(reference)?;
                let agent = value.as_str().and_then(|text| text.parse().ok());
                agent.ok_or_else(|| wrong(reference, "an agent's address"))
            }
        }
    }

    fn target(&self, to: &Target) -> Result<RunId, AgentError> {
        match to {
            Target::Alias(alias) => Ok(self.stage.run_id(alias)),
            Target::Reference(reference) => {
                let value = self.need(reference)?;
                let run = value.as_str().and_then(|text| text.parse().ok());
                run.ok_or_else(|| wrong(reference, "a run's id"))
            }
        }
    }

    fn save(&mut self, slot: Option<Slot>, value: impl FnOnce() -> Json) {
        if let Some(slot) = slot {
            self.slots[slot] = value();
        }
    }

    fn is_time(&self, when: While) -> bool {
        when.first.is_none_or(|leases| self.attempt.0 < leases)
            && when.failures.is_none_or(|failures| self.ctx.failures() < failures)
    }

    /// A template with its references filled in; one that finds nothing is an error of the agent.
    fn fill(&self, template: &Template) -> Result<Json, AgentError> {
        match template {
            Template::Fixed(json) => Ok(json.clone()),
            Template::Reference(reference) => self.need(reference),
            open => self.fill_value(open).map(Json::new),
        }
    }

    fn fill_value(&self, template: &Template) -> Result<Value, AgentError> {
        Ok(match template {
            Template::Fixed(json) => (**json).clone(),
            Template::Reference(reference) => (*self.need(reference)?).clone(),
            Template::List(items) => items.iter().map(|item| self.fill_value(item)).collect::<Result<_, _>>()?,
            Template::Object(members) => {
                let filled = members.iter().map(|(key, value)| Ok((key.clone(), self.fill_value(value)?)));
                Value::Object(filled.collect::<Result<Map<_, _>, AgentError>>()?)
            }
        })
    }

    fn need(&self, reference: &Reference) -> Result<Json, AgentError> {
        self.find(reference).ok_or_else(|| AgentError::Own(format!("`{}` finds nothing", reference.text)))
    }

    fn find(&self, reference: &Reference) -> Option<Json> {
        let root = match reference.from {
            Source::Slot(slot) => self.slots[slot].clone(),
            Source::Inbox => self.inbox.clone(),
            Source::Run => Json::new(self.run.to_string().into()),
            Source::Agent => Json::new(self.ctx.agent_id().as_str().into()),
            Source::AgentKey => Json::new(self.ctx.agent_id().key().into()),
            Source::Attempt => Json::new(self.attempt.0.into()),
        };
        if reference.path.is_empty() {
            return Some(root);
        }
        let found = reference.path.iter().try_fold(&*root, |value, key| match value {
            Value::Object(members) => members.get(&key.name),
            Value::Array(items) => items.get(key.index?),
            _ => None,
        });
        found.map(|value| Json::new(value.clone()))
    }
}

/// An error as a script sees it.
fn told(error: &StepError) -> Json {
    Json::new(json!({ "error": error.code() }))
}

fn wrong(reference: &Reference, wanted: &str) -> AgentError {
    AgentError::Own(format!("`{}` is not {wanted}", reference.text))
}

fn holds(test: &Test, value: &Value) -> bool {
    match test {
        Test::Is(wanted) => *value == **wanted,
        Test::IsNot(wanted) => *value != **wanted,
        Test::Below(bound) => value.as_i64().is_some_and(|number| number < *bound),
        Test::Above(bound) => value.as_i64().is_some_and(|number| number > *bound),
        Test::Exists(wanted) => value.is_null() != *wanted,
    }
}

#[cfg(test)]
mod tests;
