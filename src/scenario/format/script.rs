//! The steps of a script, as files say them. A step's name is a key, its value what the step is mostly about;
//! the rest stands beside it: `{ "effect": "stripe.charge", "args": { … }, "as": "charge" }`.

use serde_json::Value;

use super::calls;
use super::decode::{Decoded, Doc, Object, excerpt};
use super::holds::Holds;
use super::scope::{Cast, Scope};
use crate::kernel::Json;
use crate::scenario::script::{Block, ErrorCode, Node, OnError, Op, Script, Test, While};

/// What a step's name says about how it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// A call of the context that gives a value worth a name.
    Asks,
    /// A call of the context that gives none.
    Tells,
    /// An end, or a way to it.
    Ends,
    /// Flow.
    Flows,
}

/// Every step: its name, its sort, and the fields beside it (`as` and `on_error` apart).
const STEPS: [(&str, Sort, &[&str]); 32] = [
    ("effect", Sort::Asks, &["args", "policy", "tries", "pause", "limit"]),
    ("model", Sort::Asks, &["args", "json", "tries", "pause", "limit"]),
    ("spawn", Sort::Asks, &["data", "retention", "deadline", "priority"]),
    ("join", Sort::Asks, &["limit"]),
    ("children_of", Sort::Asks, &[]),
    ("status", Sort::Asks, &[]),
    ("ask", Sort::Asks, &["data", "limit"]),
    ("emit", Sort::Asks, &["data"]),
    ("wait_signal", Sort::Asks, &["limit"]),
    ("receive", Sort::Asks, &["limit"]),
    ("now", Sort::Asks, &[]),
    ("random", Sort::Asks, &[]),
    ("uuid", Sort::Asks, &[]),
    ("all", Sort::Asks, &[]),
    ("send", Sort::Asks, &["data"]),
    ("sleep", Sort::Tells, &[]),
    ("signal", Sort::Tells, &["to", "data"]),
    ("cancel", Sort::Tells, &["reason"]),
    ("reply", Sort::Tells, &["data"]),
    ("follow", Sort::Tells, &[]),
    ("unfollow", Sort::Tells, &[]),
    ("check", Sort::Tells, &[]),
    ("log", Sort::Tells, &[]),
    ("fail", Sort::Ends, &["first", "failures"]),
    ("die", Sort::Ends, &["first", "failures"]),
    ("panic", Sort::Ends, &["first", "failures"]),
    ("complete", Sort::Ends, &[]),
    ("if", Sort::Flows, &["is", "is_not", "below", "above", "exists", "then", "else"]),
    ("repeat", Sort::Flows, &["do"]),
    ("for_each", Sort::Flows, &["as", "do"]),
    ("by_attempt", Sort::Flows, &[]),
    ("version", Sort::Flows, &["then", "else"]),
];

/// The most steps that a script may take over all its loops of a fixed number.
const WEIGHT_MAX: u64 = 100_000;

/// The names of the steps.
pub fn step_names() -> impl Iterator<Item = &'static str> {
    STEPS.iter().map(|(name, ..)| *name)
}

/// A whole script: a list of steps.
pub fn script(doc: &Doc<'_>, cast: &Cast<'_>) -> Decoded<Script> {
    let mut scope = Scope::new(cast, doc);
    let steps = block(doc, &mut scope)?;
    if weight(&steps) > WEIGHT_MAX {
        return Err(doc.mistake(format!("the loops of this script add up to more than {WEIGHT_MAX} steps")));
    }
    let (slots, reads_inbox) = scope.totals();
    Ok(Script { steps, slots, reads_inbox })
}

fn weight(block: &Block) -> u64 {
    let of = |node: &Node| match &node.op {
        Op::If { then, otherwise, .. } | Op::Version { then, otherwise, .. } => weight(then).max(weight(otherwise)),
        Op::Repeat { times, block, .. } => weight(block).saturating_add(1).saturating_mul(u64::from(*times)),
        Op::ForEach { block, .. } => weight(block),
        Op::ByAttempt(ways) => ways.iter().map(weight).max().unwrap_or(0),
        _ => 0,
    };
    block.iter().fold(0, |sum, node| sum.saturating_add(of(node)).saturating_add(1))
}

