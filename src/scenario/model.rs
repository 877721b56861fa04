//! A scenario as data: all validated, nothing left to look up.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::code::{Code, Make};
use super::expect::Expectation;
use super::format::ScenarioError;
use crate::kernel::{
    AgentId, IdError, Json, Limits, Message, MessageId, Name, RunRetryPolicy, Span, SpawnBudget, SpecDefaults,
    Timestamp, TopicId, Version,
};
use crate::runtime::Agent;
use crate::sim::{Deviation, Faults, Tool};
use crate::tempo::Settings;

/// The agent type of the probe that is sent after healing; scenario files may not define it.
pub const PROBE: &str = "probe";

/// A run's name in a scenario: the address of its agent and its number there, from 1, as `billing#1`.
///
/// ```
/// use chronodrome::scenario::Alias;
/// let alias: Alias = "billing/ann#2".parse().unwrap();
/// assert_eq!((alias.agent.kind(), alias.nth), ("billing", 2));
/// assert!("billing#0".parse::<Alias>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alias {
    /// The address.
    pub agent: AgentId,
    /// Which run at the address, from 1.
    pub nth: u32,
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.agent, self.nth)
    }
}

impl FromStr for Alias {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError {
            text: text.to_owned(),
            wanted: "a run: its agent's address, `#` and a number, like `billing#1`",
        };
        let (agent, nth) = text.rsplit_once('#').ok_or_else(error)?;
        let agent: AgentId = agent.parse().map_err(|_| error())?;
        let digits = nth.bytes().all(|byte| byte.is_ascii_digit()) && !nth.starts_with('0');
        let nth = nth.parse().ok().filter(|nth| digits && *nth > 0).ok_or_else(error)?;
        Ok(Alias { agent, nth })
    }
}

/// How the machine under test is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// The workers' names, at least one.
    pub workers: Vec<Name>,
    /// How long a lease is asked for.
    pub lease: Span,
    /// The workers' poll tick.
    pub poll: Span,
    /// How many runs a worker takes at once.
    pub capacity: u32,
    /// What happens when an agent fails, unless its agent says otherwise.
    pub retry: RunRetryPolicy,
    /// Leases in a row that may run out before a run is poisoned.
    pub max_lost_leases: u32,
    /// The most messages of a first drain, unless the agent says otherwise.
    pub batch: u32,
    /// How many runs a tree may have, unless the agent of its root says otherwise.
    pub spawn_budget: SpawnBudget,
    /// How much a tree may spend, unless the agent of its root says otherwise.
    pub limits: Limits,
    /// How long a call of the store takes in the calm schedule, there and back.
    pub store_latency: Span,
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        RuntimeSettings {
            workers: vec!["w1".into(), "w2".into()],
            lease: Span::from_secs(30),
            poll: Span::from_millis(50),
            capacity: 10,
            retry: RunRetryPolicy::default(),
            max_lost_leases: 10,
            batch: 100,
            spawn_budget: SpawnBudget::default(),
            limits: Limits::default(),
            store_latency: Span::from_millis(2),
        }
    }
}

/// An agent type: its code and what its runs are made with.
#[derive(Clone, Debug)]
pub struct AgentType {
    /// The version that it is registered under at the start.
    pub version: Version,
    /// What its runs are made with.
    pub defaults: SpecDefaults,
    /// What it does.
    pub code: Code,
}

/// Something that comes from outside at a time.
#[derive(Clone, Debug)]
pub struct Input {
    /// When: this long after the world's start.
    pub at: Span,
    /// What.
    pub does: Act,
}

