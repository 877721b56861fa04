//! Parents and children when nothing goes wrong: spawn, join, cancel, ends, budgets of runs.

use std::rc::Rc;

use serde_json::json;

use super::agents::*;
use super::world::{HOUR, World, output, ran};
use crate::kernel::*;
use crate::runtime::*;

/// The children that a log announces, in order.
fn children(world: &World, run: RunId) -> Vec<RunId> {
    let log = world.log(run);
    let spawned = log.iter().filter_map(|entry| match &*entry.body {
        Body::ChildSpawned { spec, .. } => Some(spec.run),
        _ => None,
    });
    spawned.collect()
}

fn agent(text: &str) -> AgentId {
    text.parse().unwrap()
}

fn of_type(kind: &str) -> SpawnCall {
    SpawnCall::of_type(kind, json!({"for": kind})).unwrap()
}

async fn sleeper(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    ctx.sleep(Span::from_secs(1_000_000)).await?;
    Ok(Json::null())
}

#[test]
fn children_are_announced_run_and_joined() {
    let world = World::new();
    let run = ran(&world, &office());
    let expected = json!({"same": true, "paid": "completed", "filed": "completed", "asked": true, "news": 1});
    assert_eq!(*output(&world, run), expected);
    let [payer, clerk] = children(&world, run)[..] else { panic!("two children") };
    assert_eq!(world.kinds(payer).first().map(String::as_str), Some("run.started"));
    let spec = world.ask(world.store.spec(payer)).unwrap();
    assert_eq!((spec.agent.to_string(), spec.parent, spec.tree), (format!("payer/{run}.1"), Some(run), run));
    let Body::MsgReceived { messages, .. } = &*world.log(payer)[1].body else { panic!("a batch") };
    assert_eq!(messages[0].message.id.to_string(), format!("{run}.1"));
    assert_eq!(*messages[0].message.data, json!({"amount": 100}));
    assert_eq!(world.ask(world.store.spec(clerk)).unwrap().agent, agent("clerk/ann"));
    let ends = world.kinds(run).iter().filter(|kind| *kind == "child.completed").count();
    assert_eq!(ends, 2);
}

#[test]
fn the_result_of_a_child_tells_how_it_went() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let child = ctx.spawn(of_type("stumbler")).await?;
        let result = ctx.join(&child, None).await?.unwrap();
        Ok(Json::new(json!(result)))
    };
    let world = World::new();
    let run = ran(&world, &plain_cast(vec![("a", Rc::new(parent)), ("stumbler", Rc::new(stumbler(1)))]));
    let result = output(&world, run);
    assert_eq!((&result["status"], &result["metadata"]["retries"]), (&json!("completed"), &json!(1)));
    assert_eq!((&result["metadata"]["leases"], &result["metadata"]["reclaims"]), (&json!(2), &json!(0)));
    assert!(result["metadata"]["started_at"].is_string() && result["metadata"]["ended_at"].is_string());
}

#[test]
fn a_result_too_large_for_a_log_is_kept_aside_and_joined_whole() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let child = ctx.spawn(of_type("talker")).await?;
        let result = ctx.join(&child, None).await?.unwrap();
        Ok(Json::new(json!(result.output.and_then(|text| text.as_str().map(str::len)))))
    };
    let talker = |_: Context, _: Vec<Message>| async { Ok(Json::new(json!("x".repeat(INLINE_BYTES_MAX)))) };
    let world = World::new();
    let run = ran(&world, &plain_cast(vec![("a", Rc::new(parent)), ("talker", Rc::new(talker))]));
    assert_eq!(*output(&world, run), json!(INLINE_BYTES_MAX));
    let log = world.log(run);
    let completed = log.iter().find_map(|entry| match &*entry.body {
        Body::ChildCompleted { result, result_ref } => Some((result.output.is_none(), result_ref.is_some())),
        _ => None,
    });
    assert_eq!(completed, Some((true, true)));
}

