//! The durable spine: the entries of a run's log. The truth of a run is the fold of its log.
//!
//! In memory an entry's content is a typed [`Body`]; serialised it is `kind` and `payload` as the
//! requirement page has them. A kind that nobody knows is kept as it is ([`Body::Other`]).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::time::serde_as_text;
use super::{
    AgentId, ArtifactRef, Attempt, Effect, EffectId, EffectResult, IdError, Json, Message, Name, Policy, Received,
    RunId, RunResult, RunSpec, RunStatus, Seq, Span, Step, TRACE_KINDS, Timestamp, TopicId, TraceBody, Trigger,
    Version, Wait, Wakeup,
};

/// One immutable line of a run's log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunLogEntry {
    /// The run.
    pub run_id: RunId,
    /// Its place: 0, 1, 2, …
    #[serde(deserialize_with = "place")]
    pub seq: Seq,
    /// When the store applied the append, by the store's clock.
    pub ts: Timestamp,
    /// What is said: `kind` and `payload`.
    #[serde(flatten)]
    pub body: Arc<Body>,
}

/// Reads the place of an entry, which [`Seq::EMPTY`] is not.
fn place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Seq, D::Error> {
    let seq = Seq::deserialize(deserializer)?;
    if seq < Seq::FIRST { Err(de::Error::custom("the place of an entry is at least 0")) } else { Ok(seq) }
}

impl RunLogEntry {
    /// The dot-namespaced kind, as `tool.called`.
    pub fn kind(&self) -> &str {
        self.body.kind()
    }
}

/// Which call of the agent context a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the context's method of the same name")]
pub enum CallKind {
    Effect,
    Model,
    Spawn,
    Join,
    Ask,
    Reply,
    Send,
    Emit,
    Follow,
    Unfollow,
    Sleep,
    WaitSignal,
    Receive,
    Signal,
    Status,
    Cancel,
    Log,
    Now,
    Random,
    Uuid,
    Version,
    ChildrenOf,
}

impl CallKind {
    /// The call's name, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            CallKind::Effect => "effect",
            CallKind::Model => "model",
            CallKind::Spawn => "spawn",
            CallKind::Join => "join",
            CallKind::Ask => "ask",
            CallKind::Reply => "reply",
            CallKind::Send => "send",
            CallKind::Emit => "emit",
            CallKind::Follow => "follow",
            CallKind::Unfollow => "unfollow",
            CallKind::Sleep => "sleep",
            CallKind::WaitSignal => "wait_signal",
            CallKind::Receive => "receive",
            CallKind::Signal => "signal",
            CallKind::Status => "status",
            CallKind::Cancel => "cancel",
            CallKind::Log => "log",
            CallKind::Now => "now",
            CallKind::Random => "random",
            CallKind::Uuid => "uuid",
            CallKind::Version => "version",
            CallKind::ChildrenOf => "children_of",
        }
    }
}

/// The digest of a step's arguments: 16 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u64);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        text.parse::<EffectId>().map(|id| Digest(id.0))
    }
}

serde_as_text!(Digest);

/// The group of single calls (`ctx.all`) that a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Group {
    /// The step of its first member.
    pub first: Step,
    /// How many members it has.
    pub size: u32,
}

/// What begins every step: with it a replay recognises the step as its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Opening {
    /// The step.
    pub step: Step,
    /// Its group, inside `ctx.all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Which call it is.
    pub call: CallKind,
    /// The digest of the call's arguments; of an effect its id.
    pub digest: Digest,
}

/// The first entry of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseEntry {
    /// The run's address.
    pub agent: AgentId,
    /// The version of the agent's code.
    pub version: Version,
    /// Which lease it is.
    pub attempt: Attempt,
    /// What made the run pending.
    pub woken_by: Vec<Trigger>,
}

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// Its agent returned an error, or panicked, more often than it may.
    AgentCrashed,
    /// The agent let the refusal of an effect through.
    EffectRefused,
    /// The agent let the doubt about an effect through.
    EffectInDoubt,
    /// The agent opened a step while another was open.
    OverlappingSteps,
    /// The agent dropped a step that was open.
    AbandonedStep,
    /// Its deadline passed.
    DeadlineExceeded,
    /// Its tree's budget is spent.
    BudgetExhausted,
    /// Too many workers died over it.
    Poisoned,
}

