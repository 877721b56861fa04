//! The trace log of a user: plans, their transitions, their profiles, and memory, append-only.
//!
//! A trace log is a stream of the event log ([`RunId::of_traces`]): fenced, read and tailed like the log of a run. One more
//! stream is the directory of users ([`RunId::of_users`]). Whoever writes looks first whether its transition is there.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use super::{AgentId, Json, Name, RunId, Step, Timestamp};

impl RunId {
    /// The stream that holds the traces of `user`.
    pub fn of_traces(user: &str) -> RunId {
        RunId::of_name("traces", user)
    }

    /// The stream that tells which users there are: a `user.known` for each.
    pub fn of_users() -> RunId {
        RunId::of_name("users", "")
    }

    /// The run of the occurrence of a plan that has the address `agent`: whoever dispatches it makes the same run.
    pub fn of_occurrence(agent: &AgentId) -> RunId {
        RunId::of_name("occurrence", agent.as_str())
    }

    fn of_name(sort: &str, name: &str) -> RunId {
        let hash = Sha256::digest(format!("{sort}/{name}").as_bytes());
        let bits: [u8; 16] = hash[..16].try_into().expect("a hash has more than 16 bytes");
        RunId::from_parts(0, u128::from_be_bytes(bits))
    }
}

/// One occurrence of a plan, in words `uid#n`: its message and its trace have that name, and its address is
/// `target/user/uid#n`, since a uid is unique for its user only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Occurrence {
    /// The plan.
    pub uid: Name,
    /// Its number, from 1.
    pub n: u32,
}

impl std::fmt::Display for Occurrence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.uid, self.n)
    }
}

/// Who proposed a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proposer {
    /// A person, or a program outside.
    User(Name),
    /// An agent, by a step of its run.
    Run {
        /// The run.
        run: RunId,
        /// Its address.
        agent: AgentId,
        /// The step.
        step: Step,
    },
    /// The planner itself, as what follows from an occurrence of another plan: a follow-up, or a condition that came true.
    Occurrence(Occurrence),
}

/// An interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Interval {
    /// Its first instant.
    pub start: Timestamp,
    /// Its end.
    pub end: Timestamp,
}

/// The target of an occurrence, resolved: civil time and zones are behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Window {
    /// When it should be done: distance 0 from `start` to `end`, both included. A point has `start` = `end`.
    #[serde(flatten)]
    pub target: Interval,
    /// The local calendar days that the token names or its window touches, `end` excluded; none without a token that
    /// names or touches any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Interval>,
}

/// How near to its target an occurrence was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    /// Within 900 000 ms of its window, the limit included.
    Exact,
    /// Within 5 400 000 ms of its window, the limit included.
    Partial,
    /// Further away, outside of its token's days, or not done at all.
    Misaligned,
}

impl Alignment {
    /// In words, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            Alignment::Exact => "exact",
            Alignment::Partial => "partial",
            Alignment::Misaligned => "misaligned",
        }
    }
}

/// The version of a profiling block: `v1`. One that is absent is read as that; another is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ProfileVersion {
    /// The only one.
    #[default]
    #[serde(rename = "v1")]
    V1,
}

/// A feedback score: 1 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Score(u8);

impl Score {
    /// A score of 1 to 5; none for any other number.
    pub const fn new(score: i64) -> Option<Score> {
        if score >= 1 && score <= 5 { Some(Score(score as u8)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        Score::new(number).ok_or_else(|| de::Error::custom(format_args!("a score is 1 to 5, not {number}")))
    }
}

/// A reward in tenths, 0 to 10; serialised as 0.0 to 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reward(pub u8);

impl Serialize for Reward {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 10.0)
    }
}

impl<'de> Deserialize<'de> for Reward {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        (0..=10)
            .map(Reward)
            .find(|reward| (f64::from(reward.0) / 10.0 - number).abs() < 1e-9)
            .ok_or_else(|| de::Error::custom(format_args!("a reward is 0 to 1 in tenths, not {number}")))
    }
}

/// How the execution of an occurrence, or one try of it, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Execution {
    Completed,
    Failed,
    Skipped,
    Cancelled,
}

impl Execution {
    /// In words, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            Execution::Completed => "completed",
            Execution::Failed => "failed",
            Execution::Skipped => "skipped",
            Execution::Cancelled => "cancelled",
        }
    }
}

/// What an execution gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReturnType {
    /// A trace, which `trace_id` names.
    Trace,
    /// Something else.
    Text,
    /// An error.
    Error,
}

/// What came of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExecutionResult {
    /// How it ended.
    pub status: Execution,
    /// What it gave; absent when it was never executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_type: Option<ReturnType>,
    /// The trace that it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<Name>,
    /// Who planned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_by: Option<Name>,
}

