//! `schema`: the JSON Schema of scenario files.

use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::scenario::schema::schema;

/// Prints the JSON Schema of scenario files. An editor that finds it under a file's `$schema` completes and checks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronodrome schema > scenarios/scenario.schema.json")]
pub(super) struct Args {}

pub(super) fn run(_: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    terminal.print(&format!("{:#}\n", schema()))?;
    Ok(Exit::Held)
}
