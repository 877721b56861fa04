//! The contract cases that concern value types and the store, through the public surface: the typed contracts
//! over a local store. Numbers are those of the list of contract cases; a number that is not here concerns the
//! runtime, or is shown beside the code (21–23 effect ids, 57 turns of tenants).

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use chronodrome::kernel::*;
use chronodrome::store::memory::{Config, Local, SerialIds};
use serde_json::json;

/// A store whose clock the test moves, and the agent types that the cases need.
struct Bench {
    store: Local,
    now: Rc<Cell<Timestamp>>,
}

/// The value of a future that never waits.
fn ready<T>(future: impl Future<Output = Result<T, CallError>>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value.expect("a local store is always there"),
        Poll::Pending => panic!("a local store never waits"),
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn agent(text: &str) -> AgentId {
    text.parse().unwrap()
}

fn run_id(number: u128) -> RunId {
    RunId::from_parts(7, number)
}

fn worker(name: &str) -> WorkerId {
    WorkerId { name: name.into(), incarnation: 0 }
}

fn message(id: &str, sender: &str) -> Message {
    Message { id: id.into(), sender: agent(sender), data: Json::empty(), correlation: None, reply_to: None }
}

fn note(text: &str) -> Arc<Body> {
    Arc::new(Body::Other { kind: "app.note".into(), payload: Json::new(json!({ "text": text })) })
}

fn ids(mail: &[Drained]) -> Vec<&str> {
    mail.iter().map(|drained| &*drained.received.message.id).collect()
}

impl Bench {
    fn new() -> Bench {
        let now = Rc::new(Cell::new(at("2025-05-11T20:00:00Z")));
        let clock = now.clone();
        let bench = Bench { store: Local::new(Config::default(), Rc::new(move || clock.get())), now };
        bench.register("assistant", SpecDefaults::default());
        bench
    }

    fn register(&self, kind: &str, defaults: SpecDefaults) {
        ready(self.store.register(kind.into(), Version(1), defaults));
    }

    fn wait(&self, span: Span) {
        self.now.set(self.now.get() + span);
    }

    fn deliver(&self, to: &str, id: &str, sender: &str) -> bool {
        ready(self.store.deliver(agent(to), message(id, sender), true)).unwrap()
    }

    /// The one run that a poll grants.
    fn lease(&self, name: &str) -> Lease {
        let mut leases = ready(self.store.lease(worker(name), 1, Span::ZERO));
        leases.pop().expect("a run is pending")
    }

    fn drain(&self, lease: &Lease) -> Vec<Drained> {
        ready(self.store.drain(lease.spec.agent.clone(), lease.key.run, None, 100))
    }

    fn release(&self, lease: &Lease, how: Release) -> Released {
        ready(self.store.release(lease.key.clone(), how))
    }

    fn status(&self, run: RunId) -> RunStatus {
        ready(self.store.status(run)).expect("the run was made").status
    }

    fn append(&self, run: RunId, text: &str, expected: i64) -> Result<Appended, ConcurrentAppend> {
        ready(self.store.append(run, note(text), Seq::new(expected).unwrap()))
    }

    fn seqs(&self, run: RunId, from: i64) -> Vec<i64> {
        let entries = ready(self.store.read(run, Seq::new(from).unwrap()));
        entries.iter().map(|entry| entry.seq.get()).collect()
    }

    /// The run at an address whose mail makes it, leased.
    fn root(&self, address: &str) -> Lease {
        self.deliver(address, "m1", "shop");
        self.lease("w1")
    }

    fn reserve(&self, parent: &Lease, step: u32, child: &str) -> Reserved {
        ready(self.store.reserve(parent.key.clone(), Step(step), agent(child)))
    }

    /// What a parent's worker does to spawn a child: reserve, announce, create.
    fn spawn(&self, parent: &Lease, step: u32, child: &str) -> RunId {
        let Reserved::Reserved { child_run, .. } = self.reserve(parent, step, child) else {
            panic!("the child is free");
        };
        let spec = (*ready(self.store.spec(child_run)).expect("the child is known")).clone();
        let boot = message(&format!("{}.{step}", parent.key.run), parent.spec.agent.as_str());
        let opening = Opening { step: Step(step), group: None, call: CallKind::Spawn, digest: Digest(0) };
        let announced = Body::ChildSpawned { opening, spec: Box::new(spec.clone()), boot: boot.clone() };
        let last = ready(self.store.last_seq(parent.key.run));
        ready(self.store.append(parent.key.run, announced.into(), last)).unwrap();
        assert_eq!(ready(self.store.create(spec, Some(boot))), Ok(Created::Created));
        child_run
    }

    fn spend(&self, run: RunId, key: u64, tokens: u64) -> u64 {
        let amounts = Spend { tokens, ..Spend::default() };
        ready(self.store.spend(run, EffectId(key), amounts)).spent.tokens
    }

    fn spent(&self, run: RunId) -> u64 {
        ready(self.store.totals(run)).spent.tokens
    }

    /// How many runs hold a unit of a budget.
    fn units(&self) -> usize {
        self.store.look(|memory| memory.runs().filter(|run| memory.holds_unit(run.spec.run)).count())
    }

    fn pending_count(&self, at: &str) -> u64 {
        ready(self.store.pending_count(agent(at)))
    }
}

/// Case 1.
#[test]
fn two_minted_run_ids_differ_and_rise() {
    let mut ids = SerialIds::new(at("2025-05-11T20:00:00Z"));
    let (first, second) = (ids.mint(&agent("a"), 1), ids.mint(&agent("a"), 2));
    assert!(first < second);
    assert_eq!(first.to_string().len(), 32);
}

/// Cases 2 and 3.
#[test]
fn the_statuses_are_three_active_and_three_terminal_ones() {
    let text: Vec<_> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!(text, ["pending", "running", "suspended", "completed", "failed", "cancelled"]);
    assert_eq!(RunStatus::ALL.iter().filter(|status| status.is_terminal()).count(), 3);
}

/// Cases 4, 6, 7 and 16.
#[test]
fn entries_come_back_in_order_stamped_by_the_store_and_survive_json() {
    let (bench, run) = (Bench::new(), run_id(1));
    assert_eq!(bench.append(run, "a", -1).unwrap().seq, Seq::FIRST);
    bench.wait(Span::from_secs(1));
    bench.append(run, "b", 0).unwrap();
    let entries = ready(bench.store.read(run, Seq::FIRST));
    let stamps: Vec<_> = entries.iter().map(|entry| entry.ts.to_string()).collect();
    assert_eq!(stamps, ["2025-05-11T20:00:00Z", "2025-05-11T20:00:01Z"]);
    for entry in &entries {
        let text = serde_json::to_string(entry).unwrap();
        assert_eq!(serde_json::from_str::<RunLogEntry>(&text).unwrap(), *entry);
    }
    let bare = json!({"run_id": run, "seq": 0, "ts": "2025-05-11T20:00:00Z", "kind": "app.note"});
    let bare: RunLogEntry = serde_json::from_value(bare).unwrap();
    assert_eq!(*bare.body, Body::Other { kind: "app.note".into(), payload: Json::empty() });
}

/// Case 8.
#[test]
fn a_log_entry_with_a_place_before_the_first_is_refused() {
    let entry = |seq: i64| {
        let value = json!({"run_id": run_id(1), "seq": seq, "ts": "2025-05-11T20:00:00Z", "kind": "app.note"});
        serde_json::from_value::<RunLogEntry>(value)
    };
    assert!(entry(-1).is_err());
    assert!(entry(0).is_ok());
}

/// Case 9.
#[test]
fn value_types_survive_json() {
    fn check<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: T) {
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
    }
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    check(bench.lease("w1"));
    let effect = Effect::new(run_id(1), Step(2), "email.send".into(), Json::new(json!({"to": "ann"})));
    check(EffectResult::refused(effect.id, "no such mailbox", None));
    check(effect);
    check(Wakeup::Timer { at: at("2025-05-11T20:00:00Z") });
    check(RunHandle { run_id: run_id(2), agent_id: agent("assistant/x"), parent_run: Some(run_id(1)) });
    check(RunResult {
        run_id: run_id(2),
        status: RunStatus::Failed,
        output: None,
        error: Some("boom".into()),
        metadata: Json::new(json!({"leases": 3})),
    });
}

