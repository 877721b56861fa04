//! A query for an export of memory, and the form of its answer.

use super::DocumentError;
use super::memory::TraceType;
use super::read::Field;
use crate::kernel::{Json, Name, Timestamp};

/// How memory is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExportFormat {
    /// A line of text for each trace.
    Summary,
    /// The traces as they are.
    Full,
    /// The traces with those that they are linked to.
    Linked,
    /// What has changed between two instants.
    Diff,
}

/// By what an export is grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the words say it")]
pub enum GroupBy {
    Day,
    Task,
    Type,
}

/// A query for an export, read and validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportQuery {
    /// Whose memory.
    pub user_id: Name,
    /// In which form.
    pub export_format: ExportFormat,
    /// From when, this instant included; from the begin without it.
    pub start_time: Option<Timestamp>,
    /// Till when, this instant included; to the end without it.
    pub end_time: Option<Timestamp>,
    /// By what it is grouped.
    pub group_by: Option<GroupBy>,
    /// Whether feedback is exported, too.
    pub include_feedback: bool,
    /// How many tokens of a model the answer may take at most.
    pub max_token_count: Option<u32>,
}

const FORMATS: [(&str, ExportFormat); 4] = [
    ("summary", ExportFormat::Summary),
    ("full", ExportFormat::Full),
    ("linked", ExportFormat::Linked),
    ("diff", ExportFormat::Diff),
];

const GROUPS: [(&str, GroupBy); 3] = [("day", GroupBy::Day), ("task", GroupBy::Task), ("type", GroupBy::Type)];

impl ExportFormat {
    /// In words, as documents have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ExportFormat::Summary => "summary",
            ExportFormat::Full => "full",
            ExportFormat::Linked => "linked",
            ExportFormat::Diff => "diff",
        }
    }
}

impl ExportQuery {
    /// Reads a query.
    ///
    /// # Errors
    /// The first thing that is wrong: a field that is missing, of the wrong type or out of range; a range that ends before it
    /// starts; a `diff` without both of its instants.
    pub fn parse(document: &Json) -> Result<ExportQuery, DocumentError> {
        let doc = Field::document(document)?;
        let query = ExportQuery {
            user_id: doc.need("user_id")?.name()?,
            export_format: doc.need("export_format")?.one_of(&FORMATS)?,
            start_time: doc.read("start_time", Field::instant)?,
            end_time: doc.read("end_time", Field::instant)?,
            group_by: doc.read("group_by", |field| field.one_of(&GROUPS))?,
            include_feedback: doc.read("include_feedback", Field::flag)?.unwrap_or_default(),
            max_token_count: doc.read("max_token_count", |field| field.count(1))?,
        };
        if query.export_format == ExportFormat::Diff {
            for key in ["start_time", "end_time"] {
                doc.need(key).map_err(|error| DocumentError {
                    hint: Some("a `diff` is between two instants".into()),
                    ..error
                })?;
            }
        }
        if let Some((start, end)) = query.start_time.zip(query.end_time).filter(|(start, end)| start > end) {
            return Err(doc.need("end_time")?.error(format!("{end} is before `start_time`, {start}")));
        }
        Ok(query)
    }
}

/// Holds an answer to its form: whose it is, in which form, and a list of results, each with type and time.
pub(super) fn check_response(document: &Json) -> Result<(), DocumentError> {
    let doc = Field::document(document)?;
    doc.need("user_id")?.name()?;
    let format = doc.need("export_format")?.one_of(&FORMATS)?;
    for result in doc.need("results")?.list()? {
        let kind = result.need("type")?;
        if TraceType::named(kind.text()?).is_none() {
            return Err(kind.error(format!("`{}` is no type of a trace", crate::tempo::word::excerpt(kind.text()?))));
        }
        result.need("timestamp")?.instant()?;
        result.read("task_id", Field::name)?;
        if format == ExportFormat::Summary {
            result.need("summary")?.name()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn query(change: &[(&str, Value)]) -> Result<ExportQuery, DocumentError> {
        let mut document = json!({ "user_id": "u", "export_format": "full" });
        for (field, value) in change {
            document[*field] = value.clone();
        }
        ExportQuery::parse(&document.into())
    }

    #[test]
    fn a_range_may_be_open_or_one_instant_but_not_the_other_way_round() {
        let (early, late) = (json!("2026-03-12T00:00:00Z"), json!("2026-03-12T00:00:01Z"));
        assert!(query(&[]).is_ok());
        assert!(query(&[("start_time", early.clone())]).is_ok());
        assert!(query(&[("start_time", early.clone()), ("end_time", early.clone())]).is_ok());
        assert_eq!(query(&[("start_time", late.clone()), ("end_time", early.clone())]).unwrap_err().place, "end_time");
        let diff = ("export_format", json!("diff"));
        assert_eq!(query(&[diff.clone(), ("end_time", late.clone())]).unwrap_err().place, "start_time");
        assert!(query(&[diff, ("start_time", early), ("end_time", late)]).is_ok());
    }

    #[test]
    fn a_field_of_another_sort_is_refused_with_its_place() {
        let cases = [
            ("user_id", json!("")),
            ("export_format", json!("sumary")),
            ("group_by", json!("week")),
            ("include_feedback", json!("yes")),
            ("max_token_count", json!(0)),
        ];
        for (field, value) in cases {
            assert_eq!(query(&[(field, value)]).unwrap_err().place, field);
        }
        let hint = query(&[("export_format", json!("sumary"))]).unwrap_err().hint;
        assert_eq!(hint.as_deref(), Some("did you mean `summary`?"));
    }

    #[test]
    fn an_answer_names_type_and_time_of_each_result() {
        let answer = |result: Value| {
            check_response(&json!({ "user_id": "u", "export_format": "summary", "results": [result] }).into())
        };
        let right = json!({ "type": "goal", "timestamp": "2026-03-12T00:00:00Z", "summary": "S", "task_id": null });
        assert_eq!(answer(right.clone()), Ok(()));
        for (field, value) in [("type", json!("thing")), ("timestamp", json!("noon")), ("summary", json!(null))] {
            let mut wrong = right.clone();
            wrong[field] = value;
            assert_eq!(answer(wrong).unwrap_err().place, format!("results[0].{field}"));
        }
    }
}
