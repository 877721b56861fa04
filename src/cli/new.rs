//! `new`: a scenario to start from.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::terminal::Terminal;
use super::{Exit, Stop};
use crate::scenario::Scenario;
use crate::scenario::schema;

/// Writes a scenario to start from, and the schema beside it if there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronodrome new refund && chronodrome sweep scenarios/refund.json")]
pub(super) struct Args {
    /// Its name: letters, digits, `-` and `_`.
    #[arg(value_name = "NAME")]
    name: String,
    /// Where to write it.
    #[arg(long, default_value = "scenarios", value_name = "DIR")]
    dir: PathBuf,
}

const TEMPLATE: &str = include_str!("template.json");

pub(super) fn run(args: &Args, terminal: &Terminal) -> Result<Exit, Stop> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if args.name.is_empty() || args.name.starts_with('-') || !args.name.chars().all(is_plain) {
        let plain: String = args.name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        let near = plain.trim_matches('-');
        let hint = if near.is_empty() { String::new() } else { format!("; how about `{near}`?") };
        let reason = format!("`{}` is no name for a file: letters, digits, `-` and `_` are{hint}", args.name);
        return Err(Stop::Usage(reason));
    }
    let text = TEMPLATE.replace("TEMPLATE", &args.name);
    let path = args.dir.join(format!("{}.json", args.name));
    Scenario::parse(&text, &path.display().to_string()).expect("the template is a scenario");
    fs::create_dir_all(&args.dir).map_err(|error| unwritable(&args.dir, error))?;
    write_new(&path, &text).map_err(|error| unwritable(&path, error))?;
    let beside = args.dir.join(schema::FILE_NAME);
    match write_new(&beside, &format!("{:#}\n", schema::schema())) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unwritable(&beside, error)),
        _ => {}
    }
    let good = terminal.style.good("written:");
    let path = path.display();
    terminal.print(&format!("{good} {path}\n  chronodrome run {path}\n  chronodrome sweep {path}\n"))?;
    Ok(Exit::Held)
}

fn unwritable(path: &Path, error: io::Error) -> Stop {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Stop::Usage(format!("{}: it is there already; nothing was written", path.display()));
    }
    Stop::Unwritable { path: path.to_owned(), error }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
