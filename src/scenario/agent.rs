//! The scripted agent: an interpreter over the runtime's public face. It keeps nothing of its own: every lease
//! plays the script from its beginning, and the run's log gives the answers.

mod calls;
mod values;

use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use super::model::Alias;
use super::script::{Node, Op, Script, Slot, Template, Test, While};
use crate::kernel::{Attempt, Effect, EffectId, Json, Message, RunId, Step, Task};
use crate::runtime::{Agent, AgentError, Context, StepError};

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
            Op::If { .. } | Op::Version { .. } | Op::Repeat { .. } | Op::ForEach { .. } | Op::ByAttempt(_) => {
                self.flow(&node.op).await
            }
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
            Op::Version { change, then, otherwise } => {
                let is_new = self.ctx.version(change.clone()).await.map_err(AgentError::Step)?;
                self.nested(if is_new { then } else { otherwise }).await
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
                let Value::Array(items) = &*items else { return Err(values::wrong(list, "a list")) };
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
        self.save(save, || seen(op, value));
        Ok(None)
    }

    async fn group(&mut self, members: &[Node], save: Option<Slot>) -> Played {
        let calls = members.iter().map(|member| self.call(&member.op)).collect::<Result<Vec<_>, _>>()?;
        let first = self.ctx.steps_taken();
        match self.ctx.all(calls).await {
            Ok(values) => {
                for (step, value) in (first.0..).map(Step).zip(&values) {
                    self.stage.gave(self.run, self.attempt, step, value);
                }
                let seen = members.iter().zip(values).map(|(member, value)| (*seen(&member.op, value)).clone());
                let values: Value = seen.collect();
                self.save(save, || Json::new(values));
                Ok(None)
            }
            Err(error) => {
                let step = self.member_of(&error, first, members).unwrap_or(first);
                self.stage.gave(self.run, self.attempt, step, &told(&error));
                Err(AgentError::Step(error))
            }
        }
    }

    /// The step of the group's member that raised an error: the first that may have.
    fn member_of(&self, error: &StepError, first: Step, members: &[Node]) -> Option<Step> {
        let mut steps = (first.0..).map(Step).zip(members);
        let raised = steps.find(|(step, member)| match (error, &member.op) {
            (
                StepError::Refused { effect_id, .. }
                | StepError::InDoubt { effect_id }
                | StepError::Malformed { effect_id },
                op,
            ) => match op {
                Op::Effect(effect) => self.is_effect(*effect_id, *step, &effect.kind, &effect.args),
                Op::Model(model) => self.is_effect(*effect_id, *step, &model.model, &model.args),
                _ => false,
            },
            (StepError::SpawnDenied { .. }, Op::Spawn(_))
            | (StepError::NotAChild { .. }, Op::Join { .. } | Op::Cancel { .. })
            | (StepError::UnknownRun { .. }, Op::Status(_))
            | (StepError::NotAQuestion { .. }, Op::Reply { .. })
            | (StepError::BudgetExhausted { .. }, Op::Model(_)) => true,
            _ => false,
        });
        raised.map(|(step, _)| step)
    }

    /// Whether an effect is that of a step of this kind and these arguments.
    fn is_effect(&self, wanted: EffectId, step: Step, kind: &str, args: &Template) -> bool {
        self.fill(args).is_ok_and(|args| Effect::make_id(self.run, step, kind, &args) == wanted)
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
}

/// The result of a call as the script sees it: a model's answer that must be a document has it beside its text.
fn seen(op: &Op, given: Json) -> Json {
    let Op::Model(model) = op else { return given };
    let document = given["text"].as_str().filter(|_| model.json).and_then(|text| serde_json::from_str(text).ok());
    let Some(document) = document else { return given };
    let mut seen: Value = (*given).clone();
    seen["json"] = document;
    Json::new(seen)
}

/// An error as a script sees it.
fn told(error: &StepError) -> Json {
    Json::new(json!({ "error": error.code() }))
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
