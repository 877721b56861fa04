//! The accounts of trees and the words of the follow graph, one sentence each; the rest is in the laws.

use super::*;

fn spend(bench: &mut Bench, run: RunId, key: u64, tokens: u64) -> Account {
    let amounts = Spend { tokens, cost_micros: tokens.saturating_mul(2), turns: 1 };
    match bench.ask(Request::Spend { run, key: EffectId(key), amounts }) {
        Reply::Account(account) => account,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_is_spent_once_whoever_spends_it() {
    let (mut bench, lease) = Bench::running();
    bench.deliver("a/other", "m2");
    let (run, other) = (lease.key.run, bench.lease().key.run);
    bench.changes.clear();
    let spent = Spend { tokens: 5, cost_micros: 10, turns: 1 };
    assert_eq!(spend(&mut bench, run, 1, 5).spent, spent);
    assert_eq!(spend(&mut bench, run, 1, 7).spent, spent);
    assert_eq!(spend(&mut bench, other, 1, 5).spent, Spend::default());
    let change = Change::Spent { tree: run, key: EffectId(1), amounts: spent };
    assert_eq!(bench.changes, [change]);
    assert_eq!(spend(&mut bench, run, 2, u64::MAX).spent.tokens, u64::MAX, "a sum ends at the greatest number");
}

#[test]
fn who_is_unknown_has_an_empty_account_and_uses_up_no_key() {
    let (mut bench, lease) = Bench::running();
    bench.changes.clear();
    assert_eq!(spend(&mut bench, RunId::from_parts(5, 5), 1, 5), Account::default());
    assert_eq!(bench.changes, []);
    assert_eq!(spend(&mut bench, lease.key.run, 1, 5).spent.tokens, 5);
}

#[test]
fn an_account_has_the_limits_that_its_root_was_made_with() {
    let mut bench = Bench::new();
    let limits = Limits { tokens: Some(42), ..Limits::default() };
    bench.register("a", 1, SpecDefaults { limits, ..SpecDefaults::default() });
    bench.deliver("a", "m1");
    let run = bench.lease().key.run;
    bench.register("a", 2, SpecDefaults::default());
    assert_eq!(bench.ask(Request::Totals { run }), Reply::Account(Account { spent: Spend::default(), limits }));
}

#[test]
fn a_detached_run_spends_from_an_account_of_its_own() {
    let (mut bench, lease) = Bench::running();
    let request = Request::Reserve { lease: lease.key.clone(), step: Step(0), agent: agent("a/child") };
    let Reply::Reserved(Reserved::Reserved { child_run, .. }) = bench.ask(request) else { panic!("the child is free") };
    let root = lease.key.run;
    assert_eq!(spend(&mut bench, child_run, 1, 5).spent.tokens, 5);
    assert_eq!(spend(&mut bench, root, 2, 1).spent.tokens, 6);
    bench.ask(Request::Detach { run: child_run });
    let totals = [spend(&mut bench, child_run, 3, 2), spend(&mut bench, root, 4, 1)];
    assert_eq!(totals.map(|account| account.spent.tokens), [2, 7]);
}