fn block(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<Block> {
    let docs = doc.list()?;
    scope.within(|scope| docs.iter().map(|doc| node(doc, scope)).collect())
}

/// What an object says that it is: its main member, and its line of [`STEPS`].
type Head<'a> = (Doc<'a>, &'static str, Sort, &'static [&'static str]);

/// The step that an object is.
fn step_of<'a>(doc: &Doc<'a>) -> Decoded<Head<'a>> {
    let object = doc.open_object()?;
    let mut found: Option<Head<'a>> = None;
    for (name, sort, fields) in STEPS {
        if let Some(main) = object.get(name) {
            if let Some((_, other, ..)) = found {
                return Err(main.key_mistake(format!("a step does one thing, not both `{other}` and `{name}`"), name));
            }
            found = Some((main, name, sort, fields));
        }
    }
    found.ok_or_else(|| {
        let beside =
            |key: &str| ["as", "on_error"].contains(&key) || STEPS.iter().any(|(_, _, fields)| fields.contains(&key));
        match object.members().find(|(key, _)| !beside(key)) {
            Some((key, member)) => {
                let mistake = member.key_mistake(format!("unknown step `{}`", excerpt(key)), key);
                mistake.among(key, step_names()).or_see("`chronodrome list steps`")
            }
            None => doc.mistake("this does nothing: a step has a member named after what it does, like `effect`"),
        }
    })
}

