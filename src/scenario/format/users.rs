//! The users of a scenario, and the documents that come in for them.

use std::collections::BTreeMap;

use super::decode::{Decoded, Doc, Object, excerpt};
use super::scope::Cast;
use super::tempo;
use crate::kernel::{Json, Name, Timestamp};
use crate::tempo::{Action, Calendar, NamedWindow, Plan, Settings};

/// The most dispatches of an action that a budget may name.
const BUDGET_MAX: u32 = 1_000_000;

/// What a plan may do, as files have it.
const ACTIONS: [Action; 5] = [Action::Schedule, Action::Reflect, Action::Reschedule, Action::Notify, Action::Log];

/// Every user, with his settings and what follows from them for the reading of his documents.
#[derive(Default)]
pub struct Users(BTreeMap<Name, (Settings, Calendar)>);

/// `users`: an object of settings.
pub fn users(doc: &Doc<'_>, start: Timestamp) -> Decoded<Users> {
    let mut users = BTreeMap::new();
    for (name, doc) in doc.open_object()?.members() {
        if name.is_empty() || name.contains(['/', '#', '$', ' ']) {
            let reason =
                format!("`{}` is no user: a name is not empty, and has no `/`, `#`, `$` and no space", excerpt(name));
            return Err(doc.key_mistake(reason, name));
        }
        let settings = settings(&doc, start)?;
        let calendar = tempo::calendar(&doc, &settings)?;
        users.insert(name.into(), (settings, calendar));
    }
    Ok(Users(users))
}

fn settings(doc: &Doc<'_>, start: Timestamp) -> Decoded<Settings> {
    let object = doc.object(&[
        "zone",
        "auto_approve",
        "registry",
        "budget",
        "cadence",
        "blocked",
        "horizon",
        "reflect",
        "follow_up",
    ])?;
    let windows = |doc: &Doc<'_>| -> Decoded<BTreeMap<Name, NamedWindow>> {
        doc.open_object()?.members().map(|(name, doc)| Ok((name.into(), window(&doc)?))).collect()
    };
    Ok(Settings {
        zone: Some(object.or("zone", "UTC".into(), Doc::name)?),
        auto_approve: object.or("auto_approve", false, Doc::flag)?,
        registry: object.or("registry", BTreeMap::new(), windows)?,
        budget: object.or("budget", BTreeMap::new(), |doc| by_action(doc, |doc| doc.count(0, BUDGET_MAX)))?,
        cadence: object.or("cadence", BTreeMap::new(), |doc| by_action(doc, |doc| doc.span()))?,
        blocked: object.or("blocked", Vec::new(), |doc| doc.one_or_more()?.iter().map(window).collect())?,
        horizon: object.or("horizon", None, |doc| doc.since(start).map(|span| Some(start + span)))?,
        reflect: object.or("reflect", false, Doc::flag)?,
        follow_up: object.or("follow_up", false, Doc::flag)?,
    })
}

/// Something for each action that is named.
fn by_action<T>(doc: &Doc<'_>, read: impl Fn(&Doc<'_>) -> Decoded<T>) -> Decoded<BTreeMap<Action, T>> {
    let object = doc.object(&ACTIONS.map(Action::as_str))?;
    let named = ACTIONS.into_iter().filter_map(|action| Some((action, object.get(action.as_str())?)));
    named.map(|(action, doc)| Ok((action, read(&doc)?))).collect()
}

fn window(doc: &Doc<'_>) -> Decoded<NamedWindow> {
    let object = doc.object(&["days", "start", "end"])?;
    Ok(NamedWindow {
        days: object.or("days", "daily".into(), Doc::name)?,
        start: object.need("start")?.name()?,
        end: object.need("end")?.name()?,
    })
}

impl Users {
    /// What holds for each.
    pub fn settings(&self) -> BTreeMap<Name, Settings> {
        self.0.iter().map(|(name, (settings, _))| (name.clone(), settings.clone())).collect()
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.keys()
    }

