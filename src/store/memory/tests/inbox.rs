//! Mail: lives, settling, dead letters, and the runs that mail makes.

use super::*;

fn dead(reason: &str) -> Disposition {
    Disposition::Dead(reason.into())
}

fn dead_letters(bench: &mut Bench) -> Vec<(String, u64, u32, String)> {
    let Reply::DeadLetters(letters) = bench.ask(Request::DeadLetters { agent: agent("a") }) else { unreachable!() };
    let facts = letters.iter().map(|l| (l.message.id.to_string(), l.arrival.0, l.attempts, l.error.to_string()));
    facts.collect()
}

fn redrive(bench: &mut Bench, id: &str, arrival: u64) -> bool {
    let request = Request::Redrive { agent: agent("a"), message: id.into(), arrival: Arrival(arrival) };
    bench.ask(request) == Reply::Accepted(true)
}

fn pending(bench: &Bench) -> Vec<(String, u64)> {
    bench.store.pending_mail().map(|(_, arrival, message)| (message.id.to_string(), arrival.0)).collect()
}

#[test]
fn an_id_is_known_per_address() {
    let mut bench = Bench::new();
    assert!(["a/1", "a/2", "a/3"].iter().all(|to| bench.deliver(to, "m1")));
    assert!(!bench.deliver("a/2", "m1"));
}

#[test]
fn mail_and_its_run_are_told_in_order() {
    let mut bench = Bench::new();
    bench.deliver("a", "m1");
    let run = bench.store.runs().next().unwrap().spec.run;
    let stored = Change::Stored { agent: agent("a"), message: "m1".into(), arrival: Arrival(1) };
    assert_eq!(bench.changes, [stored, Change::Made { run, agent: agent("a") }]);
    bench.changes.clear();
    bench.deliver("a", "m1");
    assert_eq!(bench.changes, []);
}

#[test]
fn a_repeated_delivery_repeats_the_trigger_while_the_message_is_pending() {
    let mut bench = Bench::new();
    bench.ask(Request::Deliver { to: agent("a"), message: message("m1"), notify: false });
    assert_eq!(bench.store.runs().count(), 0);
    assert!(!bench.deliver("a", "m1"));
    assert_eq!(bench.store.runs().count(), 1);
}

#[test]
fn mail_that_a_run_leaves_over_makes_the_next_run_in_the_same_step_however_it_ended() {
    for status in [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled] {
        let (mut bench, lease) = Bench::running();
        bench.deliver("a", "m2");
        bench.drain(&lease, None);
        bench.ack(&lease, "m1");
        bench.changes.clear();
        bench.release(&lease, Release::Ended(status));
        let next = bench.store.runs().last().unwrap().spec.run;
        let moved =
            Change::Moved { run: lease.key.run, from: RunStatus::Running, to: status, trigger: None, waits: vec![] };
        assert_eq!(bench.changes, [moved, Change::Made { run: next, agent: agent("a") }]);
        let lease = bench.lease();
        assert_eq!((lease.key.run, lease.key.attempt), (next, Attempt(0)));
        assert_eq!((lease.spec.parent, lease.spec.tree), (None, next));
        assert_eq!(bench.drain(&lease, None), ["m2"]);
    }
}

