//! Deviations in words.

use crate::kernel::Span;
use crate::sim::{Deviation, Fault, Point};

/// What a deviation does, in a clause; where it strikes is its site's to say.
pub fn in_words(deviation: &Deviation) -> String {
    let site = &*deviation.site;
    match &deviation.fault {
        Fault::Crash { point, restart } => format!("the worker dies {}, and starts anew after {restart}", when(*point)),
        Fault::Pause { point, lasts } => format!("the worker freezes for {lasts} {}", when(*point)),
        Fault::Partition { point, lasts } => format!("the worker is cut off for {lasts} {}", when(*point)),
        Fault::LostRequest => "the request is lost".to_owned(),
        Fault::LostReply => "the request is carried out, and its reply lost".to_owned(),
        Fault::StoreError => "the store does not take the request, and says so".to_owned(),
        Fault::Outage { lasts } => format!("the store is out of reach for {lasts}, from this request on"),
        Fault::StoreRestart { lasts } => format!("the store restarts, which takes {lasts}"),
        Fault::Duplicate { after } => format!("the request arrives a second time, {after} after the first"),
        Fault::DelayRequest { by } => format!("the request takes {by} longer"),
        Fault::DelayReply { by } => format!("the reply takes {by} longer"),
        Fault::ShortLease { to } => format!("the lease runs for {to} only"),
        Fault::TimerLate { by } => format!("the timer fires {by} late"),
        Fault::ClockSkew { by } if *by < Span::ZERO => {
            format!("the clock of {} is {} behind", site_who(site), by.times(-1))
        }
        Fault::ClockSkew { by } => format!("the clock of {} is {by} ahead", site_who(site)),
        Fault::ClockStep { by } if *by < Span::ZERO => format!("the worker's clock steps back by {}", by.times(-1)),
        Fault::ClockStep { by } => format!("the worker's clock steps ahead by {by}"),
        Fault::Stop { restart } => format!("the worker is asked to stop, and starts anew {restart} later"),
        Fault::ToolSlow { takes } => format!("the tool takes {takes}"),
        Fault::ToolRefuses { after: None } => "the tool refuses".to_owned(),
        Fault::ToolRefuses { after: Some(after) } => format!("the tool refuses, and asks for a pause of {after}"),
        Fault::ToolUnknown { after: Some(after), .. } => format!("the answer breaks off after {after}"),
        Fault::ToolUnknown { happened: true, .. } => "it happens, and the tool cannot vouch for it".to_owned(),
        Fault::ToolUnknown { happened: false, .. } => {
            "it does not happen, and the tool cannot vouch for that".to_owned()
        }
        Fault::ToolMalformed => "what the model says is cut off in the middle".to_owned(),
        Fault::Hold { until: Some(until), most: None } => {
            format!("the request is held back until this was done: {until}")
        }
        Fault::Hold { until: Some(until), most: Some(most) } => {
            format!("the request is held back until this was done, or for {most}: {until}")
        }
        Fault::Hold { until: None, most } => {
            format!("the request is held back{}", most.map_or(String::new(), |most| format!(" for {most}")))
        }
        Fault::Slow { factor } => format!("{} is {factor} times as slow throughout", site_who(site)),
    }
}

fn when(point: Point) -> String {
    match point {
        Point::Before => "before the request is sent".to_owned(),
        Point::Flight(flight) => format!("while the request is on its way, which lands {flight} after it was sent"),
        Point::After => "when the request is carried out, before the reply is seen".to_owned(),
    }
}

/// Who a site is about: a run, a worker or an input.
pub(super) fn site_who(site: &str) -> &str {
    site.split(" / ").next().unwrap_or(site)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_a_clause() {
        let second = Span::from_secs(1);
        let faults = [
            Fault::Crash { point: Point::Flight(Span::from_secs(45)), restart: second },
            Fault::Crash { point: Point::After, restart: second },
            Fault::Pause { point: Point::Before, lasts: second },
            Fault::Partition { point: Point::After, lasts: second },
            Fault::LostRequest,
            Fault::LostReply,
            Fault::StoreError,
            Fault::Outage { lasts: second },
            Fault::StoreRestart { lasts: second },
            Fault::Duplicate { after: second },
            Fault::DelayRequest { by: second },
            Fault::DelayReply { by: second },
            Fault::ShortLease { to: second },
            Fault::TimerLate { by: second },
            Fault::ClockSkew { by: second },
            Fault::ClockSkew { by: second.times(-1) },
            Fault::ClockStep { by: second.times(-1) },
            Fault::ClockStep { by: second },
            Fault::Stop { restart: second },
            Fault::ToolSlow { takes: second },
            Fault::ToolRefuses { after: None },
            Fault::ToolRefuses { after: Some(second) },
            Fault::ToolUnknown { happened: true, after: None },
            Fault::ToolUnknown { happened: false, after: None },
            Fault::ToolUnknown { happened: true, after: Some(second) },
            Fault::ToolMalformed,
            Fault::Slow { factor: 8 },
            Fault::Hold { until: Some("w2 / speed".into()), most: None },
            Fault::Hold { until: Some("w2 / speed".into()), most: Some(second) },
            Fault::Hold { until: None, most: Some(second) },
        ];
        let words = faults.map(|fault| in_words(&Deviation::named("w1 / clock", fault)));
        insta::assert_snapshot!(words.join("\n"));
    }
}
