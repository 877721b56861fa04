//! Runs: status, specification, lease, waits and what wakes them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AgentId, Arrival, ArtifactRef, Attempt, Json, Name, RunId, Span, Step, Timestamp, WorkerId};

/// The life of a run. Terminal statuses never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Queued: a worker may lease it.
    Pending,
    /// Leased.
    Running,
    /// Asleep until something of its wait list happens.
    Suspended,
    /// Ended well.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended by a cancel.
    Cancelled,
}

impl RunStatus {
    /// Every status.
    pub const ALL: [RunStatus; 6] = [
        RunStatus::Pending,
        RunStatus::Running,
        RunStatus::Suspended,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ];

    /// Whether the run has ended for ever.
    pub const fn is_terminal(self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled)
    }

    /// The status in words, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            RunStatus::Pending => "pending",
            RunStatus::Running => "running",
            RunStatus::Suspended => "suspended",
            RunStatus::Completed => "completed",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
        }
    }
}

/// What to do when the agent of a run fails (requirement page, "RunRetryPolicy").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunRetryPolicy {
    /// Tries after the first; 3 allows four.
    pub max_retries: u32,
    /// The pause before the first retry; doubles with each, up to [`RunRetryPolicy::BACKOFF_MAX`].
    #[serde(deserialize_with = "super::time::not_negative")]
    pub backoff: Span,
    /// Whether the mail of a cancelled run becomes dead letters; else it is acked.
    pub dead_run_on_cancel: bool,
}

impl RunRetryPolicy {
    /// The longest pause before a retry.
    pub const BACKOFF_MAX: Span = Span::from_secs(300);

    /// The pause before retry `number` (1 is the first): `min(backoff · 2^(number−1), 300 s)`.
    pub fn pause_before(&self, number: u32) -> Span {
        let mut pause = self.backoff.min(Self::BACKOFF_MAX);
        for _ in 1..number.min(64) {
            pause = pause.times(2).min(Self::BACKOFF_MAX);
        }
        pause
    }
}

impl Default for RunRetryPolicy {
    fn default() -> Self {
        RunRetryPolicy { max_retries: 3, backoff: Span::from_secs(5), dead_run_on_cancel: false }
    }
}

/// When a run must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// At this instant.
    At(Timestamp),
    /// This long after its first grant; the store turns it into an instant there.
    After(Span),
}

/// What becomes of a child when its parent ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retention {
    /// It is cancelled with its parent.
    #[default]
    Run,
    /// It is detached and lives on.
    Permanent,
}

/// Which queued run goes first: higher before lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// When nothing else waits.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before normal work.
    High,
    /// Before everything.
    Critical,
}

/// What an agent type's runs are made with when mail makes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpecDefaults {
    /// Whose run it is; tenants take turns.
    pub tenant: Option<Name>,
    /// Its place in the queue.
    pub priority: Priority,
    /// What happens when its agent fails.
    pub retry: RunRetryPolicy,
    /// When it must have ended.
    pub deadline: Option<Deadline>,
    /// The most messages of its first drain.
    pub batch: u32,
    /// How many runs its tree may have, while it is the root of one.
    #[serde(skip_serializing_if = "SpawnBudget::is_default")]
    pub spawn_budget: SpawnBudget,
    /// How much its tree may spend, while it is the root of one.
    #[serde(skip_serializing_if = "Limits::is_default")]
    pub limits: Limits,
}

impl Default for SpecDefaults {
    fn default() -> Self {
        SpecDefaults {
            tenant: None,
            priority: Priority::Normal,
            retry: RunRetryPolicy::default(),
            deadline: None,
            batch: 100,
            spawn_budget: SpawnBudget::default(),
            limits: Limits::default(),
        }
    }
}

/// All that a store knows about a run from its creation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunSpec {
    /// The run.
    pub run: RunId,
    /// Its address.
    pub agent: AgentId,
    /// The run that spawned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The root of its tree; itself for a root.
    pub tree: RunId,
    /// What becomes of it when its parent ends.
    #[serde(default)]
    pub retention: Retention,
    /// When its parent must have ended: so must it, whatever its own deadline says. None for a permanent child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_deadline: Option<Timestamp>,
    /// The rest, as for runs made by mail.
    #[serde(flatten)]
    pub settings: SpecDefaults,
}

