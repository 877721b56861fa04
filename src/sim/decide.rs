//! Decisions: what, if anything, happens at a site. Only here is anything random, and it is drawn from the
//! seed and the site alone: one keyed mix says whether, a ChaCha block says what and how long.

use std::collections::BTreeMap;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::core::Caller;
use super::faults::{FaultKind, FaultPlan, Faults, Tool};
use super::hold::By;
use super::schedule::{Deviation, Fault, Point, Schedule, SiteListing};
use super::site::{Class, Site, SiteKey, Who, Words, mix};
use super::swarm::{KINDS, Swarm};
use super::world::Setup;
use crate::history::{About, Actor, Called, Event};
use crate::kernel::{Name, Span, Timestamp, WorkerId};

/// What is known of the place where a decision falls.
pub(super) struct Place<'a> {
    pub at: Timestamp,
    pub class: Class,
    pub site: Site,
    pub who: Who,
    pub called: Called,
    /// What it is about.
    pub about: About<'a>,
    /// The contract's method, `perform`, or what is no call.
    pub method: &'static str,
    pub worker: Option<&'a Name>,
    /// Who exactly calls, or is granted something.
    pub by: Option<By>,
    pub tool: Option<&'a Tool>,
}

impl Place<'_> {
    /// Who calls, as histories name it.
    fn actor(&self) -> Option<Actor> {
        match (self.by?, self.worker) {
            ((Caller::Input(input), _), _) => Some(Actor::Input(input)),
            ((Caller::Probe, _), _) => Some(Actor::Probe),
            ((Caller::Worker(_), incarnation), Some(name)) => {
                Some(Actor::Worker(WorkerId { name: name.clone(), incarnation }))
            }
            ((Caller::Worker(_), _), None) => None,
        }
    }
}

enum Mode {
    Calm,
    Drawn(Drawer),
    Fixed(Listed),
}

/// A seed that draws.
struct Drawer {
    seed: u64,
    swarm: Swarm,
}

/// What is to happen, by key, and by name for those that have no key.
#[derive(Default)]
struct Listed {
    by_key: BTreeMap<SiteKey, Fault>,
    by_name: BTreeMap<Name, Fault>,
    /// The sites that holds wait for, and their keys once they have come up.
    untils: BTreeMap<Name, Option<SiteKey>>,
}

impl Listed {
    fn of(list: &[Deviation]) -> Listed {
        let mut listed = Listed::default();
        for deviation in list {
            let fault = deviation.fault.clone();
            if let Fault::Hold { until: Some(until), .. } = &fault {
                listed.untils.insert(until.clone(), None);
            }
            match deviation.key {
                Some(key) => listed.by_key.insert(key, fault),
                None => listed.by_name.insert(deviation.site.clone(), fault),
            };
        }
        listed
    }

    /// What is listed for a site; its name is made only where it is needed.
    fn at(&mut self, key: SiteKey, named: &mut impl FnMut() -> Name) -> Option<Fault> {
        if !self.untils.is_empty()
            && let Some(known) = self.untils.get_mut(&named())
        {
            *known = Some(key);
        }
        if let Some(fault) = self.by_key.get(&key) {
            return Some(fault.clone());
        }
        if self.by_name.is_empty() {
            return None;
        }
        self.by_name.get(&named()).cloned()
    }
}

/// Decides at every site, and keeps what came about.
pub(super) struct Decider {
    mode: Mode,
    faults: Faults,
    /// The rates of the plans, by kind.
    planned: [u32; KINDS],
    lease: Span,
    start: Timestamp,
    /// Off from healing on.
    on: bool,
    counts: [u32; KINDS],
    pub taken: Vec<Deviation>,
    /// The places, among those, of the holds that ended by the call that they waited for.
    met: Vec<usize>,
    /// The deviation that was taken last, as an event.
    event: Option<Event>,
    /// The sites that came up, where somebody wants to know.
    pub listing: Option<Vec<SiteListing>>,
    /// The names of those that came up since the world healed, where somebody wants to know.
    pub healed: Vec<Name>,
    /// The world's state at the site that comes up next, where it is known.
    pub state: Option<u128>,
}

