//! What a sweep found, made small and written as files that play it again.

use std::path::Path;
use std::time::Duration;

use super::Stop;
use super::clock::Watch;
use super::terminal::Terminal;
use crate::explore::results::{self, FileLine};
use crate::explore::shrink::{Limits, Progress};
use crate::explore::{Aim, Failure, Findings, Loaded};
use crate::report::failure;
use crate::scenario::Scenario;

/// Where and how long failures are shrunk.
pub(super) struct Shrink<'a> {
    /// What was swept.
    pub(super) loaded: &'a [Loaded],
    /// The ids of the scenarios in lines.
    pub(super) ids: Vec<String>,
    /// Which failures count.
    pub(super) aim: &'a Aim,
    /// How long shrinking may take, over all failures.
    pub(super) budget: Duration,
    /// Where things are told.
    pub(super) terminal: &'a Terminal,
}

impl Shrink<'_> {
    /// The files of the failures of a sweep that need one.
    pub(super) fn files(&self, findings: &Findings) -> Vec<FileLine> {
        let wanted: Vec<&Failure> = findings
            .failures
            .values()
            .flat_map(|group| group.samples())
            .map(|sample| &sample.failure)
            .filter(|failure| results::needs_file(self.scenario(failure), failure, self.aim))
            .collect();
        let watch = Watch::start(Some(self.budget));
        let bar = self.terminal.line("{spinner} {elapsed} {msg}");
        let mut files = Vec::new();
        for (nth, failure) in wanted.iter().enumerate() {
            let share = watch.share(1, (wanted.len() - nth) as u64);
            let what = format!("shrinking failure {} of {}", nth + 1, wanted.len());
            files.extend(self.file(failure, &share, &|told| bar.set_message(format!("{what}{told}"))));
        }
        bar.finish_and_clear();
        files
    }

    fn scenario(&self, failure: &Failure) -> &Scenario {
        &self.loaded[failure.subject].scenario
    }

    /// The file of a failure: the smallest that is found till `watch` halts it, else the failure as it is.
    fn file(&self, failure: &Failure, watch: &Watch, tell: &dyn Fn(&str)) -> Option<FileLine> {
        let scenario = self.scenario(failure);
        let name = failure::file_name(&scenario.name, failure);
        let mut listener = |progress: &Progress| {
            tell(&format!(": {} deviations left, {} replays", progress.deviations, progress.replays));
            watch.halt().is_none()
        };
        let limits = Limits::default();
        let limits = watch.halt().is_none().then_some(&limits);
        let made = results::make(scenario, failure, self.aim, limits, &mut listener);
        match made {
            Ok(Some(made)) => Some(failure::complete(made, &self.ids[failure.subject], name)),
            Ok(None) => {
                self.terminal
                    .complain(&format!("{name}: played from its deviations alone the failure is not the same"));
                None
            }
            Err(panic) => {
                self.terminal.complain(&format!("{name}: playing it again panicked: {panic}"));
                None
            }
        }
    }
}

/// Writes files of failures into a directory, which is made if it is not there.
pub(super) fn write<'a>(directory: &Path, files: impl Iterator<Item = &'a FileLine>) -> Result<(), Stop> {
    for file in files {
        failure::write(directory, file).map_err(|(path, error)| Stop::Unwritable { path, error })?;
    }
    Ok(())
}
