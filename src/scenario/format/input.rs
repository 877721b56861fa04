//! What comes in, as files say it.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::signal_name;
use super::decode::{Decoded, Doc, Object, excerpt};
use super::scope::Cast;
use super::script::script;
use super::world::{AGENT_FIELDS, defaults};
use crate::kernel::{AgentId, Json, Message, Name, Span, SpecDefaults, Timestamp, Version};
use crate::scenario::code::Code;
use crate::scenario::load::{Load, expand};
use crate::scenario::model::{Act, AgentType, DeskCall, Input};

/// The most inputs of a scenario, those of its loads included.
const INPUTS_MAX: usize = 100_000;

/// What inputs are read against, and the ids given so far.
pub struct Arrivals<'a> {
    /// The agents and tools.
    pub cast: &'a Cast<'a>,
    /// The agents as they are at the start.
    pub agents: &'a BTreeMap<Name, AgentType>,
    /// The workers.
    pub workers: &'a [Name],
    /// When the world starts.
    pub start: Timestamp,
    ids: BTreeSet<Name>,
    inputs: Vec<Input>,
}

impl<'a> Arrivals<'a> {
    /// No inputs so far.
    pub fn new(
        cast: &'a Cast<'a>,
        agents: &'a BTreeMap<Name, AgentType>,
        workers: &'a [Name],
        start: Timestamp,
    ) -> Self {
        Arrivals { cast, agents, workers, start, ids: BTreeSet::new(), inputs: Vec::new() }
    }

    /// All inputs, in order of time. Behind them those that make the users known: so the numbers of the others, by which
    /// sites are named, do not hang on who there is.
    pub fn sorted(mut self) -> Vec<Input> {
        self.inputs.sort_by_key(|input| input.at);
        let configure = |user: &Name| Input { at: Span::ZERO, does: Act::Configure { user: user.clone() } };
        self.inputs.extend(self.cast.users.names().map(configure));
        self.inputs
    }

    /// `inputs`: a list.
    pub fn inputs(&mut self, doc: &Doc<'_>) -> Decoded<()> {
        let docs = doc.list()?;
        for (place, doc) in docs.iter().enumerate() {
            self.input(doc, place + 1)?;
        }
        self.versions_rise(&docs)
    }

    /// `load`: one load or a list of them.
    pub fn load(&mut self, doc: &Doc<'_>) -> Decoded<()> {
        for (place, doc) in doc.one_or_more()?.iter().enumerate() {
            let load = self.one_load(doc, place + 1)?;
            if self.inputs.len() + load.messages as usize > INPUTS_MAX {
                return Err(doc.mistake(format!("that is more than {INPUTS_MAX} inputs")));
            }
            for input in expand(&load) {
                if let Act::Message { message, .. } = &input.does {
                    self.note_id(doc, message.id.clone())?;
                }
                self.inputs.push(input);
            }
        }
        Ok(())
    }

    fn note_id(&mut self, doc: &Doc<'_>, id: Name) -> Decoded<()> {
        if self.ids.contains(&id) {
            return Err(doc.mistake(format!("the id `{}` is given twice", excerpt(&id))));
        }
        self.ids.insert(id);
        Ok(())
    }

    /// The id that an input gives, or one from its place in the file.
    fn id(&mut self, object: &Object<'_>, nth: usize) -> Decoded<Name> {
        let id = object.or("id", format!("input-{nth}").into(), Doc::name)?;
        self.note_id(&object.get("id").unwrap_or_else(|| object.doc().clone()), id.clone())?;
        Ok(id)
    }