impl Decider {
    pub fn new(schedule: &Schedule, setup: &Setup, list: bool) -> Self {
        let faults = &setup.faults;
        let mode = match schedule {
            Schedule::Calm => Mode::Calm,
            Schedule::Seed(seed) => Mode::Drawn(drawer(*seed, setup)),
            Schedule::Fixed(list) => Mode::Fixed(Listed::of(list)),
        };
        let mut planned = [0; KINDS];
        for (kind, plan) in &faults.plans {
            planned[*kind as usize] = plan.rate_ppm;
        }
        // Of holds the rate is that of schedules that have some, not that of a call.
        planned[FaultKind::Hold as usize] = 0;
        Decider {
            mode,
            faults: faults.clone(),
            planned,
            lease: setup.header.lease,
            start: setup.header.start,
            on: true,
            counts: [0; KINDS],
            taken: Vec::new(),
            met: Vec::new(),
            event: None,
            listing: list.then(Vec::new),
            healed: Vec::new(),
            state: None,
        }
    }

    /// No more deviations from now on.
    pub fn heal(&mut self) {
        self.on = false;
    }

    /// The deviation that was taken last, as an event.
    pub fn last_taken(&mut self) -> Event {
        self.event.take().expect("a deviation was taken")
    }

    /// Whether seeds draw what happens.
    pub fn draws(&self) -> bool {
        matches!(self.mode, Mode::Drawn(_))
    }

    /// Whether some request may be held back until another call was applied.
    pub fn holds(&self) -> bool {
        match &self.mode {
            Mode::Calm => false,
            Mode::Drawn(drawer) => drawer.swarm.holds.is_some(),
            Mode::Fixed(listed) => !listed.untils.is_empty(),
        }
    }

    /// The key of the site of this name, for which some hold waits, if it has come up.
    pub fn key_of(&self, until: &Name) -> Option<SiteKey> {
        match &self.mode {
            Mode::Fixed(listed) => *listed.untils.get(until)?,
            _ => None,
        }
    }

    /// The hold that was taken as number `taken` has ended by the call at the site of this name.
    pub fn held_until(&mut self, taken: usize, name: Name) {
        self.met.push(taken);
        if let Fault::Hold { until, .. } = &mut self.taken[taken].fault {
            *until = Some(name);
        }
    }