impl FailureCode {
    /// Every code.
    pub const ALL: [FailureCode; 8] = [
        FailureCode::AgentCrashed,
        FailureCode::EffectRefused,
        FailureCode::EffectInDoubt,
        FailureCode::OverlappingSteps,
        FailureCode::AbandonedStep,
        FailureCode::DeadlineExceeded,
        FailureCode::BudgetExhausted,
        FailureCode::Poisoned,
    ];

    /// The code in words, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            FailureCode::AgentCrashed => "agent_crashed",
            FailureCode::EffectRefused => "effect_refused",
            FailureCode::EffectInDoubt => "effect_in_doubt",
            FailureCode::OverlappingSteps => "overlapping_steps",
            FailureCode::AbandonedStep => "abandoned_step",
            FailureCode::DeadlineExceeded => "deadline_exceeded",
            FailureCode::BudgetExhausted => "budget_exhausted",
            FailureCode::Poisoned => "poisoned",
        }
    }
}

/// How a run ends, or will end.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Ending {
    /// Its agent returned.
    Completed {
        /// What it returned.
        output: Json,
        /// Effects of which nobody can tell whether they happened.
        #[serde(default)]
        in_doubt: Vec<EffectId>,
    },
    /// It failed for good.
    Failed {
        /// Why.
        code: FailureCode,
        /// Why, in words.
        error: Name,
        /// Effects of which nobody can tell whether they happened.
        #[serde(default)]
        in_doubt: Vec<EffectId>,
    },
    /// It was cancelled.
    Cancelled {
        /// The reason given.
        reason: Name,
        /// Effects of which nobody can tell whether they happened.
        #[serde(default)]
        in_doubt: Vec<EffectId>,
    },
}

impl Ending {
    /// The terminal status.
    pub const fn status(&self) -> RunStatus {
        match self {
            Ending::Completed { .. } => RunStatus::Completed,
            Ending::Failed { .. } => RunStatus::Failed,
            Ending::Cancelled { .. } => RunStatus::Cancelled,
        }
    }

    /// The effects in doubt.
    pub fn in_doubt(&self) -> &[EffectId] {
        match self {
            Ending::Completed { in_doubt, .. }
            | Ending::Failed { in_doubt, .. }
            | Ending::Cancelled { in_doubt, .. } => in_doubt,
        }
    }
}

