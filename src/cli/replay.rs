//! `replay`: a written failure, exactly.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::json;

use super::output::spare;
use super::run::TraceWriter;
use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::explore::replay::{Replayed, Stale, replay};
use crate::explore::{Cause, Subject, files};
use crate::history::Record;
use crate::kernel::Name;
use crate::report::{Style, outcome};
use crate::scenario::Outcome;
use crate::sim::Schedule;

/// Plays the deviations that a file lists, and nothing else.
///
/// Says whether the promise that the file names is still broken; of a file that names none, which of its expectations
/// are. A listed site that never comes up makes the file
/// stale.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronodrome replay reports/charge-card-effect-at-most-once-seed-42.json")]
pub(super) struct Args {
    /// The file of a failure, or any scenario that lists its deviations.
    file: PathBuf,
    /// Take it that listed sites never come up.
    #[arg(long)]
    allow_stale: bool,
    /// Write the history to FILE as JSON lines.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

/// How a replay compares with what its file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    /// What the file names is broken.
    Still,
    /// Something else is broken.
    Differently,
    /// Something is broken; the file does not say what.
    Violated,
    /// All held.
    Held,
}

impl Compared {
    const fn as_str(self) -> &'static str {
        match self {
            Compared::Still => "still",
            Compared::Differently => "differently",
            Compared::Violated => "violated",
            Compared::Held => "held",
        }
    }
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load(&args.file)?;
    let scenario = &loaded.scenario;
    let path = args.file.display();
    let list = scenario.deviations.clone().ok_or_else(|| {
        Stop::Usage(format!("{path}: it lists no `deviations`: there is nothing to replay; `run` plays a scenario"))
    })?;
    args.trace.iter().try_for_each(|trace| spare(trace, [&*args.file]))?;
    let mut writer = match &args.trace {
        Some(trace) => Some(TraceWriter::create(trace, scenario.player().as_ref())?),
        None => None,
    };
    let mut note = |record: &Record| writer.iter_mut().for_each(|writer| writer.note(record));
    let replayed = replay(scenario, &list, args.trace.is_some().then_some(&mut note))
        .map_err(|panic| Stop::Panicked { what: format!("the replay of {path}"), panic })?;
    if let Some(writer) = writer {
        writer.finish()?;
    }
    let compared = compare(scenario.violates.as_ref(), &replayed);
    let schedule = Schedule::Fixed(list);
    if args.json {
        let mut document = outcome::document(&scenario.name, &schedule, &replayed.outcome);
        document["violates"] = json!(scenario.violates);
        document["compared"] = json!(compared.as_str());
        document["stale"] = replayed.stale.iter().map(stale_document).collect();
        terminal.print_json(&document)?;
    } else {
        let mut text = outcome::text(&scenario.name, &schedule, &replayed.outcome, terminal.style);
        text.push_str(&in_words(compared, scenario.violates.as_ref(), &replayed.outcome, terminal.style));
        terminal.print(&text)?;
    }
    for stale in &replayed.stale {
        terminal.complain(&format!("{path}: {}", stale_in_words(stale)));
    }
    Ok(match compared {
        _ if !replayed.stale.is_empty() && !args.allow_stale => Exit::WrongInput,
        Compared::Held => Exit::Held,
        _ => Exit::Violated,
    })
}

fn compare(violates: Option<&Name>, replayed: &Replayed) -> Compared {
    let outcome = &replayed.outcome;
    match violates {
        _ if outcome.held() => Compared::Held,
        None => Compared::Violated,
        Some(named) if Cause::all(outcome).any(|cause| *cause.promise() == **named) => Compared::Still,
        Some(_) => Compared::Differently,
    }
}

fn in_words(compared: Compared, violates: Option<&Name>, outcome: &Outcome, style: Style) -> String {
    let named = violates.map_or("", |name| name);
    // An invariant has a name, an expectation a sentence.
    let verb = if named.contains(' ') { "breaks:" } else { "violates" };
    let told = match (compared, violates) {
        (Compared::Still, _) => style.bad(&format!("it still {verb} {named}")),
        (Compared::Differently, _) => style.bad(&format!("it fails, but no longer {verb} {named}")),
        (Compared::Violated, _) => style.bad(&still_broken(outcome)),
        (Compared::Held, Some(_)) => style.good(&format!("it no longer {verb} {named}")),
        (Compared::Held, None) if outcome.expectations.is_empty() => style.good("no invariant is broken"),
        (Compared::Held, None) => style.good("all that it expects holds now"),
    };
    format!("{told}\n")
}

/// What is broken by a file that does not say what was.
fn still_broken(outcome: &Outcome) -> String {
    let missed: Vec<&str> =
        outcome.expectations.iter().filter(|expected| !expected.held).map(|expected| &*expected.text).collect();
    match outcome.violations.first() {
        _ if !missed.is_empty() => format!("it still breaks: {}", missed.join("; ")),
        Some(found) => format!("it still violates {}", found.invariant),
        None => "it still fails".to_owned(),
    }
}

pub(super) fn stale_in_words(stale: &Stale) -> String {
    if stale.healed {
        let site = &stale.missing;
        return format!(
            "the file is stale: the site `{site}` came up only after the world had healed, where nothing strikes; \
             `until` in `faults` says when that is"
        );
    }
    let mut text = format!("the file is stale: the site `{}` never came up", stale.missing);
    if let Some(nearest) = &stale.nearest {
        let _ = write!(text, "; the nearest that did is `{nearest}`");
    }
    text
}

fn stale_document(stale: &Stale) -> serde_json::Value {
    json!({ "site": stale.missing, "nearest": stale.nearest, "healed": stale.healed })
}
