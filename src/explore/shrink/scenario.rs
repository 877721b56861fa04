//! A smaller scenario with the same failure.
//!
//! Each edit of the document that gives a valid scenario is played under the deviations, re-anchored where their sites
//! have other names by it. It is kept if the failure is the same, and if the calm schedule does not come to break the same
//! promise, in whatever way: a scenario in which nothing happens breaks many an expectation.

use std::collections::BTreeSet;

use serde_json::Value;

use super::anchor::Reach;
use super::deviations::{Oracle, key, moved};
use super::edits::offer_all;
use super::trial::{Account, Stop, Target, Trial};
use super::{Best, Phase};
use crate::kernel::{Name, canonical};
use crate::scenario::Input;
use crate::sim::Deviation;

/// How often scenario and deviations are made smaller in turn.
const ROUNDS_MOST: usize = 4;

/// Makes the scenario of `best` smaller, and its deviations again where that lets them, until nothing changes.
///
/// # Errors
/// When no more may be played; `best` is the smallest so far.
pub(super) fn make_smaller(best: &mut Best, target: &Target, account: &mut Account<'_>) -> Result<(), Stop> {
    for _ in 0..ROUNDS_MOST {
        account.enter(Phase::Scenario);
        let mut document = (*best.scenario.document).clone();
        let mut seen = BTreeSet::new();
        let mut changed = false;
        while offer_all(&mut document, &mut |edited| {
            Ok(seen.insert(canonical(&edited)) && take(best, edited, target, account)?)
        })? {
            changed = true;
        }
        if !changed {
            return Ok(());
        }
        let before = best.deviations.clone();
        let mut trial = Trial::new(&best.scenario, target, account);
        best.make_fewer(&mut trial)?;
        if same(&before, &best.deviations) {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether two lists say the same, whether their sites are known as numbers or not.
fn same(left: &[Deviation], right: &[Deviation]) -> bool {
    key(left) == key(right)
}

/// Takes an edited document if it is a scenario with the same failure; whether it is.
fn take(best: &mut Best, edited: Value, target: &Target, account: &mut Account<'_>) -> Result<bool, Stop> {
    let Ok(scenario) = best.scenario.reread(&edited) else { return Ok(false) };
    let mut trial = Trial::new(&scenario, target, account);
    let list = renamed(&best.deviations, &best.scenario.inputs, &scenario.inputs);
    let Some(taken) = failing(&mut trial, &list)? else { return Ok(false) };
    if !best.deviations.is_empty() && (taken.is_empty() || trial.calm_breaks()?) {
        return Ok(false);
    }
    (best.scenario, best.deviations, best.minimal, best.singles) = (scenario, taken, false, None);
    Ok(true)
}

/// The deviations as the new scenario knows them, if it fails under them.
fn failing(trial: &mut Trial<'_, '_>, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, Stop> {
    if let Some(taken) = trial.fails(list)? {
        return Ok(Some(taken));
    }
    if list.is_empty() {
        return Ok(None);
    }
    if let Some(taken) = moved(trial, list, Reach::Anywhere)? {
        return Ok(Some(taken));
    }
    let earlier = one_step_earlier(list);
    if same(&earlier, list) { Ok(None) } else { trial.fails(&earlier) }
}

/// The list with the inputs' new numbers, where inputs were dropped. The sites are known by name alone: as numbers they
/// may be others.
fn renamed(list: &[Deviation], before: &[Input], after: &[Input]) -> Vec<Deviation> {
    let mut list = list.to_vec();
    let told = |inputs: &[Input]| inputs.iter().map(|input| format!("{input:?}")).collect::<Vec<_>>();
    let fewer = after.len() < before.len();
    let (before, after) = if fewer { (told(before), told(after)) } else { (Vec::new(), Vec::new()) };
    for deviation in &mut list {
        deviation.key = None;
        let Some((old, rest)) = input_of(&deviation.site) else { continue };
        let Some(known) = before.get(old) else { continue };
        // Of several that are the same, what comes before tells which it is.
        let nth = before[..old].iter().filter(|other| *other == known).count();
        let new = after.iter().enumerate().filter(|(_, other)| *other == known).nth(nth);
        if let Some((new, _)) = new {
            deviation.site = format!("input {new} / {rest}").into();
        }
    }
    list
}

/// The number of the input whose site it is, and what follows.
fn input_of(site: &Name) -> Option<(usize, &str)> {
    let (number, rest) = site.strip_prefix("input ")?.split_once(" / ")?;
    Some((number.parse().ok()?, rest))
}

/// The list with each step one number lower: a step before them is gone.
fn one_step_earlier(list: &[Deviation]) -> Vec<Deviation> {
    let mut list = list.to_vec();
    for deviation in &mut list {
        let earlier = |part: &str| {
            let (call, step) = part.rsplit_once(" step ")?;
            let step: u32 = step.parse().ok()?;
            Some(format!("{call} step {}", step.checked_sub(1)?))
        };
        let parts = deviation.site.split(" / ").map(|part| earlier(part).unwrap_or_else(|| part.to_owned()));
        deviation.site = of_earlier_steps(&parts.collect::<Vec<_>>().join(" / ")).into();
        deviation.key = None;
    }
    list
}

/// A text with the steps in the names of children and messages one lower: `helper/boss#1.2#1` becomes `helper/boss#1.1#1`.
fn of_earlier_steps(text: &str) -> String {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut parts = text.split('#');
    let mut earlier = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (run, rest) = part.split_at(digits(part));
        let step = rest.strip_prefix('.').map(|rest| rest.split_at(digits(rest)));
        earlier.push('#');
        match step.and_then(|(step, rest)| Some((step.parse::<u32>().ok()?.checked_sub(1)?, rest))) {
            Some((step, rest)) if !run.is_empty() => earlier.push_str(&format!("{run}.{step}{rest}")),
            _ => earlier.push_str(part),
        }
    }
    earlier
}

#[cfg(test)]
mod tests {
    use super::super::super::fake::deviation;
    use super::*;
    use crate::scenario::Scenario;

    fn inputs(ids: &[&str]) -> Vec<Input> {
        let inputs: Vec<Value> = ids.iter().map(|id| serde_json::json!({ "to": "a", "id": id })).collect();
        let document = serde_json::json!({ "name": "n", "agents": { "a": [] }, "inputs": inputs });
        Scenario::of_document(&document).expect("it is valid").inputs
    }

    #[test]
    fn inputs_keep_their_deviations_when_others_are_dropped() {
        let list = [deviation("input 2 / deliver 3 to a / try 1"), deviation("a#1 / lease 0 / read / try 1")];
        let (before, after) = (inputs(&["1", "2", "3"]), inputs(&["1", "3"]));
        let new = renamed(&list, &before, &after);
        assert_eq!(&*new[0].site, "input 1 / deliver 3 to a / try 1");
        assert_eq!(new[1].site, list[1].site);
        assert_eq!(renamed(&list, &before, &before)[0].site, list[0].site);
    }

    #[test]
    fn a_step_before_them_gone_all_have_lower_numbers() {
        let list = [
            deviation("a#1 / lease 0 / append tool.called step 3 / try 1"),
            deviation("a#1 / lease 0 / perform card step 0 / try 1"),
            deviation("w1 / clock"),
            deviation("helper/a#1.2#1 / lease 0 / deliver helper/a#1.2#1.7 to b/a#2.5 / try 1"),
        ];
        let earlier = one_step_earlier(&list);
        assert_eq!(&*earlier[0].site, "a#1 / lease 0 / append tool.called step 2 / try 1");
        assert!(same(&earlier[1..3], &list[1..3]));
        assert_eq!(&*earlier[3].site, "helper/a#1.1#1 / lease 0 / deliver helper/a#1.1#1.6 to b/a#2.4 / try 1");
    }
}
