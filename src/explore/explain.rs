//! Why a schedule fails: its history, the first deviation after which calm does not save it, and the nearest schedule
//! that holds.
//!
//! Both are found by playing variations of the failing list: its beginnings, everything later calm; and the list
//! without one deviation, or with one of them milder.

use super::contain::contain;
use super::{Cause, Halt, Listener, News, Panic, Player, Subject};
use crate::history::{Header, Record};
use crate::kernel::Span;
use crate::scenario::{Options, Outcome};
use crate::sim::{Deviation, Fault, Schedule};

/// A schedule, explained.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What the history begins with.
    pub header: Header,
    /// The history.
    pub records: Vec<Record>,
    /// What came of it.
    pub outcome: Outcome,
    /// What was broken; none if all held, and then nothing else was looked for.
    pub cause: Option<Cause>,
    /// From where on calm does not save it; none if that was not found out.
    pub turning: Option<Turning>,
    /// The nearest schedule that holds; none if none was found.
    pub nearest: Option<Nearest>,
    /// How many variations were played.
    pub variations: u64,
    /// Why the search ended before its end, if it did.
    pub halted: Option<Halt>,
}

/// From where on calm does not save a failing schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turning {
    /// The calm schedule fails in the same way: no deviation is needed.
    Calm,
    /// With the deviations up to this place, and calm from there on, it fails in the same way; with one less it does
    /// not. Deviations are counted from 0, in the order in which they came about.
    After(usize),
}

/// A schedule that holds and differs in one deviation only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The place of the deviation, in the order in which they came about.
    pub place: usize,
    /// What differs there.
    pub change: Milder,
}

/// How one deviation differs in the nearest schedule that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Milder {
    /// It does not come about.
    Dropped,
    /// It is this instead, found by halving, to a thousandth of a second, or to a microsecond where the value is below a
    /// hundredth of one. With `holds` all holds, and with `fails`, which is that much nearer to the original, it does
    /// not; where a promise hangs on a value in more than one place, others may be nearer.
    Instead {
        /// What holds.
        holds: Fault,
        /// What fails.
        fails: Fault,
        /// The value that holds.
        to: Amount,
        /// The value that fails.
        still: Amount,
        /// The value of the failing schedule.
        from: Amount,
    },
}

/// A value of a fault that can be milder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A span.
    Span(Span),
    /// A number of times.
    Times(u32),
}

/// Plays `schedule` and keeps its history: what a story is told from.
///
/// # Errors
/// When the world panics.
pub fn record(subject: &dyn Subject, schedule: &Schedule) -> Result<(Header, Vec<Record>, Outcome), Panic> {
    contain(|| {
        let mut player = subject.player();
        let mut records = Vec::new();
        let mut note = |record: &Record| records.push(record.clone());
        let outcome = player.examine(schedule, Options { trace: Some(&mut note), ..Options::default() });
        (player.header(), records, outcome)
    })
}

/// Plays `schedule`, and if it fails, looks for the turning point and the nearest schedule that holds. `listener` may
/// halt the search; what was found so far is given.
///
/// # Errors
/// When a world panics.
pub fn explain(subject: &dyn Subject, schedule: &Schedule, listener: &mut Listener<'_>) -> Result<Explained, Panic> {
    let (header, records, outcome) = record(subject, schedule)?;
    let mut player = contain(|| subject.player())?;
    let cause = (!outcome.held()).then(|| Cause::of(&outcome));
    let mut explained =
        Explained { header, records, outcome, cause, turning: None, nearest: None, variations: 0, halted: None };
    let Some(cause) = explained.cause.clone() else { return Ok(explained) };
    let list = explained.outcome.deviations.clone();
    let examine = cause.is_of_replays();
    let lease = explained.header.lease;
    let mut search =
        Search { player: player.as_mut(), list, cause, examine, lease, listener, variations: 0, halted: None };
    explained.turning = search.turning()?;
    explained.nearest = search.nearest()?;
    (explained.variations, explained.halted) = (search.variations, search.halted);
    Ok(explained)
}

/// How a variation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Held,
    /// What the schedule that is explained breaks first is broken.
    Same,
    Otherwise,
}

struct Search<'a, 'l> {
    player: &'a mut dyn Player,
    list: Vec<Deviation>,
    cause: Cause,
    examine: bool,
    lease: Span,
    listener: &'a mut Listener<'l>,
    variations: u64,
    halted: Option<Halt>,
}