/// What an entry says: one variant per kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// `run.started`: the first lease.
    RunStarted(LeaseEntry),
    /// `run.resumed`: a later lease; it shuts its predecessor out.
    RunResumed(LeaseEntry),
    /// `msg.received`: the run's batch, or what a `receive` got.
    MsgReceived {
        /// The step of a `receive`; none for the batch.
        step: Option<Step>,
        /// The messages, in order.
        messages: Vec<Received>,
    },
    /// `tool.called`: the intent of an effect.
    ToolCalled {
        /// The step.
        opening: Opening,
        /// What will be done.
        effect: Effect,
        /// What may be done about it when its outcome is unknown.
        policy: Policy,
    },
    /// `tool.result`: the end of an effect.
    ToolResult {
        /// The step.
        step: Step,
        /// The standing result.
        result: EffectResult,
    },
    /// `child.spawned`: a child is announced.
    ChildSpawned {
        /// The step.
        opening: Opening,
        /// The child's specification.
        spec: Box<RunSpec>,
        /// Its first message.
        boot: Message,
    },
    /// `spawn.denied`: a child is refused, for good.
    SpawnDenied {
        /// The step.
        opening: Opening,
        /// Who was wanted.
        agent: AgentId,
        /// Why not.
        reason: Name,
    },
    /// `child.completed`: a child has ended; written by the child's worker.
    ChildCompleted {
        /// How it ended; without its output when that is large.
        result: Box<RunResult>,
        /// Where the whole result is, when its output is larger than [`super::INLINE_BYTES_MAX`].
        result_ref: Option<ArtifactRef>,
    },
    /// `message.sent`: a message is announced.
    MessageSent {
        /// The step.
        opening: Opening,
        /// The receiver.
        to: AgentId,
        /// The message.
        message: Message,
    },
    /// `topic.published`: a publication is announced.
    TopicPublished {
        /// The step.
        opening: Opening,
        /// The topic.
        topic: TopicId,
        /// The message.
        message: Message,
    },
    /// `reply.sent`: an answer is announced.
    ReplySent {
        /// The step.
        opening: Opening,
        /// The question answered.
        question: Message,
        /// The answer.
        answer: Json,
    },
    /// `ask.sent`: a question is announced.
    AskSent {
        /// The step.
        opening: Opening,
        /// Who is asked.
        to: AgentId,
        /// The question.
        message: Message,
        /// How long the asker waits.
        limit: Span,
    },
    /// `timer.set`: a wait begins; it ends `limit` after this entry's `ts`, if there is one.
    TimerSet {
        /// The step.
        opening: Opening,
        /// How long it may last.
        limit: Option<Span>,
        /// The child whose end a `join` waits for.
        child: Option<RunId>,
    },
    /// `timer.fired`: a wait ended by its limit.
    TimerFired {
        /// The step.
        step: Step,
    },
    /// `signal.received`: a wait ended by a signal.
    SignalReceived {
        /// The step.
        step: Step,
        /// The signal's name.
        name: Name,
        /// Its id.
        id: Name,
        /// Its data.
        payload: Json,
    },
    /// `ask.resolved`: a question ended.
    AskResolved {
        /// The step.
        step: Step,
        /// How.
        outcome: Box<super::AskOutcome>,
    },
    /// `step.value`: a journaled call without a kind of its own; also a refusal.
    StepValue {
        /// The step.
        opening: Opening,
        /// What the call gave, or all that is needed to carry it out.
        value: Json,
    },
    /// `run.suspended`: the run goes to sleep.
    RunSuspended {
        /// What it waits for.
        waits: Vec<Wait>,
        /// The first wait as the page's Wakeup, where it is one.
        wakeup: Option<Wakeup>,
    },
    /// `run.cancel_requested`: no step begins after it.
    CancelRequested {
        /// Why.
        reason: Name,
    },
    /// `run.retrying`: the agent failed and will be tried again.
    RunRetrying {
        /// The error.
        error: Name,
        /// The number of this failure, from 1.
        failure: u32,
        /// How long after this entry the next try begins.
        delay: Span,
    },
    /// `orphans.resolved`: how the run will end and what becomes of its live children; a decision.
    OrphansResolved {
        /// The terminal entry to come.
        ending: Ending,
        /// Children to cancel.
        cancel: Vec<RunId>,
        /// Children to detach.
        detach: Vec<RunId>,
    },
    /// `run.halted`: the agent does not follow its log.
    RunHalted {
        /// The step where it left.
        step: Step,
        /// What the log says.
        expected: Name,
        /// What the agent did.
        actual: Name,
    },
    /// `run.completed`, `run.failed` or `run.cancelled`: nothing follows it.
    Ended(Ending),
    /// An entry of a trace log.
    Trace(Box<TraceBody>),
    /// A kind that this version does not know.
    Other {
        /// The kind.
        kind: Name,
        /// Its payload, untouched.
        payload: Json,
    },
}