/// One try of an execution that took more than one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Try {
    /// When it ended; null for one that was lost.
    pub executed_at: Option<Timestamp>,
    /// How long it took, alone.
    pub duration_ms: i64,
    /// How it ended.
    pub status: Execution,
    /// Why it ended so, or which try it was.
    pub reason: Name,
    /// The score of the last try, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback_score: Option<Score>,
}

/// The profiling block, `v1` (requirement page, "Profiling Metadata").
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Profile {
    /// The version of this form.
    #[serde(default)]
    pub schema_version: ProfileVersion,
    /// The instant of completion, or of failure; null when it was never executed.
    pub executed_at: Option<Timestamp>,
    /// From the first dispatch (the first lease of its run) to `executed_at`; 0 when it was never executed.
    pub duration_ms: i64,
    /// `executed_at − scheduled_for`; null when it was never executed.
    pub deviation_ms: Option<i64>,
    /// The plan's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tempo_token: Option<Name>,
    /// How near to its window it was done.
    pub tempo_alignment: Alignment,
    /// The last feedback; absent until there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback_score: Option<Score>,
    /// `(2·(score−1) + {exact 2, partial 1, misaligned 0}) / 10`; absent until there is feedback, and when it was never
    /// executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward_signal: Option<Reward>,
    /// The length of the union of the intervals of the run's model calls; absent when it was never executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_latency_ms: Option<i64>,
    /// From `executed_at` to the feedback; absent until there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_delay_ms: Option<i64>,
    /// The tries, in order, exactly when there was more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Try>,
    /// What came of it.
    pub execution_result: ExecutionResult,
}

/// A draft that a run has put into its staging, with the step that did.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Staged {
    /// The step.
    pub step: Step,
    /// The memory trace.
    pub trace: Json,
}

/// What an entry of a trace log says: one variant per kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload")]
pub enum TraceBody {
    /// In the directory: a user has a trace log from now on.
    #[serde(rename = "user.known")]
    UserKnown {
        /// Who.
        user: Name,
    },
    /// The user's settings from now on: time zone, registry of windows, budgets, cadence, blocked slots, policy.
    #[serde(rename = "user.configured")]
    UserConfigured {
        /// The settings.
        settings: Json,
    },
    /// A plan awaits approval.
    #[serde(rename = "plan.proposed")]
    PlanProposed {
        /// Its id, unique in this log.
        uid: Name,
        /// The whole document.
        plan: Json,
        /// By whom.
        by: Proposer,
    },
    /// A plan that awaits approval is another one from now on.
    #[serde(rename = "plan.edited")]
    PlanEdited {
        /// The plan.
        uid: Name,
        /// The id of the edit; a repeat changes nothing.
        edit: Name,
        /// The whole document from now on.
        plan: Json,
        /// By whom.
        by: Name,
    },
    /// A proposed plan is approved.
    #[serde(rename = "plan.approved")]
    PlanApproved {
        /// The plan.
        uid: Name,
        /// By whom; `policy` where the user's settings approve by themselves.
        by: Name,
    },
    /// A proposed plan is rejected.
    #[serde(rename = "plan.rejected")]
    PlanRejected {
        /// The plan.
        uid: Name,
        /// By whom.
        by: Name,
        /// Why.
        reason: Name,
    },
    /// An occurrence is given to its agent: from now on its run will be made, whoever dies.
    #[serde(rename = "plan.dispatched")]
    PlanDispatched {
        /// The occurrence.
        #[serde(flatten)]
        occurrence: Occurrence,
        /// When it was due: `scheduled_for`, or the begin of its window.
        due: Timestamp,
        /// Before this it may not be dispatched.
        release: Timestamp,
        /// Its run.
        run: RunId,
        /// Who executes it.
        agent: AgentId,
        /// The plan's `action_type`, by which budget and cadence count.
        action: Name,
        /// The user's calendar day on which it was decided, `end` excluded. Budgets count by the time of the entry.
        day: Interval,
    },
    /// An occurrence has ended, or will never be executed.
    #[serde(rename = "plan.closed")]
    PlanClosed {
        /// The occurrence.
        #[serde(flatten)]
        occurrence: Occurrence,
        /// When it was due, where that could be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
        /// Its window, resolved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Window>,
        /// Why it was never executed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Name>,
        /// The profiling block.
        profile: Box<Profile>,
    },
    /// A user judged an executed occurrence: a new version of its block, in which the three feedback fields differ, and the
    /// score of the last try where tries are told.
    #[serde(rename = "plan.feedback")]
    PlanFeedback {
        /// The occurrence.
        #[serde(flatten)]
        occurrence: Occurrence,
        /// The id of the feedback; a repeat changes nothing.
        feedback: Name,
        /// The score.
        score: Score,
        /// When it was given.
        given_at: Timestamp,
        /// By whom.
        by: Name,
        /// In the user's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<Name>,
        /// The block from now on.
        profile: Box<Profile>,
    },
    /// A memory trace from outside, or a reflection or annotation of the planner.
    #[serde(rename = "trace.added")]
    TraceAdded {
        /// Its id, unique in this log.
        uid: Name,
        /// The whole document.
        trace: Json,
        /// By whom; `planner` where it follows from a closing.
        by: Name,
    },
    /// The drafts of a run that has completed are memory from now on.
    #[serde(rename = "memory.committed")]
    MemoryCommitted {
        /// The run.
        run: RunId,
        /// Its drafts, in the order of their steps.
        traces: Vec<Staged>,
    },
}

