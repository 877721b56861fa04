//! `coverage`: what the scenarios exercise.

use std::ops::Range;
use std::path::PathBuf;

use super::sweep::{load_known, parse_seeds, parse_time};
use super::terminal::Terminal;
use super::{Exit, Stop, clock, cores};
use crate::check::Sometimes;
use crate::explore::coverage::Coverage;
use crate::explore::replay::nearest;
use crate::explore::sweep::Sweep;
use crate::explore::{Aim, Halt, Subject, files};
use crate::kernel::Span;
use crate::report::coverage::Report;

/// Tells which faults struck which calls in which phase of a run's life, and which properties were reached.
///
/// Plays the calm schedule of every scenario, and some seeds. A cell is a kind of fault at a call in a phase; possible
/// is every kind that can strike at a call that came up in that phase.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome coverage
  chronodrome coverage scenarios --seeds 5000 --floor 80%
  chronodrome coverage --require-sometimes=crash-in-intent,zombie-refused")]
pub(super) struct Args {
    /// Scenario files, or directories of them.
    #[arg(default_value = "scenarios", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How many seeds a scenario, from 0, or which ones: `N` or `A..B`.
    #[arg(long, value_name = "N|A..B", default_value = "500", value_parser = parse_seeds)]
    seeds: Range<u64>,
    /// Play for so long at most.
    #[arg(long, value_name = "SPAN", value_parser = parse_time)]
    time: Option<Span>,
    /// How many threads; what is found does not depend on it. [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// End with 1 if fewer of the possible cells are covered.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = parse_floor)]
    floor: u64,
    /// End with 1 if one of these properties was never reached; without names, any that there is (`list` names them).
    #[arg(long, value_name = "NAME,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = ALL, value_parser = parse_property)]
    require_sometimes: Vec<Property>,
    /// Failures that are known, as `sweep` takes them; what is broken besides ends it with 1.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Name every cell that was not covered.
    #[arg(long)]
    all: bool,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

/// What stands for every property.
const ALL: &str = "all";

/// A property that must be reached; none is every one.
type Property = Option<Sometimes>;

fn parse_property(name: &str) -> Result<Property, String> {
    let named = Sometimes::ALL.iter().copied().find(|what| what.as_str() == name);
    if named.is_some() || name == ALL {
        return Ok(named);
    }
    let names: Vec<&str> = Sometimes::ALL.iter().map(|what| what.as_str()).collect();
    let nearest = nearest(name, names.iter()).copied().unwrap_or(ALL);
    Err(format!("no property has this name; did you mean `{nearest}`?"))
}

/// A percentage, in millionths.
fn parse_floor(text: &str) -> Result<u64, String> {
    let wrong = || "a floor is a percentage from `0%` to `100%`, with at most four digits behind the point".to_owned();
    let digits = text.strip_suffix('%').unwrap_or(text).trim_end();
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = [whole, part].iter().all(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    if whole.is_empty() || !all_digits || part.len() > 4 {
        return Err(wrong());
    }
    let number = |digits: &str| digits.parse::<u64>().map_err(|_| wrong());
    let ppm = number(whole)?.saturating_mul(10_000) + number(&format!("{part:0<4}"))?;
    if ppm <= 1_000_000 { Ok(ppm) } else { Err(wrong()) }
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load_all(&args.paths)?;
    clock::catch_interrupts()?;
    let subjects: Vec<&dyn Subject> = loaded.iter().map(|loaded| &loaded.scenario as &dyn Subject).collect();
    let jobs = args.jobs.map_or_else(cores, usize::from);
    let aim = Aim { known: load_known(args.known.as_deref())?, ..Aim::default() };
    let sweep = Sweep { seeds: args.seeds.clone(), jobs, aim, ..Sweep::default() };
    let mut progress = terminal.progress(subjects.iter().map(|subject| subject.name()).collect(), args.time);
    let done = sweep.run(&subjects, &mut |news| progress.hear(news));
    progress.finish();
    let mut coverage = Coverage::of(&done.findings, &subjects);
    for subject in &subjects {
        let panicked = |panic| Stop::Panicked { what: format!("{} with the calm schedule", subject.name()), panic };
        coverage.add_calm(*subject).map_err(panicked)?;
    }
    let all = args.require_sometimes.contains(&None);
    let required = Sometimes::ALL.iter().copied().filter(|what| all || args.require_sometimes.contains(&Some(*what)));
    let required: Vec<Sometimes> = required.collect();
    let report =
        Report { coverage: &coverage, floor_ppm: args.floor, required: &required, halted: done.halted, all: args.all };
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        terminal.print(&report.text(terminal.style))?;
    }
    if let Some(broken) = &done.findings.broken {
        let what = subjects[broken.subject].name().to_owned();
        return Err(Stop::Panicked { what, panic: broken.panic.clone() });
    }
    Ok(match done.halted {
        _ if done.findings.divergence.is_some() => Exit::Nondeterministic,
        Some(Halt::Interrupt) => Exit::Interrupted,
        _ if done.findings.violated() || !report.enough() => Exit::Violated,
        _ => Exit::Held,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_a_percentage() {
        let cases = [("80%", Some(800_000)), ("0", Some(0)), ("99.5%", Some(995_000)), ("100%", Some(1_000_000))];
        for (text, floor) in cases {
            assert_eq!(parse_floor(text).ok(), floor, "{text}");
        }
        for text in ["", "%", "101%", "-1%", "x", "1.23456%", "1.2.3%", ".5%", "99999999999999999999%"] {
            assert!(parse_floor(text).is_err(), "{text}");
        }
    }
}