    fn input(&mut self, doc: &Doc<'_>, nth: usize) -> Decoded<()> {
        const KINDS: [&str; 15] = [
            "signal", "cancel", "redrive", "resume", "tail", "follow", "unfollow", "stop", "version", "plan",
            "approve", "reject", "edit", "feedback", "remember",
        ];
        let open = doc.open_object()?;
        let kind = KINDS.into_iter().find(|kind| open.get(kind).is_some()).unwrap_or("to");
        let fields: &[&str] = match kind {
            "signal" => &["at", "signal", "to", "data", "id", "again"],
            "cancel" => &["at", "cancel", "reason"],
            "redrive" => &["at", "redrive", "to"],
            "resume" => &["at", "resume"],
            "tail" => &["at", "tail", "cuts"],
            "follow" => &["at", "follow", "agent"],
            "unfollow" => &["at", "unfollow", "agent"],
            "stop" => &["at", "stop", "restart"],
            "version" => &[&["at", "agent"], &AGENT_FIELDS[..]].concat(),
            "plan" => &["at", "plan", "user", "by"],
            "approve" => &["at", "approve", "user", "by"],
            "reject" => &["at", "reject", "user", "by", "reason"],
            "edit" => &["at", "edit", "set", "user", "by", "id"],
            "feedback" => &["at", "feedback", "user", "by"],
            "remember" => &["at", "remember", "user", "by"],
            _ => &["at", "to", "from", "id", "data", "again"],
        };
        // A message is what no other input is; its unknown field may be another input's name with a slip.
        let known: Vec<&str> = if kind == "to" { [fields, &KINDS].concat() } else { fields.to_vec() };
        let object = doc.object(&known)?;
        let at = object.or("at", Span::ZERO, |doc| doc.since(self.start))?;
        let does = self.act(kind, &object, nth)?;
        for again in object.or("again", Vec::new(), Doc::one_or_more)? {
            let at = again.since(self.start)?;
            self.inputs.push(Input { at, does: does.clone() });
        }
        self.inputs.push(Input { at, does });
        if self.inputs.len() > INPUTS_MAX {
            return Err(doc.mistake(format!("there are more than {INPUTS_MAX} inputs")));
        }
        Ok(())
    }

    fn act(&mut self, kind: &str, object: &Object<'_>, nth: usize) -> Decoded<Act> {
        let main = object.need(kind)?;
        let data = object.get("data").map_or_else(Json::empty, |doc| Json::new(doc.value.clone()));
        Ok(match kind {
            "signal" => Act::Signal {
                to: self.cast.alias(&object.need("to")?)?,
                name: signal_name(&main)?,
                data,
                id: object
                    .get("id")
                    .map_or(Ok(()), |id| signal_name(&id).map(drop))
                    .and_then(|()| self.id(object, nth))?,
            },
            "cancel" => Act::Cancel {
                run: self.cast.alias(&main)?,
                reason: object.or("reason", "cancelled".into(), Doc::name)?,
            },
            "redrive" => Act::Redrive { agent: self.cast.address(&object.need("to")?)?, message: main.name()? },
            "resume" => Act::Resume { run: self.cast.alias(&main)? },
            "tail" => self.tail(&main, object)?,
            "follow" | "unfollow" => Act::Follow {
                agent: self.cast.address(&object.need("agent")?)?,
                topic: main.parse()?,
                begins: kind == "follow",
            },
            "stop" => self.stop(&main, object)?,
            "version" => self.version(&main, object)?,
            "plan" | "approve" | "reject" | "edit" | "feedback" | "remember" => {
                self.desk_call(kind, &main, object, nth)?
            }
            _ => {
                let sender = object.or("from", client(), Doc::parse)?;
                let id = self.id(object, nth)?;
                let message = Message { id, sender, data, correlation: None, reply_to: None };
                Act::Message { to: self.cast.address(&main)?, message }
            }
        })
    }

    fn tail(&self, main: &Doc<'_>, object: &Object<'_>) -> Decoded<Act> {
        let mut cuts: Vec<Span> = Vec::new();
        for cut in object.or("cuts", Vec::new(), Doc::one_or_more)? {
            cuts.push(cut.since(self.start)?);
        }
        cuts.sort_unstable();
        Ok(Act::Tail { run: self.cast.alias(main)?, cuts })
    }

    fn stop(&self, main: &Doc<'_>, object: &Object<'_>) -> Decoded<Act> {
        let worker = main.name()?;
        if !self.workers.contains(&worker) {
            return Err(main.unknown("worker", self.workers.iter().map(|name| &**name)));
        }
        Ok(Act::Stop { worker, restart: object.or("restart", Span::from_secs(5), Doc::span)? })
    }

    fn version(&self, main: &Doc<'_>, object: &Object<'_>) -> Decoded<Act> {
        let agent = self.cast.agent_type(&object.need("agent")?)?;
        let usual: SpecDefaults = self.agents.get(&agent).map(|agent| agent.defaults.clone()).unwrap_or_default();
        Ok(Act::Version {
            agent,
            version: Version(main.count(1, u32::MAX)?),
            code: Code::Script(script(&object.need("steps")?, self.cast)?.into()),
            defaults: defaults(object, usual, self.start)?,
        })
    }

