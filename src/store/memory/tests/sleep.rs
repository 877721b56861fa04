//! Sleep and what ends it: wait lists, cancel, deadline, halts.

use super::*;

fn wake(bench: &mut Bench, lease: &Lease, wakeup: Wakeup) {
    bench.ask(Request::Wake { run: lease.key.run, wakeup });
}

fn cancel(bench: &mut Bench, lease: &Lease) {
    bench.ask(Request::Cancel { run: lease.key.run, reason: "enough".into() });
}

fn child(number: u128) -> Wait {
    Wait::Child(RunId::from_parts(9, number))
}

fn go() -> Wait {
    Wait::Signal("go".into())
}

#[test]
fn what_is_there_already_ends_a_sleep_in_the_step_of_its_release() {
    type Before = fn(&mut Bench, &Lease);
    let soon = Timestamp::from_micros(0);
    let cases: [(&str, Before, Wait); 7] = [
        ("signal", |bench, lease| assert_eq!(bench.signal(lease, "go", "s"), Signalled::Buffered), go()),
        ("mail", |bench, _| assert!(bench.deliver("a", "m2")), Wait::Message { after: Arrival(1) }),
        ("child", |bench, lease| wake(bench, lease, child_done(1)), child(1)),
        ("time", |_, _| {}, Wait::Time(soon)),
        ("cancel", cancel, go()),
        (
            "told signal",
            |bench, lease| wake(bench, lease, Wakeup::Signal { signal: "go".into(), payload: Json::null() }),
            go(),
        ),
        (
            "told mail",
            |bench, lease| wake(bench, lease, Wakeup::Message { source_run: None }),
            Wait::Message { after: Arrival(1) },
        ),
    ];
    for (name, before, wait) in cases {
        let (mut bench, lease) = Bench::running();
        bench.drain(&lease, None);
        before(&mut bench, &lease);
        let other = Wait::Signal("other".into());
        assert_eq!(bench.suspend(&lease, &[other.clone(), wait.clone()]), RunStatus::Pending, "{name}");
        assert_eq!(bench.lease().woken_by.len(), 1, "{name}");

        let (mut bench, lease) = Bench::running();
        bench.drain(&lease, None);
        assert_eq!(bench.suspend(&lease, &[other, wait]) == RunStatus::Pending, name == "time", "{name}");
        if name != "time" {
            before(&mut bench, &lease);
            assert_eq!(bench.status(&lease), RunStatus::Pending, "{name}");
        }
    }
}

#[test]
fn a_trigger_that_is_not_in_the_list_is_stored_and_wakes_nobody() {
    let (mut bench, lease) = Bench::running();
    bench.drain(&lease, None);
    bench.suspend(&lease, &[go()]);
    bench.deliver("a", "m2");
    bench.signal(&lease, "stop", "s1");
    wake(&mut bench, &lease, child_done(1));
    assert_eq!(bench.status(&lease), RunStatus::Suspended);
    bench.signal(&lease, "go", "s2");
    for wait in [Wait::Message { after: Arrival(1) }, Wait::Signal("stop".into()), child(1)] {
        let lease = bench.lease();
        assert_eq!(bench.suspend(&lease, std::slice::from_ref(&wait)), RunStatus::Pending, "{wait:?}");
    }
    let lease = bench.lease();
    assert_eq!(bench.suspend(&lease, &[child(1)]), RunStatus::Suspended, "the end of a child is used once");
}

#[test]
fn a_parked_run_is_not_woken_by_mail() {
    let (mut bench, lease) = Bench::running();
    let due = bench.now + Span::from_secs(5);
    bench.suspend(&lease, &[Wait::Time(due)]);
    bench.deliver("a", "m2");
    assert_eq!(bench.status(&lease), RunStatus::Suspended);
    assert_eq!(bench.store.grantable_at(bench.now), Some(due));
}

#[test]
fn mail_that_the_run_has_received_wakes_it_no_more() {
    let (mut bench, lease) = Bench::running();
    bench.drain(&lease, None);
    assert_eq!(bench.suspend(&lease, &[Wait::Message { after: Arrival(1) }]), RunStatus::Suspended);
    assert!(!bench.deliver("a", "m1"));
    assert_eq!(bench.status(&lease), RunStatus::Suspended);
}

#[test]
fn triggers_of_one_wake_are_merged_into_one_grant() {
    let (mut bench, lease) = Bench::running();
    bench.suspend(&lease, &[go(), child(1), child(2), Wait::Time(Timestamp::MAX)]);
    for number in [1, 1, 3] {
        wake(&mut bench, &lease, child_done(number));
    }
    bench.signal(&lease, "go", "s1");
    bench.signal(&lease, "go", "s2");
    cancel(&mut bench, &lease);
    let granted = bench.poll("w1", 9);
    assert_eq!(granted.len(), 1);
    let first = Wakeup::Signal { signal: "go".into(), payload: Json::new(serde_json::json!("s1")) };
    assert_eq!(granted[0].woken_by, [child_done(1), first].map(Trigger::Wakeup));
    assert_eq!(granted[0].cancel_requested.as_deref(), Some("enough"));
}

