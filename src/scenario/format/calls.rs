//! The calls of the context that a script makes, as files say them.

use super::decode::{Decoded, Doc, Object, excerpt};
use super::scope::Scope;
use super::tools::{self, TOOLS};
use super::world::{PRIORITIES, deadline};
use crate::kernel::{Json, Name, Policy, Retention, Span, Supervision};
use crate::scenario::script::{Address, Child, EffectStep, ModelStep, Op, SpawnStep, Target, Template, Topic};

/// The call that a step of this name is, if it is one with arguments of its own.
pub fn call(name: &str, main: &Doc<'_>, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<Option<Op>> {
    Ok(Some(match name {
        "effect" => Op::Effect(Box::new(effect(main, step, scope)?)),
        "model" => Op::Model(Box::new(model(main, step, scope)?)),
        "send" => Op::Send { to: address(main, scope)?, data: data(step, scope)? },
        "sleep" => Op::Sleep(main.span()?),
        "wait_signal" => Op::WaitSignal { name: signal_name(main)?, limit: step.maybe("limit", Doc::span)? },
        "receive" => Op::Receive { max: main.count(1, 10_000)?, limit: step.maybe("limit", Doc::span)? },
        "signal" => {
            let (name, to) = (signal_name(main)?, target(&step.need("to")?, scope)?);
            Op::Signal { name, to, data: data(step, scope)? }
        }
        "spawn" => Op::Spawn(Box::new(spawn(main, step, scope)?)),
        "join" => Op::Join { child: handle(main, scope)?, limit: step.maybe("limit", Doc::span)? },
        "cancel" => {
            Op::Cancel { child: handle(main, scope)?, reason: step.or("reason", "cancelled".into(), Doc::name)? }
        }
        "status" => Op::Status(handle(main, scope)?),
        "ask" => {
            let to = address(main, scope)?;
            Op::Ask { to, data: data(step, scope)?, limit: step.need("limit")?.span()? }
        }
        "reply" => Op::Reply { question: scope.message(main)?, data: data(step, scope)? },
        "emit" => Op::Emit { topic: topic(main, scope)?, data: data(step, scope)? },
        "follow" => Op::Follow(topic(main, scope)?),
        "unfollow" => Op::Unfollow(topic(main, scope)?),
        _ => return Ok(None),
    }))
}

/// What stands under `data`; an empty object where nothing does.
fn data(step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<Template> {
    step.or("data", Template::Fixed(Json::empty()), |doc| scope.template(doc))
}

/// The name of something outside: one of `these`, or a mistake that tells where the others are at home.
fn outside(main: &Doc<'_>, scope: &Scope<'_>, is_model: bool) -> Decoded<Name> {
    let kind = main.name()?;
    if !is_model && TOOLS.contains(&&*kind) {
        return Ok(kind);
    }
    let (tools, models) = (&scope.cast.tools, &scope.cast.models);
    let (these, others) = if is_model { (models, tools) } else { (tools, models) };
    if these.contains(&*kind) {
        return Ok(kind);
    }
    let (name, what) = (excerpt(&kind), if is_model { "model" } else { "tool" });
    if others.contains(&*kind) {
        let reason = if is_model {
            format!("the tool `{name}` is no model: a model has `\"model\": {{ … }}` in `outside`")
        } else {
            format!("`{name}` is a model: it is asked by the step `model`")
        };
        return Err(main.mistake(reason));
    }
    let own: &[&str] = if is_model { &[] } else { &TOOLS };
    Err(main.mistake(format!("`outside` has no {what} `{name}`")).among(&kind, these.iter().chain(own).copied()))
}

fn effect(main: &Doc<'_>, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<EffectStep> {
    let policies =
        [("at_most_once", Policy::AtMostOnce), ("idempotent", Policy::Idempotent), ("repeatable", Policy::Repeatable)];
    let (tries, pause, limit) = tries(step)?;
    let kind = outside(main, scope, false)?;
    Ok(EffectStep {
        args: if TOOLS.contains(&&*kind) {
            tools::args(&kind, step, scope)?
        } else {
            step.or("args", Template::Fixed(Json::empty()), |doc| scope.template(doc))?
        },
        policy: step.or("policy", tools::usual_policy(&kind), |doc| doc.one_of("policy", &policies))?,
        kind,
        tries,
        pause,
        limit,
    })
}

fn model(main: &Doc<'_>, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<ModelStep> {
    let (tries, pause, limit) = tries(step)?;
    Ok(ModelStep {
        model: outside(main, scope, true)?,
        args: step.or("args", Template::Fixed(Json::empty()), |doc| scope.template(doc))?,
        json: step.or("json", false, Doc::flag)?,
        tries,
        pause,
        limit,
    })
}

/// `tries`, `pause` and `limit`.
fn tries(step: &Object<'_>) -> Decoded<(u32, Span, Span)> {
    let tries = step.or("tries", 1, |doc| doc.count(1, 1_000))?;
    let pause = step.or("pause", Span::from_secs(1), Doc::span)?;
    Ok((tries, pause, step.or("limit", Span::from_secs(60), Doc::some_span)?))
}

/// An address, or `{ "type": … }` for a fresh address of that type.
fn spawn(main: &Doc<'_>, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<SpawnStep> {
    let child = if main.value.is_object() {
        let object = main.object(&["type"])?;
        Child::OfType(scope.cast.agent_type(&object.need("type")?)?)
    } else {
        Child::At(address(main, scope)?)
    };
    let retentions = [("run", Retention::Run), ("permanent", Retention::Permanent)];
    let start = scope.cast.start;
    let supervision = Supervision {
        retention: step.or("retention", Retention::default(), |doc| doc.one_of("retention", &retentions))?,
        deadline: step.maybe("deadline", |doc| deadline(doc, start))?,
        priority: step.maybe("priority", |doc| doc.one_of("priority", &PRIORITIES))?,
    };
    Ok(SpawnStep { child, data: data(step, scope)?, supervision })
}

pub fn signal_name(doc: &Doc<'_>) -> Decoded<Name> {
    let name = doc.name()?;
    if name.starts_with("reply:") {
        return Err(doc.mistake("signals that begin with `reply:` are reserved for answers"));
    }
    Ok(name)
}

fn address(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<Address> {
    if doc.text()?.starts_with('$') {
        return scope.reference(doc).map(Address::Reference);
    }
    scope.cast.address(doc).map(Address::Fixed)
}

fn target(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<Target> {
    if doc.text()?.starts_with('$') {
        return scope.reference(doc).map(Target::Reference);
    }
    scope.cast.alias(doc).map(Target::Alias)
}

/// A run of which more than its id is needed: by its handle, or by its name.
fn handle(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<Target> {
    if doc.text()?.starts_with('$') {
        return scope.handle(doc).map(Target::Reference);
    }
    scope.cast.alias(doc).map(Target::Alias)
}

fn topic(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<Topic> {
    if doc.text()?.starts_with('$') {
        return scope.reference(doc).map(Topic::Reference);
    }
    doc.parse().map(Topic::Fixed)
}
