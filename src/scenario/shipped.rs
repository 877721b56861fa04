//! The scenarios that the repository ships, for the tests of this room.

use std::path::{Path, PathBuf};

/// Their files, sorted.
pub fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let entries = std::fs::read_dir(directory).expect("it is there").map(|entry| entry.expect("it is read").path());
    let is_scenario = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.ends_with(".schema.json")
    };
    let mut files: Vec<PathBuf> = entries.filter(is_scenario).collect();
    files.sort();
    files
}
