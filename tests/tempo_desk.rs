//! The desk of a user through its public face: what is refused, with which words, and that nothing was written then; and
//! what an export shows.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use chronodrome::kernel::{
    Body, EventLog, Host, Json, Proposer, RunId, RunLogEntry, Seq, Span, Staged, Step, Task, Timestamp, TraceBody,
};
use chronodrome::store::memory::{Config, Local};
use chronodrome::tempo::{Book, Desk, Refusal, Settings};
use serde_json::{Value, json};

/// A machine on which no time passes.
struct Still;

impl Host for Still {
    fn now(&self) -> Timestamp {
        noon()
    }

    fn sleep(&self, _: Span) -> Task {
        Box::pin(std::future::ready(()))
    }

    fn spawn(&self, _: Task) {
        unreachable!("a desk starts no task")
    }

    fn random(&self, _: RunId, _: Step) -> u128 {
        0
    }
}

fn noon() -> Timestamp {
    "2025-05-11T12:00:00Z".parse().expect("an instant")
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a local store answers at once"),
    }
}

/// Ana's desk, over a store of her own, after `review` was proposed and `walk` was approved.
fn desk() -> (Rc<Local>, Desk) {
    let store = Rc::new(Local::new(Config::default(), Rc::new(noon)));
    let desk = Desk::new(store.clone(), Rc::new(Still), "ana");
    now(async {
        desk.configure(&Settings::default()).await;
        desk.propose(&plan("review", json!({})), ana()).await.expect("it is a plan");
        desk.propose(&plan("walk", json!({})), ana()).await.expect("it is a plan");
        desk.approve("walk", "ana").await.expect("it is proposed");
    });
    (store, desk)
}

fn ana() -> Proposer {
    Proposer::User("ana".into())
}

fn plan(uid: &str, more: Value) -> Json {
    let mut plan = json!({ "uid": uid, "type": "agent_plan", "content": uid, "action_type": "reflect", "status": "proposed",
        "origin": "user", "scheduled_for": "2025-05-11T20:00:00Z" });
    plan.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    Json::new(plan)
}

fn traces(store: &Local) -> Vec<RunLogEntry> {
    now(store.read(RunId::of_traces("ana"), Seq::FIRST)).expect("it answers")
}

/// Everything that is asked for here is refused.
async fn refused(desk: &Desk) -> Vec<(&'static str, Refusal)> {
    let propose = async |what, plan: Json| (what, desk.propose(&plan, ana()).await.expect_err(what));
    let feedback = |fields: Value| Json::new(fields);
    let judged = json!({ "uid": "f", "type": "feedback", "plan_uid": "walk", "feedback_rating": 6 });
    vec![
        propose("an unknown token", plan("a", json!({ "tempo_token": "<tempo:EvenningReview>" }))).await,
        propose("a time in words", plan("a", json!({ "scheduled_for": "Sunday 10am" }))).await,
        propose("a uid that is taken", plan("review", json!({ "content": "again" }))).await,
        propose("a deadline before the due time", plan("a", json!({ "deadline": "2025-05-11T19:00:00Z" }))).await,
        propose("no time at all", plan("a", json!({ "scheduled_for": null }))).await,
        propose("a status that is no proposal", plan("a", json!({ "status": "approved" }))).await,
        propose("an unknown guard", plan("a", json!({ "conditions": [{ "if_mood": "low" }] }))).await,
        propose("a link to nothing", plan("a", json!({ "linked_trace_ids": ["nowhere"] }))).await,
        propose("no plan", Json::new(json!("tidy up"))).await,
        ("an approval of nothing", desk.approve("reveiw", "ana").await.expect_err("refused")),
        ("an approval by another", desk.approve("walk", "ben").await.expect_err("refused")),
        ("a rejection of what is approved", desk.reject("walk", "ana", "no").await.expect_err("refused")),
        ("an edit of what is approved", desk.edit("walk", "e1", &Json::empty(), "ana").await.expect_err("refused")),
        ("an edit of the status", {
            let set = Json::new(json!({ "status": "executed" }));
            desk.edit("review", "e1", &set, "ana").await.expect_err("refused")
        }),
        ("an edit that makes it no plan", {
            let set = Json::new(json!({ "priority": "high" }));
            desk.edit("review", "e1", &set, "ana").await.expect_err("refused")
        }),
        ("a score of six", desk.feedback(&feedback(judged.clone()), "ana").await.expect_err("refused")),
        ("feedback before the execution", {
            let mut early = judged;
            early["feedback_rating"] = json!(5);
            desk.feedback(&feedback(early), "ana").await.expect_err("refused")
        }),
        ("a memory of no type", {
            let trace =
                Json::new(json!({ "uid": "m", "type": "dream", "timestamp": "2025-05-11T10:00:00Z", "content": "c" }));
            desk.remember(&trace, "ana").await.expect_err("refused")
        }),
        ("an export that ends before it starts", {
            let query = json!({ "user_id": "ana", "export_format": "full", "start_time": "2025-05-12T00:00:00Z",
                "end_time": "2025-05-11T00:00:00Z" });
            desk.export(&Json::new(query)).await.expect_err("refused")
        }),
        ("an export of another user", {
            let query = json!({ "user_id": "ben", "export_format": "full" });
            desk.export(&Json::new(query)).await.expect_err("refused")
        }),
    ]
}

