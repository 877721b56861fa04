//! The story as a diagram: a column for each actor, time downwards, arrows for calls, and beside them what they say.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Case;
use super::facts::{Call, Facts};
use super::tell::kept;
use super::turns::{Turn, Weight};
use super::words::{about, clock, entry, error_of, noun};
use crate::history::{Actor, ActorChange, Answer, Asked, Event};
use crate::kernel::{CallError, Reply, Request, Span, Timestamp};
use crate::report::Style;
use crate::report::counted;

/// How a diagram is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Letters a line has at most; at least 40 are used.
    pub width: usize,
    /// Whether only ASCII is used.
    pub ascii: bool,
    /// Colours.
    pub style: Style,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A call that took effect at once, or its answer.
    Arrow,
    /// A call that left, and will arrive much later.
    Leaves,
    /// A call that arrives much later than it left.
    Arrives,
    /// A call that never took effect.
    Lost,
    /// Something that became of one column.
    Mark,
}

/// A row of the diagram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// When, after the start.
    pub clock: String,
    /// The column from which an arrow leaves, or that a mark is about.
    pub from: String,
    /// The column that an arrow points at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What is drawn.
    pub shape: Shape,
    /// What is said beside it.
    pub said: String,
    /// Whether the promise broke here.
    pub breaks: bool,
    #[serde(skip)]
    at: Timestamp,
    #[serde(skip)]
    place: usize,
    #[serde(skip)]
    deviation: bool,
}

const STORE: &str = "store";
const OUTSIDE: &str = "outside";

/// The rows of a failure's diagram: those turns that are told.
pub fn rows(case: &Case<'_>) -> Vec<Row> {
    let (kept, _) = kept(&case.turns);
    kept.into_iter().map(|turn| row(case, turn)).collect()
}

fn row(case: &Case<'_>, turn: &Turn) -> Row {
    let facts = &case.facts;
    let at = facts.at(turn.place);
    let (from, to, shape, said) = geometry(facts, turn);
    Row {
        clock: clock(facts, at),
        from,
        to,
        shape,
        said,
        breaks: turn.weight == Weight::Break,
        at,
        place: turn.place,
        deviation: turn.weight == Weight::Deviation,
    }
}

fn geometry(facts: &Facts<'_>, turn: &Turn) -> (String, Option<String>, Shape, String) {
    let mark = |column: &str, said: &str| (column.to_owned(), None, Shape::Mark, said.to_owned());
    let number = match &facts.records[turn.place].event {
        Event::Sent { call, .. } | Event::Applied { call, .. } | Event::Returned { call, .. } => *call,
        Event::Actor { change, .. } => return mark(&turn.who, became(*change)),
        _ => return mark(&turn.who, turn.brief.as_deref().unwrap_or(&turn.said)),
    };
    let Some(call) = facts.calls.get(&number) else { return mark(&turn.who, &turn.said) };
    let caller = column(facts, call.from);
    if !turn.who.is_empty() && turn.who != caller {
        return mark(STORE, &format!("{} {}", turn.who, turn.said.strip_prefix("was ").unwrap_or(&turn.said)));
    }
    let target = if matches!(call.asked, Asked::Outside(_)) { OUTSIDE } else { STORE };
    match &facts.records[turn.place].event {
        Event::Sent { .. } => {
            let shape = if call.applied.is_empty() { Shape::Lost } else { Shape::Leaves };
            (caller, Some(target.to_owned()), shape, short_noun(facts, call))
        }
        Event::Applied { answer: Answer::Store(Reply::Leases(_)), .. } => {
            (STORE.to_owned(), Some(caller), Shape::Arrow, lease(turn))
        }
        Event::Applied { answer, .. } => {
            let shape = if turn.who.is_empty() { Shape::Arrives } else { Shape::Arrow };
            let why = match (call.asked, answer) {
                (Asked::Store(Request::Append { body, .. }), Answer::Store(Reply::Appended(_))) => {
                    error_of(facts, body).map(|why| (body.kind(), why))
                }
                _ => None,
            };
            let outcome = outcome(facts, turn, call, answer);
            let said = match why {
                Some((kind, why)) => format!("{kind}{outcome}: {why}"),
                None => format!("{}{outcome}", short_noun(facts, call)),
            };
            (caller, Some(target.to_owned()), shape, said)
        }
        Event::Returned { outcome: Ok(_), .. } => {
            (target.to_owned(), Some(caller), Shape::Arrow, format!("reply to {}", short_noun(facts, call)))
        }
        Event::Returned { outcome: Err(CallError::Unknown), .. } => {
            mark(&caller, &format!("gave up {}", short_noun(facts, call)))
        }
        _ => mark(&caller, &format!("{} not taken", short_noun(facts, call))),
    }
}

