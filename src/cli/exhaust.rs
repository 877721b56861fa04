//! `exhaust`: every schedule of one deviation, or of two.

use std::path::PathBuf;
use std::time::Duration;

use super::sweep::parse_time;
use super::terminal::{Progress, Terminal};
use super::{Exit, Stop, clock, cores, failures};
use crate::explore::exhaust::{Exhaust, Exhausted, Plan};
use crate::explore::{Findings, Halt, Loaded, News, Subject, files, holds};
use crate::kernel::Span;
use crate::report::exhaust::{Report, Start};
use crate::report::{counted, grouped};
use crate::scenario::{Options, Scenario};
use crate::sim::Schedule;

/// Tries every value of its printed list at every site of the calm run.
///
/// Then every hold that can matter: each call until each later one of somebody else's about the same address. With
/// `--depth 2`, then every value at every site that comes later in the run with the first: all ordered pairs. Says
/// beforehand how many schedules there are, and afterwards that it was all of them, or which not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome exhaust scenarios/charge-card.json
  chronodrome exhaust scenarios/charge-card.json --depth 2
  chronodrome exhaust scenarios/signals.json --holds 2 --budget 1m
  chronodrome exhaust scenarios/mail.json --around 20
  chronodrome exhaust scenarios --budget 10m")]
pub(super) struct Args {
    /// Scenario files, or directories of them.
    #[arg(required = true, value_name = "SCENARIO")]
    paths: Vec<PathBuf>,
    /// The most deviations that a schedule has: 1 or 2.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    depth: u8,
    /// The most holds that a schedule has, 0 to 2: a hold lets a call arrive just after one of somebody else's was done.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    holds: u8,
    /// Start also from so many worlds with other latencies, in each of which the calls of two actors may come in another
    /// order.
    #[arg(long, value_name = "N", default_value_t = 0)]
    around: u16,
    /// Work for so long at most, over all scenarios: each has a share as large as what it has to play.
    #[arg(long, value_name = "SPAN", value_parser = parse_time)]
    budget: Option<Span>,
    /// Play also the pairs whose world is in the state of an earlier one as the second deviation strikes.
    #[arg(long)]
    no_prune: bool,
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
    let (listed, free): (Vec<Loaded>, Vec<Loaded>) =
        loaded.into_iter().partition(|loaded| loaded.scenario.deviations.is_some());
    let work: Vec<u64> = free.iter().map(|subject| work(args, &subject.scenario)).collect();
    for (nth, subject) in free.iter().enumerate() {
        let ahead = work[nth..].iter().copied().fold(0, u64::saturating_add);
        let exit = one(args, terminal, subject, &watch.share(work[nth], ahead))?;
        worst = worst.max(exit);
        if exit == Exit::Interrupted || (args.fail_fast && exit != Exit::Held) {
            break;
        }
    }
    for listed in &listed {
        terminal.note(&format!("{}: it lists its deviations; it is left out", listed.path.display()));
    }
    Ok(worst)
}

/// About how much there is to do for a scenario: the events of all schedules ahead, if they have as many as the calm one.
fn work(args: &Args, scenario: &Scenario) -> u64 {
    // What panics is told in its turn.
    let Ok(plan) = Plan::of(scenario) else { return 1 };
    let pairs = if args.depth > 1 { plan.pairs_about() } else { 0 };
    let holds = if args.holds > 0 { holds::holds(&plan.sites, scenario.runtime.lease).len() as u64 } else { 0 };
    plan.calm.events.saturating_mul(plan.schedules() + pairs + holds).max(1)
}

/// The worlds to start from: the scenario's own, and those with other latencies.
fn worlds(loaded: &Loaded, around: u16) -> Vec<Loaded> {
    let other = |seed| Loaded { path: loaded.path.clone(), scenario: loaded.scenario.with_latencies(seed) };
    std::iter::once(loaded.clone()).chain((1..=u64::from(around)).map(other)).collect()
}

