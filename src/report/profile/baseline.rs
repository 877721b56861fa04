//! Profiles that are kept, so that later ones are held to them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::kernel::Name;
use crate::scenario::Profiles;

/// The profiles of a schedule, as a file that a person can review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object of `format`, `scenario`, `seed` and `users`")]
pub struct Baseline {
    /// The form of the file: 1.
    pub format: u32,
    /// The scenario.
    pub scenario: Name,
    /// The seed of the schedule; null for the calm one, and for a list of deviations.
    pub seed: Option<u64>,
    /// The occurrences of each user, each with its profiling block.
    pub users: Profiles,
}

/// Why a file is no baseline of what it is held to.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It cannot be read.
    #[error("{}: it cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no baseline.
    #[error("{}:{}:{}: this is no baseline: {}", path.display(), error.line(), error.column(), plain(error))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// Its form is that of another version.
    #[error("{}: format {format} is not known to this version, which reads format 1", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format.
        format: u32,
    },
    /// It is of another schedule.
    #[error("{}: this is the baseline of {theirs}, not of {ours}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What it is of, in words.
        theirs: String,
        /// What was played, in words.
        ours: String,
    },
}

/// The largest baseline that is read, in bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

fn plain(error: &serde_json::Error) -> String {
    let told = error.to_string();
    told.rsplit_once(" at line ").map_or(told.clone(), |(reason, _)| reason.to_owned())
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no baseline.
    pub fn load(path: &Path) -> Result<Baseline, BaselineError> {
        let unreadable = |error| BaselineError::Unreadable { path: path.to_owned(), error };
        let length = fs::metadata(path).map_err(unreadable)?.len();
        if length > BYTES_MAX {
            let error = io::Error::other(format!("a baseline has at most {} MiB", BYTES_MAX / 1024 / 1024));
            return Err(unreadable(error));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let baseline: Baseline =
            serde_json::from_str(&text).map_err(|error| BaselineError::Malformed { path: path.to_owned(), error })?;
        match baseline.format {
            1 => Ok(baseline),
            format => Err(BaselineError::Format { path: path.to_owned(), format }),
        }
    }

    /// That `other`, read from `path`, is of the same scenario and seed.
    ///
    /// # Errors
    /// When it is not.
    pub fn compares_to(&self, other: &Baseline, path: &Path) -> Result<(), BaselineError> {
        if self.scenario == other.scenario && self.seed == other.seed {
            return Ok(());
        }
        Err(BaselineError::Other { path: path.to_owned(), theirs: other.name(), ours: self.name() })
    }

    fn name(&self) -> String {
        match self.seed {
            Some(seed) => format!("`{}` with seed {seed}", self.scenario),
            None => format!("`{}` without a seed", self.scenario),
        }
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a baseline is a document");
        text.push('\n');
        text
    }
}
