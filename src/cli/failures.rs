//! Writes what an exploration found as files that play it again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Stop;
use super::terminal::Terminal;
use crate::explore::replay::replay;
use crate::explore::{Cause, Failure, Findings, Loaded, files};
use crate::report::failure;
use crate::sim::Schedule;

/// The files of failures, by subject and cause.
pub(super) type Files = BTreeMap<(usize, Cause), String>;

/// Writes the first failure of each cause into `directory`, which is made if it is not there, and plays each file
/// once: one that does not fail in the same way is written, but not given, and `terminal` tells so. The calm
/// schedule and a file's own list need no file: the scenario itself plays them, unless the latencies are others.
pub(super) fn write(
    directory: &Path,
    loaded: &[Loaded],
    findings: &Findings,
    terminal: &Terminal,
) -> Result<Files, Stop> {
    let mut written = Files::new();
    for (key, group) in &findings.failures {
        let subject = &loaded[key.0];
        let own = &subject.scenario;
        let plays_it = group.first().schedule == Schedule::Calm && own.latencies.is_none();
        if plays_it || own.deviations.is_some() {
            continue;
        }
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |error| Stop::Unwritable { path, error }
        };
        std::fs::create_dir_all(directory).map_err(unwritable(directory))?;
        let path: PathBuf = directory.join(failure::file_name(&subject.scenario.name, group.first()));
        let text = failure::text(&subject.scenario, group.first());
        std::fs::write(&path, text).map_err(unwritable(&path))?;
        if fails_alike(&path, &key.1)? {
            written.insert(key.clone(), path.display().to_string());
        } else {
            terminal.complain(&format!("{}: played from this file the failure is not the same", path.display()));
        }
    }
    Ok(written)
}

/// Whether the file fails with this cause.
pub(super) fn fails_alike(path: &Path, cause: &Cause) -> Result<bool, Stop> {
    let scenario = files::load(path)?.scenario;
    let list = scenario.deviations.clone().unwrap_or_default();
    let played = replay(&scenario, &list, None);
    let panicked = |panic| Stop::Panicked { what: format!("the replay of {}", path.display()), panic };
    let replayed = played.map_err(panicked)?;
    let failure = Failure { subject: 0, schedule: Schedule::Fixed(list), outcome: replayed.outcome };
    Ok(replayed.stale.is_empty() && !failure.outcome.held() && cause.is_in(&failure.outcome))
}
