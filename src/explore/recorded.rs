//! A history that was written down, wherever it came from: read, counted, and judged by its invariants alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::FilesError;
use super::files::scenario_files;
use crate::check::{Sometimes, Violation, check};
use crate::history::{Answer, Change, Event, Header, Record, TraceError, read_trace};
use crate::kernel::{AgentId, Name, Reply, RunId, RunStatus, Span};

/// A history in a file.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The file.
    pub path: PathBuf,
    /// What is known of the world before it starts.
    pub header: Header,
    /// What happened.
    pub records: Vec<Record>,
    /// The line that was cut short and left out, from 1, where that was allowed.
    pub cut_off: Option<usize>,
}

/// What is wrong with the file of a history.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The file cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// It is no trace.
    #[error("{}: {error}{}", path.display(), hint(error))]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why.
        error: TraceError,
    },
    /// It is of another form than this version writes.
    #[error("{}: line 1 of the trace: its format is {format}, this version reads {FORMAT}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format that its header tells.
        format: u32,
    },
}

/// The form of traces that is read here.
const FORMAT: u32 = 1;

fn hint(error: &TraceError) -> &'static str {
    match error {
        TraceError::Cut { .. } => "; `check --allow-truncated` judges what is before it",
        TraceError::Line { line: 1, .. } => "; a trace begins with its header, as `run --trace FILE` writes it",
        _ => "",
    }
}

/// Reads the history in a file. With `truncated` a last line that was cut short is left out, and its place told.
///
/// # Errors
/// When the file cannot be read, or is no trace.
pub fn load(path: &Path, truncated: bool) -> Result<Trace, RecordedError> {
    if path.is_dir() {
        let error = std::io::Error::other("this is a directory; the file of a trace is wanted");
        return Err(FilesError::Unreadable { path: path.to_owned(), error }.into());
    }
    scenario_files(path)?;
    let file = File::open(path).map_err(|error| FilesError::Unreadable { path: path.to_owned(), error })?;
    read(path, &mut BufReader::new(file), truncated)
}

fn read(path: &Path, from: &mut dyn BufRead, truncated: bool) -> Result<Trace, RecordedError> {
    let told = |error| RecordedError::Trace { path: path.to_owned(), error };
    let (header, records, cut_off) = match read_trace(from) {
        Ok((header, records)) => (header, records, None),
        Err(TraceError::Cut { line, before }) if truncated => {
            let (header, records) = *before;
            (header, records, Some(line))
        }
        Err(error) => return Err(told(error)),
    };
    if header.format != FORMAT {
        return Err(RecordedError::Format { path: path.to_owned(), format: header.format });
    }
    Ok(Trace { path: path.to_owned(), header, records, cut_off })
}

/// A run as its history leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLeft {
    /// Its name: its address and its number there, in order of creation.
    pub alias: String,
    /// Its last status.
    pub status: RunStatus,
    /// How many leases it had.
    pub leases: u32,
}

/// What a history comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The scenario's name.
    pub scenario: Name,
    /// Events.
    pub events: u64,
    /// Calls that were sent.
    pub calls: u64,
    /// From the start to the last event, in virtual time.
    pub took: Span,
    /// Sites and faults, in words.
    pub deviations: Vec<(Name, Name)>,
    /// The runs, in order of creation.
    pub runs: Vec<RunLeft>,
    /// How often each kind of effect took hold.
    pub effects: BTreeMap<Name, u64>,
    /// The invariants that were violated.
    pub violations: Vec<Violation>,
    /// The *sometimes* properties that were reached.
    pub reached: Vec<Sometimes>,
    /// The invariants that were not, or not wholly, judged.
    pub not_judged: Vec<&'static str>,
}

impl Recorded {
    /// Counts and judges a history.
    pub fn of(header: &Header, records: &[Record]) -> Recorded {
        let judged = check(header, records);
        let mut recorded = Recorded {
            scenario: header.scenario.clone(),
            events: records.len() as u64,
            calls: 0,
            took: records.last().map_or(Span::ZERO, |last| last.at.since(header.start)),
            deviations: Vec::new(),
            runs: Vec::new(),
            effects: BTreeMap::new(),
            violations: judged.violations().to_vec(),
            reached: judged.reached().collect(),
            not_judged: judged.not_judged(),
        };
        let mut runs = Runs::default();
        for record in records {
            match &record.event {
                Event::Sent { .. } => recorded.calls += 1,
                Event::Happened { kind, .. } => *recorded.effects.entry(kind.clone()).or_default() += 1,
                Event::Deviation { site, fault, .. } => recorded.deviations.push((site.clone(), fault.clone())),
                Event::Applied { answer, changes, .. } => runs.note(answer, changes),
                _ => {}
            }
        }
        recorded.runs = runs.list;
        recorded
    }

    /// Whether no invariant was violated.
    pub fn held(&self) -> bool {
        self.violations.is_empty()
    }
}

/// The runs of a history, as far as it was read.
#[derive(Default)]
struct Runs {
    list: Vec<RunLeft>,
    places: BTreeMap<RunId, usize>,
    counts: BTreeMap<AgentId, u32>,
}

impl Runs {
    fn note(&mut self, answer: &Answer, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Made { run, agent } | Change::Reserved { run, agent, .. } => {
                    if self.places.contains_key(run) {
                        continue;
                    }
                    let nth = self.counts.entry(agent.clone()).or_default();
                    *nth += 1;
                    let name_of = |run| self.places.get(&run).map(|place| self.list[*place].alias.clone());
                    let address = agent.told(|run| name_of(run).unwrap_or_else(|| run.to_string()));
                    self.places.insert(*run, self.list.len());
                    let alias = format!("{address}#{nth}");
                    self.list.push(RunLeft { alias, status: RunStatus::Pending, leases: 0 });
                }
                Change::Moved { run, to, .. } => {
                    if let Some(place) = self.places.get(run) {
                        self.list[*place].status = *to;
                    }
                }
                _ => {}
            }
        }
        if let Answer::Store(Reply::Leases(leases)) = answer {
            for lease in leases {
                if let Some(place) = self.places.get(&lease.key.run) {
                    self.list[*place].status = RunStatus::Running;
                    self.list[*place].leases += 1;
                }
            }
        }
    }
}
