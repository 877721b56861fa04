//! What a sweep over plans must reach: a story for each.

use serde_json::json;

use super::day::*;
use super::history::*;
use super::{memory, plans, profiles, told};
use crate::check::Sometimes;
use crate::history::ActorChange;
use crate::kernel::*;

type Story = (Sometimes, fn(&mut History));

/// `p` is done so long after it was due, and told so.
fn late(history: &mut History, secs: i64, alignment: Alignment) -> Profile {
    history.planned(json!({}));
    history.until(1_020 + secs);
    let profile = Profile { tempo_alignment: alignment, ..block(history.runs("p", 1, due()), due()) };
    history.planner("w1", closing_of("p", 1, due(), profile.clone()));
    profile
}

fn two_of_a_budget(history: &mut History, secs: i64) {
    history.ana_is_known();
    history.configures(json!({ "budget": { "log": 1 } }));
    history.planned_as("q", document(json!({ "uid": "q" })));
    history.planned(json!({}));
    history.executes("q", 1, due());
    history.until(1_020 + secs);
    let mut body = dispatch_of("p", 1, due());
    if let TraceBody::PlanDispatched { day: says, .. } = &mut body {
        *says = day(1);
    }
    history.planner("w1", body);
}

const STORIES: &[Story] = &[
    (Sometimes::AlignedExactly, |h| drop(h.done())),
    (Sometimes::AlignedPartially, |h| drop(late(h, 1_000, Alignment::Partial))),
    (Sometimes::Misaligned, |h| drop(late(h, 6_000, Alignment::Misaligned))),
    (Sometimes::DispatchRaceLost, |h| {
        h.planned(json!({}));
        h.until(1_021);
        let expected = h.last(stream());
        h.planner("w1", dispatch_of("p", 1, due()));
        let body = Body::Trace(Box::new(dispatch_of("p", 1, due()))).into();
        let conflict = ConcurrentAppend { run_id: stream(), expected, actual: expected.next() };
        h.call(worker("w2"), Request::Append { run: stream(), body, expected }, Reply::Conflict(conflict), &[]);
    }),
    (Sometimes::ClosedByAnother, |h| {
        h.planned(json!({}));
        let ran = h.runs("p", 1, due());
        h.planner("w2", closing_of("p", 1, due(), block(ran, due())));
    }),
    (Sometimes::CrashBeforeOccurrence, |h| {
        h.planned(json!({}));
        h.until(1_021);
        h.planner("w1", dispatch_of("p", 1, due()));
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::TriedAgain, lost_try),
    (Sometimes::TryLost, lost_try),
    (Sometimes::PlanSkipped, |h| {
        h.ana_is_known();
        h.proposes("p", document(json!({})), ana());
        h.rejects("p");
        h.planner("w1", skipped("p", nulls()));
    }),
    (Sometimes::HeldByBudget, |h| two_of_a_budget(h, 86_400)),
    (Sometimes::Rescheduled, |h| {
        let profile = h.done();
        h.ana(feedback_on(&profile, "f1", 1, 2, 60));
        h.proposes("q", document(json!({ "uid": "q" })), Proposer::Occurrence(occurrence("p", 1)));
    }),
    (Sometimes::ProposedByAgent, |h| plans::proposed_by_step(h, 0)),
    (Sometimes::Recurred, |h| {
        h.planned(json!({ "repeat": "daily" }));
        h.executes("p", 1, due());
        h.dispatches("p", 2, due() + Span::from_secs(86_400));
    }),
    (Sometimes::CommittedByAnother, memory::handed_over),
    (Sometimes::DraftsLeft, |h| {
        memory::staged(h);
        h.append("w1", 1, failed(FailureCode::EffectRefused));
    }),
    (Sometimes::FeedbackOnLate, |h| {
        let profile = late(h, 1_000, Alignment::Partial);
        h.ana(feedback_on(&profile, "f1", 1, 1, 60));
    }),
];

fn lost_try(history: &mut History) {
    let profile = profiles::lost_try(history);
    history.planner("w2", closing_of("p", 1, due(), profile));
}

#[test]
fn each_story_reaches_what_it_is_told_for() {
    for (what, story) in STORIES {
        let checker = told(*story).judged();
        assert!(checker.reached().any(|reached| reached == *what), "{}", what.as_str());
        assert!(checker.violations().is_empty(), "{}: {:?}", what.as_str(), checker.violations());
    }
}

#[test]
fn what_nearly_reaches_a_property_does_not() {
    let nearly: &[Story] = &[
        (Sometimes::TriedAgain, |h| drop(h.done())),
        (Sometimes::ClosedByAnother, |h| drop(h.done())),
        (Sometimes::PlanSkipped, |h| drop(h.done())),
        (Sometimes::FeedbackOnLate, |h| {
            let profile = h.done();
            h.ana(feedback_on(&profile, "f1", 1, 2, 60));
        }),
        (Sometimes::Rescheduled, |h| {
            h.done();
            h.proposes("q", document(json!({ "uid": "q" })), Proposer::Occurrence(occurrence("p", 1)));
        }),
        (Sometimes::CrashBeforeOccurrence, |h| {
            h.planned(json!({}));
            h.dispatches("p", 1, due());
            h.becomes("w1", ActorChange::Crashed);
        }),
        (Sometimes::DraftsLeft, |h| {
            memory::staged(h);
            h.append("w1", 1, completed());
        }),
    ];
    for (what, story) in nearly {
        let checker = told(*story).judged();
        assert!(checker.reached().all(|reached| reached != *what), "{}", what.as_str());
    }
}