impl Search<'_, '_> {
    /// Plays a variation; none once the search is halted.
    fn play(&mut self, list: Vec<Deviation>) -> Result<Option<Ended>, Panic> {
        self.halted = self.halted.or_else(|| (self.listener)(News::Tick));
        if self.halted.is_some() {
            return Ok(None);
        }
        // Without any deviation it is the calm schedule, of which more is expected: the empty list is meant.
        let (schedule, examine) = (Schedule::Fixed(list), self.examine);
        let player = &mut self.player;
        let outcome = contain(|| match examine {
            true => player.examine(&schedule, Options::default()),
            false => player.play(&schedule, Options::default()),
        })?;
        self.variations += 1;
        Ok(Some(match outcome.held() {
            true => Ended::Held,
            false if self.cause.is_in(&outcome) => Ended::Same,
            false => Ended::Otherwise,
        }))
    }

    /// The shortest beginning of the list that fails in the same way.
    fn turning(&mut self) -> Result<Option<Turning>, Panic> {
        for length in 0..=self.list.len() {
            match self.play(self.list[..length].to_vec())? {
                None => return Ok(None),
                Some(Ended::Same) if length == 0 => return Ok(Some(Turning::Calm)),
                Some(Ended::Same) => return Ok(Some(Turning::After(length - 1))),
                Some(_) => {}
            }
        }
        // Without its seed, or as a list, it fails otherwise: only what the calm schedule is held to can do that.
        Ok(if self.list.is_empty() { Some(Turning::Calm) } else { None })
    }

    /// The smallest change of one deviation with which all holds: of two that change their value by the same share,
    /// that of the earlier deviation.
    fn nearest(&mut self) -> Result<Option<Nearest>, Panic> {
        let mut best: Option<(Share, Nearest)> = None;
        for place in 0..self.list.len() {
            for value in Value::all(&self.list[place].fault, self.lease) {
                if let Some((share, change)) = self.milder(place, value)?
                    && best.as_ref().is_none_or(|(known, _)| share.less(known))
                {
                    best = Some((share, Nearest { place, change }));
                }
            }
        }
        for place in 0..self.list.len() {
            if best.is_some() {
                break;
            }
            let mut without = self.list.clone();
            without.remove(place);
            if self.play(without)? == Some(Ended::Held) {
                best = Some((Share { change: 1, of: 1 }, Nearest { place, change: Milder::Dropped }));
            }
        }
        Ok(best.map(|(_, nearest)| nearest))
    }

    /// The value of a deviation that is nearest to the one it has and holds, if its mildest does.
    fn milder(&mut self, place: usize, value: Value) -> Result<Option<(Share, Milder)>, Panic> {
        if value.mildest == value.has || self.with(place, value, value.mildest)? != Some(Ended::Held) {
            return Ok(None);
        }
        let (mut holds, mut fails) = (value.mildest, value.has);
        while (fails - holds).abs() > value.grain {
            let middle = holds + (fails - holds) / 2 / value.grain * value.grain;
            let middle = if middle == holds { holds + value.grain * (fails - holds).signum() } else { middle };
            match self.with(place, value, middle)? {
                None => return Ok(None),
                Some(Ended::Held) => holds = middle,
                Some(_) => fails = middle,
            }
        }
        let fault = |number| value.put(self.list[place].fault.clone(), number);
        let change = (value.has - holds).unsigned_abs();
        let share = Share { change, of: (value.has - value.mildest).unsigned_abs().max(1) };
        let (to, still, from) = (value.amount(holds), value.amount(fails), value.amount(value.has));
        Ok(Some((share, Milder::Instead { holds: fault(holds), fails: fault(fails), to, still, from })))
    }

    fn with(&mut self, place: usize, value: Value, amount: i64) -> Result<Option<Ended>, Panic> {
        let mut list = self.list.clone();
        list[place].fault = value.put(list[place].fault.clone(), amount);
        self.play(list)
    }
}

/// A change as a share of what could be changed.
#[derive(Clone, Copy, Debug)]
struct Share {
    change: u64,
    of: u64,
}

impl Share {
    fn less(&self, other: &Share) -> bool {
        u128::from(self.change) * u128::from(other.of) < u128::from(other.change) * u128::from(self.of)
    }
}

/// One number of a fault that can be milder, in microseconds or times.
#[derive(Clone, Copy)]
struct Value {
    of: Number,
    has: i64,
    mildest: i64,
    /// The finest difference that is looked for.
    grain: i64,
}

/// Which number of a fault.
#[derive(Clone, Copy)]
enum Number {
    /// The span of this place.
    Span(usize),
    /// How many times slower.
    Factor,
}

