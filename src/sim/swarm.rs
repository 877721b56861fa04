//! Swarm: what a seed is bent on. Each has its own subset of the kinds of fault that its scenario names, each
//! kind at its own rate, and often a *hot* spot (some calls, some runs, or a lease) at which they are more likely.
//!
//! A schedule in which everything may happen seldom has twice the same kind in a row, or three faults in one
//! epilogue; what one kind hides another finds. All is drawn once, from the seed alone. One seed in four keeps
//! the rates of the file as they are.

use rand::{Rng, RngExt};

use super::site::Who;
use crate::history::{Called, FaultKind};
use crate::kernel::{Attempt, RunId};

/// Factors are counted in so many parts of one.
const ONE: u64 = 8;

/// Kinds of fault.
pub(super) const KINDS: usize = FaultKind::ALL.len();

/// One seed in so many keeps the rates of the file.
const PLAIN_ONE_IN: u32 = 4;

/// A kind keeps away, or comes so many parts of as often as the file says. It seldom keeps away: what needs two kinds
/// together, for which a file has tuned its rates, is found as often as these are both there.
const FACTORS: [u64; 6] = [0, ONE / 2, ONE, ONE, ONE * 3 / 2, ONE * 2];

/// How much more likely a fault is at a hot spot.
const HOT: u64 = 8;

/// No fault is made more likely than this, in millionths, unless the file has it more likely.
const LIKELY_PPM: u64 = 250_000;

const _: () = assert!(Called::ALL.len() <= 128, "a set of calls is one word");

/// A set of calls.
const fn calls(list: &[Called]) -> u128 {
    let (mut set, mut place) = (0, 0);
    while place < list.len() {
        set |= 1 << list[place] as u128;
        place += 1;
    }
    set
}

/// The calls of a worker that takes a run up.
const BEGINNING: u128 = calls(&[
    Called::Lease,
    Called::Term,
    Called::Read,
    Called::RunStarted,
    Called::RunResumed,
    Called::Drain,
    Called::MsgReceived,
]);

/// The calls around an effect.
const ACTING: u128 = calls(&[
    Called::ToolCalled,
    Called::Perform,
    Called::Record,
    Called::ToolResult,
    Called::Lookup,
    Called::Heartbeat,
]);

/// The calls around a wait.
const WAITING: u128 = calls(&[
    Called::TimerSet,
    Called::Timer,
    Called::Armed,
    Called::TimerFired,
    Called::Claim,
    Called::SignalReceived,
    Called::Signal,
    Called::Deliver,
    Called::RunSuspended,
]);

/// The calls between a run and others: its children, those it asks and those who follow its topics.
const TALKING: u128 = calls(&[
    Called::Reserve,
    Called::ChildSpawned,
    Called::SpawnDenied,
    Called::Create,
    Called::ChildCompleted,
    Called::Wake,
    Called::CancelRequested,
    Called::Cancel,
    Called::ReturnUnit,
    Called::Detach,
    Called::AskSent,
    Called::ReplySent,
    Called::AskResolved,
    Called::Signal,
    Called::Deliver,
    Called::TopicPublished,
    Called::FollowersOf,
    Called::Follow,
    Called::Unfollow,
    Called::Spend,
    Called::Totals,
]);

/// The calls that end a run, or a try of it.
const ENDING: u128 = calls(&[
    Called::RunSuspended,
    Called::RunRetrying,
    Called::RunHalted,
    Called::RunCompleted,
    Called::RunFailed,
    Called::RunCancelled,
    Called::CancelRequested,
    Called::Ack,
    Called::Nack,
    Called::Release,
    Called::Wake,
    Called::Create,
]);

/// Phases of a run's life, by the calls that make them up.
const PHASES: [u128; 5] = [BEGINNING, ACTING, WAITING, TALKING, ENDING];

/// Leases that may be hot: the first, the second, the third.
const HOT_LEASES: u32 = 3;

/// Where faults are more likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    /// At these calls.
    Calls(u128),
    /// Under the lease of this attempt.
    Lease(u32),
    /// At a quarter of the runs, which quarter by this salt.
    Runs(u64),
}

/// What a seed is bent on.
#[derive(Clone, Debug)]
pub(super) struct Swarm {
    factors: [u64; KINDS],
    spot: Option<Spot>,
    /// The requests that it has held back, in the schedules that have such.
    pub holds: Option<Holds>,
}

/// How many requests are held back, and at which calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holds {
    /// How many more there may be.
    pub left: u32,
    /// At one call in so many.
    pub one_in: u32,
}

/// A hold comes at one call in so many: in a short life and in a long one, early and late.
const HOLDS_ONE_IN: [u32; 4] = [4, 16, 64, 256];

impl Swarm {
    /// The rates as they are.
    fn plain() -> Swarm {
        Swarm { factors: [ONE; KINDS], spot: None, holds: None }
    }