/// Cases 11 and 12.
#[test]
fn the_retry_policy_has_defaults_and_refuses_negative_numbers() {
    let policy: RunRetryPolicy = serde_json::from_value(json!({})).unwrap();
    assert_eq!(policy, RunRetryPolicy::default());
    assert_eq!((policy.max_retries, policy.backoff, policy.dead_run_on_cancel), (3, Span::from_secs(5), false));
    assert!(serde_json::from_value::<RunRetryPolicy>(json!({"max_retries": -1})).is_err());
    assert!(serde_json::from_value::<RunRetryPolicy>(json!({"backoff": "-5s"})).is_err());
}

/// Case 13.
#[test]
fn a_result_keeps_its_terminal_status() {
    for status in RunStatus::ALL.into_iter().filter(|status| status.is_terminal()) {
        let result = RunResult { run_id: run_id(1), status, output: None, error: None, metadata: Json::empty() };
        assert_eq!(serde_json::to_value(&result).unwrap()["status"], status.as_str());
    }
}

/// Cases 15, 17 and 18.
#[test]
fn an_append_behind_another_than_the_last_entry_conflicts_and_writes_nothing() {
    let (bench, run) = (Bench::new(), run_id(1));
    assert_eq!(ready(bench.store.last_seq(run)), Seq::EMPTY);
    bench.append(run, "a", -1).unwrap();
    let conflict = bench.append(run, "b", -1).unwrap_err();
    assert_eq!((conflict.run_id, conflict.expected, conflict.actual), (run, Seq::EMPTY, Seq::FIRST));
    assert_eq!(conflict.to_string(), format!("log of run {run}: expected the last entry to be -1, it is 0"));
    assert!(bench.append(run, "b", 5).is_err());
    assert_eq!(bench.seqs(run, 0), [0]);
}

