//! Scenarios as part of a project's own tests: a sweep, and a failure that reads like one of a test.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::explore::aim::{Known, KnownError, NoInvariant, invariant_named};
use crate::explore::files::{playable, read_all};
use crate::explore::results::{self, FileLine, Line, Recorder, Summary, Swept};
use crate::explore::shrink::Limits;
use crate::explore::sweep::Sweep;
use crate::explore::{Failure, FilesError, Loaded, Shard, ShardError, Subject};
use crate::report::failure;
use crate::report::sweep::Report;
use crate::runtime::Agent;
use crate::scenario::{Make, UnknownAgentType};

/// The scenarios at a path, to be swept by a test.
///
/// ```no_run
/// chronodrome::suite("scenarios").seeds(0..500).run().unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a suite does nothing until it is run"]
pub struct Suite {
    path: PathBuf,
    sweep: Sweep,
    agents: Vec<(String, Make)>,
    only: Option<String>,
    known: Option<PathBuf>,
    reports: Option<PathBuf>,
    replays: u64,
}

/// Why a suite does not hold. As text, and as what a test prints of it, it is the same: what broke, its story, the
/// deviations, and how to play it again.
pub enum SuiteError {
    /// A path or a scenario is wrong.
    Files(FilesError),
    /// No scenario at the path has an agent type that was given code.
    Agent(UnknownAgentType),
    /// There is no such invariant.
    Only(NoInvariant),
    /// The file of known failures is wrong.
    Known(KnownError),
    /// There is no such shard.
    Shard(ShardError),
    /// A file of a failure cannot be written.
    Unwritable(PathBuf, std::io::Error),
    /// A promise, determinism or chronodrome itself is broken.
    Broken(Box<Broken>),
}

/// What a suite found.
#[derive(Clone, Debug)]
pub struct Broken {
    /// All of it.
    pub summary: Summary,
    /// It in words.
    pub told: String,
}

/// The scenarios at `path`, a file or a directory; 1 000 seeds each on one thread unless told otherwise.
pub fn suite(path: impl AsRef<Path>) -> Suite {
    Suite {
        path: path.as_ref().to_owned(),
        sweep: Sweep::default(),
        agents: Vec::new(),
        only: None,
        known: None,
        reports: None,
        replays: REPLAYS_MOST,
    }
}

/// The most schedules that are played to shrink one failure, unless told otherwise.
const REPLAYS_MOST: u64 = 2_000;

impl Suite {
    /// Other seeds.
    pub fn seeds(mut self, seeds: Range<u64>) -> Suite {
        self.sweep.seeds = seeds;
        self
    }

    /// More threads. What is found does not depend on them.
    pub fn jobs(mut self, jobs: usize) -> Suite {
        self.sweep.jobs = jobs;
        self
    }

    /// Gives the agent type `kind` Rust code, made anew by `make` for each worker that starts, in every scenario that
    /// has it.
    pub fn agent<A: Agent + 'static>(
        mut self,
        kind: impl Into<String>,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> Suite {
        self.agents.push((kind.into(), Make::new(make)));
        self
    }

    /// Only the seeds of one of `of` shards, from 1.
    pub fn shard(mut self, number: u64, of: u64) -> Suite {
        self.sweep.shard = Shard { number, of };
        self
    }

    /// Only what breaks this invariant counts; `expectation` for what scenarios expect.
    pub fn only(mut self, invariant: impl Into<String>) -> Suite {
        self.only = Some(invariant.into());
        self
    }

    /// The failures that this file lists break nothing. It is the file of `chronodrome sweep --known`.
    pub fn known(mut self, file: impl AsRef<Path>) -> Suite {
        self.known = Some(file.as_ref().to_owned());
        self
    }

    /// The first failure ends the sweep.
    pub fn fail_fast(mut self) -> Suite {
        self.sweep.fail_fast = true;
        self
    }

    /// Writes a file for each failure into this directory, which `chronodrome replay` plays again.
    pub fn reports(mut self, directory: impl AsRef<Path>) -> Suite {
        self.reports = Some(directory.as_ref().to_owned());
        self
    }

    /// The most schedules that are played to shrink one failure; 0 for not at all.
    pub fn shrink(mut self, replays: u64) -> Suite {
        self.replays = replays;
        self
    }

