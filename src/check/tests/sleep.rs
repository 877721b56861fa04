//! Falling asleep and waking, case by case.

use super::Pair;
use super::history::*;
use crate::kernel::*;

fn go() -> Wait {
    Wait::Signal("go".into())
}

fn by_mail() -> crate::history::Change {
    woken(run(1), RunStatus::Suspended, Trigger::Wakeup(Wakeup::Message { source_run: None }))
}

/// Step 0 waits with a limit of 60 s; when that is over.
fn waits(history: &mut History, call: CallKind) -> Wait {
    history.begun();
    history.append(
        "w1",
        1,
        Body::TimerSet { opening: opening(0, call), limit: Some(Span::from_secs(60)), child: None },
    );
    Wait::Time(history.now - Span::from_millis(1) + Span::from_secs(60))
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "status-follows-log",
        case: "mail wakes a run that waits for a signal",
        violates: |h| {
            h.begun();
            h.sleeps(&[go()]);
            h.deliver("m2", &[by_mail()]);
        },
        nearly: |h| {
            h.begun();
            h.sleeps(&[go(), Wait::Message { after: Arrival(1) }]);
            h.deliver("m2", &[by_mail()]);
        },
    },
    Pair {
        invariant: "cause-first",
        case: "the store sleeps over less than the log says",
        violates: |h| {
            let until = waits(h, CallKind::WaitSignal);
            h.append("w1", 1, suspended(&[go(), until]));
            h.release("w1", 1, 0, Release::Suspended(vec![go()]), &[asleep(run(1), &[go()])]);
        },
        nearly: |h| {
            let until = waits(h, CallKind::WaitSignal);
            h.sleeps(&[go(), until]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "the wait list forgets a limit",
        violates: |h| {
            waits(h, CallKind::WaitSignal);
            h.sleeps(&[go()]);
        },
        nearly: |h| {
            waits(h, CallKind::WaitSignal);
            h.secs(60);
            h.append("w1", 1, Body::TimerFired { step: Step(0) });
            h.sleeps(&[go()]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "the wait list forgets mail",
        violates: |h| {
            let until = waits(h, CallKind::Receive);
            h.sleeps(&[until]);
        },
        nearly: |h| {
            let until = waits(h, CallKind::Sleep);
            h.sleeps(&[until]);
        },
    },
];