/// Cases 19, 64, 65 and 66; a tail goes on at the last entry seen + 1, also at the head and from an empty log.
#[test]
fn reads_and_tails_give_every_entry_from_a_place_on_once() {
    let (bench, run) = (Bench::new(), run_id(1));
    let tail = |from: i64| -> Vec<i64> {
        let entries = ready(bench.store.tail(run, Seq::new(from).unwrap(), Span::ZERO));
        entries.iter().map(|entry| entry.seq.get()).collect()
    };
    assert_eq!(tail(0), [0; 0]);
    for expected in -1..4 {
        bench.append(run, "x", expected).unwrap();
    }
    for (from, seqs) in [(-1, vec![0, 1, 2, 3, 4]), (0, vec![0, 1, 2, 3, 4]), (3, vec![3, 4]), (5, vec![]), (9, vec![])]
    {
        assert_eq!(bench.seqs(run, from), seqs, "from {from}");
        assert_eq!(tail(from), seqs, "from {from}");
    }
    bench.append(run, "y", 4).unwrap();
    assert_eq!(tail(5), [5]);
    assert_eq!(ready(bench.store.last_seq(run)).get(), 5);
    assert_eq!(ready(bench.store.last_seq(run_id(2))), Seq::EMPTY);
}

/// Cases 20 and 67.
#[test]
fn a_kind_that_nobody_knows_comes_back_unchanged() {
    let (bench, run) = (Bench::new(), run_id(1));
    let body =
        Arc::new(Body::Other { kind: "app.custom".into(), payload: Json::new(json!({"deep": [1, {"a": null}]})) });
    ready(bench.store.append(run, body.clone(), Seq::EMPTY)).unwrap();
    assert_eq!(ready(bench.store.read(run, Seq::FIRST))[0].body, body);
}

/// Cases 44, 45, 46 and 48.
#[test]
fn a_message_is_accepted_once_drained_until_acked_and_then_gone() {
    let bench = Bench::new();
    assert!(bench.deliver("assistant/ann", "m1", "shop"));
    assert!(!bench.deliver("assistant/ann", "m1", "shop"));
    assert_eq!(bench.pending_count("assistant/ann"), 1);
    let lease = bench.lease("w1");
    assert_eq!(ids(&bench.drain(&lease)), ["m1"]);
    assert_eq!(ids(&bench.drain(&lease)), ["m1"]);
    ready(bench.store.ack(agent("assistant/ann"), "m1".into(), lease.key.run));
    assert_eq!(bench.pending_count("assistant/ann"), 0);
    assert_eq!(ids(&bench.drain(&lease)), [""; 0]);
}