    /// What a seed is bent on; `named` are the kinds that can come at all, and `holds_ppm` is the share of schedules,
    /// in millionths, in which requests are held back.
    pub fn draw(dice: &mut impl Rng, named: impl Fn(FaultKind) -> bool, holds_ppm: u32) -> Swarm {
        let is_plain = dice.random_range(0..PLAIN_ONE_IN) == 0;
        // Drawn for every kind, named or not: what a kind gets does not hang on the others.
        let mut factors = FaultKind::ALL.map(|kind| match kind {
            FaultKind::ToolMalformed => 0,
            _ => FACTORS[dice.random_range(0..FACTORS.len())],
        });
        let spot = match dice.random_range(0..8) {
            0 => Some(Spot::Calls(1 << dice.random_range(0..Called::ALL.len()))),
            1 => Some(Spot::Calls(PHASES[dice.random_range(0..PHASES.len())])),
            2 => Some(Spot::Lease(dice.random_range(0..HOT_LEASES))),
            3 => Some(Spot::Runs(dice.random())),
            _ => None,
        };
        let holds =
            Holds { left: dice.random_range(1..=2), one_in: HOLDS_ONE_IN[dice.random_range(0..HOLDS_ONE_IN.len())] };
        let holds = (dice.random_range(0..1_000_000) < holds_ppm).then_some(holds);
        // Behind all others: what a seed does where there are no models does not hang on what befalls models.
        factors[FaultKind::ToolMalformed as usize] = FACTORS[dice.random_range(0..FACTORS.len())];
        let none_left = FaultKind::ALL.iter().all(|kind| !named(*kind) || factors[*kind as usize] == 0);
        if is_plain || none_left { Swarm { holds, ..Swarm::plain() } } else { Swarm { factors, spot, holds } }
    }

    /// Whether a place is hot: `who` calls there, and what.
    pub fn is_hot(&self, who: Who, called: Called) -> bool {
        match (self.spot, who) {
            (Some(Spot::Calls(set)), _) => set & (1_u128 << called as u128) != 0,
            (Some(Spot::Lease(wanted)), Who::Lease(_, Attempt(attempt))) => attempt == wanted,
            (Some(Spot::Runs(salt)), Who::Lease(run, _) | Who::Run(run)) => is_chosen(run, salt),
            _ => false,
        }
    }

    /// The rate of a kind, in millionths, where the file has it at `ppm`.
    pub fn rate(&self, kind: FaultKind, ppm: u64, hot: bool) -> u64 {
        let factor = self.factors[kind as usize];
        if ppm == 0 || factor == 0 {
            return 0;
        }
        let raised = match (self.spot, hot) {
            (None, _) => ppm * factor / ONE,
            (Some(_), false) => ppm * factor / ONE / 2,
            (Some(_), true) => ppm * factor * HOT / ONE / 2,
        };
        raised.min(ppm.max(LIKELY_PPM))
    }
}

fn is_chosen(run: RunId, salt: u64) -> bool {
    super::site::mix(run.as_u128() as u64, salt) & 3 == 0
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn swarms() -> Vec<Swarm> {
        (0..4_000).map(|seed| Swarm::draw(&mut ChaCha8Rng::seed_from_u64(seed), |_| true, 125_000)).collect()
    }

    #[test]
    fn about_one_seed_in_four_keeps_the_rates_of_the_file() {
        let is_plain = |swarm: &&Swarm| swarm.spot.is_none() && swarm.factors == [ONE; KINDS];
        let plain = swarms().iter().filter(is_plain).count();
        assert!((900..1_100).contains(&plain), "{plain}");
    }

    #[test]
    fn a_kind_comes_as_often_over_all_seeds_as_the_file_says() {
        for kind in FaultKind::ALL {
            let total: u64 = swarms().iter().map(|swarm| swarm.factors[kind as usize]).sum();
            let mean = total * 100 / ONE / 4_000;
            assert!((95..106).contains(&mean), "{kind:?} {mean} %");
        }
    }

    #[test]
    fn about_one_seed_in_eight_holds_requests_back() {
        let holds = swarms().iter().filter(|swarm| swarm.holds.is_some()).count();
        assert!((440..560).contains(&holds), "{holds}");
    }

    #[test]
    fn every_seed_keeps_a_kind_that_its_scenario_names() {
        for seed in 0..1_000 {
            let swarm = Swarm::draw(&mut ChaCha8Rng::seed_from_u64(seed), |kind| kind == FaultKind::Crash, 0);
            assert!(swarm.rate(FaultKind::Crash, 10_000, false) > 0, "{seed}");
        }
    }

    #[test]
    fn a_fault_is_likelier_at_a_hot_spot_and_never_certain_unless_the_file_has_it_so() {
        let run = RunId::from_parts(1, 2);
        let mut hot = Swarm { factors: [4 * ONE; KINDS], spot: Some(Spot::Lease(1)), holds: None };
        assert!(hot.is_hot(Who::Lease(run, Attempt(1)), Called::Read));
        assert!(!hot.is_hot(Who::Lease(run, Attempt(0)), Called::Read));
        assert!(hot.rate(FaultKind::Crash, 1_000, true) > hot.rate(FaultKind::Crash, 1_000, false));
        assert_eq!(hot.rate(FaultKind::Crash, 100_000, true), LIKELY_PPM);
        assert_eq!(hot.rate(FaultKind::Crash, 800_000, true), 800_000);
        hot.spot = Some(Spot::Calls(ENDING));
        assert!(hot.is_hot(Who::Worker(0), Called::Ack) && !hot.is_hot(Who::Worker(0), Called::Read));
    }
}