/// A change of an actor in a word or two.
const fn became(change: ActorChange) -> &'static str {
    match change {
        ActorChange::Started => "started anew",
        ActorChange::Crashed => "died",
        ActorChange::Paused => "froze",
        ActorChange::Resumed => "went on",
        ActorChange::CutOff => "cut off",
        ActorChange::Reachable => "reachable again",
        ActorChange::Stopping => "asked to stop",
        ActorChange::Stopped => "stopped",
    }
}

/// A worker keeps its column over its incarnations.
fn column(facts: &Facts<'_>, actor: &Actor) -> String {
    facts.actor(actor)
}

fn lease(turn: &Turn) -> String {
    let open = turn.said.find('(').map_or(0, |open| open + 1);
    let close = turn.said[open..].find(',').map_or(turn.said.len(), |close| open + close);
    let taken = if turn.brief.is_some() { ", taken over" } else { "" };
    format!("{}{taken}", &turn.said[open..close])
}

fn short_noun(facts: &Facts<'_>, call: &Call<'_>) -> String {
    match call.asked {
        Asked::Outside(perform) => facts.effect(perform.effect.id),
        Asked::Store(Request::Append { body, .. }) => entry(facts, body),
        Asked::Store(Request::Release { lease, how }) => {
            format!("release {} ({})", facts.run(lease.run), super::words::release(how))
        }
        Asked::Store(Request::Heartbeat { .. }) => "heartbeat".to_owned(),
        Asked::Store(Request::Drain { .. }) => "drain".to_owned(),
        Asked::Store(Request::Read { .. }) => "read".to_owned(),
        asked @ Asked::Store(_) => noun(facts, asked).trim_start_matches("the ").to_owned(),
    }
}

/// The end of a row's text: what came of the call, where that is worth telling.
fn outcome(facts: &Facts<'_>, turn: &Turn, call: &Call<'_>, answer: &Answer) -> String {
    use crate::kernel::{Heartbeat, Performed, Released};
    let late = turn.who.is_empty();
    let told = match answer {
        Answer::Outside(Performed::Done(_)) if turn.said.contains(" time") => ": took hold again".to_owned(),
        Answer::Outside(Performed::Done(_)) => ": took hold".to_owned(),
        Answer::Outside(Performed::Refused { .. }) => ": refused".to_owned(),
        Answer::Outside(Performed::Unknown) => ": no clear answer".to_owned(),
        Answer::Store(Reply::Conflict(_)) => ": refused".to_owned(),
        Answer::Store(Reply::Looked(None)) => ": none".to_owned(),
        Answer::Store(Reply::Looked(Some(found))) => format!(": {}", super::words::result(found)),
        Answer::Store(Reply::Heartbeat(Heartbeat::Lost)) | Answer::Store(Reply::Released(Released::Lost)) => {
            ": lost".to_owned()
        }
        Answer::Store(Reply::Accepted(false)) => ": known".to_owned(),
        Answer::Store(Reply::Entries(entries)) => {
            entries.last().map_or_else(String::new, |last| format!(" up to entry {}", last.seq))
        }
        Answer::Store(_) => String::new(),
    };
    let unseen = match call.returned {
        None if !late => ", reply unseen",
        Some((_, Err(_))) if !late => ", reply lost",
        _ => "",
    };
    let sent = facts.at(turn.place).since(facts.at(call.sent));
    let ago = if late && sent > super::turns::LATE { format!(", sent {} before", about(sent)) } else { String::new() };
    format!("{told}{unseen}{ago}")
}

/// What a lifeline looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Alive,
    Frozen,
    Cut,
    Dead,
}

impl Life {
    const fn letter(self) -> char {
        match self {
            Life::Alive => '│',
            Life::Frozen => '┊',
            Life::Cut => '┆',
            Life::Dead => ' ',
        }
    }
}

