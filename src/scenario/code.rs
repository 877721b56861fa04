//! What an agent type does: the script of its file, or Rust code that a test brings along.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::agent::{Stage, scripted};
use super::script::Script;
use crate::kernel::{Json, Message, Task};
use crate::runtime::{Agent, AgentError, Context};

/// What an agent type does.
#[derive(Clone, Debug)]
pub enum Code {
    /// It plays a script.
    Script(Arc<Script>),
    /// It is written in Rust; nothing where the file says so and nobody has given it yet.
    Rust(Option<Make>),
}

/// Makes the agent, anew for each worker that starts: agents keep to one thread, and worlds are played on many.
#[derive(Clone)]
pub struct Make(Arc<dyn Fn() -> Rc<dyn Agent> + Send + Sync>);

impl Make {
    /// Agents that `make` makes.
    pub fn new<A: Agent + 'static>(make: impl Fn() -> A + Send + Sync + 'static) -> Make {
        Make(Arc::new(move || Rc::new(make())))
    }
}

impl fmt::Debug for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}

impl Code {
    /// The agent itself, on `stage`.
    ///
    /// # Panics
    /// When it is Rust code that nobody has given: [`Scenario::without_code`](super::Scenario::without_code) tells
    /// so beforehand.
    pub fn agent(&self, stage: Rc<dyn Stage>) -> Rc<dyn Agent> {
        match self {
            Code::Script(script) => scripted(script.clone(), stage),
            Code::Rust(Some(Make(make))) => Rc::new(Staged { agent: make(), stage }),
            Code::Rust(None) => panic!("an agent in Rust is played without its code"),
        }
    }
}

/// An agent in Rust, whose mail the history knows as it knows that of a script.
struct Staged {
    agent: Rc<dyn Agent>,
    stage: Rc<dyn Stage>,
}

impl Agent for Staged {
    fn run(&self, ctx: Context, inbox: Vec<Message>) -> Task<Result<Json, AgentError>> {
        let (agent, stage) = (self.agent.clone(), self.stage.clone());
        Box::pin(async move {
            stage.entered(ctx.run_id(), ctx.attempt(), &inbox);
            agent.run(ctx, inbox).await
        })
    }
}
