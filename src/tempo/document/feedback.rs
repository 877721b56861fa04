//! A feedback document: a user judges an occurrence of a plan.

use super::DocumentError;
use super::read::Field;
use crate::kernel::{Json, Name, Score, Timestamp};
use crate::tempo::plan::Link;

/// A feedback, read and validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Its id.
    pub uid: Name,
    /// The plan that it is about.
    pub plan_uid: Name,
    /// Which occurrence of it, from 1; the one that was executed last, where it is absent.
    pub occurrence: Option<u32>,
    /// The score.
    pub feedback_rating: Score,
    /// Who judged.
    pub user_id: Option<Name>,
    /// In the user's words.
    pub notes: Option<Name>,
    /// When it was given.
    pub timestamp: Option<Timestamp>,
    /// Traces that it is linked to.
    pub linked_trace_ids: Vec<Link>,
    /// The document as it was given, unknown fields and all.
    pub document: Json,
}

impl Feedback {
    /// Reads a feedback document.
    ///
    /// # Errors
    /// The first thing that is wrong: a field that is missing, of the wrong type or out of range, or a `type` that is another.
    pub fn parse(document: &Json) -> Result<Feedback, DocumentError> {
        let doc = Field::document(document)?;
        if doc.maybe("type")?.is_some() {
            doc.is_of_type("feedback")?;
        }
        Ok(Feedback {
            uid: doc.need("uid")?.uid()?,
            plan_uid: doc.need("plan_uid")?.uid()?,
            occurrence: doc.read("occurrence", |field| field.count(1))?,
            feedback_rating: doc.need("feedback_rating")?.score()?,
            user_id: doc.read("user_id", Field::name)?,
            notes: doc.read("notes", |field| field.text().map(Into::into))?,
            timestamp: doc.read("timestamp", Field::instant)?,
            linked_trace_ids: doc.each("linked_trace_ids", Field::link)?,
            document: document.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rating_is_one_to_five_and_an_occurrence_counts_from_one() {
        let document = json!({ "uid": "f", "plan_uid": "p", "feedback_rating": 5, "occurrence": 2, "notes": "" });
        let read = Feedback::parse(&document.clone().into()).unwrap();
        assert_eq!((read.feedback_rating.get(), read.occurrence, read.notes.as_deref()), (5, Some(2), Some("")));
        let cases = [
            ("feedback_rating", json!(0)),
            ("feedback_rating", json!(6)),
            ("feedback_rating", json!(3.5)),
            ("feedback_rating", json!("5")),
            ("occurrence", json!(0)),
            ("plan_uid", json!("p#2")),
            ("type", json!("goal")),
            ("timestamp", json!("yesterday")),
        ];
        for (field, value) in cases {
            let mut document = document.clone();
            document[field] = value;
            assert_eq!(Feedback::parse(&document.into()).unwrap_err().place, field);
        }
    }
}
