//! Units of budgets, whose they are, and the trees of which they are; deadlines that come from above.

use super::nursery::{denied, ending};
use super::*;

#[test]
fn a_unit_is_given_back_once_and_only_by_who_holds_one() {
    let (mut bench, lease) = Bench::parent(2);
    let child = bench.reserved(&lease, 0, "b/x");
    bench.create(child, "boot");
    bench.changes.clear();
    for run in [child, child, RunId::from_parts(5, 5)] {
        assert_eq!(bench.ask(Request::ReturnUnit { run }), Reply::Done);
    }
    assert_eq!(bench.changes, [Change::Returned { run: child }]);
    bench.reserved(&lease, 1, "b/y");
    assert_eq!(bench.reserve(&lease, 2, "b/z"), denied("the tree has its 2 runs"));
}

#[test]
fn a_run_made_by_mail_or_by_hand_holds_a_unit_of_a_tree_of_its_own() {
    let (mut bench, lease) = Bench::parent(1);
    let by_hand = RunId::from_parts(5, 5);
    let spec = RunSpec { tree: lease.key.run, ..RunSpec::root(by_hand, agent("b/x"), SpecDefaults::default()) };
    bench.ask(Request::Create { spec: spec.into(), boot: None });
    for run in [lease.key.run, by_hand] {
        assert_eq!((bench.spec(run).tree, bench.store.holds_unit(run)), (run, true));
    }
    assert_eq!(bench.reserve(&lease, 0, "b/y"), denied("the tree has its 1 runs"));
    assert!(!bench.store.holds_unit(RunId::from_parts(6, 6)));
}

#[test]
fn the_root_alone_says_how_many_runs_its_tree_may_have() {
    let (mut bench, lease) = Bench::parent(3);
    let child = bench.reserved(&lease, 0, "b/x");
    let small = SpecDefaults { spawn_budget: SpawnBudget { max_agents: 1 }, ..SpecDefaults::default() };
    let spec = RunSpec { settings: small, ..bench.spec(child) };
    bench.ask(Request::Create { spec: spec.into(), boot: None });
    let below = bench.lease();
    assert_eq!(below.key.run, child);
    bench.reserved(&below, 0, "b/y");
    assert_eq!(bench.reserve(&below, 1, "b/z"), denied("the tree has its 3 runs"));
    assert_eq!(bench.reserve(&lease, 1, "b/z"), denied("the tree has its 3 runs"));
}

#[test]
fn a_detached_run_takes_all_below_it_along_but_no_tree_of_its_own() {
    let (mut bench, root) = Bench::parent(5);
    let spawn = |bench: &mut Bench, parent: &Lease, step: u32, to: &str| {
        let child = bench.reserved(parent, step, to);
        bench.create(child, "boot");
        bench.lease()
    };
    let child = spawn(&mut bench, &root, 0, "b/child");
    let inner = spawn(&mut bench, &child, 0, "b/inner");
    let outer = spawn(&mut bench, &child, 1, "b/outer");
    let leaf = bench.reserved(&inner, 0, "b/leaf");
    let [root_run, child_run, inner_run, outer_run] = [&root, &child, &inner, &outer].map(|lease| lease.key.run);
    assert_eq!(bench.reserve(&root, 1, "b/more"), denied("the tree has its 5 runs"));
    let replanted = |bench: &mut Bench, run: RunId| {
        bench.changes.clear();
        bench.ask(Request::Detach { run });
        let told = bench.changes.iter().map(|change| match change {
            Change::Replanted { run, tree } => (*run, *tree),
            other => panic!("{other:?}"),
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(replanted(&mut bench, root_run), []);
    assert_eq!(replanted(&mut bench, inner_run), [(inner_run, inner_run), (leaf, inner_run)]);
    assert_eq!(replanted(&mut bench, inner_run), []);
    assert_eq!(replanted(&mut bench, child_run), [(child_run, child_run), (outer_run, child_run)]);
    let trees = [root_run, child_run, inner_run, outer_run, leaf].map(|run| bench.spec(run).tree);
    assert_eq!(trees, [root_run, child_run, inner_run, child_run, inner_run]);
    assert_eq!(bench.ask(Request::Detach { run: RunId::from_parts(5, 5) }), Reply::Done);
    // The units went along: each tree has room for the rest of its five.
    for step in 2..6 {
        bench.reserved(&root, step, &format!("b/root-{step}"));
    }
    for step in 2..5 {
        bench.reserved(&child, step, &format!("b/child-{step}"));
        bench.reserved(&inner, step, &format!("b/inner-{step}"));
    }
    for (lease, step) in [(&root, 6), (&child, 5), (&outer, 0), (&inner, 5)] {
        assert_eq!(bench.reserve(lease, step, "b/last"), denied("the tree has its 5 runs"));
    }
    assert_eq!(bench.reserve(&child, 0, "b/inner").clone(), bench.reserve(&child, 0, "b/inner"));
}

#[test]
fn a_run_that_is_about_to_return_its_unit_is_so_in_its_new_tree() {
    let (mut bench, root) = Bench::parent(2);
    let child = bench.reserved(&root, 0, "b/child");
    bench.create(child, "boot");
    let lease = bench.lease();
    bench.reserve(&root, 1, "b/denied");
    bench.close(child);
    bench.ask(Request::Detach { run: child });
    bench.reserved(&root, 2, "b/other");
    assert_eq!(bench.reserve(&root, 3, "b/more"), denied("the tree has its 2 runs"));
    bench.reserved(&lease, 0, "b/below");
    assert_eq!(bench.reserve(&lease, 1, "b/more"), ending(&bench));
}

#[test]
fn the_sooner_of_two_deadlines_holds_from_the_first_grant_on() {
    let secs = |secs: i64| Timestamp::from_micros(0) + Span::from_secs(secs);
    let after = |span: i64| Some(Deadline::After(Span::from_secs(span)));
    let at = |instant: i64| Some(Deadline::At(secs(instant)));
    let cases = [
        (after(10), Some(60), Some(60)),
        (after(10), Some(99), Some(70)),
        (at(50), Some(99), Some(50)),
        (at(99), Some(50), Some(50)),
        (None, Some(99), Some(99)),
        (after(10), None, Some(70)),
        (None, None, None),
    ];
    for (deadline, parents, expected) in cases {
        let (mut bench, lease) = Bench::parent(9);
        let child = bench.reserved(&lease, 0, "b/x");
        let settings = SpecDefaults { deadline, ..SpecDefaults::default() };
        let spec = RunSpec { settings, parent_deadline: parents.map(secs), ..bench.spec(child) };
        bench.ask(Request::Create { spec: spec.into(), boot: None });
        bench.now = secs(20);
        bench.ask(Request::Heartbeat { lease: lease.key });
        bench.now = secs(60);
        let grants = bench.poll("w2", 9);
        let grant = grants.iter().find(|grant| grant.key.run == child).expect("the child is pending");
        assert_eq!(grant.deadline, expected.map(secs));
    }
}