#[test]
fn drain_gives_what_came_later_up_to_its_maximum() {
    let (mut bench, lease) = Bench::running();
    for id in ["m2", "m3", "m4"] {
        bench.deliver("a", id);
    }
    assert_eq!(bench.drain(&lease, Some(2)), ["m3", "m4"]);
    let request = Request::Drain { agent: agent("a"), run: lease.key.run, after: Some(Arrival(1)), max: 2 };
    let Reply::Drained(mail) = bench.ask(request) else { unreachable!() };
    assert_eq!(mail.iter().map(|drained| drained.received.arrival.0).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(bench.drain(&lease, Some(4)), [""; 0]);
}

#[test]
fn a_run_that_is_not_the_live_one_drains_nothing_and_is_no_receiver() {
    let (mut bench, old) = Bench::running();
    bench.release(&old, Release::Ended(RunStatus::Failed));
    let receiver = |bench: &mut Bench| bench.ask(Request::Receiver { agent: agent("a"), message: "m1".into() });
    assert_eq!(bench.drain(&old, None), [""; 0]);
    assert_eq!(receiver(&mut bench), Reply::Run(None));
    let new = bench.lease();
    bench.drain(&new, None);
    bench.drain(&old, None);
    assert_eq!(receiver(&mut bench), Reply::Run(Some(new.key.run)));
    bench.ack(&new, "m1");
    assert_eq!(receiver(&mut bench), Reply::Run(Some(new.key.run)));
}

#[test]
fn who_did_not_drain_a_message_last_settles_nothing() {
    let (mut bench, old) = Bench::running();
    bench.ack(&old, "m1");
    assert_eq!(pending(&bench), [("m1".to_owned(), 1)], "it was never drained");
    bench.drain(&old, None);
    bench.release(&old, Release::Ended(RunStatus::Failed));
    let new = bench.lease();
    bench.drain(&new, None);
    bench.ack(&old, "m1");
    bench.nack(&old, "m1", 9, dead("late"));
    assert_eq!(pending(&bench), [("m1".to_owned(), 1)]);
    bench.ack(&new, "m1");
    assert_eq!(pending(&bench), []);
}

#[test]
fn a_nacked_message_keeps_its_place_and_counts_each_failure_once() {
    let (mut bench, lease) = Bench::running();
    bench.deliver("a", "m2");
    bench.drain(&lease, None);
    for (failure, error) in [(1, "first"), (2, "second"), (2, "repeated"), (1, "late")] {
        bench.nack(&lease, "m1", failure, Disposition::Again(error.into()));
    }
    assert_eq!(bench.drain(&lease, None), ["m1", "m2"]);
    bench.changes.clear();
    bench.nack(&lease, "m1", 3, dead(""));
    bench.nack(&lease, "m1", 4, dead("again"));
    bench.ack(&lease, "m1");
    assert_eq!(dead_letters(&mut bench), [("m1".into(), 1, 3, "second".into())]);
    assert_eq!(bench.changes, [Change::Settled { agent: agent("a"), message: "m1".into(), dead: true }]);
}

#[test]
fn a_dead_disposition_settles_whatever_the_number_and_tells_its_reason() {
    let (mut bench, lease) = Bench::running();
    bench.drain(&lease, None);
    bench.nack(&lease, "m1", 2, Disposition::Again("timeout".into()));
    bench.nack(&lease, "m1", 0, dead("cancelled"));
    assert_eq!(dead_letters(&mut bench), [("m1".into(), 1, 2, "cancelled".into())]);
}

#[test]
fn the_ceiling_makes_a_dead_letter_from_its_number_on_and_binds_no_other_disposition() {
    for (attempts_max, dies_at) in [(0, 1), (1, 1), (3, 3)] {
        let (mut bench, lease) = Bench::running();
        bench.store.config.inbox_attempts_max = attempts_max;
        bench.drain(&lease, None);
        bench.nack(&lease, "m1", 9, Disposition::Again("x".into()));
        assert_eq!(dead_letters(&mut bench), []);

        let (mut bench, lease) = Bench::running();
        bench.store.config.inbox_attempts_max = attempts_max;
        bench.drain(&lease, None);
        let died = (1..9).find(|failure| {
            bench.nack(&lease, "m1", *failure, Disposition::Ceiling("x".into()));
            !dead_letters(&mut bench).is_empty()
        });
        assert_eq!(died, Some(dies_at), "ceiling {attempts_max}");
        assert_eq!(dead_letters(&mut bench)[0].2, dies_at);
    }
}

#[test]
fn a_redrive_begins_one_new_life_in_the_life_that_it_names_alone() {
    let (mut bench, old) = Bench::running();
    bench.drain(&old, None);
    bench.nack(&old, "m1", 4, dead("failed"));
    bench.release(&old, Release::Ended(RunStatus::Failed));
    assert_eq!(bench.store.grantable_at(bench.now), None);
    assert!(!redrive(&mut bench, "m1", 2));
    assert!(redrive(&mut bench, "m1", 1));
    assert!(!redrive(&mut bench, "m1", 1));
    assert!(!bench.deliver("a", "m1"));
    assert_eq!(pending(&bench), [("m1".to_owned(), 2)]);
    let new = bench.lease();
    assert_ne!(new.key.run, old.key.run);
    bench.nack(&old, "m1", 4, dead("failed"));
    bench.ack(&old, "m1");
    let Reply::Drained(mail) = bench.ask(Request::Drain { agent: agent("a"), run: new.key.run, after: None, max: 9 })
    else {
        unreachable!()
    };
    assert_eq!((mail[0].received.arrival, mail[0].attempts), (Arrival(2), 0));
    bench.nack(&old, "m1", 4, dead("failed"));
    bench.nack(&new, "m1", 1, dead("again"));
    assert_eq!(dead_letters(&mut bench), [("m1".into(), 2, 1, "again".into())]);
    assert!(!redrive(&mut bench, "m1", 1));
    assert!(redrive(&mut bench, "m1", 2));
}

#[test]
fn a_life_redriven_before_its_run_is_released_is_left_for_the_next_run() {
    let (mut bench, old) = Bench::running();
    bench.drain(&old, None);
    bench.nack(&old, "m1", 4, dead("failed"));
    assert!(redrive(&mut bench, "m1", 1));
    assert_eq!(bench.drain(&old, None), [""; 0], "no message twice in one run");
    bench.nack(&old, "m1", 4, dead("failed"));
    assert_eq!(pending(&bench), [("m1".to_owned(), 2)]);
    bench.release(&old, Release::Ended(RunStatus::Failed));
    let new = bench.lease();
    assert_ne!(new.key.run, old.key.run);
    assert_eq!(bench.drain(&new, None), ["m1"]);
}

#[test]
fn create_stores_the_boot_message_with_the_run_and_a_repeat_nothing() {
    let mut bench = Bench::new();
    let run = RunId::from_parts(5, 5);
    let settings = SpecDefaults::default();
    let spec = RunSpec::root(run, agent("a/x"), settings);
    let create = |spec: &RunSpec, id: &str| Request::Create { spec: Box::new(spec.clone()), boot: Some(message(id)) };
    assert_eq!(bench.ask(create(&spec, "b1")), Reply::Created(Created::Created));
    assert_eq!(bench.ask(create(&spec, "b2")), Reply::Created(Created::Exists));
    let busy = RunSpec { run: RunId::from_parts(5, 6), ..spec.clone() };
    assert_eq!(bench.ask(create(&busy, "b3")), Reply::Created(Created::Busy));
    let unknown = RunSpec { run: RunId::from_parts(5, 7), agent: agent("b"), ..spec.clone() };
    assert_eq!(bench.ask(create(&unknown, "b4")), Reply::UnknownAgent(UnknownAgent { kind: "b".into() }));
    assert_eq!(pending(&bench), [("b1".to_owned(), 1)]);
    assert_eq!(bench.store.runs().count(), 1);
    let lease = bench.lease();
    assert_eq!(lease.woken_by, [Trigger::Wakeup(Wakeup::Message { source_run: None })]);
    bench.drain(&lease, None);
    bench.ack(&lease, "b1");
    bench.release(&lease, Release::Ended(RunStatus::Completed));
    assert_eq!(bench.ask(create(&spec, "b5")), Reply::Created(Created::Exists));
    assert_eq!(pending(&bench), []);
}

#[test]
fn a_minted_id_that_is_taken_is_passed_over() {
    let mut bench = Bench::new();
    let run = RunId::from_parts(0, 1);
    let settings = SpecDefaults::default();
    let spec = RunSpec::root(run, agent("a/x"), settings);
    bench.ask(Request::Create { spec: Box::new(spec), boot: None });
    bench.deliver("a/y", "m1");
    let runs: Vec<_> = bench.store.runs().map(|report| report.spec.run).collect();
    assert_eq!(runs, [run, RunId::from_parts(0, 2)]);
}
