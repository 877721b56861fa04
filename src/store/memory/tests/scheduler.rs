//! Leases: who holds a run, for how long, and what a poll finds.

use super::*;

#[test]
fn only_the_worker_and_the_attempt_that_hold_a_run_renew_or_release_it() {
    let (mut bench, lease) = Bench::running();
    let key = lease.key.clone();
    let incarnation = WorkerId { incarnation: 1, ..key.worker.clone() };
    let strangers = [
        LeaseKey { worker: worker_id("w2"), ..key.clone() },
        LeaseKey { worker: incarnation, ..key.clone() },
        LeaseKey { attempt: Attempt(1), ..key.clone() },
        LeaseKey { run: RunId::from_parts(3, 3), ..key.clone() },
    ];
    for stranger in strangers {
        assert_eq!(bench.ask(Request::Heartbeat { lease: stranger.clone() }), Reply::Heartbeat(Heartbeat::Lost));
        let release = Request::Release { lease: stranger, how: Release::Ended(RunStatus::Failed) };
        assert_eq!(bench.ask(release), Reply::Released(Released::Lost));
    }
    assert_eq!(bench.status(&lease), RunStatus::Running);
    assert_eq!(bench.release(&lease, Release::Pending), Released::Released);
    assert_eq!(bench.release(&lease, Release::Pending), Released::Lost);
    assert_eq!(bench.ask(Request::Heartbeat { lease: key }), Reply::Heartbeat(Heartbeat::Lost));
}

#[test]
fn a_lease_is_reclaimed_strictly_past_its_expiry_and_its_former_holder_told() {
    let (mut bench, lease) = Bench::running();
    bench.pass(LEASE);
    assert_eq!(bench.poll("w2", 1), []);
    bench.pass(Span::from_micros(1));
    let next = bench.poll("w2", 1).pop().expect("the lease is past its expiry");
    assert_eq!((next.key.attempt, next.reclaims, next.woken_by), (Attempt(1), 1, vec![Trigger::Reclaim]));
    for how in [Release::Pending, Release::Suspended(vec![]), Release::Ended(RunStatus::Completed)] {
        assert_eq!(bench.release(&lease, how), Released::Lost);
    }
    assert_eq!(bench.status(&lease), RunStatus::Running);
}

#[test]
fn a_renewal_past_the_expiry_that_nobody_reclaimed_is_granted() {
    let (mut bench, lease) = Bench::running();
    bench.pass(LEASE + LEASE);
    let Reply::Heartbeat(Heartbeat::Healthy(term)) = bench.ask(Request::Heartbeat { lease: lease.key }) else {
        panic!("nobody else holds the run");
    };
    assert_eq!(term, Term { renewed_at: bench.now, expires_at: bench.now + LEASE });
    bench.pass(LEASE);
    assert_eq!(bench.poll("w2", 1), []);
}

#[test]
fn reclaims_are_counted_in_a_row_and_forgotten_at_every_release() {
    for how in [Release::Pending, Release::Suspended(vec![Wait::Time(Timestamp::from_micros(0))])] {
        let (mut bench, _) = Bench::running();
        let counts: Vec<_> = std::iter::repeat_with(|| {
            bench.pass(LEASE + Span::from_micros(1));
            bench.lease().reclaims
        })
        .take(3)
        .collect();
        assert_eq!(counts, [1, 2, 3]);
        bench.pass(LEASE + Span::from_micros(1));
        let lease = bench.lease();
        bench.release(&lease, how);
        let lease = bench.lease();
        assert_eq!((lease.reclaims, lease.key.attempt), (0, Attempt(5)));
    }
}

#[test]
fn a_lease_is_never_past_its_expiry_when_granted_and_never_longer_than_asked() {
    let shortest = Span::from_micros(1);
    for (given, span) in [
        (Span::ZERO, shortest),
        (Span::from_secs(-5), shortest),
        (Span::from_secs(2), Span::from_secs(2)),
        (Span::MAX, LEASE),
    ] {
        let mut bench = Bench::new();
        bench.surroundings.lease = Some(given);
        bench.deliver("a", "m1");
        let lease = bench.lease();
        assert_eq!(lease.expires_at.since(lease.granted_at), span);
        let Reply::Heartbeat(Heartbeat::Healthy(term)) = bench.ask(Request::Heartbeat { lease: lease.key }) else {
            panic!("the lease is held");
        };
        assert_eq!(term.expires_at.since(term.renewed_at), span);
    }
}

