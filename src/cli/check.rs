//! `check`: the invariants over a recorded history.

use std::path::PathBuf;

use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::explore::recorded::{Recorded, load};
use crate::report::recorded::{document, text};

/// Judges a recorded history by every invariant, wherever it came from.
///
/// The trace is one JSON document a line: a header, then the events, as `run --trace` writes them. What a history
/// without applied facts, or without an end, does not allow to judge is named as not judged. What a scenario expects is
/// not in its trace, and is not judged either.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chronodrome run scenarios/charge-card.json --seed 42 --trace t.jsonl
  chronodrome check t.jsonl")]
pub(super) struct Args {
    /// The trace.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Take a trace whose last line breaks off, and judge what is before it.
    #[arg(long)]
    allow_truncated: bool,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let trace = load(&args.trace, args.allow_truncated)?;
    let recorded = Recorded::of(&trace.header, &trace.records);
    if args.json {
        terminal.print_json(&document(&recorded, trace.cut_off))?;
    } else {
        terminal.print(&text(&recorded, trace.cut_off, terminal.style))?;
    }
    Ok(if recorded.held() { Exit::Held } else { Exit::Violated })
}
