//! What may go wrong, and what does, as files say it.

use super::decode::{Decoded, Doc, Object, excerpt};
use crate::history::Called;
use crate::kernel::{Name, Span, Timestamp};
use crate::sim::{Deviation, Fault, FaultKind, FaultPlan, Faults};

/// The chance of a timer's jitter or a clock's skew that is given as a duration alone, in millionths.
const BARE_RATE_PPM: u32 = 250_000;

/// What plans are read against.
pub struct FaultScope<'a> {
    /// When the world starts.
    pub start: Timestamp,
    /// How long a lease is.
    pub lease: Span,
    /// The workers there are.
    pub workers: &'a [Name],
}

/// `faults`: an object of a plan per kind, and `until`.
pub fn faults(doc: &Doc<'_>, scope: &FaultScope<'_>) -> Decoded<Faults> {
    let known: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.as_str()).chain(["until"]).collect();
    let object = doc.open_object()?;
    let mut faults = Faults::default();
    for (key, doc) in object.members() {
        if key == "until" {
            faults.until = doc.since(scope.start)?;
            continue;
        }
        let Some(kind) = FaultKind::ALL.into_iter().find(|kind| kind.as_str() == key) else {
            let mistake = doc.key_mistake(format!("unknown fault `{}`", excerpt(key)), key);
            return Err(mistake.among(key, known).or_see("`chronodrome list faults`"));
        };
        faults.plans.insert(kind, plan(kind, &doc, scope)?);
    }
    Ok(faults)
}

/// A rate, a duration (of jitter and skew), or an object.
fn plan(kind: FaultKind, doc: &Doc<'_>, scope: &FaultScope<'_>) -> Decoded<FaultPlan> {
    if doc.value.is_number() {
        return Ok(FaultPlan::new(kind, doc.rate()?, scope.lease));
    }
    if doc.value.is_string() && matches!(kind, FaultKind::TimerJitter | FaultKind::ClockSkew) {
        let mut plan = FaultPlan::new(kind, BARE_RATE_PPM, scope.lease);
        let most = doc.some_span()?;
        plan.lasts = (plan.lasts.0.min(most), most);
        return Ok(plan);
    }
    let mut known = vec!["rate", "at_most", "from", "until", "calls", "workers"];
    if kind == FaultKind::Slow {
        known.push("times");
    } else if kind.lasts() {
        known.push("for");
    }
    if !doc.value.is_object() {
        return Err(doc.mistake("this must be a rate from 0 to 1, or an object with a `rate`"));
    }
    let object = doc.object(&known)?;
    let mut plan = FaultPlan::new(kind, object.need("rate")?.rate()?, scope.lease);
    plan.at_most = object.maybe("at_most", |doc| doc.count(0, u32::MAX))?;
    plan.lasts = object.or("for", plan.lasts, lengths)?;
    plan.lasts = object.or("times", plan.lasts, factors)?;
    plan.from = object.or("from", plan.from, |doc| doc.since(scope.start))?;
    plan.until = object.or("until", plan.until, |doc| doc.since(scope.start))?;
    if plan.until < plan.from {
        return Err(object.need("until")?.mistake("`until` is before `from`"));
    }
    plan.calls = names(&object, "calls", "call", &Called::methods())?;
    let workers: Vec<&str> = scope.workers.iter().map(|name| &**name).collect();
    plan.workers = names(&object, "workers", "worker", &workers)?;
    Ok(plan)
}

fn lengths(doc: &Doc<'_>) -> Decoded<(Span, Span)> {
    let (least, most) = doc.spans()?;
    if least == Span::ZERO {
        return Err(doc.mistake("a fault must last at least `1us`"));
    }
    Ok((least, most))
}

/// A factor, or a range of factors, kept as so many microseconds.
fn factors(doc: &Doc<'_>) -> Decoded<(Span, Span)> {
    let factor = |doc: &Doc<'_>| doc.count(2, 1_000).map(|times| Span::from_micros(i64::from(times)));
    match doc.one_or_more()?.as_slice() {
        [one] => factor(one).map(|one| (one, one)),
        [least, most] if factor(least)? <= factor(most)? => Ok((factor(least)?, factor(most)?)),
        _ => Err(doc.mistake("this must be a factor, or a list of the least and the greatest")),
    }
}

/// A list of names out of `choices`.
fn names(object: &Object<'_>, key: &str, what: &str, choices: &[&str]) -> Decoded<Vec<Name>> {
    let Some(doc) = object.get(key) else { return Ok(Vec::new()) };
    let docs = doc.one_or_more()?;
    docs.iter()
        .map(|doc| {
            let name = doc.text()?;
            if choices.contains(&name) { Ok(name.into()) } else { Err(doc.unknown(what, choices.iter().copied())) }
        })
        .collect()
}

/// `deviations`: a list of sites with their faults.
pub fn deviations(doc: &Doc<'_>) -> Decoded<Vec<Deviation>> {
    doc.list()?.iter().map(deviation).collect()
}

fn deviation(doc: &Doc<'_>) -> Decoded<Deviation> {
    let object = doc.open_object()?;
    let site = object.need("site")?.name()?;
    let kind = object.need("fault")?;
    kind.name()?;
    let rest = object.members().filter(|(key, _)| *key != "site");
    let fault = serde_json::Value::Object(rest.map(|(key, doc)| (key.to_owned(), doc.value.clone())).collect());
    let fault: Fault = serde_json::from_value(fault).map_err(|error| {
        let names = FAULT_NAMES;
        let name = kind.value.as_str().unwrap_or_default();
        if names.contains(&name) {
            doc.mistake(error.to_string())
        } else {
            kind.unknown("fault", names).or_see("`chronodrome schema`")
        }
    })?;
    let is_of_clock = matches!(fault, Fault::ClockSkew { .. } | Fault::ClockStep { .. });
    if !is_of_clock && fault.spans().into_iter().any(|span| span < Span::ZERO) {
        return Err(
            doc.mistake("a fault cannot last for less than nothing; only a clock can be off by a negative time")
        );
    }
    let deviation = Deviation { site, fault, key: None };
    // A fault without fields of its own is read whatever stands beside it.
    if let Ok(serde_json::Value::Object(known)) = serde_json::to_value(&deviation) {
        let known: Vec<&str> = known.keys().map(String::as_str).collect();
        doc.object(&known)?;
    }
    if let Fault::Hold { until, most } = &deviation.fault {
        if until.as_ref() == Some(&deviation.site) {
            return Err(object.need("until")?.mistake("a request cannot be held until it has itself arrived"));
        }
        if until.is_none() && most.is_none() {
            return Err(
                kind.mistake("a hold needs `until`, the site of another call, or `most`, the longest that it may last")
            );
        }
    }
    Ok(deviation)
}

/// The faults that a deviation can be.
const FAULT_NAMES: [&str; 22] = [
    "crash",
    "pause",
    "partition",
    "lost_request",
    "lost_reply",
    "store_error",
    "outage",
    "store_restart",
    "duplicate",
    "delay_request",
    "delay_reply",
    "short_lease",
    "timer_late",
    "clock_skew",
    "clock_step",
    "stop",
    "tool_slow",
    "tool_refuses",
    "tool_unknown",
    "tool_malformed",
    "slow",
    "hold",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_that_is_read_is_among_those_that_a_mistake_is_measured_against() {
        let error = serde_json::from_value::<Fault>(serde_json::json!({ "fault": "none" })).expect_err("there is none");
        let told = error.to_string();
        let known: Vec<&str> = told.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, FAULT_NAMES);
    }
}
