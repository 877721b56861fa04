//! Planted bugs: each `*.patch` beside this file is applied to a copy of the sources, built apart and judged: by every
//! single deviation, and by seeds over all scenarios. What the seeds find is shrunk, and its file is played again, by the
//! planted bug (it must fail) and by the sources as they are (it must hold).
//!
//! `cargo run --example mutants [NAME…]` prints a table. A mutant that survives, that another invariant kills than its
//! patch names, or whose smallest failure is larger than the one that exhaust finds, ends it with 1. The text before the
//! diff says what is planted; in it, `What: …` is the title, and `Caught by: a, b` names the invariants that may catch it.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "it measures how long people wait")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What is copied of the repository.
const COPIED: &[&str] = &["Cargo.toml", "Cargo.lock", "src", "scenarios", "benches", "tests"];

/// Seeds of each scenario.
const SEEDS: &str = "500";

/// How long exhaust goes on while it finds nothing.
const EACH: &str = "5m";

/// A command that takes longer than this is ended: the mutant hangs.
const PATIENCE: Duration = Duration::from_secs(600);

struct Mutant {
    name: String,
    patch: PathBuf,
    what: String,
    caught_by: Vec<String>,
}

/// What a search found.
struct Kill {
    /// The invariant, or how else it was noticed; none if nothing was found.
    by: Option<String>,
    schedules: u64,
    took: Duration,
    /// What was found, as the command tells it.
    failure: Value,
}

/// How a mutant ended.
struct Verdict {
    exhaust: Kill,
    sweep: Kill,
    /// Deviations of the first failure, before and after it was shrunk.
    shrunk: Option<(u64, u64)>,
    /// The fewest deviations with which exhaust finds that failure in its scenario.
    least: Option<u64>,
    /// Whether the file of the smallest failure fails in the mutant, and holds without it.
    replays: Option<bool>,
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
    let (copy, target) = (workshop.path().join("copy"), workshop.path().join("target"));
    copy_sources(&root, &copy)?;
    let sound = workshop.path().join("sound");
    fs::copy(build(&copy, &target)?, &sound)?;
    fs::remove_dir_all(&copy)?;
    println!("| mutant | what is planted | exhaust | after | s | seeds | after | s | deviations | least | replays |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut all = true;
    for mutant in &mutants {
        copy_sources(&root, &copy)?;
        apply(&mutant.patch, &copy)?;
        let verdict = judge(&build(&copy, &target)?, &sound, &copy)?;
        all &= tell(mutant, &verdict);
        fs::remove_dir_all(&copy)?;
    }
    Ok(all)
}

/// Prints the line of a mutant; whether all is as it should be.
fn tell(mutant: &Mutant, verdict: &Verdict) -> bool {
    let Verdict { exhaust, sweep, shrunk, least, replays } = verdict;
    let named = |killer: &String| mutant.caught_by.is_empty() || mutant.caught_by.contains(killer);
    let killer = |kill: &Kill| match &kill.by {
        None => "—".to_owned(),
        Some(killer) if named(killer) => format!("`{killer}`"),
        Some(killer) => format!("`{killer}` (!)"),
    };
    let after = |kill: &Kill| kill.by.as_ref().map_or("—".to_owned(), |_| kill.schedules.to_string());
    let seconds = |kill: &Kill| format!("{:.1}", kill.took.as_secs_f64());
    let sizes = shrunk.map_or("—".to_owned(), |(before, after)| format!("{before} → {after}"));
    let fewest = least.map_or("—".to_owned(), |least| least.to_string());
    let replays_so = replays.map_or("—", |replays| if replays { "yes" } else { "**no**" });
    println!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} | {sizes} | {fewest} | {replays_so} |",
        mutant.name,
        mutant.what,
        killer(exhaust),
        after(exhaust),
        seconds(exhaust),
        killer(sweep),
        after(sweep),
        seconds(sweep),
    );
    let killers: Vec<&String> = [exhaust, sweep].into_iter().filter_map(|kill| kill.by.as_ref()).collect();
    let is_least = match (shrunk, least) {
        (Some((_, after)), Some(least)) => after <= least,
        _ => true,
    };
    killers.iter().any(|killer| named(killer)) && is_least && *replays != Some(false)
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

