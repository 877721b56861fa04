//! Entries in the log of a run that the writer does not hold.

use std::sync::Arc;

use super::hold::repeat_on;
use super::pace::Pauses;
use crate::kernel::{Body, EventLog, Host, RunId, RunLogEntry, Scheduler, Seq, Store};

/// Appends `body` to the log of `run`, unless `answers` finds an entry that makes it needless; whether it was appended.
/// Every entry that stands there is shown to `answers`, once and in order, before anything is written.
pub(super) async fn write(
    store: &dyn Store,
    host: &dyn Host,
    run: RunId,
    body: &Arc<Body>,
    mut answers: impl FnMut(&RunLogEntry) -> bool,
) -> bool {
    let mut pauses = Pauses::new();
    let mut last = Seq::EMPTY;
    let mut is_answered = false;
    loop {
        let entries = repeat_on(host, async || store.read(run, last.next()).await).await;
        for entry in &entries {
            is_answered |= answers(entry);
        }
        if is_answered {
            return false;
        }
        last = entries.last().map_or(last, |entry| entry.seq);
        if last == Seq::EMPTY && has_ended(store, host, run).await {
            // It was reserved and never created: its log is nobody's to write.
            return false;
        }
        match store.append(run, body.clone(), last).await {
            Ok(Ok(_appended)) => return true,
            // Each conflict stands for an entry that the next read shows, so there is no need to pause.
            Ok(Err(conflict)) if conflict.actual > last => {}
            Ok(Err(_)) | Err(_) => host.sleep(pauses.after_failure()).await,
        }
    }
}

async fn has_ended(store: &dyn Store, host: &dyn Host, run: RunId) -> bool {
    let view = repeat_on(host, async || store.status(run).await).await;
    view.is_some_and(|view| view.status.is_terminal())
}
