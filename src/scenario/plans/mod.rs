//! What became of plans and of memory, as the trace logs of users tell it at the end of a world.
//!
//! - [`PlanEnd`]: one occurrence at the end; [`UserEnd`]: all of a user.
//! - [`expected`]: what a scenario expects of them.
//! - [`profiles`]: the profiles of a world as a document that people review, and what they come to.

pub mod expected;
pub mod profiles;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::kernel::{Name, Occurrence, Profile, Reward, RunId, RunLogEntry, Score, Timestamp};
use crate::tempo::{Book, PlanStatus, Planned, QueueState};

/// An occurrence of a plan at the end of a world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanEnd {
    /// Where its plan stands.
    pub status: PlanStatus,
    /// Where it is in the planner's queue.
    #[serde(with = "queue")]
    pub queue: QueueState,
    /// When it is due, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// When its agent was first given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatched: Option<Timestamp>,
    /// Why it was never executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Name>,
    /// Its profiling block, once it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiling: Option<Profile>,
}

/// What is left of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserEnd {
    /// Every occurrence.
    pub plans: BTreeMap<Occurrence, PlanEnd>,
    /// The ids of the memory traces that were added or committed.
    pub memory: BTreeSet<Name>,
}

/// Every place in the queue.
pub const QUEUE_STATES: [QueueState; 6] = [
    QueueState::AwaitingApproval,
    QueueState::Scheduled,
    QueueState::Ready,
    QueueState::Running,
    QueueState::Done,
    QueueState::Closed,
];

impl PlanEnd {
    /// When it was completed, or had failed; none when it was never executed.
    pub fn completed(&self) -> Option<Timestamp> {
        self.profiling.as_ref()?.executed_at
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u64 {
        match &self.profiling {
            Some(block) if block.executed_at.is_some() => block.attempts.len().max(1) as u64,
            _ => 0,
        }
    }

    /// The last feedback.
    pub fn score(&self) -> Option<Score> {
        self.profiling.as_ref()?.feedback_score
    }

    /// The reward.
    pub fn reward(&self) -> Option<Reward> {
        self.profiling.as_ref()?.reward_signal
    }
}

impl UserEnd {
    /// What the trace log of `user` comes to at `now`; `log_of` gives the log of a run.
    pub fn of<'a>(
        user: &Name,
        entries: &'a [RunLogEntry],
        now: Timestamp,
        log_of: impl Fn(RunId) -> &'a [RunLogEntry],
    ) -> UserEnd {
        let book = Book::of(user.clone(), entries);
        let began = |run| log_of(run).iter().find(|entry| entry.body.lease_entry().is_some()).map(|entry| entry.ts);
        let mut plans = BTreeMap::new();
        for planned in book.plans.values() {
            plans.extend(occurrences(planned, now, &began));
        }
        UserEnd { plans, memory: book.memory.keys().cloned().collect() }
    }
}

/// The occurrences of a plan.
fn occurrences<'a>(
    planned: &'a Planned,
    now: Timestamp,
    began: &'a impl Fn(RunId) -> Option<Timestamp>,
) -> impl Iterator<Item = (Occurrence, PlanEnd)> + 'a {
    (1..).zip(&planned.instances).filter_map(move |(n, instance)| {
        let closing = instance.closing.as_ref();
        let end = PlanEnd {
            status: planned.status,
            queue: planned.queue_state(n, now)?,
            due: instance.due,
            dispatched: instance.dispatch.as_ref().and_then(|dispatch| began(dispatch.run)),
            reason: closing.and_then(|closing| closing.reason.clone()),
            profiling: closing.map(|closing| closing.profile.clone()),
        };
        Some((planned.occurrence(n), end))
    })
}

/// A place in the queue, as files have it.
mod queue {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::QUEUE_STATES;
    use crate::tempo::QueueState;

    pub fn serialize<S: Serializer>(state: &QueueState, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(state.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<QueueState, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = QUEUE_STATES.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| de::Error::custom(format_args!("`{text}` is no place in the queue")))
    }
}
