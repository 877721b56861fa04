//! Children before they are made: reservations, what they hold, and how they end without a making.

use super::*;

impl Bench {
    /// A store that knows the types `a` and `b`, whose trees may have this many runs, and a leased run at `a`.
    pub fn parent(max_agents: u32) -> (Bench, Lease) {
        let mut bench = Bench::new();
        let spawn_budget = SpawnBudget { max_agents };
        for kind in ["a", "b"] {
            bench.register(kind, 1, SpecDefaults { spawn_budget, ..SpecDefaults::default() });
        }
        bench.deliver("a", "m1");
        let lease = bench.lease();
        bench.drain(&lease, None);
        bench.ack(&lease, "m1");
        bench.changes.clear();
        (bench, lease)
    }

    pub fn reserve(&mut self, lease: &Lease, step: u32, to: &str) -> Reserved {
        let request = Request::Reserve { lease: lease.key.clone(), step: Step(step), agent: agent(to) };
        match self.ask(request) {
            Reply::Reserved(reserved) => reserved,
            other => panic!("{other:?}"),
        }
    }

    /// The child that is reserved for a step.
    pub fn reserved(&mut self, lease: &Lease, step: u32, to: &str) -> RunId {
        match self.reserve(lease, step, to) {
            Reserved::Reserved { child_run, .. } => child_run,
            other => panic!("{other:?}"),
        }
    }