/// Cases 47 and 49.
#[test]
fn the_mail_of_one_sender_is_drained_in_order_of_arrival() {
    let bench = Bench::new();
    for id in ["m3", "m1", "m5", "m2", "m4"] {
        bench.deliver("assistant/ann", id, "shop");
    }
    assert_eq!(ids(&bench.drain(&bench.lease("w1"))), ["m3", "m1", "m5", "m2", "m4"]);
}

/// Case 50.
#[test]
fn mail_with_notice_makes_a_pending_run_and_mail_without_does_not() {
    let bench = Bench::new();
    ready(bench.store.deliver(agent("assistant/quiet"), message("m1", "shop"), false)).unwrap();
    assert_eq!(ready(bench.store.run_of(agent("assistant/quiet"))), None);
    bench.deliver("assistant/ann", "m1", "shop");
    let run = ready(bench.store.run_of(agent("assistant/ann"))).expect("a run was made");
    assert_eq!(bench.status(run), RunStatus::Pending);
    assert_eq!(ready(bench.store.pending()), [run]);
}

/// Case 51.
#[test]
fn mail_to_a_running_run_makes_no_other_run_and_its_sleep_ends_at_once() {
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    let lease = bench.lease("w1");
    let received = bench.drain(&lease)[0].received.arrival;
    bench.deliver("assistant/ann", "m2", "shop");
    assert_eq!(ready(bench.store.run_of(agent("assistant/ann"))), Some(lease.key.run));
    assert_eq!(ready(bench.store.pending()), []);
    bench.release(&lease, Release::Suspended(vec![Wait::Message { after: received }]));
    assert_eq!(bench.status(lease.key.run), RunStatus::Pending);
}

/// Cases 52 and 53.
#[test]
fn an_id_is_accepted_once_also_in_flight_and_after_its_ack() {
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    let lease = bench.lease("w1");
    assert!(!bench.deliver("assistant/ann", "m1", "shop"));
    assert_eq!(ids(&bench.drain(&lease)), ["m1"]);
    ready(bench.store.ack(agent("assistant/ann"), "m1".into(), lease.key.run));
    bench.release(&lease, Release::Ended(RunStatus::Completed));
    assert!(!bench.deliver("assistant/ann", "m1", "shop"));
    assert_eq!(bench.pending_count("assistant/ann"), 0);
    assert_eq!(ready(bench.store.run_of(agent("assistant/ann"))), None);
}

/// Case 54.
#[test]
fn a_created_run_is_pending_and_its_first_lease_is_attempt_0() {
    let bench = Bench::new();
    let spec = RunSpec::root(run_id(1), agent("assistant/ann"), SpecDefaults::default());
    assert_eq!(ready(bench.store.create(spec.clone(), None)), Ok(Created::Created));
    assert_eq!(bench.status(run_id(1)), RunStatus::Pending);
    let lease = bench.lease("w1");
    assert_eq!((lease.key.run, lease.key.attempt), (run_id(1), Attempt(0)));
    assert_eq!(lease.expires_at.since(lease.granted_at), Span::from_secs(30));
    assert_eq!(bench.status(run_id(1)), RunStatus::Running);
    assert_eq!(ready(bench.store.create(spec.clone(), None)), Ok(Created::Exists));
    assert_eq!(ready(bench.store.create(RunSpec { run: run_id(2), ..spec }, None)), Ok(Created::Busy));
}

/// Case 55.
#[test]
fn the_higher_priority_is_leased_first() {
    let bench = Bench::new();
    for (kind, priority) in [("low", Priority::Low), ("high", Priority::High)] {
        bench.register(kind, SpecDefaults { priority, ..SpecDefaults::default() });
        bench.deliver(kind, "m1", "shop");
    }
    let order = [bench.lease("w1"), bench.lease("w1")].map(|lease| lease.spec.agent.to_string());
    assert_eq!(order, ["high", "low"]);
}

/// Case 56.
#[test]
fn a_quiet_tenant_is_among_the_first_two_behind_a_noisy_one() {
    let bench = Bench::new();
    for (kind, tenant) in [("noisy", "n"), ("quiet", "q")] {
        bench.register(kind, SpecDefaults { tenant: Some(tenant.into()), ..SpecDefaults::default() });
    }
    for address in ["noisy/1", "noisy/2", "noisy/3", "quiet/1"] {
        bench.deliver(address, "m1", "shop");
    }
    let leases = ready(bench.store.lease(worker("w1"), 2, Span::ZERO));
    let granted: Vec<_> = leases.iter().map(|lease| lease.spec.agent.as_str()).collect();
    assert_eq!(granted, ["noisy/1", "quiet/1"]);
}