/// The kinds of a trace log that this version knows.
pub const TRACE_KINDS: [&str; 11] = [
    "user.known",
    "user.configured",
    "plan.proposed",
    "plan.edited",
    "plan.approved",
    "plan.rejected",
    "plan.dispatched",
    "plan.closed",
    "plan.feedback",
    "trace.added",
    "memory.committed",
];

impl TraceBody {
    /// The dot-namespaced kind, as `plan.proposed`. A persisted kind is never renamed.
    pub const fn kind(&self) -> &'static str {
        match self {
            TraceBody::UserKnown { .. } => "user.known",
            TraceBody::UserConfigured { .. } => "user.configured",
            TraceBody::PlanProposed { .. } => "plan.proposed",
            TraceBody::PlanEdited { .. } => "plan.edited",
            TraceBody::PlanApproved { .. } => "plan.approved",
            TraceBody::PlanRejected { .. } => "plan.rejected",
            TraceBody::PlanDispatched { .. } => "plan.dispatched",
            TraceBody::PlanClosed { .. } => "plan.closed",
            TraceBody::PlanFeedback { .. } => "plan.feedback",
            TraceBody::TraceAdded { .. } => "trace.added",
            TraceBody::MemoryCommitted { .. } => "memory.committed",
        }
    }

    /// What the entry is about, in words: a plan, an occurrence, a trace, a run.
    pub fn subject(&self) -> String {
        match self {
            TraceBody::UserKnown { user } => user.to_string(),
            TraceBody::UserConfigured { .. } => String::new(),
            TraceBody::PlanProposed { uid, .. }
            | TraceBody::PlanApproved { uid, .. }
            | TraceBody::PlanRejected { uid, .. }
            | TraceBody::TraceAdded { uid, .. } => uid.to_string(),
            TraceBody::PlanEdited { uid, edit, .. } => format!("{uid} {edit}"),
            TraceBody::PlanDispatched { occurrence, .. } | TraceBody::PlanClosed { occurrence, .. } => {
                occurrence.to_string()
            }
            TraceBody::PlanFeedback { occurrence, feedback, .. } => format!("{occurrence} {feedback}"),
            TraceBody::MemoryCommitted { run, .. } => run.to_string(),
        }
    }
}

/// The tool by which an agent puts a memory trace into its run's staging: an effect of this kind, whose arguments are
/// `{"user", "trace"}`. What a completed run has staged is committed in its epilogue; nothing else ever is.
pub const MEMORY_PUSH: &str = "memory.push";
/// The tool by which an agent reads the memory of a user.
pub const MEMORY_PULL: &str = "memory.pull";
/// The tool by which an agent proposes a plan.
pub const PLAN_PROPOSE: &str = "plan.propose";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_requirements_block_is_written_as_it_is_read() {
        let block = json!({
            "schema_version": "v1", "executed_at": "2025-05-11T20:03:12Z", "duration_ms": 182000, "deviation_ms": 192000,
            "tempo_token": "<tempo:EveningReview>", "tempo_alignment": "partial", "feedback_score": 4,
            "reward_signal": 0.7, "agent_latency_ms": 2300,
            "execution_result": { "status": "completed", "trace_id": "trace-456", "return_type": "trace" }
        });
        let profile: Profile = serde_json::from_value(block.clone()).unwrap();
        assert_eq!(profile.reward_signal, Some(Reward(7)));
        assert_eq!(serde_json::to_value(&profile).unwrap(), block);
    }

    #[test]
    fn a_block_of_another_version_or_with_a_score_out_of_range_is_refused() {
        for (field, value) in
            [("schema_version", json!("v9")), ("feedback_score", json!(6)), ("reward_signal", json!(0.75))]
        {
            let mut block = json!({ "executed_at": null, "duration_ms": 0, "deviation_ms": null,
                "tempo_alignment": "misaligned", "execution_result": { "status": "skipped" } });
            assert!(serde_json::from_value::<Profile>(block.clone()).is_ok());
            block[field] = value;
            assert!(serde_json::from_value::<Profile>(block).is_err(), "{field}");
        }
    }

    #[test]
    fn streams_of_different_users_differ() {
        assert_ne!(RunId::of_traces("ana"), RunId::of_traces("ben"));
        assert_ne!(RunId::of_traces(""), RunId::of_users());
    }
}
