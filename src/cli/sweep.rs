//! `sweep`: many seeds over many scenarios.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::output::{Output, spare};
use super::results::ResultsFile;
use super::shrinking::{self, Shrink};
use super::terminal::Terminal;
use super::{Exit, Stop, clock, cores};
use crate::explore::aim::{Known, invariant_named};
use crate::explore::results::{self, Line, Recorder, Summary, Swept};
use crate::explore::sweep::Sweep;
use crate::explore::{Aim, Halt, Loaded, News, Shard, Subject, files};
use crate::kernel::Span;
use crate::report::junit;
use crate::report::sweep::Report;

/// Plays many seeds of every scenario, in parallel.
///
/// Failures are grouped by what they broke; a few of each are shrunk and written to files that play them again. A
/// share of the schedules, and every failure, is played again in a fresh world: the histories must be the same.
/// Results are written as lines while they come, to results.jsonl: what is finished is not lost, and `merge` joins the
/// lines of shards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome sweep
  chronodrome sweep scenarios/charge-card.json --seeds 1000000
  chronodrome sweep --time 5m --fail-fast
  chronodrome sweep --seeds 100000 --shard 3/8 --out shards --junit report.xml")]
pub(super) struct Args {
    /// Scenario files, or directories of them.
    #[arg(default_value = "scenarios", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How many seeds a scenario, from 0, or which ones: `N` or `A..B`. Without --seeds and --time: 1 000 a
    /// scenario and at most 60 s.
    #[arg(long, value_name = "N|A..B", value_parser = parse_seeds)]
    seeds: Option<Range<u64>>,
    /// Sweep for so long; without --seeds there are always more.
    #[arg(long, value_name = "SPAN", value_parser = parse_time)]
    time: Option<Span>,
    /// How many threads; what is found does not depend on it. [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Play one of N parts of the seeds, those whose remainder is I - 1.
    #[arg(long, value_name = "I/N", default_value = "1/1", hide_default_value = true)]
    shard: Shard,
    /// End with the first failure that is not known.
    #[arg(long)]
    fail_fast: bool,
    /// Only what breaks this invariant counts; `expectation` for what scenarios expect.
    #[arg(long, value_name = "INVARIANT")]
    only: Option<String>,
    /// Failures that are known and break nothing: `{"scenario": …, "invariant": …, "reason": …}`, with
    /// `"subject"` and `"last"` where they matter, in a list or one a line.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Shrink failures for so long at most, over all of them; `0s` for not at all.
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = parse_budget)]
    shrink: Span,
    /// Write a JUnit report to FILE.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Where results, and the files of failures, are written.
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

const DEFAULT_SEEDS: Range<u64> = 0..1_000;
const DEFAULT_TIME: Span = Span::from_secs(60);

/// `N` or `A..B`.
pub(super) fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let number = |digits: &str| digits.replace('_', "").parse::<u64>().ok();
    let range = match text.split_once("..") {
        Some((start, end)) => number(start).zip(number(end)).map(|(start, end)| start..end),
        None => number(text).map(|count| 0..count),
    };
    let range = range.ok_or("seeds are a count like `1000` or a range like `500..1000`")?;
    if range.is_empty() { Err("there is no seed in this".to_owned()) } else { Ok(range) }
}

/// A span of more than nothing.
pub(super) fn parse_time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: crate::kernel::TimeError| error.to_string())?;
    if span > Span::ZERO { Ok(span) } else { Err("it must be more than nothing".to_owned()) }
}

/// A span, or none at all.
fn parse_budget(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error: crate::kernel::TimeError| error.to_string())
}

/// The seeds and the time limit that are meant.
fn extent(seeds: Option<&Range<u64>>, time: Option<Span>) -> (Range<u64>, Option<Span>) {
    match (seeds, time) {
        (Some(seeds), time) => (seeds.clone(), time),
        (None, Some(time)) => (0..u64::MAX, Some(time)),
        (None, None) => (DEFAULT_SEEDS, Some(DEFAULT_TIME)),
    }
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load_all(&args.paths)?;
    one_of_each_name(&loaded)?;
    let aim = Aim { only: only(args.only.as_deref())?, known: load_known(args.known.as_deref())? };
    note_unknown(&aim.known, &loaded, terminal);
    clock::catch_interrupts()?;
    let (seeds, time) = extent(args.seeds.as_ref(), args.time);
    let jobs = args.jobs.map_or_else(cores, usize::from);
    let sweep = Sweep { seeds, shard: args.shard, aim, jobs, fail_fast: args.fail_fast };
    let subjects: Vec<&dyn Subject> = loaded.iter().map(|loaded| &loaded.scenario as &dyn Subject).collect();
    let paths: Vec<String> = loaded.iter().map(|loaded| loaded.path.display().to_string()).collect();
    let swept: Vec<Swept<'_>> =
        subjects.iter().zip(&paths).map(|(subject, path)| Swept { subject: *subject, path }).collect();
    let mut recorder = Recorder::new(&sweep, &swept);
    let mut file = ResultsFile::open(&args.out, recorder.sweep(), terminal)?;
    let read: Vec<&Path> = loaded.iter().map(|loaded| &*loaded.path).chain(args.known.as_deref()).collect();
    let junit = open_junit(args.junit.as_deref(), &[&read[..], &[file.path()]].concat())?;

    let mut progress = terminal.progress(subjects.iter().map(|subject| subject.name()).collect(), time);
    let done = sweep.run(&subjects, &mut |news| {
        if let News::Finished(finished) = &news {
            file.append(recorder.finished(finished));
        }
        progress.hear(news)
    });
    progress.finish();
    let took = progress.watch.elapsed();
    file.append(recorder.troubles(&done.findings));

    let mut lines = results::of_findings(&done.findings, &recorder);
    let shrink = Shrink {
        loaded: &loaded,
        ids: (0..loaded.len()).map(|subject| recorder.id(subject).to_owned()).collect(),
        aim: &sweep.aim,
        budget: Duration::from_micros(args.shrink.as_micros().unsigned_abs()),
        terminal,
    };
    let made: Vec<Line> = shrink.files(&done.findings).into_iter().map(Line::File).collect();
    file.append(made.iter().cloned());
    lines.extend(made);
    let summary = Summary::of(&lines, &sweep.aim.known).map_err(|error| Stop::Usage(error.to_string()))?;
    let written = shrinking::write(&args.out, summary.files());

    let halted = if clock::interrupted() { Some(Halt::Interrupt) } else { done.halted };
    let directory = args.out.display().to_string();
    let report = Report { summary: &summary, took: Some(took), halted, directory: Some(&directory), agents: &[] };
    // What was found is told, whatever cannot be written.
    let junit = write_junit(junit, &report);
    let finished = file.finish(halted.map(Halt::as_str));
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        terminal.print(&report.text(terminal.style))?;
    }
    written.and(junit).and(finished)?;
    Ok(exit(&summary, halted))
}

