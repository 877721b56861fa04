//! From text to a scenario, or to an error with its place in the file.
//!
//! The text is read into a document first (which bounds its depth), then decoded by hand with the way to each
//! value at hand, so that every mistake has a line and a column; nothing is left unchecked or unknown.

mod calls;
mod decode;
mod error;
mod expectation;
mod fault;
mod holds;
mod input;
mod locate;
mod plans;
mod scope;
mod script;
mod tempo;
mod tools;
mod users;
mod world;

use std::fs::File;
use std::io::Read;
use std::path::Path as FilePath;

use serde_json::Value;

use self::decode::{Decoded, Doc, Mistake, Object, excerpt};
use self::fault::FaultScope;
use self::input::Arrivals;
use self::locate::{Path, duplicate_key, line_and_column, locate};
use self::scope::Cast;
use super::model::{Act, DeskCall, Input, RuntimeSettings, Scenario};
use crate::kernel::{Json, Span, Timestamp};
use crate::sim::Faults;

pub use error::{Instead, ScenarioError};
#[cfg(feature = "cli")]
pub(super) use plans::{ALIGNMENTS, RESULTS, STATUSES};
pub use script::step_names;
pub(super) use tools::{TOOLS, usual_policy};

/// The largest file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// When a world starts that does not say so: 2025-01-01T00:00:00Z.
const START: Timestamp = Timestamp::from_micros(1_735_689_600_000_000);

/// The fields of a scenario file.
pub(super) const FIELDS: [&str; 18] = [
    "$schema",
    "format",
    "name",
    "about",
    "start",
    "runtime",
    "outside",
    "agents",
    "users",
    "inputs",
    "load",
    "latencies",
    "faults",
    "deviations",
    "expect",
    "expect_calm",
    "violates",
    "written_by",
];

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// When it cannot be read, is larger than [`FILE_BYTES_MAX`] (it is not read to its end then), is not UTF-8,
    /// or is not a valid scenario.
    pub fn load(path: &FilePath) -> Result<Scenario, ScenarioError> {
        let name = path.display().to_string();
        let bytes = read_bounded(path).map_err(|reason| ScenarioError::of_file(&name, reason))?;
        match String::from_utf8(bytes) {
            Ok(text) => Scenario::parse(&text, &name),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let before = String::from_utf8_lossy(&error.as_bytes()[..valid]);
                Err(ScenarioError::at(&name, &before, valid, "this is not UTF-8".to_owned()))
            }
        }
    }

    /// Reads the text of a scenario; `file` is what errors call it.
    ///
    /// ```
    /// use chronodrome::scenario::Scenario;
    /// let text = r#"{ "name": "n", "agents": { "a": [ { "sleeep": "1s" } ] } }"#;
    /// let error = Scenario::parse(text, "x.json").unwrap_err();
    /// assert_eq!(error.to_string(), "x.json:1:37: unknown step `sleeep`; did you mean `sleep`?");
    /// ```
    ///
    /// # Errors
    /// When it is not JSON, or not a valid scenario.
    pub fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(ScenarioError::of_file(file, too_large()));
        }
        if text.trim().is_empty() {
            return Err(ScenarioError::of_file(file, "the file is empty".to_owned()));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| ScenarioError::of_json(file, text, &error))?;
        if let Some((offset, key)) = duplicate_key(text) {
            let mut error =
                ScenarioError::at(file, text, offset, format!("the key `{}` is given twice", excerpt(&key)));
            error.text = Some(excerpt(&key));
            return Err(error);
        }
        let doc = Doc { value: &value, path: Path::default() };
        scenario(&doc).map_err(|mistake| ScenarioError::of_mistake(file, text, *mistake))
    }

    /// Reads a document, as [`Scenario::parse`] reads the text of one; places in errors are those of its laid-out text.
    ///
    /// # Errors
    /// When it is not a valid scenario.
    pub fn of_document(document: &Value) -> Result<Scenario, ScenarioError> {
        let doc = Doc { value: document, path: Path::default() };
        scenario(&doc)
            .map_err(|mistake| ScenarioError::of_mistake("the document", &super::layout::text(document), *mistake))
    }
}