impl RunSpec {
    /// A run without a parent: the root of its tree.
    pub fn root(run: RunId, agent: AgentId, settings: SpecDefaults) -> Self {
        let (parent, parent_deadline) = (None, None);
        RunSpec { run, agent, parent, tree: run, retention: Retention::default(), parent_deadline, settings }
    }
}

/// What happened that a sleeping run may have waited for (requirement page, "Wakeup").
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Wakeup {
    /// Mail came.
    Message {
        /// The run that sent it, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_run: Option<RunId>,
    },
    /// A time came.
    Timer {
        /// The time.
        at: Timestamp,
    },
    /// A signal came.
    Signal {
        /// Its name.
        signal: Name,
        /// Its data.
        #[serde(default)]
        payload: Json,
    },
    /// A child ended.
    ChildDone {
        /// The child.
        child_run: RunId,
        /// Where its result is, when it is large.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_ref: Option<ArtifactRef>,
    },
}

/// Why a run was made pending.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// One of the four wake-ups.
    Wakeup(Wakeup),
    /// A cancel was asked for.
    Cancel,
    /// Its deadline passed.
    Deadline,
    /// The pause before its retry is over.
    Retry,
    /// The lease of its last worker ran out.
    Reclaim,
    /// An operator, or a new version of its agent, ends its halt.
    Resume,
}

/// One thing that a sleeping run waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// A buffered signal of this name.
    Signal(Name),
    /// Pending mail that arrived after this number.
    Message {
        /// The greatest arrival number that the run has received.
        after: Arrival,
    },
    /// The end of this child.
    Child(RunId),
    /// This instant, by the store's clock.
    Time(Timestamp),
}

/// Who holds a run: a run, a worker and the attempt. Every heartbeat and release is fenced by all three.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseKey {
    /// The run.
    pub run: RunId,
    /// Who holds it.
    pub worker: WorkerId,
    /// Which lease of the run it is, from 0.
    pub attempt: Attempt,
}

/// A time-limited grant to work on one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// Run, worker and attempt.
    #[serde(flatten)]
    pub key: LeaseKey,
    /// When it was granted, by the store's clock.
    pub granted_at: Timestamp,
    /// When it runs out unless it is renewed, by the store's clock; may be sooner than asked for.
    pub expires_at: Timestamp,
    /// How long the poll waited at the store before this grant, by the store's clock: the grant was made no
    /// sooner than this long after the poll was sent.
    pub waited: Span,
    /// The run's specification.
    pub spec: Arc<RunSpec>,
    /// The deadline as an instant, fixed at the first grant.
    pub deadline: Option<Timestamp>,
    /// What made the run pending.
    pub woken_by: Vec<Trigger>,
    /// Set once a cancel was asked for: its reason.
    pub cancel_requested: Option<Name>,
    /// How many leases in a row ran out, this one's predecessor included.
    pub reclaims: u32,
}

/// The term of a renewed lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Term {
    /// When it was renewed, by the store's clock.
    pub renewed_at: Timestamp,
    /// When it runs out, by the store's clock.
    pub expires_at: Timestamp,
}

/// What a store says to a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heartbeat {
    /// Renewed.
    Healthy(Term),
    /// Renewed, and a cancel of the run was asked for: its reason.
    CancelRequested(Term, Name),
    /// Renewed, and the run's deadline has passed.
    DeadlinePassed(Term),
    /// Somebody else holds the run, or nobody: stop, and call nothing more for it.
    Lost,
}

/// How a holder gives a run up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// It sleeps until one of these; checked in the same step.
    Suspended(Vec<Wait>),
    /// Its agent does not follow its log: it sleeps until cancel, deadline or resume.
    Halted,
    /// It is given back as it is (graceful stop).
    Pending,
    /// It has ended; its log is closed with this status, which must be terminal.
    Ended(RunStatus),
}