/// Results are told by the names of scenarios; only those of regressions by their files: each has the name of the scenario
/// that it is of.
fn one_of_each_name(loaded: &[Loaded]) -> Result<(), Stop> {
    let named: Vec<&Loaded> = loaded.iter().filter(|loaded| loaded.scenario.deviations.is_none()).collect();
    for (place, one) in named.iter().enumerate() {
        if let Some(other) = named[..place].iter().find(|other| other.scenario.name == one.scenario.name) {
            let (path, other, name) = (one.path.display(), other.path.display(), &one.scenario.name);
            return Err(Stop::Usage(format!("{path}: {other} has the name `{name}`, too")));
        }
    }
    Ok(())
}

/// The one invariant that counts.
fn only(name: Option<&str>) -> Result<Option<String>, Stop> {
    let found = name.map(invariant_named).transpose();
    let found = found.map_err(|error| Stop::Usage(format!("--only: {error}")))?;
    Ok(found.map(ToOwned::to_owned))
}

/// The failures that are known.
pub(super) fn load_known(path: Option<&Path>) -> Result<Known, Stop> {
    let Some(path) = path else { return Ok(Known::default()) };
    files::exists(path)?;
    Known::load(path).map_err(|error| Stop::Usage(error.to_string()))
}

/// Tells of known failures that are of no scenario here: of others, or of one whose name is mistyped.
fn note_unknown(known: &Known, loaded: &[Loaded], terminal: &Terminal) {
    let is_here = |name: &str| loaded.iter().any(|loaded| *loaded.scenario.name == *name);
    let elsewhere: BTreeSet<&str> =
        known.entries().iter().map(|entry| &*entry.scenario).filter(|name| !is_here(name)).collect();
    if !elsewhere.is_empty() {
        let names = elsewhere.into_iter().collect::<Vec<_>>().join("`, `");
        terminal.note(&format!("known failures of `{names}`: no scenario that is swept has this name"));
    }
}

/// Where a JUnit report is to be written, if one is wanted: over none of the files that are read.
pub(super) fn open_junit(path: Option<&Path>, read: &[&Path]) -> Result<Option<Output>, Stop> {
    let Some(path) = path else { return Ok(None) };
    spare(path, read.iter().copied())?;
    Output::open(path).map(Some)
}

/// Writes a JUnit report, if one is wanted.
pub(super) fn write_junit(output: Option<Output>, report: &Report<'_>) -> Result<(), Stop> {
    output.map_or(Ok(()), |output| output.write(&junit::xml(report)))
}

/// The gravest of what was found.
pub(super) fn exit(summary: &Summary, halted: Option<Halt>) -> Exit {
    [
        (!summary.panics.is_empty(), Exit::Fault),
        (!summary.divergences.is_empty() || !summary.contradictions.is_empty(), Exit::Nondeterministic),
        (halted == Some(Halt::Interrupt), Exit::Interrupted),
        (summary.violated(), Exit::Violated),
        (!summary.stale.is_empty(), Exit::WrongInput),
    ]
    .into_iter()
    .find_map(|(found, exit)| found.then_some(exit))
    .unwrap_or(Exit::Held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_count_or_a_range() {
        let cases = [("1000", Some(0..1_000)), ("10_000", Some(0..10_000)), ("5..7", Some(5..7)), ("0", None)];
        for (text, seeds) in cases {
            assert_eq!(parse_seeds(text).ok(), seeds, "{text}");
        }
        for text in ["", "7..7", "9..1", "x", "1..", "-1", "1...2", "1.5"] {
            assert!(parse_seeds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_alone_has_no_last_seed_and_seeds_alone_have_no_time() {
        let minute = Span::from_secs(60);
        assert_eq!(extent(None, None), (0..1_000, Some(minute)));
        assert_eq!(extent(Some(&(0..5)), None), (0..5, None));
        assert_eq!(extent(None, Some(minute)), (0..u64::MAX, Some(minute)));
        assert_eq!(extent(Some(&(0..5)), Some(minute)), (0..5, Some(minute)));
    }

    #[test]
    fn the_gravest_finding_decides_how_a_sweep_ends() {
        let quiet = Summary::default();
        assert_eq!(exit(&quiet, None), Exit::Held);
        assert_eq!(exit(&quiet, Some(Halt::Time)), Exit::Held);
        assert_eq!(exit(&quiet, Some(Halt::Interrupt)), Exit::Interrupted);
    }
}