#[test]
fn a_join_with_a_limit_ends_by_it_and_a_later_one_gets_the_result() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let child = ctx.spawn(of_type("clerk")).await?;
        let first = ctx.join(&child, Some(Span::from_secs(1))).await?;
        ctx.sleep(Span::from_secs(60)).await?;
        let second = ctx.join(&child, Some(Span::from_secs(1))).await?;
        Ok(Json::new(json!([first.is_none(), second.map(|result| result.status)])))
    };
    let world = World::new();
    let run = ran(&world, &plain_cast(vec![("a", Rc::new(parent)), ("clerk", Rc::new(clerk))]));
    assert_eq!(*output(&world, run), json!([true, "completed"]));
}

#[test]
fn a_child_that_fails_tells_why() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let child = ctx.spawn(of_type("failing")).await?;
        let result = ctx.join(&child, None).await?.unwrap();
        Ok(Json::new(json!([result.status, result.error])))
    };
    let failing = |_: Context, _: Vec<Message>| async { Err("no luck".into()) };
    let defaults =
        SpecDefaults { retry: RunRetryPolicy { max_retries: 0, ..Default::default() }, ..Default::default() };
    let types: Vec<(&str, SpecDefaults, Rc<dyn Agent>)> =
        vec![("a", SpecDefaults::default(), Rc::new(parent)), ("failing", defaults, Rc::new(failing))];
    let world = World::new();
    let run = ran(&world, &cast(types));
    assert_eq!(*output(&world, run), json!(["failed", "no luck"]));
}

/// A parent that wants children, sleeps so that it is replayed, and tells what it got.
fn denied_parent(calls: impl Fn() -> Vec<SpawnCall> + 'static) -> impl Agent {
    move |ctx: Context, _: Vec<Message>| {
        let calls = calls();
        async move {
            let mut told = Vec::new();
            for call in calls {
                told.push(match ctx.spawn(call).await {
                    Ok(_) => "spawned".to_owned(),
                    Err(StepError::SpawnDenied { reason, .. }) => reason.to_string(),
                    Err(error) => return Err(error.into()),
                });
                ctx.sleep(Span::from_secs(1)).await?;
            }
            Ok(Json::new(json!(told)))
        }
    }
}

#[test]
fn a_refused_child_leaves_no_trace_but_its_refusal_and_every_replay_hears_the_same() {
    type Wanted = fn() -> Vec<SpawnCall>;
    let taken: Wanted = || vec![SpawnCall::at(agent("sleeper/x"), Json::null()); 2];
    let unknown: Wanted = || vec![SpawnCall::at(agent("nobody"), Json::null())];
    let many: Wanted = || vec![of_type("sleeper"), of_type("sleeper"), of_type("sleeper")];
    let cases = [
        (taken, json!(["spawned", "address `sleeper/x` is taken"])),
        (unknown, json!(["no agent type `nobody` is registered"])),
        (many, json!(["spawned", "spawned", "the tree has its 3 runs"])),
    ];
    for (calls, expected) in cases {
        let budget = SpecDefaults { spawn_budget: SpawnBudget { max_agents: 3 }, ..Default::default() };
        let types: Vec<(&str, SpecDefaults, Rc<dyn Agent>)> =
            vec![("a", budget, Rc::new(denied_parent(calls))), ("sleeper", SpecDefaults::default(), Rc::new(sleeper))];
        let world = World::new();
        let run = ran(&world, &cast(types));
        assert_eq!(*output(&world, run), expected);
        let denied = world.kinds(run).iter().filter(|kind| *kind == "spawn.denied").count();
        assert_eq!(denied, usize::from(expected.as_array().unwrap().iter().any(|told| told != "spawned")));
    }
}

