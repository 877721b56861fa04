//! Questions and answers, case by case. Run 1 at `billing` asks, run 2 at `helper/2` answers.

use serde_json::json;

use super::Pair;
use super::family::helper;
use super::history::*;
use crate::history::Change;
use crate::kernel::*;

fn question() -> Message {
    let (correlation, reply_to) = (Some("1.0".into()), Some(run(1)));
    Message { sender: billing(), correlation, reply_to, ..message("1.0") }
}

/// Run 1 has asked, and the question has arrived.
pub fn asked(history: &mut History) {
    history.begun();
    let opening = opening(0, CallKind::Ask);
    let limit = Span::from_secs(60);
    history.append("w1", 1, Body::AskSent { opening, to: helper(2), message: question(), limit });
    let arrival = history.arrival();
    let stored = Change::Stored { agent: helper(2), message: question().id, arrival };
    let made = Change::Made { run: run(2), agent: helper(2) };
    let request = Request::Deliver { to: helper(2), message: question(), notify: true };
    history.call(worker("w1"), request, Reply::Accepted(true), &[stored, made]);
}

/// Run 2 has got the question.
pub fn heard(history: &mut History) {
    asked(history);
    let arrival = history.last_arrival();
    let lease = history.lease("w2", 2, 0);
    let spec = RunSpec::root(run(2), helper(2), SpecDefaults::default());
    history.grant_this(Lease { spec: spec.into(), ..lease }, &[]);
    history.append("w2", 2, Body::RunStarted(LeaseEntry { agent: helper(2), ..lease_entry(0) }));
    let messages = vec![Received { message: question(), arrival }];
    history.append("w2", 2, Body::MsgReceived { step: None, messages });
}

fn reply(step: u32, answer: i64) -> Body {
    Body::ReplySent { opening: opening(step, CallKind::Reply), question: question(), answer: json!(answer).into() }
}

/// Run 2 replies 7, as the entry behind its batch.
pub fn replied(history: &mut History) {
    heard(history);
    history.append("w2", 2, reply(0, 7));
}

pub fn outcome(answer: i64, last_seq: i64) -> AskOutcome {
    let output = Some(json!(answer).into());
    let (run_id, status, error, metadata) = (run(2), RunStatus::Running, None, Json::empty());
    let result = RunResult { run_id, status, output, error, metadata };
    AskOutcome::Replied { result, last_seq: Seq::new(last_seq).unwrap() }
}

pub fn by_end(status: RunStatus) -> AskOutcome {
    let last_seq = Seq::new(2).unwrap();
    match status {
        RunStatus::Completed => {
            let (run_id, error, metadata) = (run(2), None, Json::empty());
            let result = RunResult { run_id, status, output: Some(Json::null()), error, metadata };
            AskOutcome::Replied { result, last_seq }
        }
        RunStatus::Failed => AskOutcome::TargetFailed { last_seq },
        _ => AskOutcome::TargetCancelled { last_seq },
    }
}

pub fn answers(history: &mut History, outcome: &AskOutcome, told: Signalled) {
    let payload = json!(outcome).into();
    let request = Request::Signal { run: run(1), name: "reply:1.0".into(), payload, id: "reply:1.0".into() };
    history.call(worker("w2"), request, Reply::Signalled(told), &[]);
}

pub fn claims(history: &mut History, told: Option<Claimed>) {
    // Its limit, a minute behind the entry that asks.
    let until = Some(Timestamp::from_micros(0));
    let wait = ClaimWait { signal: Some("reply:1.0".into()), until };
    history.call(worker("w1"), Request::Claim { run: run(1), step: Step(0), wait }, Reply::Claimed(told), &[]);
}

pub fn given(outcome: &AskOutcome) -> Option<Claimed> {
    let id: Name = "reply:1.0".into();
    Some(Claimed::Signal { id: id.clone(), name: id, payload: json!(outcome).into() })
}

pub fn resolves(history: &mut History, outcome: AskOutcome) {
    history.append("w1", 1, Body::AskResolved { step: Step(0), outcome: Box::new(outcome) });
}

