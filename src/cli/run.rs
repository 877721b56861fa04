//! `run`: one schedule of one scenario.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::output::spare;
use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::explore::contain::contain;
use crate::explore::in_words;
use crate::explore::{Loaded, Player, Subject, files};
use crate::history::{Record, write_header, write_record};
use crate::report::outcome;
use crate::scenario::{Options, Outcome};
use crate::sim::Schedule;

/// Plays one schedule: the calm one, or what a seed draws at the scenario's rates.
///
/// A scenario that lists its deviations has one schedule, its list. Prints runs, effects, faults, the verdict and
/// the history's digest.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronodrome run scenarios/charge-card.json --seed 42")]
pub(super) struct Args {
    /// The scenario file.
    scenario: PathBuf,
    /// The seed that deviations are drawn from; none plays the calm schedule.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Write the history to FILE as JSON lines.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load(&args.scenario)?;
    let schedule = schedule(&loaded, args.seed)?;
    let name = &loaded.scenario.name;
    args.trace.iter().try_for_each(|trace| spare(trace, [&*loaded.path]))?;
    let outcome = play(&loaded.scenario, &schedule, args.trace.as_deref())?;
    if args.json {
        terminal.print_json(&outcome::document(name, &schedule, &outcome))?;
    } else {
        terminal.print(&outcome::text(name, &schedule, &outcome, terminal.style))?;
    }
    if let Some(stale) = outcome.stale.first() {
        let missing = stale.missing(&outcome.deviations);
        terminal.complain(&format!("{}: the site `{missing}` never came up", args.scenario.display()));
        return Ok(Exit::WrongInput);
    }
    Ok(if outcome.held() { Exit::Held } else { Exit::Violated })
}

/// The schedule that a scenario and a seed, if there is one, mean.
pub(super) fn schedule(loaded: &Loaded, seed: Option<u64>) -> Result<Schedule, Stop> {
    match (&loaded.scenario.deviations, seed) {
        (Some(_), Some(_)) => {
            let path = loaded.path.display();
            Err(Stop::Usage(format!("{path}: it lists its deviations: there is nothing for --seed to draw")))
        }
        (Some(list), None) => Ok(Schedule::Fixed(list.clone())),
        (None, Some(seed)) => Ok(Schedule::Seed(seed)),
        (None, None) => Ok(Schedule::Calm),
    }
}

/// Plays a schedule, and writes its history where wanted.
pub(super) fn play(subject: &dyn Subject, schedule: &Schedule, trace: Option<&Path>) -> Result<Outcome, Stop> {
    let panicked = |panic| Stop::Panicked { what: format!("{} with {}", subject.name(), in_words(schedule)), panic };
    let mut player = contain(|| subject.player()).map_err(panicked)?;
    let Some(path) = trace else {
        return contain(|| player.examine(schedule, Options::default())).map_err(panicked);
    };
    let mut writer = TraceWriter::create(path, player.as_ref())?;
    let outcome = contain(|| {
        let mut note = |record: &Record| writer.note(record);
        player.examine(schedule, Options { trace: Some(&mut note), ..Options::default() })
    })
    .map_err(panicked)?;
    writer.finish()?;
    Ok(outcome)
}

/// Writes a history as it grows; what goes wrong is kept until the end.
pub(super) struct TraceWriter {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl TraceWriter {
    pub(super) fn create(path: &Path, player: &dyn Player) -> Result<TraceWriter, Stop> {
        let open = || -> io::Result<BufWriter<File>> {
            let mut file = BufWriter::new(File::create(path)?);
            write_header(&mut file, &player.header())?;
            Ok(file)
        };
        let file = open().map_err(|error| Stop::Unwritable { path: path.to_owned(), error })?;
        Ok(TraceWriter { path: path.to_owned(), file, failed: None })
    }

    pub(super) fn note(&mut self, record: &Record) {
        if self.failed.is_none() {
            self.failed = write_record(&mut self.file, record).err();
        }
    }

    pub(super) fn finish(mut self) -> Result<(), Stop> {
        let written = self.failed.take().map_or_else(|| self.file.flush(), Err);
        written.map_err(|error| Stop::Unwritable { path: self.path, error })
    }
}
