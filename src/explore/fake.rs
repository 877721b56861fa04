//! A subject for this room's own tests: its outcomes are arithmetic.

use super::shrink::deviations::Oracle;
use super::{Aim, Failure, Fingerprint, Player, Strike, Subject};
use crate::check::Violation;
use crate::history::{Event, Header, Phase, Record};
use crate::kernel::{Name, Span, Timestamp};
use crate::scenario::{Options, Outcome};
use crate::sim::{Deviation, Fault, FaultKind, Schedule, SiteListing};

/// Its seeds fail, panic or leak as the fields say.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    /// Its name; `fake` where it has none.
    pub name: &'static str,
    /// Every multiple of it fails, but 0.
    pub fails: Option<u64>,
    /// Failures of its multiples are shrunk to another minimum than others.
    pub rare: Option<u64>,
    /// This seed panics.
    pub panics: Option<u64>,
    /// Whether the number of schedules played before shows in the history.
    pub leaks: bool,
    /// The sites of the calm run.
    pub sites: Vec<(&'static str, Vec<Fault>)>,
    /// The site at which a lost reply breaks a promise.
    pub weak: Option<&'static str>,
    /// The site at which a pause of at least so long breaks a promise.
    pub too_long: Option<(&'static str, Span)>,
    /// The file's own list.
    pub fixed: Option<Vec<Deviation>>,
}

impl Subject for Fake {
    fn name(&self) -> &str {
        if self.name.is_empty() { "fake" } else { self.name }
    }
    fn fixed(&self) -> Option<&[Deviation]> {
        self.fixed.as_deref()
    }
    fn minimum(&self, failure: &Failure, _: &Aim) -> Option<Fingerprint> {
        let Schedule::Seed(seed) = failure.schedule else { return None };
        let rare = self.rare.is_some_and(|every| seed.is_multiple_of(every));
        let call = if rare { "rare" } else { "common" }.to_owned();
        Some(Fingerprint { cause: failure.cause(), last: Some(Strike { fault: FaultKind::LostReply, call }) })
    }
    fn player(&self) -> Box<dyn Player + '_> {
        Box::new(Playing { fake: self, played: 0 })
    }
}

struct Playing<'a> {
    fake: &'a Fake,
    played: u64,
}

impl Player for Playing<'_> {
    fn header(&self) -> Header {
        Header {
            format: 1,
            scenario: "fake".into(),
            start: Timestamp::from_micros(0),
            lease: Span::from_secs(30),
            poll: Span::from_millis(50),
            timer_jitter: Span::ZERO,
            capacity: 10,
            max_lost_leases: 10,
            workers: Vec::new(),
        }
    }

    fn play(&mut self, schedule: &Schedule, mut options: Options<'_>) -> Outcome {
        let past = if self.fake.leaks { self.played } else { 0 };
        self.played += 1;
        if let Some(trace) = &mut options.trace {
            trace(&record(0));
            trace(&record(past));
        }
        let mut outcome = held();
        outcome.digest = format!("{schedule:?} after {past}");
        match schedule {
            Schedule::Calm => {}
            Schedule::Seed(seed) => {
                assert!(self.fake.panics != Some(*seed), "seed {seed} is too much");
                if self.fake.fails.is_some_and(|every| *seed > 0 && seed.is_multiple_of(every)) {
                    outcome.violations.push(violation("log-dense", 1));
                }
                outcome.deviations = vec![deviation("a"); (seed % 3) as usize];
            }
            Schedule::Fixed(list) => {
                let known = |deviation: &Deviation| self.fake.sites.iter().any(|(site, _)| *site == &*deviation.site);
                (outcome.deviations, outcome.stale) = list.iter().cloned().partition(known);
                let weak = |found: &Deviation| {
                    self.fake.weak.is_some_and(|weak| (&*found.site, &found.fault) == (weak, &Fault::LostReply))
                };
                let too_long = |found: &Deviation| match (&found.fault, self.fake.too_long) {
                    (Fault::Pause { lasts, .. }, Some((site, most))) => &*found.site == site && *lasts >= most,
                    _ => false,
                };
                if outcome.deviations.iter().any(|found| weak(found) || too_long(found)) {
                    outcome.violations.push(violation("effect-at-most-once", 1));
                }
            }
        }
        if options.sites {
            let site = |(name, faults): &(&str, Vec<Fault>)| SiteListing::for_test(name, faults.clone());
            outcome.sites = self.fake.sites.iter().map(site).collect();
        }
        outcome
    }
}

/// A lost reply at `site`.
pub fn deviation(site: &str) -> Deviation {
    Deviation::named(site, Fault::LostReply)
}

/// An outcome in which all held.
pub fn held() -> Outcome {
    Outcome {
        violations: Vec::new(),
        digest: String::new(),
        events: 10,
        calls: 4,
        virtual_ms: 1_000,
        deviations: Vec::new(),
        lost_leases: 0,
        ends: Default::default(),
        expectations: Vec::new(),
        reached: Vec::new(),
        covered: Default::default(),
        moments: Default::default(),
        not_judged: Vec::new(),
        sites: Vec::new(),
        healed: Vec::new(),
        stale: Vec::new(),
    }
}

/// A violation at this second.
pub fn violation(invariant: &'static str, second: i64) -> Violation {
    let at = Timestamp::from_micros(0) + Span::from_secs(second);
    Violation { invariant, subject: "billing#1".to_owned(), at, message: "for the test".to_owned() }
}

/// An event at this microsecond.
pub fn record(micros: u64) -> Record {
    Record { at: Timestamp::from_micros(micros as i64), event: Event::Phase(Phase::Chaos) }
}

/// Its sites are always there; it fails while one of the cores is all there.
#[derive(Debug)]
pub(crate) struct Cores {
    /// The sites of every schedule.
    pub(crate) sites: Vec<SiteListing>,
    /// What fails, each by the sites that must be struck.
    pub(crate) cores: Vec<Vec<&'static str>>,
}

impl Oracle for Cores {
    type Stop = ();
    fn fails(&mut self, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, ()> {
        let there = |site: &&str| list.iter().any(|deviation| *deviation.site == **site);
        Ok(self.cores.iter().any(|core| core.iter().all(there)).then(|| list.to_vec()))
    }
    fn sites(&mut self, _: &[Deviation]) -> Result<Vec<SiteListing>, ()> {
        Ok(self.sites.clone())
    }
    fn workers(&self) -> Vec<Name> {
        Vec::new()
    }
}