/// Run 1 has got the reply of run 2.
pub fn resolved(history: &mut History) {
    replied(history);
    answers(history, &outcome(7, 2), Signalled::Buffered);
    claims(history, given(&outcome(7, 2)));
    resolves(history, outcome(7, 2));
}

pub fn nobody() -> AskOutcome {
    AskOutcome::TimedOut { handle: None, last_seq: Seq::EMPTY }
}

fn handle(agent: AgentId) -> AskOutcome {
    let handle = Some(RunHandle { run_id: run(2), agent_id: agent, parent_run: None });
    AskOutcome::TimedOut { handle, last_seq: Seq::EMPTY }
}

fn target_goes(history: &mut History) {
    history.returns_unit("w2", 2);
    let settled = Change::Settled { agent: helper(2), message: question().id, dead: false };
    let request = Request::Ack { agent: helper(2), message: question().id, run: run(2) };
    history.call(worker("w2"), request, Reply::Done, &[settled]);
    let ended = RunStatus::Completed;
    history.release("w2", 2, 0, Release::Ended(ended), &[moved(run(2), RunStatus::Running, ended)]);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "ask-truth",
        case: "an answer that nobody gave",
        violates: |h| {
            replied(h);
            answers(h, &outcome(8, 2), Signalled::Buffered);
        },
        nearly: |h| {
            replied(h);
            answers(h, &outcome(7, 2), Signalled::Buffered);
        },
    },
    Pair {
        invariant: "ask-truth",
        case: "an end is told although a reply was given",
        violates: |h| {
            replied(h);
            h.append("w2", 2, completed());
            answers(h, &by_end(RunStatus::Completed), Signalled::Buffered);
        },
        nearly: |h| {
            heard(h);
            h.append("w2", 2, completed());
            let AskOutcome::Replied { result, .. } = by_end(RunStatus::Completed) else { unreachable!() };
            answers(h, &AskOutcome::Replied { result, last_seq: Seq::new(2).unwrap() }, Signalled::Buffered);
        },
    },
    Pair {
        invariant: "ask-truth",
        case: "a target is said to have failed that completed",
        violates: |h| {
            heard(h);
            h.append("w2", 2, completed());
            answers(h, &by_end(RunStatus::Failed), Signalled::Buffered);
        },
        nearly: |h| {
            heard(h);
            h.append("w2", 2, value(0));
            h.append("w2", 2, failed(FailureCode::EffectRefused));
            answers(h, &AskOutcome::TargetFailed { last_seq: h.last(run(2)) }, Signalled::Buffered);
        },
    },
    Pair {
        invariant: "ask-truth",
        case: "a question that was never asked is answered",
        violates: |h| {
            h.begun();
            answers(h, &outcome(7, 2), Signalled::Buffered);
        },
        nearly: |h| {
            replied(h);
            answers(h, &outcome(7, 2), Signalled::Buffered);
            answers(h, &outcome(7, 2), Signalled::Repeated);
        },
    },
    Pair {
        invariant: "ask-truth",
        case: "a time-out over an answer that is there",
        violates: |h| {
            replied(h);
            answers(h, &outcome(7, 2), Signalled::Buffered);
            h.secs(61);
            claims(h, Some(Claimed::TimedOut));
        },
        nearly: |h| {
            replied(h);
            h.secs(61);
            claims(h, Some(Claimed::TimedOut));
            answers(h, &outcome(7, 2), Signalled::Buffered);
        },
    },
    Pair {
        invariant: "ask-truth",
        case: "the log tells another outcome than the claim",
        violates: |h| {
            replied(h);
            answers(h, &outcome(7, 2), Signalled::Buffered);
            claims(h, given(&outcome(7, 2)));
            resolves(h, outcome(8, 2));
        },
        nearly: resolved,
    },
    Pair {
        invariant: "ask-truth",
        case: "the log tells a time-out that no claim was told",
        violates: |h| {
            asked(h);
            h.secs(61);
            resolves(h, nobody());
        },
        nearly: |h| {
            asked(h);
            h.secs(61);
            claims(h, Some(Claimed::TimedOut));
            resolves(h, handle(helper(2)));
        },
    },
    Pair {
        invariant: "ask-truth",
        case: "a time-out names another agent",
        violates: |h| {
            asked(h);
            h.secs(61);
            claims(h, Some(Claimed::TimedOut));
            resolves(h, handle(billing()));
        },
        nearly: |h| {
            asked(h);
            h.secs(61);
            claims(h, Some(Claimed::TimedOut));
            resolves(h, nobody());
        },
    },
    Pair {
        invariant: "ask-truth",
        case: "the agent hears another outcome than its log says",
        violates: |h| {
            resolved(h);
            gives(h, &nobody());
        },
        nearly: |h| {
            resolved(h);
            gives(h, &outcome(7, 2));
        },
    },
    Pair {
        invariant: "ask-once",
        case: "a question has two outcomes",
        violates: |h| {
            resolved(h);
            resolves(h, outcome(7, 2));
        },
        nearly: resolved,
    },
    Pair {
        invariant: "ask-once",
        case: "two questions have one name for their answers",
        violates: |h| {
            resolved(h);
            asks_again(h, "1.0");
        },
        nearly: |h| {
            resolved(h);
            asks_again(h, "1.1");
        },
    },
    Pair {
        invariant: "ask-once",
        case: "a run replies twice",
        violates: |h| {
            replied(h);
            h.append("w2", 2, reply(1, 7));
        },
        nearly: |h| {
            replied(h);
            h.append("w2", 2, value(1));
        },
    },
    Pair {
        invariant: "ask-once",
        case: "a run replies to a question of others",
        violates: |h| {
            asked(h);
            h.append("w1", 1, reply(1, 7));
        },
        nearly: replied,
    },
    Pair {
        invariant: "announced-done",
        case: "a question stays without an answer",
        violates: |h| {
            heard(h);
            h.append("w2", 2, completed());
            target_goes(h);
        },
        nearly: |h| {
            heard(h);
            h.append("w2", 2, completed());
            let AskOutcome::Replied { result, .. } = by_end(RunStatus::Completed) else { unreachable!() };
            answers(h, &AskOutcome::Replied { result, last_seq: h.last(run(2)) }, Signalled::Buffered);
            target_goes(h);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a question with an outcome was never delivered",
        violates: |h| {
            asks_in_vain(h);
            h.completes();
            h.heals();
        },
        nearly: |h| {
            h.begun();
            asks_only(h);
            h.cancels();
            h.append_from(crate::history::Actor::Input(1), 1, Body::CancelRequested { reason: "no".into() });
            let ending = Ending::Cancelled { reason: "no".into(), in_doubt: vec![] };
            h.append("w1", 1, Body::Ended(ending));
            h.ack("w1", "m1", 1);
            h.released_as(RunStatus::Cancelled);
            h.heals();
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "the wait list forgets an answer",
        violates: |h| {
            asked(h);
            let until = Wait::Time(h.now - Span::from_millis(4) + Span::from_secs(60));
            h.append("w1", 1, suspended(&[until]));
        },
        nearly: |h| {
            asked(h);
            let until = Wait::Time(h.now - Span::from_millis(4) + Span::from_secs(60));
            h.append("w1", 1, suspended(&[Wait::Signal("reply:1.0".into()), until]));
        },
    },
];

fn gives(history: &mut History, outcome: &AskOutcome) {
    history.gives(0, json!(outcome));
}

fn asks_only(history: &mut History) {
    let (opening, limit) = (opening(0, CallKind::Ask), Span::from_secs(60));
    history.append("w1", 1, Body::AskSent { opening, to: helper(2), message: question(), limit });
}

fn asks_again(history: &mut History, correlation: &str) {
    let (opening, limit) = (opening(1, CallKind::Ask), Span::from_secs(60));
    let message = Message { id: "1.1".into(), correlation: Some(correlation.into()), ..question() };
    history.append("w1", 1, Body::AskSent { opening, to: helper(2), message, limit });
}

fn asks_in_vain(history: &mut History) {
    history.begun();
    asks_only(history);
    history.secs(61);
    claims(history, Some(Claimed::TimedOut));
    resolves(history, nobody());
}
