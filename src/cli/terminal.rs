//! Where text goes, whether it is coloured, and the progress line.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Stop;
use super::clock::Watch;
use crate::explore::in_words;
use crate::explore::{Cause, Failure, Halt, News};
use crate::kernel::Span;
use crate::report::Style;

/// The streams of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    /// How results are written.
    pub(super) style: Style,
    /// How diagnostics are written.
    diagnostics: Style,
    /// Whether results go to a terminal.
    pub(super) shown: bool,
    /// Whether somebody watches the standard error.
    live: bool,
}

impl Terminal {
    pub(super) fn of_process() -> Terminal {
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let live = io::stderr().is_terminal();
        Terminal {
            style: Style { colour: colours && io::stdout().is_terminal() },
            shown: io::stdout().is_terminal(),
            diagnostics: Style { colour: colours && live },
            live,
        }
    }

    /// Writes a result. That nobody reads on is no error.
    pub(super) fn print(&self, text: &str) -> Result<(), Stop> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Stop::Output(error)),
            _ => Ok(()),
        }
    }

    /// Writes a JSON document on a line of its own.
    pub(super) fn print_json(&self, document: &serde_json::Value) -> Result<(), Stop> {
        self.print(&format!("{document}\n"))
    }

    /// Says what is wrong.
    pub(super) fn complain(&self, text: &str) {
        self.note(&format!("{} {text}", self.diagnostics.bad("error:")));
    }

    /// A line of diagnostics.
    pub(super) fn note(&self, text: &str) {
        // Nobody may be there to read it.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// A line that says how far something is.
    pub(super) fn line(&self, form: &str) -> ProgressBar {
        let target = if self.live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        ProgressBar::with_draw_target(None, target).with_style(template(form))
    }

    /// A progress line over an exploration of subjects with these names.
    pub(super) fn progress<'a>(&self, names: Vec<&'a str>, limit: Option<Span>) -> Progress<'a> {
        let limit = limit.map(|span| Duration::from_micros(span.as_micros().unsigned_abs()));
        let target = if self.live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(template("{spinner} {human_pos} schedules, {per_sec}, {elapsed}{msg}"));
        Progress { terminal: *self, watch: Watch::start(limit), bar, names, told: BTreeSet::new() }
    }
}

fn template(text: &str) -> ProgressStyle {
    ProgressStyle::with_template(text).expect("the template is a constant")
}

/// More schedules than this are not all expected to be played: then there is no bar towards their end.
const BAR_MOST: u64 = 1_000_000_000;

/// Listens to an exploration, shows how far it is, and ends it when its time is over or somebody interrupts.
#[derive(Debug)]
pub(super) struct Progress<'a> {
    terminal: Terminal,
    pub(super) watch: Watch,
    bar: ProgressBar,
    names: Vec<&'a str>,
    told: BTreeSet<(usize, Cause)>,
}

impl Progress<'_> {
    pub(super) fn hear(&mut self, news: News) -> Option<Halt> {
        match news {
            News::Tick => self.bar.tick(),
            News::Played(count) => self.bar.inc(count),
            News::Planned(count) if count <= BAR_MOST => {
                self.bar.set_length(count);
                let line = "{bar:24} {human_pos}/{human_len} schedules, {per_sec}, {elapsed}, {eta} left{msg}";
                self.bar.set_style(template(line));
            }
            News::Planned(_) => {}
            News::Finished(_) => {}
            News::Failed(failure) => self.tell(&failure),
        }
        self.watch.halt()
    }

    /// Tells a failure, the first of its cause.
    fn tell(&mut self, failure: &Failure) {
        let cause = failure.cause();
        let (name, schedule) = (self.names[failure.subject], in_words(&failure.schedule));
        let failed = self.terminal.diagnostics.bad("FAILED");
        let line = format!("{failed} {name} · {} · {} · {schedule}", cause.invariant, cause.subject_kind);
        if self.told.insert((failure.subject, cause)) {
            self.bar.set_message(format!(", {} failing", self.told.len()));
            self.bar.suspend(|| self.terminal.note(&line));
        }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