/// What an input does.
#[derive(Clone, Debug)]
pub enum Act {
    /// Delivers a message. One given `again` stands in the list once per delivery, under the same id.
    Message {
        /// The receiver.
        to: AgentId,
        /// The message.
        message: Message,
    },
    /// Signals a run.
    Signal {
        /// The run.
        to: Alias,
        /// The signal's name.
        name: Name,
        /// Its data.
        data: Json,
        /// Its id: a run accepts each once.
        id: Name,
    },
    /// Cancels a run.
    Cancel {
        /// The run.
        run: Alias,
        /// Why.
        reason: Name,
    },
    /// Brings a dead letter back, in the life that stands when the input is carried out.
    Redrive {
        /// The mailbox.
        agent: AgentId,
        /// The message.
        message: MessageId,
    },
    /// Ends the halt of a run.
    Resume {
        /// The run.
        run: Alias,
    },
    /// Follows the log of a run until it is closed.
    Tail {
        /// The run.
        run: Alias,
        /// When the reader drops what it waits for and goes on behind the last entry that it saw: this long
        /// after the world's start, in order.
        cuts: Vec<Span>,
    },
    /// An agent follows a topic from now on, or does so no more. The time of the input is the time of the store that counts:
    /// of two inputs about one agent and topic the later one stands, whichever arrives first.
    Follow {
        /// Who.
        agent: AgentId,
        /// What.
        topic: TopicId,
        /// Whether it begins or ends.
        begins: bool,
    },
    /// Stops a worker gracefully.
    Stop {
        /// The worker.
        worker: Name,
        /// How long after it has stopped it starts anew.
        restart: Span,
    },
    /// Makes a user known, with the settings that the scenario has for him.
    Configure {
        /// The user.
        user: Name,
    },
    /// Asks something of a user's desk: plans, feedback, memory. A user who is not configured yet is waited for.
    Desk {
        /// The user.
        user: Name,
        /// In whose name.
        by: Name,
        /// What.
        asks: DeskCall,
    },
    /// Gives an agent type new code under a higher version.
    Version {
        /// The type.
        agent: Name,
        /// The new version, higher than every one before.
        version: Version,
        /// The new code.
        code: Code,
        /// What its runs are made with from now on.
        defaults: SpecDefaults,
    },
}

/// What is asked of a user's desk.
#[derive(Clone, Debug)]
pub enum DeskCall {
    /// A plan is proposed.
    Propose {
        /// The `agent_plan` document.
        plan: Json,
    },
    /// A plan is approved.
    Approve {
        /// The plan.
        uid: Name,
    },
    /// A plan is rejected.
    Reject {
        /// The plan.
        uid: Name,
        /// Why.
        reason: Name,
    },
    /// A plan that awaits approval becomes another one.
    Edit {
        /// The plan.
        uid: Name,
        /// The id of the edit.
        id: Name,
        /// The fields that differ, with their values from now on.
        set: Json,
    },
    /// An executed occurrence is judged.
    Feedback {
        /// The feedback document.
        feedback: Json,
    },
    /// A memory trace from outside is kept.
    Remember {
        /// The memory trace.
        trace: Json,
    },
}

/// A scenario: a world, what comes in, what may go wrong, what is expected.
///
/// It comes from [`Scenario::parse`] or [`Scenario::load`] only with every reference resolved and every id
/// unique. Plain data: it may be shared between threads.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: Name,
    /// What it is about, in a sentence.
    pub about: Name,
    /// When the world starts.
    pub start: Timestamp,
    /// How the machine under test is set up.
    pub runtime: RuntimeSettings,
    /// The tools of the outside world; a tool that no script uses may stand here, too.
    pub outside: BTreeMap<Name, Tool>,
    /// The agent types.
    pub agents: BTreeMap<Name, AgentType>,
    /// The users whose plans there are, with what holds for them.
    pub users: BTreeMap<Name, Settings>,
    /// What comes in, in order of time; of the same instant, in order of the file, a `load` last. Behind all of it stands,
    /// for each user, the input that makes him known at the start.
    pub inputs: Vec<Input>,
    /// A seed of latencies other than the calm ones; they belong to the world, as its inputs do, and to no schedule.
    pub latencies: Option<u64>,
    /// What may go wrong; nothing where `deviations` are given.
    pub faults: Faults,
    /// What does go wrong, and nothing else: the file is a regression.
    pub deviations: Option<Vec<Deviation>>,
    /// What must hold in every schedule.
    pub expect: Vec<Expectation>,
    /// What must hold in the calm schedule besides.
    pub expect_calm: Vec<Expectation>,
    /// The promise that a regression broke when it was written: an invariant, or the text of an expectation.
    pub violates: Option<Name>,
    /// The version of chronodrome that wrote the file.
    pub written_by: Option<Name>,
    /// The file's document as it was read.
    pub document: Json,
}

