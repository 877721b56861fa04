//! The desk of a user: what people and programs outside, and the tools of agents, write into the trace log. Every transition
//! is looked up before it is appended, so a call may be repeated.

use std::rc::Rc;
use std::sync::Arc;

use super::memport::exported;
use super::profiler::amended;
use super::word::nearest;
use super::{
    Book, DocumentError, ErrorEnvelope, ErrorKind, ExportFormat, ExportQuery, Feedback, Link, MemoryTrace, Plan,
    PlanStatus, Settings,
};
use crate::kernel::{
    Body, CallError, EventLog, Host, Json, Name, Proposer, RunId, RunLogEntry, Scheduler, Seq, Store, TraceBody,
};
use crate::runtime::{Pauses, repeat_on};

/// Why a call was refused. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody has configured this user.
    #[error("there is no user `{0}`")]
    UnknownUser(Name),
    /// The document breaks a rule.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The id is taken.
    #[error("the uid `{0}` is taken")]
    DuplicateUid(Name),
    /// No such plan, or occurrence of one.
    #[error("there is no plan `{uid}`{}", nearest.as_ref().map(|near| format!("; is it `{near}`?")).unwrap_or_default())]
    UnknownPlan {
        /// What was asked for.
        uid: Name,
        /// The nearest that there is.
        nearest: Option<Name>,
    },
    /// The plan stands where this cannot be done.
    #[error("plan `{uid}` is {from} and cannot be {to}")]
    IllegalTransition {
        /// The plan.
        uid: Name,
        /// Where it stands.
        from: &'static str,
        /// What was asked for.
        to: &'static str,
    },
    /// Feedback on what has not been executed, or from before it was.
    #[error("`{occurrence}` has not been executed by then, so there is nothing to judge")]
    NotExecuted {
        /// The occurrence.
        occurrence: Name,
    },
}

impl Refusal {
    /// What it is, as an envelope has it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Refusal::UnknownUser(_) => ErrorKind::UnknownUser,
            Refusal::Document(error) => ErrorKind::of(error),
            Refusal::DuplicateUid(_) => ErrorKind::DuplicateUid,
            Refusal::UnknownPlan { .. } => ErrorKind::UnknownPlan,
            Refusal::IllegalTransition { .. } => ErrorKind::IllegalTransition,
            Refusal::NotExecuted { .. } => ErrorKind::NotExecuted,
        }
    }

    /// Its name, as an envelope has it.
    pub fn code(&self) -> &'static str {
        self.kind().as_str()
    }

    /// The error as a document, in answer to the request `trace_id`.
    pub fn envelope(&self, trace_id: &str) -> ErrorEnvelope {
        match self {
            Refusal::Document(error) => ErrorEnvelope::of(error, trace_id),
            other => ErrorEnvelope::new(other.kind(), &other.to_string(), trace_id),
        }
    }
}

/// Writes into the trace log of one user.
#[derive(Clone)]
pub struct Desk {
    store: Rc<dyn Store>,
    host: Rc<dyn Host>,
    user: Name,
}

impl Desk {
    /// The desk of `user`.
    pub fn new(store: Rc<dyn Store>, host: Rc<dyn Host>, user: &str) -> Desk {
        Desk { store, host, user: user.into() }
    }

    /// Makes the user known, and these settings theirs from now on.
    pub async fn configure(&self, settings: &Settings) {
        let known = TraceBody::UserKnown { user: self.user.clone() };
        let is_known = |entry: &RunLogEntry| matches!(&*entry.body, Body::Trace(trace) if **trace == known);
        let mut directory = Stream::new(self, RunId::of_users());
        directory.write(|entries, _| if entries.iter().any(is_known) { None } else { Some(known.clone()) }).await;
        let settings = Json::new(serde_json::to_value(settings).expect("settings are a document"));
        let configured = TraceBody::UserConfigured { settings };
        let last = |entries: &[RunLogEntry]| {
            let of_settings = |entry: &&RunLogEntry| {
                matches!(&*entry.body, Body::Trace(trace)
                if matches!(**trace, TraceBody::UserConfigured { .. }))
            };
            entries.iter().rfind(of_settings).map(|entry| entry.body.clone())
        };
        let is_last = |entries: &[RunLogEntry]| match last(entries).as_deref() {
            Some(Body::Trace(trace)) => **trace == configured,
            _ => false,
        };
        let mut traces = Stream::new(self, RunId::of_traces(&self.user));
        traces.write(|entries, _| if is_last(entries) { None } else { Some(configured.clone()) }).await;
    }

