//! What a valid scenario leaves out, so that it shows less than whoever wrote it may think.

use super::code::Code;
use super::model::Scenario;

impl Scenario {
    /// What of the scenario is missing without being wrong, a sentence each: nothing that is expected, nothing that happens, an
    /// agent that does nothing. A file that names what it `violates` expects just that.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if self.expect.is_empty() && self.expect_calm.is_empty() && self.violates.is_none() {
            gaps.push("nothing is expected of it: invariants alone judge it".to_owned());
        }
        if self.inputs.is_empty() && self.users.is_empty() {
            gaps.push("nothing happens in it: it has no `inputs`, no `load` and no `users`".to_owned());
        }
        let idle = self.agents.iter().filter(|(_, agent)| match &agent.code {
            Code::Script(script) => script.steps.is_empty(),
            _ => false,
        });
        gaps.extend(idle.map(|(kind, _)| format!("the agent `{kind}` has no steps: its runs complete at once")));
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_gap_of_a_scenario_is_told_and_a_whole_one_has_none() {
        let whole = json!({ "name": "n", "agents": { "a": [{ "check": true }] }, "inputs": [{ "to": "a" }],
            "expect": [{ "agent": "a", "runs": 1 }] });
        let cases = [
            ("expect", json!([{ "agent": "a", "runs": 1 }]), ""),
            ("expect", json!([]), "nothing is expected"),
            ("inputs", json!([]), "nothing happens"),
            ("agents", json!({ "a": [] }), "the agent `a` has no steps"),
            ("agents", json!({ "a": "rust" }), ""),
        ];
        for (member, value, told) in cases {
            let mut document = whole.clone();
            document[member] = value;
            let gaps = Scenario::of_document(&document).expect("it is valid").gaps();
            assert_eq!(gaps.len(), usize::from(!told.is_empty()), "{member}: {gaps:?}");
            assert!(gaps.iter().all(|gap| gap.contains(told)), "{member}: {gaps:?}");
        }
        let mut failure = whole;
        (failure["expect"], failure["violates"]) = (json!([]), json!("log-dense"));
        assert!(Scenario::of_document(&failure).expect("it is valid").gaps().is_empty());
    }
}
