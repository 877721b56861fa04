//! The names that a script may use at a place, and values that refer to them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::decode::{Decoded, Doc, excerpt};
use super::error::Instead;
use super::holds::Holds;
use super::users::Users;
use crate::kernel::{AgentId, Json, Name, Timestamp};
use crate::scenario::model::{Alias, PROBE};
use crate::scenario::script::{Key, Reference, Slot, Source, Template};

/// What every script is read against: the agents and tools of the scenario.
pub struct Cast<'a> {
    /// The agent types.
    pub agents: BTreeSet<&'a str>,
    /// The tools of the outside world that are no models.
    pub tools: BTreeSet<&'a str>,
    /// The models.
    pub models: BTreeSet<&'a str>,
    /// The users.
    pub users: Users,
    /// When the world starts.
    pub start: Timestamp,
}

impl Cast<'_> {
    /// An address whose type there is. That of a child spawned by type has the id of a run in it, which no file knows.
    pub fn address(&self, doc: &Doc<'_>) -> Decoded<AgentId> {
        let agent: AgentId = doc.parse()?;
        if agent.key().contains('#') {
            let rule = "a child spawned by type is written to by its handle's `agent_id`";
            return Err(doc.mistake(format!("an address has no `#`: {rule}")));
        }
        self.known(doc, &agent)?;
        Ok(agent)
    }

    /// A run at an address whose type there is.
    pub fn alias(&self, doc: &Doc<'_>) -> Decoded<Alias> {
        let alias: Alias = doc.parse()?;
        self.known(doc, &alias.agent)?;
        Ok(alias)
    }

    /// An agent type that there is.
    pub fn agent_type(&self, doc: &Doc<'_>) -> Decoded<Name> {
        let kind = doc.text()?;
        if self.agents.contains(kind) {
            return Ok(kind.into());
        }
        Err(doc.unknown("agent", self.agents.iter().copied()))
    }

    fn known(&self, doc: &Doc<'_>, agent: &AgentId) -> Decoded<()> {
        if self.agents.contains(agent.kind()) {
            return Ok(());
        }
        let mistake = doc.mistake(match agent.kind() {
            PROBE => format!("the agent type `{PROBE}` is reserved"),
            kind => format!("there is no agent `{}`", excerpt(kind)),
        });
        Err(mistake.among(agent.kind(), self.agents.iter().copied()))
    }
}

/// The names of results that are visible at a place of a script.
pub struct Scope<'a> {
    /// The scenario's agents and tools.
    pub cast: &'a Cast<'a>,
    /// Every name that the script gives anywhere, to tell a name that comes later from one that never comes.
    anywhere: BTreeSet<&'a str>,
    /// Where each visible name is; the last place of a name hides those before it.
    visible: BTreeMap<String, Vec<(Slot, Holds)>>,
    /// The visible names, in the order in which they became so.
    trail: Vec<String>,
    slots: usize,
    reads_inbox: bool,
}

impl<'a> Scope<'a> {
    /// The scope at the beginning of a script.
    pub fn new(cast: &'a Cast<'a>, script: &Doc<'a>) -> Self {
        let mut anywhere = BTreeSet::new();
        collect_names(script.value, &mut anywhere);
        Scope { cast, anywhere, visible: BTreeMap::new(), trail: Vec::new(), slots: 0, reads_inbox: false }
    }

    /// How many places the script needs, and whether it reads its inbox.
    pub fn totals(&self) -> (usize, bool) {
        (self.slots, self.reads_inbox)
    }

