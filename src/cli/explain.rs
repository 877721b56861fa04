//! `explain`: the story of a failure.

use std::path::PathBuf;

use super::output::spare;
use super::run::{TraceWriter, schedule};
use super::terminal::Terminal;
use super::{Exit, Stop, clock};
use crate::explore::explain::explain;
use crate::explore::in_words;
use crate::explore::{Halt, News, Subject, files};
use crate::report::explain::Report;
use crate::report::story::spacetime::Drawing;

/// Tells the story of a failure: what deviated, what each actor believed, and where the promise broke.
///
/// Takes a file that lists its deviations, as sweep and exhaust write it, or a scenario and a seed. Draws the story as
/// a diagram, a column for each actor, and says from which deviation on calm does not save it, and what the nearest
/// schedule is that holds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome explain reports/charge-card-effect-at-most-once-seed-42.json
  chronodrome explain scenarios/charge-card.json --seed 42")]
pub(super) struct Args {
    /// The file of a failure, or any scenario.
    file: PathBuf,
    /// The seed that deviations are drawn from, for a scenario; none plays its list, or the calm schedule.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Draw with ASCII letters, as is done when the output is no terminal.
    #[arg(long)]
    ascii: bool,
    /// How many letters wide the diagram is.
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u16).range(40..=400))]
    width: u16,
    /// Write the history to FILE as JSON lines.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load(&args.file)?;
    let scenario = &loaded.scenario;
    let schedule = schedule(&loaded, args.seed)?;
    args.trace.iter().try_for_each(|trace| spare(trace, [&*args.file]))?;
    clock::catch_interrupts()?;
    let watch = clock::Watch::start(None);
    let explained = explain(scenario, &schedule, &mut |_: News| watch.halt())
        .map_err(|panic| Stop::Panicked { what: format!("{} with {}", scenario.name, in_words(&schedule)), panic })?;
    if let Some(stale) = explained.outcome.stale.first() {
        let (path, site) = (args.file.display(), stale.missing(&explained.outcome.deviations));
        return Err(Stop::Usage(format!(
            "{path}: the file is stale: the site `{site}` never came up; `replay` names the nearest"
        )));
    }
    if let Some(path) = &args.trace {
        let mut writer = TraceWriter::create(path, scenario.player().as_ref())?;
        explained.records.iter().for_each(|record| writer.note(record));
        writer.finish()?;
    }
    let report = Report { scenario: &scenario.name, schedule: &schedule, explained: &explained };
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        let ascii = args.ascii || !terminal.shown;
        terminal.print(&report.text(Drawing { width: usize::from(args.width), ascii, style: terminal.style }))?;
    }
    Ok(match (explained.halted, explained.cause) {
        (Some(Halt::Interrupt), _) => Exit::Interrupted,
        (_, None) => Exit::Held,
        (_, Some(_)) => Exit::Violated,
    })
}
