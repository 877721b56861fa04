//! What holds for a user: time zone, windows, budgets, cadence, blocked slots, policies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::plan::Action;
use crate::kernel::{Name, Span, Timestamp};

/// A named window: the days on which it is, and its local times. `end` before or at `start` means the next day; `24:00` is
/// the end of the day.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedWindow {
    /// `daily`, or a weekday.
    #[serde(default = "daily")]
    pub days: Name,
    /// `HH:MM`.
    pub start: Name,
    /// `HH:MM`.
    pub end: Name,
}

fn daily() -> Name {
    "daily".into()
}

/// The settings of a user. They stand in the trace log, so that all planners go by the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The IANA name of the user's time zone; UTC without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Name>,
    /// Whether plans are approved as they are proposed.
    pub auto_approve: bool,
    /// Named windows besides, and over, the usual ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub registry: BTreeMap<Name, NamedWindow>,
    /// How many dispatches of an action there may be on one local day.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub budget: BTreeMap<Action, u32>,
    /// The least time between two dispatches of an action.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cadence: BTreeMap<Action, Span>,
    /// Local times at which nothing is dispatched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<NamedWindow>,
    /// No occurrence of a plan that repeats is due after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<Timestamp>,
    /// Whether a reflection is written after each execution.
    pub reflect: bool,
    /// Whether an execution that failed is followed by a proposal to do it again.
    pub follow_up: bool,
}

/// Settings that hold for nobody: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    /// The field, as `registry.EveningReview.start`.
    pub place: String,
    /// What is wrong with it, in words.
    pub reason: String,
    /// The valid choice that is nearest.
    pub nearest: Option<String>,
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}