#[test]
fn what_is_refused_is_told_with_its_place_and_leaves_log_and_queue_untouched() {
    let (store, desk) = desk();
    let before = traces(&store);
    let told: Vec<String> = now(refused(&desk))
        .into_iter()
        .map(|(what, refusal)| format!("{what}\n  {} {}: {refusal}\n", refusal.kind().status_code(), refusal.code()))
        .collect();
    assert_eq!(traces(&store), before);
    let states = |entries: &[RunLogEntry]| {
        let book = Book::of("ana", entries);
        book.plans.values().map(|plan| (plan.plan.uid.clone(), plan.queue_state(1, noon()))).collect::<Vec<_>>()
    };
    assert_eq!(states(&traces(&store)), states(&before));
    insta::assert_snapshot!(told.concat());
}

#[test]
fn a_call_that_is_repeated_changes_nothing() {
    let (store, desk) = desk();
    let before = traces(&store);
    now(async {
        desk.approve("walk", "ana").await.expect("she has approved it");
        let settings = Settings::default();
        desk.configure(&settings).await;
    });
    assert_eq!(traces(&store), before);
}

/// Appends to a stream, behind what is there.
fn append(store: &Local, stream: RunId, body: TraceBody) {
    now(async {
        let last = store.last_seq(stream).await.expect("it answers");
        store
            .append(stream, Arc::new(Body::Trace(Box::new(body))), last)
            .await
            .expect("it answers")
            .expect("it is last");
    });
}

#[test]
fn an_export_shows_what_is_committed_in_its_range_and_nothing_that_is_only_staged() {
    let (store, desk) = desk();
    let draft = |uid: &str, hour: u32, task: &str| {
        json!({ "uid": uid, "type": "observation", "timestamp": format!("2025-05-11T{hour:02}:00:00Z"),
            "content": format!("what {uid} saw"), "task_id": task })
    };
    now(desk.remember(&Json::new(draft("early", 7, "t1")), "ana")).expect("it is a trace");
    let staged = |(step, trace)| Staged { step: Step(step), trace: Json::new(trace) };
    let traces = (0..).zip([draft("first", 8, "t1"), draft("second", 9, "t2")]).map(staged).collect();
    append(&store, RunId::of_traces("ana"), TraceBody::MemoryCommitted { run: RunId::from_parts(1, 1), traces });
    let query = |more: Value| {
        let mut query = json!({ "user_id": "ana", "export_format": "summary" });
        query.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        now(desk.export(&Json::new(query))).expect("it is a query")
    };
    let range = json!({ "start_time": "2025-05-11T08:00:00Z", "end_time": "2025-05-11T09:00:00Z", "group_by": "task" });
    insta::assert_snapshot!(serde_json::to_string_pretty(&*query(range)).expect("a document"));
    let all = query(json!({ "export_format": "full" }));
    let uids: Vec<&str> =
        all["results"].as_array().expect("a list").iter().filter_map(|one| one["uid"].as_str()).collect();
    assert_eq!(uids, ["early", "first", "second"]);
    let short = query(json!({ "max_token_count": 6 }));
    assert_eq!((short["results"].as_array().map(Vec::len), &short["left_out"]), (Some(2), &json!(1)));
}
