//! An explanation: the story, its diagram, from where on calm does not save it, and what would have.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::story::spacetime::{Drawing, draw, rows};
use super::story::words::{site_noun, span};
use super::story::{Case, tell};
use super::{Style, counted, outcome};
use crate::explore::Halt;
use crate::explore::explain::{Amount, Explained, Milder, Nearest, Turning};
use crate::explore::in_words;
use crate::sim::{Deviation, Fault, Point, Schedule};

/// All that is told of a schedule that was explained.
pub struct Report<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// What was played.
    pub schedule: &'a Schedule,
    /// What was found.
    pub explained: &'a Explained,
}

impl Report<'_> {
    /// The explanation in words, with the diagram.
    pub fn text(&self, drawing: Drawing) -> String {
        let (style, explained) = (drawing.style, self.explained);
        let mut text = format!("{} · {}\n", style.strong(self.scenario), in_words(self.schedule));
        if explained.cause.is_none() {
            let _ = writeln!(text, "{}: there is nothing to explain", style.good("held"));
            return text;
        }
        let case = self.case();
        let _ = write!(text, "\n{}", tell(&case).text(style));
        let _ = write!(text, "\n{}\n{}", style.dim("Drawn"), draw(&case, drawing));
        let _ = writeln!(text, "\n{}", style.dim("What would have saved it"));
        let _ = writeln!(text, "  {}", self.turning(style));
        let _ = writeln!(text, "  {}", self.nearest(style));
        text
    }

    fn case(&self) -> Case<'_> {
        Case::of_outcome(&self.explained.header, &self.explained.records, &self.explained.outcome)
    }

    /// What a deviation did, as a sentence.
    fn befell(&self, place: usize) -> String {
        let said = tell(&self.case()).deviations.get(place).map(|named| named.said.clone());
        said.unwrap_or_else(|| self.deviation(place).site.to_string())
    }

    fn deviation(&self, place: usize) -> &Deviation {
        &self.explained.outcome.deviations[place]
    }

    /// From where on calm does not save it.
    fn turning(&self, style: Style) -> String {
        let all = self.explained.outcome.deviations.len();
        match self.explained.turning {
            Some(Turning::Calm) => "Nothing has to deviate: the calm schedule fails in the same way.".to_owned(),
            Some(Turning::After(place)) => {
                let number = place + 1;
                let which = style.notable(&format!("deviation {number}"));
                let befell = self.befell(place);
                let before = match place {
                    0 => "without it that promise is kept".to_owned(),
                    1 => "with deviation 1 alone that promise is kept".to_owned(),
                    _ => format!("with the {place} before it alone that promise is kept"),
                };
                let after = match all - number {
                    0 => String::new(),
                    more => format!(" ({} not needed)", counted(more as u64, "later one is", "later ones are")),
                };
                format!("From {which} on calm does not save it: {befell}; {before}{after}.")
            }
            None if self.explained.halted.is_some() => interrupted(self.explained.halted),
            None => "Played as a list of its deviations it does not fail in the same way.".to_owned(),
        }
    }

    /// The nearest schedule that holds, and what differs in it.
    fn nearest(&self, style: Style) -> String {
        match &self.explained.nearest {
            Some(Nearest { place, change: Milder::Dropped }) => {
                let what = self.befell(*place);
                let which = style.good(&format!("Without deviation {}", place + 1));
                format!("{which} all holds: {what}.")
            }
            Some(Nearest { place, change: Milder::Instead { holds, to, still, from, .. } }) => {
                let deviation = self.deviation(*place);
                let had = style.good(&milder(deviation, *place, holds, *to));
                let fails = match still == from {
                    true => String::new(),
                    false => format!(" (with {} it fails)", amount(*still)),
                };
                format!("{had} instead of {}, all would have held{fails}.", amount(*from))
            }
            None if self.explained.halted.is_some() => interrupted(self.explained.halted),
            None if self.explained.outcome.deviations.is_empty() => {
                "No schedule is nearer than the calm one, which fails.".to_owned()
            }
            None => "No schedule that differs in one deviation holds.".to_owned(),
        }
    }

    /// The explanation as a document: that of the schedule (as `run` has it), and `story`, `spacetime`, `turning`,
    /// `nearest`, `variations`.
    pub fn document(&self) -> Value {
        let explained = self.explained;
        let mut document = outcome::document(self.scenario, self.schedule, &explained.outcome);
        let told = explained.cause.as_ref().map(|_| {
            let case = self.case();
            (json!(tell(&case)), json!(rows(&case)))
        });
        let (story, spacetime) = told.unwrap_or((Value::Null, Value::Null));
        document["story"] = story;
        document["spacetime"] = spacetime;
        document["turning"] = match explained.turning {
            None => Value::Null,
            Some(Turning::Calm) => json!({ "after": 0, "said": self.turning(Style::PLAIN) }),
            Some(Turning::After(place)) => json!({
                "after": place + 1,
                "deviation": self.deviation(place),
                "said": self.turning(Style::PLAIN),
            }),
        };
        document["nearest"] = explained.nearest.as_ref().map_or(Value::Null, |nearest| {
            let Nearest { place, change } = nearest;
            let (instead, fails) = match change {
                Milder::Dropped => (Value::Null, Value::Null),
                Milder::Instead { holds, fails, .. } => (json!(holds), json!(fails)),
            };
            json!({
                "deviation": place + 1,
                "site": self.deviation(*place).site,
                "holds_with": instead,
                "fails_with": fails,
                "said": self.nearest(Style::PLAIN),
            })
        });
        document["variations"] = json!(explained.variations);
        document["interrupted"] = json!(explained.halted.is_some());
        document
    }
}

