//! What a scenario expects of its end, and the judgement over what came about.

use std::collections::BTreeMap;
use std::fmt;

use super::model::Alias;
use crate::kernel::{AgentId, FailureCode, Json, MessageId, Name, RunId, Span};

/// How a run stands at the end of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// Its agent returned.
    Completed,
    /// It failed for good.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It sleeps for a reason.
    Sleeping,
    /// Its agent did not follow its log.
    Halted,
    /// It waits for a worker.
    Pending,
    /// A worker holds it.
    Running,
}

impl End {
    /// Every end.
    pub const ALL: [End; 7] =
        [End::Completed, End::Failed, End::Cancelled, End::Sleeping, End::Halted, End::Pending, End::Running];

    /// The end in words, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            End::Completed => "completed",
            End::Failed => "failed",
            End::Cancelled => "cancelled",
            End::Sleeping => "sleeping",
            End::Halted => "halted",
            End::Pending => "pending",
            End::Running => "running",
        }
    }
}

/// A run at the end of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// Its name in the scenario.
    pub alias: Alias,
    /// Its id.
    pub run: RunId,
    /// Its address.
    pub agent: AgentId,
    /// How it stands.
    pub end: End,
    /// Why it failed, where it did.
    pub code: Option<FailureCode>,
    /// How many leases it had.
    pub attempts: u32,
    /// How many failures of its agent its log holds.
    pub failures: u32,
    /// What it completed with.
    pub output: Option<Json>,
}

/// What became of all effects of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EffectCount {
    /// How often it took hold outside.
    pub happened: u64,
    /// How many of its steps have a recorded result that is no error.
    pub recorded: u64,
    /// How many of its steps ended with the verdict in doubt.
    pub in_doubt: u64,
}

/// A dead letter at the end of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The mailbox.
    pub agent: AgentId,
    /// The message.
    pub message: MessageId,
    /// How often a run over it has failed.
    pub attempts: u32,
    /// Why it is dead.
    pub error: Name,
}

/// All that expectations look at. The probe is not part of it.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// Every run, in order of creation.
    pub runs: Vec<RunEnd>,
    /// Every kind of effect that was tried.
    pub effects: BTreeMap<Name, EffectCount>,
    /// Every dead letter.
    pub dead_letters: Vec<DeadLetter>,
    /// How much mail is pending at each address that has any.
    pub pending: BTreeMap<AgentId, u64>,
    /// How long it took: from the start to the last end, or the last event that was no poll.
    pub took: Span,
}

/// How many there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// The fewest.
    pub at_least: Option<u64>,
    /// The most.
    pub at_most: Option<u64>,
}

/// Which count of an effect is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectFact {
    /// It took hold outside.
    Happened,
    /// It has a recorded result.
    Recorded,
    /// It ended in doubt.
    InDoubt,
}

/// One thing that a scenario expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// So many effects of a kind.
    Effect {
        /// The kind.
        kind: Name,
        /// What is counted.
        fact: EffectFact,
        /// How many.
        bound: Bound,
    },
    /// Every run of an agent stands like this, and there is one.
    AgentEnds {
        /// The agent.
        agent: Who,
        /// Any of these.
        ends: Vec<End>,
    },
    /// A run stands like this.
    RunEnds {
        /// The run.
        run: Alias,
        /// Any of these.
        ends: Vec<End>,
    },
    /// A run failed for this reason.
    RunCode {
        /// The run.
        run: Alias,
        /// The reason.
        code: FailureCode,
    },
    /// A run completed with this.
    Output {
        /// The run.
        run: Alias,
        /// What.
        output: Json,
    },
    /// A run had so many leases.
    Leases {
        /// The run.
        run: Alias,
        /// How many.
        bound: Bound,
    },
    /// The agent of a run failed so often.
    Failures {
        /// The run.
        run: Alias,
        /// How often.
        bound: Bound,
    },
    /// An agent had so many runs.
    Runs {
        /// The agent.
        agent: Who,
        /// How many.
        bound: Bound,
    },
    /// An agent has so many dead letters.
    DeadLetters {
        /// The agent.
        agent: Who,
        /// How many.
        bound: Bound,
    },
    /// An agent has so much pending mail.
    PendingMail {
        /// The agent.
        agent: Who,
        /// How much.
        bound: Bound,
    },
    /// All is over after this long.
    Took {
        /// At most.
        at_most: Span,
    },
}