#[test]
fn a_unit_that_a_joined_child_gave_back_is_there_for_the_next_one() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        for _ in 0..5 {
            let child = ctx.spawn(SpawnCall::at(agent("clerk/one"), Json::null())).await?;
            ctx.join(&child, None).await?;
        }
        Ok(Json::null())
    };
    let budget = SpecDefaults { spawn_budget: SpawnBudget { max_agents: 2 }, ..Default::default() };
    let types: Vec<(&str, SpecDefaults, Rc<dyn Agent>)> =
        vec![("a", budget, Rc::new(parent)), ("clerk", SpecDefaults::default(), Rc::new(clerk))];
    let world = World::new();
    let run = ran(&world, &cast(types));
    assert_eq!(world.status(run), RunStatus::Completed, "{:?}", world.kinds(run));
    assert_eq!(children(&world, run).len(), 5);
}

/// A parent of one child, which is a parent itself, down to a sleeper.
fn line(children: SpawnCall, then: Option<&'static str>) -> impl Agent {
    move |ctx: Context, _: Vec<Message>| {
        let call = children.clone();
        async move {
            let child = ctx.spawn(call).await?;
            if let Some(then) = then {
                return Err(then.into());
            }
            ctx.join(&child, None).await?;
            Ok(Json::null())
        }
    }
}

#[test]
fn a_cancel_goes_down_the_whole_tree() {
    let all = plain_cast(vec![
        ("a", Rc::new(line(of_type("b"), None))),
        ("b", Rc::new(line(of_type("sleeper"), None))),
        ("sleeper", Rc::new(sleeper)),
    ]);
    let world = World::new();
    let run = ran(&world, &all);
    let child = children(&world, run)[0];
    let grandchild = children(&world, child)[0];
    assert_eq!(world.status(grandchild), RunStatus::Suspended);
    world.cancel(run, "enough");
    world.run(HOUR);
    for (run, name) in [(run, "root"), (child, "child"), (grandchild, "grandchild")] {
        let reason = match world.ending(run) {
            Ending::Cancelled { reason, .. } => reason,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(&*reason, "enough", "{name}");
    }
}

#[test]
fn a_parent_cancels_its_child_and_joins_it() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let child = ctx.spawn(of_type("b")).await?;
        ctx.sleep(Span::from_secs(10)).await?;
        ctx.cancel(&child, "changed my mind").await?;
        let result = ctx.join(&child, None).await?.unwrap();
        Ok(Json::new(json!([result.status, result.error])))
    };
    let all = plain_cast(vec![
        ("a", Rc::new(parent)),
        ("b", Rc::new(line(of_type("sleeper"), None))),
        ("sleeper", Rc::new(sleeper)),
    ]);
    let world = World::new();
    let run = ran(&world, &all);
    assert_eq!(*output(&world, run), json!(["cancelled", "changed my mind"]));
    let grandchild = children(&world, children(&world, run)[0])[0];
    assert_eq!(world.status(grandchild), RunStatus::Cancelled);
}

#[test]
fn a_parent_that_ends_cancels_its_children_but_for_the_permanent_ones() {
    let permanent = || Supervision { retention: Retention::Permanent, ..Supervision::default() };
    for (fails, retention, ends) in
        [(false, false, true), (true, false, true), (false, true, false), (true, true, false)]
    {
        let parent = move |ctx: Context, _: Vec<Message>| async move {
            let call = of_type("b");
            let call = if retention { call.supervision(permanent()) } else { call };
            ctx.spawn(call).await?;
            ctx.sleep(Span::from_secs(10)).await?;
            if fails { Err("broken".into()) } else { Ok(Json::null()) }
        };
        let all = plain_cast(vec![
            ("a", Rc::new(parent)),
            ("b", Rc::new(line(of_type("sleeper"), None))),
            ("sleeper", Rc::new(sleeper)),
        ]);
        let world = World::new();
        let run = ran(&world, &all);
        let child = children(&world, run)[0];
        let grandchild = children(&world, child)[0];
        let expected = if ends { RunStatus::Cancelled } else { RunStatus::Suspended };
        assert_eq!((world.status(child), world.status(grandchild)), (expected, expected), "{fails} {retention}");
        let trees = [child, grandchild].map(|run| world.ask(world.store.spec(run)).unwrap().tree);
        assert_eq!(trees, if ends { [run; 2] } else { [child; 2] });
        assert!(world.kinds(run).contains(&"orphans.resolved".to_owned()));
    }
}

