//! Interleavings by name: for each call of a run, the holds that can matter.
//!
//! To hold a call until another one was applied changes their order, and nothing else. That can matter where the other
//! one is somebody else's and about the same run, mailbox or signals; it is worth trying where it comes within a lease,
//! for a request that is late by more than that meets a world that has long gone on without it, as any other late one.

use crate::history::Called;
use crate::kernel::Span;
use crate::sim::{Deviation, Fault, Schedule, SiteListing};

/// The holds that can matter in a run with these sites, in the order in which they came up: each call until each later
/// call, or grant, of another actor about the same address that came up within `lease` of it.
///
/// Some of them wait in vain: the other call may be a consequence of the one that is held. Such a schedule is stale as
/// to its `until` ([`Deviation::missing`]), and breaks no determinism.
pub fn holds(sites: &[SiteListing], lease: Span) -> Vec<Deviation> {
    let mut found = Vec::new();
    for (place, site) in sites.iter().enumerate().filter(|(_, site)| can_be_held(site)) {
        for other in sites[place + 1..].iter().take_while(|other| other.at.since(site.at) <= lease) {
            if is_awaited(other) && other.by != site.by && other.address == site.address {
                let until = Some(other.name.clone());
                found.push(site.deviation(Fault::Hold { until, most: None }));
            }
        }
    }
    found
}

/// The schedules of one hold more than those of `base`, in whose run these sites came up.
pub fn schedules(base: &[Deviation], sites: &[SiteListing], lease: Span) -> Vec<Schedule> {
    let free = |hold: &Deviation| base.iter().all(|known| known.site != hold.site);
    let with = |hold| Schedule::Fixed(base.iter().cloned().chain([hold]).collect());
    holds(sites, lease).into_iter().filter(free).map(with).collect()
}

/// Whether a request leaves its caller here, about some address.
fn can_be_held(site: &SiteListing) -> bool {
    is_awaited(site) && site.call != Called::Lease
}

/// Whether something is applied here, so that a hold can end by it.
fn is_awaited(site: &SiteListing) -> bool {
    site.call.is_call() && site.by.is_some() && site.address.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Actor;
    use crate::kernel::Timestamp;
    use crate::sim::SiteKey;

    const LEASE: Span = Span::from_secs(30);

    fn site(name: &str, at: i64, call: Called, by: Option<u32>, address: Option<&str>) -> SiteListing {
        SiteListing {
            name: name.into(),
            key: SiteKey::for_test(name),
            faults: Vec::new(),
            state: None,
            at: Timestamp::from_micros(0) + Span::from_secs(at),
            call,
            by: by.map(Actor::Input),
            address: address.map(Into::into),
        }
    }

    #[test]
    fn a_call_is_held_until_later_calls_of_others_about_the_same_within_a_lease() {
        let sites = [
            site("x", 1, Called::Deliver, Some(1), Some("pay")),
            site("same caller", 2, Called::Deliver, Some(1), Some("pay")),
            site("elsewhere", 2, Called::Deliver, Some(2), Some("post")),
            site("term", 3, Called::Term, None, Some("pay")),
            site("grant", 3, Called::Lease, Some(2), Some("pay")),
            site("nowhere", 4, Called::Register, Some(2), None),
            site("release", 31, Called::Release, Some(2), Some("pay")),
            site("too late", 62, Called::Ack, Some(3), Some("pay")),
        ];
        let found = holds(&sites, LEASE);
        let pairs: Vec<_> = found
            .iter()
            .map(|hold| match &hold.fault {
                Fault::Hold { until: Some(until), most: None } => (&*hold.site, &**until),
                other => panic!("{other:?}"),
            })
            .collect();
        let both = ["grant", "release"];
        assert_eq!(pairs, ["x", "same caller"].map(|held| both.map(|until| (held, until))).concat());
    }

    #[test]
    fn a_site_that_deviates_already_is_left_as_it_is() {
        let sites = [
            site("x", 1, Called::Deliver, Some(1), Some("pay")),
            site("y", 2, Called::Deliver, Some(2), Some("pay")),
            site("z", 3, Called::Deliver, Some(3), Some("pay")),
        ];
        let base = [Deviation::named("x", Fault::LostReply)];
        let [Schedule::Fixed(list)] = &schedules(&base, &sites, LEASE)[..] else { panic!("there is one") };
        assert_eq!((list.len(), &list[0], &*list[1].site), (2, &base[0], "y"));
    }
}