#[test]
fn a_cancel_is_sticky_over_every_kind_of_rest() {
    for how in [Release::Suspended(vec![go()]), Release::Halted, Release::Pending] {
        let (mut bench, lease) = Bench::running();
        cancel(&mut bench, &lease);
        bench.release(&lease, how.clone());
        let lease = bench.lease();
        assert_eq!(lease.cancel_requested.as_deref(), Some("enough"), "{how:?}");

        let (mut bench, lease) = Bench::running();
        bench.release(&lease, how.clone());
        cancel(&mut bench, &lease);
        assert_eq!(bench.status(&lease), RunStatus::Pending, "{how:?}");
        bench.lease();
        bench.pass(LEASE + LEASE);
        assert_eq!(bench.lease().cancel_requested.as_deref(), Some("enough"), "{how:?}, reclaimed");
    }
}

#[test]
fn a_halted_run_is_woken_by_cancel_deadline_resume_and_a_new_version_alone() {
    type Event = fn(&mut Bench, &Lease);
    let resume: Event = |bench, lease| drop(bench.ask(Request::Resume { run: lease.key.run }));
    let cases: [(&str, Event, Option<Trigger>); 8] = [
        ("mail", |bench, _| assert!(bench.deliver("a", "m2")), None),
        ("signal", |bench, lease| assert_eq!(bench.signal(lease, "go", "s1"), Signalled::Buffered), None),
        ("child", |bench, lease| wake(bench, lease, child_done(1)), None),
        ("same version", |bench, _| bench.register("a", 1, SpecDefaults::default()), None),
        ("other type", |bench, _| bench.register("b", 2, SpecDefaults::default()), None),
        ("cancel", cancel, Some(Trigger::Cancel)),
        ("resume", resume, Some(Trigger::Resume)),
        ("new version", |bench, _| bench.register("a", 2, SpecDefaults::default()), Some(Trigger::Resume)),
    ];
    for (name, event, trigger) in cases {
        let status = if trigger.is_some() { RunStatus::Pending } else { RunStatus::Suspended };
        for before_the_release in [false, true] {
            let (mut bench, lease) = Bench::running();
            if before_the_release {
                event(&mut bench, &lease);
            }
            bench.release(&lease, Release::Halted);
            if !before_the_release {
                assert!(bench.store.run(lease.key.run).unwrap().halted);
                event(&mut bench, &lease);
            }
            assert_eq!(bench.status(&lease), status, "{name}, before: {before_the_release}");
            if let Some(trigger) = &trigger {
                assert_eq!(bench.lease().woken_by, std::slice::from_ref(trigger), "{name}");
            }
        }
    }
}

#[test]
fn a_halted_run_that_is_woken_and_halts_again_sleeps_again() {
    let (mut bench, lease) = Bench::running();
    bench.register("a", 2, SpecDefaults::default());
    bench.release(&lease, Release::Halted);
    let lease = bench.lease();
    bench.release(&lease, Release::Halted);
    assert_eq!(bench.status(&lease), RunStatus::Suspended);
    bench.register("a", 1, SpecDefaults::default());
    assert_eq!(bench.status(&lease), RunStatus::Suspended);
}

#[test]
fn a_deadline_ends_any_sleep() {
    for how in [Release::Halted, Release::Suspended(vec![]), Release::Suspended(vec![Wait::Time(Timestamp::MAX)])] {
        let mut bench = Bench::new();
        let deadline = Some(Deadline::At(bench.now + Span::from_secs(9)));
        bench.register("a", 1, SpecDefaults { deadline, ..SpecDefaults::default() });
        bench.deliver("a", "m1");
        let lease = bench.lease();
        bench.release(&lease, how);
        bench.pass(Span::from_secs(9) - Span::from_micros(1));
        assert_eq!(bench.poll("w1", 1), []);
        bench.pass(Span::from_micros(1));
        assert_eq!(bench.lease().woken_by, [Trigger::Deadline]);
    }
}

#[test]
fn an_ended_run_is_moved_by_nothing() {
    let (mut bench, lease) = Bench::running();
    bench.drain(&lease, None);
    bench.ack(&lease, "m1");
    bench.release(&lease, Release::Ended(RunStatus::Completed));
    bench.changes.clear();
    cancel(&mut bench, &lease);
    wake(&mut bench, &lease, child_done(1));
    bench.ask(Request::Resume { run: lease.key.run });
    bench.ask(Request::Timer { run: lease.key.run, step: Step(1), at: bench.now });
    bench.register("a", 2, SpecDefaults::default());
    assert_eq!(bench.changes, []);
    assert_eq!(bench.status(&lease), RunStatus::Completed);
    assert_eq!(bench.store.grantable_at(bench.now), None);
}