/// Case 58, as far as the store goes.
#[test]
fn a_cancelled_run_stays_running_until_its_holder_ends_it() {
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    let lease = bench.lease("w1");
    ready(bench.store.cancel(lease.key.run, "enough".into()));
    ready(bench.store.cancel(lease.key.run, "again".into()));
    assert_eq!(bench.status(lease.key.run), RunStatus::Running);
    let Heartbeat::CancelRequested(_, reason) = ready(bench.store.heartbeat(lease.key.clone())) else {
        panic!("the holder hears of the cancel");
    };
    assert_eq!(&*reason, "enough");
}

/// Case 59, as far as the store goes.
#[test]
fn a_sleeping_run_is_leased_with_its_deadline_as_trigger_once_that_is_over() {
    let bench = Bench::new();
    let deadline = Some(Deadline::After(Span::from_secs(60)));
    bench.register("hurried", SpecDefaults { deadline, ..SpecDefaults::default() });
    bench.deliver("hurried", "m1", "shop");
    let lease = bench.lease("w1");
    bench.release(&lease, Release::Suspended(vec![Wait::Signal("never".into())]));
    bench.wait(Span::from_secs(59));
    assert_eq!(ready(bench.store.lease(worker("w1"), 1, Span::ZERO)), []);
    bench.wait(Span::from_secs(1));
    let lease = bench.lease("w1");
    assert_eq!(lease.woken_by, [Trigger::Deadline]);
    assert_eq!(lease.deadline, Some(lease.granted_at));
}

/// Cases 63 and 68, as far as the store goes.
#[test]
fn a_run_is_released_with_the_status_of_its_end_and_keeps_it() {
    for status in RunStatus::ALL {
        let bench = Bench::new();
        bench.deliver("assistant/ann", "m1", "shop");
        let lease = bench.lease("w1");
        let released = bench.release(&lease, Release::Ended(status));
        let (answer, after) =
            if status.is_terminal() { (Released::Released, status) } else { (Released::Lost, RunStatus::Running) };
        assert_eq!((released, bench.status(lease.key.run)), (answer, after));
        if status.is_terminal() {
            assert_eq!(bench.release(&lease, Release::Ended(RunStatus::Failed)), Released::Lost);
            ready(bench.store.cancel(lease.key.run, "late".into()));
            assert_eq!(bench.status(lease.key.run), status);
        }
    }
}

/// Case 70.
#[test]
fn a_step_that_claims_twice_gets_the_same_signal_and_another_step_nothing() {
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    let run = bench.lease("w1").key.run;
    ready(bench.store.signal(run, "go".into(), Json::new(json!({"n": 1})), "s1".into()));
    let claim = |step| ready(bench.store.claim(run, Step(step), ClaimWait { signal: Some("go".into()), until: None }));
    let first = claim(1);
    assert!(matches!(&first, Some(Claimed::Signal { payload, .. }) if payload["n"] == 1));
    assert_eq!(claim(1), first);
    assert_eq!(claim(2), None);
}

/// Cases 71 and 72.
#[test]
fn a_sleeping_run_is_woken_by_the_signal_that_it_waits_for_and_by_no_other() {
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    let lease = bench.lease("w1");
    let run = lease.key.run;
    bench.release(&lease, Release::Suspended(vec![Wait::Signal("go".into())]));
    let signal = |name: &str, id: &str| ready(bench.store.signal(run, name.into(), Json::empty(), id.into()));
    assert_eq!(signal("stop", "s1"), Signalled::Buffered);
    assert_eq!(bench.status(run), RunStatus::Suspended);
    assert_eq!(signal("go", "s1"), Signalled::Repeated);
    assert_eq!(bench.status(run), RunStatus::Suspended);
    assert_eq!(signal("go", "s2"), Signalled::Buffered);
    assert_eq!(bench.status(run), RunStatus::Pending);
    let lease = bench.lease("w1");
    let go = Wakeup::Signal { signal: "go".into(), payload: Json::empty() };
    assert_eq!(lease.woken_by, [Trigger::Wakeup(go)]);
    bench.release(&lease, Release::Suspended(vec![Wait::Signal("stop".into())]));
    assert_eq!(bench.status(run), RunStatus::Pending, "what woke nobody was stored");
}

