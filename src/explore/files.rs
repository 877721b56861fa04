//! The scenario files below some paths.

use std::path::{Path, PathBuf};

use super::replay::nearest;
use crate::kernel::Name;
use crate::scenario::{Scenario, ScenarioError};

/// A scenario and the file that it was read from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub scenario: Scenario,
}

/// What is wrong with a path, or with the file there.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// There is nothing at the path.
    #[error("{}: there is no such file or directory{}", path.display(), did_you_mean(nearest.as_deref()))]
    Missing {
        /// The path.
        path: PathBuf,
        /// What stands beside it under a similar name.
        nearest: Option<PathBuf>,
    },
    /// The path cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A directory without a scenario.
    #[error("{}: no scenario is in this directory (a scenario is a file that ends in `.json`)", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// An agent of the file is Rust code, which nobody has given.
    #[error(
        "{}: the agent `{kind}` is Rust code, which only a test that brings it along can play: \
         `chronodrome::suite({:?}).agent(\"{kind}\", || …)`", path.display(), path.display().to_string()
    )]
    WithoutCode {
        /// The file.
        path: PathBuf,
        /// The agent type.
        kind: Name,
    },
    /// A file that is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

fn did_you_mean(nearest: Option<&Path>) -> String {
    nearest.map(|path| format!("; did you mean {}?", path.display())).unwrap_or_default()
}

/// The scenario files at `path`, sorted: the file itself, or all below the directory that end in `.json`,
/// schemas (`.schema.json`) and hidden ones apart.
///
/// # Errors
/// When there is none, or something cannot be read.
pub fn scenario_files(path: &Path) -> Result<Vec<PathBuf>, FilesError> {
    exists(path)?;
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(directory) = open.pop() {
        let unreadable = |error| FilesError::Unreadable { path: directory.clone(), error };
        for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            // A link to a directory is not followed: it may lead in a circle.
            if entry.file_type().map_err(unreadable)?.is_dir() {
                open.push(entry.path());
            } else if name.ends_with(".json") && !name.ends_with(".schema.json") {
                found.push(entry.path());
            }
        }
    }
    if found.is_empty() {
        return Err(FilesError::Empty { path: path.to_owned() });
    }
    found.sort();
    Ok(found)
}

/// Whether something stands at `path`.
///
/// # Errors
/// When nothing does, with what stands beside it under a similar name.
pub fn exists(path: &Path) -> Result<(), FilesError> {
    let there = path.try_exists().map_err(|error| FilesError::Unreadable { path: path.to_owned(), error })?;
    let missing = || FilesError::Missing { path: path.to_owned(), nearest: nearest_to(path) };
    there.then_some(()).ok_or_else(missing)
}

/// What stands in the same directory under the most similar name, if it is similar at all.
fn nearest_to(path: &Path) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = std::fs::read_dir(parent.unwrap_or(Path::new("."))).ok()?;
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let found = nearest(wanted, names.iter())?;
    let near = strsim::damerau_levenshtein(wanted, found) <= wanted.len().div_ceil(2);
    near.then(|| parent.map_or_else(|| PathBuf::from(found), |parent| parent.join(found)))
}

/// Reads one scenario file, which can be played as it is.
///
/// # Errors
/// When it is not there or no scenario, or an agent of it is Rust code.
pub fn load(path: &Path) -> Result<Loaded, FilesError> {
    read(path).and_then(playable)
}

/// Gives back what can be played.
///
/// # Errors
/// When an agent is Rust code which nobody has given.
pub fn playable(loaded: Loaded) -> Result<Loaded, FilesError> {
    match loaded.scenario.without_code() {
        Some(kind) => Err(FilesError::WithoutCode { path: loaded.path.clone(), kind: kind.clone() }),
        None => Ok(loaded),
    }
}

/// Reads one scenario file, the Rust code of its agents apart.
///
/// # Errors
/// When it is not there or no scenario.
pub fn read(path: &Path) -> Result<Loaded, FilesError> {
    if path.is_dir() {
        let error = std::io::Error::other("this is a directory; one scenario file is wanted");
        return Err(FilesError::Unreadable { path: path.to_owned(), error });
    }
    scenario_files(path)?;
    Ok(Loaded { path: path.to_owned(), scenario: Scenario::load(path)? })
}

/// As [`load`] of the scenarios at all `paths`, each file once, in the order of the paths.
///
/// # Errors
/// At the first path or file that is wrong.
pub fn load_all(paths: &[PathBuf]) -> Result<Vec<Loaded>, FilesError> {
    read_all(paths)?.into_iter().map(playable).collect()
}

/// As [`read`] of the scenarios at all `paths`, each file once, in the order of the paths.
///
/// # Errors
/// At the first path or file that is wrong.
pub fn read_all(paths: &[PathBuf]) -> Result<Vec<Loaded>, FilesError> {
    let mut loaded: Vec<Loaded> = Vec::new();
    for path in paths {
        for file in scenario_files(path)? {
            if !loaded.iter().any(|known| known.path == file) {
                loaded.push(read(&file)?);
            }
        }
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenarios_of_a_directory_are_found_sorted_and_without_schemas() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        std::fs::create_dir(directory.path().join("b")).expect("it is empty");
        for name in ["z.json", "b/a.json", "a.json", ".hidden.json", "scenario.schema.json", "notes.md"] {
            std::fs::write(directory.path().join(name), "{}").expect("it can be written");
        }
        let found = scenario_files(directory.path()).expect("there are some");
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(directory.path()).unwrap()).collect();
        assert_eq!(names, ["a.json", "b/a.json", "z.json"].map(Path::new));
    }

    #[test]
    fn a_path_that_is_not_there_is_told_with_its_nearest_neighbour() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        std::fs::write(directory.path().join("charge-card.json"), "{}").expect("it can be written");
        let told = |name: &str| scenario_files(&directory.path().join(name)).unwrap_err().to_string();
        assert!(told("charge-crad.json").contains("did you mean"), "{}", told("charge-crad.json"));
        assert!(!told("q").contains("did you mean"), "nothing is near");
        let empty = tempfile::tempdir().expect("a directory for the test");
        assert!(scenario_files(empty.path()).unwrap_err().to_string().contains("no scenario"));
    }
}
