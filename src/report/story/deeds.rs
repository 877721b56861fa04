//! What a call of the store did, as a clause: contract by contract.

use super::facts::{Facts, fate};
use super::focus::Focus;
use super::turns::Weight;
use super::words::{claimed, clock, entry, error_of, heartbeat, one_line, release, result, some};
use crate::kernel::{Body, Created, EffectId, Released, Reply, Request, Reserved, RunId, Signalled};

/// A clause without its subject; the same for a headline, if one may need it; how much it matters.
pub(super) struct Deed {
    pub said: String,
    pub brief: Option<String>,
    pub weight: Weight,
}

fn step(said: String) -> Deed {
    Deed { said, brief: None, weight: Weight::Step }
}

fn routine(said: String) -> Deed {
    Deed { said, brief: None, weight: Weight::Routine }
}

fn telling(said: String, brief: &str) -> Deed {
    Deed { said, brief: Some(brief.to_owned()), weight: Weight::Telling }
}

/// What a call of the store did.
pub(super) fn store_call(facts: &Facts<'_>, focus: &Focus, request: &Request, reply: &Reply) -> Deed {
    let told = log(facts, focus, request, reply)
        .or_else(|| effects(facts, focus, request, reply))
        .or_else(|| mail(facts, focus, request, reply))
        .or_else(|| leases(facts, request, reply))
        .or_else(|| family(facts, request, reply))
        .or_else(|| topics(facts, request, reply))
        .or_else(|| signals(facts, request, reply));
    told.unwrap_or_else(|| routine(format!("called {}", request.method())))
}

fn log(facts: &Facts<'_>, focus: &Focus, request: &Request, reply: &Reply) -> Option<Deed> {
    Some(match (request, reply) {
        (Request::Append { body, run, .. }, Reply::Appended(appended)) => {
            let why = error_of(facts, body);
            let because = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let said = format!("wrote entry {} of {}: {}{because}", appended.seq, facts.run(*run), entry(facts, body));
            let (brief, weight) = written(focus, body, why.as_deref());
            Deed { said, brief, weight }
        }
        (Request::Append { body, expected, .. }, Reply::Conflict(conflict)) => {
            let kind = body.kind();
            let said = format!(
                "tried to write {kind} behind entry {expected}; the last was {}, and it was refused",
                conflict.actual
            );
            // Planners write the same, and one of them is first.
            if matches!(**body, Body::Trace(_)) {
                return Some(step(said));
            }
            telling(said, &format!("was refused {kind}"))
        }
        (Request::Tail { .. }, Reply::Entries(entries)) => match entries.last() {
            Some(last) => routine(format!("followed the log up to entry {} ({})", last.seq, last.kind())),
            None => routine("followed the log: nothing came".to_owned()),
        },
        (Request::Read { .. }, Reply::Entries(entries)) => match entries.last() {
            Some(last) => step(format!("read the log up to entry {} ({})", last.seq, last.kind())),
            None => routine("read the log: it was empty".to_owned()),
        },
        _ => return None,
    })
}

/// So many letters of an error a headline shows at most: it has several clauses on a line.
const BRIEF_ERROR_LETTERS_MOST: usize = 60;

/// What a headline needs of an entry that was written, and how much it matters.
fn written(focus: &Focus, body: &Body, why: Option<&str>) -> (Option<String>, Weight) {
    let own = match body {
        Body::Ended(_) | Body::RunSuspended { .. } | Body::RunRetrying { .. } | Body::RunHalted { .. } => {
            let because = why.map_or_else(String::new, |why| format!(" ({})", one_line(why, BRIEF_ERROR_LETTERS_MOST)));
            let brief = focus.effects.is_empty().then(|| format!("wrote {}{because}", body.kind()));
            return (brief, Weight::Telling);
        }
        Body::ToolCalled { effect, .. } => focus.effects.contains(&effect.id),
        Body::ToolResult { result, .. } => focus.effects.contains(&result.effect_id),
        Body::MsgReceived { messages, .. } => {
            messages.iter().any(|received| focus.mail.contains(&*received.message.id))
        }
        Body::Trace(_)
        | Body::CancelRequested { .. }
        | Body::ChildCompleted { .. }
        | Body::ChildSpawned { .. }
        | Body::SpawnDenied { .. }
        | Body::OrphansResolved { .. }
        | Body::AskResolved { .. } => true,
        _ => false,
    };
    (None, if own { Weight::Telling } else { Weight::Step })
}

