//! `diff`: the first event in which two recorded histories differ.

use std::path::PathBuf;

use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::explore::diff::diff;
use crate::explore::recorded::load;
use crate::report::recorded::{diff_document, diff_text};

/// Compares two recorded histories: the first event in which they differ, and what each comes to.
///
/// The traces are those that `run --trace` and `replay --trace` write. Ends with 0 if they are equal, with 1 if they
/// differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome run scenarios/charge-card.json --trace calm.jsonl
  chronodrome run scenarios/charge-card.json --seed 42 --trace 42.jsonl
  chronodrome diff calm.jsonl 42.jsonl")]
pub(super) struct Args {
    /// One trace.
    #[arg(value_name = "A")]
    left: PathBuf,
    /// The other trace.
    #[arg(value_name = "B")]
    right: PathBuf,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let names = [&args.left, &args.right].map(|path| path.display().to_string());
    let names = [names[0].as_str(), names[1].as_str()];
    let compared = diff(load(&args.left, false)?, load(&args.right, false)?);
    if args.json {
        terminal.print_json(&diff_document(&compared, names))?;
    } else {
        terminal.print(&diff_text(&compared, names, terminal.style))?;
    }
    Ok(if compared.equal() { Exit::Held } else { Exit::Violated })
}