/// Case 73.
#[test]
fn a_timer_wakes_not_before_its_time_and_then_at_once() {
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    let lease = bench.lease("w1");
    let until = bench.now.get() + Span::from_secs(60);
    bench.release(&lease, Release::Suspended(vec![Wait::Time(until)]));
    bench.wait(Span::from_secs(30));
    assert_eq!(ready(bench.store.lease(worker("w1"), 1, Span::ZERO)), []);
    bench.wait(Span::from_secs(30) - Span::from_micros(1));
    assert_eq!(ready(bench.store.lease(worker("w1"), 1, Span::ZERO)), []);
    bench.wait(Span::from_micros(1));
    assert_eq!(bench.lease("w1").woken_by, [Trigger::Wakeup(Wakeup::Timer { at: until })]);
}

/// Cases 76 and 77.
#[test]
fn a_spawned_child_is_announced_and_finds_its_first_message() {
    let bench = Bench::new();
    let parent = bench.root("assistant/ann");
    let child = bench.spawn(&parent, 0, "assistant/helper");
    let announced = &ready(bench.store.read(parent.key.run, Seq::FIRST))[0].body;
    assert!(matches!(&**announced, Body::ChildSpawned { spec, .. } if spec.run == child));
    let lease = bench.lease("w1");
    assert_eq!((lease.key.run, lease.spec.parent), (child, Some(parent.key.run)));
    assert_eq!(ids(&bench.drain(&lease)), [format!("{}.0", parent.key.run)]);
}

/// Case 81, as far as the store goes: the addresses that a spawn by type derives are all free.
#[test]
fn two_parents_have_children_of_one_type_at_two_addresses() {
    let bench = Bench::new();
    let parents = [bench.root("assistant/ann"), bench.root("assistant/bob")];
    let children = parents.map(|parent| {
        let address = format!("assistant/{}.0", parent.key.run);
        let child = bench.spawn(&parent, 0, &address);
        (address.clone(), ready(bench.store.run_of(agent(&address))) == Some(child))
    });
    assert_ne!(children[0].0, children[1].0);
    assert!(children.iter().all(|(_, is_there)| *is_there));
}

/// Case 82.
#[test]
fn the_whole_tree_sees_the_budget_of_its_root() {
    for tokens in [42, 77] {
        let bench = Bench::new();
        let limits = Limits { tokens: Some(tokens), ..Limits::default() };
        bench.register("root", SpecDefaults { limits, ..SpecDefaults::default() });
        let root = bench.root("root");
        bench.spawn(&root, 0, "assistant/child");
        let child = bench.lease("w1");
        let below = bench.spawn(&child, 0, "assistant/below");
        for run in [root.key.run, child.key.run, below] {
            assert_eq!(ready(bench.store.totals(run)).limits.tokens, Some(tokens));
        }
    }
}

/// Case 83.
#[test]
fn a_tree_of_three_runs_has_a_root_and_two_children() {
    let bench = Bench::new();
    let spawn_budget = SpawnBudget { max_agents: 3 };
    bench.register("root", SpecDefaults { spawn_budget, ..SpecDefaults::default() });
    let root = bench.root("root");
    bench.spawn(&root, 0, "assistant/1");
    bench.spawn(&root, 1, "assistant/2");
    let denied = Reserved::Denied { reason: "the tree has its 3 runs".into() };
    assert_eq!(bench.reserve(&root, 2, "assistant/3"), denied);
    assert_eq!(ready(bench.store.run_of(agent("assistant/3"))), None);
}

/// Case 84.
#[test]
fn units_are_given_out_and_come_back() {
    let bench = Bench::new();
    let root = bench.root("assistant/ann");
    let children = [bench.spawn(&root, 0, "assistant/1"), bench.spawn(&root, 1, "assistant/2")];
    let mut units = vec![bench.units()];
    for child in children {
        ready(bench.store.return_unit(child));
        units.push(bench.units());
    }
    assert_eq!(units, [3, 2, 1]);
}