    /// What is asked of a user's desk.
    fn desk_call(&mut self, kind: &str, main: &Doc<'_>, object: &Object<'_>, nth: usize) -> Decoded<Act> {
        let users = &self.cast.users;
        let user = users.of(object)?;
        let by = object.or("by", user.clone(), Doc::name)?;
        let asks = match kind {
            "plan" => DeskCall::Propose { plan: self.cast.plan(&user, main)? },
            "approve" => DeskCall::Approve { uid: main.name()? },
            "reject" => {
                DeskCall::Reject { uid: main.name()?, reason: object.or("reason", "rejected".into(), Doc::name)? }
            }
            "edit" => DeskCall::Edit {
                uid: main.name()?,
                id: object.or("id", format!("edit-{nth}").into(), Doc::name)?,
                set: self.cast.edit(&user, &object.need("set")?)?,
            },
            "feedback" => DeskCall::Feedback { feedback: users.feedback(main, &format!("feedback-{nth}"))? },
            _ => DeskCall::Remember { trace: users.trace(main)? },
        };
        Ok(Act::Desk { user, by, asks })
    }

    /// Every new version is higher than those before it, in order of time.
    fn versions_rise(&self, docs: &[Doc<'_>]) -> Decoded<()> {
        let mut versions: Vec<(Span, &Doc<'_>, Name, u64)> = Vec::new();
        for doc in docs {
            let object = doc.open_object()?;
            if let (Some(version), Some(agent)) = (object.get("version"), object.get("agent")) {
                let at = object.or("at", Span::ZERO, |doc| doc.since(self.start))?;
                versions.push((at, doc, agent.name()?, version.integer(0, u64::MAX)?));
            }
        }
        versions.sort_by_key(|(at, ..)| *at);
        let mut last: BTreeMap<Name, u64> =
            self.agents.iter().map(|(name, agent)| (name.clone(), u64::from(agent.version.0))).collect();
        for (_, doc, agent, version) in versions {
            let before = last.insert(agent.clone(), version).unwrap_or_default();
            if version <= before {
                let place = doc.open_object()?.need("version")?;
                return Err(place.mistake(format!("version {version} of `{agent}` must be above {before}")));
            }
        }
        Ok(())
    }

    fn one_load(&self, doc: &Doc<'_>, nth: usize) -> Decoded<Load> {
        let object = doc.object(&["seed", "messages", "to", "from", "within", "id", "data"])?;
        let addresses = |doc: &Doc<'_>| {
            let addresses = doc.one_or_more()?.iter().map(|doc| self.cast.address(doc)).collect::<Decoded<Vec<_>>>()?;
            if addresses.is_empty() { Err(doc.mistake("this list must not be empty")) } else { Ok(addresses) }
        };
        let senders = |doc: &Doc<'_>| {
            let senders = doc.one_or_more()?.iter().map(Doc::parse).collect::<Decoded<Vec<AgentId>>>()?;
            if senders.is_empty() { Err(doc.mistake("this list must not be empty")) } else { Ok(senders) }
        };
        let within = object.need("within")?;
        let within = match within.list()?.as_slice() {
            [from, until] => (from.since(self.start)?, until.since(self.start)?),
            _ => return Err(within.mistake("this must be a list of two times, like `[\"+0s\", \"+2m\"]`")),
        };
        if within.1 < within.0 {
            return Err(object.need("within")?.mistake("the first must not be above the second"));
        }
        Ok(Load {
            seed: object.need("seed")?.integer(0, u64::MAX)?,
            messages: object.need("messages")?.count(1, INPUTS_MAX as u32)?,
            to: addresses(&object.need("to")?)?,
            from: object.or("from", vec![client()], senders)?,
            within,
            id: object.or("id", format!("load-{nth}").into(), Doc::name)?,
            data: object.get("data").map_or_else(Json::empty, |doc| Json::new(doc.value.clone())),
        })
    }
}

/// Who sends what says nothing of its sender.
fn client() -> AgentId {
    AgentId::new("client", "").expect("a fixed name is an agent type")
}
