//! The profiles of a world: a document that people review and keep, and what it comes to for each user.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::PlanEnd;
use crate::kernel::{Alignment, Name, Occurrence};
use crate::scenario::Outcome;

/// The occurrences of every user. As text it is a JSON document, the same for the same world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Profiles(pub BTreeMap<Name, Occurrences>);

/// The occurrences of a user: by plan, then by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occurrences(pub BTreeMap<Occurrence, PlanEnd>);

impl Outcome {
    /// The profiles of all plans.
    pub fn profiles(&self) -> Profiles {
        let users = self.ends.users.iter();
        Profiles(users.map(|(user, end)| (user.clone(), Occurrences(end.plans.clone()))).collect())
    }
}

impl fmt::Display for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string_pretty(self).expect("profiles are a document"))
    }
}

impl Serialize for Occurrences {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(occurrence, end)| (occurrence.to_string(), end)))
    }
}

impl<'de> Deserialize<'de> for Occurrences {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_name = BTreeMap::<String, PlanEnd>::deserialize(deserializer)?;
        let read = |(name, end): (String, PlanEnd)| {
            let occurrence = occurrence(&name);
            let reason = || de::Error::custom(format_args!("`{name}` is no occurrence, like `inbox#1`"));
            occurrence.map(|occurrence| (occurrence, end)).ok_or_else(reason)
        };
        by_name.into_iter().map(read).collect::<Result<_, _>>().map(Occurrences)
    }
}

/// The occurrence called `uid#n`.
pub fn occurrence(name: &str) -> Option<Occurrence> {
    let (uid, n) = name.rsplit_once('#')?;
    let is_plain = !uid.is_empty() && !n.starts_with('0') && n.bytes().all(|byte| byte.is_ascii_digit());
    Some(Occurrence { uid: uid.into(), n: n.parse().ok().filter(|_| is_plain)? })
}

/// What the profiles of a user come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many were executed in time: `exact`.
    pub exact: u64,
    /// How many were executed nearly in time: `partial`.
    pub partial: u64,
    /// How many were executed out of time: `misaligned`.
    pub misaligned: u64,
    /// How many got each score, from 1 to 5.
    pub feedback: [u64; 5],
}

impl Occurrences {
    /// What they come to.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for block in self.0.values().filter_map(|end| end.profiling.as_ref()) {
            if block.executed_at.is_some() {
                *match block.tempo_alignment {
                    Alignment::Exact => &mut tally.exact,
                    Alignment::Partial => &mut tally.partial,
                    Alignment::Misaligned => &mut tally.misaligned,
                } += 1;
            }
            if let Some(score) = block.feedback_score {
                tally.feedback[usize::from(score.get()) - 1] += 1;
            }
        }
        tally
    }
}

impl Tally {
    /// How many were executed.
    pub const fn executed(&self) -> u64 {
        self.exact + self.partial + self.misaligned
    }

    /// The tempo alignment score in thousandths, a half rounded up: the mean over what was executed, of which `exact` counts
    /// 1, `partial` ½ and `misaligned` 0. None where nothing was executed.
    pub const fn alignment_score(&self) -> Option<u64> {
        let executed = self.executed();
        if executed == 0 {
            return None;
        }
        Some(((1_000 * self.exact + 500 * self.partial) * 2 + executed) / (2 * executed))
    }
}

/// Plays `scenario` under `schedule` and holds the profiles of its plans to a snapshot of `insta`, which must be among the
/// dependencies of the crate that uses this. A name for the snapshot may stand before the scenario.
///
/// ```no_run
/// use chronodrome::scenario::Scenario;
/// use chronodrome::sim::Schedule;
/// let scenario = Scenario::load("scenarios/a-day.json".as_ref()).unwrap();
/// chronodrome::assert_profile_snapshot!(scenario, Schedule::Calm);
/// chronodrome::assert_profile_snapshot!("a day, seed 7", scenario, Schedule::Seed(7));
/// ```
#[macro_export]
macro_rules! assert_profile_snapshot {
    ($scenario:expr, $schedule:expr $(,)?) => {
        ::insta::assert_snapshot!(($scenario).run(&$schedule).profiles().to_string())
    };
    ($name:expr, $scenario:expr, $schedule:expr $(,)?) => {
        ::insta::assert_snapshot!($name, ($scenario).run(&$schedule).profiles().to_string())
    };
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_alignment_score_is_exact_in_thousandths() {
        let score =
            |exact, partial, misaligned| Tally { exact, partial, misaligned, feedback: [0; 5] }.alignment_score();
        let cases = [
            ((0, 0, 0), None),
            ((1, 0, 0), Some(1_000)),
            ((0, 0, 3), Some(0)),
            ((1, 1, 0), Some(750)),
            ((1, 0, 2), Some(333)),
            ((2, 0, 1), Some(667)),
            // 0.0625: a half is rounded up.
            ((0, 1, 7), Some(63)),
        ];
        for ((exact, partial, misaligned), wanted) in cases {
            assert_eq!(score(exact, partial, misaligned), wanted, "{exact} {partial} {misaligned}");
        }
    }

    #[test]
    fn profiles_are_read_as_they_are_written_in_the_order_of_the_numbers() {
        let end = json!({ "status": "approved", "queue": "scheduled", "due": "2025-05-11T20:00:00Z" });
        let document = json!({ "ana": { "a#2": end, "a#10": end, "a": end } });
        assert!(serde_json::from_value::<Profiles>(document).is_err(), "`a` is a plan and no occurrence");
        let document = json!({ "ana": { "a#2": end, "a#10": end } });
        let profiles: Profiles = serde_json::from_value(document.clone()).unwrap();
        let text = profiles.to_string();
        assert!(text.find("a#2") < text.find("a#10"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }

    #[test]
    fn what_is_no_occurrence_has_no_name_of_one() {
        for name in ["inbox", "#1", "inbox#", "inbox#0", "inbox#01", "inbox#+1", "inbox#99999999999"] {
            assert_eq!(occurrence(name), None, "{name}");
        }
        assert_eq!(occurrence("inbox#12").unwrap().to_string(), "inbox#12");
    }
}
