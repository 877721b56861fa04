//! Whether a schedule gives the same history again; and where not, the first event that differs.

use super::{Player, Subject};
use crate::history::Record;
use crate::scenario::{Options, Outcome};
use crate::sim::Schedule;

/// One schedule, two histories: determinism is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The place of the subject in the list that was given.
    pub subject: usize,
    /// What was played.
    pub schedule: Schedule,
    /// The two digests.
    pub digests: [String; 2],
    /// The first event that differs; none if the histories were the same when they were played once more.
    pub first: Option<Difference>,
}

/// Two histories up to the first event in which they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// How many events they have in common.
    pub after: usize,
    /// The next event of each; none where a history ends.
    pub events: [Option<Record>; 2],
}

/// How often a schedule whose digests differed is played again to see the difference.
const TRIES: usize = 4;

/// Plays `schedule` in a world of its own and compares the digest with that of `outcome`. `before` are the
/// schedules that were played in the memory that gave `outcome`, for a difference that hangs on them.
pub(super) fn recheck(
    subject: &dyn Subject,
    place: usize,
    schedule: &Schedule,
    before: &[Schedule],
    outcome: &Outcome,
    fresh: &mut dyn Player,
) -> Option<Divergence> {
    let again = fresh.play(schedule, Options::default());
    if again.digest == outcome.digest {
        return None;
    }
    let digests = [outcome.digest.clone(), again.digest];
    Some(Divergence { subject: place, schedule: schedule.clone(), digests, first: find(subject, schedule, before) })
}

/// Looks for the difference in fresh worlds first, then in one with the same past.
fn find(subject: &dyn Subject, schedule: &Schedule, before: &[Schedule]) -> Option<Difference> {
    let pasts: [&[Schedule]; 2] = [&[], before];
    pasts.iter().flat_map(|past| std::iter::repeat_n(*past, TRIES)).find_map(|past| {
        let mut used = subject.player();
        for earlier in past {
            used.play(earlier, Options::default());
        }
        let left = trace(used.as_mut(), schedule);
        difference(left, trace(subject.player().as_mut(), schedule))
    })
}

fn trace(player: &mut dyn Player, schedule: &Schedule) -> Vec<Record> {
    let mut records = Vec::new();
    player.play(
        schedule,
        Options { trace: Some(&mut |record: &Record| records.push(record.clone())), ..Options::default() },
    );
    records
}

pub(super) fn difference(left: Vec<Record>, right: Vec<Record>) -> Option<Difference> {
    let after = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    let events = [left, right].map(|records| records.into_iter().nth(after));
    if events == [None, None] { None } else { Some(Difference { after, events }) }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, record};
    use super::*;

    #[test]
    fn the_first_event_that_differs_is_named_and_an_end_differs_from_an_event() {
        let [one, two, three] = [1, 2, 3].map(record);
        let both = |left: &[&Record], right: &[&Record]| {
            let owned = |records: &[&Record]| records.iter().map(|record| (*record).clone()).collect();
            difference(owned(left), owned(right)).map(|found| (found.after, found.events))
        };
        assert_eq!(both(&[&one, &two], &[&one, &two]), None);
        assert_eq!(both(&[&one, &two], &[&one, &three]), Some((1, [Some(two.clone()), Some(three.clone())])));
        assert_eq!(both(&[&one], &[&one, &three]), Some((1, [None, Some(three.clone())])));
    }

    #[test]
    fn a_world_that_remembers_its_past_is_found_out() {
        let leaky = Fake { leaks: true, ..Fake::default() };
        let past = [Schedule::Seed(1), Schedule::Seed(2)];
        let mut used = leaky.player();
        past.iter().for_each(|schedule| drop(used.play(schedule, Options::default())));
        let outcome = used.play(&Schedule::Seed(3), Options::default());
        let fresh = &mut *leaky.player();
        let found = recheck(&leaky, 0, &Schedule::Seed(3), &past, &outcome, fresh).expect("it leaks");
        assert_eq!(found.first.expect("it leaks again").after, 1);
    }
}
