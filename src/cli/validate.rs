//! `validate`: checks scenario files without playing them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::explore::files;
use crate::report::counted;

/// Checks scenario files without playing them; says of each that is wrong where and why.
///
/// A valid file in which nothing happens, of which nothing is expected, or with an agent that does nothing, is told as such.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronodrome validate scenarios")]
pub(super) struct Args {
    /// Scenario files, or directories of them.
    #[arg(default_value = "scenarios", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let mut complaints = BTreeMap::<PathBuf, String>::new();
    let mut names = BTreeMap::<String, PathBuf>::new();
    let mut gaps = BTreeMap::<PathBuf, Vec<String>>::new();
    let mut paths = Vec::new();
    for path in &args.paths {
        paths.extend(files::scenario_files(path)?);
    }
    paths.dedup();
    for path in &paths {
        match files::read(path) {
            Err(error) => {
                complaints.insert(path.clone(), error.to_string());
            }
            Ok(loaded) => {
                gaps.insert(path.clone(), loaded.scenario.gaps());
                let name = loaded.scenario.name.to_string();
                if let Some(other) = names.insert(name.clone(), path.clone()).filter(|other| other != path) {
                    let other = other.display();
                    complaints.insert(path.clone(), format!("{}: {other} has the name `{name}`, too", path.display()));
                }
            }
        }
    }
    let told = gaps.iter().filter(|_| !args.json);
    for (path, gap) in told.flat_map(|(path, gaps)| gaps.iter().map(move |gap| (path, gap))) {
        terminal.note(&format!("note: {}: {gap}", path.display()));
    }
    if args.json {
        let each = paths.iter().map(|path| {
            let file = path.display().to_string();
            json!({ "file": file, "error": complaints.get(path), "notes": gaps.get(path).cloned().unwrap_or_default() })
        });
        let verdict = if complaints.is_empty() { "valid" } else { "wrong" };
        terminal.print_json(&json!({ "verdict": verdict, "files": each.collect::<Vec<_>>() }))?;
    } else if complaints.is_empty() {
        let count = counted(paths.len() as u64, "scenario is", "scenarios are");
        terminal.print(&format!("{} {count} valid\n", terminal.style.good("ok:")))?;
    } else {
        complaints.values().for_each(|complaint| terminal.complain(complaint));
        let count = counted(complaints.len() as u64, "file is", "files are");
        terminal.complain(&format!("{count} wrong of {}", paths.len()));
    }
    Ok(if complaints.is_empty() { Exit::Held } else { Exit::WrongInput })
}