    pub fn spec(&mut self, run: RunId) -> RunSpec {
        match self.ask(Request::Spec { run }) {
            Reply::Spec(Some(spec)) => (*spec).clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Creates a reserved child as its parent would, with a first message of this id.
    pub fn create(&mut self, run: RunId, boot: &str) -> Created {
        let spec = Box::new(self.spec(run));
        match self.ask(Request::Create { spec, boot: Some(message(boot)) }) {
            Reply::Created(created) => created,
            other => panic!("{other:?}"),
        }
    }

    pub fn close(&mut self, run: RunId) {
        let Reply::LastSeq(expected) = self.ask(Request::LastSeq { run }) else { panic!("the log has an end") };
        let body = Body::Ended(Ending::Completed { output: Json::empty(), in_doubt: vec![] });
        self.ask(Request::Append { run, body: body.into(), expected });
    }

    fn end(&mut self, lease: &Lease) {
        assert_eq!(self.release(lease, Release::Ended(RunStatus::Completed)), Released::Released);
    }

    fn view(&mut self, run: RunId) -> RunView {
        match self.ask(Request::Status { run }) {
            Reply::View(Some(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    fn run_of(&mut self, at: &str) -> Option<RunId> {
        match self.ask(Request::RunOf { agent: agent(at) }) {
            Reply::Run(run) => run,
            other => panic!("{other:?}"),
        }
    }
}

pub fn denied(reason: &str) -> Reserved {
    Reserved::Denied { reason: reason.into() }
}

/// What is about to be free is asked for again after a second.
pub fn ending(bench: &Bench) -> Reserved {
    Reserved::Ending { again: bench.now + Span::from_secs(1) }
}

/// Trace 5: a reservation is fenced by the parent's lease.
#[test]
fn only_the_holder_of_the_parent_reserves() {
    let (mut bench, lease) = Bench::parent(9);
    bench.reserved(&lease, 0, "b/known");
    let mut strangers = [lease.clone(), lease.clone(), lease.clone()];
    strangers[0].key.worker = worker_id("w2");
    strangers[1].key.attempt = Attempt(1);
    strangers[2].key.run = RunId::from_parts(3, 3);
    for stranger in strangers {
        for step in [0, 1] {
            assert_eq!(bench.reserve(&stranger, step, "b/known"), Reserved::Lost);
        }
    }
    bench.release(&lease, Release::Pending);
    assert_eq!(bench.reserve(&lease, 0, "b/known"), Reserved::Lost, "a known answer is for the holder alone");
    let later = bench.lease();
    assert!(matches!(bench.reserve(&later, 0, "b/known"), Reserved::Reserved { .. }));
}

#[test]
fn a_reserved_child_holds_its_address_and_a_unit_under_a_specification_that_stands_in() {
    let (mut bench, lease) = Bench::parent(2);
    let deadline = Some(Deadline::After(Span::from_secs(9)));
    let defaults = SpecDefaults { deadline, tenant: Some("t".into()), ..SpecDefaults::default() };
    bench.register("b", 2, defaults.clone());
    let answer = bench.reserve(&lease, 4, "b/x");
    let Reserved::Reserved { child_run, tree, defaults: told } = &answer else { panic!("{answer:?}") };
    let (child, parent) = (*child_run, lease.key.run);
    assert_eq!((*tree, &**told), (parent, &defaults));
    let spec = RunSpec { parent: Some(parent), tree: parent, ..RunSpec::root(child, agent("b/x"), defaults) };
    assert_eq!(bench.spec(child), spec);
    let change = Change::Reserved { run: child, agent: agent("b/x"), parent, step: Step(4), tree: parent };
    assert_eq!(bench.changes, [change]);
    assert!(bench.store.holds_unit(child));
    assert_eq!(bench.reserve(&lease, 5, "b/y"), denied("the tree has its 2 runs"));
    assert_eq!(bench.reserve(&lease, 6, "b/x"), denied("address `b/x` is taken"));
    let other = RunSpec::root(RunId::from_parts(5, 5), agent("b/x"), SpecDefaults::default());
    assert_eq!(bench.ask(Request::Create { spec: other.into(), boot: None }), Reply::Created(Created::Busy));
}

/// Trace 5: a reservation is keyed by the parent's step, its refusal is kept, and ended children are not forgotten.
#[test]
fn a_step_is_told_the_same_for_ever_a_refusal_included() {
    let (mut bench, lease) = Bench::parent(2);
    bench.deliver("a/busy", "m2");
    let full = |bench: &mut Bench| bench.reserve(&lease, 3, "b/more");
    let first = [
        bench.reserve(&lease, 0, "nobody/x"),
        bench.reserve(&lease, 1, "a/busy"),
        bench.reserve(&lease, 2, "b/child"),
        full(&mut bench),
    ];
    let kinds = ["no agent type `nobody` is registered", "address `a/busy` is taken", "the tree has its 2 runs"];
    assert_eq!([&first[0], &first[1], &first[3]], [&denied(kinds[0]), &denied(kinds[1]), &denied(kinds[2])]);
    // Every reason goes away, the child ends, its type gets other defaults, and the tree has room again.
    bench.register("nobody", 1, SpecDefaults::default());
    let Reserved::Reserved { child_run, .. } = first[2] else { panic!("{:?}", first[2]) };
    bench.create(child_run, "boot");
    for lease in bench.poll("w2", 9) {
        bench.drain(&lease, None).iter().for_each(|id| bench.ack(&lease, id));
        bench.ask(Request::ReturnUnit { run: lease.key.run });
        bench.end(&lease);
    }
    bench.register("b", 1, SpecDefaults { batch: 1, ..SpecDefaults::default() });
    let again = [
        bench.reserve(&lease, 0, "nobody/x"),
        bench.reserve(&lease, 1, "a/busy"),
        bench.reserve(&lease, 2, "b/child"),
        full(&mut bench),
    ];
    assert_eq!(again, first);
    assert!(matches!(bench.reserve(&lease, 4, "b/child"), Reserved::Reserved { .. }), "another step, another child");
}

#[test]
fn an_address_whose_run_has_a_closed_log_is_about_to_be_free() {
    let (mut bench, lease) = Bench::parent(9);
    bench.deliver("b/x", "m2");
    let busy = bench.lease();
    bench.drain(&busy, None);
    bench.ack(&busy, "m2");
    bench.close(busy.key.run);
    assert_eq!(bench.reserve(&lease, 0, "b/x"), ending(&bench));
    assert_eq!(bench.reserve(&lease, 0, "b/x"), ending(&bench));
    bench.end(&busy);
    assert!(matches!(bench.reserve(&lease, 0, "b/x"), Reserved::Reserved { .. }), "that answer was not kept");
}

#[test]
fn a_tree_of_which_a_log_is_closed_is_about_to_have_room() {
    let (mut bench, lease) = Bench::parent(3);
    let (first, second) = (bench.reserved(&lease, 0, "b/1"), bench.reserved(&lease, 1, "b/2"));
    bench.create(first, "boot");
    bench.close(first);
    bench.close(first);
    assert_eq!(bench.reserve(&lease, 2, "b/3"), ending(&bench));
    bench.ask(Request::ReturnUnit { run: first });
    let third = bench.reserved(&lease, 2, "b/3");
    assert_eq!(
        bench.reserve(&lease, 3, "b/4"),
        denied("the tree has its 3 runs"),
        "nothing is closed that holds a unit"
    );
    for run in [second, third] {
        bench.ask(Request::ReturnUnit { run });
    }
    bench.close(third);
    bench.reserved(&lease, 4, "b/5");
    bench.reserved(&lease, 5, "b/6");
    assert_eq!(bench.reserve(&lease, 6, "b/7"), denied("the tree has its 3 runs"));
}

#[test]
fn a_note_in_a_log_does_not_close_it() {
    let (mut bench, lease) = Bench::parent(1);
    let body = Body::Other { kind: "app.note".into(), payload: Json::empty() }.into();
    bench.ask(Request::Append { run: lease.key.run, body, expected: Seq::EMPTY });
    assert_eq!(bench.reserve(&lease, 0, "b/1"), denied("the tree has its 1 runs"));
}

/// Trace 4: the child's first message comes with its making, under the id that was reserved.
#[test]
fn a_reserved_child_is_created_once_with_its_first_message() {
    let (mut bench, lease) = Bench::parent(9);
    let child = bench.reserved(&lease, 0, "b/x");
    bench.changes.clear();
    assert_eq!(bench.create(child, "boot"), Created::Created);
    let kinds: Vec<_> = bench.changes.iter().map(|change| matches!(change, Change::Stored { .. })).collect();
    assert_eq!(kinds, [true, false]);
    assert_eq!(bench.changes[1], Change::Made { run: child, agent: agent("b/x") });
    let view = bench.view(child);
    assert_eq!((view.status, view.reserved), (RunStatus::Pending, false));
    bench.changes.clear();
    assert_eq!(bench.create(child, "boot"), Created::Exists);
    assert_eq!(bench.create(child, "boot2"), Created::Exists);
    assert!(!bench.deliver("b/x", "boot"), "the id of the first message is remembered");
    assert_eq!(bench.changes, []);
    let grant = bench.lease();
    assert_eq!((grant.key.run, bench.drain(&grant, None)), (child, vec!["boot".to_owned()]));
    bench.ack(&grant, "boot");
    bench.end(&grant);
    assert_eq!(bench.create(child, "boot"), Created::Exists);
    assert_eq!(bench.run_of("b/x"), None);
}

#[test]
fn only_what_is_reserved_is_made_as_a_child() {
    let (mut bench, lease) = Bench::parent(9);
    let child = bench.reserved(&lease, 0, "b/x");
    let stranger = RunSpec {
        parent: Some(lease.key.run),
        ..RunSpec::root(RunId::from_parts(5, 5), agent("b/y"), SpecDefaults::default())
    };
    let as_root = RunSpec::root(child, agent("b/x"), SpecDefaults::default());
    for spec in [stranger, as_root] {
        let boot = Some(message("boot"));
        assert_eq!(bench.ask(Request::Create { spec: spec.into(), boot }), Reply::Created(Created::Exists));
    }
    assert_eq!((bench.run_of("b/y"), bench.view(child).reserved), (None, true));
}

#[test]
fn a_created_child_is_as_its_parent_says_but_stays_where_it_is_in_the_tree() {
    let (mut bench, lease) = Bench::parent(9);
    let child = bench.reserved(&lease, 0, "b/x");
    let known = bench.spec(child);
    let deadline = bench.now + Span::from_secs(5);
    let said = RunSpec {
        tree: RunId::from_parts(8, 8),
        retention: Retention::Permanent,
        parent_deadline: Some(deadline),
        settings: SpecDefaults { priority: Priority::Critical, batch: 7, ..SpecDefaults::default() },
        ..known.clone()
    };
    bench.deliver("a/other", "m2");
    bench.ask(Request::Create { spec: Box::new(said.clone()), boot: None });
    let grant = bench.lease();
    assert_eq!((&*grant.spec, grant.woken_by.len()), (&RunSpec { tree: known.tree, ..said }, 0));
    assert_eq!(grant.deadline, Some(deadline));
}

#[test]
fn mail_waits_for_a_reserved_run_and_makes_no_other() {
    let (mut bench, lease) = Bench::parent(9);
    let child = bench.reserved(&lease, 0, "b/x");
    bench.changes.clear();
    assert!(bench.deliver("b/x", "early"));
    assert!(matches!(bench.changes[..], [Change::Stored { .. }]));
    assert_eq!((bench.run_of("b/x"), bench.poll("w2", 9)), (Some(child), vec![]));
    let drain = Request::Drain { agent: agent("b/x"), run: child, after: None, max: 9 };
    assert!(matches!(bench.ask(drain), Reply::Drained(mail) if mail.len() == 1), "it is the live run there");
    bench.create(child, "boot");
    let grant = bench.lease();
    assert_eq!((grant.key.run, bench.drain(&grant, None)), (child, vec!["early".to_owned(), "boot".to_owned()]));
}

/// Trace 11: a cancel of a child that nobody announced does not start it, and is not lost.
#[test]
fn a_reserved_run_sleeps_through_every_wake_and_keeps_its_cancel_and_its_signals() {
    let (mut bench, lease) = Bench::parent(9);
    let child = bench.reserved(&lease, 0, "b/x");
    bench.changes.clear();
    for wakeup in [child_done(1), Wakeup::Message { source_run: None }] {
        bench.ask(Request::Wake { run: child, wakeup });
    }
    bench.ask(Request::Resume { run: child });
    bench.ask(Request::Cancel { run: child, reason: "enough".into() });
    bench.ask(Request::Timer { run: child, step: Step(0), at: bench.now });
    let signal = Request::Signal { run: child, name: "go".into(), payload: Json::empty(), id: "s1".into() };
    assert_eq!(bench.ask(signal), Reply::Signalled(Signalled::Buffered));
    assert_eq!((bench.changes.len(), bench.poll("w2", 9)), (0, vec![]));
    assert_eq!(bench.store.grantable_at(bench.now).map(|at| at > bench.now), Some(true));
    let view = bench.view(child);
    assert_eq!((view.status, view.reserved, view.attempt), (RunStatus::Pending, true, None));
    bench.create(child, "boot");
    let grant = bench.lease();
    assert_eq!(grant.cancel_requested.as_deref(), Some("enough"));
    assert_eq!(bench.suspend(&grant, &[]), RunStatus::Pending, "the cancel ends every sleep");
    assert!(bench.claim(&grant, 0, Some("go"), None).is_some());
    let mut told = Bench::parent(9);
    let child = told.0.reserved(&told.1, 0, "b/x");
    told.0.ask(Request::Wake { run: child, wakeup: child_done(1) });
    told.0.create(child, "boot");
    let grant = told.0.lease();
    let status = told.0.suspend(&grant, &[Wait::Child(RunId::from_parts(9, 1))]);
    assert_eq!(status, RunStatus::Suspended, "the wake did nothing");
}

/// Trace 6: what was reserved and never created, because a cancel came first, goes with its parent.
#[test]
fn the_end_of_a_parent_sweeps_what_it_never_created() {
    let (mut bench, lease) = Bench::parent(4);
    let (made, idle, wanted) = (
        bench.reserved(&lease, 0, "b/made"),
        bench.reserved(&lease, 1, "b/idle"),
        bench.reserved(&lease, 2, "b/wanted"),
    );
    bench.create(made, "boot");
    bench.deliver("b/wanted", "m2");
    for run in [lease.key.run, idle] {
        bench.ask(Request::Cancel { run, reason: "enough".into() });
    }
    bench.changes.clear();
    bench.end(&lease);
    let next = bench.run_of("b/wanted").expect("mail is pending there");
    let told = |change: &Change| match change {
        Change::Moved { run, .. } => ("moved", *run),
        Change::Swept { run } => ("swept", *run),
        Change::Made { run, .. } => ("made", *run),
        other => panic!("{other:?}"),
    };
    let told: Vec<_> = bench.changes.iter().map(told).collect();
    assert_eq!(told, [("moved", lease.key.run), ("swept", idle), ("swept", wanted), ("made", next)]);
    for run in [idle, wanted] {
        assert_eq!((bench.view(run).status, bench.view(run).reserved), (RunStatus::Cancelled, false));
        assert!(!bench.store.holds_unit(run));
        assert_eq!(bench.create(run, "boot"), Created::Exists);
        let signal = Request::Signal { run, name: "go".into(), payload: Json::empty(), id: "s1".into() };
        assert_eq!(bench.ask(signal), Reply::Signalled(Signalled::Ended));
    }
    assert_ne!(next, wanted, "an id is never used again");
    assert_eq!(bench.spec(next).tree, next);
    assert_eq!((bench.run_of("b/idle"), bench.run_of("b/made")), (None, Some(made)));
    assert!(bench.store.holds_unit(made));
}

#[test]
fn a_parent_that_rests_sweeps_nothing() {
    let rests = [Release::Pending, Release::Suspended(vec![Wait::Signal("go".into())]), Release::Halted];
    for how in rests {
        let (mut bench, lease) = Bench::parent(9);
        let child = bench.reserved(&lease, 0, "b/x");
        bench.release(&lease, how);
        assert!(bench.view(child).reserved);
    }
    let (mut bench, lease) = Bench::parent(9);
    let child = bench.reserved(&lease, 0, "b/x");
    let stale = Lease { key: LeaseKey { attempt: Attempt(7), ..lease.key.clone() }, ..lease };
    assert_eq!(bench.release(&stale, Release::Ended(RunStatus::Failed)), Released::Lost);
    assert!(bench.view(child).reserved);
}