/// The file's bytes, at most one more than it may have.
fn read_bounded(path: &FilePath) -> Result<Vec<u8>, String> {
    let tell = |error: std::io::Error| format!("this cannot be read: {error}");
    let file = File::open(path).map_err(tell)?;
    if file.metadata().map_err(tell)?.is_dir() {
        return Err("this is a directory".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(tell)?;
    if bytes.len() as u64 > FILE_BYTES_MAX { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> String {
    format!("a scenario file has at most {} MiB", FILE_BYTES_MAX / 1024 / 1024)
}

fn scenario(doc: &Doc<'_>) -> Decoded<Scenario> {
    if !doc.value.is_object() {
        return Err(doc.mistake("a scenario is a JSON object"));
    }
    let object = doc.object(&FIELDS)?;
    object.maybe("$schema", Doc::text)?;
    object.maybe("format", |doc| match doc.integer(0, u64::MAX)? {
        1 => Ok(()),
        other => Err(doc.mistake(format!("format {other} is not known to this version, which reads format 1"))),
    })?;
    let start = object.or("start", START, Doc::instant)?;
    let runtime = object.or("runtime", RuntimeSettings::default(), world::runtime)?;
    let outside = object.maybe("outside", world::outside)?.unwrap_or_default();
    let agents_doc = object.need("agents")?;
    let (models, tools): (Vec<_>, Vec<_>) = outside.iter().partition(|(_, tool)| tool.model.is_some());
    let cast = Cast {
        agents: world::agent_types(&agents_doc)?,
        tools: tools.into_iter().map(|(name, _)| &**name).collect(),
        models: models.into_iter().map(|(name, _)| &**name).collect(),
        users: object.maybe("users", |doc| users::users(doc, start))?.unwrap_or_default(),
        start,
    };
    let agents = world::agents(&agents_doc, &cast, &runtime, start)?;

    let mut arrivals = Arrivals::new(&cast, &agents, &runtime.workers, start);
    object.maybe("inputs", |doc| arrivals.inputs(doc))?;
    object.maybe("load", |doc| arrivals.load(doc))?;
    let inputs = arrivals.sorted();
    let (mut faults, deviations) = what_goes_wrong(&object, &runtime, start)?;
    if object.get("faults").is_none_or(|faults| faults.value.get("until").is_none()) {
        faults.until = faults.until.max(plans_are_due(&inputs, start));
    }
    let expect = object.or("expect", Vec::new(), |doc| expectation::expectations(doc, &cast))?;
    let expect_calm = object.or("expect_calm", Vec::new(), |doc| expectation::expectations(doc, &cast))?;
    let users = cast.users.settings();
    drop(cast);
    Ok(Scenario {
        name: object.need("name")?.name()?,
        about: object.or("about", "".into(), |doc| doc.text().map(Into::into))?,
        start,
        runtime,
        outside,
        agents,
        users,
        inputs,
        latencies: object.maybe("latencies", |doc| doc.integer(0, u64::MAX))?,
        faults,
        deviations,
        expect,
        expect_calm,
        violates: object.maybe("violates", Doc::name)?,
        written_by: object.maybe("written_by", Doc::name)?,
        document: Json::new(doc.value.clone()),
    })
}

/// A while after the last plan is due: till then a world may go wrong where its file does not say how long, or else what
/// becomes of plans would be seen in fair weather alone.
fn plans_are_due(inputs: &[Input], start: Timestamp) -> Span {
    const A_WHILE: Span = Span::from_secs(15 * 60);
    let due = inputs.iter().filter_map(|input| match &input.does {
        Act::Desk { asks: DeskCall::Propose { plan }, .. } => {
            let due = plan.get("scheduled_for")?.as_str()?.parse::<Timestamp>().ok()?;
            Some(due.since(start).max(input.at) + A_WHILE)
        }
        _ => None,
    });
    due.max().unwrap_or(Span::ZERO)
}

/// `faults` or `deviations`, never both; beside `deviations` they may only say when the world heals.
fn what_goes_wrong(
    object: &Object<'_>,
    runtime: &RuntimeSettings,
    start: Timestamp,
) -> Decoded<(Faults, Option<Vec<crate::sim::Deviation>>)> {
    let deviations = object.maybe("deviations", fault::deviations)?;
    let scope = FaultScope { start, lease: runtime.lease, workers: &runtime.workers };
    let faults = object.maybe("faults", |doc| fault::faults(doc, &scope))?;
    let rate = object.get("faults").filter(|_| deviations.is_some()).and_then(|doc| {
        let members = doc.open_object().ok()?;
        members.members().find(|(key, _)| *key != "until")
    });
    if let Some((key, doc)) = rate {
        let reason = "a file with `deviations` has no `faults` but their `until`: they are all that goes wrong";
        return Err(doc.key_mistake(reason, key));
    }
    Ok((faults.unwrap_or_default(), deviations))
}

impl ScenarioError {
    /// A mistake of the file as a whole.
    fn of_file(file: &str, reason: String) -> Self {
        ScenarioError { file: file.to_owned(), line: 0, column: 0, reason, text: None, instead: Instead::Nothing }
    }

    /// A mistake at an offset of the text.
    fn at(file: &str, text: &str, offset: usize, reason: String) -> Self {
        let (line, column) = line_and_column(text, offset);
        ScenarioError { line, column, ..ScenarioError::of_file(file, reason) }
    }

    /// Text that is no JSON.
    fn of_json(file: &str, text: &str, error: &serde_json::Error) -> Self {
        let line = error.line().max(1);
        let bytes = text.split('\n').nth(line - 1).unwrap_or_default().as_bytes();
        let before = &bytes[..error.column().saturating_sub(1).min(bytes.len())];
        let column = before.iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1;
        let told = error.to_string();
        let reason = told.rsplit_once(" at line ").map_or(told.as_str(), |(reason, _)| reason);
        let reason = format!("this is not JSON: {reason}");
        ScenarioError { line, column, ..ScenarioError::of_file(file, reason) }
    }

    fn of_mistake(file: &str, text: &str, mistake: Mistake) -> Self {
        let offset = locate(text, &mistake.path, mistake.spot);
        let error = ScenarioError::at(file, text, offset, mistake.reason);
        ScenarioError { text: mistake.text, instead: mistake.instead, ..error }
    }
}

#[cfg(test)]
mod tests;
