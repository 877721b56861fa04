//! Signals, claims and timers.

use super::*;

fn taken(claimed: Option<Claimed>) -> Option<String> {
    match claimed? {
        Claimed::Signal { id, .. } => Some(id.to_string()),
        Claimed::TimedOut => Some("timed out".to_owned()),
    }
}

#[test]
fn signals_of_a_name_are_claimed_oldest_first_each_once() {
    let (mut bench, lease) = Bench::running();
    for (name, id) in [("go", "s1"), ("stop", "s2"), ("go", "s3")] {
        bench.signal(&lease, name, id);
    }
    let claims = [(1, "go"), (2, "go"), (1, "stop"), (3, "go"), (4, "stop")];
    let got = claims.map(|(step, name)| taken(bench.claim(&lease, step, Some(name), None)));
    assert_eq!(got.map(|id| id.unwrap_or_default()), ["s1", "s3", "s1", "", "s2"]);
}

#[test]
fn a_repeated_signal_changes_nothing_before_and_after_its_claim_and_its_runs_end() {
    let (mut bench, lease) = Bench::running();
    assert_eq!(bench.signal(&lease, "go", "s1"), Signalled::Buffered);
    assert_eq!(bench.signal(&lease, "go", "s1"), Signalled::Repeated);
    assert_eq!(bench.signal(&lease, "other", "s1"), Signalled::Repeated);
    bench.claim(&lease, 1, Some("go"), None);
    assert_eq!(bench.signal(&lease, "go", "s1"), Signalled::Repeated);
    assert_eq!(bench.claim(&lease, 2, Some("go"), None), None);
    bench.drain(&lease, None);
    bench.ack(&lease, "m1");
    bench.release(&lease, Release::Ended(RunStatus::Completed));
    assert_eq!(bench.signal(&lease, "go", "s1"), Signalled::Repeated);
    assert_eq!(bench.signal(&lease, "go", "s2"), Signalled::Ended);
}

#[test]
fn a_time_out_that_was_told_stands_also_when_the_signal_comes() {
    let (mut bench, lease) = Bench::running();
    let until = Some(bench.now + Span::from_secs(1));
    assert_eq!(taken(bench.claim(&lease, 1, Some("go"), until)), None);
    bench.pass(Span::from_secs(1) - Span::from_micros(1));
    assert_eq!(taken(bench.claim(&lease, 1, Some("go"), until)), None);
    bench.pass(Span::from_micros(1));
    assert_eq!(bench.claim(&lease, 1, Some("go"), until), Some(Claimed::TimedOut));
    bench.signal(&lease, "go", "s1");
    assert_eq!(bench.claim(&lease, 1, Some("go"), until), Some(Claimed::TimedOut));
    assert_eq!(
        taken(bench.claim(&lease, 2, Some("go"), until)).as_deref(),
        Some("s1"),
        "a signal goes before the time"
    );
}

#[test]
fn signals_and_claims_survive_a_lost_lease_and_die_with_the_run() {
    let (mut bench, lease) = Bench::running();
    bench.signal(&lease, "go", "s1");
    bench.signal(&lease, "go", "s2");
    bench.claim(&lease, 1, Some("go"), None);
    bench.pass(LEASE + LEASE);
    let lease = bench.lease();
    assert_eq!(taken(bench.claim(&lease, 1, Some("go"), None)).as_deref(), Some("s1"));
    bench.release(&lease, Release::Ended(RunStatus::Failed));
    assert_eq!(taken(bench.claim(&lease, 1, Some("go"), None)).as_deref(), Some("s1"), "what was told stands");
    assert_eq!(bench.claim(&lease, 2, Some("go"), Some(bench.now)), None);
}

#[test]
fn a_late_timer_wakes_late_but_its_wait_is_over_in_time() {
    let (mut bench, lease) = Bench::running();
    bench.surroundings.late = Span::from_secs(2);
    let until = bench.now + Span::from_secs(10);
    bench.suspend(&lease, &[Wait::Time(until), Wait::Signal("go".into())]);
    assert_eq!(bench.store.grantable_at(bench.now), Some(until + Span::from_secs(2)));
    bench.now = until + Span::from_secs(1);
    assert_eq!(bench.poll("w1", 1), []);
    assert_eq!(bench.claim(&lease, 1, None, Some(until)), Some(Claimed::TimedOut));
    bench.pass(Span::from_secs(1));
    assert_eq!(bench.lease().woken_by, [Trigger::Wakeup(Wakeup::Timer { at: until })]);
}

#[test]
fn a_timer_is_never_early() {
    let (mut bench, lease) = Bench::running();
    bench.surroundings.late = Span::from_secs(-2);
    let until = bench.now + Span::from_secs(10);
    bench.suspend(&lease, &[Wait::Time(until)]);
    assert_eq!(bench.store.grantable_at(bench.now), Some(until));
    bench.ask(Request::Wake { run: lease.key.run, wakeup: Wakeup::Timer { at: until } });
    assert_eq!(bench.status(&lease), RunStatus::Suspended);
}

#[test]
fn an_armed_timer_ends_the_waits_for_times_up_to_its_own() {
    for (armed_for, wakes_at) in [(5, 12), (10, 10), (11, 11), (13, 12)] {
        for before_the_sleep in [true, false] {
            let (mut bench, lease) = Bench::running();
            let after = |secs| Timestamp::from_micros(0) + Span::from_secs(secs);
            let timer = |secs| Request::Timer { run: lease.key.run, step: Step(1), at: after(secs) };
            if before_the_sleep {
                bench.ask(timer(armed_for));
            }
            bench.surroundings.late = Span::from_secs(2);
            bench.suspend(&lease, &[Wait::Time(after(10))]);
            bench.surroundings.late = Span::ZERO;
            if !before_the_sleep {
                bench.ask(timer(armed_for));
            }
            bench.ask(timer(10));
            assert_eq!(bench.store.grantable_at(bench.now), Some(after(wakes_at)), "armed for {armed_for}");
            bench.now = after(wakes_at);
            assert_eq!(bench.lease().woken_by, [Trigger::Wakeup(Wakeup::Timer { at: after(10) })]);
        }
    }
}

#[test]
fn the_times_of_a_wait_that_has_ended_wake_nobody() {
    let (mut bench, lease) = Bench::running();
    let until = bench.now + Span::from_secs(3600);
    bench.suspend(&lease, &[Wait::Time(until), Wait::Signal("go".into())]);
    bench.signal(&lease, "go", "s1");
    let lease = bench.lease();
    bench.suspend(&lease, &[Wait::Signal("stop".into())]);
    bench.now = until + LEASE;
    assert_eq!(bench.poll("w1", 1), []);
    assert_eq!(bench.store.grantable_at(bench.now), None);
}