/// Whether a release took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Released {
    /// It did.
    Released,
    /// The caller no longer holds the run; nothing changed.
    Lost,
}

/// What a claim asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClaimWait {
    /// A signal of this name.
    pub signal: Option<Name>,
    /// The end of the wait, by the store's clock.
    pub until: Option<Timestamp>,
}

/// How a wait ended: the first answer given to a step is its answer for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claimed {
    /// A signal was there; it belongs to the step now.
    Signal {
        /// The signal's id.
        id: Name,
        /// Its name.
        name: Name,
        /// Its data.
        payload: Json,
    },
    /// The time was over and no signal there.
    TimedOut,
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signalled {
    /// It is buffered, and wakes a run that waits for it.
    Buffered,
    /// The run accepted this id before; nothing changed.
    Repeated,
    /// The run has ended; the signal is dropped.
    Ended,
}

/// Whether a run was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Created {
    /// It was.
    Created,
    /// It exists already, or did.
    Exists,
    /// Its address has a live run.
    Busy,
}

/// What a scheduler knows of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunView {
    /// Its address.
    pub agent: AgentId,
    /// Its status.
    pub status: RunStatus,
    /// The attempt of its last lease; `None` before the first.
    pub attempt: Option<Attempt>,
    /// Its wait list while it is suspended.
    pub waits: Vec<Wait>,
    /// Whether a halt keeps it asleep.
    pub halted: bool,
    /// Whether it is reserved for a parent that has not created it yet; its status is `pending` then, though no
    /// worker can lease it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserved: bool,
}

/// A spawned run, as its parent knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunHandle {
    /// The child.
    pub run_id: RunId,
    /// Its address.
    pub agent_id: AgentId,
    /// The run that spawned it; none for a root, which the asker of a question may come to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run: Option<RunId>,
}

/// The terminal output of a run: a fold of its log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunResult {
    /// The run.
    pub run_id: RunId,
    /// Its terminal status; `running` in the answer to a question that a run gave before its end.
    pub status: RunStatus,
    /// What it completed with, or what it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Why it failed or was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Name>,
    /// `started_at`, `ended_at`, `leases`, `retries`, `reclaims`.
    #[serde(default)]
    pub metadata: Json,
}

/// A peek at a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunStatusSummary {
    /// The run.
    pub run_id: RunId,
    /// Its status.
    pub status: RunStatus,
    /// The last sequence number of its log.
    pub last_seq: super::Seq,
    /// The kind of its last entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_milestone: Option<Name>,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AskOutcome {
    /// The target answered.
    Replied {
        /// Its answer.
        result: RunResult,
        /// The target's progress then.
        last_seq: super::Seq,
    },
    /// Nobody answered in time.
    TimedOut {
        /// The run that has, or may get, the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handle: Option<RunHandle>,
        /// The target's progress then.
        last_seq: super::Seq,
    },
    /// The target failed without an answer.
    TargetFailed {
        /// The target's progress then.
        last_seq: super::Seq,
    },
    /// The target was cancelled without an answer.
    TargetCancelled {
        /// The target's progress then.
        last_seq: super::Seq,
    },
}

impl AskOutcome {
    /// Which of the four it is, as it is serialised.
    pub const fn kind(&self) -> &'static str {
        match self {
            AskOutcome::Replied { .. } => "replied",
            AskOutcome::TimedOut { .. } => "timed_out",
            AskOutcome::TargetFailed { .. } => "target_failed",
            AskOutcome::TargetCancelled { .. } => "target_cancelled",
        }
    }
}

/// What a parent says about a child beyond what its agent type is registered with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Supervision {
    /// What becomes of it when its parent ends.
    pub retention: Retention,
    /// When it must have ended; `None` for the registration's deadline. The parent's own deadline holds besides.
    pub deadline: Option<Deadline>,
    /// Its place in the queue; `None` for the registration's.
    pub priority: Option<Priority>,
}

/// How many runs of a tree, its root included, may be there at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SpawnBudget {
    /// The most runs.
    pub max_agents: u32,
}