    /// Reads something in a scope of its own: its names end with it.
    pub fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Decoded<T>) -> Decoded<T> {
        let outside = self.trail.len();
        let result = read(self);
        for name in self.trail.drain(outside..) {
            if let Entry::Occupied(mut places) = self.visible.entry(name) {
                places.get_mut().pop();
                if places.get().is_empty() {
                    places.remove();
                }
            }
        }
        result
    }

    /// Makes a name of the language visible; an outer one of the same name is hidden.
    pub fn bind_own(&mut self, name: &str, holds: Holds) -> Slot {
        self.visible.entry(name.to_owned()).or_default().push((self.slots, holds));
        self.trail.push(name.to_owned());
        self.slots += 1;
        self.slots - 1
    }

    /// Makes a name that the file gives visible.
    pub fn bind(&mut self, doc: &Doc<'_>, holds: Holds) -> Decoded<Slot> {
        let name = doc.name()?;
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !name.chars().all(letter) || name.starts_with(|c: char| c.is_ascii_digit()) {
            let wanted = "a name of letters, digits, `_` and `-`";
            return Err(doc.mistake(format!("`{}` is not {wanted}", excerpt(&name))));
        }
        if ["inbox", "self", "item", "index"].contains(&&*name) {
            return Err(doc.mistake(format!("the name `{name}` is reserved")));
        }
        if self.visible.contains_key(&*name) {
            return Err(doc.mistake(format!("an earlier step is already named `{name}`")));
        }
        Ok(self.bind_own(&name, holds))
    }

    /// What a reference leads to, as far as the steps before it tell.
    pub fn leads_to(&self, reference: &Reference) -> Holds {
        let root = match reference.from {
            Source::Inbox => Holds::Messages,
            Source::Slot(slot) => {
                let places = self.visible.values().flatten();
                places.clone().find(|(place, _)| *place == slot).map_or(Holds::Anything, |(_, holds)| *holds)
            }
            Source::Run | Source::Agent | Source::AgentKey | Source::Attempt => Holds::Plain,
        };
        reference.path.iter().fold(root, |holds, key| holds.at(key))
    }

    /// A reference to the handle of a run.
    pub fn handle(&mut self, doc: &Doc<'_>) -> Decoded<Reference> {
        let reference = self.reference(doc)?;
        self.wants(doc, &reference, Holds::Handle, "no handle of a run, as a `spawn` gives one")?;
        Ok(reference)
    }

    /// A reference to a message.
    pub fn message(&mut self, doc: &Doc<'_>) -> Decoded<Reference> {
        let reference = self.reference(doc)?;
        self.wants(doc, &reference, Holds::Message, "no message, like `$inbox.0`")?;
        Ok(reference)
    }

    /// Complains of a reference that certainly leads to something else.
    fn wants(&self, doc: &Doc<'_>, reference: &Reference, wanted: Holds, not: &str) -> Decoded<()> {
        let leads_to = self.leads_to(reference);
        if leads_to == wanted || leads_to == Holds::Anything {
            return Ok(());
        }
        let mut mistake = doc.mistake(format!("`{}` is {not}", excerpt(&reference.text)));
        let of_kind =
            self.visible.iter().filter(|(_, places)| places.last().is_some_and(|(_, holds)| *holds == wanted));
        let names: Vec<String> = of_kind.map(|(name, _)| format!("${name}")).collect();
        if let [only] = names.as_slice() {
            mistake.instead = Instead::Nearest(only.clone());
            return Err(mistake);
        }
        Err(mistake.among(&reference.text, names.iter().map(String::as_str)))
    }

    /// A reference that stands alone.
    pub fn reference(&mut self, doc: &Doc<'_>) -> Decoded<Reference> {
        match doc.text()?.strip_prefix('$') {
            Some(rest) if !rest.starts_with('$') => self.resolve(doc, rest),
            _ => Err(doc.mistake("this must be a reference, like `$charge.id`")),
        }
    }

    fn resolve(&mut self, doc: &Doc<'_>, rest: &str) -> Decoded<Reference> {
        let mut parts = rest.split('.');
        let root = parts.next().unwrap_or_default();
        let mut path: Vec<&str> = parts.collect();
        if path.iter().any(|part| part.is_empty()) {
            return Err(doc.mistake(format!("`${}` has an empty part", excerpt(rest))));
        }
        let from = match root {
            "inbox" => {
                self.reads_inbox = true;
                Source::Inbox
            }
            "self" => own(doc, &mut path)?,
            name => Source::Slot(self.slot(doc, name)?),
        };
        let path = path.iter().map(|part| Key { name: (*part).to_owned(), index: part.parse().ok() });
        let reference = Reference { from, path: path.collect(), text: format!("${rest}").into() };
        self.check_parts(doc, &reference)?;
        Ok(reference)
    }

    /// Complains of a part that what stands there certainly has not.
    fn check_parts(&self, doc: &Doc<'_>, reference: &Reference) -> Decoded<()> {
        for length in 1..=reference.path.len() {
            let (before, [last, ..]) = reference.path.split_at(length - 1) else { continue };
            let holder = Reference { path: before.to_vec(), ..reference.clone() };
            let Some((what, parts)) = self.leads_to(&holder).parts() else { continue };
            if !parts.contains(&&*last.name) {
                let mistake = doc.mistake(format!("{what} has no `{}`", excerpt(&last.name)));
                return Err(mistake.among(&last.name, parts.iter().copied()));
            }
        }
        Ok(())
    }

    fn slot(&self, doc: &Doc<'_>, name: &str) -> Decoded<Slot> {
        if let Some((slot, _)) = self.visible.get(name).and_then(|places| places.last()) {
            return Ok(*slot);
        }
        if self.anywhere.contains(name) {
            let reason = format!("`${}` is not there yet: its step comes later, or in another branch", excerpt(name));
            return Err(doc.mistake(reason));
        }
        let mistake = doc.mistake(format!("no step before this one is named `{}`", excerpt(name)));
        let names = self.visible.keys().map(String::as_str).chain(["inbox", "self"]);
        Err(mistake.among(name, names))
    }

    /// A value that may hold references: texts that begin with `$`. `$$` stands for a plain `$`.
    pub fn template(&mut self, doc: &Doc<'_>) -> Decoded<Template> {
        if !may_refer(doc.value) {
            return Ok(fixed(doc.value));
        }
        Ok(match doc.value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(literal) if literal.starts_with('$') => Template::Fixed(Json::new(literal.into())),
                Some(rest) => Template::Reference(self.resolve(doc, rest)?),
                None => fixed(doc.value),
            },
            Value::Array(_) => {
                let docs = doc.list()?;
                let items = docs.iter().map(|doc| self.template(doc)).collect::<Decoded<Vec<_>>>()?;
                match items.iter().map(known_value).collect::<Option<Vec<_>>>() {
                    Some(values) => fixed(&Value::Array(values)),
                    None => Template::List(items),
                }
            }
            Value::Object(_) => {
                let object = doc.open_object()?;
                let members = object.members().map(|(key, doc)| Ok((key.to_owned(), self.template(&doc)?)));
                let members = members.collect::<Decoded<Vec<_>>>()?;
                let known = members.iter().map(|(key, value)| Some((key.clone(), known_value(value)?)));
                match known.collect::<Option<serde_json::Map<_, _>>>() {
                    Some(values) => fixed(&Value::Object(values)),
                    None => Template::Object(members),
                }
            }
            scalar => fixed(scalar),
        })
    }
}