/// Letters before the first column: the clock.
const MARGIN: usize = 11;
/// Letters that the text beside the diagram has at least.
const TEXT_LEAST: usize = 18;
/// A gap between two rows that is drawn as such.
const GAP: Span = Span::from_secs(1);

/// The diagram of a failure. Empty where all held.
pub fn draw(case: &Case<'_>, drawing: Drawing) -> String {
    let rows = rows(case);
    if rows.is_empty() {
        return String::new();
    }
    let columns = columns(case, &rows);
    let width = drawing.width.max(40);
    let room = width.saturating_sub(MARGIN + TEXT_LEAST) / columns.len();
    let longest = columns.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let step = (longest + 1).max(7).min(room.max(3));
    let sheet = Sheet { columns: &columns, step, width, drawing };
    let mut text = sheet.head();
    let mut lives = Lives::default();
    let (mut next, mut before) = (0, None::<Timestamp>);
    for row in &rows {
        lives.follow(case, &mut next, row.place);
        let gap = before.map_or(Span::ZERO, |before| row.at.since(before));
        if gap > GAP {
            text.push_str(&sheet.gap(&lives, gap));
        }
        before = Some(row.at);
        text.push_str(&sheet.row(&lives, row));
    }
    let (_, left_out) = kept(&case.turns);
    if left_out > 0 {
        let left = counted(left_out as u64, "routine step", "routine steps");
        text.push_str(&sheet.words(&format!("({left} not drawn)"), width));
        text.push('\n');
    }
    text
}

/// Clients, workers in the order of the header, store, outside: those that a row shows, and every worker that does.
fn columns(case: &Case<'_>, rows: &[Row]) -> Vec<String> {
    let shown = |name: &str| rows.iter().any(|row| row.from == name || row.to.as_deref() == Some(name));
    let workers: Vec<String> = case.facts.header.workers.iter().map(ToString::to_string).collect();
    let mut columns: Vec<String> = Vec::new();
    let others = rows.iter().flat_map(|row| [Some(&row.from), row.to.as_ref()]).flatten();
    for name in others {
        let known = columns.contains(name) || workers.contains(name) || name == STORE || name == OUTSIDE;
        let client = name.starts_with("input ") || name == "the probe";
        if !known && client {
            columns.push(name.clone());
        }
    }
    columns.extend(workers.into_iter().filter(|name| shown(name)));
    columns.push(STORE.to_owned());
    if shown(OUTSIDE) {
        columns.push(OUTSIDE.to_owned());
    }
    columns
}

/// How every column's lifeline looks at some place of the history.
#[derive(Default)]
struct Lives(BTreeMap<String, Life>);

impl Lives {
    /// Takes in what became of the actors up to the event at `place`, itself included.
    fn follow(&mut self, case: &Case<'_>, next: &mut usize, place: usize) {
        for record in &case.facts.records[*next..=place] {
            match &record.event {
                Event::Actor { actor, change } => {
                    let life = match change {
                        ActorChange::Started
                        | ActorChange::Resumed
                        | ActorChange::Reachable
                        | ActorChange::Stopping => Life::Alive,
                        ActorChange::Crashed | ActorChange::Stopped => Life::Dead,
                        ActorChange::Paused => Life::Frozen,
                        ActorChange::CutOff => Life::Cut,
                    };
                    self.0.insert(column(&case.facts, actor), life);
                }
                Event::StoreReach { up } => {
                    self.0.insert(STORE.to_owned(), if *up { Life::Alive } else { Life::Cut });
                }
                _ => {}
            }
        }
        *next = (*next).max(place + 1);
    }

    fn of(&self, column: &str) -> Life {
        self.0.get(column).copied().unwrap_or(Life::Alive)
    }
}

struct Sheet<'a> {
    columns: &'a [String],
    /// Letters from one column to the next.
    step: usize,
    width: usize,
    drawing: Drawing,
}

