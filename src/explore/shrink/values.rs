//! Simpler values of a fault: earlier points, shorter and rounder spans, smaller factors.

use super::deviations::Oracle;
use crate::kernel::Span;
use crate::sim::{Deviation, Fault, Point};

/// Makes the faults of `current` simpler, one after the other. No deviation is added; one may go, if what was made
/// shorter keeps its site from coming up.
///
/// # Errors
/// When the oracle stops; `current` is the simplest list so far.
pub(super) fn simplify<O: Oracle>(oracle: &mut O, current: &mut Vec<Deviation>) -> Result<(), O::Stop> {
    let mut place = 0;
    while place < current.len() {
        let before = current.len();
        let mut knob = Turning { oracle, current, place };
        knob.point()?;
        knob.factor()?;
        knob.lease()?;
        let lengths = knob.fault().map_or(0, |fault| fault.spans().len());
        for nth in 0..lengths {
            knob.length(nth)?;
        }
        place = if current.len() == before { place + 1 } else { 0 };
    }
    Ok(())
}

/// One deviation of a list whose values are tried.
struct Turning<'a, O> {
    oracle: &'a mut O,
    current: &'a mut Vec<Deviation>,
    place: usize,
}

impl<O: Oracle> Turning<'_, O> {
    fn fault(&self) -> Option<Fault> {
        self.current.get(self.place).map(|deviation| deviation.fault.clone())
    }

    /// Whether the list still fails with this fault in its place; if so it is the list from now on.
    fn takes(&mut self, fault: Fault) -> Result<bool, O::Stop> {
        let mut list = self.current.clone();
        let Some(deviation) = list.get_mut(self.place) else { return Ok(false) };
        deviation.fault = fault;
        let before = list.len();
        let Some(taken) = self.oracle.fails(&list)? else { return Ok(false) };
        *self.current = taken;
        // In a list that has become shorter the place may be another deviation's.
        if self.current.len() < before {
            self.place = usize::MAX;
        }
        Ok(true)
    }

    fn point(&mut self) -> Result<(), O::Stop> {
        let Some(mut fault) = self.fault() else { return Ok(()) };
        let Some(point) = fault.point_mut() else { return Ok(()) };
        let simpler: &[Point] = match point {
            Point::Before => &[],
            Point::After => &[Point::Before],
            Point::Flight(_) => &[Point::Before, Point::After],
        };
        for simple in simpler {
            if let Some(point) = fault.point_mut() {
                *point = *simple;
            }
            if self.takes(fault.clone())? {
                break;
            }
        }
        Ok(())
    }

    fn factor(&mut self) -> Result<(), O::Stop> {
        let Some(Fault::Slow { factor }) = self.fault() else { return Ok(()) };
        let least = |factor: i64| Fault::Slow { factor: u32::try_from(factor).unwrap_or(2) };
        smallest(1, i64::from(factor), &mut |factor| self.takes(least(factor))).map(drop)
    }

    /// A lease that is shorter than a second is tried with one: of all spans this one is the calmer, the longer it is.
    fn lease(&mut self) -> Result<(), O::Stop> {
        let soon = Span::from_micros(SECOND);
        match self.fault() {
            Some(Fault::ShortLease { to }) if to < soon => self.takes(Fault::ShortLease { to: soon }).map(drop),
            _ => Ok(()),
        }
    }

    /// Makes the length `nth` of the fault as short as it may be, in human values.
    fn length(&mut self, nth: usize) -> Result<(), O::Stop> {
        let Some(span) = self.fault().and_then(|fault| fault.spans().get(nth).copied()) else { return Ok(()) };
        let (sign, longest) = (span.as_micros().signum(), span.as_micros().abs());
        let mut takes = |micros: i64| -> Result<bool, O::Stop> {
            let Some(fault) = self.fault().filter(|fault| nth < fault.spans().len()) else { return Ok(false) };
            self.takes(fault.with_span(nth, Span::from_micros(micros * sign)))
        };
        let rungs: Vec<i64> = rungs().filter(|rung| *rung < longest && (longest < SECOND || *rung >= SECOND)).collect();
        let Some(first) = rungs.first() else { return Ok(()) };
        if takes(*first)? {
            return Ok(());
        }
        let (mut low, mut high) = (0, rungs.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if takes(rungs[middle])? { high = middle } else { low = middle }
        }
        let mut short = rungs[low];
        let mut long = rungs.get(high).copied().unwrap_or(longest);
        for unit in UNITS {
            if unit * 2 > long {
                continue;
            }
            let most = (long + unit - 1) / unit;
            let count = smallest(short / unit, most, &mut |count| takes(count * unit))?;
            (short, long) = (short.max((count - 1) * unit), long.min(count * unit));
            // Two digits are as exact as a person wants it, once the span is a round one.
            if long % unit == 0 && long / unit >= 10 {
                break;
            }
        }
        Ok(())
    }
}

