//! The event logs: one dense, append-only list of entries per run, fenced by the expected last entry.
//!
//! The log knows neither kinds nor runs: whoever gives the right last sequence number may write, also for a
//! run that the scheduler has never heard of. Nothing is ever changed or removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kernel::{Appended, Body, ConcurrentAppend, RunId, RunLogEntry, Seq, Timestamp};

/// All logs.
#[derive(Clone, Debug, Default)]
pub(super) struct Logs {
    logs: BTreeMap<RunId, Vec<RunLogEntry>>,
}

impl Logs {
    /// Compares and appends in one step.
    pub fn append(
        &mut self,
        now: Timestamp,
        run: RunId,
        body: &Arc<Body>,
        expected: Seq,
    ) -> Result<Appended, ConcurrentAppend> {
        let actual = self.last_seq(run);
        if expected != actual {
            return Err(ConcurrentAppend { run_id: run, expected, actual });
        }
        let seq = actual.next();
        self.logs.entry(run).or_default().push(RunLogEntry { run_id: run, seq, ts: now, body: body.clone() });
        Ok(Appended { seq, ts: now })
    }

    /// The entries from `from` on; all of them from [`Seq::EMPTY`] on.
    pub fn read(&self, run: RunId, from: Seq) -> &[RunLogEntry] {
        self.entries(run).get(from.index().unwrap_or(0)..).unwrap_or_default()
    }

    /// The whole log of a run.
    pub fn entries(&self, run: RunId) -> &[RunLogEntry] {
        self.logs.get(&run).map_or(&[], Vec::as_slice)
    }

    /// The last sequence number.
    pub fn last_seq(&self, run: RunId) -> Seq {
        self.entries(run).last().map_or(Seq::EMPTY, |entry| entry.seq)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.logs.clear();
    }
}
