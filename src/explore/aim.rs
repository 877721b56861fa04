//! Which failures an exploration is after, and which are known already.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::replay::nearest;
use super::{Cause, REPLAY_INVARIANTS};
use crate::check::INVARIANTS;
use crate::scenario::Outcome;
use crate::sim::FaultKind;

/// The name that failed expectations of a scenario go by, where an invariant is asked for.
pub const EXPECTATION: &str = "expectation";

/// Which failures count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aim {
    /// Only what breaks this: an invariant, [`EXPECTATION`] for whatever is expected, or the text of one expectation; none
    /// for everything.
    pub only: Option<String>,
    /// What is known, and does not end an exploration.
    pub known: Known,
}

impl Aim {
    /// Takes from an outcome of a scenario what does not count: what is not asked for; and what is known, whatever came
    /// last, where something is broken besides. So a known failure hides no other one of the same schedule.
    pub fn apply(&self, scenario: &str, outcome: &mut Outcome) {
        if let Some(only) = &self.only {
            let counts = |cause: &Cause| cause.invariant == *only || cause.promise() == only;
            keep(outcome, counts);
        }
        let is_new = |cause: &Cause| self.known.covers(scenario, cause, None).is_none();
        if !self.known.entries.is_empty() && Cause::all(outcome).any(|cause| is_new(&cause)) {
            keep(outcome, is_new);
        }
    }
}

/// Takes from an outcome what it breaks besides this.
fn keep(outcome: &mut Outcome, counts: impl Fn(&Cause) -> bool) {
    outcome.violations.retain(|violation| counts(&Cause::of_violation(violation)));
    for expectation in &mut outcome.expectations {
        expectation.held |= !counts(&Cause::of_expectation(expectation));
    }
}

/// A name that is no invariant's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no invariant `{name}`; did you mean `{nearest}`?")]
pub struct NoInvariant {
    /// The name.
    pub name: String,
    /// The nearest that there is.
    pub nearest: &'static str,
}

/// Finds an invariant, or [`EXPECTATION`], by its name.
///
/// # Errors
/// When there is none of this name.
pub fn invariant_named(name: &str) -> Result<&'static str, NoInvariant> {
    let judged = INVARIANTS.iter().chain(&REPLAY_INVARIANTS).map(|invariant| invariant.name);
    let names: Vec<&'static str> = judged.chain([EXPECTATION]).collect();
    match names.iter().find(|known| **known == name) {
        Some(found) => Ok(found),
        None => {
            let nearest = nearest(name, names.iter()).copied().unwrap_or(EXPECTATION);
            Err(NoInvariant { name: name.to_owned(), nearest })
        }
    }
}

/// Failures that are known, each with the reason why it may stay for now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    entries: Vec<KnownFailure>,
}

/// One failure that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFailure {
    /// The scenario's name.
    pub scenario: String,
    /// The invariant that is broken; `expectation` for an expectation.
    pub invariant: String,
    /// The kind of subject; none for every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The last deviation of the minimum, as `crash × append tool.called`; none for whatever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Why it may stay.
    pub reason: String,
}

/// What is wrong with a file of known failures.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is no list of known failures.
    #[error("{}: {error}; a known failure is `{{\"scenario\": …, \"invariant\": …, \"reason\": …}}`, with \
             `\"subject\"` and `\"last\"` where they matter, in a list or one a line", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What and where.
        error: serde_json::Error,
    },
    /// It says nothing of an expectation but that one is broken.
    #[error("{}: a known `expectation` of `{scenario}` names no `subject`: the text of the expectation, as a report has it \
             (`effect card.charge happened at most 1`); without it every new failure would be known", path.display())]
    Subject {
        /// The file.
        path: PathBuf,
        /// The scenario's name.
        scenario: String,
    },
    /// It names a last deviation that is none.
    #[error("{}: `last` is `{last}`; it is a kind of fault and a call, as a report has it: `crash × append tool.called`",
            path.display())]
    Last {
        /// The file.
        path: PathBuf,
        /// What it names.
        last: String,
    },
    /// It names what there is not.
    #[error("{}: {error}", path.display())]
    Invariant {
        /// The file.
        path: PathBuf,
        /// What.
        error: NoInvariant,
    },
}

impl Known {
    /// These.
    pub fn new(mut entries: Vec<KnownFailure>) -> Known {
        entries.sort();
        entries.dedup();
        Known { entries }
    }

    /// Reads a file: a JSON list of known failures, or one a line.
    ///
    /// # Errors
    /// When it cannot be read, is something else, or names an invariant that there is not.
    pub fn load(path: &Path) -> Result<Known, KnownError> {
        let owned = || path.to_owned();
        let text = std::fs::read_to_string(path).map_err(|error| KnownError::Unreadable { path: owned(), error })?;
        let listed = text.trim_start().starts_with('[');
        let entries: Result<Vec<KnownFailure>, serde_json::Error> = if listed {
            serde_json::from_str(&text)
        } else {
            serde_json::Deserializer::from_str(&text).into_iter().collect()
        };
        let entries = entries.map_err(|error| KnownError::Form { path: owned(), error })?;
        for entry in &entries {
            invariant_named(&entry.invariant).map_err(|error| KnownError::Invariant { path: owned(), error })?;
            if entry.invariant == EXPECTATION && entry.subject.is_none() {
                return Err(KnownError::Subject { path: owned(), scenario: entry.scenario.clone() });
            }
            if let Some(last) = entry.last.as_ref().filter(|last| !is_strike(last)) {
                return Err(KnownError::Last { path: owned(), last: last.clone() });
            }
        }
        Ok(Known::new(entries))
    }

    /// The known failures, in order.
    pub fn entries(&self) -> &[KnownFailure] {
        &self.entries
    }