fn effects(facts: &Facts<'_>, focus: &Focus, request: &Request, reply: &Reply) -> Option<Deed> {
    let own = |effect: EffectId| focus.effects.is_empty() || focus.effects.contains(&effect);
    Some(match (request, reply) {
        (Request::Lookup { effect }, Reply::Looked(None)) => {
            let said = format!("looked for a recorded result of {} and found none", facts.effect(*effect));
            if own(*effect) { telling(said, "found no result") } else { step(said) }
        }
        (Request::Lookup { effect }, Reply::Looked(Some(found))) => {
            let said = format!("found the recorded result of {}: {}", facts.effect(*effect), result(found));
            if own(*effect) { telling(said, "found its result") } else { step(said) }
        }
        (Request::Record { result: wanted }, Reply::Standing(standing)) => {
            let name = facts.effect(wanted.effect_id);
            if wanted == standing {
                let own = focus.effects.contains(&wanted.effect_id);
                let weight = if own { Weight::Telling } else { Weight::Step };
                let said = format!("recorded the result of {name}: {}", result(wanted));
                return Some(Deed { said, brief: None, weight });
            }
            let said = format!("wanted to record {name} as {}; {} stands", result(wanted), result(standing));
            telling(said, &format!("found another result of {name} recorded"))
        }
        _ => return None,
    })
}

fn mail(facts: &Facts<'_>, focus: &Focus, request: &Request, reply: &Reply) -> Option<Deed> {
    let weight = |id: &str| if focus.mail.contains(id) { Weight::Telling } else { Weight::Step };
    Some(match (request, reply) {
        (Request::Deliver { message, to, .. }, Reply::Accepted(accepted)) => {
            let (weight, message, to) = (weight(&message.id), facts.message(&message.id), facts.agent(to));
            let (said, brief) = match accepted {
                true => (format!("delivered {message} to {to}"), Some(format!("delivered {message}"))),
                false => (format!("delivered {message} to {to} again, which changed nothing"), None),
            };
            Deed { said, brief, weight }
        }
        (Request::Drain { .. }, Reply::Drained(mail)) => {
            let ids: Vec<String> = mail.iter().map(|mail| facts.message(&mail.received.message.id)).collect();
            match ids.is_empty() {
                true => routine("drained the mailbox: nothing".to_owned()),
                false => step(format!("drained {}", some(&ids))),
            }
        }
        (Request::Ack { message, .. }, _) => {
            let said = format!("acked {}", facts.message(message));
            Deed { brief: Some(said.clone()), said, weight: weight(message) }
        }
        (Request::Nack { message, failure, disposition, .. }, _) => {
            let (name, how) = (facts.message(message), fate(disposition));
            let said = format!("nacked {name} {how} (failure {failure})");
            Deed { said, brief: Some(format!("nacked {name}")), weight: weight(message) }
        }
        (Request::Redrive { message, .. }, Reply::Accepted(accepted)) => {
            let message = facts.message(message);
            let how = if *accepted { "brought back" } else { "could not bring back" };
            telling(format!("{how} the dead letter {message}"), &format!("{how} {message}"))
        }
        _ => return None,
    })
}

fn leases(facts: &Facts<'_>, request: &Request, reply: &Reply) -> Option<Deed> {
    let run = |run: &RunId| facts.run(*run);
    Some(match (request, reply) {
        (Request::Heartbeat { lease }, Reply::Heartbeat(told)) => {
            let (said, matters) = heartbeat(facts, told, &format!("lease {} of {}", lease.attempt, run(&lease.run)));
            if matters { telling(said.clone(), &said) } else { routine(said) }
        }
        (Request::Release { lease, how }, Reply::Released(Released::Released)) => {
            step(format!("released {} ({})", run(&lease.run), release(how)))
        }
        (Request::Release { lease, .. }, Reply::Released(Released::Lost)) => {
            telling(format!("wanted to release {}, which it no longer held", run(&lease.run)), "had lost its lease")
        }
        (Request::Cancel { run: of, reason }, _) => {
            telling(format!("asked to cancel {} ({reason})", run(of)), &format!("asked to cancel {}", run(of)))
        }
        (Request::Resume { run: of }, _) => telling(format!("resumed {}", run(of)), &format!("resumed {}", run(of))),
        (Request::Wake { run: of, .. }, _) => step(format!("woke {}", run(of))),
        _ => return None,
    })
}

