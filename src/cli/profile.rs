//! `profile`: the profiling blocks of one schedule, kept as a baseline or held to one.

use std::fs;
use std::path::PathBuf;

use super::run::{play, schedule};
use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::explore::files;
use crate::report::profile::{self, Baseline};

/// Plays one schedule and reports on its plans: when each was due, dispatched and completed, how near to its window,
/// how often it was tried, and what the user thought of it.
///
/// With a baseline it says in which fields the profiles differ from it, and ends with 1 if any does.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome profile scenarios/a-day.json --seed 7
  chronodrome profile scenarios/a-day.json --save a-day.baseline.json
  chronodrome profile scenarios/a-day.json --diff a-day.baseline.json")]
pub(super) struct Args {
    /// The scenario file.
    scenario: PathBuf,
    /// The seed that deviations are drawn from; none plays the calm schedule.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Write the profiles to FILE, as a baseline that can be reviewed.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Say in which fields the profiles differ from those of the baseline FILE.
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load(&args.scenario)?;
    let schedule = schedule(&loaded, args.seed)?;
    let name = &loaded.scenario.name;
    if loaded.scenario.users.is_empty() {
        let path = args.scenario.display();
        return Err(Stop::Usage(format!("{path}: it has no `users`, and so no plans: there is nothing to profile")));
    }
    args.diff.as_deref().map_or(Ok(()), files::exists)?;
    let before = args.diff.as_deref().map(Baseline::load).transpose()?;
    let outcome = play(&loaded.scenario, &schedule, None)?;
    let profiles = profile::baseline(name, &schedule, outcome.profiles());
    let mut document = profile::document(name, &schedule, &outcome);
    let mut text = profile::text(name, &schedule, &outcome, terminal.style);
    let mut differs = false;
    if let (Some(before), Some(path)) = (&before, &args.diff) {
        profiles.compares_to(before, path)?;
        let found = profile::diff(&before.users, &profiles.users);
        differs = !found.is_empty();
        document["differences"] = profile::diff_document(&found);
        text = profile::diff_text(&found, &before.users, &profiles.users, terminal.style);
    }
    if let Some(stale) = outcome.stale.first() {
        let missing = stale.missing(&outcome.deviations);
        return Err(Stop::Usage(format!("{}: the site `{missing}` never came up", args.scenario.display())));
    }
    if let Some(path) = &args.save {
        fs::write(path, profiles.text()).map_err(|error| Stop::Unwritable { path: path.clone(), error })?;
        terminal.note(&format!("the profiles are in {}", path.display()));
    }
    if args.json {
        terminal.print_json(&document)?;
    } else {
        terminal.print(&text)?;
    }
    Ok(if differs || !outcome.held() { Exit::Violated } else { Exit::Held })
}
