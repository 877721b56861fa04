//! Plans, their dispatches and closings, budgets, links.

use serde_json::{Value, json};

use super::Pair;
use super::day::*;
use super::history::*;
use crate::kernel::*;

/// `p` is closed without having run.
fn closes_skipped(history: &mut History) {
    history.planner("w1", skipped("p", nulls()));
}

/// `p` repeats, and its first occurrence is done.
/// `q` goes after `p`, and is dispatched.
fn goes_after(history: &mut History) {
    let members = json!({ "uid": "q", "tempo_token": "<tempo:after-p>", "scheduled_for": "1970-01-01T00:18:00Z" });
    history.planned_as("q", document(members));
    history.dispatches("q", 1, later(60));
}

fn repeats(history: &mut History, repeat: Value) {
    history.planned(json!({ "repeat": repeat }));
    history.executes("p", 1, due());
}

const DAY: i64 = 86_400;

fn later(secs: i64) -> Timestamp {
    due() + Span::from_secs(secs)
}

/// A dispatch, as `change` has it.
fn dispatches_as(history: &mut History, change: impl FnOnce(&mut TraceBody)) {
    let mut body = dispatch_of("p", 1, due());
    change(&mut body);
    history.until(1_021);
    history.planner("w1", body);
}

fn says_day(history: &mut History, says: Interval) {
    history.planned(json!({}));
    dispatches_as(history, |body| {
        let TraceBody::PlanDispatched { day, .. } = body else { return };
        *day = says;
    });
}

/// Three plans of one action, due at once.
fn three_plans(history: &mut History, settings: Value) {
    history.ana_is_known();
    history.configures(settings);
    for uid in ["p", "q", "r"] {
        history.planned_as(uid, document(json!({ "uid": uid })));
    }
    history.executes("p", 1, due());
    history.executes("q", 1, due());
}

/// The third of them, so long after it was due.
fn third_after(history: &mut History, secs: i64) {
    history.until(1_020 + secs);
    let mut body = dispatch_of("r", 1, due());
    if let TraceBody::PlanDispatched { day: says, .. } = &mut body {
        *says = day((1_020 + secs) / DAY);
    }
    history.planner("w1", body);
}

