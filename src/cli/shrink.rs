//! `shrink`: a failure made as small as it gets.

use std::path::{Path, PathBuf};

use super::output::spare;
use super::terminal::Terminal;
use super::{Exit, Stop, clock, failures, run};
use crate::explore::in_words;
use crate::explore::replay::replay;
use crate::explore::shrink::{Limits, Phase, Progress, Shrunk, shrink};
use crate::explore::{Aim, Failure, Loaded, files};
use crate::report::failure::file_name;
use crate::report::shrink::Report;
use crate::scenario::{Scenario, write};
use crate::sim::Schedule;

/// Makes a failure as small as it gets, and writes the file that plays it again.
///
/// Drops deviations until none can be dropped without losing the failure, gives those that are left simpler values, and
/// looks for a single one that does what several do. Then the scenario is made smaller in the same way. What is broken
/// stays the same throughout. Takes a scenario and a seed,
/// a file that lists its deviations, or a scenario whose calm schedule fails.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome shrink scenarios/charge-card.json --seed 42
  chronodrome shrink reports/charge-card-effect-at-most-once-seed-42.json --out smallest.json")]
pub(super) struct Args {
    /// The scenario file, or the file of a failure.
    scenario: PathBuf,
    /// The seed whose schedule fails; none for the listed deviations, or the calm schedule.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Where the minimum is written. [default: a file in reports/, or beside the file of a failure]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Leave the scenario as it is.
    #[arg(long)]
    deviations_only: bool,
    /// Keep to the kinds of fault that the failure has: no other one stands in for several of them.
    #[arg(long)]
    same_kinds: bool,
    /// The most schedules that are played.
    #[arg(long, value_name = "N", default_value_t = Limits::default().replays, value_parser = clap::value_parser!(u64).range(1..))]
    replays: u64,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load(&args.scenario)?;
    let Some(mut failure) = failure(args, &loaded, terminal)? else { return Ok(Exit::WrongInput) };
    let aim = aim(&loaded.scenario, &mut failure);
    if loaded.scenario.deviations.is_none() {
        args.out.iter().try_for_each(|out| spare(out, [&*loaded.path]))?;
    }
    clock::catch_interrupts()?;
    let watch = clock::Watch::start(None);
    let limits = Limits { replays: args.replays, scenario: !args.deviations_only, alone: !args.same_kinds };
    let line = terminal.line("{spinner} {msg}, {elapsed}");
    let mut interrupted = false;
    let mut listen = |progress: &Progress| {
        line.set_message(progress_in_words(progress));
        interrupted |= watch.halt().is_some();
        !interrupted
    };
    let shrunk = shrink(&loaded.scenario, &failure, &aim, &limits, &mut listen);
    line.finish_and_clear();
    let took = watch.elapsed();
    let shrunk = shrunk.map_err(|panic| Stop::Panicked { what: format!("{}, shrunk", loaded.scenario.name), panic })?;
    let file = if shrunk.reproduced { Some(write_file(args, &loaded, &failure, &shrunk, terminal)?) } else { None };
    let (scenario, schedule, file) = (&loaded.scenario, &failure.schedule, file.as_deref());
    let report = Report { scenario, schedule, shrunk: &shrunk, took, file, interrupted };
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        terminal.print(&report.text(terminal.style))?;
    }
    Ok(if interrupted { Exit::Interrupted } else { Exit::Violated })
}

fn progress_in_words(progress: &Progress) -> String {
    let Progress { phase, deviations, replays } = progress;
    match phase {
        Phase::Deviations => format!("{deviations} deviations left, {replays} replays"),
        Phase::Alone => format!("{deviations} deviations left, fewer tried in their place, {replays} replays"),
        Phase::Scenario => format!("{deviations} deviations left, the scenario now, {replays} replays"),
        Phase::Check => format!("{deviations} deviations left, to be checked, {replays} replays"),
    }
}

/// What the file says was broken, if it still is; else whatever is. The failure is no other one from now on.
fn aim(scenario: &Scenario, failure: &mut Failure) -> Aim {
    let named = Aim { only: scenario.violates.as_deref().map(ToOwned::to_owned), ..Aim::default() };
    let mut outcome = failure.outcome.clone();
    named.apply(&scenario.name, &mut outcome);
    if outcome.held() {
        return Aim::default();
    }
    failure.outcome = outcome;
    named
}

/// Plays what is to be shrunk. None where a listed site never came up, which `terminal` is told.
fn failure(args: &Args, loaded: &Loaded, terminal: &Terminal) -> Result<Option<Failure>, Stop> {
    let (scenario, path) = (&loaded.scenario, args.scenario.display());
    let schedule = run::schedule(loaded, args.seed)?;
    let outcome = match &schedule {
        Schedule::Fixed(list) => {
            let panicked = |panic| Stop::Panicked { what: format!("the replay of {path}"), panic };
            let replayed = replay(scenario, list, None).map_err(panicked)?;
            for stale in &replayed.stale {
                terminal.complain(&format!("{path}: {}", super::replay::stale_in_words(stale)));
            }
            if !replayed.stale.is_empty() {
                return Ok(None);
            }
            replayed.outcome
        }
        _ => run::play(scenario, &schedule, None)?,
    };
    if outcome.held() {
        let played = in_words(&schedule);
        return Err(Stop::Usage(format!("{path}: {played} breaks no promise: there is nothing to shrink")));
    }
    Ok(Some(Failure { subject: 0, schedule, outcome }))
}

/// Writes the minimum, and plays the file once.
fn write_file(
    args: &Args,
    loaded: &Loaded,
    failure: &Failure,
    shrunk: &Shrunk,
    terminal: &Terminal,
) -> Result<String, Stop> {
    let path = match &args.out {
        Some(path) => path.clone(),
        None => default_path(loaded, failure)?,
    };
    std::fs::write(&path, write::text(&shrunk.scenario))
        .map_err(|error| Stop::Unwritable { path: path.clone(), error })?;
    if !failures::fails_alike(&path, &shrunk.fingerprint.cause)? {
        terminal.complain(&format!("{}: played from this file the failure is not the same", path.display()));
    }
    Ok(path.display().to_string())
}

/// What ends the names of files of minima.
const SHRUNK: &str = "-shrunk";

/// A file of a failure has its minimum beside it; other minima go to `reports/`.
fn default_path(loaded: &Loaded, failure: &Failure) -> Result<PathBuf, Stop> {
    let (directory, name) = if loaded.scenario.deviations.is_some() {
        let name = loaded.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        (loaded.path.parent().unwrap_or(Path::new("")).to_owned(), name)
    } else {
        let directory = PathBuf::from("reports");
        std::fs::create_dir_all(&directory).map_err(|error| Stop::Unwritable { path: directory.clone(), error })?;
        (directory, file_name(&loaded.scenario.name, failure).trim_end_matches(".json").to_owned())
    };
    let name = name.strip_suffix(SHRUNK).unwrap_or(&name);
    Ok(directory.join(format!("{name}{SHRUNK}.json")))
}