#[test]
fn a_cancel_takes_the_permanent_children_along() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let permanent = Supervision { retention: Retention::Permanent, ..Supervision::default() };
        let child = ctx.spawn(of_type("sleeper").supervision(permanent)).await?;
        ctx.join(&child, None).await?;
        Ok(Json::null())
    };
    let world = World::new();
    let run = ran(&world, &plain_cast(vec![("a", Rc::new(parent)), ("sleeper", Rc::new(sleeper))]));
    world.cancel(run, "enough");
    world.run(HOUR);
    assert_eq!(world.status(children(&world, run)[0]), RunStatus::Cancelled);
}

#[test]
fn a_parent_looks_at_its_children() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let clerk = ctx.spawn(of_type("clerk")).await?;
        let sleeper = ctx.spawn(of_type("sleeper")).await?;
        let before = ctx.children_of().await?;
        ctx.join(&clerk, None).await?;
        let after = ctx.children_of().await?;
        let (ended, asleep) = (ctx.status(&clerk).await?, ctx.status(&sleeper).await?);
        let stranger = RunHandle { run_id: RunId::from_parts(9, 9), ..clerk.clone() };
        let unknown = ctx.status(&stranger).await;
        let joined = ctx.join(&stranger, None).await;
        let cancelled = ctx.cancel(&stranger, "no").await;
        ctx.sleep(Span::from_secs(1)).await?;
        Ok(Json::new(json!([
            before == [clerk, sleeper.clone()],
            after == [sleeper],
            [ended.status, asleep.status],
            [ended.last_milestone, asleep.last_milestone],
            [unknown.unwrap_err().code(), joined.unwrap_err().code(), cancelled.unwrap_err().code()],
        ])))
    };
    let all = plain_cast(vec![("a", Rc::new(parent)), ("clerk", Rc::new(clerk)), ("sleeper", Rc::new(sleeper))]);
    let world = World::new();
    let run = ran(&world, &all);
    let expected = json!([
        true,
        true,
        ["completed", "suspended"],
        ["run.completed", "run.suspended"],
        ["UnknownRun", "NotAChild", "NotAChild"],
    ]);
    assert_eq!(*output(&world, run), expected);
}

#[test]
fn a_group_spawns_and_joins_and_goes_on_when_all_have_ended() {
    let parent = |ctx: Context, _: Vec<Message>| async move {
        let spawn = || Call::Spawn(of_type("clerk"));
        let handles = ctx.all(vec![spawn(), spawn(), spawn()]).await?;
        let joins = handles.iter().map(|handle| {
            let child = serde_json::from_value((**handle).clone()).expect("a handle");
            Call::Join { child, limit: None }
        });
        let results = ctx.all(joins.collect()).await?;
        Ok(Json::new(results.iter().map(|result| result["status"].clone()).collect()))
    };
    let world = World::new();
    let run = ran(&world, &plain_cast(vec![("a", Rc::new(parent)), ("clerk", Rc::new(clerk))]));
    assert_eq!(*output(&world, run), json!(["completed", "completed", "completed"]));
}