/// The smallest number above `low`, up to `high`, that is taken, if whatever is above one that is taken is taken, too.
/// `low` is known not to be taken, and `high` is not asked about.
fn smallest<S>(low: i64, high: i64, takes: &mut dyn FnMut(i64) -> Result<bool, S>) -> Result<i64, S> {
    let (mut low, mut high) = (low, high);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if takes(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;

/// What spans are rounded to, in microseconds.
const UNITS: [i64; 6] = [MINUTE, SECOND, SECOND / 10, SECOND / 100, SECOND / 1_000, 1];

/// Spans that people name, in microseconds, the shortest first. A span of seconds is not made shorter than one: that is
/// as short as anybody wants to read.
fn rungs() -> impl Iterator<Item = i64> {
    let decades = [1, 10, 100, 1_000, 10_000, 100_000].into_iter();
    let below = decades.flat_map(|decade| [1, 2, 5].map(|digit| digit * decade));
    let seconds = [1, 2, 5, 10, 20, 30, 45].map(|count| count * SECOND);
    let minutes = [1, 2, 5, 10, 30, 60, 120, 360, 720, 1_440].map(|count| count * MINUTE);
    below.chain(seconds).chain(minutes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Name;
    use crate::sim::SiteListing;

    /// Fails while its faults pass the test, and counts how often it is asked.
    struct While<'a> {
        fails: &'a dyn Fn(&Fault) -> bool,
        asked: usize,
    }

    impl Oracle for While<'_> {
        type Stop = ();
        fn fails(&mut self, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, ()> {
            self.asked += 1;
            Ok(list.iter().all(|deviation| (self.fails)(&deviation.fault)).then(|| list.to_vec()))
        }
        fn sites(&mut self, _: &[Deviation]) -> Result<Vec<SiteListing>, ()> {
            Ok(Vec::new())
        }
        fn workers(&self) -> Vec<Name> {
            Vec::new()
        }
    }

    type Test<'a> = &'a dyn Fn(&Fault) -> bool;

    fn simplest(fault: Fault, fails: Test<'_>) -> Fault {
        let mut oracle = While { fails, asked: 0 };
        let mut list = vec![Deviation::named("a", fault.clone())];
        simplify(&mut oracle, &mut list).expect("it never stops");
        assert!(fails(&list[0].fault), "what is left fails");
        assert!(oracle.asked <= 30, "{fault:?}: {}", oracle.asked);
        list.remove(0).fault
    }

    fn span(text: &str) -> Span {
        text.parse().expect("a span")
    }

    #[test]
    fn a_span_becomes_the_shortest_that_a_person_would_name() {
        let cases = [
            ("1s37ms", "0s", "1s"),
            ("37s123ms9us", "1us", "1s"),
            ("37s123ms9us", "30s1us", "31s"),
            ("37s123ms9us", "37s50ms", "37s100ms"),
            ("37s123ms9us", "37s123ms9us", "37s123ms9us"),
            ("3m", "45s1us", "46s"),
            ("1s", "1s", "1s"),
            ("731ms", "501ms", "510ms"),
            ("17us", "0s", "1us"),
            ("1us", "0s", "1us"),
        ];
        for (from, least, wanted) in cases {
            let fails = |fault: &Fault| matches!(fault, Fault::Outage { lasts } if *lasts >= span(least));
            let simple = simplest(Fault::Outage { lasts: span(from) }, &fails);
            assert_eq!(simple, Fault::Outage { lasts: span(wanted) }, "{from}, at least {least}");
        }
    }

    #[test]
    fn points_signs_and_factors_are_kept_where_they_matter_and_simple_where_not() {
        let crash = |point, restart| Fault::Crash { point, restart: span(restart) };
        let flight = Point::Flight(span("45s7ms"));
        let is_flight = |fault: &Fault| matches!(fault, Fault::Crash { point: Point::Flight(_), .. });
        let is_late = |fault: &Fault| !matches!(fault, Fault::Crash { point: Point::Before, .. });
        let cases: [(Fault, Test<'_>, Fault); 6] = [
            (crash(flight, "3m"), &|_| true, crash(Point::Before, "1s")),
            (crash(flight, "3m"), &is_late, crash(Point::After, "1s")),
            (crash(flight, "500ms"), &is_flight, crash(Point::Flight(span("1s")), "1us")),
            (Fault::ClockStep { by: span("-7s3ms") }, &|_| true, Fault::ClockStep { by: span("-1s") }),
            (Fault::Slow { factor: 16 }, &|_| true, Fault::Slow { factor: 2 }),
            (
                Fault::Slow { factor: 16 },
                &|fault| matches!(fault, Fault::Slow { factor } if *factor > 8),
                Fault::Slow { factor: 9 },
            ),
        ];
        for (from, fails, wanted) in cases {
            assert_eq!(simplest(from, fails), wanted);
        }
    }
}