fn node(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<Node> {
    let (main, name, sort, fields) = step_of(doc)?;
    let common: &[&str] = match sort {
        Sort::Asks => &["as", "on_error"],
        Sort::Ends => &[],
        _ => &["on_error"],
    };
    let known: Vec<&str> = [&[name], fields, common].concat();
    let step = doc.object(&known)?;
    let op = op(name, &main, &step, scope)?;
    let holds = Holds::given_by(&op);
    let save = if sort == Sort::Asks { step.maybe("as", |doc| scope.bind(doc, holds))? } else { None };
    let on_error = step.maybe("on_error", |doc| on_error(doc, scope))?;
    Ok(Node { op, save, on_error })
}

fn op(name: &str, main: &Doc<'_>, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<Op> {
    if let Some(call) = calls::call(name, main, step, scope)? {
        return Ok(call);
    }
    Ok(match name {
        "check" | "now" | "random" | "uuid" | "children_of" => plain(name, main)?,
        "log" => Op::Log(scope.template(main)?),
        "all" => Op::All(group(main, scope)?),
        "fail" => Op::Fail { error: main.name()?, when: period(step)? },
        "die" | "panic" => {
            plain("check", main)?;
            let when = period(step)?;
            if name == "die" { Op::Die(when) } else { Op::Panic(when) }
        }
        "complete" => Op::Complete(scope.template(main)?),
        _ => flow(name, main, step, scope)?,
    })
}

/// A step that needs nothing, written as `{ "now": true }`.
fn plain(name: &str, main: &Doc<'_>) -> Decoded<Op> {
    if *main.value != Value::Bool(true) {
        return Err(main.mistake("a step that takes nothing is written with `true`"));
    }
    Ok(match name {
        "now" => Op::Now,
        "random" => Op::Random,
        "uuid" => Op::Uuid,
        "children_of" => Op::ChildrenOf,
        _ => Op::Check,
    })
}

fn flow(name: &str, main: &Doc<'_>, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<Op> {
    let body = step.get("do");
    let body = || body.clone().ok_or_else(|| step.doc().mistake("`do` is missing"));
    match name {
        "if" => condition(main, step, scope),
        "version" => {
            let change = main.name()?;
            let then = block(&step.need("then")?, scope)?;
            let otherwise = step.or("else", Vec::new(), |doc| block(doc, scope))?;
            Ok(Op::Version { change, then, otherwise })
        }
        "repeat" => {
            let times = main.count(1, 100_000)?;
            scope.within(|scope| {
                let index = scope.bind_own("index", Holds::Plain);
                Ok(Op::Repeat { times, index, block: block(&body()?, scope)? })
            })
        }
        "for_each" => {
            let list = scope.reference(main)?;
            let items = scope.leads_to(&list).item();
            scope.within(|scope| {
                let index = scope.bind_own("index", Holds::Plain);
                let item = match step.get("as") {
                    Some(doc) => scope.bind(&doc, items)?,
                    None => scope.bind_own("item", items),
                };
                Ok(Op::ForEach { list, item, index, block: block(&body()?, scope)? })
            })
        }
        _ => {
            let ways = main.list()?;
            if ways.is_empty() {
                return Err(main.mistake("there must be at least one way"));
            }
            Ok(Op::ByAttempt(ways.iter().map(|way| block(way, scope)).collect::<Decoded<_>>()?))
        }
    }
}

fn period(step: &Object<'_>) -> Decoded<While> {
    Ok(While {
        first: step.maybe("first", |doc| doc.count(1, u32::MAX))?,
        failures: step.maybe("failures", |doc| doc.count(1, u32::MAX))?,
    })
}

/// The members of `all`: single calls of the context, none of them tried twice.
fn group(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<Vec<Node>> {
    let docs = doc.list()?;
    if docs.is_empty() || docs.len() > 1_000 {
        return Err(doc.mistake("a group has 1 to 1000 calls"));
    }
    // A member sees only what was there before the group: its fellows run at the same time.
    let mut nodes = Vec::with_capacity(docs.len());
    for member in &docs {
        let (main, name, ..) = step_of(member)?;
        let node = scope.within(|scope| node(member, scope))?;
        let single = match &node.op {
            Op::Effect(effect) => effect.tries == 1,
            Op::Model(model) => model.tries == 1,
            Op::Check | Op::All(_) | Op::Fail { .. } | Op::Die(_) | Op::Panic(_) | Op::Complete(_) => false,
            Op::If { .. } | Op::Version { .. } | Op::Repeat { .. } | Op::ForEach { .. } | Op::ByAttempt(_) => false,
            _ => true,
        };
        if !single || node.on_error.is_some() || node.save.is_some() {
            let rule = "a member of `all` is a single call, without `tries`, `as` and `on_error`";
            return Err(main.key_mistake(rule, name));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

fn condition(main: &Doc<'_>, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<Op> {
    let value = scope.reference(main)?;
    let number = |doc: &Doc<'_>| doc.value.as_i64().ok_or_else(|| doc.mistake("this must be a whole number"));
    let tests = [
        step.get("is").map(|doc| Test::Is(Json::new(doc.value.clone()))),
        step.get("is_not").map(|doc| Test::IsNot(Json::new(doc.value.clone()))),
        step.maybe("below", number)?.map(Test::Below),
        step.maybe("above", number)?.map(Test::Above),
        step.maybe("exists", Doc::flag)?.map(Test::Exists),
    ];
    let mut tests = tests.into_iter().flatten();
    let test = tests.next().unwrap_or(Test::Exists(true));
    if tests.next().is_some() {
        return Err(step.doc().mistake("a condition asks one thing: `is`, `is_not`, `below`, `above` or `exists`"));
    }
    let then = block(&step.need("then")?, scope)?;
    let otherwise = step.or("else", Vec::new(), |doc| block(doc, scope))?;
    Ok(Op::If { value, test, then, otherwise })
}

fn on_error(doc: &Doc<'_>, scope: &mut Scope<'_>) -> Decoded<OnError> {
    let names: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).chain(["else"]).collect();
    if !doc.value.is_object() {
        return Err(doc.no_object_of(&names));
    }
    let mut branches = OnError::default();
    for (key, doc) in doc.open_object()?.members() {
        if key == "else" {
            branches.otherwise = Some(block(&doc, scope)?);
        } else if let Some(code) = ErrorCode::ALL.into_iter().find(|code| code.as_str() == key) {
            branches.cases.push((code, block(&doc, scope)?));
        } else {
            let mistake = doc.key_mistake(format!("unknown error `{}`", excerpt(key)), key);
            return Err(mistake.among(key, names));
        }
    }
    Ok(branches)
}
