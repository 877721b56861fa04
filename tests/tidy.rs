//! What can be checked about the sources themselves: the floors and the nevers of ARCHITECTURE.md, the sizes of
//! files, and that everything has its words.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms and what each may import of the crate. A room may always import itself.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("history", &["kernel"]),
    ("store", &["kernel", "history"]),
    ("runtime", &["kernel"]),
    ("tempo", &["kernel", "runtime"]),
    ("check", &["kernel", "history"]),
    ("sim", &["kernel", "history", "store"]),
    ("scenario", &["kernel", "history", "store", "runtime", "tempo", "check", "sim"]),
    ("explore", &["kernel", "history", "store", "runtime", "tempo", "check", "sim", "scenario"]),
    ("report", &["kernel", "history", "store", "runtime", "tempo", "check", "sim", "scenario", "explore"]),
    ("suite", &["kernel", "history", "store", "runtime", "tempo", "check", "sim", "scenario", "explore", "report"]),
    ("cli", &["kernel", "history", "store", "runtime", "tempo", "check", "sim", "scenario", "explore", "report"]),
];

/// A file with more lines says more than one thing.
const LINES_MOST: usize = 700;

/// Files that may be longer: one idea that does not fall apart.
const LONG: &[&str] = &["src/kernel/entry.rs"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the repository: its path from the root, with `/`, and its text.
struct Source {
    path: String,
    text: String,
}

/// The files below `directory` whose names end so, sorted.
fn sources(directory: &str, endings: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut open = vec![root().join(directory)];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.map(|entry| entry.expect("the directory can be read").path()) {
            let name = entry.file_name().expect("it has a name").to_string_lossy().into_owned();
            if entry.is_dir() {
                if name != "target" && name != ".git" {
                    open.push(entry);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(source(&entry));
            }
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

fn source(path: &Path) -> Source {
    let relative = path.strip_prefix(root()).expect("it is below the root");
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Source { path: relative.to_string_lossy().replace('\\', "/"), text }
}

/// Whether a file holds tests alone: the room that includes it says so.
fn is_of_tests(source: &Source) -> bool {
    source.path.contains("/tests/") || ["/tests.rs", "/laws.rs"].iter().any(|name| source.path.ends_with(name))
}

/// The lines that are neither comments nor tests, with their numbers.
fn code(source: &Source) -> Vec<(usize, &str)> {
    let lines = source.text.lines().enumerate().map(|(place, line)| (place + 1, line));
    lines
        .take_while(|(_, line)| *line != "mod tests {" && !is_of_tests(source))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .collect()
}

/// The room that a source belongs to; none for the crate's own files.
fn room(source: &Source) -> Option<&str> {
    let inside = source.path.strip_prefix("src/")?;
    let name = inside.split('/').next()?.trim_end_matches(".rs");
    (name != "lib" && name != "main").then_some(name)
}

/// The rooms that a line names by `crate::room`, in a group, too: `crate::{kernel::Name, sim}`.
fn imported(line: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let own = line[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '_');
        let rest = &line[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => group.split(',').collect(),
            None => vec![rest],
        };
        for name in names.into_iter().filter(|_| own) {
            let name: String =
                name.trim().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
            rooms.push(name);
        }
    }
    rooms
}

#[test]
fn imports_go_down_only() {
    let mut wrong = Vec::new();
    for source in sources("src", &[".rs"]) {
        let Some(room) = room(&source) else { continue };
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("{}: the room `{room}` is not in the list of this test", source.path));
            continue;
        };
        for (number, line) in code(&source) {
            for name in imported(line) {
                let is_room = MAY_IMPORT.iter().any(|(known, _)| *known == name);
                if is_room && name != room && !allowed.contains(&name.as_str()) {
                    wrong.push(format!("{}:{number}: `{room}` must not know `{name}`", source.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_store_takes_nothing_of_history_but_the_change() {
    let mut wrong = Vec::new();
    for source in sources("src/store", &[".rs"]) {
        for (number, line) in code(&source) {
            let names: Vec<&str> = line.split("crate::history::").skip(1).collect();
            if names.iter().any(|name| !name.starts_with("Change")) || line.contains("crate::{history") {
                wrong.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_runtime_cannot_tell_that_it_is_simulated() {
    let mut wrong = Vec::new();
    for source in sources("src/runtime", &[".rs"]) {
        for (number, line) in code(&source) {
            let words = line.to_lowercase().replace("default", "");
            if ["simulat", "mutant", "virtual_time", "fault", "cfg(feature"].iter().any(|word| words.contains(word)) {
                wrong.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_simulation_decides_at_random() {
    let mut wrong = Vec::new();
    for source in sources("src", &[".rs"]) {
        if room(&source) == Some("sim") {
            continue;
        }
        for (number, line) in code(&source) {
            let random = ["rand::", "rand_chacha", "getrandom", "RandomState", "HashMap", "HashSet"];
            if random.iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_bans_are_lifted_in_the_command_only() {
    let mut wrong = Vec::new();
    for source in sources("src", &[".rs"]) {
        let lifts = |line: &str| line.contains("clippy::disallowed") || line.contains("unsafe {");
        for (number, line) in code(&source).into_iter().filter(|(_, line)| lifts(line)) {
            if room(&source) != Some("cli") {
                wrong.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let mut long = Vec::new();
    for source in sources("src", &[".rs"]).into_iter().chain(sources("tests", &[".rs"])) {
        let lines = source.text.lines().count();
        if lines > LINES_MOST && !LONG.contains(&source.path.as_str()) {
            long.push(format!("{}: {lines} lines", source.path));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_room_says_what_it_is() {
    for source in sources("src", &[".rs"]).into_iter().filter(|source| !is_of_tests(source)) {
        assert!(source.text.starts_with("//!"), "{} does not begin with a sentence about itself", source.path);
    }
}

#[test]
fn nothing_is_unfinished_or_tied_to_a_machine() {
    // Put together here, so that this file does not find itself.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!(")];
    let paths = [concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/Us", "ers/"), concat!("/tm", "p/")];
    let mut wrong = Vec::new();
    let endings = [".rs", ".md", ".json", ".toml", ".sh", ".patch", "run"];
    for source in sources(".", &endings).into_iter().filter(|source| !source.path.starts_with("reports/")) {
        for (place, line) in source.text.lines().enumerate() {
            if words.iter().chain(&paths).any(|word| line.contains(word)) {
                wrong.push(format!("{}:{}: {}", source.path, place + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_scenario_says_what_it_is_about() {
    for source in sources("scenarios", &[".json"]) {
        if source.path.ends_with(".schema.json") {
            continue;
        }
        let document: serde_json::Value = serde_json::from_str(&source.text).expect("a scenario is JSON");
        let about = document["about"].as_str().unwrap_or_default();
        assert!(about.len() > 20, "{}: `about` says nothing", source.path);
        let stem = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".json");
        assert_eq!(document["name"].as_str(), Some(stem), "{}: the name differs from the file's", source.path);
    }
}

#[test]
fn every_invariant_and_every_command_is_documented() {
    let architecture = source(&root().join("ARCHITECTURE.md")).text;
    let readme = source(&root().join("README.md")).text;
    let replay = &chronodrome::explore::REPLAY_INVARIANTS;
    let missing: BTreeSet<&str> = chronodrome::check::INVARIANTS
        .iter()
        .chain(replay)
        .map(|invariant| invariant.name)
        .filter(|name| !architecture.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not name {missing:?}");
    for file in sources("src/cli", &[".rs"]) {
        let is_command = file.text.contains("clap::Args");
        let name = file.path.trim_start_matches("src/cli/").trim_end_matches(".rs");
        assert!(!is_command || readme.contains(&format!("`{name}")), "README.md does not name the command `{name}`");
    }
}

#[test]
fn what_a_line_imports_is_seen() {
    let cases: &[(&str, &[&str])] = &[
        ("use crate::kernel::{Name, Span};", &["kernel"]),
        ("use crate::{kernel::Name, sim};", &["kernel", "sim"]),
        ("    crate::sim::play(crate::store::memory::X)", &["sim", "store"]),
        ("let subcrate::x = 1;", &[]),
        ("use super::Name;", &[]),
    ];
    for (line, rooms) in cases {
        assert_eq!(imported(line), *rooms, "{line}");
    }
}
