//! Agents for the tests.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;

use crate::kernel::*;
use crate::runtime::*;

/// A registry of one agent type.
pub fn agents(kind: &str, agent: impl Agent + 'static) -> Rc<Agents> {
    agents_with(kind, SpecDefaults::default(), agent)
}

pub fn agents_with(kind: &str, defaults: SpecDefaults, agent: impl Agent + 'static) -> Rc<Agents> {
    let mut all = Agents::default();
    all.0.insert(kind.into(), Registration { version: Version(1), defaults, agent: Rc::new(agent) });
    Rc::new(all)
}

/// A registry of several agent types, with what each is registered with.
pub fn cast(types: Vec<(&str, SpecDefaults, Rc<dyn Agent>)>) -> Rc<Agents> {
    let mut all = Agents::default();
    for (kind, defaults, agent) in types {
        all.0.insert(kind.into(), Registration { version: Version(1), defaults, agent });
    }
    Rc::new(all)
}

/// A registry of several agent types with the usual settings.
pub fn plain_cast(types: Vec<(&str, Rc<dyn Agent>)>) -> Rc<Agents> {
    cast(types.into_iter().map(|(kind, agent)| (kind, SpecDefaults::default(), agent)).collect())
}

pub fn charge() -> EffectCall {
    EffectCall::new("stripe.charge", json!({"amount": 100}))
}

pub fn mail() -> EffectCall {
    EffectCall::new("email.send", json!({"to": "customer"})).policy(Policy::Idempotent)
}

pub async fn billing(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    let charge = charge_or_doubt(&ctx).await?;
    ctx.effect(mail()).await?;
    Ok(charge)
}

/// One of each kind of step.
pub async fn traveller(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    let begun = ctx.now().await?;
    let random = ctx.random().await?;
    let uuid = ctx.uuid().await?;
    ctx.log(Json::new(json!({"mail": inbox.len()}))).await?;
    ctx.send("friend/ann".parse().map_err(|_| "no address")?, Json::new(json!({"hello": random}))).await?;
    ctx.signal(ctx.run_id(), "go", Json::new(json!(1))).await?;
    ctx.sleep(Span::from_secs(60)).await?;
    let go = ctx.wait_signal("go", None).await?.ok_or("no signal")?;
    let none = ctx.wait_signal("never", Some(Span::from_secs(5))).await?;
    charge_or_doubt(&ctx).await?;
    let more = ctx.receive(10, Some(Span::from_secs(40))).await?;
    let ids: Vec<&str> = more.iter().map(|message| &*message.id).collect();
    Ok(Json::new(json!({
        "begun": begun.to_string(), "random": random, "uuid": uuid, "go": &*go.payload, "none": none.is_none(),
        "more": ids,
    })))
}

/// A group of everything that can stand in one.
pub async fn juggler(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    ctx.signal(ctx.run_id(), "ball", Json::new(json!(7))).await?;
    let calls = vec![
        Call::Effect(charge()),
        Call::Send { to: "friend/bob".parse().map_err(|_| "no address")?, data: Json::null() },
        Call::WaitSignal { name: "ball".into(), limit: None },
        Call::Sleep(Span::from_secs(30)),
        Call::Receive { max: 1, limit: Some(Span::from_secs(20)) },
        Call::Random,
        Call::Effect(mail()),
    ];
    let caught = match ctx.all(calls).await {
        Err(StepError::InDoubt { .. }) => Vec::new(),
        other => other?,
    };
    Ok(Json::new(json!(caught.iter().map(|value| (**value).clone()).collect::<Vec<_>>())))
}

/// Charges; a charge in doubt is good enough.
async fn charge_or_doubt(ctx: &Context) -> Result<Json, StepError> {
    match ctx.effect(charge()).await {
        Err(StepError::InDoubt { .. }) => Ok(Json::new(json!("in doubt"))),
        other => other,
    }
}

/// Fails its first `times` leases after a step, then completes.
pub fn stumbler(times: u32) -> impl Agent {
    move |ctx: Context, _inbox: Vec<Message>| async move {
        charge_or_doubt(&ctx).await?;
        if ctx.failures() < times {
            return Err("stumbled".into());
        }
        ctx.effect(mail()).await?;
        Ok(Json::null())
    }
}

/// Takes other steps at every entry.
pub fn fickle() -> impl Agent {
    let entered = Rc::new(Cell::new(0));
    move |ctx: Context, _inbox: Vec<Message>| {
        entered.set(entered.get() + 1);
        let turn = entered.get();
        async move {
            ctx.effect(EffectCall::new(format!("kind.{turn}"), json!({}))).await?;
            ctx.sleep(Span::from_secs(10)).await?;
            Ok(Json::null())
        }
    }
}

/// A parent of two: one by type that charges, one by address that waits for it; joins both, asks a third, tells followers.
pub async fn boss(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    let topic: TopicId = "news".parse().map_err(|_| "no topic")?;
    ctx.follow(topic.clone()).await?;
    let payer = ctx.spawn(SpawnCall::of_type("payer", json!({"amount": 100})).map_err(|_| "no type")?).await?;
    let clerk = ctx.spawn(SpawnCall::at("clerk/ann".parse().map_err(|_| "no address")?, Json::null())).await?;
    let paid = ctx.join(&payer, None).await?.ok_or("a join without a limit")?;
    let filed = ctx.join(&clerk, Some(Span::from_secs(36_000))).await?;
    let again = ctx.join(&payer, None).await?.ok_or("a join without a limit")?;
    let asked =
        ctx.ask("oracle".parse().map_err(|_| "no address")?, json!("why?").into(), Span::from_secs(36_000)).await?;
    ctx.emit(topic, json!({"paid": true}).into()).await?;
    let news = ctx.receive(1, Some(Span::from_secs(36_000))).await?;
    Ok(Json::new(json!({
        "same": paid == again, "paid": paid.status, "filed": filed.map(|filed| filed.status),
        "asked": matches!(asked, AskOutcome::Replied { .. }), "news": news.len(),
    })))
}

/// Charges; what comes of it does not matter.
pub async fn payer(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    Ok(charge_or_doubt(&ctx).await?)
}

/// Takes its time.
pub async fn clerk(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    ctx.sleep(Span::from_secs(5)).await?;
    Ok(Json::null())
}

/// Answers every question.
pub async fn oracle(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    for question in &inbox {
        ctx.reply(question, json!("because").into()).await?;
    }
    Ok(Json::null())
}

/// [`boss`] and all whom it deals with.
pub fn office() -> Rc<Agents> {
    plain_cast(vec![
        ("a", Rc::new(boss)),
        ("payer", Rc::new(payer)),
        ("clerk", Rc::new(clerk)),
        ("oracle", Rc::new(oracle)),
    ])
}
