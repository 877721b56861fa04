//! A scenario as data: all validated, nothing left to look up.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::expect::Expectation;
use super::script::Script;
use crate::kernel::{
    AgentId, IdError, Json, Message, MessageId, Name, RunRetryPolicy, Span, SpecDefaults, Timestamp, Version,
};
use crate::sim::{Deviation, Faults, Tool};

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
            store_latency: Span::from_millis(2),
        }
    }
}

/// An agent type: its script and what its runs are made with.
#[derive(Clone, Debug)]
pub struct AgentScript {
    /// The version that it is registered under at the start.
    pub version: Version,
    /// What its runs are made with.
    pub defaults: SpecDefaults,
    /// What it does.
    pub script: Arc<Script>,
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
    /// Stops a worker gracefully.
    Stop {
        /// The worker.
        worker: Name,
        /// How long after it has stopped it starts anew.
        restart: Span,
    },
    /// Gives an agent type new code under a higher version.
    Version {
        /// The type.
        agent: Name,
        /// The new version, higher than every one before.
        version: Version,
        /// What the new code does.
        script: Arc<Script>,
        /// What its runs are made with from now on.
        defaults: SpecDefaults,
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
    pub agents: BTreeMap<Name, AgentScript>,
    /// What comes in, in order of time; of the same instant, in order of the file, a `load` last.
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
    /// The invariant that a regression violated when it was written.
    pub violates: Option<Name>,
    /// The version of chronodrome that wrote the file.
    pub written_by: Option<Name>,
    /// The file's document as it was read.
    pub document: Json,
}

impl Scenario {
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
