//! `sweep`: many seeds over many scenarios.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::terminal::Terminal;
use super::{Exit, Stop, clock, cores, failures};
use crate::explore::sweep::Sweep;
use crate::explore::{Findings, Halt, Loaded, Subject, files};
use crate::kernel::Span;
use crate::report::sweep::{Report, Swept};

/// Plays many seeds of every scenario, in parallel.
///
/// Failures are grouped by what they broke; the first of each is written to a file that plays it again. A share of
/// the schedules, and every failure, is played again in a fresh world: the histories must be the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome sweep
  chronodrome sweep scenarios/charge-card.json --seeds 1000000
  chronodrome sweep --time 5m --fail-fast")]
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
    /// End with the first failure.
    #[arg(long)]
    fail_fast: bool,
    /// Where files of failures are written.
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

const DEFAULT_SEEDS: Range<u64> = 0..1_000;
const DEFAULT_TIME: Span = Span::from_secs(60);

/// `N` or `A..B`.
fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
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
    clock::catch_interrupts()?;
    let subjects: Vec<&dyn Subject> = loaded.iter().map(|loaded| &loaded.scenario as &dyn Subject).collect();
    let (seeds, time) = extent(args.seeds.as_ref(), args.time);
    let sweep = Sweep { seeds, jobs: args.jobs.map_or_else(cores, usize::from), fail_fast: args.fail_fast };
    let mut progress = terminal.progress(subjects.iter().map(|subject| subject.name()).collect(), time);
    let swept = sweep.run(&subjects, &mut |news| progress.hear(news));
    progress.finish();
    let took = progress.watch.elapsed();
    let files = failures::write(&args.out, &loaded, &swept.findings, terminal)?;
    let report =
        Report { scenarios: &named(&loaded), findings: &swept.findings, took, halted: swept.halted, files: &files };
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        terminal.print(&report.text(terminal.style))?;
    }
    Ok(exit(&swept.findings, swept.halted))
}

fn named(loaded: &[Loaded]) -> Vec<Swept> {
    let path = |path: &Path| path.display().to_string();
    let each = loaded.iter();
    each.map(|loaded| Swept { name: loaded.scenario.name.to_string(), path: path(&loaded.path) }).collect()
}

/// The gravest of what was found.
fn exit(findings: &Findings, halted: Option<Halt>) -> Exit {
    [
        (findings.broken.is_some(), Exit::Fault),
        (findings.divergence.is_some(), Exit::Nondeterministic),
        (halted == Some(Halt::Interrupt), Exit::Interrupted),
        (!findings.failures.is_empty(), Exit::Violated),
        (!findings.stale.is_empty(), Exit::WrongInput),
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
        let quiet = Findings::default();
        assert_eq!(exit(&quiet, None), Exit::Held);
        assert_eq!(exit(&quiet, Some(Halt::Time)), Exit::Held);
        assert_eq!(exit(&quiet, Some(Halt::Interrupt)), Exit::Interrupted);
    }
}
