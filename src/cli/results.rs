//! Files of result lines: written while a sweep works, so that a sweep that is killed loses nothing that was finished.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Stop;
use super::terminal::Terminal;
use crate::explore::files::exists;
use crate::explore::results::{Line, ReadLines, SweepLine, read_lines};
use crate::explore::{FilesError, Shard};

/// The name of the file of a sweep's result lines.
pub(super) fn name(shard: Shard) -> String {
    if shard == Shard::WHOLE {
        "results.jsonl".to_owned()
    } else {
        format!("results-{}-of-{}.jsonl", shard.number, shard.of)
    }
}

/// The files of result lines at `path`: the file itself, or those of a directory.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    exists(path)?;
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error| Stop::Files(FilesError::Unreadable { path: path.to_owned(), error });
    let entries: Result<Vec<_>, io::Error> = std::fs::read_dir(path).map_err(unreadable)?.collect();
    let paths = entries.map_err(unreadable)?.into_iter().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("results") && name.ends_with(".jsonl")
    };
    let mut found: Vec<PathBuf> = paths.filter(is_ours).collect();
    found.sort();
    if found.is_empty() {
        let none = format!("{}: no file of results (results*.jsonl) is in this directory", path.display());
        return Err(Stop::Usage(none));
    }
    Ok(found)
}

/// The lines of a file.
pub(super) fn read(path: &Path) -> Result<ReadLines, Stop> {
    let bytes = std::fs::read(path).map_err(|error| Stop::Usage(format!("{}: {error}", path.display())))?;
    read_lines(&bytes).map_err(|wrong| Stop::Usage(format!("{}: {wrong}", path.display())))
}

/// A file that lines are appended to.
pub(super) struct ResultsFile {
    path: PathBuf,
    file: File,
    /// What stood in it beforehand: a sweep that is played again writes nothing twice.
    there: BTreeSet<Line>,
    /// The first write that failed; nothing is written after it.
    failed: Option<io::Error>,
}

impl ResultsFile {
    /// Opens the file of a sweep in `directory`, which is made if it is not there. What stands in the file is kept, a
    /// last line that was cut off apart; but a file of other scenarios under the same names, or of another version, is
    /// begun anew: its results say nothing of what is swept now.
    pub(super) fn open(directory: &Path, sweep: &SweepLine, terminal: &Terminal) -> Result<ResultsFile, Stop> {
        let path = directory.join(name(Shard { number: sweep.shard[0], of: sweep.shard[1] }));
        let unwritable = |error| Stop::Unwritable { path: path.clone(), error };
        std::fs::create_dir_all(directory).map_err(unwritable)?;
        let mut found = if path.exists() { read(&path)? } else { ReadLines::default() };
        let sweeps =
            || found.lines.iter().filter_map(|line| if let Line::Sweep(other) = line { Some(other) } else { None });
        if let Some(other) = sweeps().find(|other| other.only != sweep.only) {
            let of = other.only.as_deref().map_or("every promise".to_owned(), |only| format!("`{only}` alone"));
            let path = path.display();
            return Err(Stop::Usage(format!("{path}: it holds results about {of}: give another directory with --out")));
        }
        if sweeps().any(|other| is_of_others(sweep, other)) {
            terminal.note(&format!(
                "{}: begun anew; what it held is of other scenarios or of another build",
                path.display()
            ));
            found = ReadLines::default();
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(unwritable)?;
        file.set_len(found.whole as u64).map_err(unwritable)?;
        let mut file = ResultsFile { file, there: found.lines.into_iter().collect(), failed: None, path: path.clone() };
        // A last line without its end is whole all the same.
        if found.whole > 0 && !std::fs::read(&path).map_err(unwritable)?.ends_with(b"\n") {
            file.file.write_all(b"\n").map_err(unwritable)?;
        }
        file.append([Line::Sweep(sweep.clone())]);
        Ok(file)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes lines that are not there yet. That it cannot is told by [`ResultsFile::finish`].
    pub(super) fn append(&mut self, lines: impl IntoIterator<Item = Line>) {
        let mut text = String::new();
        for line in lines {
            if !self.there.contains(&line) {
                text.push_str(&line.to_text());
            }
        }
        if self.failed.is_none() && !text.is_empty() {
            self.failed = self.file.write_all(text.as_bytes()).err();
        }
    }

    /// Ends the file.
    pub(super) fn finish(mut self, halted: Option<&str>) -> Result<(), Stop> {
        self.append([Line::End { halted: halted.map(ToOwned::to_owned) }]);
        self.failed.map_or(Ok(()), |error| Err(Stop::Unwritable { path: self.path, error }))
    }
}

/// Whether the results of two sweeps cannot stand in one file.
fn is_of_others(sweep: &SweepLine, other: &SweepLine) -> bool {
    let changed = |scenario: &crate::explore::results::ScenarioEntry| {
        sweep.scenarios.iter().any(|own| own.is_at(scenario) && own.id != scenario.id)
    };
    let of_sweep = |line: &SweepLine| (line.format, line.written_by.clone());
    of_sweep(sweep) != of_sweep(other) || other.scenarios.iter().any(changed)
}