fn interrupted(halted: Option<Halt>) -> String {
    match halted {
        Some(Halt::Time) => "Its time was over before this was found out.".to_owned(),
        _ => "It was interrupted before this was found out.".to_owned(),
    }
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Span(length) => span(length),
        Amount::Times(times) => format!("{times} times"),
    }
}

/// How a deviation would have had to be: `Had the pause of deviation 1 lasted 19.999 s`.
fn milder(deviation: &Deviation, place: usize, holds: &Fault, to: Amount) -> String {
    let (noun, to, number) = (site_noun(&deviation.site), amount(to), place + 1);
    let of = format!("of deviation {number}");
    match (&deviation.fault, holds) {
        (Fault::Crash { point: Point::Flight(before), .. }, Fault::Crash { point: Point::Flight(after), .. })
            if before != after =>
        {
            format!("Had {noun} (deviation {number}) landed {to} after it was sent")
        }
        (Fault::Crash { .. }, _) => format!("Had the worker {of} been back after {to}"),
        (Fault::Stop { .. }, _) => format!("Had the worker {of} been back {to} after its stop"),
        (Fault::Pause { .. }, _) => format!("Had the pause {of} lasted {to}"),
        (Fault::Partition { .. }, _) => format!("Had the cut {of} lasted {to}"),
        (Fault::Outage { .. }, _) => format!("Had the outage {of} lasted {to}"),
        (Fault::StoreRestart { .. }, _) => format!("Had the restart of the store {of} taken {to}"),
        (Fault::Duplicate { .. }, _) => format!("Had {noun} (deviation {number}) arrived again after {to}"),
        (Fault::DelayRequest { .. }, _) => format!("Had {noun} (deviation {number}) been held up for {to}"),
        (Fault::DelayReply { .. }, _) => format!("Had the reply to {noun} (deviation {number}) been held up for {to}"),
        (Fault::Hold { .. }, _) => format!("Had {noun} (deviation {number}) been held back for {to}"),
        (Fault::ShortLease { .. }, _) => format!("Had the lease {of} run for {to}"),
        (Fault::TimerLate { .. }, _) => format!("Had the timer {of} been {to} late"),
        (Fault::ClockSkew { .. }, _) => format!("Had the clock {of} been off by {to}"),
        (Fault::ClockStep { .. }, _) => format!("Had the clock {of} stepped by {to}"),
        (Fault::ToolSlow { .. }, _) => format!("Had the answer to {noun} (deviation {number}) taken {to}"),
        (Fault::Slow { .. }, _) => format!("Had the worker {of} been slower by {to}"),
        (Fault::ToolRefuses { after: Some(_) }, _) => format!("Had the tool {of} asked for a pause of {to}"),
        (Fault::ToolUnknown { after: Some(_), .. }, _) => {
            format!("Had the answer to {noun} (deviation {number}) broken off after {to}")
        }
        (
            Fault::LostRequest
            | Fault::LostReply
            | Fault::StoreError
            | Fault::ToolRefuses { .. }
            | Fault::ToolUnknown { .. }
            | Fault::ToolMalformed,
            _,
        ) => format!("Had deviation {number} been milder"),
    }
}