impl Scenario {
    /// Gives the agent type `kind` Rust code, made anew by `make` for each worker that starts. In the file stands
    /// `"rust"`, or an object with `"rust": true` and what else an agent has; where a script stands, the code takes its
    /// place.
    ///
    /// ```
    /// use chronodrome::kernel::{Json, Message};
    /// use chronodrome::runtime::{AgentError, Context, EffectCall};
    /// use chronodrome::scenario::Scenario;
    /// use chronodrome::sim::Schedule;
    /// use serde_json::json;
    ///
    /// async fn billing(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    ///     Ok(ctx.effect(EffectCall::new("stripe.charge", json!({"amount": 100}))).await?)
    /// }
    /// let text = r#"{
    ///     "name": "charge-card",
    ///     "outside": { "stripe.charge": {} },
    ///     "agents": { "billing": "rust" },
    ///     "inputs": [ { "to": "billing", "id": "order-1" } ],
    ///     "expect": [ { "effect": "stripe.charge", "happened": 1 } ]
    /// }"#;
    /// let scenario = Scenario::parse(text, "charge-card.json").unwrap().with_agent("billing", || billing).unwrap();
    /// assert!(scenario.run(&Schedule::Calm).held());
    /// ```
    ///
    /// # Errors
    /// When the scenario has no such agent type.
    pub fn with_agent<A: Agent + 'static>(
        self,
        kind: &str,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> Result<Scenario, UnknownAgentType> {
        self.with_code(kind, Make::new(make))
    }

    /// As [`Scenario::with_agent`], for code that several scenarios share.
    ///
    /// # Errors
    /// When the scenario has no such agent type.
    pub fn with_code(mut self, kind: &str, make: Make) -> Result<Scenario, UnknownAgentType> {
        let Some(agent) = self.agents.get_mut(kind) else {
            let known = self.agents.keys().map(ToString::to_string).collect();
            return Err(UnknownAgentType { kind: kind.to_owned(), known });
        };
        agent.code = Code::Rust(Some(make));
        Ok(self)
    }

    /// The first agent type that is Rust code which nobody has given: the scenario cannot be played without.
    pub fn without_code(&self) -> Option<&Name> {
        let missing = |agent: &AgentType| matches!(agent.code, Code::Rust(None));
        self.agents.iter().find(|(_, agent)| missing(agent)).map(|(kind, _)| kind)
    }

    /// Another document of the same cast: what it says, with the Rust code of this scenario's agents.
    ///
    /// # Errors
    /// When it is no valid scenario.
    pub fn reread(&self, document: &serde_json::Value) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario::of_document(document)?;
        for (kind, agent) in &mut scenario.agents {
            if let Some(AgentType { code: code @ Code::Rust(Some(_)), .. }) = self.agents.get(kind) {
                agent.code = code.clone();
            }
        }
        Ok(scenario)
    }

    /// The same world with other latencies of its calls: each between half and sixteen times the calm one, as `seed`
    /// and the call's site say. What is expected of the calm schedule is not expected of it.
    #[must_use]
    pub fn with_latencies(&self, seed: u64) -> Scenario {
        let mut document = (*self.document).clone();
        if let serde_json::Value::Object(members) = &mut document {
            members.insert("latencies".to_owned(), seed.into());
        }
        Scenario { latencies: Some(seed), document: Json::new(document), ..self.clone() }
    }
}

/// There is no agent type of this name in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scenario has no agent type `{kind}`; it has {}", known.join(", "))]
pub struct UnknownAgentType {
    /// The name.
    pub kind: String,
    /// The names that there are.
    pub known: Vec<String>,
}
