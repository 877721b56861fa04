//! Cells: the same fault at the same call counts by where its run is in its life.

use super::history::*;
use super::told;
use crate::check::{Cell, Cells, RunPhase};
use crate::history::{Called, Event, FaultKind};
use crate::kernel::*;

/// A crash around a heartbeat of run 1.
fn crash(history: &mut History) {
    let (kind, call, run, agent) = (FaultKind::Crash, Called::Heartbeat, Some(run(1)), None);
    let (site, fault) = ("billing#1 / lease 0 / heartbeat / try 1".into(), "{}".into());
    history.event(Event::Deviation { site, fault, kind, call, run, agent });
}

/// A history that brings run 1 into a phase.
type Life = (RunPhase, fn(&mut History));

const LIVES: &[Life] = &[
    (RunPhase::Idle, |_| {}),
    (RunPhase::BeforeDrain, |h| {
        h.deliver("m1", &[made(1)]);
    }),
    (RunPhase::BeforeDrain, |h| h.leased()),
    (RunPhase::Live, |h| h.begun()),
    (RunPhase::Live, |h| {
        h.begun();
        h.append("w1", 1, value(0));
    }),
    (RunPhase::Suspending, |h| {
        h.begun();
        h.append("w1", 1, suspended(&[Wait::Signal("go".into())]));
        h.append("w1", 1, Body::CancelRequested { reason: "late".into() });
    }),
    (RunPhase::Waiting, |h| {
        h.begun();
        h.sleeps(&[Wait::Signal("go".into())]);
    }),
    (RunPhase::Replaying, |h| {
        h.begun();
        h.append("w1", 1, value(0));
        h.secs(31);
        h.steal("w2", 1, 1);
    }),
    (RunPhase::Replaying, |h| {
        h.begun();
        h.append("w1", 1, value(0));
        h.secs(31);
        h.steal("w2", 1, 1);
        h.append("w2", 1, Body::RunResumed(lease_entry(1)));
    }),
    (RunPhase::Live, |h| {
        h.begun();
        h.append("w1", 1, value(0));
        h.secs(31);
        h.steal("w2", 1, 1);
        h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        h.append("w2", 1, value(1));
    }),
    (RunPhase::Retrying, |h| {
        h.begun();
        h.append("w1", 1, retrying(1, Span::from_secs(5)));
        h.nack("w1", "m1", 1, 1, false);
    }),
    (RunPhase::Epilogue, |h| {
        h.begun();
        h.append("w1", 1, completed());
        h.ack("w1", "m1", 1);
    }),
    (RunPhase::Ended, |h| {
        h.begun();
        h.completes();
    }),
];

#[test]
fn a_deviation_counts_in_the_phase_of_its_run() {
    for (number, (phase, life)) in LIVES.iter().enumerate() {
        let mut history = told(*life);
        crash(&mut history);
        let checker = history.judged();
        let covered: Vec<_> = checker.covered().iter().collect();
        let cell = Cell { fault: FaultKind::Crash, call: Called::Heartbeat, phase: *phase };
        assert_eq!(covered, [cell], "life {number}");
    }
}

#[test]
fn a_mailbox_is_in_the_phase_of_the_run_behind_it() {
    let deliver = |h: &mut History| {
        let (kind, call, agent) = (FaultKind::Duplicate, Called::Deliver, Some(billing()));
        let (site, fault) = ("input 0 / deliver".into(), "{}".into());
        h.event(Event::Deviation { site, fault, kind, call, run: None, agent });
    };
    let mut history = History::new();
    deliver(&mut history);
    history.begun();
    deliver(&mut history);
    let checker = history.judged();
    let phases: Vec<_> = checker.covered().iter().map(|cell| cell.phase).collect();
    assert_eq!(phases, [RunPhase::Idle, RunPhase::Live]);
}

#[test]
fn calls_count_by_who_makes_them_and_in_the_phase_in_which_they_do_until_the_world_heals() {
    let checker = told(|h| {
        h.begun();
        h.completes();
        h.heals();
    })
    .judged();
    let moments: Vec<_> = checker.moments().iter().collect();
    for expected in [
        (false, Called::Deliver, RunPhase::Idle),
        (true, Called::Lease, RunPhase::BeforeDrain),
        (true, Called::RunCompleted, RunPhase::Live),
        (true, Called::Ack, RunPhase::Epilogue),
        (true, Called::Clock, RunPhase::Idle),
    ] {
        assert!(moments.contains(&expected), "{expected:?}");
    }
    assert!(!moments.contains(&(false, Called::Deliver, RunPhase::Live)));
    assert!(!moments.contains(&(true, Called::Ack, RunPhase::Live)), "the probe is served after healing");
    assert_eq!(checker.covered(), &Cells::default());
}

#[test]
fn a_set_of_cells_is_a_set() {
    let cell = |fault, phase| Cell { fault, call: Called::Perform, phase };
    let (crash, slow) = (cell(FaultKind::Crash, RunPhase::Live), cell(FaultKind::ToolSlow, RunPhase::Replaying));
    let (mut one, mut other) = (Cells::default(), Cells::default());
    one.insert(crash);
    other.insert_all(&[FaultKind::Crash], Called::Perform, RunPhase::Live);
    assert_eq!(one, other);
    other.insert(slow);
    assert!(one.is_subset(&other) && !other.is_subset(&one) && !one.contains(slow));
    one.add(&other);
    assert_eq!((one.len(), one.iter().collect::<Vec<_>>()), (2, vec![slow, crash]));
    assert_eq!(crash.to_string(), "crash × perform × live");
    assert!(Cells::default().is_empty());
}

#[test]
fn names_of_phases_are_unique_and_explained() {
    for (place, phase) in RunPhase::ALL.iter().enumerate() {
        assert!(RunPhase::ALL[..place].iter().all(|other| other.as_str() != phase.as_str()));
        assert!(phase.about().ends_with('.'));
    }
}