    /// Listed deviations whose sites have not come up, and holds that waited for a call in vain.
    pub fn stale(&self, schedule: &Schedule) -> Vec<Deviation> {
        match schedule {
            Schedule::Fixed(list) => {
                let came = |wanted: &Deviation| {
                    let place = self.taken.iter().position(|taken| taken.site == wanted.site);
                    let waits = matches!(wanted.fault, Fault::Hold { until: Some(_), .. });
                    place.is_some_and(|place| !waits || self.met.contains(&place))
                };
                list.iter().filter(|wanted| !came(wanted)).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What happens at a site; `words` makes its name, which is only needed when something does.
    pub fn decide(&mut self, place: &Place<'_>, words: &Words<'_>, name: impl FnOnce() -> Name) -> Option<Fault> {
        if !self.on {
            if self.listing.is_some() {
                self.healed.push(name());
            }
            return None;
        }
        let key = place.site.key();
        let mut make = Some(name);
        let mut name: Option<Name> = None;
        let mut named = || name.get_or_insert_with(|| (make.take().expect("made once"))()).clone();
        if let Some(listing) = &mut self.listing {
            let faults = values(place.class, self.lease, place.tool);
            let (at, call, by) = (place.at, place.called, place.actor());
            let (address, state) = (words.address(place.about), self.state.take());
            listing.push(SiteListing { name: named(), key, faults, at, call, by, address, state });
        }
        let fault = match &mut self.mode {
            Mode::Calm => None,
            Mode::Drawn(_) => self.wish(key, place).or_else(|| self.wish_hold(key, place)),
            Mode::Fixed(listed) => listed.at(key, &mut named),
        }?;
        let site = named();
        self.counts[fault.kind() as usize] += 1;
        self.event = Some(event(place, site.clone(), &fault));
        self.taken.push(Deviation { site, fault: fault.clone(), key: Some(key) });
        Some(fault)
    }

    /// What the seed wishes at a site, unless budget or window veto.
    fn wish(&self, key: SiteKey, place: &Place<'_>) -> Option<Fault> {
        let Mode::Drawn(Drawer { seed, swarm }) = &self.mode else { return None };
        let hot = swarm.is_hot(place.who, place.called);
        let rate = |kind: &FaultKind| swarm.rate(*kind, self.rate(*kind, place.tool), hot);
        let total: u64 = place.class.kinds().iter().map(rate).sum();
        if total == 0 {
            return None;
        }
        // The high 32 bits as a fraction of one million; a sum of rates over one is certainty.
        let draw = ((mix(*seed, key.0) >> 32) * 1_000_000) >> 32;
        if draw >= total {
            return None;
        }
        let mut dice = dice(*seed, key.0);
        let mut left = dice.random_range(0..total);
        let kind = *place.class.kinds().iter().find(|kind| {
            let rate = rate(kind);
            let hit = left < rate;
            left = left.saturating_sub(rate);
            hit
        })?;
        let plan = self.faults.plans.get(&kind);
        if plan.is_some_and(|plan| !self.allows(plan, kind, place)) {
            return None;
        }
        let usual;
        let plan = match plan {
            Some(plan) => plan,
            None => {
                usual = FaultPlan::new(kind, 0, self.lease);
                &usual
            }
        };
        Some(draw_fault(kind, plan, self.lease, place, &mut dice))
    }

    /// Whether the seed has a request held back, which happens to one or two calls in some schedules.
    fn wish_hold(&mut self, key: SiteKey, place: &Place<'_>) -> Option<Fault> {
        let Mode::Drawn(Drawer { seed, swarm }) = &self.mode else { return None };
        let holds = swarm.holds.as_ref()?;
        let can = holds.left > 0 && place.about != About::Neither && place.class.kinds().contains(&FaultKind::Hold);
        // Another draw than that of the other kinds, and no less keyed.
        let draw = (mix(mix(*seed, 0x686f_6c64), key.0) >> 32) % u64::from(holds.one_in);
        let plan = self.faults.plans.get(&FaultKind::Hold);
        if !can || draw > 0 || plan.is_some_and(|plan| !self.allows(plan, FaultKind::Hold, place)) {
            return None;
        }
        if let Mode::Drawn(drawer) = &mut self.mode
            && let Some(holds) = &mut drawer.swarm.holds
        {
            holds.left -= 1;
        }
        Some(Fault::Hold { until: None, most: Some(self.lease) })
    }

    /// The chance of a kind at a site, in millionths: the plan's, and what the tool itself does.
    fn rate(&self, kind: FaultKind, tool: Option<&Tool>) -> u64 {
        let planned = self.planned[kind as usize];
        u64::from(planned) + tool.map_or(0, |tool| u64::from(own_rate(kind, tool, planned)))
    }

    fn allows(&self, plan: &FaultPlan, kind: FaultKind, place: &Place<'_>) -> bool {
        let since = place.at.since(self.start).max(Span::ZERO);
        plan.at_most.is_none_or(|most| self.counts[kind as usize] < most)
            && since >= plan.from
            && since < plan.until
            && (plan.calls.is_empty() || plan.calls.iter().any(|call| **call == *place.method))
            && (plan.workers.is_empty() || place.worker.is_some_and(|worker| plan.workers.contains(worker)))
    }
}

/// How often a tool with a range of times leaves its least one.
const TOOL_SLOW_PPM: u32 = 100_000;

/// The chance of a kind that a tool has of its own, in millionths, where the file plans `planned`.
fn own_rate(kind: FaultKind, tool: &Tool, planned: u32) -> u32 {
    match kind {
        FaultKind::ToolRefuses => tool.refuses_ppm + tool.model.as_ref().map_or(0, |model| model.limited_ppm),
        FaultKind::ToolUnknown => tool.unknown_ppm + tool.model.as_ref().map_or(0, |model| model.cut_ppm),
        FaultKind::ToolMalformed => tool.model.as_ref().map_or(0, |model| model.malformed_ppm),
        FaultKind::ToolSlow if tool.takes.0 < tool.takes.1 && planned == 0 => TOOL_SLOW_PPM,
        _ => 0,
    }
}

/// The dice of a seed at a site.
fn dice(seed: u64, key: u64) -> ChaCha8Rng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&key.to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

/// What a seed is bent on: drawn from it alone, with dice that no site has.
fn drawer(seed: u64, setup: &Setup) -> Drawer {
    let mut bytes = [0xff; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let planned = |kind: FaultKind| setup.faults.plans.get(&kind).map(|plan| plan.rate_ppm);
    // A hold is a delay that ends with an event: it comes where delays come, unless the file says otherwise.
    let usual = planned(FaultKind::Delay).map(|_| HOLDS_PPM);
    let holds_ppm = planned(FaultKind::Hold).or(usual).unwrap_or(0);
    let named = |kind: FaultKind| {
        let planned = planned(kind).unwrap_or(0);
        kind != FaultKind::Hold && planned > 0 || setup.tools.values().any(|tool| own_rate(kind, tool, planned) > 0)
    };
    let swarm = Swarm::draw(&mut ChaCha8Rng::from_seed(bytes), named, holds_ppm);
    Drawer { seed, swarm }
}

/// How many schedules have holds, in millionths, where the file does not say: one in eight.
const HOLDS_PPM: u32 = 125_000;

/// A deviation as the history has it. Of a hold it is not told how it will end: a seed does not know yet.
fn event(place: &Place<'_>, site: Name, fault: &Fault) -> Event {
    let text = match fault {
        Fault::Hold { .. } => r#"{"fault":"hold"}"#.to_owned(),
        _ => serde_json::to_string(fault).expect("a fault is plain data"),
    };
    let (run, agent) = match (place.about, place.who) {
        (About::Run(run), _) => (Some(run), None),
        (About::Mailbox(agent), _) => (None, Some(agent.clone())),
        (About::Topic(_) | About::Neither, Who::Lease(run, _) | Who::Run(run)) => (Some(run), None),
        (About::Topic(_) | About::Neither, _) => (None, None),
    };
    Event::Deviation { site, fault: text.into(), kind: fault.kind(), call: place.called, run, agent }
}

/// A span between `least` and `most`, log-uniform: its magnitude is drawn first.
fn log_uniform(dice: &mut impl Rng, least: Span, most: Span) -> Span {
    let (least, most) = (least.as_micros().max(1), most.as_micros().max(1));
    if least >= most {
        return Span::from_micros(least);
    }
    let magnitude = dice.random_range(least.ilog2()..=most.ilog2());
    let (low, high) = ((1_i64 << magnitude).max(least), ((1_i64 << magnitude) * 2 - 1).min(most));
    Span::from_micros(dice.random_range(low..=high))
}

/// A span of either sign.
fn either_way(dice: &mut impl Rng, least: Span, most: Span) -> Span {
    let span = log_uniform(dice, least, most);
    if dice.random_range(0..2) == 0 { span } else { span.times(-1) }
}

fn draw_fault(kind: FaultKind, plan: &FaultPlan, lease: Span, place: &Place<'_>, dice: &mut impl Rng) -> Fault {
    let (least, most) = plan.lasts;
    let grant = place.class == Class::Grant;
    let span = log_uniform(dice, least, most);
    let point = match dice.random_range(0..3) {
        _ if grant => Point::After,
        0 => Point::Before,
        1 => Point::Flight(log_uniform(dice, Span::from_millis(1), lease.times(2))),
        _ => Point::After,
    };
    match kind {
        FaultKind::Crash => Fault::Crash { point, restart: span },
        FaultKind::Pause => Fault::Pause { point: plain(point), lasts: span },
        FaultKind::Partition => Fault::Partition { point: plain(point), lasts: span },
        FaultKind::LostRequest => Fault::LostRequest,
        FaultKind::LostReply => Fault::LostReply,
        FaultKind::StoreError => Fault::StoreError,
        FaultKind::Outage => Fault::Outage { lasts: span },
        FaultKind::StoreRestart => Fault::StoreRestart { lasts: span },
        FaultKind::Duplicate => Fault::Duplicate { after: span },
        FaultKind::Delay if grant || dice.random_range(0..2) == 0 => Fault::DelayReply { by: span },
        FaultKind::Delay => Fault::DelayRequest { by: span },
        FaultKind::ShortLease => Fault::ShortLease { to: span.min(lease) },
        FaultKind::TimerJitter => Fault::TimerLate { by: span },
        FaultKind::ClockSkew => Fault::ClockSkew { by: either_way(dice, least, most) },
        FaultKind::ClockStep => Fault::ClockStep { by: either_way(dice, least, most) },
        FaultKind::Stop => Fault::Stop { restart: span },
        FaultKind::ToolSlow => {
            let (least, most) = place.tool.map_or(plan.lasts, |tool| tool.takes);
            Fault::ToolSlow { takes: log_uniform(dice, least, most) }
        }
        FaultKind::ToolRefuses => refusal(plan, place.tool, dice),
        FaultKind::ToolUnknown => doubt(plan, place.tool, dice),
        FaultKind::ToolMalformed => Fault::ToolMalformed,
        FaultKind::Hold => Fault::Hold { until: None, most: Some(lease) },
        FaultKind::Slow => Fault::Slow { factor: u32::try_from(span.as_micros()).unwrap_or(16).clamp(2, 64) },
    }
}

/// A refusal: of a model often by a rate limit, as often as its rate is of all refusals'.
fn refusal(plan: &FaultPlan, tool: Option<&Tool>, dice: &mut impl Rng) -> Fault {
    let limit = tool.and_then(|tool| Some((tool.refuses_ppm, tool.model.as_ref()?)));
    let after = limit.filter(|(refuses, model)| is_part(model.limited_ppm, plan.rate_ppm + refuses, dice));
    Fault::ToolRefuses { after: after.map(|(_, model)| model.limited_after) }
}

/// An outcome that nobody vouches for: of a model often an answer that is cut, as often as its rate is of all doubts'.
fn doubt(plan: &FaultPlan, tool: Option<&Tool>, dice: &mut impl Rng) -> Fault {
    let cut = tool.and_then(|tool| Some((tool, tool.model.as_ref()?)));
    match cut.filter(|(tool, model)| is_part(model.cut_ppm, plan.rate_ppm + tool.unknown_ppm, dice)) {
        Some((tool, _)) => {
            let whole = tool.takes.0;
            Fault::ToolUnknown { happened: true, after: Some(log_uniform(dice, whole.part(16), whole)) }
        }
        None => Fault::ToolUnknown { happened: dice.random_range(0..2) == 0, after: None },
    }
}

/// Draws whether something that has come is of the one of two sorts, each as likely as its rate. No dice are needed where
/// there is one sort only.
fn is_part(rate: u32, others: u32, dice: &mut impl Rng) -> bool {
    rate > 0 && (others == 0 || dice.random_range(0..rate + others) < rate)
}

/// A pause or a cut has two points only.
fn plain(point: Point) -> Point {
    match point {
        Point::Before => Point::Before,
        Point::Flight(_) | Point::After => Point::After,
    }
}

/// How late exhaust makes a timer.
pub const EXHAUST_TIMER_LATE: Span = Span::from_secs(1);

/// The printed list: every value that exhaust tries at a site of a class.
pub(super) fn values(class: Class, lease: Span, tool: Option<&Tool>) -> Vec<Fault> {
    let soon = Span::from_secs(1);
    let beyond = lease.times(3).part(2);
    let mut list = Vec::new();
    for kind in class.kinds() {
        match kind {
            FaultKind::Crash if class == Class::Grant => {
                list.push(Fault::Crash { point: Point::After, restart: soon });
            }
            FaultKind::Crash => {
                for point in [Point::Before, Point::Flight(beyond), Point::After] {
                    list.push(Fault::Crash { point, restart: soon });
                }
            }
            FaultKind::Pause if class == Class::Grant => {
                list.push(Fault::Pause { point: Point::After, lasts: beyond });
            }
            FaultKind::Pause => {
                list.push(Fault::Pause { point: Point::Before, lasts: beyond });
                list.push(Fault::Pause { point: Point::After, lasts: beyond });
            }
            FaultKind::Partition if class == Class::Grant => {
                list.push(Fault::Partition { point: Point::After, lasts: beyond });
            }
            FaultKind::Partition => {
                list.push(Fault::Partition { point: Point::Before, lasts: beyond });
                list.push(Fault::Partition { point: Point::After, lasts: lease.part(3) });
            }
            FaultKind::LostRequest => list.push(Fault::LostRequest),
            FaultKind::LostReply => list.push(Fault::LostReply),
            FaultKind::StoreError => list.push(Fault::StoreError),
            FaultKind::Outage => list.push(Fault::Outage { lasts: lease.part(2) }),
            FaultKind::StoreRestart => list.push(Fault::StoreRestart { lasts: soon }),
            FaultKind::Duplicate => {
                list.push(Fault::Duplicate { after: Span::from_millis(1) });
                list.push(Fault::Duplicate { after: beyond });
            }
            FaultKind::Delay if class == Class::Grant => list.push(Fault::DelayReply { by: beyond }),
            FaultKind::Delay => {
                list.push(Fault::DelayRequest { by: soon });
                list.push(Fault::DelayRequest { by: beyond });
                list.push(Fault::DelayReply { by: beyond });
            }
            FaultKind::ShortLease => list.push(Fault::ShortLease { to: soon }),
            FaultKind::TimerJitter => list.push(Fault::TimerLate { by: EXHAUST_TIMER_LATE }),
            FaultKind::ClockSkew => {
                list.push(Fault::ClockSkew { by: lease });
                list.push(Fault::ClockSkew { by: lease.times(-1) });
            }
            FaultKind::ClockStep => {
                list.push(Fault::ClockStep { by: lease.times(2) });
                list.push(Fault::ClockStep { by: lease.times(-2) });
            }
            FaultKind::Stop => list.push(Fault::Stop { restart: soon }),
            FaultKind::ToolSlow => {
                list.push(Fault::ToolSlow { takes: tool.map_or(beyond, |tool| tool.takes.1) });
                list.push(Fault::ToolSlow { takes: lease.times(3) });
            }
            FaultKind::ToolRefuses => {
                let after = tool.and_then(|tool| tool.model.as_ref()).map(|model| model.limited_after);
                list.push(Fault::ToolRefuses { after: None });
                list.extend(after.map(|after| Fault::ToolRefuses { after: Some(after) }));
            }
            FaultKind::ToolUnknown => {
                list.push(Fault::ToolUnknown { happened: true, after: None });
                list.push(Fault::ToolUnknown { happened: false, after: None });
                let cut = tool.filter(|tool| tool.model.is_some()).map(|tool| tool.takes.0.part(2));
                list.extend(cut.map(|after| Fault::ToolUnknown { happened: true, after: Some(after) }));
            }
            FaultKind::ToolMalformed => list.push(Fault::ToolMalformed),
            FaultKind::Slow => list.push(Fault::Slow { factor: 8 }),
            // Which holds can matter depends on what else is called: it is no list of a site's own.
            FaultKind::Hold => {}
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::super::site::Aliases;
    use super::*;

    #[test]
    fn every_kind_of_fault_can_strike_somewhere_and_has_a_value_to_try() {
        let classes = [
            Class::Store,
            Class::Term,
            Class::Grant,
            Class::Outside { honours_key: true },
            Class::Model,
            Class::Client,
            Class::Timer,
            Class::Clock,
            Class::Speed,
        ];
        for kind in FaultKind::ALL.into_iter().filter(|kind| *kind != FaultKind::Hold) {
            let strikes = classes
                .iter()
                .any(|class| values(*class, Span::from_secs(30), None).iter().any(|fault| fault.kind() == kind));
            assert!(strikes, "{kind:?}");
        }
    }

    fn setup(kind: FaultKind, rate_ppm: u32) -> Setup {
        let lease = Span::from_secs(30);
        let mut faults = Faults::default();
        faults.plans.insert(kind, FaultPlan::new(kind, rate_ppm, lease));
        let header = crate::history::Header {
            format: 1,
            scenario: "none".into(),
            start: Timestamp::default(),
            lease,
            poll: Span::from_millis(50),
            timer_jitter: Span::ZERO,
            capacity: 1,
            max_lost_leases: 1,
            workers: Vec::new(),
        };
        let (tools, latency, store) = (BTreeMap::new(), Span::from_millis(1), Default::default());
        Setup { header, faults, tools, latency, latencies: None, store, inputs: Vec::new(), events_max: 1 }
    }

    /// What a schedule has at so many reads.
    fn taken(schedule: &Schedule, setup: &Setup, reads: u32) -> Vec<Deviation> {
        let mut decider = Decider::new(schedule, setup, false);
        for nth in 0..reads {
            let site = Site { who: 1, call: 2, subject: 3, nth };
            let place = Place {
                at: setup.header.start,
                class: Class::Store,
                site,
                who: Who::Probe,
                called: Called::Read,
                about: About::Neither,
                method: "read",
                worker: None,
                by: None,
                tool: None,
            };
            let (aliases, effects) = (Aliases::new("none", setup.header.start), BTreeMap::new());
            let words = Words { aliases: &aliases, workers: &[], effects: &effects };
            decider.decide(&place, &words, || "site".into());
        }
        decider.taken
    }

    #[test]
    fn a_seed_draws_the_same_at_a_site_and_another_one_something_else() {
        let setup = setup(FaultKind::Crash, 100_000);
        let draw = |seed| taken(&Schedule::Seed(seed), &setup, 1_000);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn over_many_seeds_a_fault_comes_about_as_often_as_its_rate_says() {
        let setup = setup(FaultKind::Crash, 10_000);
        let drawn: usize = (0..1_000).map(|seed| taken(&Schedule::Seed(seed), &setup, 100).len()).sum();
        assert!((900..1_600).contains(&drawn), "{drawn}");
    }
}
