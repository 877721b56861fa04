//! What is expected, as files say it. One line may expect several things of one subject.

use super::decode::{Decoded, Doc, Object};
use super::plans;
use super::scope::Cast;
use super::tools::TOOLS;
use crate::kernel::FailureCode;
use crate::scenario::expect::{AgentFact, Amount, Bound, EffectFact, End, Expectation, Who};

/// `expect` or `expect_calm`: a list.
pub fn expectations(doc: &Doc<'_>, cast: &Cast<'_>) -> Decoded<Vec<Expectation>> {
    let mut all = Vec::new();
    for doc in doc.list()? {
        let before = all.len();
        expectation(&doc, cast, &mut all)?;
        if all.len() == before {
            return Err(doc.mistake("this expects nothing"));
        }
    }
    Ok(all)
}

fn expectation(doc: &Doc<'_>, cast: &Cast<'_>, all: &mut Vec<Expectation>) -> Decoded<()> {
    let open = doc.open_object()?;
    if open.get("effect").is_some() {
        effect(&doc.object(&["effect", "happened", "recorded", "in_doubt"])?, cast, all)
    } else if open.get("agent").is_some() {
        let facts = AgentFact::ALL.map(AgentFact::as_str);
        agent(&doc.object(&[&["agent", "ends", "runs", "dead_letters", "pending"], &facts[..]].concat())?, cast, all)
    } else if open.get("run").is_some() {
        let fields = ["run", "ends", "code", "leases", "failures", "output", "tokens", "cost", "turns"];
        run(&doc.object(&fields)?, cast, all)
    } else if open.get("plan").is_some() {
        plans::plan(doc, cast, all)
    } else if open.get("memory").is_some() {
        plans::memory(doc, cast, all)
    } else if open.get("refused").is_some() {
        plans::refused(doc, all)
    } else if open.get("took").is_some() {
        let took = doc.object(&["took"])?.need("took")?.object(&["at_most"])?;
        all.push(Expectation::Took { at_most: took.need("at_most")?.span()? });
        Ok(())
    } else {
        doc.object(&["effect", "agent", "run", "plan", "memory", "refused", "took"])?;
        let subjects = "an `effect`, an `agent`, a `run`, a `plan`, a `memory`, what was `refused`, or what it `took`";
        Err(doc.mistake(format!("an expectation is about {subjects}")))
    }
}

fn effect(object: &Object<'_>, cast: &Cast<'_>, all: &mut Vec<Expectation>) -> Decoded<()> {
    let main = object.need("effect")?;
    let kind = main.name()?;
    let known = || cast.tools.iter().chain(&cast.models).chain(&TOOLS).copied();
    if !known().any(|known| *known == *kind) {
        return Err(main.unknown("tool", known()));
    }
    for fact in [EffectFact::Happened, EffectFact::Recorded, EffectFact::InDoubt] {
        if let Some(bound) = object.maybe(fact.as_str(), bound)? {
            all.push(Expectation::Effect { kind: kind.clone(), fact, bound });
        }
    }
    Ok(())
}

fn agent(object: &Object<'_>, cast: &Cast<'_>, all: &mut Vec<Expectation>) -> Decoded<()> {
    let main = object.need("agent")?;
    let who = || -> Decoded<Who> {
        let is_address = main.text()?.contains('/');
        Ok(if is_address { Who::Address(cast.address(&main)?) } else { Who::Type(cast.agent_type(&main)?) })
    };
    if let Some(ends) = object.maybe("ends", ends)? {
        all.push(Expectation::AgentEnds { agent: who()?, ends });
    }
    if let Some(bound) = object.maybe("runs", bound)? {
        all.push(Expectation::Runs { agent: who()?, bound });
    }
    if let Some(bound) = object.maybe("dead_letters", bound)? {
        all.push(Expectation::DeadLetters { agent: who()?, bound });
    }
    if let Some(bound) = object.maybe("pending", bound)? {
        all.push(Expectation::PendingMail { agent: who()?, bound });
    }
    for fact in AgentFact::ALL {
        if let Some(bound) = object.maybe(fact.as_str(), bound)? {
            all.push(Expectation::Befell { agent: who()?, fact, bound });
        }
    }
    who().map(drop)
}

fn run(object: &Object<'_>, cast: &Cast<'_>, all: &mut Vec<Expectation>) -> Decoded<()> {
    let run = cast.alias(&object.need("run")?)?;
    if let Some(ends) = object.maybe("ends", ends)? {
        all.push(Expectation::RunEnds { run: run.clone(), ends });
    }
    if let Some(code) = object.maybe("code", code)? {
        all.push(Expectation::RunCode { run: run.clone(), code });
    }
    if let Some(bound) = object.maybe("leases", bound)? {
        all.push(Expectation::Leases { run: run.clone(), bound });
    }
    if let Some(bound) = object.maybe("failures", bound)? {
        all.push(Expectation::Failures { run: run.clone(), bound });
    }
    for amount in Amount::ALL {
        let read = if amount == Amount::Cost { bound_of_money } else { bound };
        if let Some(bound) = object.maybe(amount.as_str(), read)? {
            all.push(Expectation::Spent { run: run.clone(), amount, bound });
        }
    }
    if let Some(output) = object.get("output") {
        all.push(Expectation::Output { run, output: output.value.clone().into() });
    }
    Ok(())
}

fn ends(doc: &Doc<'_>) -> Decoded<Vec<End>> {
    let choices = End::ALL.map(|end| (end.as_str(), end));
    let ends = doc.one_or_more()?.iter().map(|doc| doc.one_of("end", &choices)).collect::<Decoded<Vec<_>>>()?;
    if ends.is_empty() { Err(doc.mistake("this list must not be empty")) } else { Ok(ends) }
}

fn code(doc: &Doc<'_>) -> Decoded<FailureCode> {
    doc.one_of("failure code", &FailureCode::ALL.map(|code| (code.as_str(), code)))
}

/// A number, or how many at least and at most.
pub fn bound(doc: &Doc<'_>) -> Decoded<Bound> {
    bound_of(doc, |doc| doc.integer(0, u64::MAX))
}

/// A bound in units of the currency, kept in millionths.
fn bound_of_money(doc: &Doc<'_>) -> Decoded<Bound> {
    bound_of(doc, |doc| doc.money())
}

/// A number, or an object with `at_least` and `at_most`.
pub fn bound_of(doc: &Doc<'_>, number: impl Fn(&Doc<'_>) -> Decoded<u64>) -> Decoded<Bound> {
    if doc.value.is_number() {
        return number(doc).map(Bound::exactly);
    }
    if !doc.value.is_object() {
        return Err(doc.wanted("a number, or an object of `at_least` and `at_most`"));
    }
    let object = doc.object(&["at_least", "at_most"])?;
    let bound = Bound { at_least: object.maybe("at_least", &number)?, at_most: object.maybe("at_most", &number)? };
    match (bound.at_least, bound.at_most) {
        (None, None) => Err(doc.mistake("a bound has `at_least`, `at_most` or both")),
        (Some(least), Some(most)) if least > most => Err(doc.mistake("`at_least` is above `at_most`")),
        _ => Ok(bound),
    }
}