/// Whether a text within begins with `$`.
pub fn may_refer(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with('$'),
        Value::Array(items) => items.iter().any(may_refer),
        Value::Object(members) => members.values().any(may_refer),
        _ => false,
    }
}

fn fixed(value: &Value) -> Template {
    Template::Fixed(Json::new(value.clone()))
}

fn known_value(template: &Template) -> Option<Value> {
    match template {
        Template::Fixed(json) => Some((**json).clone()),
        _ => None,
    }
}

/// What `$self` and the parts behind it mean.
fn own(doc: &Doc<'_>, path: &mut Vec<&str>) -> Decoded<Source> {
    let choices = [("agent", Source::Agent), ("key", Source::AgentKey), ("attempt", Source::Attempt)];
    if path.is_empty() {
        return Ok(Source::Run);
    }
    let part = path.remove(0);
    if let Some((_, source)) = choices.iter().find(|(name, _)| *name == part) {
        return Ok(*source);
    }
    let mistake = doc.mistake(format!("`$self` has no `{}`", excerpt(part)));
    Err(mistake.among(part, choices.iter().map(|(name, _)| *name)))
}

/// The names under `as`, wherever they stand.
fn collect_names<'a>(value: &'a Value, names: &mut BTreeSet<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(members) => {
            names.extend(members.get("as").and_then(Value::as_str));
            members.values().for_each(|member| collect_names(member, names));
        }
        _ => {}
    }
}