#[test]
fn the_deadline_of_a_parent_is_that_of_its_children() {
    let deadline = Some(Deadline::After(Span::from_secs(60)));
    let types: Vec<(&str, SpecDefaults, Rc<dyn Agent>)> = vec![
        ("a", SpecDefaults { deadline, ..Default::default() }, Rc::new(line(of_type("sleeper"), None))),
        ("sleeper", SpecDefaults::default(), Rc::new(sleeper)),
    ];
    let world = World::new();
    let run = ran(&world, &cast(types));
    for run in [run, children(&world, run)[0]] {
        assert!(
            matches!(
                world.ending(run),
                Ending::Failed { code: FailureCode::DeadlineExceeded, .. } | Ending::Cancelled { .. }
            ),
            "{:?}",
            world.ending(run)
        );
    }
    assert!(world.ask(world.store.spec(children(&world, run)[0])).unwrap().parent_deadline.is_some());
}

#[test]
fn the_branch_of_a_change_is_kept_by_runs_that_were_there_before() {
    let old = |ctx: Context, _: Vec<Message>| async move {
        ctx.sleep(Span::from_secs(10)).await?;
        ctx.effect(EffectCall::new("old.way", json!({}))).await?;
        Ok(Json::null())
    };
    let new = |ctx: Context, _: Vec<Message>| async move {
        ctx.version("before-sleep").await?;
        ctx.sleep(Span::from_secs(10)).await?;
        let way = if ctx.version("new-way").await? { "new.way" } else { "old.way" };
        let again = ctx.version("new-way").await?;
        ctx.effect(EffectCall::new(way, json!({}))).await?;
        ctx.sleep(Span::from_secs(10)).await?;
        Ok(Json::new(json!([ctx.version("before-sleep").await?, again])))
    };
    // A run that began under the new code takes its ways; one that began under the old code keeps to what it has done, and
    // takes the ways that branch off later.
    for (first, expected) in [(true, json!([true, true])), (false, json!([false, true]))] {
        let world = World::new();
        let before = if first { agents("a", new) } else { agents("a", old) };
        let mut after = (*agents("a", new)).clone();
        after.0.get_mut("a").unwrap().version = Version(2);
        world.register(&before);
        world.deliver("a", "m1");
        let run = world.run_of("a");
        world.start(1, &before);
        world.run(Span::from_secs(5));
        world.crash(1);
        world.start(2, &Rc::new(after));
        world.run(HOUR);
        assert_eq!(*output(&world, run), expected);
        assert_eq!((world.count("old.way"), world.count("new.way")), (0, 1));
    }
}

#[test]
fn a_client_writes_nothing_into_the_log_of_a_child_that_is_only_reserved_or_was_given_up() {
    let world = World::new();
    world.register(&plain_cast(vec![("a", Rc::new(sleeper)), ("sleeper", Rc::new(sleeper))]));
    world.deliver("a", "m1");
    let worker = WorkerId { name: "w1".into(), incarnation: 0 };
    let lease = world.ask(world.store.lease(worker, 1, Span::ZERO)).remove(0);
    let reserved = world.ask(world.store.reserve(lease.key.clone(), Step(0), agent("sleeper/x")));
    let Reserved::Reserved { child_run, .. } = reserved else { panic!("{reserved:?}") };
    world.cancel(child_run, "enough");
    world.run(Span::from_secs(1));
    assert_eq!(world.log(child_run), []);
    world.ask(world.store.release(lease.key, Release::Ended(RunStatus::Completed)));
    world.cancel(child_run, "enough");
    world.run(Span::from_secs(1));
    assert_eq!((world.log(child_run), world.status(child_run)), (Vec::new(), RunStatus::Cancelled));
}

#[test]
fn the_names_of_answers_are_kept_for_answers() {
    let forger = |ctx: Context, _: Vec<Message>| async move {
        let sent = ctx.signal(ctx.run_id(), "reply:x", Json::null()).await.unwrap_err();
        let awaited = ctx.wait_signal("reply:x", None).await.unwrap_err();
        ctx.sleep(Span::from_secs(1)).await?;
        Ok(Json::new(json!([sent.code(), awaited.code()])))
    };
    let world = World::new();
    let run = ran(&world, &agents("a", forger));
    assert_eq!(*output(&world, run), json!(["ReservedName", "ReservedName"]));
}
