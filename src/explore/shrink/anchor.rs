//! Re-anchoring: what a deviation was about, found again where it now comes up.
//!
//! A deviation names its site by lease and try. Once the crash that made lease 1 is dropped, what lease 1 did is done by
//! lease 0, and a deviation named after lease 1 says nothing any more, although the failure may only need it where its
//! subject is carried now.

use std::collections::BTreeSet;

use crate::kernel::Name;
use crate::sim::{Deviation, Fault, SiteListing};

/// Which numbers of a site's name may differ from those of another one's that carries the same subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Lease and try: the scenario is the same.
    Leases,
    /// Every number, and the worker: the scenario is another one.
    Anywhere,
}

/// Moves each deviation of `list` whose site is not among `sites`, or the call that it waits for, to one that has the same
/// subject, of several to the one that is `choice` places from the nearest. Whether one was moved.
pub(super) fn move_stale(
    list: &mut [Deviation],
    sites: &[SiteListing],
    reach: Reach,
    workers: &[Name],
    choice: usize,
) -> bool {
    let there: BTreeSet<&str> = sites.iter().map(|site| &*site.name).collect();
    let mut used: BTreeSet<Name> = list.iter().map(|deviation| deviation.site.clone()).collect();
    let mut moved = false;
    let instead = |stale: &str, used: &BTreeSet<Name>| {
        let wanted = Subject::of(stale, reach, workers);
        let mut found: Vec<(u64, usize, &SiteListing)> = Vec::new();
        for (order, site) in sites.iter().enumerate().filter(|(_, site)| !used.contains(&site.name)) {
            let other = Subject::of(&site.name, reach, workers);
            if other.shape == wanted.shape {
                found.push((wanted.distance(&other), order, site));
            }
        }
        found.sort_by_key(|(distance, order, _)| (*distance, *order));
        found.get(choice).map(|(_, _, site)| *site)
    };
    for deviation in list {
        if !there.contains(&*deviation.site)
            && let Some(site) = instead(&deviation.site, &used)
        {
            used.insert(site.name.clone());
            (deviation.site, deviation.key, moved) = (site.name.clone(), Some(site.key), true);
        }
        // What a hold waits for may be a site at which another one of the list strikes.
        if let Fault::Hold { until: Some(until), .. } = &mut deviation.fault
            && !there.contains(&**until)
            && let Some(site) = instead(until, &BTreeSet::new()).filter(|site| site.name != deviation.site)
        {
            (*until, moved) = (site.name.clone(), true);
        }
    }
    moved
}

/// A site's name, taken apart.
struct Subject {
    /// The name without what may differ.
    shape: String,
    /// What may differ.
    numbers: Vec<u64>,
}

impl Subject {
    fn of(site: &str, reach: Reach, workers: &[Name]) -> Subject {
        let mut subject = Subject { shape: String::with_capacity(site.len()), numbers: Vec::new() };
        for part in site.split(" / ") {
            subject.shape.push_str(" / ");
            let loose = reach == Reach::Anywhere || part.starts_with("lease ") || part.starts_with("try ");
            if let (Reach::Anywhere, Some(worker)) = (reach, workers.iter().position(|name| **name == *part)) {
                subject.shape.push_str("worker");
                subject.numbers.push(worker as u64);
            } else if loose {
                subject.take_numbers(part);
            } else {
                subject.shape.push_str(part);
            }
        }
        // The first try of what is no call is not named.
        if !site.contains(" / try ") {
            subject.shape.push_str(" / try #");
            subject.numbers.push(1);
        }
        subject
    }

    /// Takes the numbers that stand alone or behind a `#`; a digit within a word or an id is part of the word.
    fn take_numbers(&mut self, part: &str) {
        for (place, word) in part.split(' ').enumerate() {
            if place > 0 {
                self.shape.push(' ');
            }
            if let Some((shape, numbers)) = spawned(word) {
                self.shape.push_str(&shape);
                self.numbers.extend(numbers);
                continue;
            }
            let (before, digits) = word.rsplit_once('#').map_or(("", word), |(before, digits)| (before, digits));
            match digits.parse() {
                Ok(number) => {
                    self.shape.push_str(before);
                    self.shape.push('#');
                    self.numbers.push(number);
                }
                Err(_) => self.shape.push_str(word),
            }
        }
    }

