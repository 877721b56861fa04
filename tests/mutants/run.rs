//! Planted bugs: each `*.patch` beside this file is applied to a copy of the sources, built apart and judged, first
//! by every single deviation, then by at most 1 000 seeds over all scenarios.
//!
//! `cargo run --example mutants [NAME…]` prints a table: mutant, killed by, schedules needed, seconds. A mutant that
//! survives, or that another invariant kills than its patch names, ends it with 1. The text before the diff says
//! what is planted; in it, `What: …` is the title, and `Caught by: a, b` names the invariants that may catch it.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "it measures how long people wait")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What is copied of the repository.
const COPIED: &[&str] = &["Cargo.toml", "Cargo.lock", "src", "scenarios", "benches", "tests"];

/// Seeds, over all scenarios.
const SEEDS_MOST: u64 = 1_000;

/// A judge that takes longer than this is ended: the mutant hangs.
const PATIENCE: Duration = Duration::from_secs(300);

struct Mutant {
    name: String,
    patch: PathBuf,
    what: String,
    caught_by: Vec<String>,
}

/// How a mutant ended.
struct Verdict {
    /// The invariant, or how else it was noticed; none if it survived.
    killed_by: Option<String>,
    by_exhaust: bool,
    schedules: u64,
    took: Duration,
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    match judge_all(&wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn judge_all(wanted: &[String]) -> io::Result<bool> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mutants = mutants(&root.join("tests/mutants"), wanted)?;
    let workshop = tempfile::tempdir()?;
    let scenarios = count_scenarios(&root.join("scenarios"))?;
    println!("| mutant | killed by | found by | schedules | seconds | what |\n|---|---|---|---|---|---|");
    let mut all = true;
    for mutant in &mutants {
        let copy = workshop.path().join("copy");
        copy_sources(&root, &copy)?;
        apply(&mutant.patch, &copy)?;
        let binary = build(&copy, &workshop.path().join("target"))?;
        let verdict = judge(&binary, &copy, scenarios)?;
        all &= tell(mutant, &verdict);
        fs::remove_dir_all(&copy)?;
    }
    Ok(all)
}

/// Prints the line of a mutant; whether it was killed as it should be.
fn tell(mutant: &Mutant, verdict: &Verdict) -> bool {
    let named = |killer: &String| mutant.caught_by.is_empty() || mutant.caught_by.contains(killer);
    let (killer, good) = match &verdict.killed_by {
        None => ("**survived**".to_owned(), false),
        Some(killer) if named(killer) => (format!("`{killer}`"), true),
        Some(killer) => (format!("`{killer}`, **not** {}", mutant.caught_by.join(", ")), false),
    };
    let by = if verdict.by_exhaust { "exhaust" } else { "sweep" };
    let (schedules, seconds) = (verdict.schedules, verdict.took.as_secs_f64());
    println!("| {} | {killer} | {by} | {schedules} | {seconds:.1} | {} |", mutant.name, mutant.what);
    good
}

/// The mutants of `directory` in order of their names; only those wanted, if any are.
fn mutants(directory: &Path, wanted: &[String]) -> io::Result<Vec<Mutant>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let patch = entry?.path();
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_wanted = wanted.is_empty() || wanted.contains(&name);
        if patch.extension().is_none_or(|ending| ending != "patch") || !is_wanted {
            continue;
        }
        let text = fs::read_to_string(&patch)?;
        let field = |field: &str| {
            let head = text.lines().take_while(|line| !line.starts_with("diff ") && !line.starts_with("--- "));
            head.into_iter().find_map(|line| line.strip_prefix(field)).unwrap_or_default().trim().to_owned()
        };
        let caught_by = field("Caught by:");
        let caught_by = caught_by.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        found.push(Mutant { name, what: field("What:"), caught_by: caught_by.collect(), patch: patch.clone() });
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    match wanted.iter().find(|name| !found.iter().any(|mutant| mutant.name == **name)) {
        Some(name) => Err(io::Error::other(format!("there is no mutant `{name}`"))),
        None => Ok(found),
    }
}

fn count_scenarios(directory: &Path) -> io::Result<u64> {
    let loaded = chronodrome::explore::files::load_all(&[directory.to_owned()]).map_err(io::Error::other)?;
    Ok(loaded.len() as u64)
}

fn copy_sources(root: &Path, copy: &Path) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    for name in COPIED.iter().filter(|name| root.join(name).exists()) {
        copy_tree(&root.join(name), &copy.join(name))?;
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_tree(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn apply(patch: &Path, copy: &Path) -> io::Result<()> {
    let done = Command::new("patch").args(["-p1", "--quiet", "--input"]).arg(patch).current_dir(copy).status()?;
    if done.success() { Ok(()) } else { Err(io::Error::other(format!("{} does not apply", patch.display()))) }
}

/// Builds the command of the copy. What was built for the mutant before is used again.
fn build(copy: &Path, target: &Path) -> io::Result<PathBuf> {
    let done = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--bin", "chronodrome"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .status()?;
    let built = target.join("release").join(format!("chronodrome{}", std::env::consts::EXE_SUFFIX));
    if done.success() { Ok(built) } else { Err(io::Error::other("the mutant does not build")) }
}

/// By exhaust first, then by seeds.
fn judge(binary: &Path, copy: &Path, scenarios: u64) -> io::Result<Verdict> {
    let started = Instant::now();
    let exhaust = ["exhaust", "scenarios", "--fail-fast", "--budget", "2m", "--json", "--out", "failures"];
    let (schedules, killed_by) = look(binary, copy, &exhaust)?;
    if killed_by.is_some() {
        return Ok(Verdict { killed_by, by_exhaust: true, schedules, took: started.elapsed() });
    }
    let seeds = SEEDS_MOST.div_ceil(scenarios.max(1)).to_string();
    let sweep = ["sweep", "scenarios", "--fail-fast", "--seeds", &seeds, "--json", "--out", "failures"];
    let (more, killed_by) = look(binary, copy, &sweep)?;
    Ok(Verdict { killed_by, by_exhaust: false, schedules: schedules + more, took: started.elapsed() })
}

/// Runs the command; how many schedules it played, and what was broken.
fn look(binary: &Path, copy: &Path, arguments: &[&str]) -> io::Result<(u64, Option<String>)> {
    let output = copy.join("output.json");
    let started = Instant::now();
    let mut child = Command::new(binary)
        .args(arguments)
        .current_dir(copy)
        .stdout(fs::File::create(&output)?)
        .stderr(Stdio::null())
        .spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok((0, Some("hangs".to_owned())));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = fs::read_to_string(&output)?;
    let documents: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let schedules = documents.iter().filter_map(|document| document["schedules"].as_u64()).sum();
    let invariant = documents.iter().find_map(|document| document["failures"][0]["invariant"].as_str());
    let killed_by = match status.code() {
        Some(0) => None,
        Some(1) => Some(invariant.unwrap_or("a broken promise").to_owned()),
        Some(3) => Some("same-history".to_owned()),
        Some(70) => Some("panics".to_owned()),
        code => return Err(io::Error::other(format!("{arguments:?} ended with {code:?}"))),
    };
    Ok((schedules, killed_by))
}