    /// Proposes a plan.
    ///
    /// # Errors
    /// The document breaks a rule, or its uid is taken.
    pub async fn propose(&self, plan: &Json, by: Proposer) -> Result<(), Refusal> {
        self.write(|book, again| {
            let calendar = book.calendar().ok_or_else(|| Refusal::UnknownUser(self.user.clone()))?;
            let parsed = Plan::parse(plan, &calendar.registry)?;
            if parsed.status != PlanStatus::Proposed {
                let (uid, from, to) = (parsed.uid, parsed.status.as_str(), "proposed");
                return Err(Refusal::IllegalTransition { uid, from, to });
            }
            let uid = parsed.uid.clone();
            if let Some(known) = book.plans.get(&uid) {
                // A run's step proposes once, however often it is carried out; so does a call that is repeated.
                let is_same = known.by == by && known.plan.document == *plan;
                let is_ours = is_same && (again || matches!(by, Proposer::Run { .. }));
                return if is_ours { Ok(None) } else { Err(Refusal::DuplicateUid(uid)) };
            }
            if book.knows(&uid) {
                return Err(Refusal::DuplicateUid(uid));
            }
            check_links(book, &parsed.linked_trace_ids, &parsed.child_trace_ids)?;
            Ok(Some(TraceBody::PlanProposed { uid, plan: plan.clone(), by: by.clone() }))
        })
        .await
    }

    /// Approves a proposed plan. A repeat by the same person changes nothing.
    ///
    /// # Errors
    /// There is no such plan, or it was approved by another or rejected.
    pub async fn approve(&self, uid: &str, by: &str) -> Result<(), Refusal> {
        self.write(|book, _| {
            let planned = known(book, uid)?;
            match planned.status {
                PlanStatus::Proposed => Ok(Some(TraceBody::PlanApproved { uid: uid.into(), by: by.into() })),
                _ if planned.approved_by.as_deref() == Some(by) => Ok(None),
                from => Err(illegal(uid, from, "approved")),
            }
        })
        .await
    }

    /// Rejects a proposed plan. A repeat by the same person changes nothing.
    ///
    /// # Errors
    /// There is no such plan, or it was approved, or rejected by another.
    pub async fn reject(&self, uid: &str, by: &str, reason: &str) -> Result<(), Refusal> {
        self.write(|book, _| {
            let planned = known(book, uid)?;
            match (planned.status, &planned.rejected) {
                (PlanStatus::Proposed, _) => {
                    let (uid, by, reason) = (uid.into(), by.into(), reason.into());
                    Ok(Some(TraceBody::PlanRejected { uid, by, reason }))
                }
                (_, Some((who, _))) if **who == *by => Ok(None),
                (from, _) => Err(illegal(uid, from, "rejected")),
            }
        })
        .await
    }

    /// Changes a proposed plan: `set` holds the fields that differ. `edit` is the edit's own id, under which a repeat changes
    /// nothing.
    ///
    /// # Errors
    /// There is no such plan; it is not proposed any more; the document would break a rule, or have another uid.
    pub async fn edit(&self, uid: &str, edit: &str, set: &Json, by: &str) -> Result<(), Refusal> {
        self.write(|book, _| {
            let planned = known(book, uid)?;
            if planned.edits.contains(edit) {
                return Ok(None);
            }
            if planned.status != PlanStatus::Proposed {
                return Err(illegal(uid, planned.status, "edited"));
            }
            let fields =
                set.as_object().ok_or_else(|| bad("set", "an edit is an object with the fields that differ"))?;
            let mut document = (*planned.plan.document).clone();
            for (field, value) in fields {
                if UNEDITED.contains(&field.as_str()) {
                    return Err(bad(&format!("set.{field}"), "this field stays as it was proposed"));
                }
                document[field] = value.clone();
            }
            let document = Json::new(document);
            let calendar = book.calendar().ok_or_else(|| Refusal::UnknownUser(self.user.clone()))?;
            let plan = Plan::parse(&document, &calendar.registry)?;
            check_links(book, &plan.linked_trace_ids, &plan.child_trace_ids)?;
            let (uid, edit, by) = (uid.into(), edit.into(), by.into());
            Ok(Some(TraceBody::PlanEdited { uid, edit, plan: document, by }))
        })
        .await
    }

