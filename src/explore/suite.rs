//! Scenarios as part of a project's own tests.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::files::{FilesError, load_all};
use super::sweep::{Sweep, Swept};
use super::{Loaded, Subject};
use crate::sim::Schedule;

/// The scenarios at a path, to be swept by a test.
///
/// ```no_run
/// chronodrome::suite("scenarios").seeds(0..500).run().unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a suite does nothing until it is run"]
pub struct Suite {
    path: PathBuf,
    sweep: Sweep,
}

/// Why a suite does not hold; its words are made for the output of a test.
#[derive(Debug)]
pub enum SuiteError {
    /// A path or a file is wrong.
    Files(FilesError),
    /// A promise, determinism or chronodrome itself is broken.
    Broken(Vec<String>),
}

/// The scenarios at `path`, a file or a directory; 1 000 seeds each on one thread unless told otherwise.
pub fn suite(path: impl AsRef<Path>) -> Suite {
    Suite { path: path.as_ref().to_owned(), sweep: Sweep { seeds: 0..1_000, jobs: 1, fail_fast: false } }
}

impl Suite {
    /// Other seeds.
    pub fn seeds(mut self, seeds: Range<u64>) -> Suite {
        self.sweep.seeds = seeds;
        self
    }

    /// More threads. What is found does not depend on them.
    pub fn jobs(mut self, jobs: usize) -> Suite {
        self.sweep.jobs = jobs;
        self
    }

    /// Plays every seed of every scenario.
    ///
    /// # Errors
    /// When a file is wrong, or any schedule breaks a promise, gives two histories, or panics.
    pub fn run(self) -> Result<Swept, SuiteError> {
        let loaded = load_all(std::slice::from_ref(&self.path)).map_err(SuiteError::Files)?;
        let subjects: Vec<&dyn Subject> = loaded.iter().map(|loaded| &loaded.scenario as &dyn Subject).collect();
        let swept = self.sweep.run(&subjects, &mut |_| None);
        let broken = complaints(&swept, &loaded);
        if broken.is_empty() { Ok(swept) } else { Err(SuiteError::Broken(broken)) }
    }
}

fn complaints(swept: &Swept, loaded: &[Loaded]) -> Vec<String> {
    let file = |subject: usize| loaded[subject].path.display();
    let findings = &swept.findings;
    let mut told = Vec::new();
    for ((subject, cause), group) in &findings.failures {
        let schedule = in_words(&group.first.schedule);
        let violations = group.first.outcome.violations.iter().map(|violation| &violation.message);
        let expectations = group.first.outcome.expectations.iter().filter(|expectation| !expectation.held);
        let first = violations.chain(expectations.map(|expectation| &expectation.message)).next();
        told.push(format!(
            "{}: {} broken in {} schedules, first with {schedule}: {}",
            file(*subject),
            cause.invariant,
            group.count,
            first.map_or("", String::as_str)
        ));
    }
    for (subject, stale) in &findings.stale {
        let site = &stale.deviations[0].site;
        told.push(format!("{}: its deviation at `{site}` never came up: the file is stale", file(*subject)));
    }
    if let Some(divergence) = &findings.divergence {
        let schedule = in_words(&divergence.schedule);
        told.push(format!("{}: {schedule} gave two histories: determinism is broken", file(divergence.subject)));
    }
    if let Some(broken) = &findings.broken {
        told.push(format!("{}: {} panicked: {}", file(broken.subject), in_words(&broken.schedule), broken.panic));
    }
    told
}

/// A schedule for a sentence.
pub(crate) fn in_words(schedule: &Schedule) -> String {
    match schedule {
        Schedule::Calm => "the calm schedule".to_owned(),
        Schedule::Seed(seed) => format!("seed {seed}"),
        Schedule::Spliced(turns) => {
            let seeds: Vec<String> = turns.iter().map(|turn| turn.seed.to_string()).collect();
            format!("the seeds {} in turn", seeds.join(", "))
        }
        Schedule::Fixed(list) if list.len() == 1 => format!("the deviation at `{}`", list[0].site),
        Schedule::Fixed(list) => format!("{} listed deviations", list.len()),
    }
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuiteError::Files(error) => error.fmt(f),
            SuiteError::Broken(told) => f.write_str(&told.join("\n")),
        }
    }
}

impl std::error::Error for SuiteError {}
