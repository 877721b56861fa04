//! The command: one file per command, and what they share of the terminal.
//!
//! Results go to standard output, progress and diagnostics to standard error. This is the one room that looks at
//! a wall clock, at the environment and at signals.

mod check;
mod clock;
mod coverage;
mod diff;
mod exhaust;
mod explain;
mod failures;
mod list;
mod merge;
mod new;
mod output;
mod profile;
mod replay;
mod results;
mod run;
mod schema;
mod shrink;
mod shrinking;
mod sweep;
mod terminal;
mod validate;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::explore::contain::{contain, note_places};
use crate::explore::recorded::RecordedError;
use crate::explore::{FilesError, Panic};
use crate::report::profile::BaselineError;
use terminal::Terminal;

/// Deterministic simulation for durable agent runtimes.
#[derive(Debug, Parser)]
#[command(name = "chronodrome", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
    0  everything held
    1  a promise was broken: an invariant or an expectation; or two histories, or profiles, differ
    2  the input is wrong: usage, scenario or file
    3  determinism was broken: one schedule gave two histories
   70  a fault of chronodrome itself
  130  interrupted

Example:
  chronodrome sweep scenarios --seeds 10000";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Sweep(Box<sweep::Args>),
    Merge(merge::Args),
    Coverage(coverage::Args),
    Exhaust(exhaust::Args),
    Replay(replay::Args),
    Shrink(shrink::Args),
    Explain(explain::Args),
    Profile(profile::Args),
    Check(check::Args),
    Diff(diff::Args),
    Validate(validate::Args),
    New(new::Args),
    List(list::Args),
    Schema(schema::Args),
}

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exit {
    Held,
    Violated,
    WrongInput,
    Interrupted,
    Nondeterministic,
    Fault,
}

impl Exit {
    const fn code(self) -> u8 {
        match self {
            Exit::Held => 0,
            Exit::Violated => 1,
            Exit::WrongInput => 2,
            Exit::Nondeterministic => 3,
            Exit::Fault => 70,
            Exit::Interrupted => 130,
        }
    }
}

/// Why a command ends without a verdict.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Recorded(#[from] RecordedError),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error("{0}")]
    Usage(String),
    #[error("{}: it cannot be written: {error}", path.display())]
    Unwritable { path: PathBuf, error: io::Error },
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    #[error("a fault of chronodrome itself: {what} panicked: {panic}")]
    Panicked { what: String, panic: Panic },
}

impl Stop {
    const fn exit(&self) -> Exit {
        match self {
            Stop::Panicked { .. } => Exit::Fault,
            _ => Exit::WrongInput,
        }
    }
}

/// Reads the arguments of the process, does what they say, and gives the exit code. Panics are reported as faults
/// of chronodrome itself.
pub fn main() -> ExitCode {
    note_places();
    let exit = contain(|| match Cli::try_parse() {
        Ok(cli) => dispatch(cli.command),
        Err(error) => {
            // A reader that has gone away needs no usage.
            let _ = error.print();
            if error.use_stderr() { Exit::WrongInput } else { Exit::Held }
        }
    });
    let exit = exit.unwrap_or_else(|panic| {
        eprintln!("chronodrome: a fault of chronodrome itself: {panic}");
        Exit::Fault
    });
    ExitCode::from(exit.code())
}

fn dispatch(command: Command) -> Exit {
    let terminal = Terminal::of_process();
    let done = match command {
        Command::Run(args) => run::run(&args, &terminal),
        Command::Sweep(args) => sweep::run(&args, &terminal),
        Command::Merge(args) => merge::run(&args, &terminal),
        Command::Coverage(args) => coverage::run(&args, &terminal),
        Command::Exhaust(args) => exhaust::run(&args, &terminal),
        Command::Replay(args) => replay::run(&args, &terminal),
        Command::Shrink(args) => shrink::run(&args, &terminal),
        Command::Explain(args) => explain::run(&args, &terminal),
        Command::Profile(args) => profile::run(&args, &terminal),
        Command::Check(args) => check::run(&args, &terminal),
        Command::Diff(args) => diff::run(&args, &terminal),
        Command::Validate(args) => validate::run(&args, &terminal),
        Command::New(args) => new::run(&args, &terminal),
        Command::List(args) => list::run(&args, &terminal),
        Command::Schema(args) => schema::run(&args, &terminal),
    };
    done.unwrap_or_else(|stop| {
        terminal.complain(&stop.to_string());
        stop.exit()
    })
}

/// As many threads as the machine has cores for this process.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent_and_every_command_has_an_example() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{}", command.get_name());
            assert!(help.contains(&format!("chronodrome {}", command.get_name())), "{}", command.get_name());
        }
    }
}