    /// Judges an executed occurrence: the last one that was, where the document names none. It counts from its `timestamp`, or
    /// from now.
    ///
    /// # Errors
    /// The document breaks a rule; there is no such plan; nothing was executed by then.
    pub async fn feedback(&self, feedback: &Json, by: &str) -> Result<(), Refusal> {
        let feedback = Feedback::parse(feedback)?;
        let now = repeat_on(&*self.host, async || self.store.clock().await).await;
        self.write(|book, _| {
            let planned = known(book, &feedback.plan_uid)?;
            if planned
                .instances
                .iter()
                .any(|instance| instance.feedback.iter().any(|(known, _)| *known == feedback.uid))
            {
                return Ok(None);
            }
            let executed = |n: &u32| {
                let instance = planned.instances.get((*n as usize).checked_sub(1)?)?;
                Some((*n, instance.closing.as_ref()?, instance.closing.as_ref()?.profile.executed_at?))
            };
            let all = 1..=planned.instances.len() as u32;
            let found = match feedback.occurrence {
                Some(n) => executed(&n),
                None => all.rev().find_map(|n| executed(&n)),
            };
            let given_at = feedback.timestamp.unwrap_or(now);
            if given_at > now {
                return Err(bad("timestamp", &format!("{given_at} is still to come; it is {now}")));
            }
            let Some((n, closing, _)) = found.filter(|(_, _, at)| given_at >= *at) else {
                let occurrence = planned.occurrence(feedback.occurrence.unwrap_or(planned.instances.len() as u32));
                return Err(Refusal::NotExecuted { occurrence: occurrence.to_string().into() });
            };
            Ok(Some(TraceBody::PlanFeedback {
                occurrence: planned.occurrence(n),
                feedback: feedback.uid.clone(),
                score: feedback.feedback_rating,
                given_at,
                by: by.into(),
                notes: feedback.notes.clone(),
                profile: Box::new(amended(&closing.profile, feedback.feedback_rating, given_at)),
            }))
        })
        .await
    }

    /// Adds a memory trace from outside.
    ///
    /// # Errors
    /// The document breaks a rule, or its uid is taken.
    pub async fn remember(&self, trace: &Json, by: &str) -> Result<(), Refusal> {
        let parsed = MemoryTrace::parse(trace)?;
        let uid = parsed.uid.clone();
        self.write(|book, again| {
            if book.calendar().is_none() {
                return Err(Refusal::UnknownUser(self.user.clone()));
            }
            match book.memory.get(&uid) {
                Some((_, known)) if again && known.document == *trace => Ok(None),
                _ if book.knows(&uid) => Err(Refusal::DuplicateUid(uid.clone())),
                _ => {
                    check_links(book, &parsed.links, &[])?;
                    let (uid, trace, by) = (uid.clone(), trace.clone(), by.into());
                    Ok(Some(TraceBody::TraceAdded { uid, trace, by }))
                }
            }
        })
        .await
    }

    /// The memory of the user in a form for other agents and people. What is only staged is not in it.
    ///
    /// # Errors
    /// The query breaks a rule, or there is no such user.
    pub async fn export(&self, query: &Json) -> Result<Json, Refusal> {
        let query = ExportQuery::parse(query)?;
        if query.user_id != self.user {
            return Err(Refusal::UnknownUser(query.user_id));
        }
        if matches!(query.export_format, ExportFormat::Linked | ExportFormat::Diff) {
            let reason = format!("`{}` is not there yet", query.export_format.as_str());
            return Err(bad("export_format", &reason));
        }
        let book = self.book().await;
        if book.calendar().is_none() {
            return Err(Refusal::UnknownUser(self.user.clone()));
        }
        Ok(exported(&book, &query))
    }

