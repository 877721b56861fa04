//! `list`: what there is.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::check::{INVARIANTS, Sometimes};
use crate::explore::REPLAY_INVARIANTS;
use crate::explore::files::{self, FilesError};
use crate::scenario::schema;
use crate::sim::FaultKind;

/// Lists what there is: scenarios, kinds of fault, invariants, *sometimes* properties, steps of scripts.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  chronodrome list\n  chronodrome list invariants\n  chronodrome list faults --json"
)]
pub(super) struct Args {
    /// What to list; everything if nothing is said.
    #[arg(value_enum)]
    what: Option<What>,
    /// Where the scenarios are; in `scenarios` if nothing is said.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
    /// Print one JSON document and nothing else.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Scenarios,
    Faults,
    Invariants,
    Sometimes,
    Steps,
}

impl What {
    const ALL: [What; 5] = [What::Scenarios, What::Faults, What::Invariants, What::Sometimes, What::Steps];

    const fn title(self) -> &'static str {
        match self {
            What::Scenarios => "scenarios",
            What::Faults => "faults",
            What::Invariants => "invariants",
            What::Sometimes => "sometimes",
            What::Steps => "steps",
        }
    }

    /// Names, and what each is in a sentence.
    fn lines(self, scenarios: &Path) -> Result<Vec<(String, String)>, Stop> {
        let pair = |name: &str, about: &str| (name.to_owned(), about.to_owned());
        Ok(match self {
            What::Scenarios => {
                let loaded = files::read_all(&[scenarios.to_owned()])?;
                loaded.iter().map(|loaded| pair(&loaded.scenario.name, &loaded.scenario.about)).collect()
            }
            What::Faults => FaultKind::ALL.iter().map(|kind| pair(kind.as_str(), kind.about())).collect(),
            What::Invariants => {
                let mut known: Vec<&str> = Vec::new();
                let all = INVARIANTS.iter().chain(&REPLAY_INVARIANTS);
                let first = all.filter(|invariant| {
                    let is_first = !known.contains(&invariant.name);
                    known.push(invariant.name);
                    is_first
                });
                first.map(|invariant| pair(invariant.name, invariant.about)).collect()
            }
            What::Sometimes => Sometimes::ALL.iter().map(|what| pair(what.as_str(), what.about())).collect(),
            What::Steps => schema::steps(),
        })
    }
}

/// Where scenarios are, if nothing is said.
const DIRECTORY: &str = "scenarios";

/// The lines of one part. Who asks for everything, and for no directory, may have no scenarios yet.
fn lines(args: &Args, what: What) -> Result<Vec<(String, String)>, Stop> {
    let directory = args.scenarios.as_deref().unwrap_or(Path::new(DIRECTORY));
    match what.lines(directory) {
        Err(Stop::Files(FilesError::Missing { .. } | FilesError::Empty { .. }))
            if args.what.is_none() && args.scenarios.is_none() =>
        {
            Ok(Vec::new())
        }
        told => told,
    }
}

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let mut listed = Vec::new();
    for what in What::ALL {
        if args.what.is_none_or(|wanted| wanted == what) {
            listed.push((what, lines(args, what)?));
        }
    }
    if args.json {
        let lines = |lines: &[(String, String)]| -> Value {
            lines.iter().map(|(name, about)| json!({ "name": name, "about": about })).collect()
        };
        let document: Map<String, Value> =
            listed.iter().map(|(what, each)| (what.title().to_owned(), lines(each))).collect();
        terminal.print_json(&Value::Object(document))?;
        return Ok(Exit::Held);
    }
    let mut text = String::new();
    let width = listed.iter().flat_map(|(_, lines)| lines).map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (what, lines) in &listed {
        if args.what.is_none() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", terminal.style.strong(what.title())));
        }
        if lines.is_empty() {
            text.push_str(&format!("  none in `{}`; `chronodrome new NAME` writes one\n", DIRECTORY));
        }
        for (name, about) in lines {
            text.push_str(format!("  {name:<width$}  {about}").trim_end());
            text.push('\n');
        }
    }
    terminal.print(&text)?;
    Ok(Exit::Held)
}