/// Builds the command of the copy, as tests are built: that is soonest. What was built before is used again.
fn build(copy: &Path, target: &Path) -> io::Result<PathBuf> {
    let done = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--bin", "chronodrome"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .status()?;
    let built = target.join("debug").join(format!("chronodrome{}", std::env::consts::EXE_SUFFIX));
    if done.success() { Ok(built) } else { Err(io::Error::other("the mutant does not build")) }
}

fn judge(binary: &Path, sound: &Path, copy: &Path) -> io::Result<Verdict> {
    let exhaust =
        look(binary, copy, &["exhaust", "scenarios", "--fail-fast", "--budget", EACH, "--json", "--out", "one"])?;
    let sweep =
        look(binary, copy, &["sweep", "scenarios", "--fail-fast", "--seeds", SEEDS, "--json", "--out", "many"])?;
    let (mut shrunk, mut least, mut replays) = (None, None, None);
    // Where the calm schedule fails, the scenario is the file that plays it.
    let calm = sweep.failure["replay"].as_str().and_then(|command| command.strip_prefix("chronodrome run "));
    if let Some(scenario) = calm.filter(|_| sweep.failure["seed"].is_null()) {
        let fails = run(binary, copy, &["run", scenario])?.0 == Some(1);
        let holds = run(sound, copy, &["run", scenario])?.0 == Some(0);
        (shrunk, least, replays) = (Some((0, 0)), Some(0), Some(fails && holds));
    } else if let (Some(file), Some(scenario)) = (sweep.failure["file"].as_str(), sweep.failure["scenario"].as_str()) {
        let deviations = &sweep.failure["deviations"];
        shrunk = deviations["before"].as_u64().zip(deviations["after"].as_u64());
        let fails = run(binary, copy, &["replay", file])?.0 == Some(1);
        let holds = run(sound, copy, &["replay", file])?.0 == Some(0);
        replays = Some(fails && holds);
        let scenario = format!("scenarios/{scenario}.json");
        least = fewest(binary, copy, &scenario, &sweep.failure["invariant"])?;
    }
    Ok(Verdict { exhaust, sweep, shrunk, least, replays })
}

/// The fewest deviations with which exhaust violates the invariant in the scenario: none or one, else two.
fn fewest(binary: &Path, copy: &Path, scenario: &str, invariant: &Value) -> io::Result<Option<u64>> {
    for depth in ["1", "2"] {
        let arguments = ["exhaust", scenario, "--depth", depth, "--budget", EACH, "--json", "--out", "least"];
        let all = look(binary, copy, &arguments)?;
        let same = all.failure.as_array().into_iter().flatten().filter(|failure| failure["invariant"] == *invariant);
        let sizes = same.filter_map(|failure| Some(failure["deviations"].as_array()?.len() as u64));
        if let Some(least) = sizes.min() {
            return Ok(Some(least));
        }
    }
    Ok(None)
}

/// Runs a command that searches; how many schedules it played, and what was broken.
fn look(binary: &Path, copy: &Path, arguments: &[&str]) -> io::Result<Kill> {
    let started = Instant::now();
    let (code, text) = run(binary, copy, arguments)?;
    let took = started.elapsed();
    let documents: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let schedules = documents.iter().filter_map(|document| document["schedules"].as_u64()).sum();
    let failures: Vec<Value> =
        documents.iter().filter_map(|document| document["failures"].as_array()).flatten().cloned().collect();
    let invariant = failures.first().and_then(|failure| failure["invariant"].as_str());
    let by = match code {
        None => Some("hangs".to_owned()),
        Some(0) => None,
        Some(1) => Some(invariant.unwrap_or("a broken promise").to_owned()),
        Some(3) => Some("same-history".to_owned()),
        Some(70) => Some("panics".to_owned()),
        code => return Err(io::Error::other(format!("{arguments:?} ended with {code:?}"))),
    };
    let is_one = arguments.contains(&"--fail-fast");
    let failure = if is_one { failures.into_iter().next().unwrap_or_default() } else { Value::Array(failures) };
    Ok(Kill { by, schedules, took, failure })
}

/// Runs a command to its end: its exit code, none if it hangs, and what it printed.
fn run(binary: &Path, copy: &Path, arguments: &[&str]) -> io::Result<(Option<i32>, String)> {
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
            return Ok((None, String::new()));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Ok((status.code(), fs::read_to_string(&output)?))
}