impl SpawnBudget {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How much a tree may spend. A call begins only while what is spent is below each limit; one that is under way may
/// carry the total beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Model tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost in millionths of the currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Model turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

impl Limits {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The first limit that `spent` has reached: `tokens`, `cost` or `turns`.
    pub fn reached(&self, spent: &Spend) -> Option<&'static str> {
        let over = |limit: Option<u64>, spent: u64| limit.is_some_and(|limit| spent >= limit);
        let all = [
            ("tokens", over(self.tokens, spent.tokens)),
            ("cost", over(self.cost_micros, spent.cost_micros)),
            ("turns", over(self.turns, spent.turns)),
        ];
        all.into_iter().find_map(|(name, is_over)| is_over.then_some(name))
    }
}

impl Default for SpawnBudget {
    fn default() -> Self {
        SpawnBudget { max_agents: 50 }
    }
}

/// What the store answers to a parent that wants a child.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserved {
    /// Unit and address are held for this child. What its agent type is registered with stands in for what its
    /// parent does not say.
    Reserved {
        /// The child.
        child_run: RunId,
        /// The tree that it belongs to.
        tree: RunId,
        /// What the type is registered with.
        defaults: Box<SpecDefaults>,
    },
    /// Refused for good: every repeat of the step hears the same.
    Denied {
        /// Why.
        reason: Name,
    },
    /// The address, or a unit, is about to be free: its run has ended but is not released yet.
    Ending {
        /// When to ask again.
        again: Timestamp,
    },
    /// The parent's lease is not the caller's.
    Lost,
}

/// A follow relation between an agent and a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Subscription {
    /// Who follows.
    pub follower: AgentId,
    /// What.
    pub topic: super::TopicId,
}

/// The order of follow and unfollow: the store's time, then the step. The greatest per pair counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The `ts` of the step's entry, or of an input's arrival.
    pub ts: Timestamp,
    /// The step.
    pub step: Step,
}

/// What was spent, by a call or by a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    /// Model tokens.
    pub tokens: u64,
    /// Cost in millionths of the currency.
    pub cost_micros: u64,
    /// Model turns.
    pub turns: u64,
}

impl Spend {
    /// Both together; each part ends at the greatest number.
    #[must_use]
    pub fn plus(self, other: Spend) -> Spend {
        Spend {
            tokens: self.tokens.saturating_add(other.tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            turns: self.turns.saturating_add(other.turns),
        }
    }
}

/// What a tree has spent, and what it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Account {
    /// What it has spent.
    pub spent: Spend,
    /// What it may spend, as its root was made.
    pub limits: Limits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_before_a_retry_doubles_up_to_its_ceiling_and_never_overflows() {
        let policy = RunRetryPolicy::default();
        let pauses = [1, 2, 3, 7, 8, u32::MAX].map(|number| policy.pause_before(number).to_string());
        assert_eq!(pauses, ["5s", "10s", "20s", "5m", "5m", "5m"]);
    }

    #[test]
    fn three_statuses_are_terminal() {
        let (ended, live): (Vec<_>, Vec<_>) = RunStatus::ALL.into_iter().partition(|status| status.is_terminal());
        assert_eq!(ended, [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled]);
        assert_eq!(live.len(), 3);
    }

    #[test]
    fn a_wakeup_without_its_fact_is_refused() {
        assert!(serde_json::from_str::<Wakeup>(r#"{"kind": "timer"}"#).is_err());
        assert!(serde_json::from_str::<Wakeup>(r#"{"kind": "signal"}"#).is_err());
        assert!(serde_json::from_str::<AskOutcome>(r#"{"kind": "replied", "last_seq": 1}"#).is_err());
        let timer: Wakeup = serde_json::from_str(r#"{"kind": "timer", "at": "2025-05-11T20:00:00Z"}"#).unwrap();
        assert_eq!(serde_json::to_string(&timer).unwrap(), r#"{"kind":"timer","at":"2025-05-11T20:00:00Z"}"#);
    }
}
