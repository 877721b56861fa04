//! What two occurrences of one failure have in common.

use super::Cause;
use crate::scenario::Outcome;
use crate::sim::{Deviation, FaultKind};

/// What was broken, and what struck last before it broke. Two failures whose shrunk schedules have the same fingerprint
/// are taken for one. Of a schedule that is not shrunk the second half says little: much in it has no part in the
/// failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint {
    /// What was broken, and for whom.
    pub cause: Cause,
    /// The last deviation; none where the calm schedule fails.
    pub last: Option<Strike>,
}

/// A kind of fault at a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strike {
    /// The kind of fault.
    pub fault: FaultKind,
    /// The call that it struck, as `append tool.called` or `perform stripe.charge`; what is no call by its own name.
    pub call: String,
}

impl std::fmt::Display for Strike {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} × {}", self.fault.as_str(), self.call)
    }
}

impl Strike {
    /// What a deviation is, wherever it strikes.
    pub fn of(deviation: &Deviation) -> Strike {
        Strike { fault: deviation.fault.kind(), call: call_of(&deviation.site).to_owned() }
    }
}

impl Fingerprint {
    /// The fingerprint of an outcome that broke a promise.
    ///
    /// Deviations stand in the order in which they came about, and none of a minimal list came about after the break: what
    /// is later than the break has no part in it.
    pub fn of(outcome: &Outcome) -> Fingerprint {
        Fingerprint { cause: Cause::of(outcome), last: outcome.deviations.last().map(Strike::of) }
    }
}

/// The call that the name of a site is about, without run, lease, step and try.
fn call_of(site: &str) -> &str {
    let call = site.split(" / ").filter(|part| !part.starts_with("try ")).last().unwrap_or(site);
    let words = match call.split(' ').next() {
        Some("append" | "perform" | "record" | "lookup" | "release" | "register") => 2,
        _ => 1,
    };
    let end = call.match_indices(' ').nth(words - 1).map_or(call.len(), |(at, _)| at);
    &call[..end]
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;

    #[test]
    fn a_call_is_told_without_run_lease_step_and_try() {
        let cases = [
            ("billing#1 / lease 0 / append tool.called step 3 / try 1", "append tool.called"),
            ("billing#1 / lease 0 / perform stripe.charge step 0 / try 2", "perform stripe.charge"),
            ("billing#1 / lease 0 / release suspended / try 1", "release suspended"),
            ("billing#1 / lease 2 / heartbeat / try 4", "heartbeat"),
            ("input 3 / deliver order-1 to billing / try 1", "deliver"),
            ("w1 / clock", "clock"),
            ("billing#1 / lease 0 / granted", "granted"),
        ];
        for (site, call) in cases {
            assert_eq!(call_of(site), call);
        }
    }

    #[test]
    fn failures_that_differ_in_run_and_step_alone_have_one_fingerprint() {
        let outcome = |site| {
            let mut outcome = fake::held();
            outcome.violations.push(fake::violation("log-dense", 1));
            outcome.deviations = vec![fake::deviation("w1 / clock"), fake::deviation(site)];
            Fingerprint::of(&outcome)
        };
        let first = outcome("billing#1 / lease 0 / append tool.called step 3 / try 1");
        assert_eq!(first, outcome("billing#2 / lease 1 / append tool.called step 0 / try 2"));
        assert_ne!(first, outcome("billing#1 / lease 0 / append run.completed / try 1"));
    }
}