impl Body {
    /// The dot-namespaced kind, as `tool.called`. A persisted kind is never renamed.
    pub fn kind(&self) -> &str {
        match self {
            Body::RunStarted(_) => "run.started",
            Body::RunResumed(_) => "run.resumed",
            Body::MsgReceived { .. } => "msg.received",
            Body::ToolCalled { .. } => "tool.called",
            Body::ToolResult { .. } => "tool.result",
            Body::ChildSpawned { .. } => "child.spawned",
            Body::SpawnDenied { .. } => "spawn.denied",
            Body::ChildCompleted { .. } => "child.completed",
            Body::MessageSent { .. } => "message.sent",
            Body::TopicPublished { .. } => "topic.published",
            Body::ReplySent { .. } => "reply.sent",
            Body::AskSent { .. } => "ask.sent",
            Body::TimerSet { .. } => "timer.set",
            Body::TimerFired { .. } => "timer.fired",
            Body::SignalReceived { .. } => "signal.received",
            Body::AskResolved { .. } => "ask.resolved",
            Body::StepValue { .. } => "step.value",
            Body::RunSuspended { .. } => "run.suspended",
            Body::CancelRequested { .. } => "run.cancel_requested",
            Body::RunRetrying { .. } => "run.retrying",
            Body::OrphansResolved { .. } => "orphans.resolved",
            Body::RunHalted { .. } => "run.halted",
            Body::Ended(Ending::Completed { .. }) => "run.completed",
            Body::Ended(Ending::Failed { .. }) => "run.failed",
            Body::Ended(Ending::Cancelled { .. }) => "run.cancelled",
            Body::Trace(trace) => trace.kind(),
            Body::Other { kind, .. } => kind,
        }
    }

    /// The opening, where this entry begins a step.
    pub fn opening(&self) -> Option<&Opening> {
        match self {
            Body::ToolCalled { opening, .. }
            | Body::ChildSpawned { opening, .. }
            | Body::SpawnDenied { opening, .. }
            | Body::MessageSent { opening, .. }
            | Body::TopicPublished { opening, .. }
            | Body::ReplySent { opening, .. }
            | Body::AskSent { opening, .. }
            | Body::TimerSet { opening, .. }
            | Body::StepValue { opening, .. } => Some(opening),
            _ => None,
        }
    }

    /// The step that this entry belongs to, as its beginning or as a later part.
    pub fn step(&self) -> Option<Step> {
        match self {
            Body::MsgReceived { step, .. } => *step,
            Body::ToolResult { step, .. }
            | Body::TimerFired { step }
            | Body::SignalReceived { step, .. }
            | Body::AskResolved { step, .. } => Some(*step),
            body => body.opening().map(|opening| opening.step),
        }
    }

    /// The lease entry, where this is one.
    pub fn lease_entry(&self) -> Option<&LeaseEntry> {
        match self {
            Body::RunStarted(entry) | Body::RunResumed(entry) => Some(entry),
            _ => None,
        }
    }

    /// The ending, where this closes the log.
    pub fn ending(&self) -> Option<&Ending> {
        match self {
            Body::Ended(ending) => Some(ending),
            _ => None,
        }
    }
}

