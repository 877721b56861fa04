//! What a sweep found, made small and written as files that play it again.

use std::path::Path;
use std::time::Duration;

use super::Stop;
use super::clock::Watch;
use super::terminal::Terminal;
use crate::explore::replay::replay;
use crate::explore::results::{FileLine, Shrinking};
use crate::explore::shrink::{Limits, shrink};
use crate::explore::{Aim, Failure, Findings, Fingerprint, Loaded};
use crate::report::failure;
use crate::scenario::Scenario;
use crate::scenario::write;
use crate::sim::{Deviation, Schedule};

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
    /// The files of the failures of a sweep. A failure that is known whatever came last needs none; nor does a file's
    /// own list: the file plays it.
    pub(super) fn files(&self, findings: &Findings) -> Vec<FileLine> {
        let wanted: Vec<&Failure> = findings
            .failures
            .values()
            .flat_map(|group| group.samples())
            .filter(|failure| matches!(failure.schedule, Schedule::Seed(_)) && !self.is_known(failure))
            .collect();
        let watch = Watch::start(Some(self.budget));
        let mut files = Vec::new();
        let bar = self.terminal.line("{spinner} {elapsed} {msg}");
        for (nth, failure) in wanted.iter().enumerate() {
            let left = self.budget.saturating_sub(watch.elapsed());
            let share = left / (wanted.len() - nth) as u32;
            let what = format!("shrinking failure {} of {}", nth + 1, wanted.len());
            let found = self.shrunk(failure, share, &|told| bar.set_message(format!("{what}{told}")));
            files.extend(found.or_else(|| self.unshrunk(failure)));
        }
        bar.finish_and_clear();
        files
    }

    fn is_known(&self, failure: &Failure) -> bool {
        let name = &self.loaded[failure.subject].scenario.name;
        self.aim.known.covers(name, &failure.cause(), None).is_some()
    }

    /// The smallest failure that is found in `time`; none if there is no time, or nothing to be found.
    fn shrunk(&self, failure: &Failure, time: Duration, tell: &dyn Fn(&str)) -> Option<FileLine> {
        let watch = Watch::start(Some(time));
        if watch.halt().is_some() {
            return None;
        }
        let scenario = &self.loaded[failure.subject].scenario;
        let mut listener = |progress: &crate::explore::shrink::Progress| {
            tell(&format!(": {} deviations left, {} replays", progress.deviations, progress.replays));
            watch.halt().is_none()
        };
        let shrunk = match shrink(scenario, failure, &Limits::default(), &mut listener) {
            Ok(shrunk) => shrunk,
            Err(panic) => {
                self.terminal.complain(&format!("{}: shrinking it panicked: {panic}", self.name(failure)));
                return None;
            }
        };
        if !shrunk.reproduced {
            return None;
        }
        let how = Shrinking { replays: shrunk.replays, minimal: shrunk.minimal };
        let mut line = self.line(failure, &shrunk.scenario, &shrunk.deviations, Some(how));
        line.last = shrunk.fingerprint.last.map(|strike| strike.to_string());
        Some(line)
    }

    /// The failure with all its deviations, if these alone make it fail in the same way.
    fn unshrunk(&self, failure: &Failure) -> Option<FileLine> {
        let scenario = &self.loaded[failure.subject].scenario;
        let cause = failure.cause();
        let regression = write::regression(scenario, &failure.outcome.deviations, &cause.invariant);
        let list = regression.deviations.clone().unwrap_or_default();
        let alike = replay(&regression, &list, None).is_ok_and(|mut replayed| {
            self.aim.apply(&mut replayed.outcome);
            replayed.stale.is_empty() && !replayed.outcome.held() && Fingerprint::of(&replayed.outcome).cause == cause
        });
        if !alike {
            let name = self.name(failure);
            self.terminal.complain(&format!("{name}: played from its deviations alone the failure is not the same"));
            return None;
        }
        Some(self.line(failure, &regression, &list, None))
    }

    fn line(&self, failure: &Failure, file: &Scenario, list: &[Deviation], shrunk: Option<Shrinking>) -> FileLine {
        let Fingerprint { cause, last } = Fingerprint::of(&failure.outcome);
        let seed = if let Schedule::Seed(seed) = failure.schedule { seed } else { 0 };
        FileLine {
            of: self.ids[failure.subject].clone(),
            seed,
            invariant: cause.invariant,
            subject: cause.subject_kind,
            shrunk,
            last: last.map(|strike| strike.to_string()),
            deviations: list.iter().map(|deviation| Deviation { key: None, ..deviation.clone() }).collect(),
            story: self.story(file, list),
            name: failure::file_name(&self.loaded[failure.subject].scenario.name, failure),
            text: write::text(file),
        }
    }

    fn name(&self, failure: &Failure) -> String {
        failure::file_name(&self.loaded[failure.subject].scenario.name, failure)
    }
}

/// Writes files of failures into a directory, which is made if it is not there.
pub(super) fn write<'a>(directory: &Path, files: impl Iterator<Item = &'a FileLine>) -> Result<(), Stop> {
    for file in files {
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |error| Stop::Unwritable { path, error }
        };
        std::fs::create_dir_all(directory).map_err(unwritable(directory))?;
        let path = directory.join(&file.name);
        std::fs::write(&path, &file.text).map_err(unwritable(&path))?;
    }
    Ok(())
}
