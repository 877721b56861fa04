//! What is expected of plans, of memory, and of what clients are refused, as files say it.

use super::decode::{Decoded, Doc};
use super::expectation::{bound, bound_of};
use super::scope::Cast;
use crate::kernel::{Alignment, Execution, Span};
use crate::scenario::expect::{Bound, Expectation};
use crate::scenario::plans::QUEUE_STATES;
use crate::scenario::plans::expected::{PlanFact, SpanBound, Which};
use crate::tempo::{ErrorKind, PlanStatus};

/// Where a plan may stand.
pub const STATUSES: [PlanStatus; 4] =
    [PlanStatus::Proposed, PlanStatus::Approved, PlanStatus::Rejected, PlanStatus::Executed];

/// How near to its window an occurrence may be.
pub const ALIGNMENTS: [Alignment; 3] = [Alignment::Exact, Alignment::Partial, Alignment::Misaligned];

/// How an execution may end.
pub const RESULTS: [Execution; 4] = [Execution::Completed, Execution::Failed, Execution::Skipped, Execution::Cancelled];

/// About a plan, or one occurrence of it.
pub fn plan(doc: &Doc<'_>, cast: &Cast<'_>, all: &mut Vec<Expectation>) -> Decoded<()> {
    let object = doc.object(&[
        "plan",
        "user",
        "status",
        "queue",
        "occurrences",
        "alignment",
        "result",
        "deviation",
        "duration",
        "attempts",
        "score",
        "reward",
        "reason",
    ])?;
    let plan = Which::of(&object.need("plan")?.name()?);
    let user = cast.users.of(&object)?;
    let facts = [
        object.maybe("status", |doc| list(doc, "status", STATUSES, PlanStatus::as_str))?.map(PlanFact::Status),
        object
            .maybe("queue", |doc| list(doc, "place in the queue", QUEUE_STATES, |state| state.as_str()))?
            .map(PlanFact::Queue),
        object.maybe("occurrences", bound)?.map(PlanFact::Occurrences),
        object
            .maybe("alignment", |doc| list(doc, "alignment", ALIGNMENTS, Alignment::as_str))?
            .map(PlanFact::Alignment),
        object.maybe("result", |doc| list(doc, "result", RESULTS, Execution::as_str))?.map(PlanFact::Result),
        object.maybe("deviation", bound_of_time)?.map(PlanFact::Deviation),
        object.maybe("duration", bound_of_time)?.map(PlanFact::Duration),
        object.maybe("attempts", bound)?.map(PlanFact::Attempts),
        object.maybe("score", |doc| bound_of(doc, |doc| doc.integer(1, 5)))?.map(PlanFact::Score),
        object.maybe("reward", |doc| bound_of(doc, tenths))?.map(PlanFact::Reward),
        object.maybe("reason", Doc::name)?.map(PlanFact::Reason),
    ];
    let expected = facts.into_iter().flatten();
    all.extend(expected.map(|fact| Expectation::Plan { plan: plan.clone(), user: user.clone(), fact }));
    Ok(())
}

/// About a memory trace.
pub fn memory(doc: &Doc<'_>, cast: &Cast<'_>, all: &mut Vec<Expectation>) -> Decoded<()> {
    let object = doc.object(&["memory", "user", "exists"])?;
    let uid = object.need("memory")?.name()?;
    let user = cast.users.of(&object)?;
    if let Some(exists) = object.maybe("exists", Doc::flag)? {
        all.push(Expectation::Memory { uid, user, exists });
    }
    Ok(())
}

/// About what clients were refused.
pub fn refused(doc: &Doc<'_>, all: &mut Vec<Expectation>) -> Decoded<()> {
    let object = doc.object(&["refused", "times"])?;
    let code = object.need("refused")?;
    code.one_of("refusal", &ErrorKind::ALL.map(|kind| (kind.as_str(), ())))?;
    if let Some(bound) = object.maybe("times", bound)? {
        all.push(Expectation::Refused { code: code.name()?, bound });
    }
    Ok(())
}

/// One of these, or a list of them.
fn list<T: Copy, const N: usize>(
    doc: &Doc<'_>,
    what: &str,
    all: [T; N],
    word: impl Fn(T) -> &'static str,
) -> Decoded<Vec<T>> {
    let choices = all.map(|each| (word(each), each));
    let list = doc.one_or_more()?.iter().map(|doc| doc.one_of(what, &choices)).collect::<Decoded<Vec<_>>>()?;
    if list.is_empty() { Err(doc.mistake("this list must not be empty")) } else { Ok(list) }
}

/// A duration, or an object with `at_least` and `at_most`.
fn bound_of_time(doc: &Doc<'_>) -> Decoded<SpanBound> {
    if doc.value.is_string() {
        return doc.span().map(|span| SpanBound { at_least: Some(span), at_most: Some(span) });
    }
    let micros = |doc: &Doc<'_>| doc.span().map(|span| span.as_micros().unsigned_abs());
    let Bound { at_least, at_most } = bound_of(doc, micros)?;
    let span = |micros: u64| Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX));
    Ok(SpanBound { at_least: at_least.map(span), at_most: at_most.map(span) })
}

/// A reward in tenths.
fn tenths(doc: &Doc<'_>) -> Decoded<u64> {
    let ppm = u64::from(doc.rate()?);
    if ppm.is_multiple_of(100_000) {
        return Ok(ppm / 100_000);
    }
    Err(doc.mistake("a reward is 0 to 1 in steps of 0.1"))
}
