//! `merge`: the result lines of many sweeps as one report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::sweep::{exit, load_known, open_junit, write_junit};
use super::terminal::Terminal;
use super::{Exit, Stop, results, shrinking};
use crate::explore::results::{Line, Summary, SummaryError};
use crate::report::sweep::Report;

/// Joins the result lines of shards, and of sweeps that were broken off, into one report.
///
/// The order of files and lines does not matter, nor how often a line stands there: eight shards give what one sweep
/// gives. The files of failures are written from the lines.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronodrome merge shards --junit report.xml")]
pub(super) struct Args {
    /// Files of result lines, as `sweep` writes them, or directories of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Failures that are known and break nothing.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// End with 2 if schedules that were to be played are missing.
    #[arg(long)]
    complete: bool,
    /// Write a JUnit report to FILE.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Where files of failures are written.
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let known = load_known(args.known.as_deref())?;
    let mut lines = BTreeSet::new();
    let mut places: BTreeMap<String, &PathBuf> = BTreeMap::new();
    let files: Vec<Vec<PathBuf>> = args.files.iter().map(|path| results::files(path)).collect::<Result<_, _>>()?;
    for path in files.iter().flatten() {
        let read = results::read(path)?;
        if read.cut {
            terminal.note(&format!("{}: its last line was cut off; it is left out", path.display()));
        } else if !read.lines.iter().any(|line| matches!(line, Line::End { .. })) {
            terminal.note(&format!("{}: its sweep did not come to its end", path.display()));
        }
        for line in &read.lines {
            if let Line::Sweep(sweep) = line {
                places.extend(sweep.scenarios.iter().map(|scenario| (scenario.id.clone(), path)));
            }
        }
        lines.extend(read.lines);
    }
    let read: Vec<&Path> = files.iter().flatten().map(PathBuf::as_path).chain(args.known.as_deref()).collect();
    let junit = open_junit(args.junit.as_deref(), &read)?;
    let summary = Summary::of(&lines, &known).map_err(|error| refusal(&error, &places))?;
    let written = shrinking::write(&args.out, summary.files());
    let directory = args.out.display().to_string();
    let report = Report { summary: &summary, took: None, halted: None, directory: Some(&directory), agents: &[] };
    let junit = write_junit(junit, &report);
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        terminal.print(&report.text(terminal.style))?;
    }
    written.and(junit)?;
    if args.complete && !summary.complete() {
        terminal.complain("schedules that were to be played are missing");
        return Ok(exit(&summary, None).max(Exit::WrongInput));
    }
    Ok(exit(&summary, None))
}

/// Why the files cannot be joined, and which.
fn refusal(error: &SummaryError, places: &BTreeMap<String, &PathBuf>) -> Stop {
    let SummaryError::Differ { ids, .. } = error else { return Stop::Usage(error.to_string()) };
    let named = ids.each_ref().map(|id| places.get(id).map_or_else(String::new, |path| path.display().to_string()));
    Stop::Usage(format!("{} and {}: {error}", named[0], named[1]))
}