    /// What the trace log says now.
    pub async fn book(&self) -> Book {
        let stream = RunId::of_traces(&self.user);
        let read = async || self.store.read(stream, Seq::FIRST).await;
        Book::of(self.user.clone(), &repeat_on(&*self.host, read).await)
    }

    /// Writes what is decided from the log as it stands. `again` is true once an earlier try may have been applied.
    async fn write(&self, decide: impl Fn(&Book, bool) -> Result<Option<TraceBody>, Refusal>) -> Result<(), Refusal> {
        let mut refusal = None;
        let mut traces = Stream::new(self, RunId::of_traces(&self.user));
        let mut book = Book::new(self.user.clone());
        let written = traces.write(|entries, again| {
            let known = book.last.next().index().unwrap_or(0);
            entries[known..].iter().for_each(|entry| book.fold(entry));
            match decide(&book, again) {
                Ok(body) => body,
                Err(error) => {
                    refusal = Some(error);
                    None
                }
            }
        });
        written.await;
        refusal.map_or(Ok(()), Err)
    }
}

/// The fields of a plan that no edit changes.
const UNEDITED: [&str; 4] = ["uid", "type", "status", "profiling"];

fn bad(place: &str, reason: &str) -> Refusal {
    Refusal::Document(DocumentError { place: place.to_owned(), reason: reason.to_owned(), hint: None })
}

/// Every link leads somewhere.
pub(super) fn check_links(book: &Book, links: &[Link], children: &[Name]) -> Result<(), Refusal> {
    let linked = links.iter().map(|link| ("linked_trace_ids", &link.trace_id));
    let all = linked.chain(children.iter().map(|child| ("child_trace_ids", child)));
    match all.into_iter().find(|(_, to)| !book.knows(to)) {
        Some((place, to)) => Err(bad(place, &format!("there is no trace `{to}`"))),
        None => Ok(()),
    }
}

fn known<'a>(book: &'a Book, uid: &str) -> Result<&'a super::Planned, Refusal> {
    if book.calendar().is_none() {
        return Err(Refusal::UnknownUser(book.user.clone()));
    }
    book.plans.get(uid).ok_or_else(|| {
        let nearest = nearest(uid, book.plans.keys().map(|known| &**known)).map(Name::from);
        Refusal::UnknownPlan { uid: uid.into(), nearest }
    })
}

fn illegal(uid: &str, from: PlanStatus, to: &'static str) -> Refusal {
    Refusal::IllegalTransition { uid: uid.into(), from: from.as_str(), to }
}

/// A stream as far as it was read.
struct Stream<'a> {
    desk: &'a Desk,
    stream: RunId,
    entries: Vec<RunLogEntry>,
}

impl<'a> Stream<'a> {
    fn new(desk: &'a Desk, stream: RunId) -> Self {
        Stream { desk, stream, entries: Vec::new() }
    }

    /// Reads on, asks what is to be written, and appends it behind what was read, until it stands or nothing is to be written.
    async fn write(&mut self, mut decide: impl FnMut(&[RunLogEntry], bool) -> Option<TraceBody>) {
        let Desk { store, host, .. } = self.desk;
        let mut pauses = Pauses::new();
        let mut again = false;
        loop {
            let last = self.entries.last().map_or(Seq::EMPTY, |entry| entry.seq);
            let more = repeat_on(&**host, async || store.read(self.stream, last.next()).await).await;
            self.entries.extend(more);
            let last = self.entries.last().map_or(last, |entry| entry.seq);
            let Some(body) = decide(&self.entries, again) else { return };
            match store.append(self.stream, Arc::new(Body::Trace(Box::new(body))), last).await {
                Ok(Ok(_appended)) => return,
                Ok(Err(conflict)) if conflict.actual > last => {}
                Ok(Err(_)) => host.sleep(pauses.after_failure()).await,
                Err(error) => {
                    again |= error == CallError::Unknown;
                    host.sleep(pauses.after_failure()).await;
                }
            }
        }
    }
}