#[test]
fn a_poll_grants_no_more_than_asked_and_no_run_twice() {
    let mut bench = Bench::new();
    for number in 0..5 {
        bench.deliver(&format!("a/{number}"), "m1");
    }
    assert_eq!(bench.poll("w1", 0), []);
    let sizes = [bench.poll("w1", 2).len(), bench.poll("w2", 2).len(), bench.poll("w1", 2).len()];
    assert_eq!(sizes, [2, 2, 1]);
    assert_eq!(bench.poll("w2", 9), []);
}

#[test]
fn what_makes_a_run_pending_is_told_to_its_next_lease_and_to_the_history() {
    let (mut bench, lease) = Bench::running();
    let from_mail = Trigger::Wakeup(Wakeup::Message { source_run: None });
    assert_eq!(lease.woken_by, [from_mail]);
    bench.changes.clear();
    bench.suspend(&lease, &[Wait::Signal("go".into())]);
    bench.signal(&lease, "go", "s1");
    bench.lease();
    use RunStatus::*;
    let moves: Vec<_> = bench
        .changes
        .iter()
        .map(|change| match change {
            Change::Moved { from, to, trigger, waits, .. } => (*from, *to, trigger.is_some(), waits.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(moves, [(Running, Suspended, false, 1), (Suspended, Pending, true, 0), (Pending, Running, false, 0)]);
}

#[test]
fn a_deadline_is_fixed_at_the_first_grant_and_not_moved_by_later_ones() {
    let mut bench = Bench::new();
    let deadline = Some(Deadline::After(Span::from_secs(100)));
    bench.register("a", 1, SpecDefaults { deadline, ..SpecDefaults::default() });
    bench.deliver("a", "m1");
    bench.pass(Span::from_secs(50));
    let fixed = Some(bench.now + Span::from_secs(100));
    let lease = bench.lease();
    assert_eq!(lease.deadline, fixed);
    bench.pass(Span::from_secs(20));
    bench.release(&lease, Release::Pending);
    let lease = bench.lease();
    assert_eq!(lease.deadline, fixed);
    bench.pass(Span::from_secs(80));
    let Reply::Heartbeat(Heartbeat::DeadlinePassed(_)) = bench.ask(Request::Heartbeat { lease: lease.key.clone() })
    else {
        panic!("the deadline is over");
    };
    assert_eq!(bench.suspend(&lease, &[Wait::Signal("go".into())]), RunStatus::Pending);
    assert_eq!(bench.lease().woken_by, [Trigger::Deadline]);
}

#[test]
fn the_store_tells_when_a_poll_would_grant_something() {
    let mut bench = Bench::new();
    assert_eq!(bench.store.grantable_at(bench.now), None);
    bench.deliver("a", "m1");
    assert_eq!(bench.store.grantable_at(bench.now), Some(bench.now));
    let lease = bench.lease();
    let past_expiry = lease.expires_at + Span::from_micros(1);
    assert_eq!(bench.store.grantable_at(bench.now), Some(past_expiry));
    let until = bench.now + Span::from_secs(5);
    bench.suspend(&lease, &[Wait::Time(until + Span::from_secs(1)), Wait::Time(until)]);
    assert_eq!(bench.store.grantable_at(bench.now), Some(until));
    assert_eq!(bench.store.grantable_at(until + LEASE), Some(until + LEASE));
    bench.now = until;
    let lease = bench.lease();
    bench.suspend(&lease, &[Wait::Signal("go".into())]);
    assert_eq!(bench.store.grantable_at(bench.now), None);
    bench.signal(&lease, "go", "s1");
    assert_eq!(bench.store.grantable_at(bench.now), Some(bench.now));
    let lease = bench.lease();
    bench.drain(&lease, None);
    bench.ack(&lease, "m1");
    bench.release(&lease, Release::Ended(RunStatus::Completed));
    assert_eq!(bench.store.grantable_at(bench.now), None);
}

#[test]
fn leases_that_run_out_together_are_queued_in_the_order_of_their_making() {
    let mut bench = Bench::new();
    let ids = [9, 3, 6].map(|number| RunId::from_parts(number, 0));
    for (run, key) in ids.into_iter().zip(["z", "y", "x"]) {
        let settings = SpecDefaults::default();
        let agent = AgentId::new("a", key).unwrap();
        let spec = RunSpec::root(run, agent, settings);
        bench.ask(Request::Create { spec: Box::new(spec), boot: None });
    }
    bench.poll("w1", 3);
    bench.pass(LEASE + LEASE);
    let again: Vec<_> = bench.poll("w2", 3).into_iter().map(|lease| lease.key.run).collect();
    assert_eq!(again, ids);
}
