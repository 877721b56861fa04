//! Whether a replay follows its log: what it asks for is allowed (`walk`), and it comes to the log's next decision.

use super::nature::Nature;
use super::prefix::{Next, Prefix};
use super::rehearsal::Seen;
use super::walk::{entry_in_words, told, walk};
use crate::history::Asked;
use crate::kernel::{Body, CallKind, Ending, Request, RunSpec, Step};

/// Judges a replay that must follow its log. The error says what was wrong.
pub(super) fn follows(prefix: &Prefix, seen: &Seen, nature: Nature) -> Result<(), String> {
    let decision = walk(prefix, seen)?;
    if (prefix.cancelled || prefix.resolved.is_some()) && !seen.entered.is_empty() {
        return Err("its agent was entered though the log holds a cancel, or how the run will end".to_owned());
    }
    match decision {
        None if seen.endless => Err("it does not come to rest".to_owned()),
        None if !seen.died && !seen.awaits => Err("it stopped without a next step, a wait or an end".to_owned()),
        None => Ok(()),
        Some(body) => is_expected(prefix, body, nature),
    }
}

/// Judges the mail that a replay's agent was entered with.
pub(super) fn has_its_mail(prefix: &Prefix, seen: &Seen) -> Result<(), String> {
    let batch = match prefix.batch() {
        Some(Body::MsgReceived { messages, .. }) => messages.as_slice(),
        _ => &[],
    };
    match seen.entered.iter().find(|given| !batch.iter().map(|received| &received.message).eq(*given)) {
        Some(given) => Err(format!("its agent was entered with {} messages that are not its batch", given.len())),
        None => Ok(()),
    }
}

/// Judges a replay whose agent differs from its log at `step`: it must be halted there before it does anything.
pub(super) fn is_caught(prefix: &Prefix, seen: &Seen, step: Step) -> Result<(), String> {
    let carried_out = |asked: &Asked| match asked {
        Asked::Store(request) => matches!(
            request,
            Request::Append { .. }
                | Request::Nack { .. }
                | Request::Deliver { .. }
                | Request::Signal { .. }
                | Request::FollowersOf { .. }
                | Request::Follow { .. }
                | Request::Unfollow { .. }
                | Request::Create { .. }
                | Request::Cancel { .. }
                | Request::Read { .. }
                | Request::Get { .. }
        ),
        Asked::Outside(_) => false,
    };
    if let Some(acted) = seen.asked.iter().find(|asked| !carried_out(asked)) {
        return Err(format!("it {} before it was caught", told(acted)));
    }
    match walk(prefix, seen)? {
        Some(Body::RunHalted { step: at, .. }) if *at == step => Ok(()),
        Some(Body::RunHalted { step: at, .. }) => Err(format!("it was halted at step {at}")),
        Some(other) => Err(format!("it was not caught: it went on to {}", entry_in_words(other))),
        None => Err("it was not caught".to_owned()),
    }
}

/// Compares a decision with the next one of the log.
fn is_expected(prefix: &Prefix, decision: &Body, nature: Nature) -> Result<(), String> {
    if let Some((ending, _)) = &prefix.resolved {
        return match decision {
            Body::Ended(end) if end == ending => Ok(()),
            other => Err(format!("the log says how the run will end, and it went on to {}", entry_in_words(other))),
        };
    }
    if prefix.cancelled {
        return match decision {
            Body::Ended(_) | Body::OrphansResolved { .. } => Ok(()),
            other => Err(format!("the log holds a cancel, and it went on to {}", entry_in_words(other))),
        };
    }
    if nature.fickle || prefix.changed {
        return Ok(());
    }
    if let Body::RunHalted { step, expected, actual } = decision {
        return Err(format!("its own agent was halted at step {step}: the log has {expected}, it took {actual}"));
    }
    let Next::Decided(places) = prefix.next() else { return Ok(()) };
    let mut decided = places.iter().map(|place| prefix.body(*place));
    let is_stumble =
        |body: &Body| matches!(body, Body::RunRetrying { .. } | Body::Ended(_) | Body::OrphansResolved { .. });
    if decided.clone().any(|body| is_same(body, decision) || (nature.stumbles && is_stumble(body))) {
        return Ok(());
    }
    let wanted = decided.next().map(entry_in_words).unwrap_or_default();
    Err(format!("it went on to {}, where the log went on to {wanted}", entry_in_words(decision)))
}

/// Whether two entries are the same decision. A random value is drawn anew until it is recorded, a run's state and the
/// children that live are looked up anew, and so is what is to become of them; the deadline of the run is not known here.
fn is_same(one: &Body, other: &Body) -> bool {
    if let (Some(one), Some(other)) = (end_of(one), end_of(other)) {
        return one == other;
    }
    match (one.opening(), other.opening()) {
        (Some(begun), Some(wanted)) if is_looked_up(begun.call) => begun == wanted,
        _ => one == other || is_same_child(one, other),
    }
}

const fn is_looked_up(call: CallKind) -> bool {
    matches!(call, CallKind::Random | CallKind::Uuid | CallKind::Status | CallKind::ChildrenOf)
}

const fn end_of(body: &Body) -> Option<&Ending> {
    match body {
        Body::Ended(ending) | Body::OrphansResolved { ending, .. } => Some(ending),
        _ => None,
    }
}

fn is_same_child(one: &Body, other: &Body) -> bool {
    let (
        Body::ChildSpawned { opening, spec, boot },
        Body::ChildSpawned { opening: other_opening, spec: other_spec, boot: other_boot },
    ) = (one, other)
    else {
        return false;
    };
    let spec = RunSpec { parent_deadline: other_spec.parent_deadline, ..(**spec).clone() };
    (opening, boot, &spec) == (other_opening, other_boot, &**other_spec)
}