/// The serialised form of the kinds that this version knows: the twin of [`Body`], tagged as serde does it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload")]
enum Known {
    #[serde(rename = "run.started")]
    RunStarted(LeaseEntry),
    #[serde(rename = "run.resumed")]
    RunResumed(LeaseEntry),
    #[serde(rename = "msg.received")]
    MsgReceived {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Step>,
        messages: Vec<Received>,
    },
    #[serde(rename = "tool.called")]
    ToolCalled {
        #[serde(flatten)]
        opening: Opening,
        effect: Effect,
        policy: Policy,
    },
    #[serde(rename = "tool.result")]
    ToolResult { step: Step, result: EffectResult },
    #[serde(rename = "child.spawned")]
    ChildSpawned {
        #[serde(flatten)]
        opening: Opening,
        spec: Box<RunSpec>,
        boot: Message,
    },
    #[serde(rename = "spawn.denied")]
    SpawnDenied {
        #[serde(flatten)]
        opening: Opening,
        agent: AgentId,
        reason: Name,
    },
    #[serde(rename = "child.completed")]
    ChildCompleted {
        #[serde(flatten)]
        result: Box<RunResult>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_ref: Option<ArtifactRef>,
    },
    #[serde(rename = "message.sent")]
    MessageSent {
        #[serde(flatten)]
        opening: Opening,
        to: AgentId,
        message: Message,
    },
    #[serde(rename = "topic.published")]
    TopicPublished {
        #[serde(flatten)]
        opening: Opening,
        topic: TopicId,
        message: Message,
    },
    #[serde(rename = "reply.sent")]
    ReplySent {
        #[serde(flatten)]
        opening: Opening,
        question: Message,
        answer: Json,
    },
    #[serde(rename = "ask.sent")]
    AskSent {
        #[serde(flatten)]
        opening: Opening,
        to: AgentId,
        message: Message,
        limit: Span,
    },
    #[serde(rename = "timer.set")]
    TimerSet {
        #[serde(flatten)]
        opening: Opening,
        limit: Option<Span>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<RunId>,
    },
    #[serde(rename = "timer.fired")]
    TimerFired { step: Step },
    #[serde(rename = "signal.received")]
    SignalReceived { step: Step, name: Name, id: Name, payload: Json },
    #[serde(rename = "ask.resolved")]
    AskResolved { step: Step, outcome: Box<super::AskOutcome> },
    #[serde(rename = "step.value")]
    StepValue {
        #[serde(flatten)]
        opening: Opening,
        value: Json,
    },
    #[serde(rename = "run.suspended")]
    RunSuspended {
        waits: Vec<Wait>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wakeup: Option<Wakeup>,
    },
    #[serde(rename = "run.cancel_requested")]
    CancelRequested { reason: Name },
    #[serde(rename = "run.retrying")]
    RunRetrying { error: Name, failure: u32, delay: Span },
    #[serde(rename = "orphans.resolved")]
    OrphansResolved { ending: Ending, cancel: Vec<RunId>, detach: Vec<RunId> },
    #[serde(rename = "run.halted")]
    RunHalted { step: Step, expected: Name, actual: Name },
    #[serde(rename = "run.completed")]
    Completed {
        output: Json,
        #[serde(default)]
        in_doubt: Vec<EffectId>,
    },
    #[serde(rename = "run.failed")]
    Failed {
        code: FailureCode,
        error: Name,
        #[serde(default)]
        in_doubt: Vec<EffectId>,
    },
    #[serde(rename = "run.cancelled")]
    Cancelled {
        reason: Name,
        #[serde(default)]
        in_doubt: Vec<EffectId>,
    },
}

/// Kind and payload as anybody may have written them.
#[derive(Serialize, Deserialize)]
struct Raw {
    kind: Name,
    #[serde(default)]
    payload: Json,
}