fn one(args: &Args, terminal: &Terminal, loaded: &Loaded, watch: &clock::Watch) -> Result<Exit, Stop> {
    let worlds = worlds(loaded, args.around);
    let name = &*loaded.scenario.name;
    let jobs = args.jobs.map_or_else(cores, usize::from);
    let how = Exhaust { depth: args.depth, holds: args.holds, jobs, fail_fast: args.fail_fast, prune: !args.no_prune };
    let mut starts: Vec<Start> = Vec::new();
    let mut found = Findings::default();
    for (place, world) in worlds.iter().enumerate() {
        let scenario = &world.scenario;
        let watch = watch.share(1, (worlds.len() - place) as u64);
        let told = scenario.latencies.map_or_else(|| name.to_owned(), |seed| format!("{name} with latencies {seed}"));
        let panicked = |panic| Stop::Panicked { what: format!("{told} with the calm schedule"), panic };
        let plan = Plan::of(scenario).map_err(panicked)?;
        let progress = terminal.progress(worlds.iter().map(|world| &*world.scenario.name).collect(), None);
        let mut forecast =
            Forecast { told: &told, quiet: args.json, terminal, progress, jobs, played: 0, took: 0.0, planned: 0 };
        forecast.begin(&plan, scenario, args.depth, args.holds);
        let done = plan.run(scenario, place, how, &mut |news| forecast.hear(news).or_else(|| watch.halt()));
        forecast.progress.finish();
        for (key, group) in &done.findings.failures {
            if !found.failures.keys().any(|(_, cause)| *cause == key.1) {
                found.failures.insert(key.clone(), group.clone());
            }
        }
        let exit = exit(&done);
        starts.push(Start { latencies: scenario.latencies, done });
        if exit > Exit::Violated || (args.fail_fast && exit != Exit::Held) {
            break;
        }
    }
    // What was found is told, whatever cannot be written.
    let written = failures::write(&args.out, &worlds, &found, terminal);
    let (files, written) = written.map_or_else(|stop| (failures::Files::new(), Err(stop)), |files| (files, Ok(())));
    let report = Report { scenario: name, starts: &starts, files: &files };
    if args.json {
        terminal.print_json(&report.document())?;
    } else {
        terminal.print(&report.text(terminal.style))?;
    }
    written?;
    Ok(starts.iter().map(|start| exit(&start.done)).max().unwrap_or(Exit::Held))
}

/// How many calm runs the speed is measured by beforehand.
const REHEARSALS: u32 = 4;

/// Tells how many schedules are ahead, and about how long they will take: beforehand by the speed of the calm run, then
/// by that of what was played.
struct Forecast<'a> {
    told: &'a str,
    quiet: bool,
    terminal: &'a Terminal,
    progress: Progress<'a>,
    jobs: usize,
    played: u64,
    /// Seconds that these took.
    took: f64,
    planned: u64,
}

impl Forecast<'_> {
    fn begin(&mut self, plan: &Plan, subject: &dyn Subject, depth: u8, holds: u8) {
        if self.quiet {
            return;
        }
        let mut player = subject.player();
        let watch = clock::Watch::start(None);
        for _ in 0..REHEARSALS {
            player.play(&Schedule::Calm, Options::default());
        }
        let each = watch.elapsed().as_secs_f64() / f64::from(REHEARSALS) / self.jobs as f64;
        let sites = counted(plan.sites.len() as u64, "site", "sites");
        let schedules = grouped(plan.schedules());
        let mut text = format!("{}: {sites}, {schedules} schedules", self.told);
        let mut ahead = plan.schedules();
        if depth > 1 {
            text.push_str(&format!(" of one deviation and some {} of two", grouped(plan.pairs_about())));
            ahead += plan.pairs_about();
        }
        if holds > 0 {
            let holds = holds::holds(&plan.sites, player.header().lease).len() as u64;
            text.push_str(&format!(", {}", counted(holds, "of a hold", "of a hold")));
            ahead += holds;
        }
        self.terminal.note(&format!("{text}, about {:.1} s", ahead as f64 * each));
    }

    fn hear(&mut self, news: News) -> Option<Halt> {
        match news {
            News::Played(count) => {
                self.played += count;
                self.took = self.progress.watch.elapsed().as_secs_f64();
            }
            News::Planned(count) => {
                let known = std::mem::replace(&mut self.planned, count);
                if known > 0 && !self.quiet {
                    let each = self.took / self.played.max(1) as f64;
                    let (more, seconds) = (count - known, (count - self.played) as f64 * each);
                    let text = format!("{}: {} schedules of two deviations", self.told, grouped(more));
                    self.terminal.note(&format!("{text}, about {seconds:.1} s"));
                }
            }
            _ => {}
        }
        self.progress.hear(news)
    }
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