impl Sheet<'_> {
    fn x(&self, place: usize) -> usize {
        place * self.step + self.step / 2
    }

    /// Letters from the first column's left to the last lifeline.
    fn sheet_width(&self) -> usize {
        self.x(self.columns.len() - 1) + 1
    }

    fn place(&self, name: &str) -> usize {
        let store = self.columns.iter().position(|column| column == STORE).unwrap_or(0);
        self.columns.iter().position(|column| column == name).unwrap_or(store)
    }

    fn head(&self) -> String {
        let mut line = vec![' '; self.columns.len() * self.step];
        for (place, name) in self.columns.iter().enumerate() {
            let short: String = name.replace("input ", "in ").chars().take(self.step.saturating_sub(1)).collect();
            let start = self.x(place).saturating_sub(short.chars().count() / 2);
            for (offset, letter) in short.chars().enumerate() {
                if let Some(cell) = line.get_mut(start + offset) {
                    *cell = letter;
                }
            }
        }
        let names: String = line.into_iter().collect();
        format!("{:MARGIN$}{}\n", "", self.drawing.style.strong(names.trim_end()))
    }

    /// Lines, in the letters that may be used.
    fn plain(&self, line: &str) -> String {
        if self.drawing.ascii { ascii(line) } else { line.to_owned() }
    }

    /// Words, in the letters that may be used, cut off where there is no more room.
    fn words(&self, text: &str, room: usize) -> String {
        let (text, more) = match self.drawing.ascii {
            true => (text.replace('…', "..."), "..."),
            false => (text.to_owned(), "…"),
        };
        if text.chars().count() <= room {
            return text;
        }
        let kept = room.saturating_sub(more.chars().count());
        text.chars().take(kept).chain(more.chars()).collect()
    }

    fn lifelines(&self, lives: &Lives) -> Vec<char> {
        let mut line = vec![' '; self.sheet_width()];
        for (place, name) in self.columns.iter().enumerate() {
            line[self.x(place)] = lives.of(name).letter();
        }
        line
    }

    /// Time in which nothing is drawn.
    fn gap(&self, lives: &Lives, gap: Span) -> String {
        let line: String = self.lifelines(lives).into_iter().map(|cell| if cell == ' ' { ' ' } else { '⋮' }).collect();
        let text = self.words(&format!("… {} …", about(gap)), self.width);
        format!("{:MARGIN$}{}  {}\n", "", self.plain(&line), self.drawing.style.dim(&text))
    }

    fn row(&self, lives: &Lives, row: &Row) -> String {
        let mut line = self.lifelines(lives);
        let from = self.x(self.place(&row.from));
        match row.to.as_deref().map(|to| self.x(self.place(to))) {
            Some(to) if to != from => arrow(&mut line, from, to, row.shape),
            _ => {
                line[from] = match lives.of(&row.from) {
                    Life::Dead => '╳',
                    Life::Frozen | Life::Cut => '▪',
                    Life::Alive => '●',
                }
            }
        }
        let line: String = line.into_iter().collect();
        let room = self.width.saturating_sub(MARGIN + self.sheet_width() + 2);
        let said = self.words(&row.said, room);
        let said = match (row.breaks, row.deviation) {
            (true, _) => self.drawing.style.bad(&said),
            (_, true) => self.drawing.style.notable(&said),
            _ => said,
        };
        format!("{:>10} {}  {said}\n", row.clock, self.plain(&line))
    }
}

/// Draws an arrow over lifelines.
fn arrow(line: &mut [char], from: usize, to: usize, shape: Shape) {
    let right = from < to;
    let (low, high) = if right { (from, to) } else { (to, from) };
    let stroke = if matches!(shape, Shape::Leaves | Shape::Arrives) { '╌' } else { '─' };
    for cell in &mut line[low + 1..high] {
        *cell = if *cell == '│' { '┼' } else { stroke };
    }
    let head = if right { '►' } else { '◄' };
    let next = |x: usize| if right { x - 1 } else { x + 1 };
    line[from] = if right { '├' } else { '┤' };
    match shape {
        Shape::Lost => line[next(to)] = '╳',
        Shape::Leaves => line[next(to)] = '…',
        Shape::Arrives => {
            line[from] = '·';
            line[next(to)] = head;
        }
        Shape::Arrow | Shape::Mark => line[next(to)] = head,
    }
}

/// Lines in ASCII, each letter in the place of one.
fn ascii(line: &str) -> String {
    let plain = |letter| match letter {
        '│' => '|',
        '┊' | '┆' | '⋮' => ':',
        '─' | '╌' => '-',
        '├' | '┤' | '┼' => '+',
        '►' => '>',
        '◄' => '<',
        '╳' => 'x',
        '●' | '▪' => '*',
        '·' | '…' => '.',
        other => other,
    };
    line.chars().map(plain).collect()
}