/// Writes each variant of one of the twins as the other's.
macro_rules! twins {
    ($value:expr, $from:ident => $to:ident, $($variant:ident { $($field:ident),* }),* $(,)?) => {
        match $value {
            $($from::$variant { $($field),* } => Some($to::$variant { $($field),* }),)*
            $from::RunStarted(entry) => Some($to::RunStarted(entry)),
            $from::RunResumed(entry) => Some($to::RunResumed(entry)),
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
}

/// [`twins`] over all variants with named fields.
macro_rules! convert {
    ($value:expr, $from:ident => $to:ident) => {
        twins!($value, $from => $to,
            MsgReceived { step, messages },
            ToolCalled { opening, effect, policy },
            ToolResult { step, result },
            ChildSpawned { opening, spec, boot },
            SpawnDenied { opening, agent, reason },
            ChildCompleted { result, result_ref },
            MessageSent { opening, to, message },
            TopicPublished { opening, topic, message },
            ReplySent { opening, question, answer },
            AskSent { opening, to, message, limit },
            TimerSet { opening, limit, child },
            TimerFired { step },
            SignalReceived { step, name, id, payload },
            AskResolved { step, outcome },
            StepValue { opening, value },
            RunSuspended { waits, wakeup },
            CancelRequested { reason },
            RunRetrying { error, failure, delay },
            OrphansResolved { ending, cancel, detach },
            RunHalted { step, expected, actual },
        )
    };
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = match self.clone() {
            Body::Other { kind, payload } => return Raw { kind, payload }.serialize(serializer),
            Body::Trace(trace) => return trace.serialize(serializer),
            Body::Ended(Ending::Completed { output, in_doubt }) => Known::Completed { output, in_doubt },
            Body::Ended(Ending::Failed { code, error, in_doubt }) => Known::Failed { code, error, in_doubt },
            Body::Ended(Ending::Cancelled { reason, in_doubt }) => Known::Cancelled { reason, in_doubt },
            body => convert!(body, Body => Known).expect("the other variants are matched above"),
        };
        known.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        let value = serde_json::json!({ "kind": &*raw.kind, "payload": &*raw.payload });
        if TRACE_KINDS.contains(&&*raw.kind) {
            return serde_json::from_value(value).map(|trace| Body::Trace(Box::new(trace))).map_err(de::Error::custom);
        }
        if !KINDS.contains(&&*raw.kind) {
            return Ok(Body::Other { kind: raw.kind, payload: raw.payload });
        }
        Ok(match serde_json::from_value::<Known>(value).map_err(de::Error::custom)? {
            Known::Completed { output, in_doubt } => Body::Ended(Ending::Completed { output, in_doubt }),
            Known::Failed { code, error, in_doubt } => Body::Ended(Ending::Failed { code, error, in_doubt }),
            Known::Cancelled { reason, in_doubt } => Body::Ended(Ending::Cancelled { reason, in_doubt }),
            known => convert!(known, Known => Body).expect("the other variants are matched above"),
        })
    }
}

/// The kinds that this version knows.
pub const KINDS: [&str; 25] = [
    "run.started",
    "run.resumed",
    "msg.received",
    "tool.called",
    "tool.result",
    "child.spawned",
    "spawn.denied",
    "child.completed",
    "message.sent",
    "topic.published",
    "reply.sent",
    "ask.sent",
    "timer.set",
    "timer.fired",
    "signal.received",
    "ask.resolved",
    "step.value",
    "run.suspended",
    "run.cancel_requested",
    "run.retrying",
    "orphans.resolved",
    "run.halted",
    "run.completed",
    "run.failed",
    "run.cancelled",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(body: Body) -> RunLogEntry {
        RunLogEntry {
            run_id: RunId::from_parts(1, 2),
            seq: Seq::FIRST,
            ts: Timestamp::from_micros(0),
            body: Arc::new(body),
        }
    }

    #[test]
    fn entries_are_read_as_they_are_written() {
        let opening = Opening { step: Step(3), group: None, call: CallKind::Sleep, digest: Digest(0xab) };
        let ending = Ending::Failed { code: FailureCode::Poisoned, error: "e".into(), in_doubt: vec![EffectId(1)] };
        let bodies = [
            Body::TimerSet { opening, limit: Some(Span::from_secs(3)), child: None },
            Body::Ended(ending),
            Body::ChildCompleted {
                result: Box::new(RunResult {
                    run_id: RunId::from_parts(3, 4),
                    status: RunStatus::Completed,
                    output: Some(Json::new(json!({"n": 1}))),
                    error: None,
                    metadata: Json::empty(),
                }),
                result_ref: None,
            },
            Body::Other { kind: "app.note".into(), payload: Json::new(json!({"free": [1, null]})) },
            Body::StepValue { opening, value: Json::null() },
        ];
        for body in bodies {
            let entry = entry(body);
            let text = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<RunLogEntry>(&text).unwrap(), entry, "{text}");
        }
    }

    #[test]
    fn a_known_kind_with_another_payload_is_refused_and_a_missing_payload_is_empty() {
        assert!(serde_json::from_value::<Body>(json!({"kind": "timer.fired", "payload": {}})).is_err());
        let other: Body = serde_json::from_value(json!({"kind": "app.note"})).unwrap();
        assert_eq!(other, Body::Other { kind: "app.note".into(), payload: Json::empty() });
    }

    #[test]
    fn a_sequence_number_below_minus_one_is_refused() {
        assert!(serde_json::from_value::<Seq>(json!(-2)).is_err());
    }
}