fn adds(history: &mut History, uid: &str, more: Value) {
    let mut trace = json!({ "uid": uid, "type": "observation", "content": "x" });
    trace.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    history.ana(TraceBody::TraceAdded { uid: uid.into(), trace: trace.into(), by: "ana".into() });
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "plan-approved",
        case: "a plan is dispatched that nobody approved",
        violates: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({})), ana());
            dispatches_as(h, |_| {});
        },
        nearly: |h| {
            h.planned(json!({}));
            dispatches_as(h, |_| {});
        },
    },
    Pair {
        invariant: "plan-approved",
        case: "a plan is approved twice",
        violates: |h| {
            h.planned(json!({}));
            h.approves("p");
        },
        nearly: |h| {
            h.planned(json!({}));
            h.planned_as("q", document(json!({ "uid": "q" })));
        },
    },
    Pair {
        invariant: "plan-approved",
        case: "a plan is rejected when it is approved",
        violates: |h| {
            h.planned(json!({}));
            h.rejects("p");
        },
        nearly: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({})), ana());
            h.rejects("p");
            closes_skipped(h);
            h.heals();
        },
    },
    Pair {
        invariant: "plan-approved",
        case: "a plan is edited when it is approved",
        violates: |h| {
            h.planned(json!({}));
            edits(h);
        },
        nearly: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({})), ana());
            edits(h);
            h.approves("p");
        },
    },
    Pair {
        invariant: "plan-approved",
        case: "a plan is proposed twice",
        violates: |h| {
            h.planned(json!({}));
            h.proposes("p", document(json!({})), ana());
        },
        nearly: |h| h.planned(json!({})),
    },
    Pair {
        invariant: "plan-approved",
        case: "another agent executes it than was approved",
        violates: |h| {
            h.planned(json!({ "target": "diary" }));
            dispatches_as(h, |_| {});
        },
        nearly: |h| {
            h.planned(json!({ "target": "note" }));
            dispatches_as(h, |_| {});
        },
    },
    Pair {
        invariant: "plan-closed-once",
        case: "an occurrence is closed twice",
        violates: |h| {
            let profile = h.done();
            h.planner("w2", closing_of("p", 1, due(), profile));
        },
        nearly: |h| {
            h.done();
            h.heals();
        },
    },
    Pair {
        invariant: "plan-closed-once",
        case: "an occurrence is dispatched twice",
        violates: |h| {
            h.planned(json!({}));
            dispatches_as(h, |_| {});
            dispatches_as(h, |_| {});
        },
        nearly: |h| {
            repeats(h, json!("daily"));
            h.executes("p", 2, later(DAY));
        },
    },
    Pair {
        invariant: "plan-closed-once",
        case: "the next occurrence is dispatched before the last one is closed",
        violates: |h| {
            h.planned(json!({ "repeat": "daily" }));
            h.runs("p", 1, due());
            h.dispatches("p", 2, later(DAY));
        },
        nearly: |h| {
            repeats(h, json!("daily"));
            h.dispatches("p", 2, later(DAY));
        },
    },
    Pair {
        invariant: "plan-closed-once",
        case: "an occurrence is closed while its run goes on",
        violates: |h| {
            h.planned(json!({}));
            h.dispatches("p", 1, due());
            h.leases("w1", "p", 1, 0);
            h.planner("w1", closing_of("p", 1, due(), nulls()));
        },
        nearly: |h| {
            h.planned(json!({}));
            h.dispatches("p", 1, due());
            h.leases("w1", "p", 1, 0);
        },
    },
    Pair {
        invariant: "plan-closed-once",
        case: "an occurrence that has ended is never closed",
        violates: |h| {
            h.planned(json!({}));
            h.runs("p", 1, due());
            h.heals();
        },
        nearly: |h| {
            h.done();
            h.heals();
        },
    },
    Pair {
        invariant: "plan-closed-once",
        case: "a rejected plan is never closed",
        violates: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({})), ana());
            h.rejects("p");
            h.heals();
        },
        nearly: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({})), ana());
            h.heals();
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "a plan is dispatched before its release",
        violates: |h| {
            h.planned(json!({}));
            h.planner("w1", dispatch_of("p", 1, due()));
        },
        nearly: |h| {
            h.planned(json!({}));
            h.now = due() - Span::from_millis(2);
            h.planner("w1", dispatch_of("p", 1, due()));
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "a plan is released before it is due",
        violates: |h| {
            h.planned(json!({}));
            dispatches_as(h, |body| released_at(body, due() - Span::from_millis(1)));
        },
        nearly: |h| {
            h.planned(json!({}));
            dispatches_as(h, |body| released_at(body, due() + Span::from_secs(1)));
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "a plan is due at another time than its document says",
        violates: |h| {
            h.planned(json!({ "scheduled_for": "1970-01-01T00:17:01Z" }));
            dispatches_as(h, |_| {});
        },
        nearly: |h| {
            h.planned(json!({ "scheduled_for": "1970-01-01T00:17:00.000Z" }));
            dispatches_as(h, |_| {});
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "the next occurrence is due a period after the last one was done, and that was late",
        violates: |h| {
            repeats(h, json!("weekly"));
            h.dispatches("p", 2, later(7 * DAY + 7_201));
        },
        nearly: |h| {
            repeats(h, json!("weekly"));
            h.dispatches("p", 2, later(7 * DAY - 3_600));
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "a recurrence drifts, a little each time",
        violates: |h| {
            repeats(h, json!({ "every": "daily" }));
            h.executes("p", 2, later(DAY + 3_600));
            h.executes("p", 3, later(2 * DAY + 7_200));
            h.dispatches("p", 4, later(3 * DAY + 10_800));
        },
        nearly: |h| {
            repeats(h, json!({ "every": "daily", "times": 4 }));
            h.executes("p", 2, later(DAY + 3_600));
            h.executes("p", 3, later(2 * DAY + 3_600));
            h.dispatches("p", 4, later(3 * DAY + 3_600));
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "months are counted from the last one that was short",
        violates: |h| {
            h.planned(json!({ "scheduled_for": "1970-01-31T00:00:00Z", "repeat": "monthly" }));
            h.executes("p", 1, at(30 * DAY));
            h.executes("p", 2, at(58 * DAY));
            h.dispatches("p", 3, at(86 * DAY));
        },
        nearly: |h| {
            h.planned(json!({ "scheduled_for": "1970-01-31T00:00:00Z", "repeat": "monthly" }));
            h.executes("p", 1, at(30 * DAY));
            h.executes("p", 2, at(58 * DAY));
            h.dispatches("p", 3, at(89 * DAY));
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "a plan comes back oftener than it is to",
        violates: |h| {
            repeats(h, json!({ "every": "daily", "times": 1 }));
            h.dispatches("p", 2, later(DAY));
        },
        nearly: |h| {
            repeats(h, json!({ "every": "daily", "times": 2, "until": "1970-01-02T00:17:00Z" }));
            h.dispatches("p", 2, later(DAY));
        },
    },
    Pair {
        invariant: "plan-served",
        case: "an approved plan is due and nobody dispatches it",
        violates: |h| {
            h.planned(json!({}));
            h.until(1_020);
            h.heals();
        },
        nearly: |h| {
            h.planned(json!({}));
            h.heals();
        },
    },
    Pair {
        invariant: "plan-served",
        case: "a plan for an agent that nobody knows is not owed",
        violates: |h| {
            h.planned(json!({ "target": "note/desk" }));
            h.until(1_020);
            h.heals();
        },
        nearly: |h| {
            h.planned(json!({ "target": "stranger" }));
            h.until(1_020);
            h.heals();
        },
    },
    Pair {
        invariant: "plan-not-early",
        case: "a plan goes before the one that it goes after is done",
        violates: |h| {
            h.planned(json!({}));
            goes_after(h);
        },
        nearly: |h| {
            h.done();
            goes_after(h);
        },
    },
    Pair {
        invariant: "plan-served",
        case: "a plan does not come back",
        violates: |h| {
            h.ana_is_known();
            h.configures(json!({ "horizon": "1970-01-31T00:00:00Z" }));
            repeats(h, json!({ "every": "daily", "times": 2 }));
            h.until(2 * DAY);
            h.heals();
        },
        nearly: |h| {
            h.ana_is_known();
            h.configures(json!({ "horizon": "1970-01-31T00:00:00Z" }));
            repeats(h, json!({ "every": "daily", "times": 2 }));
            h.executes("p", 2, later(DAY));
            h.until(3 * DAY);
            h.heals();
        },
    },
    Pair {
        invariant: "plan-served",
        case: "a plan is given up without cause",
        violates: |h| {
            h.planned(json!({}));
            closes_skipped(h);
        },
        nearly: |h| {
            h.planned(json!({ "deadline": "1970-01-01T00:16:40Z" }));
            closes_skipped(h);
            h.heals();
        },
    },
    Pair {
        invariant: "plan-served",
        case: "a plan past its horizon, or one that waits for another, is not owed",
        violates: |h| {
            h.ana_is_known();
            h.configures(json!({ "horizon": "1970-01-01T00:17:00Z" }));
            h.planned(json!({}));
            h.until(1_020);
            h.heals();
        },
        nearly: |h| {
            h.ana_is_known();
            h.configures(json!({ "horizon": "1970-01-01T00:16:59Z" }));
            h.planned(json!({}));
            h.planned_as("q", document(json!({ "uid": "q", "tempo_token": "<tempo:after-p>" })));
            h.until(1_020);
            h.heals();
        },
    },
    Pair {
        invariant: "plan-served",
        case: "a user lets all plans be approved, and one is not",
        violates: |h| {
            h.ana_is_known();
            h.configures(json!({ "auto_approve": true }));
            h.proposes("p", document(json!({})), ana());
            h.heals();
        },
        nearly: |h| {
            h.ana_is_known();
            h.configures(json!({ "auto_approve": true }));
            h.proposes("p", document(json!({})), ana());
            h.approves("p");
            h.heals();
        },
    },
    Pair {
        invariant: "cadence-kept",
        case: "a budget of a day is exceeded",
        violates: |h| {
            three_plans(h, json!({ "budget": { "log": 2 } }));
            third_after(h, 60);
        },
        nearly: |h| {
            three_plans(h, json!({ "budget": { "log": 2, "notify": 1 } }));
            third_after(h, DAY);
        },
    },
    Pair {
        invariant: "cadence-kept",
        case: "an action follows another of its kind too soon",
        violates: |h| {
            three_plans(h, json!({ "cadence": { "log": "1s" } }));
            h.configures(json!({ "cadence": { "log": "30m" } }));
            third_after(h, 1_799);
        },
        nearly: |h| {
            three_plans(h, json!({ "cadence": { "log": "1s" } }));
            h.configures(json!({ "cadence": { "log": "30m" } }));
            third_after(h, 1_830);
        },
    },
    Pair {
        invariant: "cadence-kept",
        case: "a dispatch is counted for another day",
        violates: |h| says_day(h, day(1)),
        nearly: |h| says_day(h, Interval { start: at(-3_600), end: at(DAY - 3_600) }),
    },
    Pair {
        invariant: "trace-links",
        case: "a link leads nowhere",
        violates: |h| {
            h.planned(json!({ "linked_trace_ids": ["nowhere"] }));
            h.heals();
        },
        nearly: |h| {
            h.planned(json!({ "linked_trace_ids": ["note", { "trace_id": "p#1", "relation": "follows_from" }] }));
            adds(h, "note", json!({ "linked_trace_ids": [{ "trace_id": "p", "relation": "reflects_on" }] }));
            h.executes("p", 1, due());
            h.heals();
        },
    },
    Pair {
        invariant: "trace-links",
        case: "a plan derives from an occurrence that is not closed",
        violates: |h| {
            h.planned(json!({}));
            h.proposes("q", document(json!({ "uid": "q" })), Proposer::Occurrence(occurrence("p", 1)));
            h.heals();
        },
        nearly: |h| {
            h.done();
            h.proposes("q", document(json!({ "uid": "q" })), Proposer::Occurrence(occurrence("p", 1)));
            h.heals();
        },
    },
    Pair {
        invariant: "trace-links",
        case: "a uid is there twice",
        violates: |h| {
            h.planned(json!({}));
            adds(h, "p", json!({}));
        },
        nearly: |h| {
            adds(h, "note", json!({}));
            adds(h, "other", json!({ "version": 2 }));
        },
    },
    Pair {
        invariant: "announced-done",
        case: "an occurrence is dispatched and its run never made",
        violates: |h| {
            h.planned(json!({}));
            dispatches_as(h, |_| {});
            h.heals();
        },
        nearly: |h| {
            h.done();
            h.heals();
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a worker makes a run that nobody dispatched",
        violates: |h| {
            h.planned(json!({}));
            h.makes("w1", "p", 1);
        },
        nearly: |h| {
            h.planned(json!({}));
            dispatches_as(h, |_| {});
            h.makes("w2", "p", 1);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a plan is proposed by a step that intends nothing of the kind",
        violates: |h| proposed_by_step(h, 1),
        nearly: |h| proposed_by_step(h, 0),
    },
    Pair {
        invariant: "log-tail",
        case: "a planner goes on behind what it never saw",
        violates: |h| tails_on(h, 2),
        nearly: |h| tails_on(h, 3),
    },
];

fn edits(history: &mut History) {
    let plan = document(json!({ "priority": 1 }));
    history.ana(TraceBody::PlanEdited { uid: "p".into(), edit: "e1".into(), plan, by: "ana".into() });
}

fn released_at(body: &mut TraceBody, at: Timestamp) {
    let TraceBody::PlanDispatched { release, .. } = body else { return };
    *release = at;
}

/// Step 0 of run 1 proposes a plan; the log takes it as of step `step`.
pub fn proposed_by_step(history: &mut History, step: u32) {
    history.begun();
    history.ana_is_known();
    let args = Json::new(json!({ "user": "ana", "plan": *document(json!({})) }));
    let effect = Effect::new(run(1), Step(0), PLAN_PROPOSE.into(), args);
    let opening = Opening { digest: Digest(effect.id.0), ..opening(0, CallKind::Effect) };
    history.append("w1", 1, Body::ToolCalled { opening, effect, policy: Policy::Idempotent });
    let by = Proposer::Run { run: run(1), agent: billing(), step: Step(step) };
    let proposal = TraceBody::PlanProposed { uid: "p".into(), plan: document(json!({})), by };
    history.planner("w1", proposal);
}

/// `w1` tails two entries and appends the third; then it reads on from entry `read`, the fourth, and tails behind it.
fn tails_on(history: &mut History, append: u64) {
    history.planned(json!({}));
    let tail = |h: &mut History, from: i64, entries: Vec<RunLogEntry>| {
        let from = Seq::new(from).unwrap();
        let wait = Span::from_secs(30);
        h.call(worker("w1"), Request::Tail { run: stream(), from, wait }, Reply::Entries(entries), &[]);
    };
    let entries = history.entries(stream());
    tail(history, 0, entries);
    if append == 3 {
        dispatches_as(history, |_| {});
    } else {
        history.until(1_021);
        history.planner("w2", dispatch_of("p", 1, due()));
    }
    tail(history, 3, vec![]);
}
