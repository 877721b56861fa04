//! The wall clock and the interrupt: how long people wait, and when they have waited enough.
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "only the command looks at a wall clock")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Stop;
use crate::explore::Halt;

/// Whether somebody interrupted the process.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt ends the work in order; a second one ends the process at once.
pub(super) fn catch_interrupts() -> Result<(), Stop> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| Stop::Usage(format!("interrupts cannot be caught: {error}")))
}

/// Whether somebody has interrupted the process.
pub(super) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// A stop watch, with a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    started: Instant,
    limit: Option<Duration>,
}

impl Watch {
    pub(super) fn start(limit: Option<Duration>) -> Watch {
        Watch { started: Instant::now(), limit }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// A watch for the next part of the work, `own` of the `all` that is left: it has its share of the time that is left.
    pub(super) fn share(&self, own: u64, all: u64) -> Watch {
        let share = own as f64 / all.max(1) as f64;
        Watch::start(self.limit.map(|limit| limit.saturating_sub(self.elapsed()).mul_f64(share.min(1.0))))
    }

    /// Whether the work is to end.
    pub(super) fn halt(&self) -> Option<Halt> {
        if interrupted() {
            return Some(Halt::Interrupt);
        }
        let over = self.limit.is_some_and(|limit| self.elapsed() >= limit);
        over.then_some(Halt::Time)
    }
}