    /// Plays every seed of every scenario.
    ///
    /// # Errors
    /// When something that was given is wrong, or any schedule breaks a promise, gives two histories, or panics.
    pub fn run(mut self) -> Result<Summary, SuiteError> {
        let Shard { number, of } = self.sweep.shard;
        if number < 1 || number > of {
            return Err(SuiteError::Shard(ShardError));
        }
        let only = self.only.as_deref().map(invariant_named).transpose().map_err(SuiteError::Only)?;
        self.sweep.aim.only = only.map(ToOwned::to_owned);
        if let Some(file) = &self.known {
            self.sweep.aim.known = Known::load(file).map_err(SuiteError::Known)?;
        }
        let loaded = self.load()?;
        let paths: Vec<String> = loaded.iter().map(|loaded| loaded.path.display().to_string()).collect();
        let subjects: Vec<&dyn Subject> = loaded.iter().map(|loaded| &loaded.scenario as &dyn Subject).collect();
        let swept: Vec<Swept<'_>> =
            subjects.iter().zip(&paths).map(|(subject, path)| Swept { subject: *subject, path }).collect();
        let recorder = Recorder::new(&self.sweep, &swept);
        let done = self.sweep.run(&subjects, &mut |_| None);
        let mut lines = results::of_findings(&done.findings, &recorder);
        for failure in done.findings.failures.values().flat_map(|group| group.samples()).map(|sample| &sample.failure) {
            lines.extend(self.file(failure, &loaded, recorder.id(failure.subject)).map(Line::File));
        }
        let summary = Summary::of(&lines, &self.sweep.aim.known).unwrap_or_else(|error| {
            // All of these lines are of this one sweep.
            unreachable!("{error}")
        });
        self.write(&summary)?;
        if summary.is_sound() {
            return Ok(summary);
        }
        let directory = self.reports.as_ref().map(|directory| directory.display().to_string());
        let agents: Vec<String> = self.agents.iter().map(|(kind, _)| kind.clone()).collect();
        let directory = directory.as_deref();
        let report = Report { summary: &summary, took: None, halted: None, directory, agents: &agents };
        let told = report.complaints();
        Err(SuiteError::Broken(Box::new(Broken { told, summary })))
    }

    /// The scenarios at the path, with the code that was given for their agents.
    fn load(&self) -> Result<Vec<Loaded>, SuiteError> {
        let mut loaded = read_all(std::slice::from_ref(&self.path)).map_err(SuiteError::Files)?;
        for (kind, make) in &self.agents {
            let mut refused = None;
            let mut taken = false;
            for Loaded { scenario, .. } in &mut loaded {
                match scenario.clone().with_code(kind, make.clone()) {
                    Ok(with) => (*scenario, taken) = (with, true),
                    Err(error) => refused = Some(error),
                }
            }
            if let (false, Some(error)) = (taken, refused) {
                return Err(SuiteError::Agent(error));
            }
        }
        loaded.into_iter().map(|loaded| playable(loaded).map_err(SuiteError::Files)).collect()
    }

    /// The file of a failure that needs one.
    fn file(&self, failure: &Failure, loaded: &[Loaded], id: &str) -> Option<FileLine> {
        let scenario = &loaded[failure.subject].scenario;
        if !results::needs_file(scenario, failure, &self.sweep.aim) {
            return None;
        }
        let name = failure::file_name(&scenario.name, failure);
        let limits = Limits { replays: self.replays, ..Limits::default() };
        let limits = (self.replays > 0).then_some(&limits);
        let made = results::make(scenario, failure, &self.sweep.aim, limits, &mut |_| true);
        // A world that panics only when it is played again is told by the seed's own command.
        Some(failure::complete(made.ok()??, id, name))
    }

    fn write(&self, summary: &Summary) -> Result<(), SuiteError> {
        let Some(directory) = &self.reports else { return Ok(()) };
        for file in summary.files() {
            failure::write(directory, file).map_err(|(path, error)| SuiteError::Unwritable(path, error))?;
        }
        Ok(())
    }
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuiteError::Files(error) => error.fmt(f),
            SuiteError::Agent(error) => error.fmt(f),
            SuiteError::Only(error) => error.fmt(f),
            SuiteError::Known(error) => error.fmt(f),
            SuiteError::Shard(error) => error.fmt(f),
            SuiteError::Unwritable(path, error) => write!(f, "{}: it cannot be written: {error}", path.display()),
            SuiteError::Broken(broken) => f.write_str(&broken.told),
        }
    }
}

impl fmt::Debug for SuiteError {
    /// What `unwrap` shows: the words, on lines of their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for SuiteError {}