/// Children, and what a tree may have and spend.
fn family(facts: &Facts<'_>, request: &Request, reply: &Reply) -> Option<Deed> {
    let run = |run: &RunId| facts.run(*run);
    Some(match (request, reply) {
        (Request::Reserve { agent, .. }, Reply::Reserved(told)) => {
            let agent = facts.agent(agent);
            match told {
                Reserved::Reserved { child_run, .. } => step(format!("reserved {} as a child", run(child_run))),
                Reserved::Denied { reason } => {
                    telling(format!("was refused a child at {agent}: {reason}"), &format!("was refused {agent}"))
                }
                Reserved::Ending { .. } => {
                    step(format!("was told that the run at {agent}, or a unit, is about to be free"))
                }
                Reserved::Lost => {
                    telling(format!("wanted a child at {agent}, but held the run no longer"), "had lost its lease")
                }
            }
        }
        (Request::Create { spec, boot }, Reply::Created(Created::Created)) if spec.parent.is_none() => {
            let run = run(&spec.run);
            let what = boot.as_ref().map_or(String::new(), |boot| format!(" for {}", facts.message(&boot.id)));
            telling(format!("made {run}{what}"), &format!("made {run}"))
        }
        (Request::Create { spec, .. }, Reply::Created(Created::Created)) => {
            telling(format!("created {}", run(&spec.run)), &format!("created {}", run(&spec.run)))
        }
        (Request::Create { spec, .. }, Reply::Created(Created::Exists)) => {
            step(format!("wanted to create {}, which was there, or had been", run(&spec.run)))
        }
        (Request::ReturnUnit { run: of }, _) => routine(format!("gave back the unit of {}", run(of))),
        (Request::Detach { run: of }, _) => step(format!("made {} the root of a tree of its own", run(of))),
        (Request::Status { run: of }, _) => routine(format!("looked at the status of {}", run(of))),
        (Request::Spend { key, amounts, .. }, _) => {
            step(format!("spent {} tokens for {}", amounts.tokens, facts.effect(*key)))
        }
        (Request::Totals { .. }, Reply::Account(account)) => {
            step(format!("was told that {} tokens and {} turns are spent", account.spent.tokens, account.spent.turns))
        }
        _ => return None,
    })
}

fn topics(facts: &Facts<'_>, request: &Request, reply: &Reply) -> Option<Deed> {
    Some(match (request, reply) {
        (Request::Follow { subscription, .. }, _) => {
            step(format!("had {} follow {}", facts.agent(&subscription.follower), subscription.topic))
        }
        (Request::Unfollow { subscription, .. }, _) => {
            step(format!("had {} follow {} no more", facts.agent(&subscription.follower), subscription.topic))
        }
        (Request::FollowersOf { topic }, Reply::Agents(agents)) => {
            let agents: Vec<String> = agents.iter().map(|agent| facts.agent(agent)).collect();
            match agents.is_empty() {
                true => step(format!("found that nobody follows {topic}")),
                false => step(format!("found that {} follow {topic}", some(&agents))),
            }
        }
        _ => return None,
    })
}

fn signals(facts: &Facts<'_>, request: &Request, reply: &Reply) -> Option<Deed> {
    Some(match (request, reply) {
        (Request::Signal { run: to, name, id, .. }, Reply::Signalled(told)) => {
            let became = match told {
                Signalled::Buffered => "it was kept",
                Signalled::Repeated => "it was known already",
                Signalled::Ended => "no such run lived then",
            };
            let (name, id) = (facts.message(name), facts.message(id));
            telling(
                format!("sent signal {name} ({id}) to {}: {became}", facts.run(*to)),
                &format!("sent signal {name}"),
            )
        }
        (Request::Claim { step: number, .. }, Reply::Claimed(told)) => {
            step(format!("asked how the wait of step {number} ended: {}", claimed(told.as_ref())))
        }
        (Request::Timer { step: number, at, .. }, _) => {
            step(format!("set the timer of step {number} to {}", clock(facts, *at)))
        }
        _ => return None,
    })
}