/// Cases 87 and 88.
#[test]
fn what_is_spent_adds_up_from_zero_each_key_once() {
    let bench = Bench::new();
    let run = bench.root("assistant/ann").key.run;
    assert_eq!(bench.spent(run), 0);
    assert_eq!([bench.spend(run, 1, 5), bench.spend(run, 2, 6), bench.spend(run, 1, 5)], [5, 11, 11]);
    assert_eq!(bench.spent(run), 11);
}

/// Cases 89 and 90.
#[test]
fn parent_and_child_have_one_account_and_strangers_their_own() {
    let bench = Bench::new();
    let (parent, stranger) = (bench.root("assistant/ann"), bench.root("assistant/bob"));
    let child = bench.spawn(&parent, 0, "assistant/helper");
    assert_eq!(bench.spend(child, 1, 5), 5);
    assert_eq!(bench.spend(stranger.key.run, 2, 3), 3);
    assert_eq!([parent.key.run, child, stranger.key.run].map(|run| bench.spent(run)), [5, 5, 3]);
}

/// Case 91, as far as the store goes.
#[test]
fn a_cancelled_pending_run_is_leased_and_its_worker_told() {
    let bench = Bench::new();
    bench.deliver("assistant/ann", "m1", "shop");
    let run = ready(bench.store.run_of(agent("assistant/ann"))).unwrap();
    ready(bench.store.cancel(run, "enough".into()));
    assert_eq!(bench.status(run), RunStatus::Pending);
    assert_eq!(bench.lease("w1").cancel_requested.as_deref(), Some("enough"));
}

/// Case 93, as far as the store goes: what is published is delivered to whom the graph names.
#[test]
fn two_followers_without_a_run_are_both_woken_by_one_message() {
    let bench = Bench::new();
    let topic: TopicId = "news".parse().unwrap();
    let stamp = Stamp { ts: bench.now.get(), step: Step(0) };
    for follower in ["assistant/bob", "assistant/ann", "assistant/bob"] {
        ready(bench.store.follow(agent(follower), topic.clone(), stamp));
    }
    let followers = ready(bench.store.followers_of(topic.clone()));
    assert_eq!(followers, [agent("assistant/ann"), agent("assistant/bob")]);
    assert_eq!(ready(bench.store.following(agent("assistant/ann"))), [topic]);
    for follower in followers {
        assert!(bench.deliver(follower.as_str(), "news-1", "assistant/editor"));
    }
    let leases = ready(bench.store.lease(worker("w1"), 9, Span::ZERO));
    assert_eq!(leases.len(), 2);
    assert!(leases.iter().all(|lease| ids(&bench.drain(lease)) == ["news-1"]));
}

/// Cases 95 and 96: mail before the first drain makes one run, which sees it all.
#[test]
fn three_deliveries_before_the_drain_make_one_run_that_sees_all() {
    let bench = Bench::new();
    for id in ["m1", "m2", "m3"] {
        bench.deliver("assistant/ann", id, "shop");
    }
    assert_eq!(ready(bench.store.pending()).len(), 1);
    assert_eq!(bench.drain(&bench.lease("w1")).len(), 3);
}

/// Artifacts: by content.
#[test]
fn the_same_bytes_have_the_same_reference() {
    let bench = Bench::new();
    let put = |text: &str| ready(bench.store.put(text.as_bytes().into()));
    let artifact = put("abc");
    assert_eq!(&*artifact.0, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(put("abc"), artifact);
    assert_ne!(put("abd"), artifact);
    assert_eq!(ready(bench.store.get(artifact)).as_deref(), Some(&b"abc"[..]));
    assert_eq!(ready(bench.store.get(ArtifactRef("00".into()))), None);
}

/// The journal: the first result stands, whoever asks or records again.
#[test]
fn the_first_result_of_an_effect_stands() {
    let bench = Bench::new();
    let effect = EffectId(1);
    assert_eq!(ready(bench.store.lookup(effect)), None);
    let first = EffectResult::ok(effect, Json::new(json!({"charge": 1})));
    assert_eq!(ready(bench.store.record(first.clone())), first);
    assert_eq!(ready(bench.store.record(EffectResult::in_doubt(effect))), first);
    assert_eq!(ready(bench.store.lookup(effect)), Some(first));
    assert_eq!(ready(bench.store.lookup(EffectId(2))), None);
}