/// An agent type, all its addresses; or one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// Every address of the type.
    Type(Name),
    /// One address.
    Address(AgentId),
}

/// How an expectation fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectationResult {
    /// What was expected, in words.
    pub text: String,
    /// Whether it came about.
    pub held: bool,
    /// What came about, in words.
    pub message: String,
}

impl Bound {
    /// Exactly `count`.
    pub const fn exactly(count: u64) -> Self {
        Bound { at_least: Some(count), at_most: Some(count) }
    }

    /// Whether `count` is within the bound.
    pub fn holds(&self, count: u64) -> bool {
        self.at_least.is_none_or(|least| count >= least) && self.at_most.is_none_or(|most| count <= most)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) if least == most => write!(f, "{least}"),
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("any number"),
        }
    }
}

impl Who {
    /// Whether `agent` is meant.
    pub fn covers(&self, agent: &AgentId) -> bool {
        match self {
            Who::Type(kind) => agent.kind() == &**kind,
            Who::Address(address) => address == agent,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Type(kind) => f.write_str(kind),
            Who::Address(address) => address.fmt(f),
        }
    }
}

/// Judges `expectations` over `ends`, in order.
pub fn judge(expectations: &[Expectation], ends: &Ends) -> Vec<ExpectationResult> {
    expectations.iter().map(|expectation| expectation.judge(ends)).collect()
}

/// `completed or failed`.
fn either(ends: &[End]) -> String {
    ends.iter().map(|end| end.as_str()).collect::<Vec<_>>().join(" or ")
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

impl EffectCount {
    /// The count that is meant.
    pub const fn of(&self, fact: EffectFact) -> u64 {
        match fact {
            EffectFact::Happened => self.happened,
            EffectFact::Recorded => self.recorded,
            EffectFact::InDoubt => self.in_doubt,
        }
    }
}

impl EffectFact {
    /// The fact in words, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            EffectFact::Happened => "happened",
            EffectFact::Recorded => "recorded",
            EffectFact::InDoubt => "in_doubt",
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Effect { kind, fact, bound } => write!(f, "effect {kind} {} {bound}", fact.as_str()),
            Expectation::AgentEnds { agent, ends } => write!(f, "every run of {agent} is {}", either(ends)),
            Expectation::RunEnds { run, ends } => write!(f, "run {run} is {}", either(ends)),
            Expectation::RunCode { run, code } => write!(f, "run {run} failed as {}", code.as_str()),
            Expectation::Output { run, output } => write!(f, "run {run} completed with {output:?}"),
            Expectation::Leases { run, bound } => write!(f, "leases of {run}: {bound}"),
            Expectation::Failures { run, bound } => write!(f, "failures of {run}: {bound}"),
            Expectation::Runs { agent, bound } => write!(f, "runs of {agent}: {bound}"),
            Expectation::DeadLetters { agent, bound } => write!(f, "dead letters of {agent}: {bound}"),
            Expectation::PendingMail { agent, bound } => write!(f, "pending mail of {agent}: {bound}"),
            Expectation::Took { at_most } => write!(f, "all is over after {at_most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, end: End, code: Option<FailureCode>, output: Option<i64>) -> RunEnd {
        let alias: Alias = name.parse().unwrap();
        let (run, agent) = (RunId::from_parts(0, u128::from(alias.nth)), alias.agent.clone());
        let output = output.map(|number| Json::new(number.into()));
        RunEnd { alias, run, agent, end, code, attempts: 2, failures: 1, output }
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
        let code = |run: &str, code| Expectation::RunCode { run: alias(run), code };
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