    fn distance(&self, other: &Subject) -> u64 {
        let each = self.numbers.iter().zip(&other.numbers);
        each.fold(0, |sum, (left, right)| sum + left.abs_diff(*right))
    }
}

/// The name of a child spawned by type, of its address, or of a message that a run sent, taken apart: `hand/boss#1.0#1`
/// is a run of `hand`, whoever spawned it where.
fn spawned(word: &str) -> Option<(String, Vec<u64>)> {
    let (_, behind) = word.split_once('#')?;
    let (kind, _) = word.split_once(['/', '#'])?;
    let numbers: Vec<u64> = behind.split(['#', '.']).rev().map_while(|number| number.parse().ok()).collect();
    let is_run = word.rfind('#') > word.rfind('.');
    let has_step = behind.contains('.');
    (has_step && numbers.len() >= 2).then(|| (format!("{kind}{}", if is_run { "#" } else { ".#" }), numbers))
}

#[cfg(test)]
mod tests {
    use super::super::super::fake::deviation;
    use super::*;

    fn moved(site: &str, sites: &[&str], reach: Reach, choice: usize) -> Option<String> {
        let listing = |name: &&str| SiteListing::for_test(name, Vec::new());
        let sites: Vec<SiteListing> = sites.iter().map(listing).collect();
        let mut list = [deviation(site)];
        let workers = ["w1".into(), "w2".into()];
        move_stale(&mut list, &sites, reach, &workers, choice).then(|| list[0].site.to_string())
    }

    #[test]
    fn a_deviation_moves_to_the_lease_that_carries_its_subject_now() {
        let append = |lease: u32, step: u32, nth: u32| {
            format!("billing#1 / lease {lease} / append tool.called step {step} / try {nth}")
        };
        let (zero, two, other) = (append(0, 3, 1), append(2, 3, 1), append(0, 4, 1));
        let site = append(1, 3, 1);
        let sites = [&*other, &*zero, &*two, "billing#1 / lease 0 / read / try 1"];
        assert_eq!(moved(&site, &sites, Reach::Leases, 0), Some(zero.clone()));
        assert_eq!(moved(&site, &sites, Reach::Leases, 1), Some(two.clone()));
        assert_eq!(moved(&site, &sites, Reach::Leases, 2), None);
        assert_eq!(moved(&site, &[&site, &zero], Reach::Leases, 0), None, "it is not stale");
        assert_eq!(moved(&append(0, 3, 2), &[&zero, &two], Reach::Leases, 0), Some(zero));
        assert_eq!(moved(&site, &[&other], Reach::Leases, 0), None, "another step is another subject");
        assert_eq!(moved(&site, &[&other], Reach::Anywhere, 0), Some(other));
    }

    #[test]
    fn in_another_scenario_runs_inputs_steps_and_workers_have_other_numbers() {
        let cases = [
            ("input 3 / deliver order-1 to billing / try 1", "input 1 / deliver order-1 to billing / try 1"),
            ("billing#2 / lease 0 / granted", "billing#1 / lease 0 / granted"),
            ("w2 / clock", "w1 / clock"),
            ("a#1 / lease 0 / perform card step 4 / try 1", "a#1 / lease 0 / perform card step 2 / try 1"),
            ("hand/lead/boss#1.0#1.2#1 / lease 0 / read / try 1", "hand#1 / lease 0 / read / try 1"),
            ("hand/lead/boss#1.0#1.2#1 / lease 0 / read / try 1", "hand/boss#1.4#1 / lease 0 / read / try 1"),
            ("a#1 / lease 0 / deliver a#1.4 to b / try 1", "a#1 / lease 0 / deliver a#1.3 to b / try 1"),
        ];
        for (old, new) in cases {
            assert_eq!(moved(old, &[new], Reach::Anywhere, 0).as_deref(), Some(new));
            assert_eq!(moved(old, &[new], Reach::Leases, 0), None);
        }
        let other = "input 1 / deliver order-2 to billing / try 1";
        assert_eq!(moved(cases[0].0, &[other], Reach::Anywhere, 0), None, "another message is another subject");
    }
}
