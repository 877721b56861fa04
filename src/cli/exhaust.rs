//! `exhaust`: every schedule of one deviation.

use std::path::PathBuf;
use std::time::Duration;

use super::sweep::parse_time;
use super::terminal::Terminal;
use super::{Exit, Stop, clock, cores, failures};
use crate::explore::exhaust::{Exhausted, Plan};
use crate::explore::{Halt, Loaded, files};
use crate::kernel::Span;
use crate::report::exhaust::Report;
use crate::report::grouped;

/// Tries every value of its printed list at every site of the calm run.
///
/// Says beforehand how many schedules there are, and afterwards that it was all of them, or how many not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome exhaust scenarios/charge-card.json
  chronodrome exhaust scenarios --budget 10m")]
pub(super) struct Args {
    /// Scenario files, or directories of them.
    #[arg(required = true, value_name = "SCENARIO")]
    paths: Vec<PathBuf>,
    /// How many deviations a schedule has.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=1))]
    depth: u8,
    /// Work for so long at most, over all scenarios.
    #[arg(long, value_name = "SPAN", value_parser = parse_time)]
    budget: Option<Span>,
    /// How many threads; what is found does not depend on it. [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// End with the first failure.
    #[arg(long)]
    fail_fast: bool,
    /// Where files of failures are written.
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// Print one JSON document for each scenario, one a line, and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let loaded = files::load_all(&args.paths)?;
    clock::catch_interrupts()?;
    let watch = clock::Watch::start(args.budget.map(|span| Duration::from_micros(span.as_micros().unsigned_abs())));
    let mut worst = Exit::Held;
    for subject in loaded.iter().filter(|loaded| loaded.scenario.deviations.is_none()) {
        let exit = one(args, terminal, subject, &watch)?;
        worst = worst.max(exit);
        if exit == Exit::Interrupted || (args.fail_fast && exit != Exit::Held) {
            break;
        }
    }
    for listed in loaded.iter().filter(|loaded| loaded.scenario.deviations.is_some()) {
        terminal.note(&format!("{}: it lists its deviations; it is left out", listed.path.display()));
    }
    Ok(worst)
}

fn one(args: &Args, terminal: &Terminal, loaded: &Loaded, watch: &clock::Watch) -> Result<Exit, Stop> {
    let scenario = &loaded.scenario;
    let calm = clock::Watch::start(None);
    let panicked = |panic| Stop::Panicked { what: format!("{} with the calm schedule", scenario.name), panic };
    let plan = Plan::of(scenario).map_err(panicked)?;
    let jobs = args.jobs.map_or_else(cores, usize::from);
    if !args.json {
        let seconds = calm.elapsed().as_secs_f64() * plan.schedules() as f64 / jobs as f64;
        let (sites, schedules) = (plan.sites.len(), grouped(plan.schedules()));
        terminal.note(&format!("{}: {sites} sites, {schedules} schedules, about {seconds:.1} s", scenario.name));
    }
    let mut progress = terminal.progress(vec![&*scenario.name], None);
    let done = plan.run(scenario, jobs, args.fail_fast, &mut |news| progress.hear(news).or_else(|| watch.halt()));
    progress.finish();
    let files = failures::write(&args.out, std::slice::from_ref(loaded), &done.findings, terminal)?;
    let report = Report { scenario: &scenario.name, done: &done, files: &files };
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        terminal.print(&report.text(terminal.style))?;
    }
    Ok(exit(&done))
}

/// The gravest of what was found.
fn exit(done: &Exhausted) -> Exit {
    let findings = &done.findings;
    [
        (findings.broken.is_some(), Exit::Fault),
        (findings.divergence.is_some() || !findings.stale.is_empty(), Exit::Nondeterministic),
        (done.halted == Some(Halt::Interrupt), Exit::Interrupted),
        (!findings.failures.is_empty(), Exit::Violated),
    ]
    .into_iter()
    .find_map(|(found, exit)| found.then_some(exit))
    .unwrap_or(Exit::Held)
}
