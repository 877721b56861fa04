//! The judgement over what came about.

use super::expect::{End, Ends, Expectation, ExpectationResult, RunEnd, Who, either};
use super::model::Alias;

/// Judges `expectations` over `ends`, in order.
pub fn judge(expectations: &[Expectation], ends: &Ends) -> Vec<ExpectationResult> {
    expectations.iter().map(|expectation| expectation.judge(ends)).collect()
}

impl Ends {
    /// The run of a name.
    fn run(&self, alias: &Alias) -> Option<&RunEnd> {
        self.runs.iter().find(|run| run.alias == *alias)
    }

    /// How the run of a name stands, in words.
    fn tell(&self, alias: &Alias) -> String {
        let Some(run) = self.run(alias) else { return format!("{alias} was never made") };
        let code = run.code.map_or(String::new(), |code| format!(" ({})", code.as_str()));
        let output = run.output.as_ref().map_or(String::new(), |output| format!(" with {output:?}"));
        format!("{alias} is {}{code}{output}", run.end.as_str())
    }
}

impl Expectation {
    /// Judges one expectation.
    pub fn judge(&self, ends: &Ends) -> ExpectationResult {
        let (held, message) = match self {
            Expectation::Effect { kind, fact, bound } => {
                let counts = ends.effects.get(kind).copied().unwrap_or_default();
                let count = counts.of(*fact);
                (bound.holds(count), format!("{kind} {} {count} times", fact.as_str()))
            }
            Expectation::AgentEnds { agent, ends: wanted } => agent_ends(agent, wanted, ends),
            Expectation::RunEnds { run, ends: wanted } => {
                (ends.run(run).is_some_and(|run| wanted.contains(&run.end)), ends.tell(run))
            }
            Expectation::RunCode { run, code } => {
                (ends.run(run).is_some_and(|run| run.code == Some(*code)), ends.tell(run))
            }
            Expectation::Output { run, output } => {
                (ends.run(run).is_some_and(|run| run.output.as_ref() == Some(output)), ends.tell(run))
            }
            Expectation::Leases { run, bound } => {
                let count = ends.run(run).map_or(0, |run| u64::from(run.attempts));
                (bound.holds(count), format!("{run} had {count} leases"))
            }
            Expectation::Failures { run, bound } => {
                let count = ends.run(run).map_or(0, |run| u64::from(run.failures));
                (bound.holds(count), format!("the agent of {run} failed {count} times"))
            }
            Expectation::Runs { agent, bound } => {
                let count = ends.runs.iter().filter(|run| agent.covers(&run.agent)).count() as u64;
                (bound.holds(count), format!("{agent} had {count} runs"))
            }
            Expectation::DeadLetters { agent, bound } => {
                let count = ends.dead_letters.iter().filter(|letter| agent.covers(&letter.agent)).count() as u64;
                (bound.holds(count), format!("{agent} has {count} dead letters"))
            }
            Expectation::PendingMail { agent, bound } => {
                let mailboxes = ends.pending.iter().filter(|(address, _)| agent.covers(address));
                let count = mailboxes.map(|(_, count)| count).sum();
                (bound.holds(count), format!("{agent} has {count} pending messages"))
            }
            Expectation::Befell { agent, fact, bound } => {
                let runs = ends.runs.iter().filter(|run| agent.covers(&run.agent));
                let count = runs.map(|run| run.counts[*fact as usize]).sum();
                (bound.holds(count), format!("{} by {agent} {count} times", fact.as_str()))
            }
            Expectation::Spent { run, amount, bound } => {
                let tree = ends.run(run).map(|run| run.tree);
                let count = tree.and_then(|tree| ends.spent.get(&tree)).map_or(0, |spent| amount.of(spent));
                (bound.holds(count), format!("the tree of {run} has spent {count}"))
            }
            Expectation::Plan { plan, user, fact } => match ends.users.get(user) {
                Some(end) => fact.judge(plan, end),
                None => (false, format!("there is no user {user}")),
            },
            Expectation::Memory { uid, user, exists } => {
                let is_there = ends.users.get(user).is_some_and(|end| end.memory.contains(uid));
                (is_there == *exists, format!("{uid} is {}", if is_there { "there" } else { "not there" }))
            }
            Expectation::Refused { code, bound } => {
                let count = ends.refused.iter().filter(|refused| refused.code == *code).count() as u64;
                (bound.holds(count), format!("refused as {code} {count} times"))
            }
            Expectation::Took { at_most } => (ends.took <= *at_most, format!("it took {}", ends.took)),
        };
        ExpectationResult { text: self.to_string(), held, message }
    }
}

