//! Writes what an exploration found as files that play it again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Stop;
use crate::explore::{Cause, Findings, Loaded};
use crate::report::failure;
use crate::sim::Schedule;

/// The files of failures, by subject and cause.
pub(super) type Files = BTreeMap<(usize, Cause), String>;

/// Writes the first failure of each cause into `directory`, which is made if it is not there. The calm schedule
/// and a file's own list need no file: the scenario itself plays them.
pub(super) fn write(directory: &Path, loaded: &[Loaded], findings: &Findings) -> Result<Files, Stop> {
    let mut files = Files::new();
    for (key, group) in &findings.failures {
        let subject = &loaded[key.0];
        let own_list = subject.scenario.deviations.is_some();
        if group.first.schedule == Schedule::Calm || own_list {
            continue;
        }
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |error| Stop::Unwritable { path, error }
        };
        std::fs::create_dir_all(directory).map_err(unwritable(directory))?;
        let path: PathBuf = directory.join(failure::file_name(&subject.scenario.name, &group.first));
        let document = failure::document(&subject.scenario.document, &group.first);
        std::fs::write(&path, format!("{document:#}\n")).map_err(unwritable(&path))?;
        files.insert(key.clone(), path.display().to_string());
    }
    Ok(files)
}