    /// The place of the entry that covers a failure, if one does. `last` is the last deviation of its minimum: that of a
    /// schedule that is not shrunk says little; none where it is not known.
    pub fn covers(&self, scenario: &str, cause: &Cause, last: Option<&str>) -> Option<usize> {
        self.entries.iter().position(|entry| {
            let last = entry.last.is_none() || entry.last.as_deref() == last;
            entry.is_about(scenario, cause) && last
        })
    }

    /// Whether nothing but the minimum of a failure with this cause tells if it is known: entries name last deviations,
    /// and none takes whatever came last.
    pub fn asks_for_minimum(&self, scenario: &str, cause: &Cause) -> bool {
        let mut about = self.entries.iter().filter(|entry| entry.is_about(scenario, cause)).peekable();
        about.peek().is_some() && about.all(|entry| entry.last.is_some())
    }
}

impl KnownFailure {
    /// Whether it is about this cause, whatever came last.
    fn is_about(&self, scenario: &str, cause: &Cause) -> bool {
        let subject = self.subject.as_deref().is_none_or(|subject| subject == cause.subject_kind);
        self.scenario == scenario && self.invariant == cause.invariant && subject
    }
}

/// Whether this is how a strike is written: a kind of fault and a call.
fn is_strike(text: &str) -> bool {
    let is_kind = |name: &str| FaultKind::ALL.iter().any(|kind| kind.as_str() == name);
    text.split_once(" × ").is_some_and(|(kind, call)| is_kind(kind) && !call.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(invariant: &str, kind: &str) -> Cause {
        Cause { invariant: invariant.to_owned(), subject_kind: kind.to_owned() }
    }

    #[test]
    fn a_known_failure_is_covered_by_what_its_entry_says_and_no_more() {
        let text = r#"
            {"scenario": "mail", "invariant": "inbox-fifo", "reason": "being worked on"}
            {"scenario": "mail", "invariant": "log-dense", "subject": "billing", "last": "crash × read", "reason": "r"}
        "#;
        let directory = tempfile::tempdir().expect("a directory for the test");
        let path = directory.path().join("known.json");
        std::fs::write(&path, text).expect("it can be written");
        let known = Known::load(&path).expect("it is sound");
        let cases = [
            ("mail", cause("inbox-fifo", "anybody"), None, Some(0)),
            ("mail", cause("inbox-once", "anybody"), None, None),
            ("other", cause("inbox-fifo", "anybody"), None, None),
            ("mail", cause("log-dense", "billing"), Some("crash × read"), Some(1)),
            ("mail", cause("log-dense", "billing"), Some("pause × read"), None),
            ("mail", cause("log-dense", "billing"), None, None),
            ("mail", cause("log-dense", "w"), Some("crash × read"), None),
        ];
        for (scenario, cause, last, place) in cases {
            assert_eq!(known.covers(scenario, &cause, last), place, "{scenario} {cause:?} {last:?}");
        }
        let list = serde_json::to_string(known.entries()).expect("it is data");
        std::fs::write(&path, list).expect("it can be written");
        assert_eq!(Known::load(&path).expect("a list is sound, too"), known);
    }

    #[test]
    fn the_minimum_is_asked_for_where_nothing_else_tells() {
        let entry = |invariant: &str, subject: Option<&str>, last: Option<&str>| KnownFailure {
            scenario: "mail".to_owned(),
            invariant: invariant.to_owned(),
            subject: subject.map(ToOwned::to_owned),
            last: last.map(ToOwned::to_owned),
            reason: "r".to_owned(),
        };
        let (crash, pause) = (Some("crash × read"), Some("pause × read"));
        let known = Known::new(vec![
            entry("inbox-fifo", None, crash),
            entry("inbox-fifo", None, pause),
            entry("log-dense", None, crash),
            entry("log-dense", Some("billing"), None),
        ]);
        let cases = [
            ("mail", cause("inbox-fifo", "anybody"), true),
            ("other", cause("inbox-fifo", "anybody"), false),
            ("mail", cause("inbox-once", "anybody"), false),
            ("mail", cause("log-dense", "billing"), false),
            ("mail", cause("log-dense", "shop"), true),
        ];
        for (scenario, cause, asks) in cases {
            assert_eq!(known.asks_for_minimum(scenario, &cause), asks, "{scenario} {cause:?}");
        }
    }

    #[test]
    fn a_file_that_is_wrong_is_told_with_its_place() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let path = directory.path().join("known.json");
        let told = |text: &str| {
            std::fs::write(&path, text).expect("it can be written");
            Known::load(&path).expect_err("it is wrong").to_string()
        };
        let cases = [
            (r#"[{"scenario": "a", "invariant": "log-dense"}]"#, "missing field `reason`"),
            (r#"[{"scenario": "a", "invariant": "log-dens", "reason": "r"}]"#, "did you mean `log-dense`?"),
            (r#"[{"scenario": "a", "invariant": "log-dense", "reason": "r", "seed": 1}]"#, "unknown field `seed`"),
            ("[\n{]", "line 2 column 2"),
        ];
        for (text, wanted) in cases {
            assert!(told(text).contains(wanted), "{}", told(text));
        }
    }

    #[test]
    fn only_what_is_aimed_at_is_left_of_an_outcome() {
        use super::super::fake;
        let mut outcome = fake::held();
        outcome.violations = vec![fake::violation("log-dense", 1), fake::violation("inbox-once", 2)];
        Aim { only: Some("inbox-once".to_owned()), ..Aim::default() }.apply("any", &mut outcome);
        assert_eq!(outcome.violations.len(), 1);
        Aim { only: Some(EXPECTATION.to_owned()), ..Aim::default() }.apply("any", &mut outcome);
        assert!(outcome.held());
    }
}