impl Value {
    /// The numbers of a fault; none for one that either strikes or does not.
    fn all(fault: &Fault, lease: Span) -> Vec<Value> {
        if let Fault::Slow { factor } = fault {
            return vec![Value { of: Number::Factor, has: i64::from(*factor), mildest: 1, grain: 1 }];
        }
        let mildest = |has: Span| match fault {
            Fault::ShortLease { .. } => lease.max(has),
            _ => Span::ZERO,
        };
        fault.spans().into_iter().enumerate().map(|(place, has)| Value::span(place, has, mildest(has))).collect()
    }

    fn span(place: usize, has: Span, mildest: Span) -> Value {
        let (has, mildest) = (has.as_micros(), mildest.as_micros());
        let grain = if (has - mildest).abs() >= 10_000 { 1_000 } else { 1 };
        Value { of: Number::Span(place), has, mildest, grain }
    }

    /// The fault with another number in place of this one.
    fn put(self, fault: Fault, number: i64) -> Fault {
        match self.of {
            Number::Span(place) => fault.with_span(place, Span::from_micros(number)),
            Number::Factor => Fault::Slow { factor: times(number) },
        }
    }

    fn amount(self, number: i64) -> Amount {
        match self.of {
            Number::Span(_) => Amount::Span(Span::from_micros(number)),
            Number::Factor => Amount::Times(times(number)),
        }
    }
}

fn times(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::sim::Point;

    fn explained(fake: &Fake, list: Vec<Deviation>) -> Explained {
        explain(fake, &Schedule::Fixed(list), &mut |_| None).expect("it does not panic")
    }

    fn at(site: &str, fault: Fault) -> Deviation {
        Deviation::named(site, fault)
    }

    /// The lost reply at `b` breaks a promise; a pause at `c` breaks it from 20 s on.
    fn fake() -> Fake {
        let sites = vec![("a", Vec::new()), ("b", Vec::new()), ("c", Vec::new())];
        Fake { sites, weak: Some("b"), too_long: Some(("c", Span::from_secs(20))), ..Fake::default() }
    }

    fn pause(secs: i64) -> Fault {
        Fault::Pause { point: Point::Before, lasts: Span::from_secs(secs) }
    }

    #[test]
    fn the_first_deviation_after_which_calm_does_not_save_it_is_the_last_that_matters() {
        let list = vec![at("a", Fault::LostReply), at("b", Fault::LostReply), at("c", pause(1))];
        let found = explained(&fake(), list);
        assert_eq!(found.turning, Some(Turning::After(1)));
        assert_eq!(found.nearest, Some(Nearest { place: 1, change: Milder::Dropped }));
    }

    #[test]
    fn the_nearest_schedule_that_holds_has_the_mildest_change_of_one_value() {
        let found = explained(&fake(), vec![at("a", pause(40)), at("c", pause(40))]);
        let nearest = found.nearest.expect("a shorter pause holds");
        assert_eq!(nearest.place, 1);
        let Milder::Instead { holds, fails, to, still, from } = nearest.change else { panic!("{:?}", nearest.change) };
        let lasts = |millis| Fault::Pause { point: Point::Before, lasts: Span::from_millis(millis) };
        assert_eq!((holds, fails), (lasts(19_999), lasts(20_000)));
        assert_eq!((to, still), (Amount::Span(Span::from_millis(19_999)), Amount::Span(Span::from_secs(20))));
        assert_eq!(from, Amount::Span(Span::from_secs(40)));
    }

    #[test]
    fn two_deviations_that_each_suffice_have_no_near_schedule_that_holds() {
        let found = explained(&fake(), vec![at("b", Fault::LostReply), at("c", pause(40))]);
        assert_eq!((found.turning, found.nearest), (Some(Turning::After(0)), None));
    }

    #[test]
    fn a_schedule_that_holds_is_told_as_such_and_varied_no_further() {
        let found = explained(&fake(), vec![at("a", pause(40))]);
        assert_eq!((found.cause, found.variations, found.records.len()), (None, 0, 2));
    }

    #[test]
    fn an_interrupt_ends_the_search_with_what_was_found() {
        let list = vec![at("b", Fault::LostReply), at("c", pause(1))];
        let mut left = 2;
        let mut listener = |_| {
            left -= 1;
            (left < 0).then_some(Halt::Interrupt)
        };
        let found = explain(&fake(), &Schedule::Fixed(list), &mut listener).expect("it does not panic");
        assert_eq!((found.turning, found.halted), (Some(Turning::After(0)), Some(Halt::Interrupt)));
    }
}
