//! The cancel of a run and of all below it, by whoever wants it: a client, a parent's step, a parent's epilogue.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::foreign;
use super::hold::repeat_on;
use crate::kernel::{Body, Host, Message, Name, RunId, RunLogEntry, RunSpec, Scheduler, Seq, Store};

/// Cancels `run`: first the sticky flag, from which on it will happen whatever becomes of the caller, then the request in
/// its log, then the same for each child that its log, read after that entry, announces. Every part is idempotent.
pub(super) async fn cancel_tree(store: &dyn Store, host: &dyn Host, run: RunId, reason: &Name) {
    let mut open = vec![(run, None)];
    while let Some((run, announced)) = open.pop() {
        if let Some((spec, boot)) = &announced {
            ensure(store, host, spec, boot).await;
        }
        repeat_on(host, async || store.cancel(run, reason.clone()).await).await;
        let children = request(store, host, run, reason).await.into_iter().rev();
        open.extend(children.map(|(spec, boot)| (spec.run, Some((spec, boot)))));
    }
}

/// Creates an announced child, unless that was done: before it, nothing can be done to the child.
pub(super) async fn ensure(store: &dyn Store, host: &dyn Host, spec: &RunSpec, boot: &Message) {
    let create = async || store.create(spec.clone(), Some(boot.clone())).await;
    // Who was refused as unknown was not reserved either, so there is nothing to be created then.
    let _created_or_unknown = repeat_on(host, create).await;
}

/// Writes the request into the log of `run`, unless it stands there or the log is closed; tells the children that are to
/// be cancelled with it, in the order of their announcement.
async fn request(store: &dyn Store, host: &dyn Host, run: RunId, reason: &Name) -> Vec<(RunSpec, Message)> {
    let body = Arc::new(Body::CancelRequested { reason: reason.clone() });
    let mut family = Family::default();
    if foreign::write(store, host, run, &body, |entry| family.note(entry)).await {
        family.is_cancelled = true;
    }
    family.doomed()
}

/// What a log says about the children of its run.
#[derive(Default)]
struct Family {
    /// Those that have not ended, as far as the log tells; in the order of their announcement.
    live: BTreeMap<Seq, (RunSpec, Message)>,
    /// Those that live on.
    detached: Vec<RunId>,
    is_cancelled: bool,
}

impl Family {
    /// Takes an entry in; whether it makes a request to cancel needless: it is one, or the run has ended.
    fn note(&mut self, entry: &RunLogEntry) -> bool {
        match &*entry.body {
            Body::ChildSpawned { spec, boot, .. } => {
                self.live.insert(entry.seq, ((**spec).clone(), boot.clone()));
            }
            // Its own epilogue has seen to what was below it.
            Body::ChildCompleted { result, .. } => self.live.retain(|_, (spec, _)| spec.run != result.run_id),
            Body::OrphansResolved { detach, .. } => self.detached.clone_from(detach),
            Body::CancelRequested { .. } => self.is_cancelled = true,
            _ => {}
        }
        matches!(&*entry.body, Body::CancelRequested { .. } | Body::Ended(_))
    }

    fn doomed(self) -> Vec<(RunSpec, Message)> {
        let Family { live, detached, is_cancelled, .. } = self;
        live.into_values().filter(|(spec, _)| is_cancelled || !detached.contains(&spec.run)).collect()
    }
}