/// Whether every run of `agent` stands as wanted, and which does not.
fn agent_ends(agent: &Who, wanted: &[End], ends: &Ends) -> (bool, String) {
    let mut runs = ends.runs.iter().filter(|run| agent.covers(&run.agent)).peekable();
    if runs.peek().is_none() {
        return (false, format!("{agent} had no run"));
    }
    match runs.find(|run| !wanted.contains(&run.end)) {
        Some(run) => (false, ends.tell(&run.alias)),
        None => (true, format!("every run of {agent} is {}", either(wanted))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kernel::{AgentId, FailureCode, Json, RunId, Span, Spend};
    use crate::scenario::expect::{AgentFact, Amount, Bound, DeadLetter, EffectCount, EffectFact, Refused};

    fn run(name: &str, end: End, code: Option<FailureCode>, output: Option<i64>) -> RunEnd {
        let alias: Alias = name.parse().unwrap();
        let (run, agent) = (RunId::from_parts(0, u128::from(alias.nth)), alias.agent.clone());
        let output = output.map(|number| Json::new(number.into()));
        let mut counts = [0; AgentFact::ALL.len()];
        (counts[AgentFact::Replied as usize], counts[AgentFact::Spawned as usize]) = (2, 1);
        RunEnd { alias, run, agent, end, code, attempts: 2, failures: 1, output, tree: run, counts }
    }

    fn ends() -> Ends {
        let effect = EffectCount { happened: 2, recorded: 1, in_doubt: 1 };
        let letter = |agent: &str, message: &str| DeadLetter {
            agent: agent.parse().unwrap(),
            message: message.into(),
            attempts: 1,
            error: "no".into(),
        };
        Ends {
            runs: vec![
                run("a/x#1", End::Completed, None, Some(7)),
                run("a/y#1", End::Failed, Some(FailureCode::Poisoned), None),
                run("b#1", End::Sleeping, None, None),
            ],
            effects: BTreeMap::from([("e".into(), effect)]),
            dead_letters: vec![letter("a/x", "m"), letter("a/y", "n")],
            pending: BTreeMap::from([("a/x".parse().unwrap(), 2), ("b".parse().unwrap(), 1)]),
            spent: BTreeMap::from([(RunId::from_parts(0, 1), Spend { tokens: 900, cost_micros: 250_000, turns: 3 })]),
            users: BTreeMap::new(),
            refused: vec![Refused { code: "DuplicateUid".into(), message: "the uid `a` is taken".into() }],
            took: Span::from_secs(60),
        }
    }

    #[test]
    fn each_expectation_holds_and_fails_by_what_came_about() {
        let who = |text: &str| match text.parse::<AgentId>().unwrap() {
            address if address.key().is_empty() => Who::Type(address.as_str().into()),
            address => Who::Address(address),
        };
        let alias = |text: &str| text.parse::<Alias>().unwrap();
        let bound = |at_least, at_most| Bound { at_least, at_most };
        let effect = |kind: &str, fact, bound| Expectation::Effect { kind: kind.into(), fact, bound };
        let ends_of = |agent: &str, ends: &[End]| Expectation::AgentEnds { agent: who(agent), ends: ends.to_vec() };
        let run_ends = |run: &str, end| Expectation::RunEnds { run: alias(run), ends: vec![end] };
        let output = |run: &str, number: i64| Expectation::Output { run: alias(run), output: Json::new(number.into()) };
        let befell = |agent: &str, fact, bound| Expectation::Befell { agent: who(agent), fact, bound };
        let spent = |run: &str, amount, bound| Expectation::Spent { run: alias(run), amount, bound };
        let code = |run: &str, code| Expectation::RunCode { run: alias(run), code };
        let refused = |code: &str, bound| Expectation::Refused { code: code.into(), bound };
        let cases = [
            (effect("e", EffectFact::Happened, Bound::exactly(2)), true),
            (effect("e", EffectFact::Happened, bound(None, Some(1))), false),
            (effect("e", EffectFact::Recorded, bound(Some(1), None)), true),
            (effect("e", EffectFact::InDoubt, bound(Some(2), Some(3))), false),
            (effect("never", EffectFact::Happened, Bound::exactly(0)), true),
            (ends_of("a", &[End::Completed, End::Failed]), true),
            (ends_of("a", &[End::Completed]), false),
            (ends_of("a/x", &[End::Completed]), true),
            (ends_of("c", &[End::Completed]), false),
            (run_ends("b#1", End::Sleeping), true),
            (run_ends("b#2", End::Sleeping), false),
            (code("a/y#1", FailureCode::Poisoned), true),
            (code("a/x#1", FailureCode::Poisoned), false),
            (output("a/x#1", 7), true),
            (output("a/x#1", 8), false),
            (Expectation::Leases { run: alias("b#1"), bound: Bound::exactly(2) }, true),
            (Expectation::Leases { run: alias("b#1"), bound: Bound::exactly(1) }, false),
            (Expectation::Failures { run: alias("b#1"), bound: Bound::exactly(1) }, true),
            (Expectation::Failures { run: alias("b#1"), bound: bound(Some(2), None) }, false),
            (Expectation::Runs { agent: who("a"), bound: Bound::exactly(2) }, true),
            (Expectation::Runs { agent: who("a/x"), bound: Bound::exactly(2) }, false),
            (Expectation::DeadLetters { agent: who("a"), bound: Bound::exactly(2) }, true),
            (Expectation::DeadLetters { agent: who("b"), bound: bound(Some(1), None) }, false),
            (Expectation::PendingMail { agent: who("a"), bound: Bound::exactly(2) }, true),
            (Expectation::PendingMail { agent: who("b"), bound: Bound::exactly(0) }, false),
            (befell("a", AgentFact::Replied, Bound::exactly(4)), true),
            (befell("a/x", AgentFact::Spawned, bound(Some(2), None)), false),
            (befell("b", AgentFact::Denied, Bound::exactly(0)), true),
            (spent("a/x#1", Amount::Tokens, Bound::exactly(900)), true),
            (spent("a/x#1", Amount::Cost, bound(None, Some(249_999))), false),
            (spent("a/x#1", Amount::Turns, bound(None, Some(3))), true),
            (spent("never#1", Amount::Turns, Bound::exactly(0)), true),
            (refused("DuplicateUid", Bound::exactly(1)), true),
            (refused("UnknownPlan", bound(Some(1), None)), false),
            (Expectation::Took { at_most: Span::from_secs(60) }, true),
            (Expectation::Took { at_most: Span::from_secs(59) }, false),
        ];
        let ends = ends();
        let expectations: Vec<Expectation> = cases.iter().map(|(expectation, _)| expectation.clone()).collect();
        let results = judge(&expectations, &ends);
        for ((expectation, held), result) in cases.iter().zip(&results) {
            assert_eq!(result.held, *held, "{expectation}: {}", result.message);
        }
        let told: Vec<String> = results.iter().map(|result| format!("{} | {}", result.text, result.message)).collect();
        insta::assert_snapshot!(told.join("\n"));
    }
}
