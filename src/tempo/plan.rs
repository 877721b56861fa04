//! The `agent_plan` document as data (requirement page, "agent_plan").

use serde::{Deserialize, Serialize};

use crate::kernel::{AgentId, Json, Name, Profile, Score, Span, Timestamp};

/// What a plan does; budget and cadence count by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Action {
    Schedule,
    Reflect,
    Reschedule,
    Notify,
    Log,
}

impl Action {
    /// In words, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Schedule => "schedule",
            Action::Reflect => "reflect",
            Action::Reschedule => "reschedule",
            Action::Notify => "notify",
            Action::Log => "log",
        }
    }
}

/// Where a plan stands: `proposed → approved → executed`, or `proposed → rejected`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum PlanStatus {
    Proposed,
    Approved,
    Rejected,
    Executed,
}

impl PlanStatus {
    /// In words, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            PlanStatus::Proposed => "proposed",
            PlanStatus::Approved => "approved",
            PlanStatus::Rejected => "rejected",
            PlanStatus::Executed => "executed",
        }
    }
}

/// Whose idea a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Origin {
    Agent,
    User,
}

/// How often a plan comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Every {
    Daily,
    Weekly,
    Monthly,
}

/// The recurrence of a plan: in a file `"weekly"`, or `{ "every": "weekly", "times": 4, "until": … }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// How often.
    pub every: Every,
    /// How many occurrences there are at most.
    pub times: Option<u32>,
    /// No occurrence is due after this.
    pub until: Option<Timestamp>,
}

/// When a plan whose feedback was too low is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// At an instant.
    At(Timestamp),
    /// In the next occurrence of the window of a token, as it is written.
    Token(Name),
}

/// What follows from feedback; the first that matches counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// It matches a score below this.
    pub if_feedback_score_below: Score,
    /// When the new plan is due.
    pub reschedule_to: When,
}

/// A relation between traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Relation {
    FollowsFrom,
    Fulfills,
    DerivesFrom,
    Contradicts,
    ReflectsOn,
}

/// A link to another trace: in a document its id alone, or `{ "trace_id", "relation" }`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The other trace.
    pub trace_id: Name,
    /// How they relate, where that is said.
    pub relation: Option<Relation>,
}

/// A plan, read and validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its id, unique for its user.
    pub uid: Name,
    /// What it is about, for people and agents.
    pub content: Name,
    /// What it does.
    pub action: Action,
    /// Where it stands, as the document says.
    pub status: PlanStatus,
    /// Whose idea it is.
    pub origin: Origin,
    /// When it is due; without it the window of its token says so.
    pub scheduled_for: Option<Timestamp>,
    /// Who executes it; without one, the agent type that is called like its action.
    pub target: Option<AgentId>,
    /// Its tempo token, as it is written.
    pub token: Option<Name>,
    /// What follows from feedback.
    pub conditions: Vec<Condition>,
    /// Its recurrence.
    pub repeat: Option<Repeat>,
    /// When it must have ended; not dispatched any more from then on.
    pub deadline: Option<Timestamp>,
    /// Its place among what is released at one instant: higher goes first.
    pub priority: i64,
    /// How often its agent is tried again after a failure.
    pub retry_on_failure: u32,
    /// The task that it belongs to; `after-` and `before-` tokens name a task or a plan.
    pub task_id: Option<Name>,
    /// Traces that it is linked to.
    pub linked_trace_ids: Vec<Link>,
    /// Traces that came of it.
    pub child_trace_ids: Vec<Name>,
    /// Who planned it.
    pub planned_by: Option<Name>,
    /// Tags.
    pub tags: Vec<Name>,
    /// Its profiling block, in a document that was executed or rejected.
    pub profiling: Option<Profile>,
    /// The document as it was given, unknown fields and all.
    pub document: Json,
}

impl Plan {
    /// Who executes it.
    pub fn agent(&self) -> AgentId {
        let by_action = || self.action.as_str().parse().expect("an action is a type");
        self.target.clone().unwrap_or_else(by_action)
    }
}

/// How long after its first due time a `repeat` without bound ends, where neither settings nor plan say otherwise.
pub const REPEATS_FOR: Span = Span::from_secs(30 * 86_400);
