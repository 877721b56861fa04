//! Users, and what comes in for them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use super::values::{Duration, OneOrMore, Text, Time};

/// What holds for a user.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct User {
    /// The IANA name of the user's time zone, like `Europe/Berlin`: `UTC` if nothing is said.
    zone: Option<Text>,
    /// Whether plans are approved as they are proposed.
    auto_approve: Option<bool>,
    /// Named windows for tempo tokens, besides and over the usual ones.
    registry: Option<BTreeMap<String, Window>>,
    /// How many dispatches of an action there may be on one local day.
    budget: Option<Counts>,
    /// The least time between two dispatches of an action.
    cadence: Option<Pauses>,
    /// Local times at which nothing is dispatched.
    blocked: Option<OneOrMore<Window>>,
    /// No occurrence of a plan that repeats is due after this: 30 days after the start if nothing is said.
    horizon: Option<Time>,
    /// Whether a reflection is written after each execution.
    reflect: Option<bool>,
    /// Whether an execution that failed is followed by a proposal to do it again.
    follow_up: Option<bool>,
}

/// A window of local time.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Window {
    /// `daily`, or a weekday: `daily` if nothing is said.
    days: Option<Text>,
    /// When it begins, like `18:30`.
    start: Text,
    /// When it ends: on the next day if that is not later; `24:00` is the end of the day.
    end: Text,
}

/// A number for each action.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Counts {
    #[schemars(range(max = 1_000_000))]
    schedule: Option<u32>,
    #[schemars(range(max = 1_000_000))]
    reflect: Option<u32>,
    #[schemars(range(max = 1_000_000))]
    reschedule: Option<u32>,
    #[schemars(range(max = 1_000_000))]
    notify: Option<u32>,
    #[schemars(range(max = 1_000_000))]
    log: Option<u32>,
}

/// A duration for each action.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Pauses {
    schedule: Option<Duration>,
    reflect: Option<Duration>,
    reschedule: Option<Duration>,
    notify: Option<Duration>,
    log: Option<Duration>,
}

/// A plan is proposed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Propose {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The plan.
    plan: Plan,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// In whose name: the user's if nothing is said.
    by: Option<Text>,
}

/// A proposed plan is approved.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Approve {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The plan's `uid`.
    approve: Text,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// In whose name: the user's if nothing is said.
    by: Option<Text>,
}

/// A proposed plan is rejected.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Reject {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The plan's `uid`.
    reject: Text,
    /// Why.
    reason: Option<Text>,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// In whose name: the user's if nothing is said.
    by: Option<Text>,
}

/// A proposed plan becomes another one.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Edit {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The plan's `uid`.
    edit: Text,
    /// The fields that differ.
    #[schemars(extend("minProperties" = 1))]
    set: BTreeMap<String, Value>,
    /// The id of the edit: one from its place in the file if nothing is said.
    id: Option<Text>,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// In whose name: the user's if nothing is said.
    by: Option<Text>,
}

/// An executed occurrence of a plan is judged.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Judge {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The feedback.
    feedback: Feedback,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// In whose name: the user's if nothing is said.
    by: Option<Text>,
}

/// A memory trace from outside is kept.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Remember {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The memory trace.
    remember: Trace,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// In whose name: the user's if nothing is said.
    by: Option<Text>,
}

/// An `agent_plan` document. Other fields are kept as they are.
#[derive(JsonSchema)]
#[schemars(extend("required" = ["uid", "type", "content", "action_type", "origin"]))]
pub struct Plan {
    /// Its id, unique for its user: without white space and `#`.
    uid: Text,
    /// `agent_plan`.
    r#type: Text,
    /// What it is about.
    content: Text,
    /// What it does: `schedule`, `reflect`, `reschedule`, `notify` or `log`.
    action_type: Text,
    /// `agent` or `user`.
    origin: Text,
    /// `proposed`, if anything is said.
    status: Option<Text>,
    /// When it is due, in UTC; the window of its token says so if nothing is said.
    scheduled_for: Option<Text>,
    /// Its tempo token, like `<tempo:EveningReview>`.
    tempo_token: Option<Text>,
    /// The agent that executes it: the one that is called like its action if nothing is said.
    target: Option<Text>,
    /// `daily`, `weekly` or `monthly`; or an object of `every`, `times` and `until`.
    repeat: Option<Repeat>,
    /// When it must have ended, in UTC.
    deadline: Option<Text>,
    /// Higher goes first.
    priority: Option<i64>,
    /// How often its agent is tried again after a failure; `true` is once.
    retry_on_failure: Option<Value>,
    /// What follows from feedback; the first that matches counts.
    conditions: Option<Vec<Condition>>,
    /// The task that it belongs to.
    task_id: Option<Text>,
    /// Traces that it is linked to.
    linked_trace_ids: Option<Vec<Link>>,
    /// Who planned it.
    planned_by: Option<Text>,
    /// Tags.
    tags: Option<Vec<Text>>,
}

/// How often a plan comes back.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Repeat {
    Always(Text),
    Bounded(Bounded),
}

/// How often, and until when, a plan comes back.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Bounded {
    /// `daily`, `weekly` or `monthly`.
    every: Text,
    /// How many occurrences there are at most.
    #[schemars(range(min = 1))]
    times: Option<u32>,
    /// No occurrence is due after this.
    until: Option<Text>,
}

/// What follows from feedback.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Condition {
    /// It matches a score below this.
    #[schemars(range(min = 1, max = 5))]
    if_feedback_score_below: u32,
    /// When a new plan is due: an instant in UTC, or a tempo token.
    reschedule_to: Text,
}

/// A link to another trace: its id, or an object.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Link {
    Id(Text),
    Related(Related),
}

/// A link to another trace, and how they relate.
#[derive(JsonSchema)]
pub struct Related {
    /// The other trace.
    trace_id: Text,
    /// `follows_from`, `fulfills`, `derives_from`, `contradicts` or `reflects_on`.
    relation: Option<Text>,
}

/// A feedback document. Other fields are kept as they are.
#[derive(JsonSchema)]
#[schemars(extend("required" = ["plan_uid", "feedback_rating"]))]
pub struct Feedback {
    /// Its id: one from its place in the file if nothing is said.
    uid: Option<Text>,
    /// The plan.
    plan_uid: Text,
    /// The score.
    #[schemars(range(min = 1, max = 5))]
    feedback_rating: u32,
    /// Which occurrence, from 1: the one that was executed last if nothing is said.
    #[schemars(range(min = 1))]
    occurrence: Option<u32>,
    /// In the user's words.
    notes: Option<String>,
}

/// A memory trace. Other fields are kept as they are.
#[derive(JsonSchema)]
#[schemars(extend("required" = ["uid", "type", "timestamp", "content"]))]
pub struct Trace {
    /// Its id, unique for its user: without white space and `#`.
    uid: Text,
    /// `goal`, `reflection`, `observation`, `calendar_event`, `agent_plan` or `feedback`.
    r#type: Text,
    /// When it was made, in UTC.
    timestamp: Text,
    /// What it says.
    content: Text,
    /// The task that it belongs to.
    task_id: Option<Text>,
    /// What a goal has come to, as `completed` or `abandoned`.
    completion_status: Option<Text>,
    /// Tempo tokens.
    tempo_tokens: Option<Vec<Text>>,
    /// Traces that it is linked to.
    linked_trace_ids: Option<Vec<Link>>,
}