    /// The only user, where there is just one.
    pub fn only(&self) -> Option<&Name> {
        let mut names = self.names();
        names.next().filter(|_| names.next().is_none())
    }

    /// The user that `object` names; the only one where it names none.
    pub fn of(&self, object: &Object<'_>) -> Decoded<Name> {
        if let Some(doc) = object.get("user") {
            return self.named(&doc);
        }
        self.only().cloned().ok_or_else(|| {
            let names: Vec<&str> = self.names().map(|name| &**name).collect();
            object.doc().mistake(match names.as_slice() {
                [] => "there are no `users` in this scenario".to_owned(),
                names => format!("`user` is missing: there are {}", names.join(", ")),
            })
        })
    }

    /// A user that there is.
    pub fn named(&self, doc: &Doc<'_>) -> Decoded<Name> {
        let name = doc.name()?;
        if self.0.contains_key(&name) { Ok(name) } else { Err(doc.unknown("user", self.names().map(|name| &**name))) }
    }

    /// A feedback document; `id` is its own where it gives none.
    pub fn feedback(&self, doc: &Doc<'_>, id: &str) -> Decoded<Json> {
        let mut feedback = doc.value.clone();
        if let Some(members) = feedback.as_object_mut() {
            members.entry("uid").or_insert_with(|| id.into());
        }
        let feedback = Json::new(feedback);
        tempo::feedback(doc, &feedback)?;
        Ok(feedback)
    }

    /// A memory trace.
    pub fn trace(&self, doc: &Doc<'_>) -> Decoded<Json> {
        tempo::trace(doc)
    }

    fn calendar(&self, user: &Name) -> &Calendar {
        &self.0.get(user).expect("the name was looked up").1
    }
}

impl Cast<'_> {
    /// An `agent_plan` that is proposed to a user. That it is `proposed` need not be said.
    pub fn plan(&self, user: &Name, doc: &Doc<'_>) -> Decoded<Json> {
        let object = doc.open_object()?;
        let others = ["approved", "rejected", "executed"];
        if let Some(status) = object.get("status").filter(|status| others.iter().any(|other| *status.value == **other))
        {
            return Err(status.mistake("a plan comes in as `proposed`; whatever becomes of it comes in on its own"));
        }
        let mut plan = doc.value.clone();
        if let Some(members) = plan.as_object_mut() {
            members.entry("status").or_insert_with(|| "proposed".into());
        }
        let plan = Json::new(plan);
        let read = tempo::plan(doc, &plan, self.users.calendar(user))?;
        self.executes(&object, &read)?;
        Ok(plan)
    }

    /// The fields of a plan that an edit puts in place of others: each must be good in a plan that is otherwise good.
    pub fn edit(&self, user: &Name, doc: &Doc<'_>) -> Decoded<Json> {
        let object = doc.open_object()?;
        if object.members().next().is_none() {
            return Err(doc.mistake("this changes nothing"));
        }
        for fixed in ["uid", "status", "type", "profiling"] {
            if let Some(doc) = object.get(fixed) {
                return Err(doc.key_mistake(format!("an edit cannot change `{fixed}`"), fixed));
            }
        }
        let read = tempo::edit(doc, self.users.calendar(user))?;
        if object.get("target").is_some() {
            self.executes(&object, &read)?;
        }
        Ok(Json::new(doc.value.clone()))
    }

    /// That there is an agent for a plan.
    fn executes(&self, object: &Object<'_>, plan: &Plan) -> Decoded<()> {
        let agent = plan.agent();
        let kind = agent.kind();
        if self.agents.contains(kind) {
            return Ok(());
        }
        let mistake = match object.get("target").or_else(|| object.get("action_type")) {
            Some(place) if plan.target.is_some() => place.mistake(format!("there is no agent `{}`", excerpt(kind))),
            Some(place) => {
                place.mistake(format!("without a `target` the agent `{kind}` executes it, which there is not"))
            }
            None => object.doc().mistake(format!("there is no agent `{}`", excerpt(kind))),
        };
        Err(mistake.among(kind, self.agents.iter().copied()))
    }
}
